package cli

import (
	"cmp"
	"os"
	"slices"
	"strings"

	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/reports"
	"github.com/agentbench-go/agentbench/scenarios"
	"github.com/spf13/cobra"
)

type reportFlags struct {
	outputFlags
	variants []string
}

func newReport() *cobra.Command {
	f := &reportFlags{}
	cmd := &cobra.Command{
		Use:   "report RESULTS…",
		Short: "Make a report of results files",
		Long: `Read results files, of run, compare or replay, and show what they come to, or write
it to a file with -o: its ending says the format. Several files are counted
together, such as the shards of a run; the same trial twice is an error. Written
to a file that ends in .jsonl, shards become the results of one run.

report does not judge: it ends with 0, or with 2 for bad input.`,
		Example: `  agentbench report results.jsonl -o report.html -o report.md
  agentbench report shard-*.jsonl -o whole.jsonl -o junit.xml
  agentbench report results.jsonl --format json`,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	cmd.Flags().StringArrayVar(&f.variants, "variant", nil, "report on this `VARIANT` of the results only; can be repeated")
	addReference(cmd, &f.reference)
	f.outputFlags.add(cmd)
	return cmd
}

func (f *reportFlags) run(cmd *cobra.Command, paths []string) error {
	if err := f.check(cmd); err != nil {
		return err
	}
	return f.reportFiles(cmd, paths, f.variants)
}

// reportFiles writes and shows the report of results files, of some variants or
// of all.
func (f *outputFlags) reportFiles(cmd *cobra.Command, paths, variants []string) error {
	exports, err := createExports(cmd.ErrOrStderr(), f.files)
	if err != nil {
		return err
	}
	r, err := f.readReport(paths, variants, f.format == jsonl || needResults(exports))
	if err != nil {
		discardExports(exports)
		return err
	}
	if err := writeExports(exports, r, cmd.ErrOrStderr()); err != nil {
		return exitCode(exitInconclusive)
	}
	f.tellActions(r, cmd.ErrOrStderr())
	return f.printReport(cmd, r)
}

// printReport writes a report to the standard output.
func (f *outputFlags) printReport(cmd *cobra.Command, r *reports.Report) error {
	stdout := cmd.OutOrStdout()
	switch {
	case f.quiet:
		return nil
	case f.format == jsonl:
		return reports.WriteResults(stdout, r)
	case f.format == jsonWhole:
		return reports.WriteJSON(stdout, r)
	}
	return f.showReport(cmd, r)
}

// readReport folds results files, of some variants or of all.
func (f *outputFlags) readReport(paths, variants []string, keep bool) (*reports.Report, error) {
	fold := f.newFold(keep)
	fold.Only = variants
	if err := readResults(fold, paths); err != nil {
		return nil, err
	}
	r, err := fold.Report()
	if err != nil {
		return nil, badInput(err)
	}
	return r, hasVariants(r, variants, fold.Variants())
}

// hasVariants reports a variant that was asked for and has no results. all are
// the variants of the files, whose names may be anything.
func hasVariants(r *reports.Report, asked, all []string) error {
	for i := range all {
		all[i] = text.Line(all[i])
	}
	for _, v := range asked {
		if !slices.Contains(r.Variants, v) {
			return misuse(cmp.Or(text.DidYouMean(v, all), "the variants are: "+strings.Join(all, ", ")), "there are no results of a variant %q", v)
		}
	}
	return nil
}

// newFold makes a fold of results files.
func (f *outputFlags) newFold(keep bool) *reports.Fold {
	fold := &reports.Fold{Reference: f.reference, Keep: keep}
	fold.Repeat = func(r *scenarios.Result) string { return repeatResult(fold, r) }
	return fold
}

// readResults folds results files.
func readResults(fold *reports.Fold, paths []string) error {
	if len(paths) == 0 {
		return misuse("agentbench run -o results.jsonl makes one", "there is no results file to read")
	}
	for _, path := range paths {
		if err := readResultsFile(fold, path); err != nil {
			return badInput(err)
		}
	}
	return nil
}

func readResultsFile(fold *reports.Fold, path string) error {
	file, err := os.Open(path)
	if err != nil {
		return misuse("agentbench run -o results.jsonl makes one", "cannot read %s: %s", path, text.Reason(err))
	}
	defer file.Close()
	return fold.Read(file, path)
}
