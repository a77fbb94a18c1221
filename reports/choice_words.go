package reports

import (
	"fmt"
	"slices"

	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/scenarios"
)

// advice returns sentences that say which variant to choose and why. It is empty if
// there is nothing to choose from.
func (c *choice) advice() []string {
	if !c.comparable() {
		return nil
	}
	best := &c.ranked[0]
	lines := []string{"It " + c.does(best) + ".", c.why(best)}
	if beside := c.beside(best); beside != "" {
		lines = append(lines, beside)
	}
	lines = append(lines, c.otherwise()...)
	switch {
	case best.stopped == nil:
		lines = append(lines, "No "+runsOf(scenarios.Healthy, c.report.replay())+" was tried, so the effect of these limits on healthy work is unknown.")
	case best.caught == nil:
		lines = append(lines, "No "+runsOf(scenarios.Runaway, c.report.replay())+" was tried, so it is unknown whether these limits stop anything that should be stopped.")
	}
	if len(c.apart) > 0 {
		lines = append(lines, "Not ranked, because they were tried on other scenarios: "+someOf(clean(c.apart))+".")
	}
	return lines
}

// why says how far the best variant is ahead of the next.
func (c *choice) why(best *standing) string {
	var equal []string
	for _, s := range c.ranked[1:] {
		if s.balance() == best.balance() {
			equal = append(equal, text.Line(s.variant))
		}
	}
	measure := c.measure(best)
	if len(equal) > 0 {
		return fmt.Sprintf("No variant is ahead of it in the %s. Equally good in that: %s. It comes first because half of its runs that should stop did so within %s.",
			measure, someOf(equal), calls50(best.calls))
	}
	next := &c.ranked[1]
	return fmt.Sprintf("No variant is ahead of it in the %s: %s against %s for the next, %s.", measure, points(best.balance()), points(next.balance()), text.Line(next.variant))
}

// measure names the value by which variants are ranked.
func (c *choice) measure(s *standing) string {
	runaway, healthy := runsOf(scenarios.Runaway, c.report.replay())+"s", runsOf(scenarios.Healthy, c.report.replay())+"s"
	verb := "caught"
	if c.report.replay() {
		verb = "stopped"
	}
	switch {
	case s.stopped == nil:
		return "share of " + runaway + " " + verb
	case s.caught == nil:
		return "share of " + healthy + " left alone"
	}
	return fmt.Sprintf("balance of both, the share of %s %s minus the share of %s stopped", runaway, verb, healthy)
}

func calls50(f Figure) string {
	if !f.Known() {
		return "as few calls"
	}
	if f == 1 {
		return "1 call"
	}
	return Amount(float64(f)) + " calls"
}

// points writes a balance in percentage points.
func points(x float64) string {
	s := percent(Figure(max(x, -x)))
	if x < 0 {
		s = "−" + s
	}
	return s + " points"
}

// beside compares the best with the reference, and says whether the difference could be
// chance.
func (c *choice) beside(best *standing) string {
	if best.variant == c.report.Reference {
		return "It is the reference with which the others are compared."
	}
	pairs := c.comparison(best.variant)
	if pairs == nil {
		return ""
	}
	sure := slices.ContainsFunc(pairs.Pairs, func(p Pair) bool { return p.PAdjusted < 0.05 })
	words := "Compared with the reference " + text.Line(c.report.Reference) + " it " + pairs.Verdict + "."
	if !sure {
		words += " That may be chance: to distinguish the two takes more scenarios, not more seeds."
	}
	return words
}

// otherwise names the variants on the front that are best in one of the rates.
func (c *choice) otherwise() []string {
	if c.ranked[0].caught == nil || c.ranked[0].stopped == nil {
		return nil
	}
	mild, strict := &c.ranked[0], &c.ranked[0]
	for i := range c.ranked {
		s := &c.ranked[i]
		if s.beaten != "" {
			continue
		}
		if s.stopped.share() < mild.stopped.share() {
			mild = s
		}
		if s.caught.share() > strict.caught.share() {
			strict = s
		}
	}
	replay := c.report.replay()
	var out []string
	if mild != &c.ranked[0] {
		out = append(out, fmt.Sprintf("If leaving healthy work alone matters most: %s %s.", text.Line(mild.variant), c.does(mild)))
	}
	if strict != &c.ranked[0] {
		out = append(out, fmt.Sprintf("If letting no %s through matters most: %s %s.", runsOf(scenarios.Runaway, replay), text.Line(strict.variant), c.does(strict)))
	}
	return out
}

// place returns the rank of a variant among the others, in words.
func (c *choice) place(s *standing) string {
	switch {
	case !c.comparable():
		return ""
	case s.variant == c.best():
		return "choose this"
	case s.beaten != "":
		return text.Line(s.beaten) + " is better in one rate and not worse in the other"
	}
	return "a trade-off: nothing beats it in both rates"
}

// compared returns the line that compares a variant with the reference.
func (c *choice) compared(variant string) string {
	if variant == c.report.Reference {
		return "the reference"
	}
	if pairs := c.comparison(variant); pairs != nil && len(pairs.Pairs) > 0 {
		return "compared with " + text.Line(c.report.Reference) + ": " + pairs.Verdict
	}
	return ""
}

// clean returns the [text.Line] of each foreign name.
func clean(names []string) []string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = text.Line(n)
	}
	return out
}
