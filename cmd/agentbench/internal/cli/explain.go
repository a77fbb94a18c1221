package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentbench-go/agentbench/internal/infile"
	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/reports"
	"github.com/agentbench-go/agentbench/scenarios"
	"github.com/agentbench-go/agentbench/scenarios/describe"
	"github.com/spf13/cobra"
)

type explainFlags struct {
	variant string
	faults  faults
	plain   bool
	seed    seed
	trial   string
	noColor bool
	verbose bool
}

func newExplain() *cobra.Command {
	f := &explainFlags{seed: 1}
	cmd := &cobra.Command{
		Use:   "explain NAME|PATH|RESULTS",
		Short: "Explain a scenario, or a trial of a results file, and how it ended",
		Long: `Explain a scenario in words: the task, the tools and how they behave, what the
model says step by step, and what is expected. Then run it and show how it ended
and why, the counts, the findings and the trace. Of a trace of more than 200 lines
the middle is left out, unless --verbose is given.

NAME is an embedded scenario: suite/name, or name if only one suite has it. PATH
is a scenario file.

With a RESULTS file (.jsonl), explain runs nothing. It explains one trial from its
line in the file: what stopped it and why, what it used, the findings, how its
trace differs from the golden, and the trace if the file has it. --trial chooses
the trial; without it, the only trial or the only one that did not pass.

The exit code is that of the verdict.`,
		Example: `  agentbench explain stuck-loops/same-call-forever
  agentbench explain same-call-forever --variant none
  agentbench explain my-scenarios/flaky.yaml --seed 7
  agentbench explain results.jsonl --trial stuck-loops/same-call-forever/none`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				return nil
			}
			return misuse("agentbench list scenarios shows the names", "explain takes one scenario or results file, not %d", len(args))
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, start string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return startingWith(start, embeddedNames()), cobra.ShellCompDirectiveDefault
		},
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0]) },
	}
	cmd.Flags().StringVar(&f.variant, "variant", "", "run it under this `VARIANT`, a preset or a YAML file (default: its own)")
	completeVariant(cmd)
	cmd.Flags().BoolVar(&f.plain, "plain", false, "ignore the scenario's own config and expectations, as compare does")
	cmd.Flags().Var(&f.seed, "seed", "the seed of its random numbers")
	cmd.Flags().StringVar(&f.trial, "trial", "", "explain this `TRIAL` of a results file: "+trialForm)
	if err := cmd.RegisterFlagCompletionFunc("trial", completeTrial); err != nil {
		panic(err) // there is no such flag: a mistake in this file
	}
	cmd.Flags().BoolVarP(&f.verbose, "verbose", "v", false, "show the whole trace")
	addFaults(cmd, &f.faults)
	addNoColor(cmd, &f.noColor)
	return cmd
}

// shownLines is how many lines of a trace explain shows without --verbose: those of a
// run that nothing stops say the same a thousand times.
const shownLines = 200

// lines returns how many lines of a trace are shown, 0 = all.
func (f *explainFlags) lines() int {
	if f.verbose {
		return 0
	}
	return shownLines
}

func (f *explainFlags) run(cmd *cobra.Command, name string) error {
	if isResults(name) {
		return f.explainResult(cmd, name)
	}
	if f.trial != "" {
		return misuse("agentbench explain results.jsonl --trial "+f.trial, "--trial is for a results file, and %s is not one", name)
	}
	s, err := findScenario(name)
	if err != nil {
		return err
	}
	trial := scenarios.Trial{Scenario: s, Variant: s.Variant, Seed: uint64(f.seed), Faults: f.faults, Player: player(cmd)}
	if f.variant != "" {
		if trial.Variant, err = loadVariant(f.variant); err != nil {
			return err
		}
	}
	if f.plain {
		trial.Scenario = plain(s)
	}
	result, trace := trial.Run(cmd.Context())
	if cmd.Context().Err() != nil {
		return exitCode(exitInterrupted)
	}
	stdout := cmd.OutOrStdout()
	var b strings.Builder
	describe.Scenario(&b, s)
	redact := s.Redactor().Text
	described := redact(b.String())
	b.Reset()
	b.WriteString(described)
	trace = result.Redact(trace, redact)
	reports.ExplainEnd(&b, result, trace, colour(stdout, f.noColor), f.lines())
	if _, err := fmt.Fprint(stdout, b.String()); err != nil {
		return err
	}
	summary := &reports.Summary{}
	summary.Add(result)
	return verdict(summary)
}

// findScenario returns the embedded scenario with this name, or the one in the
// file at this path.
func findScenario(name string) (*scenarios.Scenario, error) {
	isYAML := slices.Contains([]string{".yaml", ".yml"}, strings.ToLower(filepath.Ext(name)))
	if !isYAML {
		if s, err := findEmbedded(name); s != nil || err != nil {
			return s, err
		}
		if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) {
			return nil, misuse(cmp.Or(text.DidYouMean(name, shortAndFull()), "agentbench list scenarios shows the names; a path ends in .yaml"), "there is no scenario %q", name)
		}
	}
	all, err := scenarios.Load(name)
	switch {
	case err != nil:
		return nil, badInput(err)
	case len(all) == 0:
		return nil, misuse("a scenario is a .yaml file", "there is no scenario in %s", name)
	case len(all) > 1:
		return nil, misuse("name one of them, such as "+all[0].File, "%s has %d scenarios", name, len(all))
	}
	return all[0], nil
}

// findEmbedded returns the embedded scenario whose suite/name, or whose name
// alone, is name; nil if there is none. It fails if two suites have the name.
func findEmbedded(name string) (*scenarios.Scenario, error) {
	all, err := scenarios.Load()
	if err != nil {
		return nil, badInput(err)
	}
	var found []*scenarios.Scenario
	var ids []string
	for _, s := range all {
		switch name {
		case s.ID():
			return s, nil
		case s.Name:
			found = append(found, s)
			ids = append(ids, s.ID())
		}
	}
	switch len(found) {
	case 0:
		return nil, nil
	case 1:
		return found[0], nil
	}
	return nil, misuse("name one of them: "+strings.Join(ids, ", "), "there are %d scenarios %q", len(found), name)
}

// shortAndFull returns the names of the embedded scenarios, each without and with
// its suite.
func shortAndFull() []string {
	var names []string
	for _, s := range embedded() {
		names = append(names, s.Name, s.ID())
	}
	return names
}

// explainResult explains one trial of a results file from its line alone.
func (f *explainFlags) explainResult(cmd *cobra.Command, path string) error {
	for _, flag := range []string{"variant", "plain", "seed", "fault"} {
		if asArgument(cmd.Flag(flag)) {
			return misuse("--trial "+trialForm+" chooses a trial", "--%s is for a scenario that runs, and %s has trials that ran", flag, path)
		}
	}
	p := &pick{path: path, want: f.trial}
	p.fold.Repeat = func(r *scenarios.Result) string { return repeatResult(&p.fold, r) }
	r, err := p.read()
	if err != nil {
		return err
	}
	r = r.Redacted()
	stdout := cmd.OutOrStdout()
	var b strings.Builder
	p.fold.Explain(&b, r, text.Line(path)+p.from, colour(stdout, f.noColor), f.lines())
	if _, err := fmt.Fprint(stdout, b.String()); err != nil {
		return err
	}
	summary := &reports.Summary{}
	summary.Add(r)
	return verdict(summary)
}

// trialForm is the form of a trial's name.
const trialForm = "SUITE/NAME[/VARIANT[/SEED]]"

// A pick finds one trial in a results file.
type pick struct {
	path string
	want string // "" = the only one, or the only one that did not pass
	fold reports.Fold
	from string // the kind and the version of agentbench, from the header
	ids  []string

	all, fit, bad found
}

// found counts the trials that fit, and keeps the first one.
type found struct {
	n     int
	first *scenarios.Result
	names []string
}

const namesShown = 3

func (f *found) add(r *scenarios.Result) {
	if f.n++; f.n == 1 {
		f.first = r
	}
	if len(f.names) < namesShown {
		f.names = append(f.names, text.Line(trialNames(r)[2]))
	}
}

// trialNames returns the names of a trial, the longest last.
func trialNames(r *scenarios.Result) [3]string {
	under := r.Scenario + "/" + r.Variant
	return [3]string{r.Scenario, under, fmt.Sprintf("%s/%d", under, r.Seed)}
}

// read returns the trial that p.want names.
func (p *pick) read() (*scenarios.Result, error) {
	file, err := infile.Open(p.path)
	if err != nil {
		return nil, misuse("agentbench run -o results.jsonl makes one", "cannot read %s: %s", p.path, text.Reason(err))
	}
	defer file.Close()
	if _, err := scenarios.ReadResults(file, p.path, p.header, p.add); err != nil {
		return nil, badInput(err)
	}
	switch {
	case p.all.n == 0:
		return nil, misuse("agentbench report shows what else a results file has", "%s has no trial", p.path)
	case p.want != "":
		return p.named()
	case p.all.n == 1:
		return p.all.first, nil
	case p.bad.n == 1:
		return p.bad.first, nil
	case p.bad.n == 0:
		return nil, misuse("name one with --trial, such as "+p.all.names[0], "%s has %s, and all of them passed or were not judged", p.path, text.Count(p.all.n, "trial"))
	}
	return nil, misuse("name one with --trial, such as "+text.AnyOf(p.bad.names), "%s has %s, and %s of them did not pass", p.path, text.Count(p.all.n, "trial"), text.Number(p.bad.n))
}

// named returns the only trial with the name p.want.
func (p *pick) named() (*scenarios.Result, error) {
	switch p.fit.n {
	case 0:
		return nil, misuse(cmp.Or(text.DidYouMean(p.want, p.ids), "--trial takes "+trialForm+"; the first is "+p.all.names[0]), "%s has no trial %q", p.path, p.want)
	case 1:
		return p.fit.first, nil
	}
	return nil, misuse("add the variant and the seed, such as "+text.AnyOf(p.fit.names), "%s has %s %q", p.path, text.Count(p.fit.n, "trial"), p.want)
}

func (p *pick) header(h *scenarios.Header) error {
	p.from = fmt.Sprintf(", of %s, agentbench %s", text.Line(h.Kind), text.Line(h.Tool))
	return p.fold.Header(h)
}

func (p *pick) add(r *scenarios.Result) error {
	p.all.add(r)
	names := trialNames(r)
	if slices.Contains(names[:], p.want) {
		p.fit.add(r)
	}
	if r.Verdict == scenarios.Fail || r.Verdict == scenarios.Inconclusive {
		p.bad.add(r)
	}
	if id := text.Line(r.Scenario); len(p.ids) == 0 || p.ids[len(p.ids)-1] != id {
		p.ids = append(p.ids, id)
	}
	return nil
}

// completeTrial completes --trial with the trials of the results file.
func completeTrial(_ *cobra.Command, args []string, start string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 || !isResults(args[0]) {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	p := &pick{path: args[0]}
	if file, err := infile.Open(p.path); err == nil {
		defer file.Close()
		add := func(r *scenarios.Result) error {
			names = append(names, text.Line(trialNames(r)[2]))
			return nil
		}
		scenarios.ReadResults(file, p.path, p.header, add) // as many as can be read
	}
	return startingWith(start, names), cobra.ShellCompDirectiveNoFileComp
}
