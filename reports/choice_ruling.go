package reports

import (
	"fmt"
	"math"

	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/scenarios"
)

// A ruling says which variant to choose. It names one only on evidence: the results are
// whole, runaways and healthy runs were both tried, and one variant is ahead.
type ruling struct {
	best      string // the variant to choose; "" = none
	undecided string // the headline if there is none; "" = there are no variants to choose from
	why       string // a sentence on why there is none
}

func (c *choice) ruling() ruling {
	if !c.comparable() {
		return ruling{}
	}
	best, replay := &c.ranked[0], c.report.replay()
	without := func(label scenarios.Label, unknown string) ruling {
		run := runsOf(label, replay)
		return ruling{undecided: "No choice: no " + run + " was tried", why: "No " + run + " was tried, so " + unknown + "."}
	}
	switch ties := c.ties(); {
	case len(c.report.Incomplete) > 0:
		return ruling{undecided: "No choice: the results are incomplete", why: "The results are incomplete: what is missing may change which variant is ahead."}
	case best.harmed == nil:
		return without(scenarios.Healthy, "the effect of these limits on healthy work is unknown")
	case best.caught == nil:
		return without(scenarios.Runaway, "it is unknown whether these limits stop anything that should be stopped")
	case len(ties) > 1:
		names := someOf(ties)
		return ruling{undecided: "A tie: " + names, why: fmt.Sprintf("A tie: %s have the same %s, %s.%s", names, c.measure(best), points(best.balance()), c.sooner(len(ties)))}
	}
	return ruling{best: best.variant}
}

// ties returns the variants that are as good as the first, which is one of them.
func (c *choice) ties() []string {
	var out []string
	for i := range c.ranked {
		if math.Abs(c.ranked[i].balance()-c.ranked[0].balance()) < 1e-9 {
			out = append(out, text.Line(c.ranked[i].variant))
		}
	}
	return out
}

// sooner says whether the first of the tied variants stops runaways after fewer calls.
func (c *choice) sooner(ties int) string {
	first, last := &c.ranked[0], &c.ranked[ties-1]
	if !first.calls.Known() || !(first.calls < last.calls) {
		return ""
	}
	return fmt.Sprintf(" They differ in how soon runs end that should: half of those of %s within %s, of %s within %s.",
		text.Line(first.variant), calls50(first.calls), text.Line(last.variant), calls50(last.calls))
}
