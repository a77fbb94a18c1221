package cli

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/agentbench-go/agentbench/cassettes/trajectories"
	"github.com/agentbench-go/agentbench/cmd/agentbench/internal/tune"
	"github.com/agentbench-go/agentbench/internal/outfile"
	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/reports"
	"github.com/agentbench-go/agentbench/scenarios"
	"github.com/spf13/cobra"
)

type tuneFlags struct {
	recordings recordingFlags
	jobs       jobs
	budget     string
	scenarios  string
	files      []string
	quiet      bool
	verbose    bool
	ci         bool

	begun map[string]*outfile.File // the files, by name
}

func newTune() *cobra.Command {
	f := &tuneFlags{}
	cmd := &cobra.Command{
		Use:   "tune [PATH…]",
		Short: "Find the limits that suit recorded runs",
		Long: `Replay recorded runs under limits, detectors and presets, over a grid and in
pairs, and choose what saves most calls of failed runs while it stops few good
ones. Without a PATH it takes the embedded shapes of public runs.

The choice is made by cross-validation over tasks, and is worth what it does on
tasks that it has not seen. Where nothing helps, or there are too few runs to say,
tune says so, writes no variant and exits with 0. -o mine.yaml writes the chosen
variant, -o tune.html a page on which one can choose another rule.`,
		Example: `  agentbench tune runs/ --max-good-stopped 1% -o mine.yaml -o tune.html
  agentbench tune traffic.shapes --labels labels.json
  agentbench tune traffic.shapes --scenarios my-scenarios/ -o mine.yaml
  agentbench tune`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	fs := cmd.Flags()
	fs.StringVar(&f.budget, "max-good-stopped", "1%", "choose only what stops at most this `SHARE` of the good runs, held out")
	fs.StringVar(&f.scenarios, "scenarios", "", "the choice must also pass the scenarios in this `FOLDER`")
	fs.StringArrayVarP(&f.files, "output", "o", nil, "write the chosen variant to this `FILE` (.yaml), or all rules that no other beats as a page (.html) or a picture (.svg); can be repeated")
	fs.BoolVarP(&f.quiet, "quiet", "q", false, "print nothing")
	fs.BoolVarP(&f.verbose, "verbose", "v", false, "name every problem of the files, and what was left out of them")
	fs.BoolVar(&f.ci, "ci", false, "print for a log: every problem, and every 30s how far it is instead of a bar")
	f.recordings.add(cmd)
	addJobs(cmd, &f.jobs)
	return cmd
}

func (f *tuneFlags) run(cmd *cobra.Command, paths []string) error {
	err := f.tune(cmd, paths)
	if err != nil && cmd.Context().Err() != nil { // there is no half of a choice
		return exitCode(exitInterrupted)
	}
	return err
}

// tune reads the runs, measures the settings on them and keeps the choice.
func (f *tuneFlags) tune(cmd *cobra.Command, paths []string) error {
	if f.quiet && f.verbose {
		return misuse("leave one of them out", "--quiet and --verbose contradict each other")
	}
	budget, err := shareOf(f.budget)
	if err != nil {
		return err
	}
	if err := f.checkFiles(); err != nil {
		return err
	}
	defer f.discard()
	if err := f.create(cmd); err != nil {
		return err
	}
	var own []*scenarios.Scenario
	if f.scenarios != "" {
		if own, err = scenarios.Load(f.scenarios); err != nil {
			return badInput(err)
		}
	}
	runs, problems, err := f.recordings.read(cmd.Context(), paths)
	if err != nil {
		return err
	}
	(&outputFlags{verbose: f.verbose || len(runs) == 0, ci: f.ci}).printProblems(cmd.ErrOrStderr(), problems)
	if len(runs) == 0 {
		return exitCode(exitUsage)
	}
	measured, err := f.measure(cmd, runs)
	if err != nil {
		return err
	}
	choice := measured.Choose(budget)
	if choice.Best != nil {
		if err := measured.Replay(cmd.Context(), runs, choice, int(f.jobs.count)); err != nil {
			return err
		}
	}
	if err := f.show(cmd, measured, choice); err != nil {
		return err
	}
	if err := f.draw(cmd, choice); err != nil {
		return err
	}
	if choice.Best != nil {
		if err := f.keep(cmd, choice, own); err != nil {
			return err
		}
	}
	if countBroken(problems) > 0 {
		return exitCode(exitUsage)
	}
	return nil
}

// checkFiles reports a file of -o that tune cannot write, before the work.
func (f *tuneFlags) checkFiles() error {
	variants := 0
	for i, name := range f.files {
		switch {
		case slices.ContainsFunc(f.files[:i], func(other string) bool { return samePath(other, name) }):
			return misuse("", "-o %s is given twice", name)
		case isScenarioFile(name):
			variants++
		case drawings[filepath.Ext(name)] == nil:
			return misuse("a variant is a .yaml file, a page .html and a picture .svg", "cannot write %q", name)
		}
	}
	if variants > 1 {
		return misuse("leave one of them out", "-o takes one .yaml file: there is one choice")
	}
	return (&outputFlags{files: f.files}).checkFolders()
}

// drawings write the frontier, by the extension of the file.
var drawings = map[string]func(*reports.Frontier, io.Writer) error{".html": (*reports.Frontier).WriteHTML, ".svg": (*reports.Frontier).WriteSVG}

// draw writes the pages and pictures of -o.
func (f *tuneFlags) draw(cmd *cobra.Command, c *tune.Choice) error {
	for _, name := range f.files {
		if write := drawings[filepath.Ext(name)]; write != nil {
			if err := f.save(name, func(w io.Writer) error { return write(c.Report(Version), w) }); err != nil {
				return err
			}
		}
	}
	return nil
}

// create begins all files before the work, so that no other run writes one of them
// meanwhile: the variant and the page belong together.
func (f *tuneFlags) create(cmd *cobra.Command) (err error) {
	f.begun = map[string]*outfile.File{}
	for _, name := range f.files {
		if f.begun[name], err = createFile(cmd.ErrOrStderr(), name); err != nil {
			delete(f.begun, name)
			return err
		}
	}
	return nil
}

// discard removes what was begun and not saved.
func (f *tuneFlags) discard() {
	for _, file := range f.begun {
		file.Discard()
	}
}

// save writes a file whole or not at all.
func (f *tuneFlags) save(name string, write func(io.Writer) error) error {
	file := f.begun[name]
	if err := write(file); err != nil {
		return err
	}
	return file.Commit()
}

// variantFile returns the file of the chosen variant, "" = none.
func (f *tuneFlags) variantFile() string {
	if i := slices.IndexFunc(f.files, isScenarioFile); i >= 0 {
		return f.files[i]
	}
	return ""
}

// shareOf reads a share such as 1% or 0.01.
func shareOf(said string) (float64, error) {
	digits, percent := strings.CutSuffix(strings.TrimSpace(said), "%")
	x, err := strconv.ParseFloat(strings.TrimSpace(digits), 64)
	if percent {
		x /= 100
	}
	if err != nil || !(x >= 0 && x <= 1) {
		return 0, misuse("such as 1% or 0.01", "--max-good-stopped %q is not a share", said)
	}
	return x, nil
}

// measure replays the runs under every rule.
func (f *tuneFlags) measure(cmd *cobra.Command, runs []*trajectories.Trajectory) (*tune.Measured, error) {
	untimed := func(t *trajectories.Trajectory) bool { return !t.Timed }
	rules := tune.Candidates(!slices.ContainsFunc(runs, untimed), !slices.ContainsFunc(runs, func(t *trajectories.Trajectory) bool { return !t.Counted() }))
	presets, err := tune.Presets()
	if err != nil {
		return nil, err
	}
	progress := newBar(cmd.ErrOrStderr(), len(runs), f.quiet, f.ci)
	defer progress.clear()
	return tune.Measure(cmd.Context(), runs, append(rules, presets...), int(f.jobs.count), progress.show)
}

func (f *tuneFlags) show(cmd *cobra.Command, m *tune.Measured, c *tune.Choice) error {
	if f.quiet {
		return nil
	}
	if c.Why == tune.NoLabels {
		if err := m.WriteShares(cmd.OutOrStdout()); err != nil {
			return err
		}
	}
	return c.Write(cmd.OutOrStdout())
}

// keep plays the user's own scenarios under the choice, and writes it if they pass.
func (f *tuneFlags) keep(cmd *cobra.Command, c *tune.Choice, own []*scenarios.Scenario) error {
	to, name := f.variantFile(), "tuned"
	if to != "" {
		name = strings.TrimSuffix(filepath.Base(to), filepath.Ext(to))
	}
	failed, err := failing(cmd, own, c.Best.Variant(name))
	if err != nil {
		return err
	}
	if len(failed) > 0 {
		if !f.quiet {
			fmt.Fprintf(cmd.OutOrStdout(), "not written: it fails %s, such as %s\n", text.Count(len(failed), "scenario"), text.Line(failed[0]))
		}
		return nil
	}
	if to == "" {
		return nil
	}
	err = f.save(to, func(w io.Writer) error {
		_, err := io.WriteString(w, c.YAML())
		return err
	})
	if err != nil {
		return err
	}
	if !f.quiet {
		fmt.Fprintf(cmd.OutOrStdout(), "%s has it: agentbench replay --variant %s shows what it stops\n", text.Line(to), shellWords([]string{to}))
	}
	return nil
}

// failing returns the scenarios that a variant does not pass.
func failing(cmd *cobra.Command, own []*scenarios.Scenario, v scenarios.Variant) (names []string, err error) {
	o := scenarios.Options{Variants: []scenarios.Variant{v}}
	for _, s := range own {
		o.Scenarios = append(o.Scenarios, plain(s))
	}
	if len(own) == 0 {
		return nil, nil
	}
	err = scenarios.Run(cmd.Context(), o, func(r *scenarios.Result) error {
		if r.Verdict == scenarios.Fail {
			names = append(names, r.Scenario)
		}
		return nil
	})
	return names, err
}
