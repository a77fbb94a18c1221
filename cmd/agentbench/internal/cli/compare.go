package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/reports"
	"github.com/agentbench-go/agentbench/scenarios"
	"github.com/spf13/cobra"
)

type compareFlags struct {
	runFlags
	allPresets bool
	recorded   bool
}

func newCompare() *cobra.Command {
	f := &compareFlags{runFlags: runFlags{seeds: 1, seed: 1, keep: keepNone}}
	cmd := &cobra.Command{
		Use:   "compare [PATH…]",
		Short: "Compare variants: what each one catches, breaks and costs",
		Long: `Run every scenario under every variant, and compare the variants with one of
them, the reference: runaways caught, healthy runs stopped, what runs cost until
they stopped, and the share still running after 2, 4, 8 and 16 calls. A PATH is a
scenario file or a folder of them; without a PATH the embedded suites run. If the
PATHs end in .jsonl they are results files of run, compare or replay, and nothing
runs. With --recorded, recorded runs are replayed instead: those in the PATHs, or
the embedded ones.

Each variant runs as it is, without the scenario's own config. The unit is the
scenario: its trials are averaged, so more seeds make its share more exact but
add no evidence. A scenario that draws no random numbers runs once. The p values
are from the exact sign test on scenarios, corrected for the number of variants.
compare reports and does not judge: its exit code is 0, or 2 for bad input.`,
		Example: `  agentbench compare --variant hpd-agent --variant none
  agentbench compare --all-presets --seeds 50 -o compare.html
  agentbench compare my-scenarios/ --variant now.yaml --variant next.yaml --reference now.yaml
  agentbench compare --evidence --variant mine.yaml --variant mine-at-5.yaml --variant mine-at-8.yaml
  agentbench compare --recorded --variant recommended --variant mine.yaml
  agentbench compare replay.jsonl`,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	f.addTrials(cmd)
	addVariants(cmd, &f.variants, "compare this `VARIANT`, a preset or a YAML file; can be repeated")
	cmd.Flags().BoolVar(&f.allPresets, "all-presets", false, "compare every preset and the variants of --variant")
	cmd.Flags().BoolVar(&f.recorded, "recorded", false, "compare on recorded runs: those in PATH, or the embedded ones")
	addReference(cmd, &f.reference)
	addEvidence(cmd, &f.evidence)
	f.outputFlags.add(cmd)
	return cmd
}

func addReference(cmd *cobra.Command, reference *string) {
	cmd.Flags().StringVar(reference, "reference", "", "compare the others with this `VARIANT` (default: the first)")
}

func addEvidence(cmd *cobra.Command, evidence *bool) {
	cmd.Flags().BoolVar(evidence, "evidence", false, "print instead the evidence for the reference: caught, harmed and calls, with intervals and p")
}

func (f *compareFlags) run(cmd *cobra.Command, paths []string) error {
	defer f.collectSeldom()()
	if err := f.check(cmd); err != nil {
		return err
	}
	if !f.recorded && slices.ContainsFunc(paths, isResults) {
		return f.compareFiles(cmd, paths)
	}
	if err := f.chooseVariants(); err != nil {
		return err
	}
	if f.recorded {
		return f.compareRecorded(cmd, paths)
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

// isResults reports whether a path names a results file.
func isResults(path string) bool { return filepath.Ext(path) == ".jsonl" }

// chooseVariants adds the presets and the reference to the variants of --variant.
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
		return misuse("such as --variant hpd-agent --variant none, or --all-presets", "compare needs two variants")
	}
	return nil
}

// compare runs the trials and shows the comparison.
func (f *compareFlags) compare(cmd *cobra.Command, o scenarios.Options) error {
	f.repeatTrial, f.reported = func(r *scenarios.Result) string { return asCompared(r, f.repeat(r)) }, true
	header := f.header(&o)
	header.Kind, header.Judged = reports.KindCompare, scenarios.JudgedPlain
	out, err := f.open(cmd, header)
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
		out.printInterrupt(cmd.ErrOrStderr())
	}
	return out.code(err)
}

// plain returns a copy of s that is not meant for any variant, so its own config
// and expectations never apply.
func plain(s *scenarios.Scenario) *scenarios.Scenario {
	p := *s
	p.Variant = scenarios.Variant{}
	return &p
}

// asCompared adds --plain to the command that repeats a trial, if the trial is
// from compare. Such a result is unjudged.
func asCompared(r *scenarios.Result, command string) string {
	if r.Verdict == scenarios.Unjudged {
		return command + " --plain"
	}
	return command
}

// compareFiles shows the comparison of results files.
func (f *compareFlags) compareFiles(cmd *cobra.Command, paths []string) error {
	for _, path := range paths {
		if !isResults(path) {
			return misuse("make results of the scenarios first: agentbench compare … -o results.jsonl", "%s is not a results file, but others are", path)
		}
	}
	if len(f.suites) > 0 || f.filter != "" || f.heldBack != withHeldBack {
		return misuse("select when you make the results", "--suite, --filter and --held-back select scenarios, not results")
	}
	return f.reportFiles(cmd, paths, f.variants)
}

// shownDifferences is how many scenarios that differ between variants are shown
// without --ci or --verbose.
const shownDifferences = 10

// showReport prints a report's tables, or one line to standard error if the
// results are printed.
func (f *outputFlags) showReport(cmd *cobra.Command, r *reports.Report) error {
	stdout := cmd.OutOrStdout()
	switch {
	case f.quiet:
		return nil
	case f.format != table:
		_, err := fmt.Fprintln(cmd.ErrOrStderr(), r.Line())
		return err
	case f.evidence:
		return showEvidence(stdout, r)
	}
	t := reports.Terminal{Colour: f.colour(stdout), Max: shownDifferences, Hint: "--ci or --verbose shows all"}
	if f.ci || f.verbose {
		t.Max = 0
	}
	return t.Write(stdout, r)
}

// showEvidence prints the evidence for the reference, after the warnings.
func showEvidence(w io.Writer, r *reports.Report) error {
	if r.Evidence == nil {
		return misuse("name an alternative: --variant", "evidence needs two variants")
	}
	for _, line := range r.Warnings {
		if _, err := fmt.Fprintf(w, "warning: %s\n\n", text.Line(line)); err != nil {
			return err
		}
	}
	return r.Evidence.Write(w)
}

// repeatResult returns the command that repeats a trial of a results file. It
// knows only the file of the scenario, and the variant and faults of the headers.
func repeatResult(fold *reports.Fold, r *scenarios.Result) string {
	if r.Repeat != "" || fold.Judged() == scenarios.JudgedForeign { // which the loop cannot repeat
		return r.Repeat
	}
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
