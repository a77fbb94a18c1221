//go:build figures

package tune

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/agentbench-go/agentbench/cassettes/trajectories"
)

// The figures of docs/tune.md stand between these lines.
const (
	page         = "../../../../docs/tune.md"
	figuresBegin = "<!-- The simulations; UPDATE=1 make figures writes them. -->\n\n"
	figuresEnd   = "\n<!-- The end of the simulations. -->\n"
)

// TestPlantedFigures runs every seed of the simulations and compares docs/tune.md with
// what they found.
func TestPlantedFigures(t *testing.T) {
	l := newLab(t)
	const seeds, quiet = 50, 200
	found, promised := found(t, l, seeds), promised(t, l, quiet)
	saved, stopped := bias(t, l, quiet, 5000)
	if found < 48 {
		t.Errorf("the planted optimum is found in %d of %d seeds", found, seeds)
	}
	if promised > quiet/20 {
		t.Errorf("a false promise in %d of %d seeds", promised, quiet)
	}
	if max(saved, -saved, stopped, -stopped) > 0.01 {
		t.Errorf("biased: saved %.4f, good stopped %.4f", saved, stopped)
	}
	want := fmt.Sprintf(`| planted | what tune must do | it did |
|---|---|---|
| failed runs repeat a call 7 times, good ones at most 3 times | find the stop at 4, or a rule that is as good | in %d of %d seeds |
| no difference between failed and good runs | choose nothing | in %d of %d seeds |
| good runs that repeat less, with no clear line | tell, held out, what the choice does to fresh tasks | mean difference over %d seeds: %.2f points of calls saved, %.2f points of good runs stopped |
`, found, seeds, quiet-promised, quiet, quiet, 100*saved, 100*stopped)
	renew(t, figuresBegin, figuresEnd, want)
}

// renew compares what stands between two lines of docs/tune.md with what should, and
// writes it with UPDATE=1.
func renew(t *testing.T, begin, end, want string) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), begin)
	got, after, ok2 := strings.Cut(rest, end)
	switch {
	case !ok || !ok2:
		t.Fatalf("the figures are not between %q and %q", begin, end)
	case got == want:
	case os.Getenv("UPDATE") == "":
		t.Errorf("the figures of docs/tune.md are stale: run UPDATE=1 make figures, and read the diff\n%s", want)
	default:
		if err := os.WriteFile(page, []byte(before+begin+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// recorded are runs whose licence is not stated, or that are more than the binary holds.
// They are not part of the repository.
const recorded = "../../../../../shared/data/trajectories/"

// The figures on recorded runs stand between these lines.
const (
	recordedBegin = "<!-- Recorded runs; UPDATE=1 make figures writes them where the runs are. -->\n\n"
	recordedEnd   = "\n<!-- The end of the recorded runs. -->\n"
)

// TestRecordedFigures compares docs/tune.md with what tune says of three corpora.
func TestRecordedFigures(t *testing.T) {
	if _, err := os.Stat(recorded); err != nil {
		t.Skip("the recorded runs are not here: ", err)
	}
	var b strings.Builder
	b.WriteString("| corpus | failed, good | budget | held out: calls saved | held out: good runs stopped | saves most within the budget (seen) | tune says |\n|---|---|---|---|---|---|---|\n")
	for _, corpus := range []string{"agentdojo", "tau-bench", "toolathlon"} {
		m, runs := recordedRuns(t, recorded+corpus)
		checkQuiet(t, m.Rules, runs)
		for _, budget := range []float64{0.01, 0.05} {
			c := m.Choose(budget)
			if c.Best != nil {
				if err := m.Replay(t.Context(), runs, c, 0); err != nil || c.Replayed.Differs {
					t.Errorf("%s, %s: replayed %+v, %v", corpus, c.Best.Name(), c.Replayed, err)
				}
			}
			seen := "nothing"
			for i := range c.Frontier { // from the fewest good runs stopped
				if p := &c.Frontier[i]; p.Seen.Good.Value <= budget+slack {
					seen = p.Name()
				}
			}
			answer, _, _ := strings.Cut(c.answer(), ": ")
			fmt.Fprintf(&b, "| %s | %d, %d | %s | %s | %s | %s | %s |\n", corpus, c.Failed, c.Good, percent(budget), share(c.HeldOut.Saved), share(c.HeldOut.Good), seen, answer)
		}
	}
	renew(t, recordedBegin, recordedEnd, b.String())
}

// recordedRuns reads the runs in a folder and replays them under all rules.
func recordedRuns(t *testing.T, folder string) (*Measured, []*trajectories.Trajectory) {
	t.Helper()
	files, problems := trajectories.Find([]string{folder})
	labels := trajectories.NewLabels([]string{folder})
	var runs []*trajectories.Trajectory
	for _, file := range files {
		more, bad := trajectories.Read(file, "")
		labels.Label(more)
		runs, problems = append(runs, more...), append(problems, bad...)
	}
	for _, p := range problems {
		if p.Kind == trajectories.Broken {
			t.Fatal(p)
		}
	}
	presets, err := Presets()
	if err != nil {
		t.Fatal(err)
	}
	m, err := Measure(t.Context(), runs, append(Candidates(false, false), presets...), 0, func(int) {})
	if err != nil {
		t.Fatal(err)
	}
	return m, runs
}
