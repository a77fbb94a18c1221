package tune

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/reports"
	"github.com/agentbench-go/agentbench/reports/stats"
)

// share writes a share with its interval: 5.3 % (2.1–9 %).
func share(i stats.Interval) string {
	if i.Value != i.Value {
		return "—"
	}
	return fmt.Sprintf("%s (%s–%s)", percent(i.Value), strings.TrimSuffix(percent(i.Lower), " %"), percent(i.Upper))
}

// percent writes a share with at most one decimal, and — for that of nothing.
func percent(x float64) string {
	if x != x {
		return "—"
	}
	return strings.TrimSuffix(fmt.Sprintf("%.1f", 100*x), ".0") + " %"
}

// Write writes the answer: what was read, the frontier, what the choice is worth on tasks
// that it has not seen, and the choice or why there is none.
func (c *Choice) Write(w io.Writer) error {
	if len(c.Frontier) > 0 {
		var rows [][]string
		for _, p := range c.Frontier {
			mark := ""
			if p.Chosen {
				mark = "chosen"
			}
			rows = append(rows, []string{p.Name(), mark, share(p.Seen.Saved), fmt.Sprintf("%s of %s", text.Number(p.Seen.FailedStopped), text.Number(p.Seen.Faileds)),
				share(p.Seen.Good), fmt.Sprintf("%s of %s", text.Number(p.Seen.GoodStopped), text.Number(p.Seen.Goods)), percent(p.Seen.Lost)})
		}
		head := []string{"rule", "", "calls saved on failed runs (seen)", "failed stopped", "good runs stopped, by task (seen)", "good stopped", "calls lost on good runs"}
		if err := reports.Table(w, 2, head, rows, nil); err != nil {
			return err
		}
	}
	_, err := io.WriteString(w, strings.Join(c.Lines(), "\n")+"\n")
	return err
}

// Lines returns the answer in words.
func (c *Choice) Lines() []string {
	lines := []string{fmt.Sprintf("%s of %s: %s failed, %s good, %s unlabelled; %s with good runs", text.Count(c.Runs, "run"), text.Count(c.Tasks, "task"),
		text.Number(c.Failed), text.Number(c.Good), text.Number(c.Other), text.Count(c.GoodTasks, "task"))}
	if len(c.Picked) > 0 {
		lines = append(lines, fmt.Sprintf("held out, %d folds of tasks: %s of the calls of failed runs saved, %s of good runs stopped", c.Folds, share(c.HeldOut.Saved), share(c.HeldOut.Good)))
	}
	lines = append(lines, c.answer())
	switch r := c.Replayed; {
	case r == nil:
	case r.Differs:
		lines = append(lines, fmt.Sprintf("replayed as a whole on %s, its figures differ from those of its rules one by one; the figures of the whole are shown", text.Count(r.Runs, "run")))
	default:
		lines = append(lines, fmt.Sprintf("replayed as a whole on %s, it stops what its rules stop one by one", text.Count(r.Runs, "run")))
	}
	return lines
}

// answer returns the last line.
func (c *Choice) answer() string {
	budget := "at most " + percent(c.Budget) + " of good runs stopped"
	switch c.Why {
	case Helps:
		return "chosen: " + c.Best.Name() + ", for " + budget
	case NothingFits:
		return "nothing helps: no rule saves a call with " + budget
	case NoGain:
		return "nothing helps: on tasks that the choice has not seen the gain is below 1 %, or not certain"
	case OverBudget:
		return fmt.Sprintf("nothing helps: on tasks that the choice has not seen it stops %s of good runs, more than %s", percent(c.HeldOut.Good.Value), percent(c.Budget))
	case TooFewTasks:
		return fmt.Sprintf("nothing is chosen: %s with good runs cannot promise less than %s of good tasks stopped; %d are needed", text.Count(c.GoodTasks, "task"), fmt.Sprintf("%.0f %%", 100*Promise(c.GoodTasks)), MinTasks)
	case NoGood:
		return "nothing is chosen: no run is labelled as good, so nobody knows what a stop costs"
	case NoFailed:
		return "nothing is chosen: no run is labelled as failed, so nobody knows what a stop saves"
	}
	return "nothing is chosen: no run has a label, so nobody knows which stop is good"
}

// WriteShares writes how many of all runs each rule stops, most first; for runs without
// labels.
func (m *Measured) WriteShares(w io.Writer) error {
	type row struct {
		name string
		n    int
	}
	var all []row
	for i, n := range m.Shares() {
		if n > 0 {
			all = append(all, row{m.Rules[i].Name, n})
		}
	}
	slices.SortStableFunc(all, func(a, b row) int { return cmp.Compare(b.n, a.n) })
	var rows [][]string
	for _, r := range all {
		rows = append(rows, []string{r.name, fmt.Sprintf("%s of %s", text.Number(r.n), text.Number(len(m.Runs))), percent(float64(r.n) / float64(len(m.Runs)))})
	}
	if len(rows) == 0 {
		_, err := fmt.Fprintln(w, "no rule stops any run")
		return err
	}
	return reports.Table(w, 1, []string{"rule", "runs stopped", "share"}, rows, nil)
}

// Report returns the answer and the frontier as a report, in which each point has its
// YAML. tool is the version that made it.
func (c *Choice) Report(tool string) *reports.Frontier {
	lines := c.Lines()
	f := &reports.Frontier{Title: c.answer(), Tool: tool}
	for _, line := range lines {
		if line != f.Title {
			f.Lines = append(f.Lines, line)
		}
	}
	for i := range c.Frontier {
		p := &c.Frontier[i]
		point := reports.FrontierPoint{Name: p.Name(), Saved: p.Seen.Saved, Good: p.Seen.Good, Chosen: p.Chosen, Counts: []string{p.Seen.words()}}
		if p.Chosen {
			point.Config = c.YAML()
		} else {
			point.Config = p.YAML()
		}
		f.Points = append(f.Points, point)
	}
	return f
}

// words says what is counted behind the shares.
func (f *Figures) words() string {
	return fmt.Sprintf("%s of %s failed and %s of %s good runs stopped, %s of %s calls of failed runs saved, %s of %s of good runs lost",
		text.Number(f.FailedStopped), text.Number(f.Faileds), text.Number(f.GoodStopped), text.Number(f.Goods),
		text.Number(f.SavedCalls), text.Number(f.FailedCalls), text.Number(f.LostCalls), text.Number(f.GoodCalls))
}

// YAML returns a point that was picked by hand as the file of a variant.
func (p *Point) YAML() string {
	return fmt.Sprintf("# Picked by hand from the frontier of agentbench tune: %s.\n# Its figures are seen: they are from the runs among which it was found, and too good.\n# On these runs: %s.\n# A replay is open loop: how the agent goes on after a stop is unknown.\n%s",
		p.Name(), p.Seen.words(), p.Candidate.YAML())
}

// YAML returns the chosen variant, with its evidence in comments. There must be a choice.
func (c *Choice) YAML() string {
	var out strings.Builder
	fmt.Fprintf(&out, "# Chosen by agentbench tune: %s.\n#\n", c.Best.Name())
	for _, line := range c.Lines() {
		fmt.Fprintf(&out, "# %s\n", line)
	}
	for _, p := range c.Frontier {
		if p.Chosen {
			fmt.Fprintf(&out, "# On all of these runs, which the choice has seen: %s.\n", p.Seen.words())
		}
	}
	for i, picked := range c.Picked {
		name := "nothing"
		if picked.First != nil {
			name = picked.Name()
		}
		fmt.Fprintf(&out, "# Without fold %d: %s\n", i+1, name)
	}
	out.WriteString("# A replay is open loop: how the agent goes on after a stop is unknown.\n")
	return out.String() + c.Best.YAML()
}
