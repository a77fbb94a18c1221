package tune

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/agentbench-go/agentbench/cassettes/shapes"
	"github.com/agentbench-go/agentbench/cassettes/trajectories"
)

// allRules returns every candidate and preset.
func allRules(t testing.TB) []*Rule {
	t.Helper()
	presets, err := Presets()
	if err != nil {
		t.Fatal(err)
	}
	return append(Candidates(true, true), presets...)
}

// randomRuns returns runs with everything that a shape can hold: repeated calls, cycles,
// batches, errors, texts that look like one, broken arguments, calls without a name or an
// answer, empty replies, several user messages, and in every other run times and tokens.
func randomRuns(t testing.TB, n int) []*trajectories.Trajectory {
	t.Helper()
	r := rand.New(rand.NewPCG(3, 5))
	var file strings.Builder
	for i := range n {
		fmt.Fprintf(&file, "%d %s u", i+1, []string{"success", "failure", "unknown"}[r.IntN(3)])
		if i%2 == 0 {
			file.WriteString("@0")
		}
		args, results, at := 1+r.IntN(8), 1+r.IntN(8), 0
		call := func() string {
			c := fmt.Sprintf("%c%d", 'a'+r.IntN(3), 1+r.IntN(args))
			switch k := r.IntN(60); {
			case k == 0:
				c = fmt.Sprintf("%c%d~", 'a'+r.IntN(3), 50+r.IntN(3))
			case k < 3:
				return c + "?"
			}
			c += fmt.Sprint("=", 1+r.IntN(results))
			switch k := r.IntN(20); {
			case k < i%4:
				c += "!"
			case k == 19 && i%5 == 0:
				c = fmt.Sprintf("d%d=%d!e", 1+r.IntN(args), 100+r.IntN(3))
			}
			return c
		}
		last := ""
		for range r.IntN(40) {
			step := call()
			if r.IntN(3) == 0 && last != "" {
				step = last
			}
			for r.IntN(6) == 0 {
				step += "+" + call()
			}
			last = step
			if i%2 == 0 {
				at += r.IntN(60)
				step += fmt.Sprintf("@%d#%d/%d", at, 1+r.IntN(9000), 1+r.IntN(500))
			}
			switch k := r.IntN(40); {
			case k == 0 && i%2 == 1:
				step = ". u"
			case k == 1 && i%7 == 1:
				step = "_"
			}
			file.WriteString(" " + step)
		}
		file.WriteString("\n")
	}
	runs, err := shapes.Parse([]byte(file.String()))
	if err != nil {
		t.Fatal(err)
	}
	return trajectories.FromShapes(runs)
}

// What is known of a run without a replay is what its replay says, for every rule and
// preset, on random runs and on real ones.
func TestQuiet(t *testing.T) {
	runs := randomRuns(t, 120)
	for i, r := range runs { // every third as if it were more than a shape, which judges more
		r.Shape = i%3 > 0
	}
	for i, r := range trajectories.Embedded() {
		if i%15 == 0 {
			runs = append(runs, r)
		}
	}
	checkQuiet(t, allRules(t), runs)
}

// checkQuiet compares what facts tell with replays.
func checkQuiet(t *testing.T, rules []*Rule, runs []*trajectories.Trajectory) {
	t.Helper()
	spared, plain := 0, 0
	for _, run := range runs {
		known := factsOf(run)
		if known.plain {
			plain++
		}
		for _, rule := range rules {
			if !known.quiet(&rule.Config) {
				continue
			}
			spared++
			if s, err := replayed(t.Context(), run, rule.Variant()); err != nil || s != (Stop{}) {
				t.Errorf("%s under %s: %+v, %v, and it is said to do nothing", run.ID(), rule.Name, s, err)
			}
		}
	}
	share := float64(spared) / float64(len(runs)*len(rules))
	t.Logf("%d runs, %d of them plain: %.0f %% of the replays are spared", len(runs), plain, 100*share)
	if share < 0.2 {
		t.Errorf("only %.0f %% of the replays are spared", 100*share)
	}
}

// BenchmarkMeasure measures 500 runs of 20 calls under all rules.
func BenchmarkMeasure(b *testing.B) {
	runs, rules := randomRuns(b, 500), allRules(b)
	b.ReportAllocs()
	for b.Loop() {
		m, err := Measure(b.Context(), runs, rules, 1, func(int) {})
		if err != nil {
			b.Fatal(err)
		}
		m.Choose(0.01)
	}
}
