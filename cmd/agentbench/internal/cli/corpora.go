package cli

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/agentbench-go/agentbench/cassettes/shapes"
	"github.com/agentbench-go/agentbench/cassettes/trajectories"
	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/reports"
	"github.com/agentbench-go/agentbench/scenarios"
	"github.com/spf13/cobra"
)

func newListCorpora() *cobra.Command {
	f := &listFlags{}
	cmd := &cobra.Command{
		Use:     "corpora",
		Short:   "List the embedded corpora of recorded runs, with their sources",
		Example: "  agentbench list corpora",
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var entries []listed
			for runs := range corpora(shapes.Embedded()) {
				c := corpusOf(runs)
				entries = append(entries, listed{c.row(), c})
			}
			return f.write(cmd, 1, []string{"corpus", "runs", "failed", "good", "unlabelled", "calls", "licence", "source", "commit"}, entries)
		},
	}
	f.add(cmd)
	return cmd
}

// corpora yields the runs of each corpus.
func corpora(runs []*shapes.Run) func(func([]*shapes.Run) bool) {
	return func(yield func([]*shapes.Run) bool) {
		for from := 0; from < len(runs); {
			to := from + 1
			for to < len(runs) && runs[to].Corpus == runs[from].Corpus {
				to++
			}
			if !yield(runs[from:to]) {
				return
			}
			from = to
		}
	}
}

// A listedCorpus is a corpus in the JSON list, and how many runs of each outcome it has.
type listedCorpus struct {
	Corpus     string `json:"corpus"`
	Runs       int    `json:"runs"`
	Failed     int    `json:"failed"`
	Good       int    `json:"good"`
	Unlabelled int    `json:"unlabelled"`
	Calls      int    `json:"calls"`
	Licence    string `json:"licence"`
	Source     string `json:"source"`
	Commit     string `json:"commit"`
}

func corpusOf(runs []*shapes.Run) listedCorpus {
	outcomes, calls := map[shapes.Outcome]int{}, 0
	for _, r := range runs {
		outcomes[r.Outcome]++
		for _, s := range r.Steps {
			calls += len(s.Calls)
		}
	}
	c := runs[0].Corpus
	return listedCorpus{c.Name, len(runs), outcomes[shapes.Failure], outcomes[shapes.Success], outcomes[shapes.Unknown], calls, c.Licence, c.Source, c.Commit}
}

func (c *listedCorpus) row() []string {
	row := []string{text.Line(c.Corpus)}
	for _, n := range []int{c.Runs, c.Failed, c.Good, c.Unlabelled, c.Calls} {
		row = append(row, text.Number(n))
	}
	return append(row, text.Line(c.Licence), text.Line(c.Source), text.Line(c.Commit[:min(10, len(c.Commit))]))
}

// A corpusCount counts a replay, and each corpus on its own.
type corpusCount struct {
	reports.ReplayCount
	of map[string]*reports.ReplayCount // "" = runs that belong to no corpus
}

// add counts a result of one of the runs.
func (c *corpusCount) add(r *scenarios.Result, runs *recordedRuns) {
	c.Add(r)
	suite := r.Suite
	if !runs.corpora[suite] {
		suite = ""
	}
	if c.of[suite] == nil {
		if c.of == nil {
			c.of = map[string]*reports.ReplayCount{}
		}
		c.of[suite] = &reports.ReplayCount{}
	}
	c.of[suite].Add(r)
}

// corpora returns the counts by corpus, and those of other runs last; nil if no run
// belongs to a corpus.
func (c *corpusCount) corpora() (out []reports.SuiteReplay) {
	for _, name := range slices.Sorted(maps.Keys(c.of)) {
		if name != "" {
			out = append(out, reports.SuiteReplay{Suite: name, Replay: *c.of[name].Replay(0)})
		}
	}
	if rest := c.of[""]; rest != nil && out != nil {
		out = append(out, reports.SuiteReplay{Suite: "no corpus", Replay: *rest.Replay(0)})
	}
	return out
}

// replayStream replays runs while they are read, and hands each result to each. It
// prints the problems and returns how many are errors; none if no run could be read.
func (f *outputFlags) replayStream(cmd *cobra.Command, runs *recordedRuns, variants []scenarios.Variant, jobs int, each func(*scenarios.Result)) (out *results, skipped int, err error) {
	_, of := runs.progress()
	out, err = f.openStream(cmd, of, func() int { done, _ := runs.progress(); return done })
	if err != nil {
		return nil, 0, err
	}
	err = trajectories.Replay(cmd.Context(), runs.all(), variants, jobs, func(r *scenarios.Result) error {
		each(r)
		return out.add(r)
	})
	out.bar.clear()
	if skipped = f.printRead(cmd, runs); runs.runs == 0 && err == nil {
		out.discard()
		return nil, skipped, exitCode(exitUsage)
	}
	header := replayHeader(runs.runs, skipped, variants)
	return out, skipped, out.endStream(cmd.Context(), err, &header)
}

// showCorpora prints what each variant stops, in a line, and a table by corpus; nothing
// if there are no corpora.
func showCorpora(w io.Writer, all *reports.Replay, by []reports.SuiteReplay) error {
	if len(by) == 0 {
		return nil
	}
	for i := range all.Variants {
		v := &all.Variants[i]
		if _, err := fmt.Fprintf(w, "of %s, %s stops %s of %s failed and %s of %s good ones\n", text.Count(all.Runs, "recorded run"), text.Line(v.Variant),
			text.Number(v.Failed.Stopped), text.Number(v.Failed.Runs), text.Number(v.Good.Stopped), text.Number(v.Good.Runs)); err != nil {
			return err
		}
	}
	if err := reports.WriteBySuite(w, "corpus", by, all); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w)
	return err
}

// compareRecorded replays recorded runs, the embedded ones if there is no path, and shows
// the comparison of the variants.
func (f *compareFlags) compareRecorded(cmd *cobra.Command, paths []string) error {
	if len(f.suites) > 0 || f.filter != "" || f.heldBack != withHeldBack || f.seeds != 1 {
		return misuse("leave it out", "--suite, --filter, --held-back and --seeds select scenarios, and --recorded compares on recorded runs")
	}
	variants, err := loadVariants(f.variants)
	if err != nil {
		return err
	}
	for _, v := range variants {
		if v.File == f.reference {
			f.reference = v.Name
		}
	}
	runs, err := (&recordingFlags{}).open(paths)
	if err != nil {
		return err
	}
	f.reported = true
	var blind blindSpots
	out, skipped, err := f.replayStream(cmd, runs, variants, int(f.jobs.count), blind.add)
	interrupted := errors.Is(err, exitCode(exitInterrupted))
	if err != nil && !interrupted {
		return err
	}
	if err := f.showReport(cmd, out.report); err != nil {
		return err
	}
	if !f.quiet {
		io.WriteString(cmd.ErrOrStderr(), blind.lines())
	}
	if interrupted {
		out.printInterrupt(cmd.ErrOrStderr())
	} else if err == nil && skipped > 0 {
		return exitCode(exitUsage)
	}
	return out.code(err)
}
