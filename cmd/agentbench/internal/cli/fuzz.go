package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/agentbench-go/agentbench/fuzz"
	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/scenarios"
	"github.com/spf13/cobra"
)

const (
	// fuzzRuns is the default of --runs.
	fuzzRuns = 10_000
	// savedFolder is the folder of saved cases if --save names none.
	savedFolder = "fuzz/regressions"
)

type fuzzFlags struct {
	runs    count
	time    time.Duration
	seed    seed
	number  seed
	variant string
	save    string
	jobs    jobs
	files   []string
	quiet   bool
	ci      bool
	noColor bool

	single bool // --case was given
	given  *scenarios.Variant
}

func newFuzz() *cobra.Command {
	f := &fuzzFlags{seed: 1, runs: fuzzRuns}
	cmd := &cobra.Command{
		Use:   "fuzz [PATH…]",
		Short: "Run the loop in generated worlds and check its invariants",
		Long: `Generate random worlds (the model's replies, the behaviour of tools and users, the
config), run the loop in each, and check the invariants that hold in every world:
the run ends within its limits, the history is clean, nothing runs after the stop,
and so on; go doc github.com/agentbench-go/agentbench/fuzz lists them all.

A run survives if it keeps every invariant and, if its config can handle every
failure of its world, ends DONE. The exit code is 1 if an invariant is broken or
fewer than 95 % of the runs survive. fuzz shrinks a case that breaks an invariant;
--save writes it as a scenario for agentbench run.

Saved cases run first: those in the folder of --save, or else those in
` + savedFolder + ` if it exists. With a PATH, a scenario file or a folder of
them, only those run. A seed always has the same cases, whatever -j is.`,
		Example: `  agentbench fuzz
  agentbench fuzz --time 60s --seed 7 --save fuzz/regressions
  agentbench fuzz --variant hpd-agent --runs 100000 -o fuzz.jsonl
  agentbench fuzz --seed 7 --case 1234`,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	fs := cmd.Flags()
	fs.Var(&f.runs, "runs", "run `N` cases")
	fs.DurationVar(&f.time, "time", 0, "run cases for this `DURATION`, such as 60s, instead of a number of them")
	fs.Var(&f.seed, "seed", "the seed of all cases")
	fs.Var(&f.number, "case", "run only case `K` of the seed, and show all of it")
	fs.StringVar(&f.variant, "variant", "", "run every case under this `VARIANT`, a preset or a YAML file (default: random configs)")
	completeVariant(cmd)
	fs.StringVar(&f.save, "save", "", "shrink the first case that breaks each invariant, and write it as a scenario to the folder `DIR`")
	addJobs(cmd, &f.jobs)
	fs.StringArrayVarP(&f.files, "output", "o", nil, "also write the counts to `FILE`.jsonl; - prints them instead of the tables; can be repeated")
	fs.BoolVarP(&f.quiet, "quiet", "q", false, "print no table, failures or progress; the exit code has the verdict")
	fs.BoolVar(&f.ci, "ci", false, "print for a log: no colour, no progress")
	addNoColor(cmd, &f.noColor)
	return cmd
}

func (f *fuzzFlags) run(cmd *cobra.Command, paths []string) error {
	if err := f.check(cmd, paths); err != nil {
		return err
	}
	if f.single {
		return f.one(cmd)
	}
	saved, err := f.saved(paths)
	if err != nil {
		return err
	}
	c := &fuzzed{fuzzFlags: f, Summary: fuzz.NewSummary()}
	if err := c.begin(cmd); err != nil {
		return err
	}
	c.regressions(saved)
	err = nil
	if len(paths) == 0 {
		err = c.generate(cmd)
	}
	return c.end(cmd, err)
}

// check reports flags that contradict each other, and loads the variant.
func (f *fuzzFlags) check(cmd *cobra.Command, paths []string) error {
	changed := cmd.Flags().Changed
	f.single = changed("case")
	switch {
	case f.time < 0 || f.time == 0 && changed("time"):
		return misuse("such as 60s", "--time must be longer than 0s, not %v", f.time)
	case changed("time") && changed("runs"):
		return misuse("leave one of them out", "--time and --runs contradict each other")
	case f.single && (changed("time") || changed("runs") || f.save != "" || len(f.files) > 0 || len(paths) > 0):
		return misuse("such as agentbench fuzz --seed 7 --case 1234", "--case runs one case: it goes with --seed and --variant only")
	case len(paths) > 0 && (changed("time") || changed("runs") || f.variant != ""):
		return misuse("leave one of them out", "a PATH generates no cases: it contradicts --runs, --time and --variant")
	}
	for i, name := range f.files {
		if slices.ContainsFunc(f.files[:i], func(other string) bool { return samePath(other, name) }) {
			return misuse("", "-o %s is given twice", name)
		}
		if name != "-" && filepath.Ext(name) != ".jsonl" {
			return misuse("give it a name that ends in .jsonl", "cannot write %q: fuzz writes only jsonl", name)
		}
	}
	if f.variant == "" {
		return nil
	}
	v, err := loadVariant(f.variant)
	f.given = &v
	return err
}

// saved loads the saved cases: those in paths, or else in the folder of saved
// cases.
func (f *fuzzFlags) saved(paths []string) ([]*scenarios.Scenario, error) {
	if len(paths) == 0 {
		folder := f.save
		if folder == "" {
			folder = savedFolder
		}
		if files, _ := filepath.Glob(filepath.Join(folder, "*.yaml")); len(files) == 0 {
			return nil, nil // the folder does not exist yet, or is empty
		}
		paths = []string{folder}
	}
	all, err := scenarios.Load(paths...)
	return all, badInput(err)
}

func (f *fuzzFlags) options() fuzz.Options {
	o := fuzz.Options{Seed: uint64(f.seed), Runs: int(f.runs), Variant: f.given, Workers: int(f.jobs.count)}
	if f.time > 0 {
		o.Runs = 0
	}
	return o
}

// one runs one case and shows all of it.
func (f *fuzzFlags) one(cmd *cobra.Command) error {
	v := fuzz.Check(fuzz.Number(uint64(f.seed), int(f.number), f.options()))
	v.Number = int(f.number)
	var b strings.Builder
	fmt.Fprintf(&b, "case %d of seed %d: %s\n", f.number, f.seed, v.Case.AttackNames())
	v.Case.Describe(&b)
	fmt.Fprintf(&b, "\nThe trace\n%s\n", text.Lines(v.Case.Trace().String()))
	if v.Violation == nil {
		b.WriteString("It keeps every invariant.\n")
	} else {
		v.Explain(&b, fuzz.Shrink(v.Case, v.Violation.Invariant), f.repeat(v), "")
	}
	if !f.quiet {
		if _, err := io.WriteString(cmd.OutOrStdout(), b.String()); err != nil {
			return err
		}
	}
	if v.Violation != nil {
		return exitCode(exitFailed)
	}
	return nil
}

// errTimeUp ends a campaign whose time is up.
var errTimeUp = errors.New("the time is up")

// generate generates and runs the cases. They make much garbage and keep little
// memory, so rarer garbage collections make them a third faster.
func (c *fuzzed) generate(cmd *cobra.Command) error {
	defer debug.SetGCPercent(debug.SetGCPercent(800))
	ctx := cmd.Context()
	if c.time > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, c.time, errTimeUp)
		defer cancel()
	}
	err := fuzz.Run(ctx, c.options(), func(v *fuzz.Checked) error {
		c.Add(v)
		c.bar.show(c.All.Runs)
		return nil
	})
	if errors.Is(err, errTimeUp) {
		return nil
	}
	return err
}

// regressions checks the saved cases.
func (c *fuzzed) regressions(saved []*scenarios.Scenario) {
	for _, s := range saved {
		v := fuzz.Check(fuzz.FromScenario(s, uint64(c.seed)))
		c.checked++
		if v.Violation != nil {
			c.again = append(c.again, regression{s.File, v.Violation})
		}
	}
}

// end saves the failures, writes and shows the counts, and returns the verdict as
// an exit code. err is the error that ended the campaign, nil if it is complete.
func (c *fuzzed) end(cmd *cobra.Command, err error) error {
	c.bar.clear()
	interrupted := err != nil && errors.Is(err, context.Canceled)
	if err != nil && !interrupted {
		c.discard()
		return err
	}
	small := c.shrunk()
	if err := c.keep(cmd.ErrOrStderr(), small); err != nil {
		c.discard()
		return err
	}
	if err := c.write(small, interrupted); err != nil {
		return err
	}
	if err := c.show(cmd.OutOrStdout(), small); err != nil {
		return err
	}
	switch {
	case interrupted:
		fmt.Fprintf(cmd.ErrOrStderr(), "interrupted after %s\n", text.Count(c.All.Runs, "run"))
		return exitCode(exitInterrupted)
	case len(c.again) > 0 || !c.Passed():
		return exitCode(exitFailed)
	}
	return nil
}

// keep saves the cases that broke an invariant.
func (c *fuzzed) keep(stderr io.Writer, small []*fuzz.Case) error {
	if c.save == "" || len(small) == 0 {
		return nil
	}
	if err := os.MkdirAll(c.save, 0o777); err != nil {
		return misuse("--save needs a folder that you may write to", "cannot create %s: %s", c.save, text.Reason(err))
	}
	for i, v := range c.Failures {
		file, err := createFile(stderr, c.path(v))
		if err != nil {
			return err
		}
		if _, err := file.Write(c.scenario(v, small[i])); err != nil {
			file.Discard()
			return err
		}
		if err := file.Commit(); err != nil {
			return err
		}
	}
	return nil
}

// path returns the path of the file that a failure is saved in.
func (c *fuzzed) path(v *fuzz.Checked) string {
	return filepath.Join(c.save, c.name(v)+".yaml")
}

func (f *fuzzFlags) name(v *fuzz.Checked) string {
	return fmt.Sprintf("%s-%d-%d", v.Violation.Invariant, f.seed, v.Number)
}

// scenario returns the text of a failure's file.
func (f *fuzzFlags) scenario(v *fuzz.Checked, small *fuzz.Case) []byte {
	comment := fmt.Sprintf("It broke %s: %s\nFound by: %s", v.Violation.Invariant, v.Violation.Problem, f.repeat(v))
	if unsaid := small.Unsaid(); len(unsaid) > 0 {
		comment += "\nLeft out, because a scenario cannot express it: " + strings.Join(unsaid, ", ")
	}
	return small.YAML(f.name(v), fmt.Sprintf("A generated world that broke the invariant %s.", v.Violation.Invariant), comment)
}

// repeat returns the command that runs a case again.
func (f *fuzzFlags) repeat(v *fuzz.Checked) string {
	args := []string{"agentbench", "fuzz", "--seed", fmt.Sprint(f.seed), "--case", fmt.Sprint(v.Number)}
	if f.variant != "" {
		args = append(args, "--variant", f.variant)
	}
	return shellWords(args)
}
