package reports

import (
	"cmp"
	"fmt"

	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/reports/stats"
	"github.com/agentbench-go/agentbench/scenarios"
)

// significant is the p value below which a difference is significant.
const significant = 0.05

// earlyCalls is the number of calls up to which a stop is early.
const earlyCalls = 16

// A measure is a share of the trials of each scenario.
type measure struct {
	name  string
	label scenarios.Label // of the scenarios that it applies to; "" = all
	count func(*unit) (k, n int)
	more  bool // is better
}

// measures returns what must not get worse. How many there are depends on the kind of
// the results only, not on their values.
func (j *judge) measures() []measure {
	of := func(m Metric) func(*unit) (int, int) {
		return func(u *unit) (int, int) { return u.count(m), u.judged }
	}
	all := []measure{
		{"pass rate kept", "", func(u *unit) (int, int) { return u.passed, u.passed + u.failed }, true},
		{"runaways caught", scenarios.Runaway, of(j.now.metric(scenarios.Runaway)), true},
		{"healthy stopped", scenarios.Healthy, of(Stopped), false},
		{fmt.Sprintf("healthy stopped by call %d", earlyCalls), scenarios.Healthy, stoppedEarly, false},
	}
	if j.now.metric(scenarios.Healthy) == Harmed {
		all = append(all, measure{"healthy interfered with", scenarios.Healthy, of(Interfered), false},
			measure{"healthy harmed", scenarios.Healthy, of(Harmed), false})
	}
	return all
}

// stoppedEarly counts the trials that were stopped by call earlyCalls.
func stoppedEarly(u *unit) (k, n int) {
	for e, trials := range u.ends {
		if e.cause == stats.Event && e.asked <= earlyCalls {
			k += trials
		}
	}
	return k, u.judged
}

// rates checks that no share got worse. A rule fails if its share is worse by more than
// the margin and the exact test over scenarios is significant. The rules are one family:
// p is corrected for their number, so that all together are wrong about an equal loop
// in at most 5 of 100 gates. Neither that number nor the test ever makes a rule milder
// because results are worse. (To leave out rules that could not have failed, as Tarone
// proposes, would do that.)
func (j *judge) rates() []Rule {
	type compared struct {
		measure
		difference
	}
	var all []compared
	var p []float64
	for _, m := range j.measures() {
		for i := range j.matches {
			if d := j.difference(m, &j.matches[i]); len(d.strata) > 0 {
				all = append(all, compared{m, d})
				p = append(p, stats.Worse(d.strata))
			}
		}
	}
	var rules []Rule
	for i, adjusted := range stats.Holm(p) {
		rules = append(rules, j.judgeRate(all[i].measure, all[i].difference, Figure(adjusted)))
	}
	return rules
}

// A difference is how a share changed over the scenarios in both results.
type difference struct {
	match         *match
	strata        []stats.Stratum
	now, base     float64 // sums of shares
	better, worse int     // scenarios
	example       string  // repeats a trial of the first scenario that is worse
}

func (j *judge) difference(m measure, match *match) difference {
	d := difference{match: match}
	for _, pair := range match.units {
		k, n := m.count(pair.now)
		k0, n0 := m.count(pair.base)
		if n == 0 || n0 == 0 || m.label != "" && j.now.all[pair.scenario].label != m.label {
			continue
		}
		now, base := float64(k)/float64(n), float64(k0)/float64(n0)
		d.now += now
		d.base += base
		switch {
		case now == base:
		case now > base == m.more:
			d.better++
		default:
			d.worse++
			d.example = cmp.Or(d.example, pair.now.command())
		}
		if m.more {
			k, k0 = n-k, n0-k0
		}
		d.strata = append(d.strata, stats.Stratum{Bad: k, Trials: n, BadBefore: k0, TrialsBefore: n0})
	}
	d.now, d.base = tidy(d.now), tidy(d.base)
	return d
}

func (j *judge) judgeRate(m measure, d difference, p Figure) Rule {
	n := len(d.strata)
	r := Rule{Name: d.match.title(m.name), Verdict: scenarios.Pass, See: cmp.Or(d.example, j.more())}
	loss := (d.base - d.now) / float64(n)
	if !m.more {
		loss = -loss
	}
	r.Measured = fmt.Sprintf("%s of %s, %s in the baseline (%d better, %d worse; %s)", Amount(d.now), text.Number(n), Amount(d.base), d.better, d.worse, PValue(p))
	r.Wanted = fmt.Sprintf("not worse by more than %s at p < .05", share(Figure(j.MaxRegression)))
	switch {
	case loss <= j.MaxRegression+1e-12:
	case p < significant:
		r.Verdict = scenarios.Fail
	default:
		r.Warning = true
	}
	return r
}
