package cli

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/agentbench-go/agentbench/reports"
	"github.com/agentbench-go/agentbench/scenarios"
	"github.com/spf13/cobra"
)

type compareFlags struct {
	runFlags
	allPresets bool
}

func newCompare() *cobra.Command {
	f := &compareFlags{runFlags: runFlags{seeds: 1, seed: 1, keep: keepNone}}
	cmd := &cobra.Command{
		Use:   "compare [PATH…]",
		Short: "Compare variants: what each catches, what it breaks, what it costs",
		Long: `Try every scenario under every variant and set the variants against one of them,
the reference: runaways caught, healthy runs stopped, what a run took before its
stop, and who is not yet stopped after 2, 4, 8 and 16 calls. A PATH is a scenario
file or a folder of them; without one the embedded suites run. Where a PATH ends
in .jsonl all are results files, of run, compare or replay, and nothing is run.

Each variant is tried as it is: what a scenario changes in the variant that it is
meant for does not apply. What counts is scenarios: the trials of one are averaged, so that more seeds make
its share more exact and are no further evidence. A scenario that draws no random
number runs once. p values are of the exact sign test on scenarios, corrected for
the number of variants. compare reports and does not judge: it ends with 0, or
with 2 for bad input.`,
		Example: `  agentbench compare --variant hpd-agent --variant none
  agentbench compare --all-presets --seeds 50 -o compare.html
  agentbench compare my-scenarios/ --variant now.yaml --variant next.yaml --reference now.yaml
  agentbench compare replay.jsonl`,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	f.addTrials(cmd)
	addVariants(cmd, &f.variants, "compare this `VARIANT`: a preset or a YAML file; can be repeated")
	cmd.Flags().BoolVar(&f.allPresets, "all-presets", false, "compare every preset, beside the variants that are named")
	addReference(cmd, &f.reference)
	f.outputFlags.add(cmd)
	return cmd
}

func addReference(cmd *cobra.Command, reference *string) {
	cmd.Flags().StringVar(reference, "reference", "", "compare the others with this `VARIANT` (default: the first)")
}

func (f *compareFlags) run(cmd *cobra.Command, paths []string) error {
	defer collectSeldom()()
	if err := f.check(cmd); err != nil {
		return err
	}
	if slices.ContainsFunc(paths, isResults) {
		return f.compareFiles(cmd, paths)
	}
	if err := f.chooseVariants(); err != nil {
		return err
	}
	o, err := f.options(cmd, paths)
	if err != nil {
		return err
	}
	for _, v := range o.Variants {
		if f.given[v.Name] == f.reference {
			f.reference = v.Name
		}
	}
	for i, s := range o.Scenarios {
		o.Scenarios[i] = plain(s)
	}
	o.Keep = map[keep]scenarios.Keep{keepNone: scenarios.KeepNone, keepFailed: scenarios.KeepFailed, keepAll: scenarios.KeepAll}[f.keep]
	return f.compare(cmd, o)
}

// isResults reports whether a path is that of a results file.
func isResults(path string) bool { return filepath.Ext(path) == ".jsonl" }

// chooseVariants adds the presets and the reference to the variants that are
// named.
func (f *compareFlags) chooseVariants() error {
	add := func(name string) {
		if !slices.Contains(f.variants, name) {
			f.variants = append(f.variants, name)
		}
	}
	if f.allPresets {
		add(scenarios.DefaultVariant)
		for _, preset := range scenarios.Presets() {
			add(preset)
		}
	}
	if f.reference != "" && !slices.Contains(f.variants, f.reference) {
		f.variants = append([]string{f.reference}, f.variants...)
	}
	if len(f.variants) < 2 {
		return misuse("agentbench compare --variant hpd-agent --variant none, say, or --all-presets", "compare needs two variants")
	}
	return nil
}

// compare makes the trials and shows what they come to.
func (f *compareFlags) compare(cmd *cobra.Command, o scenarios.Options) error {
	f.repeatTrial, f.reported = func(r *scenarios.Result) string { return asCompared(r, f.repeat(r)) }, true
	out, err := f.open(cmd, f.header(&o))
	if err != nil {
		return err
	}
	err = scenarios.Run(cmd.Context(), o, func(r *scenarios.Result) error {
		if r.Verdict != scenarios.Inconclusive {
			r.Verdict = scenarios.Unjudged
		}
		return out.add(r)
	})
	err = out.end(cmd.Context(), err)
	interrupted := errors.Is(err, exitCode(exitInterrupted))
	if err != nil && !interrupted {
		return err
	}
	if err := f.showReport(cmd, out.report); err != nil {
		return err
	}
	if interrupted {
		out.tellInterrupt(cmd.ErrOrStderr())
	}
	return err
}

// plain gives a scenario that is meant for no variant: what it changes in its
// own, and expects there, applies to none.
func plain(s *scenarios.Scenario) *scenarios.Scenario {
	p := *s
	p.Variant = scenarios.Variant{}
	return &p
}

// asCompared adds to the command that makes a trial again that compare made it,
// which a result shows by not being judged.
func asCompared(r *scenarios.Result, command string) string {
	if r.Verdict == scenarios.Unjudged {
		return command + " --plain"
	}
	return command
}

// compareFiles shows what results files come to.
func (f *compareFlags) compareFiles(cmd *cobra.Command, paths []string) error {
	for _, path := range paths {
		if !isResults(path) {
			return misuse("make results of the scenarios first: agentbench compare … -o results.jsonl", "%s is no results file, but others are", path)
		}
	}
	if len(f.suites) > 0 || f.filter != "" {
		return misuse("select when you make the results", "--suite and --filter select scenarios, not results")
	}
	return f.reportFiles(cmd, paths, f.variants)
}

// shownDifferences is how many scenarios are shown that differ between variants
// unless all are asked for.
const shownDifferences = 10

// showReport writes a report's tables.
func (f *outputFlags) showReport(cmd *cobra.Command, r *reports.Report) error {
	stdout := cmd.OutOrStdout()
	switch {
	case f.quiet:
		return nil
	case f.format != table:
		_, err := fmt.Fprintln(cmd.ErrOrStderr(), r.Line())
		return err
	}
	t := reports.Terminal{Colour: f.colour(stdout), Max: shownDifferences, Hint: "--ci or --verbose shows all"}
	if f.ci || f.verbose {
		t.Max = 0
	}
	return t.Write(stdout, r)
}

// repeatResult is the command that shows a trial of a results file: what is
// known of it is its scenario's file, and what the headers say of its variant and
// of faults.
func repeatResult(fold *reports.Fold, r *scenarios.Result) string {
	variant := cmp.Or(fold.VariantFile(r.Variant), r.Variant)
	if fold.Kind() == reports.KindReplay {
		return shellWords([]string{"agentbench", "replay", r.File, "--variant", variant, "--verbose"})
	}
	args := []string{"agentbench", "explain", r.File, "--variant", variant}
	if r.File == "" || r.File == "scenarios/"+r.Scenario+".yaml" { // an embedded one, perhaps
		args[2] = r.Scenario
	}
	for _, fault := range fold.Faults() {
		args = append(args, "--fault", fault)
	}
	if r.Random {
		args = append(args, "--seed", fmt.Sprint(r.Seed))
	}
	return asCompared(r, shellWords(args))
}
