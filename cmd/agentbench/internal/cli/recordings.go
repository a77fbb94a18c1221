package cli

import (
	"context"
	"fmt"
	"io"
	"iter"
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

// recordedRuns hand out recorded runs one at a time, and keep only what is said of all of
// them.
type recordedRuns struct {
	files *trajectories.Recordings // nil = the embedded runs

	runs    int
	untimed bool            // a run has no times
	corpora map[string]bool // to which runs belong
}

// open finds the recorded runs in paths, the embedded ones if there is none.
func (f *recordingFlags) open(paths []string) (*recordedRuns, error) {
	reader, err := f.reader()
	if err != nil {
		return nil, err
	}
	labels := trajectories.NewLabels(paths)
	if f.labels != "" {
		if len(paths) == 0 {
			return nil, misuse("name the file or folder of your runs before it", "--labels labels recorded runs, and the embedded ones have their own labels")
		}
		if err := labels.Give(f.labels); err != nil {
			return nil, misuse(`such as {"run-1": "success", "run-2": "failure"} in labels.json`, "--labels %s: %v", f.labels, err)
		}
	}
	r := &recordedRuns{corpora: map[string]bool{}}
	if len(paths) > 0 {
		r.files = trajectories.NewRecordings(reader, paths, labels)
	}
	return r, nil
}

// all yields the runs. It is for one range.
func (r *recordedRuns) all() iter.Seq[*trajectories.Trajectory] {
	each := slices.Values(trajectories.Embedded())
	if r.files != nil {
		each = r.files.All()
	}
	return func(yield func(*trajectories.Trajectory) bool) {
		for t := range each {
			r.runs++
			r.untimed = r.untimed || !t.Timed
			if t.Corpus != nil {
				r.corpora[t.Corpus.Name] = true
			}
			if !yield(t) {
				return
			}
		}
	}
}

// until yields the runs until ctx ends. It is for one range.
func (r *recordedRuns) until(ctx context.Context) iter.Seq[*trajectories.Trajectory] {
	return func(yield func(*trajectories.Trajectory) bool) {
		for t := range r.all() {
			if ctx.Err() != nil || !yield(t) {
				return
			}
		}
	}
}

// progress returns how many files there are and how many are done, 0 of them if there is
// only one.
func (r *recordedRuns) progress() (done, of int) {
	if r.files == nil {
		return 0, 0
	}
	if done, of = r.files.Files(); of == 1 {
		of = 0
	}
	return done, of
}

// problems returns the problems, once all has yielded its last run.
func (r *recordedRuns) problems() []*trajectories.Problem {
	if r.files == nil {
		return nil
	}
	return r.files.Problems()
}

// read returns all recorded runs in paths, the embedded ones if there is none. The error
// is exitInterrupted if ctx ends before.
func (f *recordingFlags) read(ctx context.Context, paths []string) ([]*trajectories.Trajectory, []*trajectories.Problem, error) {
	r, err := f.open(paths)
	if err != nil {
		return nil, nil, err
	}
	runs := slices.Collect(r.until(ctx))
	if ctx.Err() != nil {
		return nil, nil, exitCode(exitInterrupted)
	}
	return runs, r.problems(), nil
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

// printRead prints the problems of runs that have all been read.
func (f *outputFlags) printRead(cmd *cobra.Command, runs *recordedRuns) (broken int) {
	if runs.runs == 0 {
		f.verbose = true // also what is left out of files that hold more than this
	}
	problems := runs.problems()
	f.printProblems(cmd.ErrOrStderr(), problems)
	return countBroken(problems)
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
