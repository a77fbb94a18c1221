package reports

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/scenarios"
	"github.com/google/go-cmp/cmp"
)

// What a report counts over several files: announced trials and skipped records add up,
// the seed is the lowest, and each scenario counts once in its suite, with the worst of
// its verdicts.
func TestCountsOfSeveralFiles(t *testing.T) {
	f := &Fold{}
	for _, h := range []scenarios.Header{{Seed: 7, Seeds: 2, Trials: 5, Skipped: 2}, {Seed: 3, Seeds: 4, Trials: 6, Skipped: 1}, {Seed: 9, Trials: 4}} {
		if err := f.Header(&h); err != nil {
			t.Fatal(err)
		}
	}
	for i, v := range []scenarios.Verdict{scenarios.Pass, scenarios.Pass, scenarios.Pass, scenarios.Fail, scenarios.Fail, scenarios.Inconclusive, scenarios.Inconclusive, scenarios.Unjudged} {
		r := endedIn(fmt.Sprintf("s/%d", i/2), "v", scenarios.Healthy, uint64(i), loop.Done, 1)
		r.Verdict = v
		if err := f.Add(r); err != nil {
			t.Fatal(err)
		}
	}
	r := folded(t, f)
	if r.Seed != 3 || r.Seeds != 4 || r.Trials != 8 || r.Scenarios != 4 {
		t.Errorf("seed %d of %d, %d trials of %d scenarios; want 3 of 4, 8 of 4", r.Seed, r.Seeds, r.Trials, r.Scenarios)
	}
	if want := (Verdicts{Pass: 3, Fail: 2, Inconclusive: 2, Unjudged: 1}); r.Verdicts != want {
		t.Errorf("verdicts %+v, want %+v", r.Verdicts, want)
	}
	// 0: pass, pass; 1: pass, fail; 2: fail, inconclusive; 3: inconclusive, unjudged.
	if diff := cmp.Diff([]Suite{{Suite: "s", Scenarios: 4, Passed: 1, Failed: 2, Inconclusive: 1}}, r.Suites); diff != "" {
		t.Error(diff)
	}
	want := []string{
		"the results are incomplete: they hold 8 of 15 trials",
		"recorded runs, or their labels, are missing: 3 problems when they were read",
		"2 trials could not be judged and count in no rate",
	}
	if diff := cmp.Diff(want, r.Warnings); diff != "" {
		t.Error(diff)
	}
	// One trial of each of two scenarios could not be judged.
	if got := rateOf(t, r, "v", scenarios.Healthy, Stopped).Inconclusive; got != 2 {
		t.Errorf("%d inconclusive trials beside the rate, want 2", got)
	}
}

// Time on a curve is the calls that a run asked for; where a result does not say, those
// that it made.
func TestTimeIsCallsAsked(t *testing.T) {
	says, silent := endedIn("s/a", "v", scenarios.Runaway, 1, loop.LoopDetected, 4), endedIn("s/b", "v", scenarios.Runaway, 1, loop.LoopDetected, 7)
	says.Asked, silent.Asked = 5, 0
	points := folded(t, &Fold{}, says, silent).Survival[0].Points
	if len(points) != 2 || points[0].T != 5 || points[1].T != 7 {
		t.Errorf("%+v, want points at 5 and 7", points)
	}
}

// Ten scenarios, each stopped at 2 in 2 of 10 trials and done at 2 in the others, do not
// differ: they are worth 100 independent trials, and the standard error of 80 % is
// √(.8·.2/100) = .04, not √(.8·.2/10) = .126.
func TestSeedsNarrowACurve(t *testing.T) {
	f := &Fold{}
	for i := range 10 {
		for seed := range uint64(10) {
			state := loop.Done
			if seed < 2 {
				state = loop.LoopDetected
			}
			fill(t, f, endedIn(fmt.Sprint("s/", i), "v", scenarios.Healthy, seed, state, 2))
		}
	}
	p := folded(t, f).Survival[0].Points[0]
	near(t, "S", float64(p.Survival), 0.8, 1e-12)
	near(t, "standard error", float64(p.StdErr), 0.04, 1e-12)
}

// A difference shows the first bad trial of a variant, else its first trial, by seed and
// not by the order in which trials come.
func TestDifferenceShowsTheFirstTrial(t *testing.T) {
	f := &Fold{}
	for _, seed := range []uint64{2, 1, 3} {
		fill(t, f, endedIn("s/a", "good", scenarios.Healthy, seed, loop.Done, int(seed)), endedIn("s/a", "bad", scenarios.Healthy, seed, loop.ErrorLimit, 10*int(seed)))
	}
	d := folded(t, f).Differences[0]
	if i := slices.IndexFunc(d.Cells, func(c Cell) bool { return c.Variant == "good" }); d.Cells[i].Calls != 1 || d.Cells[1-i].Calls != 10 || d.Cells[i].Trials != 3 {
		t.Errorf("%+v, want the trials with seed 1 of 3", d.Cells)
	}
}

// Recorded calls of all trials of a run add up.
func TestNotRunAddsUp(t *testing.T) {
	f := &Fold{}
	f.Header(&scenarios.Header{Kind: KindReplay})
	for seed := range uint64(2) {
		r := endedIn("a.json/1", "v", scenarios.Healthy, seed, loop.LoopDetected, 3)
		r.Saved = 2
		fill(t, f, r)
	}
	if got := folded(t, f).NotRun; len(got) != 1 || got[0].K != 4 || got[0].N != 10 {
		t.Errorf("%+v, want 4 of 10 calls lost", got)
	}
}

// A rule is counted for every run that it stopped, by the label of the run; the runs that
// went on add up over the labels.
func TestRulesOfReplayAddUp(t *testing.T) {
	f := &Fold{}
	f.Header(&scenarios.Header{Kind: KindReplay})
	for i, label := range []scenarios.Label{scenarios.Runaway, scenarios.Runaway, scenarios.Runaway, scenarios.Healthy, scenarios.Healthy, ""} {
		r := endedIn(fmt.Sprint("a.json/", i), "v", label, 0, loop.LoopDetected, 3)
		r.WentOn = i%2 == 0 // two failed runs and a good one
		fill(t, f, r)
	}
	if diff := cmp.Diff([]RuleReplay{{Stop: "x", Failed: 3, Good: 2, Unlabelled: 1}}, f.Replay().Variants[0].Rules); diff != "" {
		t.Error(diff)
	}
	row := folded(t, f).rateTable().rows[0]
	if got := row[len(row)-1]; got != "3 of 6" {
		t.Errorf("%s stopped runs went on, want 3 of 6", got)
	}
}

// Each label's log-rank tests are corrected by themselves: with one variant beside the
// reference p stays as it is, in both labels.
func TestLogRankIsCorrectedByLabel(t *testing.T) {
	f := &Fold{}
	for i := range 8 {
		healthy, runaway := fmt.Sprint("h/", i), fmt.Sprint("r/", i)
		fill(t, f, endedIn(healthy, "a", scenarios.Healthy, 1, loop.LoopDetected, 10+i), endedIn(healthy, "b", scenarios.Healthy, 1, loop.LoopDetected, 13+i),
			endedIn(runaway, "a", scenarios.Runaway, 1, loop.LoopDetected, 10+i), endedIn(runaway, "b", scenarios.Runaway, 1, loop.LoopDetected, 40+i))
	}
	got := folded(t, f).LogRank
	if len(got) != 2 || got[0].Label == got[1].Label || got[0].P == got[1].P {
		t.Fatalf("%+v, want a test of each label", got)
	}
	for _, test := range got {
		near(t, string(test.Label), float64(test.PAdjusted), float64(test.P), 1e-15)
	}
}

// Of 60 values 57 are 95 %, of 61 it takes 58, of 80 it takes 76; of 59 there is no 95th
// percentile.
func TestP95(t *testing.T) {
	for _, c := range []struct {
		low, high int
		want      Figure
	}{{57, 3, 1}, {56, 4, 2}, {57, 4, 2}, {58, 3, 1}, {76, 4, 1}, {75, 5, 2}} {
		if got, n := p95(map[float64]int{1: c.low, 2: c.high}); got != c.want || n != c.low+c.high {
			t.Errorf("%d and %d: %v of %d, want %v", c.low, c.high, got, n, c.want)
		}
	}
	if got, n := p95(map[float64]int{1: 59}); got.Known() || n != 59 {
		t.Errorf("%v of %d", got, n)
	}
}

// Where five runs are at risk a figure is written as it is, where four are in brackets.
func TestFewAtRiskAreInBrackets(t *testing.T) {
	for n, want := range map[float64]string{5: "80 %", 4: "(80 %)", 1: "(80 %)", 0: none} {
		if got := (Alive{Survival: 0.8, AtRisk: n}).words(); got != want {
			t.Errorf("%g at risk: %s, want %s", n, got, want)
		}
	}
}

// Two stops with one end state add up in the table of end states.
func TestStopsOfAnEndStateAddUp(t *testing.T) {
	f := &Fold{}
	for i, stop := range []loop.Stop{"ping-pong", "circuit-breaker", "circuit-breaker"} {
		r := endedIn(fmt.Sprint("s/", i), "v", scenarios.Runaway, 1, loop.LoopDetected, 3)
		r.Stop = stop
		fill(t, f, r)
	}
	rows := folded(t, f).stopTables()[0].rows
	if diff := cmp.Diff([][]string{{"v", "circuit-breaker 2, ping-pong 1", "3"}}, rows); diff != "" {
		t.Error(diff)
	}
}

// Trials that end after the same number of calls each count in the median: of 4, 4 and 9
// it is 4, in the suite and in all.
func TestMedianCountsEachTrial(t *testing.T) {
	text := written(t, func(b *strings.Builder) error {
		return summary(trial("loops/a", "v", 1, 4, 0), trial("loops/b", "v", 1, 4, 0), trial("loops/c", "v", 1, 9, 0)).Write(b, false)
	})
	if strings.Count(text, "3                      4           0ms\n") != 2 {
		t.Errorf("want twice a median of 4:\n%s", text)
	}
}

// Markdown lists up to fifty scenarios that differ, and counts the others.
func TestMarkdownListsDifferences(t *testing.T) {
	f := &Fold{}
	for i := range 52 {
		name := fmt.Sprintf("s/%02d", i)
		fill(t, f, endedIn(name, "a", scenarios.Healthy, 1, loop.Done, 2), endedIn(name, "b", scenarios.Healthy, 1, loop.ErrorLimit, 2))
	}
	text := written(t, func(b *strings.Builder) error { return WriteMarkdown(b, folded(t, f)) })
	if n := strings.Count(text, "\n- s/"); n != 50 || !strings.Contains(text, "\n- 2 more scenarios\n") {
		t.Errorf("%d scenarios listed, want 50 and 2 more", n)
	}
}
