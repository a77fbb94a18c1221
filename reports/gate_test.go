package reports

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/scenarios"
)

// judged is a result with the verdict that follows from its label.
func judged(scenario, variant string, label scenarios.Label, state loop.EndState, calls int) *scenarios.Result {
	r := endedIn(scenario, variant, label, 1, state, calls)
	r.Verdict = scenarios.Pass
	if isBad(r) {
		r.Verdict = scenarios.Fail
	}
	return r
}

// suite folds n scenarios, of which the first bad ones go wrong.
func suite(t *testing.T, label scenarios.Label, n, bad int) *Fold {
	t.Helper()
	good, wrong := loop.Done, loop.LoopDetected
	if label == scenarios.Runaway {
		good, wrong = loop.LoopDetected, loop.Ceiling
	}
	f := &Fold{Repeat: func(r *scenarios.Result) string { return "show " + r.Scenario }}
	for i := range n {
		state := good
		if i < bad {
			state = wrong
		}
		folded(t, f, judged(fmt.Sprintf("s/%03d", i), "v", label, state, 20))
	}
	return f
}

// ruleOf finds a rule of a gate.
func ruleOf(t *testing.T, g *Gate, name string) Rule {
	t.Helper()
	for _, r := range g.Rules {
		if r.Name == name {
			return r
		}
	}
	t.Fatalf("there is no rule %s in %+v", name, g.Rules)
	return Rule{}
}

func TestGateRules(t *testing.T) {
	dark := endedIn("s/dark", "v", scenarios.Healthy, 1, "", 0)
	dark.Verdict = scenarios.Inconclusive
	finding := func(rule string) *scenarios.Result {
		r := judged("s/grave", "v", scenarios.Healthy, loop.Done, 1)
		r.Findings = []scenarios.Finding{{Rule: rule}}
		return r
	}
	golden := func(golden string) *scenarios.Result {
		r := judged("s/golden", "v", scenarios.Healthy, loop.Done, 1)
		r.Golden = golden
		return r
	}
	slow := func(kind string, ms float64, calls int) func(*Fold) {
		return func(f *Fold) {
			f.Header(&scenarios.Header{Kind: kind})
			r := judged("s/slow", "v", scenarios.Healthy, loop.Done, 1)
			r.ToolMS = []scenarios.Latency{{UpperMS: ms, N: calls - 3}, {UpperMS: 60000, N: 3}}
			f.Add(r)
		}
	}
	add := func(results ...*scenarios.Result) func(*Fold) {
		return func(f *Fold) {
			for _, r := range results {
				f.Add(r)
			}
		}
	}
	fuzz := func(lines ...Fuzz) func(*Fold) {
		return func(f *Fold) {
			f.Header(&scenarios.Header{Kind: kindFuzz, Trials: 100})
			for _, l := range lines {
				f.AddFuzz(l)
			}
		}
	}
	ok := judged("s/ok", "v", scenarios.Healthy, loop.Done, 1)
	bad := judged("s/bad", "v", scenarios.Healthy, loop.LoopDetected, 1)
	for _, c := range []struct {
		why     string
		fold    func(*Fold)
		limits  func(*Limits)
		rule    string
		verdict scenarios.Verdict // of the rule
		gate    scenarios.Verdict
		text    string // in Measured
	}{
		{"all passed", add(ok), nil, "pass rate", scenarios.Pass, scenarios.Pass, "1 of 1 scenario passed (100 %)"},
		{"one of two failed", add(ok, bad), nil, "pass rate", scenarios.Fail, scenarios.Fail, "1 of 2 scenarios passed (50 %)"},
		{"exactly the rate that is wanted", add(ok, bad), func(l *Limits) { l.PassRate = 0.5 }, "pass rate", scenarios.Pass, scenarios.Pass, "1 of 2"},
		{"a trial that could not be judged hides in no rate", add(ok, dark), nil, "could be judged", scenarios.Inconclusive, scenarios.Inconclusive, "1 trial"},
		{"and not in the pass rate", add(ok, dark), nil, "pass rate", scenarios.Pass, scenarios.Inconclusive, "1 of 1"},
		{"a failure beats it", add(ok, bad, dark), nil, "could be judged", scenarios.Inconclusive, scenarios.Fail, "1 trial"},
		{"a limit that was not kept", add(finding("audit")), func(l *Limits) { l.PassRate = 0 }, "audit", scenarios.Fail, scenarios.Fail, "1 trial broke a limit"},
		{"a broken history", add(finding("history")), func(l *Limits) { l.PassRate = 0 }, "history", scenarios.Fail, scenarios.Fail, "1 trial left"},
		{"a panic", add(finding("panic")), func(l *Limits) { l.PassRate = 0 }, "panic", scenarios.Fail, scenarios.Fail, "1 trial panicked"},
		{"a golden that differs", add(golden("mismatch")), nil, "goldens", scenarios.Fail, scenarios.Fail, "1 of 1 trace with a golden differ from it"},
		{"a golden that does not", add(golden("match")), nil, "goldens", scenarios.Pass, scenarios.Pass, "0 of 1 trace"},
		{"no golden", add(golden("off")), nil, "goldens", scenarios.Unjudged, scenarios.Pass, "no trace"},
		{"fewer trials than wanted", add(ok), func(l *Limits) { l.MinTrials = 2 }, "trials", scenarios.Inconclusive, scenarios.Inconclusive, "1 trial of 1 scenario"},
		{"no trial at all", add(), nil, "trials", scenarios.Inconclusive, scenarios.Inconclusive, "0 trials"},
		{"95 of 100 survive", fuzz(Fuzz{Kind: "a", Runs: 100, Survived: 100}, Fuzz{Kind: "all", Runs: 60, Survived: 60}, Fuzz{Kind: "all", Runs: 40, Survived: 35}), func(l *Limits) { l.MinTrials = 0 }, "fuzz survival", scenarios.Pass, scenarios.Pass, "95 of 100 runs survived (95 %)"},
		{"94 of 100 survive", fuzz(Fuzz{Kind: "a", Runs: 100, Survived: 100}, Fuzz{Kind: "all", Runs: 100, Survived: 94}), func(l *Limits) { l.MinTrials = 0 }, "fuzz survival", scenarios.Fail, scenarios.Fail, "94 of 100"},
		{"all survive, but 9 of 10 are done", fuzz(Fuzz{Kind: "all", Runs: 100, Survived: 100, Recoverable: 10, Done: 9}), func(l *Limits) { l.MinTrials = 0 }, "fuzz survival", scenarios.Fail, scenarios.Fail, "9 of 10 recoverable ones"},
		{"tools in time: 60 of 63 are 95 % and more", slow("record", 800, 63), func(l *Limits) { l.P95Tool = 800 * time.Millisecond }, "p95 tool latency", scenarios.Pass, scenarios.Pass, "800ms"},
		{"tools too slow", slow("record", 900, 63), func(l *Limits) { l.P95Tool = 800 * time.Millisecond }, "p95 tool latency", scenarios.Fail, scenarios.Fail, "900ms"},
		{"few calls have no p95", slow("record", 800, 59), func(l *Limits) { l.P95Tool = 800 * time.Millisecond }, "p95 tool latency", scenarios.Inconclusive, scenarios.Inconclusive, "59 calls: a 95th percentile needs 60"},
		{"scripted tools prove nothing", slow("run", 900, 63), func(l *Limits) { l.P95Tool = 800 * time.Millisecond }, "p95 tool latency", scenarios.Inconclusive, scenarios.Inconclusive, "no latency of real tools"},
		{"nobody asked", slow("record", 900, 63), nil, "p95 tool latency", scenarios.Unjudged, scenarios.Pass, "no limit is set"},
		{"nothing was judged", add(endedIn("s/a", "v", scenarios.Healthy, 1, loop.Done, 1)), nil, "measured", scenarios.Inconclusive, scenarios.Inconclusive, "no rule had anything to check"},
		{"a shard is missing", func(f *Fold) { f.Header(&scenarios.Header{Shard: "1/2", Trials: 1}); f.Add(ok) }, nil, "whole", scenarios.Inconclusive, scenarios.Inconclusive, "missing shards 2/2"},
		{"a run was broken off", func(f *Fold) { f.Header(&scenarios.Header{Trials: 9}); f.Add(ok) }, nil, "whole", scenarios.Inconclusive, scenarios.Inconclusive, "1 of 9 trials"},
	} {
		f, limits := &Fold{}, DefaultLimits()
		c.fold(f)
		if c.limits != nil {
			c.limits(&limits)
		}
		g := limits.Judge(f, nil, nil)
		r := ruleOf(t, g, c.rule)
		if r.Verdict != c.verdict || g.Verdict != c.gate || !strings.Contains(r.Measured, c.text) {
			t.Errorf("%s: %s is %s (%s), the gate %s; want %s (… %s …), %s", c.why, c.rule, r.Verdict, r.Measured, g.Verdict, c.verdict, c.text, c.gate)
		}
	}
}

// A rate is worse than the baseline's only beyond the margin and by the test.
// The sign test gives p = 2·½⁵ = .0625 for five scenarios that got worse, and
// 2·½⁶ = .03125 for six.
func TestGateAgainstABaseline(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes a second of CPU")
	}
	for _, c := range []struct {
		why      string
		label    scenarios.Label
		n        int // scenarios
		now      int // of them wrong
		base     int
		margin   float64
		rule     string
		verdict  scenarios.Verdict
		warning  bool
		measured string
	}{
		{"nothing changed", scenarios.Healthy, 50, 3, 3, 0.02, "healthy stopped", scenarios.Pass, false, "3 of 50, 3 in the baseline (0 better, 0 worse; p = 1)"},
		{"six more stopped", scenarios.Healthy, 50, 6, 0, 0.02, "healthy stopped", scenarios.Fail, false, "6 of 50, 0 in the baseline (0 better, 6 worse; p = .03)"},
		{"five may be chance", scenarios.Healthy, 50, 5, 0, 0.02, "healthy stopped", scenarios.Pass, true, "5 of 50, 0 in the baseline (0 better, 5 worse; p = .06)"},
		{"one is within the margin", scenarios.Healthy, 50, 1, 0, 0.02, "healthy stopped", scenarios.Pass, false, "(0 better, 1 worse; p = 1)"},
		{"six are, if it is wide", scenarios.Healthy, 50, 6, 0, 0.12, "healthy stopped", scenarios.Pass, false, "p = .03"},
		{"six fewer stopped is better", scenarios.Healthy, 50, 0, 6, 0.02, "healthy stopped", scenarios.Pass, false, "(6 better, 0 worse; p = .03)"},
		{"six fewer caught", scenarios.Runaway, 50, 6, 0, 0.02, "runaways caught", scenarios.Fail, false, "44 of 50, 50 in the baseline (0 better, 6 worse; p = .03)"},
		{"six more caught", scenarios.Runaway, 50, 0, 6, 0.02, "runaways caught", scenarios.Pass, false, "(6 better, 0 worse; p = .03)"},
		{"six fewer passed", scenarios.Runaway, 50, 6, 0, 0.02, "pass rate kept", scenarios.Fail, false, "44 of 50, 50 in the baseline"},
	} {
		limits := DefaultLimits()
		limits.MaxRegression = c.margin
		r := ruleOf(t, limits.Judge(suite(t, c.label, c.n, c.now), suite(t, c.label, c.n, c.base), nil), c.rule)
		if r.Verdict != c.verdict || r.Warning != c.warning || !strings.Contains(r.Measured, c.measured) {
			t.Errorf("%s: %s, warning %t (%s)\nwant %s, %t (… %s …)", c.why, r.Verdict, r.Warning, r.Measured, c.verdict, c.warning, c.measured)
		}
		if c.now > c.base && r.See != fmt.Sprintf("show s/%03d", c.base) {
			t.Errorf("%s: see %q, want the first that got worse", c.why, r.See)
		}
	}
}

// The curve at 16 calls must not be below the baseline's band. A baseline
// without a stop has the exact limit of 50 runs at risk, .05^(1/50) = .9418: 2
// stopped of 50 are above it (.96), 3 below (.94).
func TestGateOnSurvival(t *testing.T) {
	early := func(stopped int) *Fold {
		f := &Fold{}
		for i := range 50 {
			state, calls := loop.Done, 20
			if i < stopped {
				state, calls = loop.LoopDetected, 10
			}
			folded(t, f, judged(fmt.Sprintf("s/%03d", i), "v", scenarios.Healthy, state, calls))
		}
		return f
	}
	for stopped, want := range map[int]scenarios.Verdict{0: scenarios.Pass, 2: scenarios.Pass, 3: scenarios.Fail} {
		r := ruleOf(t, DefaultLimits().Judge(early(stopped), early(0), nil), "survival at 16")
		if r.Verdict != want || r.Wanted != "at least 94 %, the baseline's lower limit" {
			t.Errorf("%d stopped: %s (%s, wanted %s), want %s", stopped, r.Verdict, r.Measured, r.Wanted, want)
		}
	}
	// Where no healthy run wants 16 calls there is nothing to compare.
	short := func() *Fold {
		f := &Fold{}
		folded(t, f, judged("s/a", "v", scenarios.Healthy, loop.Done, 3))
		return f
	}
	if r := ruleOf(t, DefaultLimits().Judge(short(), short(), nil), "survival at 16"); r.Verdict != scenarios.Unjudged {
		t.Errorf("%+v, want nothing measured", r)
	}
}

// Scenarios that came or went do what the policies say; results that have no
// scenario in common with the baseline cannot be compared.
func TestGateOnNewAndRemoved(t *testing.T) {
	now, base := suite(t, scenarios.Healthy, 4, 0), suite(t, scenarios.Healthy, 3, 0)
	folded(t, base, judged("s/gone", "v", scenarios.Healthy, loop.Done, 1))
	for policy, want := range map[Policy]struct {
		verdict scenarios.Verdict
		warning bool
	}{Allow: {scenarios.Pass, false}, Warn: {scenarios.Pass, true}, Forbid: {scenarios.Fail, false}} {
		limits := DefaultLimits()
		limits.OnNew, limits.OnRemoved = policy, policy
		g := limits.Judge(now, base, nil)
		for rule, measured := range map[string]string{"new scenarios": "1 scenario that the baseline does not have: s/003", "removed": "1 scenario that only the baseline has: s/gone"} {
			if r := ruleOf(t, g, rule); r.Verdict != want.verdict || r.Warning != want.warning || r.Measured != measured {
				t.Errorf("%s, %s: %s, %t (%s); want %s, %t (%s)", policy, rule, r.Verdict, r.Warning, r.Measured, want.verdict, want.warning, measured)
			}
		}
	}
	other := &Fold{}
	folded(t, other, judged("other/a", "v", scenarios.Healthy, loop.Done, 1))
	if g := DefaultLimits().Judge(now, other, nil); g.Verdict != scenarios.Inconclusive || ruleOf(t, g, "baseline").Measured != "no scenario is in both results" {
		t.Errorf("%+v, want an inconclusive gate", g)
	}
}

// Where scenarios were tried under several variants each variant is compared,
// and p is corrected for their number: 2·.03125 for six under one of two.
func TestGateOnSeveralVariants(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes a second of CPU")
	}
	both := func(bad int) *Fold {
		f := &Fold{}
		for i := range 50 {
			name := fmt.Sprintf("s/%03d", i)
			state := loop.Done
			if i < bad {
				state = loop.LoopDetected
			}
			folded(t, f, judged(name, "a", scenarios.Healthy, loop.Done, 5), judged(name, "b", scenarios.Healthy, state, 5))
		}
		return f
	}
	for bad, want := range map[int]string{6: "p = .06", 7: "p = .03"} {
		g := DefaultLimits().Judge(both(bad), both(0), nil)
		if r := ruleOf(t, g, "healthy stopped, a"); r.Verdict != scenarios.Pass {
			t.Errorf("a: %+v", r)
		}
		r := ruleOf(t, g, "healthy stopped, b")
		if !strings.Contains(r.Measured, want) || r.Verdict == scenarios.Fail != (bad == 7) {
			t.Errorf("b, %d worse: %s (%s), want %s", bad, r.Verdict, r.Measured, want)
		}
	}
}
