package cli

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/agentbench-go/agentbench/cassettes/trajectories"
	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/spf13/cobra"
)

// recordingFlags say how files of recorded runs are read.
type recordingFlags struct {
	format string
	mapped string
	labels string
}

func (f *recordingFlags) add(cmd *cobra.Command) {
	addChoice(cmd, &f.format, "input-format", "read the files as this `FORMAT`, one of agentbench list formats (default: by their content)", trajectories.Formats()...)
	cmd.Flags().StringVar(&f.mapped, "input-map", "", "read the files as the YAML `FILE` says, which has the paths of messages, calls and results (docs/formats.md)")
	cmd.Flags().StringVar(&f.labels, "labels", "", "take the labels of runs from this `FILE` (.json or .csv), before those beside the runs")
}

// reader returns the reader of the files.
func (f *recordingFlags) reader() (trajectories.Reader, error) {
	reader := trajectories.Reader{Format: f.format, Decoders: decoders}
	switch {
	case f.mapped == "":
		return reader, nil
	case f.format != "":
		return reader, misuse("leave one of them out", "--input-format and --input-map contradict each other")
	}
	m, err := trajectories.ReadInputMap(f.mapped)
	if err != nil {
		return reader, misuse("docs/formats.md says what a map holds", "--input-map: %v", err)
	}
	reader.Map = m
	return reader, nil
}

// read returns the recorded runs in paths, the embedded ones if there is none.
func (f *recordingFlags) read(paths []string) (runs []*trajectories.Trajectory, problems []*trajectories.Problem, err error) {
	reader, err := f.reader()
	if err != nil {
		return nil, nil, err
	}
	labels := trajectories.NewLabels(paths)
	if f.labels != "" {
		if len(paths) == 0 {
			return nil, nil, misuse("name the file or folder of your runs before it", "--labels labels recorded runs, and the embedded ones have their own labels")
		}
		if err := labels.Give(f.labels); err != nil {
			return nil, nil, misuse(`such as {"run-1": "success", "run-2": "failure"} in labels.json`, "--labels %s: %v", f.labels, err)
		}
	}
	if len(paths) == 0 {
		return trajectories.Embedded(), nil, nil
	}
	files, lost := trajectories.Find(paths)
	var notes trajectories.Notes
	for _, file := range files {
		more, bad := reader.Read(file)
		labels.Label(more)
		notes.Add(more)
		runs = append(runs, more...)
		problems = append(problems, bad...)
	}
	problems = slices.Concat(lost, labels.Problems(), notes.Problems(), problems)
	return runs, brokenFirst(problems), nil
}

// brokenFirst returns the problems with those first that are errors.
func brokenFirst(problems []*trajectories.Problem) []*trajectories.Problem {
	rank := func(p *trajectories.Problem) int { return min(int(p.Kind), 1) }
	slices.SortStableFunc(problems, func(a, b *trajectories.Problem) int { return cmp.Compare(rank(a), rank(b)) })
	return problems
}

func countBroken(problems []*trajectories.Problem) int {
	n := 0
	for _, p := range problems {
		if p.Kind == trajectories.Broken {
			n++
		}
	}
	return n
}

// shownProblems is how many problems are shown without --ci or --verbose.
const shownProblems = 20

// printProblems prints what could not be read, which files have nothing to replay, and
// which labels match no run. With --verbose it also prints what was left out of the other files.
func (f *outputFlags) printProblems(stderr io.Writer, problems []*trajectories.Problem) {
	if !f.verbose {
		left := func(p *trajectories.Problem) bool { return p.Kind == trajectories.Partly }
		problems = slices.DeleteFunc(slices.Clone(problems), left)
	}
	shown := problems
	if !f.verbose && !f.ci {
		shown = problems[:min(shownProblems, len(problems))]
	}
	redact := redactor().Text
	for _, p := range shown {
		said := *p
		said.Text = redact(p.Text) // which may quote the file
		io.WriteString(stderr, text.Lines(said.Error()))
	}
	if more := len(problems) - len(shown); more > 0 {
		fmt.Fprintf(stderr, "%s not shown: --ci or --verbose shows all\n", text.Count(more, "more problem"))
	}
}
