//go:build figures

package scenarios_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentbench-go/agentbench/cassettes/trajectories"
	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/loop/detect"
	"github.com/agentbench-go/agentbench/reports"
	"github.com/agentbench-go/agentbench/scenarios"
)

// realRuns holds recorded runs of real agents. They are not part of the repository.
const realRuns = "../../shared/data/trajectories"

// The figures on recorded runs in the comment of recommended are those that a
// replay gives. UPDATE=1 make figures writes them anew: read what became of them.
func TestRecommendedReplay(t *testing.T) {
	if _, err := os.Stat(realRuns); err != nil {
		t.Skipf("the recorded runs are not here: %v", err)
	}
	const file, end = "variants/recommended.yaml", "# (end of the recorded runs)\n"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(text), "a veto is unknown):\n")
	got, _, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s: the place of the figures is not there", file)
	}
	want := replayFigures(t)
	if got == want {
		return
	}
	if os.Getenv("UPDATE") == "" {
		t.Fatalf("%s is stale; UPDATE=1 make figures writes\n%s", file, want)
	}
	if err := os.WriteFile(file, []byte(strings.Replace(string(text), got+end, want+end, 1)), 0o644); err != nil {
		t.Fatal(err)
	}
}

// replayed lists what the recorded runs are replayed under.
func replayed(t *testing.T) []scenarios.Variant {
	t.Helper()
	var all []scenarios.Variant
	add := func(preset, name string, change func(*loop.Config)) {
		v, err := scenarios.LoadVariant(preset)
		if err != nil {
			t.Fatal(err)
		}
		v.Name = name
		change(&v.Config)
		all = append(all, v)
	}
	add("recommended", "recommended", func(*loop.Config) {})
	add("recommended", "breaker: stop at 5 at once", func(c *loop.Config) { c.Detectors[0].Do = []detect.Rung{{At: 5, Act: detect.Stop}} })
	add("recommended", "breaker: results ignored", func(c *loop.Config) { c.Detectors[0].Reset = nil })
	add("recommended", "no ping-pong", func(c *loop.Config) { c.Detectors = c.Detectors[:1] })
	add("recommended", "error limit 3", func(c *loop.Config) { c.Errors.MaxConsecutive = 3 })
	add("recommended", "turns 10", func(c *loop.Config) { c.Limits.Turns = 10 })
	add("hpd-agent", "hpd-agent", func(*loop.Config) {})
	return all
}

func replayFigures(t *testing.T) string {
	t.Helper()
	variants := replayed(t)
	var b strings.Builder
	for _, source := range []string{"tau-bench", "agentdojo"} {
		files, problems := trajectories.Find([]string{filepath.Join(realRuns, source)})
		labels := trajectories.NewLabels([]string{filepath.Join(realRuns, source)})
		var runs []*trajectories.Trajectory
		for _, f := range files {
			more, bad := trajectories.Read(f, "")
			labels.Label(more)
			runs, problems = append(runs, more...), append(problems, bad...)
		}
		for _, p := range append(problems, labels.Problems()...) {
			t.Error(p)
		}
		var fold reports.Fold
		if err := trajectories.Replay(context.Background(), runs, variants, 0, fold.Add); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "#\n#   %-27s %14s %14s %13s %13s\n", source, "failed runs", "good runs", "saved", "lost")
		for _, v := range fold.Replay().Variants {
			fmt.Fprintf(&b, "#   %-27s %14s %14s %13s %13s\n", v.Variant, group(v.Failed), group(v.Good), notRun(v.Failed), notRun(v.Good))
		}
	}
	return b.String()
}

// group says how many were stopped, and how many of these went on to a call that they
// had not made before.
func group(g reports.GroupReplay) string {
	return fmt.Sprintf("%d of %d (%d)", g.Stopped, g.Runs, g.WentOn)
}

// notRun says how many recorded calls did not run.
func notRun(g reports.GroupReplay) string { return fmt.Sprintf("%d of %d", g.NotRun, g.Calls) }
