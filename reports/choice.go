package reports

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/agentbench-go/agentbench/scenarios"
)

// A choice ranks the variants that were tried on the same scenarios: by the share of
// runaways caught minus the share of healthy runs harmed, then by the calls that a
// runaway made. In a replay it takes the good runs stopped in place of those harmed.
type choice struct {
	report  *Report
	ranked  []standing        // the best first
	apart   []string          // variants that were tried on other scenarios
	colours map[string]string // variant → class of its colour, for highlighted variants
}

// A standing holds the rates of one variant.
type standing struct {
	variant string
	caught  *Rate  // runaways caught, in a replay failed runs stopped; nil = none were tried
	harmed  *Rate  // healthy runs harmed, in a replay good runs stopped; nil = none were tried
	calls   Figure // median calls of the runaways
	beaten  string // a variant that is better in one of the two rates and not worse in the other; "" = none
}

// colourCount is how many variants can be highlighted in a chart.
const colourCount = 7

func newChoice(r *Report) *choice {
	c := &choice{report: r, colours: map[string]string{}}
	for _, v := range r.Variants {
		s := c.standing(v)
		switch {
		case s.caught == nil && s.harmed == nil:
		case len(r.Variants) > 1 && !c.sameScenarios(&s):
			c.apart = append(c.apart, v)
		default:
			c.ranked = append(c.ranked, s)
		}
	}
	slices.SortStableFunc(c.ranked, func(a, b standing) int {
		return cmp.Or(cmp.Compare(b.balance(), a.balance()), cmp.Compare(a.calls, b.calls))
	})
	for i := range c.ranked {
		c.ranked[i].beaten = c.betterThan(&c.ranked[i])
	}
	c.paint()
	return c
}

func (c *choice) standing(variant string) standing {
	s := standing{variant: variant, calls: Unknown()}
	for i := range c.report.Rates {
		rate := &c.report.Rates[i]
		switch {
		case rate.Variant != variant || rate.Metric == WentOn || rate.N == 0:
		case rate.Label == scenarios.Runaway:
			s.caught = rate
		case rate.Label == scenarios.Healthy && rate.Metric == c.report.harm():
			s.harmed = rate
		}
	}
	for _, spent := range c.report.Spent {
		if spent.Variant == variant && spent.Label == scenarios.Runaway && spent.Metric == SpentCalls {
			s.calls = spent.P50
		}
	}
	return s
}

// common is the share of scenarios that two variants must have in common to be
// compared. It is below 1 because some trials may be impossible to judge.
const common = 0.9

// sameScenarios reports whether a variant was tried on the scenarios of the reference.
func (c *choice) sameScenarios(s *standing) bool {
	if s.variant == c.report.Reference {
		return true
	}
	base := c.standing(c.report.Reference)
	pairs := c.comparison(s.variant)
	return pairs != nil && shared(pairs, scenarios.Runaway, s.caught, base.caught) && shared(pairs, scenarios.Healthy, s.harmed, base.harmed)
}

func (c *choice) comparison(variant string) *Comparison {
	for i := range c.report.Comparisons {
		if c.report.Comparisons[i].Variant == variant {
			return &c.report.Comparisons[i]
		}
	}
	return nil
}

func shared(pairs *Comparison, label scenarios.Label, a, b *Rate) bool {
	n := 0.0
	for _, p := range pairs.Pairs {
		if p.Label == label {
			n = float64(p.N)
		}
	}
	return n >= common*max(a.count(), b.count())
}

// count returns n, 0 for a nil rate.
func (r *Rate) count() float64 {
	if r == nil {
		return 0
	}
	return r.N
}

// share returns k/n, 0 for a nil rate.
func (r *Rate) share() float64 {
	if r == nil {
		return 0
	}
	return r.K / r.N
}

// balance returns the value by which variants are ranked.
func (s *standing) balance() float64 { return s.caught.share() - s.harmed.share() }

// betterThan returns the best variant that is better than s in one rate and not worse
// in the other; "" = s is on the front.
func (c *choice) betterThan(s *standing) string {
	for i := range c.ranked {
		o := &c.ranked[i]
		more, fewer := o.caught.share()-s.caught.share(), s.harmed.share()-o.harmed.share()
		if more >= 0 && fewer >= 0 && more+fewer > 0 {
			return o.variant
		}
	}
	return ""
}

// comparable reports whether there are variants to choose from.
func (c *choice) comparable() bool { return len(c.ranked) > 1 }

// best returns the variant to choose, "" if there is no choice.
func (c *choice) best() string { return c.ruling().best }

// paint assigns colours to the highlighted variants: all of them if there are enough
// colours, else the best, the reference, those on the front, and the next best.
func (c *choice) paint() {
	give := func(variant string) {
		if n := len(c.colours); n < colourCount && c.colours[variant] == "" {
			c.colours[variant] = "s" + strconv.Itoa(n)
		}
	}
	if len(c.report.Variants) > colourCount && len(c.ranked) > 0 {
		give(c.ranked[0].variant)
		give(c.report.Reference)
		for _, s := range c.ranked {
			if s.beaten == "" {
				give(s.variant)
			}
		}
		for _, s := range c.ranked {
			give(s.variant)
		}
		return
	}
	for _, v := range c.report.Variants {
		give(v)
	}
}

// class returns the class of a variant's colour.
func (c *choice) class(variant string) string { return cmp.Or(c.colours[variant], grey) }

// does says what a variant does, such as: catches 31 of 32 runaways (97 %; 95 %
// interval 84–99 %) and harms 2 of 32 healthy runs (6 %; 95 % interval 2–20 %).
func (c *choice) does(s *standing) string {
	verb := "catches"
	if c.report.replay() {
		verb = "stops"
	}
	caught := c.rateWords(verb, s.caught)
	verb = "harms"
	if c.report.replay() {
		verb = "stops"
	}
	harmed := c.rateWords(verb, s.harmed)
	if caught == "" || harmed == "" {
		return caught + harmed
	}
	return caught + " and " + harmed
}

func (c *choice) rateWords(verb string, r *Rate) string {
	if r == nil {
		return ""
	}
	return fmt.Sprintf("%s %s %ss (%s %%; 95 %% interval %s)", verb, r.words(), runsOf(r.Label, c.report.replay()), percent(r.Rate), Percents(r.Lower, r.Upper))
}
