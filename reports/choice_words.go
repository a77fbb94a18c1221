package reports

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/scenarios"
)

// advice returns sentences that say which variant to choose and why, or why there is
// none. It is empty if there is nothing to choose from.
func (c *choice) advice() []string {
	if !c.comparable() {
		return nil
	}
	best, ruling := &c.ranked[0], c.ruling()
	var lines []string
	if ruling.best == "" {
		lines = append(lines, ruling.why)
		if len(c.ties()) == 1 {
			lines = append(lines, fmt.Sprintf("So far %s %s.", text.Line(best.variant), c.does(best)), c.ahead(text.Line(best.variant), best))
		}
	} else {
		lines = append(lines, "It "+c.does(best)+".", c.ahead("it", best))
		if beside := c.beside(best); beside != "" {
			lines = append(lines, beside)
		}
	}
	lines = append(lines, c.otherwise()...)
	if len(c.apart) > 0 {
		lines = append(lines, "Not ranked, because they were tried on other scenarios: "+someOf(clean(c.apart))+".")
	}
	return lines
}

// ahead says how far the best variant, which it calls name, is ahead of the next.
func (c *choice) ahead(name string, best *standing) string {
	next := &c.ranked[1]
	return fmt.Sprintf("No variant is ahead of %s in the %s: %s against %s for the next, %s.", name, c.measure(best), points(best.balance()), points(next.balance()), text.Line(next.variant))
}

// measure names the value by which variants are ranked.
func (c *choice) measure(s *standing) string {
	runaway, healthy := runsOf(scenarios.Runaway, c.report.replay())+"s", runsOf(scenarios.Healthy, c.report.replay())+"s"
	verb := "caught"
	if c.report.replay() {
		verb = "stopped"
	}
	switch {
	case s.harmed == nil:
		return "share of " + runaway + " " + verb
	case s.caught == nil:
		return "share of " + healthy + " left alone"
	}
	return fmt.Sprintf("balance of both, the share of %s %s minus the share of %s %s", runaway, verb, healthy, c.report.harm())
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
	other, subject := best.variant, "it"
	words := ""
	if best.variant == c.report.Reference { // the next shows how sure its place is
		words = "It is the reference with which the others are compared. "
		other = c.ranked[1].variant
		subject = text.Line(other)
	}
	pairs := c.comparison(other)
	if pairs == nil {
		return strings.TrimSpace(words)
	}
	sure := slices.ContainsFunc(pairs.Pairs, func(p Pair) bool { return p.PAdjusted < 0.05 })
	words += "Compared with the reference " + text.Line(c.report.Reference) + " " + subject + " " + pairs.Verdict + "."
	if !sure {
		words += " That may be chance: to distinguish the two takes more scenarios, not more seeds."
	}
	return words
}

// otherwise names the variants on the front that are best in one of the rates.
func (c *choice) otherwise() []string {
	if c.ranked[0].caught == nil || c.ranked[0].harmed == nil {
		return nil
	}
	mild, strict := &c.ranked[0], &c.ranked[0]
	for i := range c.ranked {
		s := &c.ranked[i]
		if s.beaten != "" {
			continue
		}
		if s.harmed.share() < mild.harmed.share() {
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
	case len(c.ties()) > 1 && slices.Contains(c.ties(), text.Line(s.variant)):
		return "tied: as good as " + someOf(slices.DeleteFunc(c.ties(), func(v string) bool { return v == text.Line(s.variant) }))
	case s.variant == c.ranked[0].variant:
		return "ahead so far"
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
