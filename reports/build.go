package reports

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/scenarios"
)

// Report returns the report on the results so far. It fails if Reference names a
// variant that is not among them.
func (f *Fold) Report() (*Report, error) {
	f.init()
	reference, err := f.reference()
	if err != nil {
		return nil, err
	}
	names := slices.Sorted(maps.Keys(f.all))
	r := &Report{
		Schema: ReportSchema, Tool: f.tool(), Kind: f.Kind(), Seed: f.files.seed, Seeds: f.files.seeds,
		Variants: append([]string{}, f.order...), Reference: reference, Scenarios: len(f.all), Trials: f.trials, Faults: f.Faults(),
		Verdict: f.verdict(), Verdicts: f.tally(), Suites: f.suites(), Fuzz: f.fuzz, Served: f.served,
		NotRun: f.notRun(), Comparisons: f.comparisons(reference, names), Differences: f.differences(names), Findings: f.found(), Results: f.kept(), Header: f.header(),
		Rates: []Rate{}, Survival: []Survival{}, LogRank: []LogRank{}, Spent: []Spent{}, Stops: []Stops{}, Tools: []Tools{},
	}
	groups := f.groups(names)
	for i := range groups {
		g := &groups[i]
		r.Rates = append(r.Rates, f.rates(*g)...)
		r.Survival = append(r.Survival, g.survival())
		if f.metric(g.label) == Harmed {
			r.Harm = append(r.Harm, g.harm())
		}
		r.Spent = append(r.Spent, g.spent()...)
		r.Stops = append(r.Stops, g.stops()...)
	}
	r.LogRank = append(r.LogRank, logRank(groups, reference)...)
	for _, v := range f.order {
		if t := f.tools[v]; t != nil {
			r.Tools = append(r.Tools, t.figures(v))
		}
	}
	r.Evidence = f.evidence(r, names)
	r.Incomplete, r.Warnings = f.missing(), f.warnings()
	return r, nil
}

// missing returns what the results lack to be whole; nil = nothing.
func (f *Fold) missing() []string {
	out := f.files.missing(f.trials + f.passed)
	if all := f.fuzzed(); f.files.fuzzRuns != all.Runs && len(f.fuzz) > 0 && !f.files.old() {
		out = append(out, fmt.Sprintf("the results are incomplete: they hold %s of %s", text.Number(all.Runs), text.Count(f.files.fuzzRuns, "fuzz run")))
	}
	return out
}

// allAttacks is the kind of the line of fuzz results that counts every run once. A run
// may have several attacks, so the lines of the attacks do not add up.
const allAttacks = "all"

// fuzzed returns the sum over all campaigns of fuzz.
func (f *Fold) fuzzed() Fuzz {
	sum := Fuzz{Kind: allAttacks}
	for _, line := range f.fuzz {
		if line.Kind == allAttacks {
			sum.Runs += line.Runs
			sum.Survived += line.Survived
			sum.Recoverable += line.Recoverable
			sum.Done += line.Done
		}
	}
	return sum
}

// tool returns the versions that wrote the results.
func (f *Fold) tool() string { return strings.Join(f.files.tools, ", ") }

// verdict returns the verdict over all trials and served scenarios. Incomplete results do not pass.
func (f *Fold) verdict() scenarios.Verdict {
	all := scenarios.Unjudged
	for v := range f.verdicts {
		all = worse(all, v)
	}
	for i := range f.served {
		all = worse(all, f.served[i].verdict())
	}
	if all == scenarios.Pass && len(f.missing()) > 0 {
		return scenarios.Inconclusive
	}
	return all
}

func (f *Fold) tally() Verdicts {
	v := Verdicts{Pass: f.verdicts[scenarios.Pass], Fail: f.verdicts[scenarios.Fail], Inconclusive: f.verdicts[scenarios.Inconclusive]}
	v.Unjudged = f.trials - v.Pass - v.Fail - v.Inconclusive
	return v
}

func (f *Fold) suites() []Suite {
	suites := map[string]*Suite{}
	for _, s := range f.all {
		if suites[s.suite] == nil {
			suites[s.suite] = &Suite{Suite: s.suite}
		}
		suites[s.suite].add(s.verdict)
	}
	out := []Suite{}
	for _, name := range slices.Sorted(maps.Keys(suites)) {
		out = append(out, *suites[name])
	}
	return out
}

func (s *Suite) add(v scenarios.Verdict) {
	s.Scenarios++
	switch v {
	case scenarios.Pass:
		s.Passed++
	case scenarios.Fail:
		s.Failed++
	case scenarios.Inconclusive:
		s.Inconclusive++
	default:
		s.Unjudged++
	}
}

// found returns the trials that failed or could not be judged, in order.
func (f *Fold) found() []TrialFindings {
	order := f.trialOrder()
	out := append([]TrialFindings{}, f.findings...)
	slices.SortFunc(out, func(a, b TrialFindings) int {
		return order(trialKey{a.Scenario, a.Variant, a.Seed}, trialKey{b.Scenario, b.Variant, b.Seed})
	})
	return out
}

// kept returns the results that were kept, in order.
func (f *Fold) kept() []*scenarios.Result {
	order := f.trialOrder()
	out := slices.Clone(f.results)
	slices.SortFunc(out, func(a, b *scenarios.Result) int {
		return order(trialKey{a.Scenario, a.Variant, a.Seed}, trialKey{b.Scenario, b.Variant, b.Seed})
	})
	return out
}

type trialKey struct {
	scenario, variant string
	seed              uint64
}

// trialOrder returns a comparison of trials in the order of a results file: by
// scenario, variant and seed.
func (f *Fold) trialOrder() func(a, b trialKey) int {
	place := map[string]int{}
	for i, v := range f.order {
		place[v] = i
	}
	return func(a, b trialKey) int {
		return cmp.Or(cmp.Compare(a.scenario, b.scenario), cmp.Compare(place[a.variant], place[b.variant]), cmp.Compare(a.seed, b.seed))
	}
}

// graveRules are the rules of findings that mean that the loop itself, or the harness,
// is wrong.
var graveRules = []struct{ rule, words string }{
	{"audit", "broke a limit that the loop should have kept"},
	{"history", "left a history that an API would refuse"},
	{"panic", "panicked"},
}

// warnings returns what a reader should know before any figure.
func (f *Fold) warnings() []string {
	out := append([]string{}, f.missing()...)
	if f.files.old() {
		out = append(out, "an earlier version wrote the results, which do not say whether they are whole")
	}
	if len(f.files.faults) > 0 {
		out = append(out, "every world had "+faultsOf(f.files.faults)+": trials are judged by their label")
	}
	if f.files.skipped > 0 {
		out = append(out, "recorded runs, or their labels, are missing: "+text.Count(f.files.skipped, "problem")+" when they were read")
	}
	if f.unclear > 0 {
		out = append(out, text.Count(f.unclear, "trial")+" could not be judged and count in no rate")
	}
	for _, g := range graveRules {
		if n := f.broken[g.rule]; n > 0 {
			out = append(out, fmt.Sprintf("%s %s", text.Count(n, "trial"), g.words))
		}
	}
	if len(f.invariants) > 0 {
		out = append(out, "runs of fuzz broke "+text.Count(len(f.invariants), "invariant")+": "+someOf(f.invariants))
	}
	if len(f.files.tools) > 1 {
		out = append(out, "the results come from several versions: "+someOf(f.files.tools))
	}
	return out
}
