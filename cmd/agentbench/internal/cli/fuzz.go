package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"github.com/agentbench-go/agentbench/fuzz"
	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/scenarios"
	"github.com/spf13/cobra"
)

const (
	// fuzzRuns is how many cases are made where nobody says.
	fuzzRuns = 10_000
	// savedFolder is where saved cases are looked for where nobody says.
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
		Short: "Try the loop in generated worlds, and check what must always hold",
		Long: `Make worlds at random (what the model says, how tools and users behave, the
config), play each to the loop, and check what must hold whatever a world does:
it ends within its limits, its history is clean, nothing runs after the stop,
and so on; go doc github.com/agentbench-go/agentbench/fuzz has every invariant.

A run survives if it keeps every invariant and, where the config has the means
against all that goes wrong, ends DONE. The exit code is 1 if an invariant is
broken, or if fewer than 95 % of the runs survive. A case that breaks something
is made as small as it can be; --save writes it as a scenario that run accepts.

Saved cases run first: those in the folder of --save, or in ` + savedFolder + `
where that is there. With a PATH, a scenario or a folder of them, only those run.
The cases of a seed are always the same, whatever -j is.`,
		Example: `  agentbench fuzz
  agentbench fuzz --time 60s --seed 7 --save fuzz/regressions
  agentbench fuzz --variant hpd-agent --runs 100000 -o fuzz.jsonl
  agentbench fuzz --seed 7 --case 1234`,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	fs := cmd.Flags()
	fs.Var(&f.runs, "runs", "make that many cases")
	fs.DurationVar(&f.time, "time", 0, "make cases for that long, such as 60s, instead of a number of them")
	fs.Var(&f.seed, "seed", "the seed of all cases")
	fs.Var(&f.number, "case", "make only case `K` of the seed, and show all of it")
	fs.StringVar(&f.variant, "variant", "", "give every case the config of this `VARIANT`, a preset or a YAML file (default: any config)")
	completeVariant(cmd)
	fs.StringVar(&f.save, "save", "", "write the first case that breaks each invariant, made small, as a scenario into the folder `DIR`")
	addJobs(cmd, &f.jobs)
	fs.StringArrayVarP(&f.files, "output", "o", nil, "write the counts to `FILE`.jsonl as well, - for the standard output instead of the tables; can be repeated")
	fs.BoolVarP(&f.quiet, "quiet", "q", false, "write no table, no failures and no progress: the exit code tells")
	fs.BoolVar(&f.ci, "ci", false, "write for a log: no colour and no progress")
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
		return misuse("such as 60s", "--time must be longer than nothing, not %v", f.time)
	case changed("time") && changed("runs"):
		return misuse("leave one of them out", "--time and --runs contradict each other")
	case f.single && (changed("time") || changed("runs") || f.save != "" || len(f.files) > 0 || len(paths) > 0):
		return misuse("agentbench fuzz --seed 7 --case 1234 is all it takes", "--case is about one case: it goes with --seed and --variant only")
	case len(paths) > 0 && (changed("time") || changed("runs") || f.variant != ""):
		return misuse("leave one of them out", "with a PATH no cases are made: it contradicts --runs, --time and --variant")
	}
	for _, name := range f.files {
		if name != "-" && filepath.Ext(name) != ".jsonl" {
			return misuse("give it a name that ends in .jsonl", "cannot write %q: counts are written in the format jsonl only", name)
		}
	}
	if f.variant == "" {
		return nil
	}
	v, err := loadVariant(f.variant)
	f.given = &v
	return err
}

// saved loads the cases that were saved earlier.
func (f *fuzzFlags) saved(paths []string) ([]*scenarios.Scenario, error) {
	if len(paths) == 0 {
		folder := f.save
		if folder == "" {
			folder = savedFolder
		}
		if files, _ := filepath.Glob(filepath.Join(folder, "*.yaml")); len(files) == 0 {
			return nil, nil // the folder is not there yet, or empty
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

// one makes one case and shows all of it.
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

// generate makes the cases. They leave much garbage and keep hardly any memory,
// so collecting it seldom makes them a third faster.
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

// regressions checks the cases that were saved earlier.
func (c *fuzzed) regressions(saved []*scenarios.Scenario) {
	for _, s := range saved {
		v := fuzz.Check(fuzz.FromScenario(s, uint64(c.seed)))
		c.checked++
		if v.Violation != nil {
			c.again = append(c.again, regression{s.File, v.Violation})
		}
	}
}

// end writes what there is to be written, and gives the verdict.
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

// keep saves the cases that broke something.
func (c *fuzzed) keep(stderr io.Writer, small []*fuzz.Case) error {
	if c.save == "" || len(small) == 0 {
		return nil
	}
	if err := os.MkdirAll(c.save, 0o777); err != nil {
		return misuse("--save takes a folder that you may write to", "cannot make %s: %s", c.save, text.Reason(err))
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

// path is the file that a failure is saved in.
func (c *fuzzed) path(v *fuzz.Checked) string {
	return filepath.Join(c.save, c.name(v)+".yaml")
}

func (f *fuzzFlags) name(v *fuzz.Checked) string {
	return fmt.Sprintf("%s-%d-%d", v.Violation.Invariant, f.seed, v.Number)
}

// scenario is the text of a failure's file.
func (f *fuzzFlags) scenario(v *fuzz.Checked, small *fuzz.Case) []byte {
	comment := fmt.Sprintf("It broke %s: %s\nFound by: %s", v.Violation.Invariant, v.Violation.Problem, f.repeat(v))
	if unsaid := small.Unsaid(); len(unsaid) > 0 {
		comment += "\nNot said here, as scenarios have no words for it: " + strings.Join(unsaid, ", ")
	}
	return small.YAML(f.name(v), fmt.Sprintf("A generated world that broke the invariant %s.", v.Violation.Invariant), comment)
}

// repeat is the command that makes a case again.
func (f *fuzzFlags) repeat(v *fuzz.Checked) string {
	args := []string{"agentbench", "fuzz", "--seed", fmt.Sprint(f.seed), "--case", fmt.Sprint(v.Number)}
	if f.variant != "" {
		args = append(args, "--variant", f.variant)
	}
	return shellWords(args)
}
