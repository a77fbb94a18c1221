package reports

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/scenarios"
)

// verdictIf returns pass if ok is true, else breach.
func verdictIf(ok bool, breach scenarios.Verdict) scenarios.Verdict {
	if ok {
		return scenarios.Pass
	}
	return breach
}

// more returns the command that shows all results.
func (j *judge) more() string {
	if len(j.files) == 0 {
		return "agentbench run"
	}
	return "agentbench report " + strings.Join(j.files, " ")
}

// grave returns the rules that have no margin: no trial with a finding of graveRules.
func (j *judge) grave() []Rule {
	var rules []Rule
	for _, g := range graveRules {
		if j.now.Kind() == KindServe || j.now.files.judged == scenarios.JudgedForeign && g.rule != "panic" {
			rules = append(rules, Rule{Name: g.rule, Verdict: scenarios.Unjudged, Measured: "of a foreign agent it is not checked", Wanted: "none"})
			continue
		}
		n := j.now.broken[g.rule]
		r := Rule{Name: g.rule, Verdict: verdictIf(n == 0, scenarios.Fail), Measured: text.Count(n, "trial") + " " + g.words, Wanted: "none"}
		if n > 0 {
			r.See = j.example(func(t *TrialFindings) bool {
				for _, f := range t.Findings {
					if f.Rule == g.rule {
						return true
					}
				}
				return false
			})
		}
		rules = append(rules, r)
	}
	return rules
}

// example returns the command that repeats the first trial for which meant is true.
func (j *judge) example(meant func(*TrialFindings) bool) string {
	found := j.now.found()
	for i := range found {
		if meant(&found[i]) {
			return cmp.Or(found[i].Command, j.more())
		}
	}
	return j.more()
}

// whole checks that no shard is missing and that no run broke off.
func (j *judge) whole() Rule {
	r := Rule{Name: "whole", Verdict: scenarios.Pass, Measured: "all results are there", See: j.more()}
	if missing := j.now.missing(); len(missing) > 0 {
		r.Verdict, r.Measured, r.Wanted = scenarios.Inconclusive, strings.Join(missing, "; "), "all results of the run"
	} else if j.now.files.old() {
		r.Verdict, r.Measured, r.Wanted = scenarios.Inconclusive, "an earlier version wrote the results, which do not say whether they are whole", "results of this version"
	}
	return r
}

// judged checks that every trial could be judged, since rates leave out the others. An
// agent that is not this loop may never get so far in a scenario, as one that gives up at
// the first failure: what the baseline could not judge either is a warning.
func (j *judge) judged() Rule {
	n := j.now.unclear
	if n > 0 && j.base != nil && !j.certain() && j.asDarkBefore() {
		return Rule{Name: "could be judged", Verdict: scenarios.Pass, Warning: true, Measured: text.Count(n, "trial") + " could not be judged, and in the baseline neither", Wanted: "none that was judged before", See: j.unjudged()}
	}
	r := Rule{Name: "could be judged", Verdict: verdictIf(n == 0, scenarios.Inconclusive), Measured: text.Count(n, "trial") + " could not be judged", Wanted: "none"}
	if n > 0 {
		r.See = j.unjudged()
	}
	if dark := j.told(NewlyInconclusive); len(dark) > 0 {
		r.Measured += "; passed in the baseline: " + namesOf(dark)
		r.See = cmp.Or(dark[0].Command, r.See)
	}
	return r
}

// unjudged returns the command that repeats a trial which could not be judged.
func (j *judge) unjudged() string {
	return j.example(func(t *TrialFindings) bool {
		return t.Verdict == scenarios.Inconclusive || t.Ending == Ending(&scenarios.Result{})
	})
}

// asDarkBefore reports whether of each scenario as many trials could not be judged in the
// baseline.
func (j *judge) asDarkBefore() bool {
	for i := range j.matches {
		if slices.ContainsFunc(j.matches[i].units, func(m matched) bool { return m.now.unclear > m.base.unclear }) ||
			slices.ContainsFunc(j.matches[i].added, func(a added) bool { return a.unit.unclear > 0 }) {
			return false
		}
	}
	return len(j.matches) > 0
}

func (j *judge) trials() Rule {
	n := j.now.trials
	if n == 0 && j.now.Kind() == KindServe {
		return Rule{Name: "trials", Verdict: scenarios.Unjudged, Measured: "journals of agentbench serve have none"}
	}
	return Rule{Name: "trials", Verdict: verdictIf(n >= j.MinTrials, scenarios.Inconclusive), Measured: text.Count(n, "trial") + " of " + text.Count(len(j.now.all), "scenario"),
		Wanted: "at least " + text.Number(j.MinTrials), See: j.more()}
}

// passRate checks that enough trials pass. Against a baseline any rate will do unless
// one is asked for, so that old failures do not fail every later change: other rules look
// for new ones.
func (j *judge) passRate() Rule {
	least := Figure(j.PassRate)
	r := Rule{Name: "pass rate"}
	switch {
	case least < 0 && j.base != nil:
		r.Wanted = "any rate, as there is a baseline"
	case least < 0:
		least = 1
	}
	r.Wanted = cmp.Or(r.Wanted, "at least "+share(least))
	k, n := 0.0, 0.0
	for _, u := range j.now.units {
		if judged := u.passed + u.failed; judged > 0 {
			k += float64(u.passed) / float64(judged)
			n++
		}
	}
	if n == 0 {
		r.Verdict, r.Measured = scenarios.Unjudged, "no trial was judged"
		return r
	}
	k = tidy(k)
	r.Verdict = verdictIf(Figure(k/n) >= least-1e-12, scenarios.Fail)
	r.Measured = fmt.Sprintf("%s of %s passed (%s)", Amount(k), text.Count(int(n), "scenario"), share(Figure(k/n)))
	if k < n {
		r.See = j.example(func(t *TrialFindings) bool { return t.Verdict == scenarios.Fail })
	}
	return r
}

// goldens checks that no trace differs from its golden, but for those whose scenario had
// one that did in the baseline.
func (j *judge) goldens() Rule {
	match, mismatch, old := j.now.goldens[scenarios.GoldenMatch], j.now.goldens[scenarios.GoldenMismatch], 0
	for i := range j.matches {
		for _, pair := range j.matches[i].units {
			if pair.base.differ > 0 {
				old += pair.now.differ
			}
		}
	}
	r := Rule{Name: "goldens", Wanted: "none", Verdict: verdictIf(mismatch == old, scenarios.Fail),
		Measured: fmt.Sprintf("%s of %s with a golden differ from it", text.Number(mismatch), text.Count(match+mismatch, "trace")), See: j.more()}
	if old > 0 {
		r.Measured += fmt.Sprintf(", %s of them of scenarios that did in the baseline", text.Number(old))
	}
	if missing := j.now.goldens[scenarios.GoldenMissing]; missing > 0 {
		r.Measured += ", " + text.Count(missing, "golden") + " missing"
	}
	if match+mismatch == 0 {
		r.Verdict, r.Measured = scenarios.Unjudged, "no trace was compared with a golden"
	}
	return r
}

// invariants checks that no run of fuzz broke an invariant; there is no margin.
func (j *judge) invariants() Rule {
	broken := j.now.invariants
	r := Rule{Name: "fuzz invariants", Wanted: "none", Verdict: verdictIf(len(broken) == 0, scenarios.Fail),
		Measured: "runs broke " + text.Count(len(broken), "invariant"), See: "agentbench fuzz"}
	if len(broken) > 0 {
		r.Measured += ": " + someOf(broken)
	}
	if len(j.now.fuzz) == 0 && len(broken) == 0 {
		r.Verdict, r.Measured = scenarios.Unjudged, "there are no results of agentbench fuzz"
	}
	return r
}

// fuzz checks that enough fuzz runs survive, and that enough of the recoverable ones
// finish.
func (j *judge) fuzz() Rule {
	r := Rule{Name: "fuzz survival", Wanted: "at least " + share(Figure(j.FuzzSurvival)), See: "agentbench fuzz"}
	all := j.now.fuzzed()
	if all.Runs == 0 {
		r.Verdict, r.Measured = scenarios.Unjudged, "there are no results of agentbench fuzz"
		return r
	}
	survived, done := ratio(all.Survived, all.Runs), ratio(all.Done, all.Recoverable)
	r.Measured = fmt.Sprintf("%s of %s survived (%s)", text.Number(all.Survived), text.Count(all.Runs, "run"), share(survived))
	if done.Known() {
		r.Measured += fmt.Sprintf(", %s of %s recoverable ones finished (%s)", text.Number(all.Done), text.Number(all.Recoverable), share(done))
	}
	least := Figure(j.FuzzSurvival) - 1e-12
	r.Verdict = verdictIf(survived >= least && (!done.Known() || done >= least), scenarios.Fail)
	return r
}

// latency checks that tools answer in time. Results of run do not count, since their
// latencies are scripted.
func (j *judge) latency() Rule {
	r := Rule{Name: "p95 tool latency", Wanted: "at most " + text.Duration(j.P95Tool), See: j.more()}
	if j.P95Tool == 0 {
		r.Verdict, r.Measured, r.Wanted = scenarios.Unjudged, "no limit is set", ""
		return r
	}
	took := map[float64]int{}
	if kind := j.now.Kind(); kind != KindRun && kind != KindCompare {
		for _, t := range j.now.tools {
			for upper, n := range t.took {
				took[upper] += n
			}
		}
	}
	latency, calls := p95(took)
	switch {
	case calls == 0:
		r.Verdict, r.Measured = scenarios.Inconclusive, "there is no latency of real tools (results of record or replay)"
		return r
	case !latency.Known():
		r.Verdict, r.Measured = scenarios.Inconclusive, fmt.Sprintf("%s: a 95th percentile needs %d", text.Count(calls, "call"), fewForP95)
		return r
	}
	measured := time.Duration(float64(latency) * float64(time.Millisecond))
	r.Verdict, r.Measured = verdictIf(measured <= j.P95Tool, scenarios.Fail), text.Duration(measured)
	return r
}
