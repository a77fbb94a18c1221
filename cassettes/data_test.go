package cassettes

import (
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// trajectories holds recorded runs of real agents. They are no part of the
// repository.
const trajectories = "../../shared/data/trajectories"

// readReal reads one source of the real runs.
func readReal(t *testing.T, source string) []*Recording {
	t.Helper()
	folder := filepath.Join(trajectories, source)
	if _, err := os.Stat(folder); err != nil {
		t.Skipf("the recorded runs of %s are not here: %v", source, err)
	}
	files, problems := Find([]string{folder})
	var all []*Recording
	for _, f := range files {
		recordings, more := Read(f, "")
		all, problems = append(all, recordings...), append(problems, more...)
	}
	for _, p := range problems {
		t.Error(p)
	}
	return all
}

// The counts of every real run are those that an independent script counted.
func TestCountsOfRealRuns(t *testing.T) {
	for source, want := range map[string]struct{ runs, calls int }{
		"tau-bench": {200, 1164},
		"agentdojo": {582, 2394},
	} {
		t.Run(source, func(t *testing.T) {
			recordings := readReal(t, source)
			index := readIndex(t, source)
			calls := 0
			for i, r := range recordings {
				c := r.Counts()
				calls += c.Calls
				if r.Dropped != 0 {
					t.Errorf("%s: %d results dropped, want none", r.Name, r.Dropped)
				}
				if i >= len(index) {
					continue // the totals below say so
				}
				if diff := cmp.Diff(index[i], indexLine{filepath.Base(r.File), r.Label, c}); diff != "" {
					t.Errorf("%s %s (-index +counted):\n%s", r.File, r.Name, diff)
				}
			}
			if len(recordings) != want.runs || calls != want.calls || len(index) != want.runs {
				t.Errorf("%d runs with %d calls, the index has %d; want %d runs with %d calls",
					len(recordings), calls, len(index), want.runs, want.calls)
			}
		})
	}
}

type indexLine struct {
	File   string
	Label  Label
	Counts Counts
}

// readIndex reads the lines of one source from index.tsv.
func readIndex(t *testing.T, source string) []indexLine {
	t.Helper()
	f, err := os.Open(filepath.Join(trajectories, "index.tsv"))
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
	var lines []indexLine
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
		lines = append(lines, indexLine{row[column["file"]], Label(row[column["label"]]), Counts{
			Messages: n("messages"), CallTurns: n("call_turns"), Calls: n("calls"), ParallelTurns: n("parallel_turns"),
			Errors: n("errors"), Unanswered: n("unanswered"), Distinct: n("distinct_calls"),
			MaxInARow: n("max_consecutive_same"), MaxInAll: n("max_total_same"), MaxAlternate: n("max_alternation"),
			MaxErrors: n("max_consecutive_errors"), IDMissing: n("id_missing"), IDReused: n("id_reused"),
			ArgsEmpty: n("args_empty"), ArgsInvalid: n("args_invalid"),
		}})
	}
	return lines
}
