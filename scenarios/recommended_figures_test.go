//go:build figures

package scenarios_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentbench-go/agentbench/cassettes/trajectories"
	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/loop/detect"
	"github.com/agentbench-go/agentbench/reports"
	"github.com/agentbench-go/agentbench/scenarios"
)

// The figures in the comment of recommended stand between these lines.
const (
	recommendedFile = "variants/recommended.yaml"
	suitesBegin     = "# On the embedded suites, without the scenarios that are held back:\n#\n"
	runsBegin       = "#\n# On recorded runs, replayed. A replay is open loop: how the model would have\n# reacted to a nudge or a veto is unknown.\n#\n"
	runsEnd         = "# (end of the figures)\n"
)

// realRuns holds recorded runs of real agents. They are not part of the repository.
const realRuns = "../../shared/data/trajectories"

// A step is what recommended was chosen among: one change of it.
type step struct {
	name   string
	change func(*loop.Config)
}

var steps = []step{
	{"breaker: stop at 5 at once", func(c *loop.Config) { c.Detectors[0].Do = []detect.Rung{{At: 5, Act: detect.Stop}} }},
	{"breaker: stop at 8", func(c *loop.Config) {
		c.Detectors[0].Do = []detect.Rung{{At: 3, Act: detect.Nudge}, {At: 5, Act: detect.Veto}, {At: 8, Act: detect.Stop}}
	}},
	{"breaker: at any distance", func(c *loop.Config) { c.Detectors[0].Within = 0 }},
	{"breaker: results ignored", func(c *loop.Config) { c.Detectors[0].Reset = nil }},
	{"breaker: any other call ends it", func(c *loop.Config) { c.Detectors[0].Ends = detect.EndsNext }},
	{"no ping-pong", func(c *loop.Config) { c.Detectors = slices.Delete(c.Detectors, 1, 2) }},
	{"ping-pong: stop at 6", func(c *loop.Config) {
		c.Detectors[1].Do = []detect.Rung{{At: 3, Act: detect.Nudge}, {At: 6, Act: detect.Stop}}
	}},
	{"no slow-repeat", func(c *loop.Config) { c.Detectors = c.Detectors[:2] }},
	{"error limit 3", func(c *loop.Config) { c.Errors.MaxConsecutive = 3 }},
	{"turns 50", func(c *loop.Config) { c.Limits.Turns = 50 }},
	{"turns 10", func(c *loop.Config) { c.Limits.Turns = 10 }},
	{"no depth", func(c *loop.Config) { c.Limits.Depth = 0 }},
	{"run 10m", func(c *loop.Config) { c.Time.Run = 10 * time.Minute }},
	{"model 5m, first token 2m, chunk 1m", func(c *loop.Config) {
		c.Time.Model, c.Time.FirstToken, c.Time.Chunk = 5*time.Minute, 2*time.Minute, time.Minute
	}},
	{"no model_retry", func(c *loop.Config) { c.ModelRetry.Max = 0 }},
	{"no retry", func(c *loop.Config) { c.Retry.Max = 0 }},
	{"no compaction on overflow", func(c *loop.Config) { c.History.CompactOnOverflow = false }},
}

// replayedSteps are those that a replay without times tells apart.
var replayedSteps = []string{"breaker: stop at 5 at once", "breaker: results ignored", "no ping-pong", "error limit 3", "turns 10"}

// alternatives returns recommended, what it was chosen among, and other presets.
func alternatives(t *testing.T, presets []string, choose func(name string) bool) []scenarios.Variant {
	t.Helper()
	load := func(preset, name string) scenarios.Variant {
		v, err := scenarios.LoadVariant(preset)
		if err != nil {
			t.Fatal(err)
		}
		v.Name = name
		return v
	}
	all := []scenarios.Variant{load("recommended", "recommended")}
	for _, s := range steps {
		if choose(s.name) {
			v := load("recommended", s.name)
			v.Config.Detectors = slices.Clone(v.Config.Detectors)
			s.change(&v.Config)
			all = append(all, v)
		}
	}
	for _, name := range presets {
		all = append(all, load(name, name))
	}
	return all
}

// The evidence in the comment of recommended is what reports makes of the suites and of
// recorded runs as they are. UPDATE=1 make figures writes it anew: read what became of it.
func TestRecommendedFigures(t *testing.T) {
	file, err := os.ReadFile(recommendedFile)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(file), suitesBegin)
	suites, rest, ok2 := strings.Cut(rest, runsBegin)
	runs, tail, ok3 := strings.Cut(rest, runsEnd)
	if !ok || !ok2 || !ok3 {
		t.Fatalf("%s: the places of the figures are not there", recommendedFile)
	}
	wantSuites, wantRuns := suiteEvidence(t), runs
	if _, err := os.Stat(realRuns); err != nil {
		t.Logf("the figures on recorded runs are not measured, as the runs are not here: %v", err)
	} else {
		wantRuns = runsEvidence(t)
	}
	if suites == wantSuites && runs == wantRuns {
		return
	}
	if os.Getenv("UPDATE") == "" {
		t.Fatalf("%s is stale; UPDATE=1 make figures writes\n%s%s", recommendedFile, wantSuites, wantRuns)
	}
	if err := os.WriteFile(recommendedFile, []byte(head+suitesBegin+wantSuites+runsBegin+wantRuns+runsEnd+tail), 0o644); err != nil {
		t.Fatal(err)
	}
}

// suiteEvidence measures the alternatives on the scenarios that are not held back.
func suiteEvidence(t *testing.T) string {
	t.Helper()
	all, err := scenarios.Load()
	if err != nil {
		t.Fatal(err)
	}
	all = slices.DeleteFunc(all, func(s *scenarios.Scenario) bool { return s.HeldBack })
	variants := alternatives(t, []string{"hpd-agent", "none"}, func(name string) bool { return name != "turns 10" })
	for i, s := range all { // as compare plays them: without their own config
		plain := *s
		plain.Variant = scenarios.Variant{}
		all[i] = &plain
	}
	var fold reports.Fold
	if err := scenarios.Run(context.Background(), scenarios.Options{Scenarios: all, Variants: variants, Seed: 1}, fold.Add); err != nil {
		t.Fatal(err)
	}
	return evidence(t, &fold)
}

// runsEvidence replays the recorded runs under the alternatives, by corpus.
func runsEvidence(t *testing.T) string {
	t.Helper()
	variants := alternatives(t, []string{"hpd-agent"}, func(name string) bool { return slices.Contains(replayedSteps, name) })
	var out []string
	for _, corpus := range []string{"tau-bench", "agentdojo"} {
		folder := []string{filepath.Join(realRuns, corpus)}
		files, problems := trajectories.Find(folder)
		labels := trajectories.NewLabels(folder)
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
		if err := fold.Header(&scenarios.Header{Kind: reports.KindReplay}); err != nil {
			t.Fatal(err)
		}
		if err := trajectories.Replay(context.Background(), slices.Values(runs), variants, 0, fold.Add); err != nil {
			t.Fatal(err)
		}
		out = append(out, "# "+corpus+": "+strings.TrimPrefix(evidence(t, &fold), "# "))
	}
	return strings.Join(out, "#\n")
}

// evidence returns the evidence for recommended as lines of a comment.
func evidence(t *testing.T, fold *reports.Fold) string {
	t.Helper()
	r, err := fold.Report()
	if err != nil {
		t.Fatal(err)
	}
	var table bytes.Buffer
	if err := r.Evidence.Write(&table); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for line := range strings.Lines(table.String()) {
		if line == r.Evidence.InWords+"\n" {
			line = wrapped(line)
		}
		for part := range strings.Lines(line) {
			b.WriteString(strings.TrimRight("# "+part, " \n") + "\n")
		}
	}
	return b.String()
}

// wrapped breaks a line at spaces, at most 84 characters a line.
func wrapped(line string) string {
	var b strings.Builder
	room := 0
	for _, word := range strings.Fields(line) {
		switch {
		case b.Len() == 0:
		case len(word) < room:
			b.WriteString(" ")
			room--
		default:
			b.WriteString("\n")
			room = 0
		}
		if room <= 0 {
			room = 84
		}
		b.WriteString(word)
		room -= len(word)
	}
	return b.String() + "\n"
}
