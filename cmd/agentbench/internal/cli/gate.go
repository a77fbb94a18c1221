package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
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
		Short: "Judge results by rules, with one verdict: pass, fail or inconclusive",
		Long: `Judge results files by the gate's rules and return one verdict. The files may be
the shards of a run, and results of replay and fuzz. Without a results file, gate
runs the trials that agentbench run would run with the same arguments.

--baseline compares with the results file of an earlier state. A scenario that draws
no random number must not fail if it did not fail there, and a new one must not fail
(--on-failing). A rate fails if it is worse by more than --max-regression and by an
exact paired test over scenarios, with p < .05 corrected for all rules. Failures that
the baseline has are tolerated, unless --pass-rate asks for a rate. --bless writes
the current results as the new baseline. A healthy scenario that is harmed newly
fails too (--on-harmed): a net stops it, or refuses calls that its own variant lets
through.

If the loop breaks a limit, leaves a history that an API would refuse, or panics, the
gate fails without any margin. A trial that could not be judged makes the verdict
inconclusive.

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
	fs.Var((*percentage)(&f.limits.PassRate), "pass-rate", "the `SHARE` of trials that must pass, averaged over scenarios (default: 100% without a baseline, any with one)")
	fs.Var((*percentage)(&f.limits.MaxRegression), "max-regression", "a rate may be worse than the baseline by this `SHARE`, whatever the test says")
	fs.Var((*percentage)(&f.limits.FuzzSurvival), "fuzz-survival", "the `SHARE` of fuzz runs that must survive")
	fs.Var((*limit)(&f.limits.P95Tool), "p95-tool", "the longest 95th percentile of tool latency, in results of record and replay (default: any)")
	fs.Var(&f.minimum, "min-trials", "with fewer than `N` trials the verdict is inconclusive")
	addChoice(cmd, &f.limits.OnFailing, "on-failing", "for scenarios that fail and did not in the baseline, new ones too: allow, warn or fail", reports.Allow, reports.Warn, reports.Forbid)
	addChoice(cmd, &f.limits.OnHarmed, "on-harmed", "for healthy scenarios that are harmed and were not in the baseline: allow, warn or fail", reports.Allow, reports.Warn, reports.Forbid)
	addChoice(cmd, &f.limits.OnNew, "on-new", "for scenarios that are not in the baseline: allow, warn or fail", reports.Allow, reports.Warn, reports.Forbid)
	addChoice(cmd, &f.limits.OnRemoved, "on-removed", "for scenarios that are only in the baseline: allow, warn or fail", reports.Allow, reports.Warn, reports.Forbid)
	addReference(cmd, &f.reference)
	addVariants(cmd, &f.variants, "judge only this `VARIANT`: a name from the results files, or else a preset or a YAML file; can be repeated")
	f.addTrials(cmd)
	f.outputFlags.add(cmd)
	return cmd
}

// A percentage is a flag whose value is a share: 0.95 or 95%. Below 0 it is not set.
type percentage float64

func (p *percentage) String() string {
	if *p < 0 {
		return ""
	}
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

// A limit is a flag whose value is a duration above 0.
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
	unwritten := writeExports(exports, r, cmd.ErrOrStderr())
	f.writeActions(r, cmd.ErrOrStderr())
	if err := f.show(cmd, r); err != nil {
		return err
	}
	if f.bless {
		if err := f.writeBaseline(cmd, r); err != nil {
			return err
		}
	}
	if unwritten != nil {
		return exitCode(exitInconclusive)
	}
	return gateCode(r.Gate)
}

func (f *gateFlags) check(cmd *cobra.Command) error {
	switch {
	case f.bless && f.ci:
		return misuse("bless on your machine, read what changed, and commit the file", "--bless and --ci contradict each other: a person writes the baseline, not CI")
	case f.bless && f.baseline == "":
		return misuse("agentbench gate --baseline baseline.jsonl --bless", "--bless needs --baseline, which names the file to write")
	case f.baseline != "" && !isResults(f.baseline):
		return misuse("a baseline is a results file, written by --bless or by run -o", "--baseline %s does not end in .jsonl", f.baseline)
	}
	return f.runFlags.check(cmd)
}

// judge reads the results, or runs the trials, and returns their report with the
// verdict.
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
	r.Gate = f.limits.Judge(now, base, f.named(results))
	r.Verdict = r.Gate.Verdict
	return r, nil
}

// named returns the names of results files for the commands that reports print. Under
// --ci an absolute path is one of a machine that is gone when someone reads it: there the
// file's name alone is that of the artifact.
func (f *gateFlags) named(results []string) []string {
	if !f.ci {
		return results
	}
	names := make([]string, len(results))
	for i, path := range results {
		if names[i] = path; filepath.IsAbs(path) {
			names[i] = filepath.Base(path)
		}
	}
	return names
}

// readBaseline reads the baseline; nil = there is nothing to compare with.
func (f *gateFlags) readBaseline() (*reports.Fold, error) {
	if f.baseline == "" || f.bless {
		return nil, nil
	}
	if _, err := os.Stat(f.baseline); errors.Is(err, os.ErrNotExist) {
		return nil, misuse("the same command with --bless, and without --ci, writes it: commit it like any other file", "there is no baseline %s", f.baseline)
	}
	base := f.newFold(false)
	return base, readResults(base, []string{f.baseline})
}

// makeResults runs the trials that agentbench run would run.
func (f *gateFlags) makeResults(cmd *cobra.Command, paths []string, fold *reports.Fold) error {
	defer f.collectSeldom()()
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

// show prints the rules of the gate and the failures that they found.
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

// writeBaseline writes the results as the baseline. It refuses inconclusive
// results: later ones cannot be compared with them.
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
	_, err = fmt.Fprintf(cmd.ErrOrStderr(), "%s now has %s\n", f.baseline, text.Count(r.Trials, "trial"))
	return err
}

// gateCode returns the exit code of a gate's verdict.
func gateCode(g *reports.Gate) error {
	switch g.Verdict {
	case scenarios.Fail:
		return exitCode(exitFailed)
	case scenarios.Inconclusive:
		return exitCode(exitInconclusive)
	}
	return nil
}
