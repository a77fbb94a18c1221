package reports

import (
	"strings"
	"testing"

	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/scenarios"
	"github.com/google/go-cmp/cmp"
)

// replayFold folds a replay of seven runs under three variants, not all of whose
// results came.
func replayFold(t *testing.T) *Fold {
	t.Helper()
	f := &Fold{}
	if err := f.Header(&scenarios.Header{Kind: KindReplay, Order: []string{"b", "a", "late"}, Skipped: 2}); err != nil {
		t.Fatal(err)
	}
	for _, r := range []scenarios.Result{
		{Scenario: "1", Variant: "b", Label: scenarios.Runaway, Calls: 4, Vetoed: 1, Saved: 3, WentOn: true, EndState: loop.LoopDetected, Stop: "circuit-breaker"},
		{Scenario: "1", Variant: "a", Label: scenarios.Runaway, Calls: 7, EndState: loop.Done, Stop: loop.StopDone},
		{Scenario: "2", Variant: "b", Label: scenarios.Runaway, Calls: 2, Invalid: 1, EndState: loop.RecordingEnded, Stop: loop.StopRecordingEnded},
		{Scenario: "3", Variant: "b", Label: scenarios.Healthy, Calls: 5, EndState: loop.BudgetExceeded, Stop: loop.StopTurnLimit},
		{Scenario: "4", Variant: "b", Label: scenarios.Healthy, Calls: 5, Vetoed: 2, Saved: 2, EndState: loop.Done, Stop: loop.StopDone},
		{Scenario: "5", Variant: "b", Calls: 1, Saved: 1, EndState: loop.BudgetExceeded, Stop: loop.StopTurnLimit},
		// The user was asked, which is not a rule's stop.
		{Scenario: "6", Variant: "b", Calls: 1, EndState: loop.ClarifyNeeded, Stop: loop.StopNeedsUser},
		{Scenario: "7", Variant: "b", Calls: 1000, Verdict: scenarios.Inconclusive, EndState: loop.LoopDetected, Stop: "circuit-breaker"},
		{Scenario: "7", Variant: "late", Calls: 1000, Verdict: scenarios.Inconclusive, EndState: loop.RecordingEnded, Stop: loop.StopRecordingEnded},
	} {
		if err := f.Add(&r); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

func TestReplayCounts(t *testing.T) {
	want := &Replay{Runs: 7, Inconclusive: 2, Skipped: 2, Variants: []VariantReplay{{
		Variant:    "b",
		Failed:     GroupReplay{Runs: 2, Stopped: 1, WentOn: 1, Calls: 4 + 3 + 2 + 1, NotRun: 3},
		Good:       GroupReplay{Runs: 2, Stopped: 1, Calls: 5 + 5 + 2, NotRun: 2},
		Unlabelled: GroupReplay{Runs: 2, Stopped: 1, Calls: 2 + 1, NotRun: 1},
		Rules:      []RuleReplay{{Stop: loop.StopTurnLimit, Good: 1, Unlabelled: 1}, {Stop: "circuit-breaker", Failed: 1}},
	}, {
		Variant: "a",
		Failed:  GroupReplay{Runs: 1, Calls: 7},
	}}}
	if diff := cmp.Diff(want, replayFold(t).Replay()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Of the calls of failed runs 3 of 10 are saved, of those of good runs 2 of 12 are
// lost: they are never added up. 1 of 1 + 1 + 1 stopped runs went on.
func TestReplayIsWritten(t *testing.T) {
	const want = ` variant  failed runs stopped  calls saved  good runs stopped  calls lost  unlabelled runs stopped  calls not run  stopped, but went on
────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────
 b                     1 of 2      3 of 10             1 of 2     2 of 12                   1 of 2         1 of 3                1 of 3
 a                     0 of 1       0 of 7             0 of 0      0 of 0                   0 of 0         0 of 0                0 of 0
b: turn-limit stopped 0 failed, 1 good and 1 unlabelled
b: circuit-breaker stopped 1 failed, 0 good and 0 unlabelled
7 recorded runs under 2 variants
2 trials could not be judged and count in no figure
skipped what could not be read: 2 problems
`
	var b strings.Builder
	if err := replayFold(t).Replay().Write(&b); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Every form of a report on a replay has the calls saved on failed runs apart from those
// lost on good ones.
func TestReportOfReplayTellsSavedFromLost(t *testing.T) {
	r := folded(t, replayFold(t))
	want := []NotRun{
		{Variant: "b", Label: scenarios.Runaway, Metric: CallsSaved, K: 3, N: 10},
		{Variant: "b", Label: scenarios.Healthy, Metric: CallsLost, K: 2, N: 12},
		{Variant: "b", Metric: CallsNotRun, K: 1, N: 3},
		{Variant: "a", Label: scenarios.Runaway, Metric: CallsSaved, K: 0, N: 7},
	}
	if diff := cmp.Diff(want, r.NotRun); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for form, c := range map[string]struct {
		write func(*strings.Builder) error
		want  []string
	}{
		"JSON": {func(b *strings.Builder) error { return WriteJSON(b, r) }, []string{`"metric": "saved",
      "k": 3,
      "n": 10`, `"metric": "lost",
      "k": 2,
      "n": 12`}},
		"Markdown": {func(b *strings.Builder) error { return WriteMarkdown(b, r) }, []string{
			"| variant | calls saved on failed runs | calls lost on good runs | calls not run on unlabelled runs |",
			"| b (reference) | 3 of 10 | 2 of 12 | 1 of 3 |", "| a | 0 of 7 | — | — |"}},
		"HTML":     {func(b *strings.Builder) error { return WriteHTML(b, r) }, []string{"calls saved on failed runs: 3 of 10; calls lost on good runs: 2 of 12; calls not run on unlabelled runs: 1 of 3"}},
		"terminal": {func(b *strings.Builder) error { return Terminal{}.Write(b, r) }, []string{"calls saved on failed runs", "calls lost on good runs", "2 of 12"}},
	} {
		text := written(t, c.write)
		for _, want := range c.want {
			if !strings.Contains(text, want) {
				t.Errorf("%s has no %q", form, want)
			}
		}
	}
}

// A count without memory of the runs counts what a fold counts, of results that come run
// by run under every variant.
func TestReplayCount(t *testing.T) {
	var count ReplayCount
	var fold Fold
	if err := fold.Header(&scenarios.Header{Kind: KindReplay, Skipped: 3}); err != nil {
		t.Fatal(err)
	}
	for i, r := range []scenarios.Result{
		{Label: scenarios.Runaway, Calls: 4, Vetoed: 1, Saved: 3, WentOn: true, EndState: loop.LoopDetected, Stop: "circuit-breaker"},
		{Label: scenarios.Healthy, Calls: 5, EndState: loop.BudgetExceeded, Stop: loop.StopTurnLimit},
		{Label: scenarios.Healthy, Calls: 5, Vetoed: 2, Saved: 2, EndState: loop.Done, Stop: loop.StopDone},
		{Calls: 2, Invalid: 1, EndState: loop.RecordingEnded, Stop: loop.StopRecordingEnded},
		{Calls: 9, EndState: loop.BudgetExceeded, Stop: loop.StopTurnLimit},
		{Calls: 1000, Verdict: scenarios.Inconclusive, EndState: loop.LoopDetected, Stop: "circuit-breaker"},
	} {
		r.Scenario = string(rune('a' + i))
		for _, v := range []string{"x", "a"} {
			r.Variant = v
			count.Add(&r)
			if err := fold.Add(&r); err != nil {
				t.Fatal(err)
			}
		}
	}
	if diff := cmp.Diff(fold.Replay(), count.Replay(3)); diff != "" {
		t.Errorf("(-fold +count):\n%s", diff)
	}
	if got := count.Replay(3).Runs; got != 6 {
		t.Errorf("%d runs, want 6", got)
	}
}
