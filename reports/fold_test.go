package reports

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/scenarios"
	"github.com/google/go-cmp/cmp"
)

// endedIn is a result that ended so after so many calls.
func endedIn(scenario, variant string, label scenarios.Label, seed uint64, state loop.EndState, calls int) *scenarios.Result {
	return &scenarios.Result{Type: "trial", Scenario: scenario, Suite: "s", Variant: variant, Label: label, Seed: seed,
		EndState: state, Stop: "x", Calls: calls, Asked: calls, Verdict: scenarios.Unjudged, Random: true}
}

// fill adds results to a fold.
func fill(t *testing.T, f *Fold, results ...*scenarios.Result) {
	t.Helper()
	for _, r := range results {
		if err := f.Add(r); err != nil {
			t.Fatal(err)
		}
	}
}

// folded returns the report of some results.
func folded(t *testing.T, f *Fold, results ...*scenarios.Result) *Report {
	t.Helper()
	fill(t, f, results...)
	report, err := f.Report()
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// rateOf finds a rate.
func rateOf(t *testing.T, r *Report, variant string, label scenarios.Label, metric Metric) Rate {
	t.Helper()
	for _, rate := range r.Rates {
		if rate.Variant == variant && rate.Label == label && rate.Metric == metric {
			return rate
		}
	}
	t.Fatalf("there is no rate of %s, %q, %s in %+v", variant, label, metric, r.Rates)
	return Rate{}
}

func near(t *testing.T, what string, got, want, by float64) {
	t.Helper()
	if !(math.Abs(got-want) <= by) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// What a rate counts, by the end state: a stop is one, in both labels; a runaway
// that is done after a nudge or a veto is caught; neither a ceiling nor a
// trajectory's end is; a script's cancel and what broke off count in no rate.
func TestRateByEndState(t *testing.T) {
	for _, c := range []struct {
		state                  loop.EndState
		nudges, vetoed         int
		verdict                scenarios.Verdict
		caught, stopped, inAll float64
	}{
		{state: loop.LoopDetected, caught: 1, stopped: 1, inAll: 1},
		{state: loop.BudgetExceeded, caught: 1, stopped: 1, inAll: 1},
		{state: loop.ErrorLimit, caught: 1, stopped: 1, inAll: 1},
		{state: loop.ModelFailed, caught: 1, stopped: 1, inAll: 1},
		{state: loop.UnrecoverableToolContract, caught: 1, stopped: 1, inAll: 1},
		{state: loop.StoppedByAgent, caught: 1, stopped: 1, inAll: 1},
		{state: loop.Hung, inAll: 1},
		{state: loop.Done, inAll: 1},
		{state: loop.Done, nudges: 1, caught: 1, inAll: 1},
		{state: loop.ClarifyNeeded, vetoed: 1, caught: 1, inAll: 1},
		{state: loop.Ceiling, nudges: 3, inAll: 1},
		{state: loop.RecordingEnded, inAll: 1},
		{state: loop.WasCancelled, vetoed: 1},
		{state: ""},
		{state: loop.Done, verdict: scenarios.Inconclusive},
	} {
		for _, label := range []scenarios.Label{scenarios.Runaway, scenarios.Healthy} {
			r := endedIn("s/a", "v", label, 1, c.state, 3)
			r.Nudges, r.Vetoed = c.nudges, c.vetoed
			if c.verdict != "" {
				r.Verdict = c.verdict
			}
			metric, k := Stopped, c.stopped
			if label == scenarios.Runaway {
				metric, k = Caught, c.caught
			}
			got := rateOf(t, folded(t, &Fold{}, r), "v", label, metric)
			if got.K != k || got.N != c.inAll {
				t.Errorf("%s %s (%d nudges, %d vetoed): %g of %g, want %g of %g", label, c.state, c.nudges, c.vetoed, got.K, got.N, k, c.inAll)
			}
			unclear := 0
			if c.state == "" || c.verdict == scenarios.Inconclusive {
				unclear = 1
			}
			if got.Inconclusive != unclear {
				t.Errorf("%s %s: %d inconclusive, want %d", label, c.state, got.Inconclusive, unclear)
			}
		}
	}
}

// 31 of 32 has the interval .843 to .994 (Wilson): with z² = 3.8415 the middle
// is (31 + 1.9207)/(32 + 3.8415) = .91851 and the half width
// 1.95996/35.8415·√(31·1/32 + .96036) = .05468·1.38903 = .07596.
func TestRateHasWilsonsInterval(t *testing.T) {
	f := &Fold{}
	for i := range 32 {
		state := loop.LoopDetected
		if i == 0 {
			state = loop.Ceiling
		}
		fill(t, f, endedIn(fmt.Sprintf("s/%02d", i), "v", scenarios.Runaway, 1, state, 4))
	}
	got := rateOf(t, folded(t, f), "v", scenarios.Runaway, Caught)
	near(t, "k", got.K, 31, 0)
	near(t, "n", got.N, 32, 0)
	near(t, "rate", float64(got.Rate), 0.96875, 0)
	near(t, "lower", float64(got.Lower), 0.84255, 5e-5)
	near(t, "upper", float64(got.Upper), 0.99447, 5e-5)
}

// A scenario counts once whatever its seeds: stopped in 12 of 50 trials it adds
// .24 to k and 1 to n.
func TestTrialsOfAScenarioAreAveraged(t *testing.T) {
	f := &Fold{}
	for seed := range uint64(50) {
		state := loop.Done
		if seed < 12 {
			state = loop.LoopDetected
		}
		fill(t, f, endedIn("s/random", "v", scenarios.Healthy, seed, state, 4))
	}
	r := folded(t, f, endedIn("s/fixed", "v", scenarios.Healthy, 1, loop.LoopDetected, 4))
	got := rateOf(t, r, "v", scenarios.Healthy, Stopped)
	near(t, "k", got.K, 1.24, 1e-12)
	near(t, "n", got.N, 2, 0)
	if s := r.Survival[0]; s.N != 2 || math.Abs(s.Events-1.24) > 1e-9 {
		t.Errorf("the curve counts %g of %g, want 1.24 of 2", s.Events, s.N)
	}
	if len(r.Stops) != 2 || math.Abs(r.Stops[0].N-1.24) > 1e-9 || math.Abs(r.Stops[1].N-0.76) > 1e-9 {
		t.Errorf("stops %+v, want 1.24 and .76", r.Stops)
	}
}

// Seeds buy something where scenarios do not differ: ten, each stopped in 2 of 10
// trials, are worth 100. Wilson's middle is (20 + 1.9207)/(100 + 3.8415) = .21110
// and the half width 1.95996/103.8415·√(20·80/100 + .96036) = .07773.
func TestSeedsNarrowARate(t *testing.T) {
	f := &Fold{}
	for i := range 10 {
		for seed := range uint64(10) {
			state := loop.Done
			if seed < 2 {
				state = loop.LoopDetected
			}
			fill(t, f, endedIn(fmt.Sprint("s/", i), "v", scenarios.Healthy, seed, state, 4))
		}
	}
	got := rateOf(t, folded(t, f), "v", scenarios.Healthy, Stopped)
	near(t, "k", got.K, 2, 0)
	near(t, "n", got.N, 10, 0)
	near(t, "lower", float64(got.Lower), 0.13337, 5e-5)
	near(t, "upper", float64(got.Upper), 0.28883, 5e-5)
}

// One scenario that differs is not evidence, however many seeds it was tried with: the
// sign test has one pair, and p = 2·½ = 1. Six that all differ one way are: p = 2·(½)⁶
// = .03125.
func TestSeedsAreNoEvidence(t *testing.T) {
	f := &Fold{}
	for seed := range uint64(50) {
		fill(t, f, endedIn("s/differs", "a", scenarios.Healthy, seed, loop.Done, 4),
			endedIn("s/differs", "b", scenarios.Healthy, seed, loop.LoopDetected, 4))
	}
	for i := range 20 {
		name := fmt.Sprintf("s/same-%02d", i)
		fill(t, f, endedIn(name, "a", scenarios.Healthy, 1, loop.Done, 4), endedIn(name, "b", scenarios.Healthy, 1, loop.Done, 4))
	}
	got := folded(t, f).Comparisons[0]
	want := Comparison{Variant: "b", Reference: "a", Verdict: "harms 1 more healthy run (p = 1)",
		Pairs: []Pair{
			{Label: scenarios.Healthy, Metric: Harmed, N: 21, More: 1, Change: 1, P: 1, PAdjusted: 1},
			{Label: scenarios.Healthy, Metric: Stopped, N: 21, More: 1, Change: 1, P: 1, PAdjusted: 1},
			{Label: scenarios.Healthy, Metric: Interfered, N: 21, P: 1, PAdjusted: 1}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for i := range 5 {
		name := fmt.Sprintf("s/also-%d", i)
		fill(t, f, endedIn(name, "a", scenarios.Healthy, 1, loop.Done, 4), endedIn(name, "b", scenarios.Healthy, 1, loop.ErrorLimit, 4))
	}
	p := folded(t, f).Comparisons[0].Pairs[0]
	if p.More != 6 || math.Abs(float64(p.P)-0.03125) > 1e-12 {
		t.Errorf("%+v: want 6 more and p = .03125", p)
	}
}

// With two variants beside the reference p is doubled for the smaller (Holm):
// six scenarios one way against one scenario: .03125 → .0625, and 1.
func TestManyVariantsAreCorrected(t *testing.T) {
	f := &Fold{}
	for i := range 6 {
		name := fmt.Sprintf("s/%d", i)
		c := loop.Ceiling
		if i == 0 {
			c = loop.LoopDetected
		}
		fill(t, f, endedIn(name, "a", scenarios.Runaway, 1, loop.Ceiling, 4), endedIn(name, "b", scenarios.Runaway, 1, loop.LoopDetected, 4), endedIn(name, "c", scenarios.Runaway, 1, c, 4))
	}
	all := folded(t, f).Comparisons
	near(t, "b", float64(all[0].Pairs[0].PAdjusted), 0.0625, 1e-12)
	near(t, "c", float64(all[1].Pairs[0].PAdjusted), 1, 0)
	if got, want := all[0].Verdict, "catches 6 more runaways (p = .06)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// The same results in another order, and in other files, give the same report.
func TestOrderDoesNotMatter(t *testing.T) {
	var all []*scenarios.Result
	for i := range 12 {
		for _, v := range []string{"a", "b"} {
			for seed := range uint64(3) {
				states := []loop.EndState{loop.Done, loop.LoopDetected, loop.Ceiling, loop.ErrorLimit, loop.WasCancelled}
				r := endedIn(fmt.Sprintf("s/%02d", i), v, []scenarios.Label{scenarios.Healthy, scenarios.Runaway, ""}[i%3], seed, states[(i*7+int(seed)*3+len(v))%5], i+int(seed))
				r.VirtualMS, r.Verdict = int64(i)*1000+int64(seed), []scenarios.Verdict{scenarios.Pass, scenarios.Fail, scenarios.Inconclusive}[(i+int(seed))%3]
				all = append(all, r)
			}
		}
	}
	h := &scenarios.Header{Order: []string{"a", "b"}}
	text := func(results []*scenarios.Result) string {
		f := &Fold{Keep: true}
		if err := f.Header(h); err != nil {
			t.Fatal(err)
		}
		r := folded(t, f, results...)
		return written(t, func(b *strings.Builder) error { return WriteJSON(b, r) }) +
			written(t, func(b *strings.Builder) error { return WriteResults(b, r) })
	}
	want := text(all)
	slices.Reverse(all)
	if got := text(all); got != want {
		t.Error("the results the other way round give another report")
	}
	again := append(append([]*scenarios.Result{}, all[20:]...), all[:20]...)
	if got := text(again); got != want {
		t.Error("the results of one file after those of another give another report")
	}
}

// What does not fit is an error that says what.
func TestWhatDoesNotFit(t *testing.T) {
	config := func(text string) map[string]json.RawMessage {
		return map[string]json.RawMessage{"v": json.RawMessage(text)}
	}
	for _, c := range []struct {
		why  string
		do   func(f *Fold) error
		want string
	}{
		{"the same trial twice", func(f *Fold) error {
			f.Add(endedIn("s/a", "v", scenarios.Healthy, 7, loop.Done, 1))
			return f.Add(endedIn("s/a", "v", scenarios.Healthy, 7, loop.Done, 1))
		}, `"s/a" under "v" with seed 7 appears twice`},
		{"another label", func(f *Fold) error {
			f.Add(endedIn("s/a", "v", scenarios.Healthy, 1, loop.Done, 1))
			return f.Add(endedIn("s/a", "w", scenarios.Runaway, 1, loop.Done, 1))
		}, `"s/a" is labelled "runaway" here and "healthy" before`},
		{"a word that is not an end state", func(f *Fold) error { return f.Add(endedIn("s/a", "v", "", 1, "done", 1)) },
			`end_state must be one of BUDGET_EXCEEDED, CANCELLED, CEILING, CLARIFY_NEEDED, DONE, ERROR_LIMIT, HUNG, LOOP_DETECTED, MODEL_FAILED, RECORDING_ENDED, STOPPED, UNRECOVERABLE_TOOL_CONTRACT, not "done"`},
		{"a number that cannot be", func(f *Fold) error {
			r := endedIn("s/a", "v", "", 1, loop.Done, 1)
			r.Asked = -2
			return f.Add(r)
		}, `asked must be 0 or more, not -2`},
		{"a variant of the same name", func(f *Fold) error {
			f.Header(&scenarios.Header{Variants: config(`{"limits":{"turns":5}}`)})
			return f.Header(&scenarios.Header{Variants: config(`{"limits":{"turns":6}}`)})
		}, `the variant "v" has another config in an earlier file: rename one of them`},
		{"a run and a replay", func(f *Fold) error {
			f.Header(&scenarios.Header{Kind: "run"})
			return f.Header(&scenarios.Header{Kind: "replay"})
		}, `results of "replay" cannot be counted together with earlier ones of "run": make a report of each`},
		{"a shard twice", func(f *Fold) error {
			f.Header(&scenarios.Header{Shard: "1/2"})
			return f.Header(&scenarios.Header{Shard: "1/2"})
		}, `shard 1/2 appears twice`},
		{"no shard", func(f *Fold) error { return f.Header(&scenarios.Header{Shard: "3/2"}) }, `a shard is i/n with i from 1 to n, such as 2/4, not "3/2"`},
		{"a reference that is not there", func(f *Fold) error {
			f.Reference = "w"
			f.Add(endedIn("s/a", "v", "", 1, loop.Done, 1))
			_, err := f.Report()
			return err
		}, `the reference "w" is not one of the variants: v`},
	} {
		err := c.do(&Fold{})
		if err == nil || err.Error() != c.want {
			t.Errorf("%s: %v\nwant %s", c.why, err, c.want)
		}
	}
	f := &Fold{}
	for _, text := range []string{`{"limits": {"turns": 5}}`, `{"limits":{"turns":5}}`} {
		if err := f.Header(&scenarios.Header{Variants: config(text), Kind: "run"}); err != nil {
			t.Errorf("white space makes no other variant: %v", err)
		}
	}
	if err := f.Header(&scenarios.Header{Kind: "fuzz"}); err != nil {
		t.Errorf("results of fuzz can be counted together with any others: %v", err)
	}
}

// A header promises trials; those that are missing are reported, as are shards.
func TestMissingResultsAreTold(t *testing.T) {
	f := &Fold{}
	f.Header(&scenarios.Header{Shard: "2/3", Trials: 5})
	r := folded(t, f, endedIn("s/a", "v", "", 1, loop.Done, 1), endedIn("s/b", "v", "", 1, "", 0))
	want := []string{
		"the results are incomplete: missing shards 1/3, 3/3",
		"the results are incomplete: they hold 2 of 5 trials",
		"1 trial could not be judged and count in no rate",
	}
	if diff := cmp.Diff(want, r.Warnings); diff != "" {
		t.Error(diff)
	}
}

// Only leaves variants out, and what it leaves out is not missing.
func TestOnly(t *testing.T) {
	f := &Fold{Only: []string{"b"}}
	f.Header(&scenarios.Header{Order: []string{"a", "b"}, Trials: 2})
	r := folded(t, f, endedIn("s/a", "a", "", 1, loop.Done, 1), endedIn("s/a", "b", "", 1, loop.Done, 1))
	if r.Trials != 1 || !slices.Equal(r.Variants, []string{"b"}) || r.Reference != "b" || len(r.Warnings) > 0 {
		t.Errorf("%d trials of %q beside %s, warnings %q", r.Trials, r.Variants, r.Reference, r.Warnings)
	}
}
