package cli

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/reports"
	"github.com/agentbench-go/agentbench/scenarios"
	"github.com/spf13/cobra"
)

type gateFlags struct {
	runFlags
	limits   reports.Limits
	minimum  count
	baseline string
	bless    bool
}

func newGate() *cobra.Command {
	f := &gateFlags{runFlags: runFlags{seeds: 1, seed: 1, keep: keepFailed}, limits: reports.DefaultLimits()}
	f.minimum = count(f.limits.MinTrials)
	cmd := &cobra.Command{
		Use:   "gate [RESULTS…|PATH…]",
		Short: "Give one verdict over results: pass, fail or inconclusive",
		Long: `Judge results files, such as the shards of a run, those of a replay and those of
fuzz, by rules, and give one verdict. Without a results file gate makes the trials
that run would make of the same arguments.

With --baseline, the results file of an earlier state, rates must not be worse by
more than --max-regression and by the sign test on scenarios (p < .05), and the
curve of healthy runs at 16 calls must not be below the baseline's band. --bless
writes the results at hand as the new baseline. What the loop must never do (break
a limit, leave a history that an API would refuse, panic) fails without any margin;
what could not be judged makes the verdict inconclusive.

Exit codes: 0 passed, 1 failed, 3 inconclusive, 2 bad usage or bad input.`,
		Example: `  agentbench gate
  agentbench gate results.jsonl --baseline main.jsonl
  agentbench gate shard-*.jsonl fuzz.jsonl --ci -o gate.md
  agentbench gate results.jsonl --baseline main.jsonl --bless`,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	fs := cmd.Flags()
	fs.StringVar(&f.baseline, "baseline", "", "compare with the results in `FILE`.jsonl")
	fs.BoolVar(&f.bless, "bless", false, "write the results to the file of --baseline instead of comparing with it")
	fs.Var((*percentage)(&f.limits.PassRate), "pass-rate", "so many of the trials must pass, averaged over scenarios")
	fs.Var((*percentage)(&f.limits.MaxRegression), "max-regression", "so much worse than the baseline a rate may be whatever a test says")
	fs.Var((*percentage)(&f.limits.FuzzSurvival), "fuzz-survival", "so many of the fuzz runs must survive")
	fs.Var((*limit)(&f.limits.P95Tool), "p95-tool", "the 95th percentile of tool latency may be so long, in results of record and replay (default: any)")
	fs.Var(&f.minimum, "min-trials", "fewer trials are inconclusive")
	addChoice(cmd, &f.limits.OnNew, "on-new", "when scenarios are not in the baseline: allow, warn or fail", reports.Allow, reports.Warn, reports.Forbid)
	addChoice(cmd, &f.limits.OnRemoved, "on-removed", "when scenarios are in the baseline only: allow, warn or fail", reports.Allow, reports.Warn, reports.Forbid)
	addReference(cmd, &f.reference)
	addVariants(cmd, &f.variants, "judge this `VARIANT` only: of results files its name, else a preset or a YAML file; can be repeated")
	f.addTrials(cmd)
	f.outputFlags.add(cmd)
	return cmd
}

// A percentage is a flag that takes a share: 0.95 or 95%.
type percentage float64

func (p *percentage) String() string {
	return strconv.FormatFloat(float64(*p)*100, 'g', 6, 64) + "%"
}
func (p *percentage) Type() string { return "SHARE" }

func (p *percentage) Set(s string) error {
	number, percent := strings.CutSuffix(s, "%")
	x, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if percent {
		x /= 100
	}
	if err != nil || !(x >= 0 && x <= 1) {
		return errors.New("must be a share from 0 to 1, or from 0% to 100%")
	}
	*p = percentage(x)
	return nil
}

// A limit is a flag that takes a duration above 0.
type limit time.Duration

func (l *limit) String() string {
	if *l == 0 {
		return ""
	}
	return time.Duration(*l).String()
}
func (l *limit) Type() string { return "DURATION" }

func (l *limit) Set(s string) error {
	d, err := time.ParseDuration(s)
	if err != nil || d <= 0 {
		return errors.New("must be a time such as 800ms or 2s")
	}
	*l = limit(d)
	return nil
}

func (f *gateFlags) run(cmd *cobra.Command, paths []string) error {
	if err := f.check(cmd); err != nil {
		return err
	}
	f.limits.MinTrials = int(f.minimum)
	exports, err := createExports(cmd.ErrOrStderr(), f.files)
	if err != nil {
		return err
	}
	r, err := f.judge(cmd, paths, needResults(exports) || f.bless || f.format == jsonl)
	if err != nil {
		discardExports(exports)
		return err
	}
	writeExports(exports, r, cmd.ErrOrStderr()) // which tells, and changes no exit code
	f.tellActions(r, cmd.ErrOrStderr())
	if err := f.show(cmd, r); err != nil {
		return err
	}
	if f.bless {
		if err := f.writeBaseline(cmd, r); err != nil {
			return err
		}
	}
	return gateCode(r.Gate)
}

func (f *gateFlags) check(cmd *cobra.Command) error {
	switch {
	case f.bless && f.ci:
		return misuse("bless where a person looks at what changed, and commit the file", "--bless and --ci contradict each other: a baseline is never written by a machine")
	case f.bless && f.baseline == "":
		return misuse("agentbench gate --baseline baseline.jsonl --bless", "--bless needs --baseline: the file to write")
	case f.baseline != "" && !isResults(f.baseline):
		return misuse("a baseline is a results file, written by --bless or by run -o", "--baseline %s does not end in .jsonl", f.baseline)
	}
	return f.runFlags.check(cmd)
}

// judge reads or makes the results and gives their report, with the verdict.
func (f *gateFlags) judge(cmd *cobra.Command, paths []string, keep bool) (*reports.Report, error) {
	base, err := f.readBaseline()
	if err != nil {
		return nil, err
	}
	now := f.newFold(keep)
	var results []string
	if slices.ContainsFunc(paths, isResults) {
		results, now.Only = paths, f.variants
		err = readResults(now, paths)
	} else {
		err = f.makeResults(cmd, paths, now)
	}
	if err != nil {
		return nil, err
	}
	r, err := now.Report()
	if err != nil {
		return nil, badInput(err)
	}
	if err := hasVariants(r, now.Only, now.Variants()); err != nil {
		return nil, err
	}
	r.Gate = f.limits.Judge(now, base, results)
	r.Verdict = r.Gate.Verdict
	return r, nil
}

// readBaseline folds the baseline; nil = none is to be compared with.
func (f *gateFlags) readBaseline() (*reports.Fold, error) {
	if f.baseline == "" || f.bless {
		return nil, nil
	}
	if _, err := os.Stat(f.baseline); errors.Is(err, os.ErrNotExist) {
		return nil, misuse("agentbench gate --baseline "+f.baseline+" --bless writes it", "there is no baseline %s", f.baseline)
	}
	base := f.newFold(false)
	return base, readResults(base, []string{f.baseline})
}

// makeResults makes the trials that run would make.
func (f *gateFlags) makeResults(cmd *cobra.Command, paths []string, fold *reports.Fold) error {
	defer collectSeldom()()
	o, err := f.options(cmd, paths)
	if err != nil {
		return err
	}
	fold.Repeat = f.repeat
	h := f.header(&o)
	if err := fold.Header(&h); err != nil {
		return err
	}
	err = scenarios.Run(cmd.Context(), o, fold.Add)
	if cmd.Context().Err() != nil {
		return exitCode(exitInterrupted)
	}
	return err
}

// show writes the rules, and the failures behind them.
func (f *gateFlags) show(cmd *cobra.Command, r *reports.Report) error {
	stdout := cmd.OutOrStdout()
	switch {
	case f.quiet:
		return nil
	case f.format == table:
		return r.Gate.Write(stdout, f.colour(stdout))
	}
	return f.printReport(cmd, r)
}

// writeBaseline writes the results as the baseline. Results that are not whole,
// or that hold what could not be judged, are nothing to compare with.
func (f *gateFlags) writeBaseline(cmd *cobra.Command, r *reports.Report) error {
	if r.Gate.Verdict == scenarios.Inconclusive {
		fmt.Fprintf(cmd.ErrOrStderr(), "%s is not written: the results are inconclusive\n", text.Line(f.baseline))
		return nil
	}
	file, err := createFile(cmd.ErrOrStderr(), f.baseline)
	if err != nil {
		return err
	}
	if err := reports.WriteResults(file, r); err != nil {
		file.Discard()
		return err
	}
	if err := file.Commit(); err != nil {
		return err
	}
	_, err = fmt.Fprintf(cmd.ErrOrStderr(), "%s holds %s now\n", f.baseline, text.Count(r.Trials, "trial"))
	return err
}

// gateCode is the exit code of a gate's verdict.
func gateCode(g *reports.Gate) error {
	switch g.Verdict {
	case scenarios.Fail:
		return exitCode(exitFailed)
	case scenarios.Inconclusive:
		return exitCode(exitInconclusive)
	}
	return nil
}
