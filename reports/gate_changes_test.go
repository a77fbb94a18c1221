package reports

import (
	"bytes"
	"strings"
	"testing"

	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/scenarios"
)

// sure is a trial that draws no random number.
func sure(scenario string, label scenarios.Label, state loop.EndState, verdict scenarios.Verdict) *scenarios.Result {
	r := judged(scenario, "v", label, state, 5)
	r.Random, r.Verdict = false, verdict
	return r
}

// refusedIn is a healthy trial that passes, although calls are refused in it.
func refusedIn(scenario string) *scenarios.Result {
	r := sure(scenario, scenarios.Healthy, loop.Done, scenarios.Pass)
	r.Refused, r.RefusedAt = 2, 3
	return r
}

func foldOf(t *testing.T, results ...*scenarios.Result) *Fold {
	t.Helper()
	f := &Fold{Repeat: func(r *scenarios.Result) string { return "agentbench run " + r.Scenario }}
	fill(t, f, results...)
	return f
}

// One scenario fails newly, one is harmed newly and one is fixed: the first five lines of
// the summary of a pull request say exactly that, with the command that repeats each.
func TestFirstLinesOfASummary(t *testing.T) {
	base := foldOf(t, sure("s/breaks", scenarios.Runaway, loop.LoopDetected, scenarios.Pass), sure("s/hurt", scenarios.Healthy, loop.Done, scenarios.Pass),
		sure("s/mended", scenarios.Runaway, loop.Ceiling, scenarios.Fail), sure("s/old", scenarios.Runaway, loop.Ceiling, scenarios.Fail), sure("s/same", scenarios.Healthy, loop.Done, scenarios.Pass))
	now := foldOf(t, sure("s/breaks", scenarios.Runaway, loop.Ceiling, scenarios.Fail), refusedIn("s/hurt"),
		sure("s/mended", scenarios.Runaway, loop.LoopDetected, scenarios.Pass), sure("s/old", scenarios.Runaway, loop.Ceiling, scenarios.Fail), sure("s/same", scenarios.Healthy, loop.Done, scenarios.Pass))
	r, err := now.Report()
	if err != nil {
		t.Fatal(err)
	}
	r.Gate = DefaultLimits().Judge(now, base, nil)
	r.Verdict = r.Gate.Verdict
	var page bytes.Buffer
	if err := WriteMarkdown(&page, r); err != nil {
		t.Fatal(err)
	}
	want := []string{Marker,
		"## agentbench: fail, 1 newly failing, 1 newly harmed, 1 fixed, 5 scenarios under 1 variant in 5 trials",
		"- **newly failing** s/breaks: ` agentbench run s/breaks `",
		"- **newly harmed** s/hurt: ` agentbench run s/hurt `",
		"- **fixed** s/mended: ` agentbench run s/mended `"}
	if got := strings.Split(page.String(), "\n"); strings.Join(got[:5], "\n") != strings.Join(want, "\n") || got[5] != "" {
		t.Errorf("the page begins\n%s\nwant\n%s", strings.Join(got[:6], "\n"), strings.Join(want, "\n"))
	}
	var shown strings.Builder
	if err := r.Gate.Write(&shown, Colour(false)); err != nil {
		t.Fatal(err)
	}
	if first := "newly failing: s/breaks\n  agentbench run s/breaks\nnewly harmed: s/hurt\n  agentbench run s/hurt\nfixed: s/mended\n  agentbench run s/mended\n"; !strings.HasPrefix(shown.String(), first) {
		t.Errorf("the terminal shows\n%s\nwant first\n%s", shown.String(), first)
	}
}

// Each change by itself, and what the gate makes of it: one scenario that draws nothing
// is enough, one that draws is not, and what failed before is tolerated.
func TestGateOnChanges(t *testing.T) {
	runaway, healthy, caught, missed, done := scenarios.Runaway, scenarios.Healthy, loop.LoopDetected, loop.Ceiling, loop.Done
	other := sure("s/other", healthy, done, scenarios.Pass) // in both
	random := func(r *scenarios.Result) *scenarios.Result { r.Random = true; return r }
	for _, c := range []struct {
		why       string
		now, base *scenarios.Result // nil = not there
		what      What
		verdict   scenarios.Verdict
	}{
		{"nothing", sure("s/a", runaway, caught, scenarios.Pass), sure("s/a", runaway, caught, scenarios.Pass), "", scenarios.Pass},
		{"it failed before", sure("s/a", runaway, missed, scenarios.Fail), sure("s/a", runaway, missed, scenarios.Fail), "", scenarios.Pass},
		{"it passed before", sure("s/a", runaway, missed, scenarios.Fail), sure("s/a", runaway, caught, scenarios.Pass), NewlyFailing, scenarios.Fail},
		{"it could not be judged before", sure("s/a", runaway, missed, scenarios.Fail), sure("s/a", runaway, missed, scenarios.Inconclusive), NewlyFailing, scenarios.Fail},
		{"by chance, perhaps", random(sure("s/a", runaway, missed, scenarios.Fail)), random(sure("s/a", runaway, caught, scenarios.Pass)), "", scenarios.Pass},
		{"it is new and fails", sure("s/a", runaway, missed, scenarios.Fail), nil, NewAndFailing, scenarios.Fail},
		{"it is new and fails by chance, perhaps", random(sure("s/a", runaway, missed, scenarios.Fail)), nil, NewAndFailing, scenarios.Fail},
		{"it is new and passes", sure("s/a", runaway, caught, scenarios.Pass), nil, "", scenarios.Pass},
		{"it passed and cannot be judged", sure("s/a", runaway, missed, scenarios.Inconclusive), sure("s/a", runaway, caught, scenarios.Pass), NewlyInconclusive, scenarios.Inconclusive},
		{"it is fixed", sure("s/a", runaway, caught, scenarios.Pass), sure("s/a", runaway, missed, scenarios.Fail), Fixed, scenarios.Pass},
		{"its calls are refused", refusedIn("s/a"), sure("s/a", healthy, done, scenarios.Pass), NewlyHarmed, scenarios.Fail},
		{"they were before", refusedIn("s/a"), refusedIn("s/a"), "", scenarios.Pass},
		{"it is stopped: it fails, and is told once", sure("s/a", healthy, caught, scenarios.Fail), sure("s/a", healthy, done, scenarios.Pass), NewlyFailing, scenarios.Fail},
		{"it is gone", nil, sure("s/a", runaway, caught, scenarios.Pass), Removed, scenarios.Pass},
	} {
		folds := [2]*Fold{}
		for i, r := range []*scenarios.Result{c.now, c.base} {
			if folds[i] = foldOf(t, other); r != nil {
				fill(t, folds[i], r)
			}
		}
		g := DefaultLimits().Judge(folds[0], folds[1], nil)
		var what What
		for _, change := range g.Changes {
			what += change.What
		}
		if what != c.what || g.Verdict != c.verdict {
			t.Errorf("%s: %q, the gate %s; want %q, %s", c.why, what, g.Verdict, c.what, c.verdict)
		}
	}
	// The policies.
	now, base := foldOf(t, sure("s/a", runaway, missed, scenarios.Fail), refusedIn("s/b")), foldOf(t, sure("s/a", runaway, caught, scenarios.Pass), sure("s/b", healthy, done, scenarios.Pass))
	for policy, want := range map[Policy]scenarios.Verdict{Allow: scenarios.Pass, Warn: scenarios.Pass, Forbid: scenarios.Fail} {
		for _, rule := range []string{"newly failing", "newly harmed"} {
			l := DefaultLimits()
			l.OnFailing, l.OnHarmed = policy, policy
			if r := ruleOf(t, l.Judge(now, base, nil), rule); r.Verdict != want || r.Warning != (policy == Warn) {
				t.Errorf("%s under %s: %+v, want %s", rule, policy, r, want)
			}
		}
	}
}
