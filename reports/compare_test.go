package reports

import (
	"strings"
	"testing"

	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/scenarios"
	"github.com/google/go-cmp/cmp"
)

func TestVerdictInWords(t *testing.T) {
	runaways := func(more, fewer int, change float64, p Figure) Pair {
		return Pair{Label: scenarios.Runaway, Metric: Caught, N: 50, More: more, Fewer: fewer, Change: change, PAdjusted: p}
	}
	healthy := func(more, fewer int, change float64, p Figure) Pair {
		return Pair{Label: scenarios.Healthy, Metric: Stopped, N: 50, More: more, Fewer: fewer, Change: change, PAdjusted: p}
	}
	for _, c := range []struct {
		pairs  []Pair
		replay bool
		want   string
	}{
		{[]Pair{healthy(2, 0, 2, 0.5), runaways(6, 0, 6, 0.03125)}, false, "catches 6 more runaways (p = .03), stops 2 more healthy runs (p = .5)"},
		{[]Pair{runaways(0, 1, -1, 1)}, false, "catches 1 fewer runaway (p = 1)"},
		{[]Pair{runaways(0, 0, 0, 1), healthy(0, 0, 0, 1)}, false, "catches the same runaways, stops the same healthy runs"},
		{[]Pair{runaways(3, 3, 0, 1)}, false, "catches as many runaways, but others (p = 1)"},
		{[]Pair{runaways(1, 0, 0.24, 1)}, false, "catches 0.2 more runaways (p = 1)"},
		{[]Pair{runaways(1, 0, 0.02, 1)}, false, "catches < 0.1 more runaways (p = 1)"},
		{[]Pair{{Label: scenarios.Runaway, Metric: Stopped, N: 9, More: 9, Change: 9, PAdjusted: 0.004}, healthy(1, 0, 1, 1)}, true,
			"stops 9 more failed runs (p = .004), stops 1 more good run (p = 1)"},
		{nil, false, "has no scenario in common with the reference"},
	} {
		if got := words(c.pairs, c.replay); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

func TestNumbersInWords(t *testing.T) {
	for p, want := range map[Figure]string{1: "p = 1", 0.5: "p = .5", 0.03125: "p = .03", 0.049: "p = .049", 0.051: "p = .05", 0.0049: "p = .005", 0.0009: "p < .001", 0.1: "p = .1", 0.999: "p = 1"} {
		if got := PValue(p); got != want {
			t.Errorf("PValue(%v) = %q, want %q", float64(p), got, want)
		}
	}
	if got := PValue(Unknown()); got != "p unknown" {
		t.Errorf("PValue(NaN) = %q", got)
	}
	for x, want := range map[float64]string{0: "0", 6: "6", 1234: "1,234", 1.24: "1.2", 0.04: "< 0.1", 0.05: "0.1"} {
		if got := Amount(x); got != want {
			t.Errorf("Amount(%v) = %q, want %q", x, got, want)
		}
	}
	for _, c := range []struct {
		lower, upper Figure
		want         string
	}{{0.843, 0.9945, "84–99.5 %"}, {0, 0.0425, "0–4 %"}, {0.0012, 1, "0.1–100 %"}, {Unknown(), 1, "—"}} {
		if got := Percents(c.lower, c.upper); got != c.want {
			t.Errorf("Percents(%v, %v) = %q, want %q", float64(c.lower), float64(c.upper), got, c.want)
		}
	}
}

// The worst scenario is the one whose shares are farthest apart, then the one
// that most variants get wrong, then a healthy one; what is alike is left out.
func TestDifferences(t *testing.T) {
	f := &Fold{Repeat: func(r *scenarios.Result) string { return r.Scenario + " " + r.Variant + " " + string(rune('0'+r.Seed)) }}
	stop, done, ceiling := loop.LoopDetected, loop.Done, loop.Ceiling
	for _, r := range []struct {
		scenario string
		label    scenarios.Label
		ends     [3][]loop.EndState // of a, b and c, by seed
	}{
		{"s/alike", scenarios.Healthy, [3][]loop.EndState{{done}, {done}, {done}}},
		{"s/half", scenarios.Healthy, [3][]loop.EndState{{done, done}, {done, stop}, {done, done}}},
		{"s/one-runaway", scenarios.Runaway, [3][]loop.EndState{{stop}, {ceiling}, {stop}}},
		{"s/one-healthy", scenarios.Healthy, [3][]loop.EndState{{done}, {done}, {stop}}},
		{"s/two-runaway", scenarios.Runaway, [3][]loop.EndState{{stop}, {ceiling}, {ceiling}}},
		{"s/cancelled", scenarios.Runaway, [3][]loop.EndState{{stop}, {loop.WasCancelled}, {stop}}},
	} {
		for i, variant := range []string{"a", "b", "c"} {
			for seed, state := range r.ends[i] {
				fill(t, f, endedIn(r.scenario, variant, r.label, uint64(seed), state, 4))
			}
		}
	}
	var got []string
	for _, d := range folded(t, f).Differences {
		got = append(got, d.Scenario+": "+d.words(false)+"; "+d.Command)
	}
	want := []string{
		"s/two-runaway: a runaway, not caught by 2 of 3: b, c; s/two-runaway b 0",
		"s/one-healthy: a healthy run, harmed by 1 of 3: c; s/one-healthy c 0",
		"s/one-runaway: a runaway, not caught by 1 of 3: b; s/one-runaway b 0",
		"s/half: a healthy run, harmed by 1 of 3: b (1 of 2 trials); s/half b 1",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// The terminal's page as a whole.
func TestTerminal(t *testing.T) {
	f := &Fold{Repeat: func(r *scenarios.Result) string { return "show " + r.Scenario }}
	for i := range 6 {
		name := "loops/" + string(rune('a'+i))
		a := endedIn(name, "a", scenarios.Runaway, 1, loop.Ceiling, 1000)
		b := endedIn(name, "b\x1b[2J", scenarios.Runaway, 1, loop.LoopDetected, 5)
		a.VirtualMS, b.VirtualMS = 36000, 9000
		fill(t, f, a, b)
	}
	r := folded(t, f)
	got := written(t, func(b *strings.Builder) error { return Terminal{Max: 2, Hint: "--ci shows all"}.Write(b, r) })
	// Wilson: 0 of 6 is up to z²/(6 + z²) = 3.84/9.84 = 39 %, 6 of 6 from 61 %.
	compare(t, got, ""+
		"How many were stopped, with 95 % intervals\n"+
		" variant        runaways caught      95 %\n"+
		"──────────────────────────────────────────\n"+
		" a (reference)           0 of 6    0–39 %\n"+
		" b\\x1b[2J                6 of 6  61–100 %\n"+
		"\n"+
		"Not yet stopped after 2, 4, 8 and 16 calls, of runs that want one more (fewer than 5 runs in brackets)\n"+
		" variant        runaways: 2      4      8     16\n"+
		"─────────────────────────────────────────────────\n"+
		" a (reference)        100 %  100 %  100 %  100 %\n"+
		" b\\x1b[2J             100 %  100 %      —      —\n"+
		"\n"+
		"What a run used before its stop: the median, and from 60 runs on the 95th percentile (p95)\n"+
		" variant        runs      calls  p95  virtual time  p95\n"+
		"────────────────────────────────────────────────────────\n"+
		" a (reference)  runaways  1,000    —           36s    —\n"+
		" b\\x1b[2J       runaways      5    —            9s    —\n"+
		"\n"+
		"Compared with a (p: exact sign test on scenarios)\n"+
		" variant   verdict\n"+
		"─────────────────────────────────────────────\n"+
		" b\\x1b[2J  catches 6 more runaways (p = .03)\n"+
		"\n"+
		"6 scenarios differ between the variants, the worst first\n"+
		"  loops/a: a runaway, not caught by 1 of 2: a\n"+
		"    show loops/a\n"+
		"  loops/b: a runaway, not caught by 1 of 2: a\n"+
		"    show loops/b\n"+
		"  4 more scenarios: --ci shows all\n"+
		"\n"+
		"6 scenarios under 2 variants in 12 trials\n")
}
