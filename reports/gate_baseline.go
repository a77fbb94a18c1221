package reports

import (
	"slices"
	"strings"

	"github.com/agentbench-go/agentbench/scenarios"
)

// baseline checks that the results are not worse than those of the baseline.
func (j *judge) baseline() []Rule {
	switch {
	case j.base == nil:
		return []Rule{{Name: "baseline", Verdict: scenarios.Unjudged, Measured: "there is no --baseline"}}
	case j.against.Verdict != scenarios.Pass:
		return []Rule{j.against}
	}
	rules := []Rule{j.against,
		j.came("newly failing", j.OnFailing, "failing, and not in the baseline", NewlyFailing, NewAndFailing),
		j.came("newly harmed", j.OnHarmed, "harmed, and not in the baseline", NewlyHarmed),
		j.came("fixed", Allow, "passing, and failed in the baseline", Fixed)}
	if !j.certain() { // so that change told nothing but new scenarios
		const rates = "of a foreign agent one trial proves little: the rates are compared"
		if len(j.told(NewAndFailing)) == 0 {
			rules[1].Verdict, rules[1].Measured = scenarios.Unjudged, rates
		}
		for i := 2; i < len(rules); i++ {
			rules[i].Verdict, rules[i].Measured = scenarios.Unjudged, rates
		}
	}
	rules = append(rules, j.rates()...)
	return append(rules, j.added(), j.came("removed", j.OnRemoved, "that only the baseline has", Removed))
}

// usable checks that the results can be compared with the baseline.
func (j *judge) usable() Rule {
	r := Rule{Name: "baseline", Verdict: scenarios.Inconclusive, See: j.more()}
	now, base, missing := j.now.files.faults, j.base.files.faults, j.base.missing()
	switch {
	case !slices.Equal(now, base):
		r.Measured = "the results were made under " + faultsOf(now) + ", the baseline under " + faultsOf(base)
		r.Wanted = "results made with the same --fault"
	case j.base.files.old():
		r.Measured, r.Wanted = "an earlier version wrote the baseline", "a new baseline, made with --bless"
	case len(missing) > 0:
		r.Measured, r.Wanted = "in the baseline, "+strings.Join(missing, "; "), "a whole baseline"
	default:
		c := j.comparable()
		if c.Verdict != scenarios.Pass || slices.ContainsFunc(j.matches, func(m match) bool { return len(m.units) > 0 }) {
			return c
		}
		r.Measured, r.Wanted = "no scenario is in both results", "results of the same scenarios and variants"
	}
	return r
}
