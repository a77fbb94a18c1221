package reports

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/scenarios"
	"github.com/google/go-cmp/cmp"
)

// evidenceFold holds 8 runaways and 8 healthy runs under three variants: ours catches all
// runaways after 4 calls and harms nothing, late does the same after 5, and deaf harms
// every healthy run.
func evidenceFold(t *testing.T) *Report {
	t.Helper()
	f := &Fold{}
	for i := range 8 {
		runaway, healthy := fmt.Sprintf("s/runaway-%d", i), fmt.Sprintf("s/healthy-%d", i)
		for _, v := range []struct {
			name  string
			calls int
			good  loop.EndState
		}{{"ours", 4, loop.Done}, {"late", 5, loop.Done}, {"deaf", 4, loop.LoopDetected}, {"twin", 4, loop.Done}} {
			fill(t, f, endedIn(runaway, v.name, scenarios.Runaway, 1, loop.LoopDetected, v.calls), endedIn(healthy, v.name, scenarios.Healthy, 1, v.good, 3))
		}
	}
	fill(t, f, endedIn("s/another", "apart", scenarios.Runaway, 1, loop.LoopDetected, 4))
	return folded(t, f)
}

func TestEvidence(t *testing.T) {
	r := evidenceFold(t)
	// Three alternatives in three columns are nine tests. Two of them differ in 8 of 8
	// scenarios: p = 2 · .5⁸ = .0078, times 9 (Holm) = .0703 for both.
	if r.Evidence.Compared != 9 {
		t.Errorf("%d comparisons, want 9", r.Evidence.Compared)
	}
	for _, row := range r.Evidence.Rows {
		want := map[string][3]float64{"late": {1, 1, 9 * 2. / 256}, "deaf": {1, 9 * 2. / 256, 1}, "twin": {1, 1, 1}}[row.Variant]
		for i, p := range row.columns() {
			if known := row.Variant != "ours" && row.Variant != "apart"; p != nil && (p.Known() != known || known && math.Abs(float64(*p)-want[i]) > 1e-12) {
				t.Errorf("%s, column %d: p = %v, want %v", row.Variant, i, *p, want[i])
			}
		}
	}
	if diff := cmp.Diff([]string{"late", "deaf", "twin"}, r.Evidence.Same); diff != "" {
		t.Error(diff)
	}
	if want := "These figures cannot tell ours from late; deaf; twin (every p is .05 or more). Without a scenario in common: apart."; r.Evidence.InWords != want {
		t.Errorf("%q, want %q", r.Evidence.InWords, want)
	}
	var b strings.Builder
	if err := r.Evidence.Write(&b); err != nil {
		t.Fatal(err)
	}
	// Wilson by hand, z² = 3.8415: 8 of 8 gives 8/11.8415 = .676, 0 of 8 the exact
	// one-sided bound 1 − .05^(1/8) = .312.
	for _, want := range []string{"corrected for 9 comparisons", "8 of 8", "0 of 8"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in\n%s", want, b.String())
		}
	}
}

// What one column tells apart is told apart, and one variant alone has no evidence.
func TestEvidenceTellsApart(t *testing.T) {
	f := &Fold{}
	for i := range 12 { // 2 · .5¹² · 3 = .0015
		name := fmt.Sprintf("s/runaway-%d", i)
		fill(t, f, endedIn(name, "ours", scenarios.Runaway, 1, loop.LoopDetected, 4))
		if i == 0 && folded(t, f).Evidence != nil {
			t.Error("one variant has evidence")
		}
		fill(t, f, endedIn(name, "blind", scenarios.Runaway, 1, loop.Ceiling, 1000))
	}
	if e := folded(t, f).Evidence; len(e.Same) != 0 || e.InWords != "ours can be told from every alternative that was tried on its scenarios." {
		t.Errorf("%+v", e)
	}
}

// A replay counts what was stopped, and the calls saved on failed runs.
func TestEvidenceOfReplay(t *testing.T) {
	f := &Fold{}
	if err := f.Header(&scenarios.Header{Kind: KindReplay}); err != nil {
		t.Fatal(err)
	}
	for i := range 10 {
		run := fmt.Sprintf("r/%d", i)
		stopped := endedIn(run, "strict", scenarios.Runaway, 1, loop.LoopDetected, 4)
		stopped.Saved = 6
		fill(t, f, endedIn(run, "ours", scenarios.Runaway, 1, loop.RecordingEnded, 10), stopped)
	}
	e := folded(t, f).Evidence
	strict := e.Rows[1]
	if strict.NotRun == nil || strict.NotRun.K != 60 || strict.NotRun.N != 100 || strict.Caught.K != 10 || strict.Calls != nil || strict.Harmed != nil {
		t.Errorf("%+v", strict)
	}
	if want := 2 * 2. / 1024; math.Abs(float64(strict.NotRun.P)-want) > 1e-12 { // two tests, 10 of 10 each
		t.Errorf("p = %v, want %v", strict.NotRun.P, want)
	}
}
