package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime/debug"
	"strings"

	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/reports"
	"github.com/agentbench-go/agentbench/scenarios"
	"github.com/spf13/cobra"
)

// shownFailures is how many failures the terminal shows without --ci or
// --verbose.
const shownFailures = 10

// keep says which results keep their trace.
type keep string

const (
	keepFailed keep = "failed"
	keepAll    keep = "all"
	keepNone   keep = "none"
)

type runFlags struct {
	selectFlags
	outputFlags
	telemetryFlags
	variants     []string
	faults       faults
	seeds        count
	seed         seed
	jobs         jobs
	keep         keep
	shard        shard
	golden       goldenUse
	failuresOnly bool
	allowEmpty   bool
	strict       bool

	given     map[string]string     // a variant's name → the value of --variant
	fromFiles bool                  // the scenarios are not the embedded ones
	chosen    []*scenarios.Scenario // the selected scenarios of all shards
	said      bool                  // --golden was given
	goldens   *scenarios.Goldens    // nil = off
}

func newRun() *cobra.Command {
	f := &runFlags{seeds: 1, seed: 1, keep: keepFailed, golden: goldenCheck}
	cmd := &cobra.Command{
		Use:   "run [PATH…]",
		Short: "Run scenarios and judge each one",
		Long: `Run scenarios and judge each one. A PATH is a scenario file or a folder of them;
without a PATH the embedded suites run.

Each scenario runs under its own variant (the safety config it is meant for) and
must end as it expects. With --variant, each runs under the variants that you
name and is judged by its label alone: a runaway must be stopped, a healthy run
must finish. A scenario that draws no random numbers runs once, whatever --seeds
says.

If a golden (the stored trace of a trial) exists, the trace must match it: see
agentbench golden --help.`,
		Example: `  agentbench run
  agentbench run --suite stuck-loops --suite healthy
  agentbench run my-scenarios/ --filter '*/retry-*' -o results.jsonl
  agentbench run --variant hpd-agent --variant none --seeds 5`,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	f.addTrials(cmd)
	addVariants(cmd, &f.variants, "run each scenario under this `VARIANT`, a preset or a YAML file, instead of its own; can be repeated")
	addFaults(cmd, &f.faults)
	cmd.Flags().Var(&f.shard, "shard", "run only part `I/N` of the trials, such as 2/4; report and gate put the parts together")
	addChoice(cmd, &f.golden, "golden", "check traces against the goldens, update the goldens (the changes are shown first), or off", goldenCheck, goldenUpdating, goldenOff)
	cmd.Flags().BoolVar(&f.strict, "strict", false, "make a trial inconclusive if its scenario holds anything that it did not reach")
	f.outputFlags.add(cmd)
	f.telemetryFlags.add(cmd)
	cmd.Flags().BoolVar(&f.failuresOnly, "failures-only", false, "print the failures without the table")
	return cmd
}

// addTrials adds the flags that choose the trials and how they run.
func (f *runFlags) addTrials(cmd *cobra.Command) {
	f.selectFlags.add(cmd)
	f.addHeldBack(cmd)
	cmd.Flags().BoolVar(&f.allowEmpty, "allow-empty", false, "pass if no scenario is selected")
	cmd.Flags().Var(&f.seeds, "seeds", "run each scenario that draws random numbers under `N` seeds")
	cmd.Flags().Var(&f.seed, "seed", "the first seed")
	addJobs(cmd, &f.jobs)
	addChoice(cmd, &f.keep, "keep-traces", "which results keep the text of their trace: failed, all or none", keepFailed, keepAll, keepNone)
}

func addJobs(cmd *cobra.Command, jobs *jobs) {
	cmd.Flags().VarP(jobs, "jobs", "j", "run `N` trials at once (default: one per processor); does not change the results")
}

func (f *runFlags) run(cmd *cobra.Command, paths []string) error {
	defer f.collectSeldom()()
	if err := f.check(cmd); err != nil {
		return err
	}
	o, err := f.options(cmd, paths)
	if err != nil {
		return err
	}
	return f.trials(cmd, o)
}

// collectSeldom makes garbage collections rarer while the process is small, until
// the returned function is called. Trials make much garbage and keep little memory,
// so this makes them a third faster. It does nothing if the traces are kept, or if
// GOGC or GOMEMLIMIT is set.
func (f *runFlags) collectSeldom() (restore func()) {
	if f.keep == keepAll || os.Getenv("GOGC")+os.Getenv("GOMEMLIMIT") != "" {
		return func() {}
	}
	percent, limit := debug.SetGCPercent(400), debug.SetMemoryLimit(200<<20)
	return func() {
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(limit)
	}
}

// options loads the variants, the scenarios and the goldens of the trials.
func (f *runFlags) options(cmd *cobra.Command, paths []string) (o scenarios.Options, err error) {
	o = scenarios.Options{Seeds: int(f.seeds), Seed: uint64(f.seed), Workers: int(f.jobs.count), Keep: f.kept(), Faults: f.faults, Strict: f.strict, Player: player(cmd)}
	if last := o.Seed + uint64(o.Seeds) - 1; last < o.Seed {
		return o, misuse("use a smaller --seed", "%d seeds from %d on go past the largest seed", o.Seeds, o.Seed)
	}
	if o.Variants, err = loadVariants(f.variants); err != nil {
		return o, err
	}
	f.given = map[string]string{}
	for i, v := range o.Variants {
		f.given[v.Name] = f.variants[i]
	}
	f.fromFiles = len(paths)+len(f.scenarios) > 0
	if f.chosen, err = f.load(paths); err != nil {
		return o, err
	}
	if len(f.chosen) == 0 && !f.allowEmpty {
		return o, f.nothingSelected(paths)
	}
	o.Scenarios = f.shard.of(f.chosen)
	o.Goldens, err = f.theGoldens()
	return o, err
}

// goldenUse is what run does with goldens. The zero value checks.
type goldenUse string

const (
	goldenCheck    goldenUse = "check"
	goldenUpdating goldenUse = "update"
	goldenOff      goldenUse = "off"
)

// theGoldens returns the goldens that the trials are compared with; nil = none.
func (f *runFlags) theGoldens() (*scenarios.Goldens, error) {
	switch f.golden {
	case goldenOff:
		return nil, nil
	case goldenUpdating:
		f.goldens = &scenarios.Goldens{Update: true}
		return f.goldens, writable(f.goldens, f.chosen)
	}
	f.goldens = &scenarios.Goldens{Expected: f.said, Required: f.ci}
	return f.goldens, nil
}

// endGoldens writes the goldens if --golden is update, and prints the allowances
// that allow nothing.
func (f *runFlags) endGoldens(stderr io.Writer) error {
	if f.goldens == nil {
		return nil
	}
	if f.quiet {
		stderr = io.Discard
	}
	if f.golden == goldenUpdating {
		most := shownFailures
		if f.verbose {
			most = 0
		}
		if err := writeGoldens(stderr, f.goldens, most); err != nil {
			return err
		}
	}
	for _, line := range f.goldens.Stale() {
		fmt.Fprintf(stderr, "note: %s\n", text.Line(line))
	}
	return nil
}

func (f *runFlags) check(cmd *cobra.Command) error {
	if err := f.outputFlags.check(cmd); err != nil {
		return err
	}
	if f.failuresOnly && f.format != table {
		return misuse("leave one of them out", "--failures-only and --format %s contradict each other", f.format)
	}
	if f.golden == goldenUpdating && f.ci {
		return misuse(updateLocally, "--golden update and --ci contradict each other")
	}
	if f.golden == goldenUpdating && len(f.faults) > 0 {
		return misuse("update goldens without faults", "--golden update and --fault contradict each other")
	}
	f.said = cmd.Flags().Changed("golden")
	return nil
}

// kept returns which trials must return their trace. A failure needs its trace
// to be shown, whatever is written.
func (f *runFlags) kept() scenarios.Keep {
	if f.keep == keepAll {
		return scenarios.KeepAll
	}
	return scenarios.KeepFailed
}

// trials runs the trials, writes and shows their results, and returns the verdict
// as an exit code.
func (f *runFlags) trials(cmd *cobra.Command, o scenarios.Options) error {
	f.repeatTrial = f.repeat
	sender, err := f.telemetryFlags.begin(cmd, &o)
	if err != nil {
		return err
	}
	if sender != nil {
		o.Keep = scenarios.KeepAll
	}
	out, err := f.outputFlags.open(cmd, f.header(&o))
	if err != nil {
		return err
	}
	summary := &reports.Summary{}
	failures := &reports.Failures{Max: shownFailures, Hint: "--ci or --verbose shows all", Repeat: f.repeat}
	if f.ci || f.verbose {
		failures.Max = 0
	}
	err = scenarios.Run(cmd.Context(), o, func(r *scenarios.Result) error {
		summary.Add(r)
		failures.Add(r)
		if sender != nil {
			if err := sender.send(r); err != nil {
				return err
			}
		}
		if f.keep == keepNone || f.keep == keepFailed && r.Verdict == scenarios.Pass {
			r.Trace, r.TraceCut = "", nil
		} else if f.keep == keepFailed {
			r.CutTrace()
		}
		return out.add(r)
	})
	err = out.end(cmd.Context(), err)
	if sender != nil {
		err = sender.end(err)
	}
	interrupted := errors.Is(err, exitCode(exitInterrupted))
	if err != nil && !interrupted {
		return err
	}
	if err := f.show(cmd, summary, failures); err != nil {
		return err
	}
	if interrupted {
		out.printInterrupt(cmd.ErrOrStderr())
		return out.code(err)
	}
	if err := f.endGoldens(cmd.ErrOrStderr()); err != nil {
		return err
	}
	return out.code(verdict(summary))
}

// show prints the table and the failures, or one line to standard error if the
// results are printed.
func (f *runFlags) show(cmd *cobra.Command, summary *reports.Summary, failures *reports.Failures) error {
	stdout := cmd.OutOrStdout()
	switch {
	case f.quiet:
		return nil
	case f.format != table:
		_, err := fmt.Fprintln(cmd.ErrOrStderr(), summary.Line())
		return err
	case f.failuresOnly:
		if err := failures.Write(stdout, f.colour(stdout)); err != nil {
			return err
		}
		return nil
	}
	if err := summary.Write(stdout, f.colour(stdout)); err != nil {
		return err
	}
	return failures.Write(stdout, f.colour(stdout))
}

// verdict returns the exit code of all trials together: a failure outweighs an
// inconclusive trial.
func verdict(s *reports.Summary) error {
	switch {
	case s.Verdicts(scenarios.Fail) > 0:
		return exitCode(exitFailed)
	case s.Verdicts(scenarios.Inconclusive) > 0:
		return exitCode(exitInconclusive)
	}
	return nil
}

// repeat returns the command that runs one trial again and shows all of it.
func (f *runFlags) repeat(r *scenarios.Result) string {
	args := []string{"agentbench", "explain", r.Scenario}
	if f.fromFiles {
		args[2] = r.File
	}
	if v := f.given[r.Variant]; v != "" {
		args = append(args, "--variant", v)
	}
	args = append(args, f.faults.args()...)
	if r.Random {
		args = append(args, "--seed", fmt.Sprint(r.Seed))
	}
	return shellWords(args)
}

var bareWord = regexp.MustCompile(`^[A-Za-z0-9_./:=@%+,-]+$`)

// shellWords quotes arguments so that a shell reads them back.
func shellWords(args []string) string {
	words := make([]string, len(args))
	for i, a := range args {
		words[i] = a
		if !bareWord.MatchString(a) {
			words[i] = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
	}
	return strings.Join(words, " ")
}

// A shard is a flag whose value is one part of the trials: 2/4 is the second of
// four. The zero value is all trials.
type shard struct{ i, n int }

func (s *shard) Type() string { return "I/N" }

func (s *shard) String() string {
	if s.n == 0 {
		return ""
	}
	return fmt.Sprintf("%d/%d", s.i, s.n)
}

func (s *shard) Set(text string) (err error) {
	s.i, s.n, err = reports.ParseShard(text)
	return err
}

// of returns the scenarios of the part: every n-th, so that all parts take about
// the same time.
func (s *shard) of(all []*scenarios.Scenario) []*scenarios.Scenario {
	if s.n == 0 {
		return all
	}
	var part []*scenarios.Scenario
	for i := s.i - 1; i < len(all); i += s.n {
		part = append(part, all[i])
	}
	return part
}

// header returns the header of the results of o. The header of a shard names the
// variants of all shards, so that the shards together are the results of one run.
func (f *runFlags) header(o *scenarios.Options) scenarios.Header {
	h := headerOf(o)
	if f.shard.n < 2 {
		return h
	}
	whole := *o
	whole.Scenarios = f.chosen
	all := headerOf(&whole)
	all.Shard, all.Scenarios, all.Trials = f.shard.String(), h.Scenarios, h.Trials
	return all
}
