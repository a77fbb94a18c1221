package reports

import (
	"fmt"
	"slices"

	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/scenarios"
)

// advice says in plain words which variant to choose and why, a sentence each.
// It is empty if there is nothing to choose from.
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
		lines = append(lines, "No "+runsOf(scenarios.Healthy, c.report.replay())+" was tried, so nobody knows what these limits do to healthy work.")
	case best.caught == nil:
		lines = append(lines, "No "+runsOf(scenarios.Runaway, c.report.replay())+" was tried, so nobody knows whether these limits stop anything that should be stopped.")
	}
	if len(c.apart) > 0 {
		lines = append(lines, "Tried on other scenarios, and so not ranked: "+someOf(clean(c.apart))+".")
	}
	return lines
}

// why says what the best is ahead of.
func (c *choice) why(best *standing) string {
	var equal []string
	for _, s := range c.ranked[1:] {
		if s.balance() == best.balance() {
			equal = append(equal, text.Line(s.variant))
		}
	}
	measure := c.measure(best)
	if len(equal) > 0 {
		return fmt.Sprintf("No variant is ahead of it in the %s. As good in that: %s; it comes first because half of its runs that should stop did so within %s.",
			measure, someOf(equal), calls50(best.calls))
	}
	next := &c.ranked[1]
	return fmt.Sprintf("No variant is ahead of it in the %s: %s against %s for the next, %s.", measure, points(best.balance()), points(next.balance()), text.Line(next.variant))
}

// measure is what variants are ranked by, in words.
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
	return fmt.Sprintf("balance of both, the share of %s %s less the share of %s stopped", runaway, verb, healthy)
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

// beside sets the best against the reference, and says whether that could be
// chance.
func (c *choice) beside(best *standing) string {
	if best.variant == c.report.Reference {
		return "It is the reference, which the others are compared with."
	}
	pairs := c.comparison(best.variant)
	if pairs == nil {
		return ""
	}
	sure := slices.ContainsFunc(pairs.Pairs, func(p Pair) bool { return p.PAdjusted < 0.05 })
	words := "Beside the reference " + text.Line(c.report.Reference) + " it " + pairs.Verdict + "."
	if !sure {
		words += " That may be chance: it takes more scenarios, not more seeds, to tell the two apart."
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

// place says where a variant stands among the others.
func (c *choice) place(s *standing) string {
	switch {
	case !c.comparable():
		return ""
	case s.variant == c.best():
		return "choose this"
	case s.beaten != "":
		return text.Line(s.beaten) + " is better in one rate and no worse in the other"
	}
	return "a trade-off: nothing beats it in both rates"
}

// tell is the line of a variant beside the reference.
func (c *choice) tell(variant string) string {
	if variant == c.report.Reference {
		return "the reference"
	}
	if pairs := c.comparison(variant); pairs != nil && len(pairs.Pairs) > 0 {
		return "beside " + text.Line(c.report.Reference) + ": " + pairs.Verdict
	}
	return ""
}

// clean makes foreign names fit for a line.
func clean(names []string) []string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = text.Line(n)
	}
	return out
}
