package reports

import (
	"fmt"
	"slices"
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
		fill(t, f, judged(fmt.Sprintf("s/%03d", i), "v", label, state, 20))
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

// A rate is worse than the baseline's only beyond the margin and by the test. With one
// trial each, ½ⁿ is the chance that all of n scenarios that differ are worse. Healthy
// scenarios have five rules (pass rate, stopped, stopped by call 16, interfered with,
// harmed), runaways two (pass rate, caught): 5·½⁶ = .078, 5·½⁷ = .039, 2·½⁵ = .0625,
// 2·½⁶ = .031. All scenarios draw; else one would do.
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
		{"seven more stopped", scenarios.Healthy, 50, 7, 0, 0.02, "healthy stopped", scenarios.Fail, false, "7 of 50, 0 in the baseline (0 better, 7 worse; p = .04)"},
		{"seven more harmed", scenarios.Healthy, 50, 7, 0, 0.02, "healthy harmed", scenarios.Fail, false, "7 of 50, 0 in the baseline (0 better, 7 worse; p = .04)"},
		{"six may be chance", scenarios.Healthy, 50, 6, 0, 0.02, "healthy stopped", scenarios.Pass, true, "6 of 50, 0 in the baseline (0 better, 6 worse; p = .08)"},
		{"one is within the margin", scenarios.Healthy, 50, 1, 0, 0.02, "healthy stopped", scenarios.Pass, false, "(0 better, 1 worse; p = 1)"},
		{"seven are, if it is wide", scenarios.Healthy, 50, 7, 0, 0.14, "healthy stopped", scenarios.Pass, false, "p = .04"},
		{"seven fewer stopped is better", scenarios.Healthy, 50, 0, 7, 0.02, "healthy stopped", scenarios.Pass, false, "(7 better, 0 worse; p = 1)"},
		{"six fewer caught", scenarios.Runaway, 50, 6, 0, 0.02, "runaways caught", scenarios.Fail, false, "44 of 50, 50 in the baseline (0 better, 6 worse; p = .03)"},
		{"five may be chance", scenarios.Runaway, 50, 5, 0, 0.02, "runaways caught", scenarios.Pass, true, "(0 better, 5 worse; p = .06)"},
		{"six more caught", scenarios.Runaway, 50, 0, 6, 0.02, "runaways caught", scenarios.Pass, false, "(6 better, 0 worse; p = 1)"},
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

// seeded folds 60 healthy scenarios of ten trials with 20 calls each, of which the named
// ones lose one trial at call 5, or at calls.
func seeded(t *testing.T, calls int, losing ...int) *Fold {
	t.Helper()
	f := &Fold{}
	for i := range 60 {
		for seed := range uint64(10) {
			r := endedIn(fmt.Sprintf("s/%02d", i), "v", scenarios.Healthy, seed+1, loop.Done, 20)
			if seed == 0 && slices.Contains(losing, i) {
				r.EndState, r.Calls, r.Asked = loop.LoopDetected, calls, calls
			}
			fill(t, f, r)
		}
	}
	return f
}

// One trial of each of four scenarios is stopped at call 5, in the baseline one trial of
// another scenario or none: (.4 − .1)/60 = .5 % and .4/60 = .7 % more, within the margin,
// and 6/32 and 1/16 by chance. A worse baseline never makes it stricter. The rule looks at
// stops up to call 16: twelve are .1·12/60 = 2 %, thirteen 2.2 % with p = 4·½¹³; the same
// stops at call 17 fail the rule on all stops alone.
func TestGateOnEarlyStops(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes a second of CPU")
	}
	thirteen := []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}
	for _, c := range []struct {
		why         string
		now, base   *Fold
		early, ever scenarios.Verdict
	}{
		{"against one", seeded(t, 5, 1, 2, 3, 4), seeded(t, 5, 0), scenarios.Pass, scenarios.Pass},
		{"against none", seeded(t, 5, 1, 2, 3, 4), seeded(t, 5), scenarios.Pass, scenarios.Pass},
		{"twelve", seeded(t, 16, thirteen[:12]...), seeded(t, 5), scenarios.Pass, scenarios.Pass},
		{"thirteen", seeded(t, 16, thirteen...), seeded(t, 5), scenarios.Fail, scenarios.Fail},
		{"later", seeded(t, 17, thirteen...), seeded(t, 5), scenarios.Pass, scenarios.Fail},
		{"earlier than before", seeded(t, 16, thirteen...), seeded(t, 17, thirteen...), scenarios.Fail, scenarios.Pass},
	} {
		g := DefaultLimits().Judge(c.now, c.base, nil)
		early, ever := ruleOf(t, g, "healthy stopped by call 16"), ruleOf(t, g, "healthy stopped")
		if early.Verdict != c.early || ever.Verdict != c.ever || early.Warning || ever.Warning {
			t.Errorf("%s: early %+v\never %+v\nwant %s, %s", c.why, early, ever, c.early, c.ever)
		}
	}
}

// What an agent that is not this loop never gets far enough for is a warning, if the
// baseline could not judge it either; of this loop it is a script that does not fit.
func TestGateOnWhatWasNeverJudged(t *testing.T) {
	of := func(by scenarios.Judged, dark ...string) *Fold {
		f := &Fold{}
		if err := f.Header(&scenarios.Header{Kind: "probe", Judged: by, Trials: 2 + len(dark)}); err != nil {
			t.Fatal(err)
		}
		fill(t, f, judged("s/1", "v", scenarios.Healthy, loop.Done, 1), judged("s/2", "v", scenarios.Healthy, loop.Done, 1))
		for _, name := range dark {
			r := judged(name, "v", scenarios.Runaway, loop.StoppedByAgent, 1)
			r.Verdict = scenarios.Inconclusive
			fill(t, f, r)
		}
		return f
	}
	for _, c := range []struct {
		why       string
		now, base *Fold
		verdict   scenarios.Verdict
		warning   bool
	}{
		{"the same", of(scenarios.JudgedForeign, "s/a"), of(scenarios.JudgedForeign, "s/a"), scenarios.Pass, true},
		{"less", of(scenarios.JudgedForeign, "s/a"), of(scenarios.JudgedForeign, "s/a", "s/b"), scenarios.Pass, true},
		{"another one", of(scenarios.JudgedForeign, "s/b"), of(scenarios.JudgedForeign, "s/a"), scenarios.Inconclusive, false},
		{"one more", of(scenarios.JudgedForeign, "s/a", "s/b"), of(scenarios.JudgedForeign, "s/a"), scenarios.Inconclusive, false},
		{"no baseline", of(scenarios.JudgedForeign, "s/a"), nil, scenarios.Inconclusive, false},
		{"this loop", of(scenarios.JudgedOwn, "s/a"), of(scenarios.JudgedOwn, "s/a"), scenarios.Inconclusive, false},
	} {
		g := DefaultLimits().Judge(c.now, c.base, nil)
		if r := ruleOf(t, g, "could be judged"); r.Verdict != c.verdict || r.Warning != c.warning {
			t.Errorf("%s: %+v, want %s, %t", c.why, r, c.verdict, c.warning)
		}
	}
}

// Of an agent that is not this loop a change is not told, and the gate does not say that
// there is none: it says that the rates are compared. What is new and fails is told.
func TestGateOnForeignChanges(t *testing.T) {
	of := func(results ...*scenarios.Result) *Fold {
		f := &Fold{}
		if err := f.Header(&scenarios.Header{Kind: "probe", Judged: scenarios.JudgedForeign, Trials: len(results)}); err != nil {
			t.Fatal(err)
		}
		fill(t, f, results...)
		return f
	}
	harmed := judged("s/1", "v", scenarios.Healthy, loop.StoppedByAgent, 1)
	harmed.Verdict = scenarios.Fail
	base := of(judged("s/1", "v", scenarios.Healthy, loop.Done, 1))
	g := DefaultLimits().Judge(of(harmed), base, nil)
	for _, rule := range []string{"newly failing", "newly harmed", "fixed"} {
		if r := ruleOf(t, g, rule); r.Verdict != scenarios.Unjudged || r.Measured != "of a foreign agent one trial proves little: the rates are compared" {
			t.Errorf("%s: %+v", rule, r)
		}
	}
	fresh := judged("s/2", "v", scenarios.Healthy, loop.StoppedByAgent, 1)
	fresh.Verdict = scenarios.Fail
	g = DefaultLimits().Judge(of(harmed, fresh), base, nil)
	if r := ruleOf(t, g, "newly failing"); r.Verdict != scenarios.Fail || r.Measured != "1 scenario failing, and not in the baseline: s/2 (new)" {
		t.Errorf("one that is new: %+v", r)
	}
}

// Scenarios that came or went do what the policies say; results that have no
// scenario in common with the baseline cannot be compared.
func TestGateOnNewAndRemoved(t *testing.T) {
	now, base := suite(t, scenarios.Healthy, 4, 0), suite(t, scenarios.Healthy, 3, 0)
	fill(t, base, judged("s/gone", "v", scenarios.Healthy, loop.Done, 1))
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
	fill(t, other, judged("other/a", "v", scenarios.Healthy, loop.Done, 1))
	if g := DefaultLimits().Judge(now, other, nil); g.Verdict != scenarios.Inconclusive || ruleOf(t, g, "baseline").Measured != "no scenario is in both results" {
		t.Errorf("%+v, want an inconclusive gate", g)
	}
}

// Where scenarios were tried under several variants each variant is compared,
// and p is corrected for their number: five rules of two variants, 10·½⁷ = .078 and
// 10·½⁸ = .039 under one of them.
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
			fill(t, f, judged(name, "a", scenarios.Healthy, loop.Done, 5), judged(name, "b", scenarios.Healthy, state, 5))
		}
		return f
	}
	for bad, want := range map[int]string{7: "p = .08", 8: "p = .04"} {
		g := DefaultLimits().Judge(both(bad), both(0), nil)
		if r := ruleOf(t, g, "healthy stopped, a"); r.Verdict != scenarios.Pass {
			t.Errorf("a: %+v", r)
		}
		r := ruleOf(t, g, "healthy stopped, b")
		if !strings.Contains(r.Measured, want) || r.Verdict == scenarios.Fail != (bad == 8) {
			t.Errorf("b, %d worse: %s (%s), want %s", bad, r.Verdict, r.Measured, want)
		}
	}
}
