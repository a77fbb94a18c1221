package trajectories

import (
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// realRuns holds recorded runs of real agents. They are not part of the repository.
const realRuns = "../../../shared/data/trajectories"

// readReal reads one source of the real runs.
func readReal(t *testing.T, source string) []*Trajectory {
	t.Helper()
	folder := filepath.Join(realRuns, source)
	if _, err := os.Stat(folder); err != nil {
		t.Skipf("the recorded runs of %s are not here: %v", source, err)
	}
	files, problems := Find([]string{folder})
	labels := NewLabels([]string{folder})
	var all []*Trajectory
	for _, f := range files {
		trajectories, more := Read(f, "")
		labels.Label(trajectories)
		all, problems = append(all, trajectories...), append(problems, more...)
	}
	for _, p := range append(problems, labels.Problems()...) {
		t.Error(p)
	}
	return all
}

// corrections correct wrong lines of the index, by file and number of the run.
var corrections = map[string]func(*Counts){
	// tau2: the messages of the simulated user's own calls are messages too: 1
	// call and 1 result; 2 and 2; 3 user messages with 5 results.
	"20260531-184109-726391.json 9": func(c *Counts) { c.Messages += 2 },
	"20260531-191847-173904.json 1": func(c *Counts) { c.Messages += 4 },
	"20260601-041221-091109.json 1": func(c *Counts) { c.Messages += 8 },
	// Toolathlon: "error": true on a part marks output on stderr. 7 and 2 of the
	// results that the index counts as errors are warnings and progress of commands
	// that "completed with return code: 0" (redis-cli's warning of a password on the
	// command line, the progress of git clone and git checkout). Without the
	// warnings, no two errors of the first run follow one another.
	"claude-4.5-sonnet_k8s-redis-helm-upgrade.json 1": func(c *Counts) { c.Errors, c.MaxErrors = c.Errors-7, 1 },
	"deepseek-v3.2-exp_k8s-pr-preview-testing.json 1": func(c *Counts) { c.Errors -= 2 },
	// Sentinel: the calculator answers "Error: only basic arithmetic is
	// supported.", which the older files do not mark.
	"organic_demo7b_cold/organic-demo-013.jsonl 1": oneError,
	"organic_demo7b_cold/organic-demo-017.jsonl 1": oneError,
	"organic_demo7b_cold/organic-demo-089.jsonl 1": oneError,
	// SWE-agent: the tool refused an edit ("Your proposed edit has introduced new
	// syntax error(s)"), three times in the first run, two of them in a row, and
	// once in the second.
	"crypto__BabyEncryption.traj 1": func(c *Counts) { c.Errors, c.MaxErrors = c.Errors+3, 2 },
	"marshmallow-code__marshmallow-1867__function_calling__install-1__marshmallow-code__marshmallow-1867.traj 1": oneError,
}

func oneError(c *Counts) { c.Errors, c.MaxErrors = 1, 1 }

// withoutIDs reports whether the calls of a file have no ids at all, of which
// the index says that none is missing.
func withoutIDs(source, file string) bool {
	switch source {
	case "mini-swe-agent":
		return true
	case "swe-agent":
		return !strings.HasPrefix(file, "demonstrations__function_calling")
	}
	return strings.HasPrefix(file, "organic_demo7b_cold/")
}

// The counts of every real run are those that an independent script counted.
func TestCountsOfRealRuns(t *testing.T) {
	for source, want := range map[string]struct{ runs, calls int }{
		"tau-bench":        {200, 1164},
		"agentdojo":        {582, 2394},
		"agentdojo-native": {36, 250},
		"mini-swe-agent":   {26, 804},
		"sentinel":         {411, 2690},
		"swe-agent":        {9, 88},
		"tau2":             {29, 98},
		"toolathlon":       {23, 615},
	} {
		t.Run(source, func(t *testing.T) {
			trajectories := readReal(t, source)
			index := readIndex(t, source)
			calls, number := 0, map[string]int{}
			for _, r := range trajectories {
				c := r.Counts()
				calls += c.Calls
				if r.Dropped != 0 {
					t.Errorf("%s: %d results dropped, want none", r.Name, r.Dropped)
				}
				_, file, _ := strings.Cut(r.File, "/"+source+"/")
				if len(index[file]) == 0 {
					t.Errorf("%s %s: not in the index", r.File, r.Name)
					continue
				}
				want := index[file][0]
				index[file] = index[file][1:]
				number[file]++
				if correct := corrections[fmt.Sprint(file, " ", number[file])]; correct != nil {
					correct(&want.Counts)
				}
				if withoutIDs(source, file) {
					want.Counts.IDMissing = want.Counts.Calls
				}
				if diff := cmp.Diff(want, indexLine{r.Label, c}); diff != "" {
					t.Errorf("%s %s (-index +counted):\n%s", r.File, r.Name, diff)
				}
			}
			for file, left := range index {
				if len(left) > 0 {
					t.Errorf("%s: %d runs of the index were not read", file, len(left))
				}
			}
			if len(trajectories) != want.runs || calls != want.calls {
				t.Errorf("%d runs with %d calls, want %d with %d", len(trajectories), calls, want.runs, want.calls)
			}
		})
	}
}

// The sources that are not in the index are read completely, with the labels in
// their READMEs. The session with odd lines has on purpose a message and three lines
// that are not objects: they are reported and hide nothing.
func TestOtherRealRuns(t *testing.T) {
	for _, c := range []struct {
		files    string
		runs     int // as many as files, but two in the resolver's
		label    Label
		problems int
	}{
		{"openhands/*.json", 3, Unlabelled, 0},
		{"openhands/resolver_output.jsonl", 2, Success, 0},
		{"claude-code-sessions/[rst]*", 4, Unlabelled, 0},
		{"claude-code-sessions/edge_cases.jsonl", 1, Unlabelled, 4},
	} {
		files, err := filepath.Glob(filepath.Join(realRuns, c.files))
		if err != nil {
			t.Fatal(err)
		}
		if len(files) == 0 {
			t.Skipf("the recorded runs %s are not here", c.files)
		}
		runs, problems := 0, 0
		for _, f := range files {
			trajectories, bad := Read(f, "")
			runs, problems = runs+len(trajectories), problems+len(bad)
			for _, r := range trajectories {
				if r.Label != c.label || r.Dropped != 0 {
					t.Errorf("%s: label %q, %d results dropped; want %q and none", r.ID(), r.Label, r.Dropped, c.label)
				}
			}
		}
		if runs != c.runs || problems != c.problems {
			t.Errorf("%s: %d runs and %d problems, want %d and %d", c.files, runs, problems, c.runs, c.problems)
		}
	}
}

type indexLine struct {
	Label  Label
	Counts Counts
}

// readIndex reads the lines of one source from index.tsv, by file.
func readIndex(t *testing.T, source string) map[string][]indexLine {
	t.Helper()
	f, err := os.Open(filepath.Join(realRuns, "index.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	tsv := csv.NewReader(f)
	tsv.Comma, tsv.LazyQuotes = '\t', true
	rows, err := tsv.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	column := map[string]int{}
	for i, name := range rows[0] {
		column[name] = i
	}
	lines := map[string][]indexLine{}
	for _, row := range rows[1:] {
		if row[column["source"]] != source {
			continue
		}
		n := func(name string) int {
			v, err := strconv.Atoi(row[column[name]])
			if err != nil {
				t.Fatal(fmt.Errorf("index.tsv: %s: %w", name, err))
			}
			return v
		}
		file := row[column["file"]]
		lines[file] = append(lines[file], indexLine{Label(row[column["label"]]), Counts{
			Messages: n("messages"), CallTurns: n("call_turns"), Calls: n("calls"), ParallelTurns: n("parallel_turns"),
			Errors: n("errors"), Unanswered: n("unanswered"), Distinct: n("distinct_calls"),
			MaxInARow: n("max_consecutive_same"), MaxInAll: n("max_total_same"), MaxAlternate: n("max_alternation"),
			MaxErrors: n("max_consecutive_errors"), IDMissing: n("id_missing"), IDReused: n("id_reused"),
			ArgsEmpty: n("args_empty"), ArgsInvalid: n("args_invalid"),
		}})
	}
	return lines
}
