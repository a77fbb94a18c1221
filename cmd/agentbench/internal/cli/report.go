package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/agentbench-go/agentbench/internal/infile"
	"github.com/agentbench-go/agentbench/internal/outfile"
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
		Short: "Make a report from results files",
		Long: `Make a report from results files of run, compare or replay, and print it or write
it with -o to a file, whose ending chooses the format. Several files, such as the
shards of a run, are counted together; it is an error if a trial is in them twice.
-o FILE.jsonl merges shards into the results of one run.

report does not judge: its exit code is 0, or 2 for bad input.`,
		Example: `  agentbench report results.jsonl -o report.html -o report.md
  agentbench report shard-*.jsonl -o whole.jsonl -o junit.xml
  agentbench report results.jsonl --format json`,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	cmd.Flags().StringArrayVar(&f.variants, "variant", nil, "report on this `VARIANT` of the results only; can be repeated")
	addReference(cmd, &f.reference)
	addEvidence(cmd, &f.evidence)
	f.outputFlags.add(cmd)
	return cmd
}

func (f *reportFlags) run(cmd *cobra.Command, paths []string) error {
	if err := f.check(cmd); err != nil {
		return err
	}
	return f.reportFiles(cmd, paths, f.variants)
}

// reportFiles writes and prints the report of results files. No variants means
// all of them.
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
	f.writeActions(r, cmd.ErrOrStderr())
	return f.printReport(cmd, r)
}

// printReport prints a report in the format of --format.
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

// readReport makes the report of results files. No variants means all of them;
// keep keeps the results themselves.
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

// hasVariants returns an error if a variant in asked has no results. all are the
// variants of the files. Their names are untrusted.
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

// newFold returns a fold for results files.
func (f *outputFlags) newFold(keep bool) *reports.Fold {
	fold := &reports.Fold{Reference: f.reference, Keep: keep, Place: newPlaces().path}
	fold.Repeat = func(r *scenarios.Result) string { return repeatResult(fold, r) }
	return fold
}

// readResults reads results files into a fold.
func readResults(fold *reports.Fold, paths []string) error {
	if len(paths) == 0 {
		return misuse("agentbench run -o results.jsonl makes one", "there is no results file to read")
	}
	for _, path := range paths {
		switch err := readResultsFile(fold, path); {
		case errors.Is(err, reports.ErrTwice):
			return misuse("agentbench gate NEW --baseline OLD compares two versions; agentbench probe --name tells two agents apart", "%s", err)
		case err != nil:
			return badInput(err)
		}
	}
	return nil
}

func readResultsFile(fold *reports.Fold, path string) error {
	file, err := infile.Open(path)
	if err != nil {
		return misuse("agentbench run -o results.jsonl makes one", "cannot read %s: %s", path, text.Reason(err))
	}
	defer file.Close()
	return fold.Read(file, path)
}

// An exporter writes a report in one format.
type exporter struct {
	write   func(io.Writer, *reports.Report) error
	results bool // write needs Report.Results
}

// exporters are the formats of -o, by the ending of the file's name. Commands
// that make results write .jsonl themselves, line by line.
var exporters = map[string]exporter{
	".jsonl":            {write: reports.WriteResults, results: true},
	".json":             {write: reports.WriteJSON},
	".md":               {write: reports.WriteMarkdown},
	".csv":              {write: reports.WriteCSV, results: true},
	".xml":              {write: reports.WriteJUnit, results: true},
	".sarif":            {write: reports.WriteSARIF},
	".codequality.json": {write: reports.WriteCodeQuality},
	".html":             {write: reports.WriteHTML, results: true},
	".svg":              {write: reports.WriteSVG},
}

// extensions returns the endings that a file's name may have.
func extensions() []string { return slices.Sorted(maps.Keys(exporters)) }

// extension returns the longest of the endings that a file's name has; "" = none.
func extension(name string) (found string) {
	for ending := range exporters {
		if strings.HasSuffix(name, ending) && len(ending) > len(found) {
			found = ending
		}
	}
	return found
}

// An export is a file that a report is written to.
type export struct {
	*outfile.File
	exporter
}

// createExports creates the files of reports. If it fails it leaves none behind.
func createExports(stderr io.Writer, paths []string) (all []export, err error) {
	for _, path := range paths {
		file, err := createFile(stderr, path)
		if err != nil {
			discardExports(all)
			return nil, err
		}
		all = append(all, export{file, exporters[extension(path)]})
	}
	return all, nil
}

func discardExports(all []export) {
	for _, e := range all {
		e.Discard()
	}
}

// needResults reports whether the format of one of the files needs the results
// themselves.
func needResults(all []export) bool {
	return slices.ContainsFunc(all, func(e export) bool { return e.results })
}

// writeExports writes a report to all files. It prints every error to stderr and
// returns the last one.
func writeExports(all []export, r *reports.Report, stderr io.Writer) (failed error) {
	for _, e := range all {
		err := e.write(e, r)
		if err == nil {
			err = e.Commit()
		} else {
			err = fmt.Errorf("cannot write %s: %w", e.Path(), err)
			e.Discard()
		}
		if err != nil {
			fmt.Fprintf(stderr, "error: %v%s\n", err, earlier(e.Path()))
			failed = err
		}
	}
	return failed
}

// earlier returns a warning if a file that could not be written exists: it is of an
// earlier run.
func earlier(path string) string {
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	return "; the file with that name is from an earlier run"
}

// inActions reports whether GitHub Actions gets the report: as a step summary, or
// as annotations in the log.
func (f *outputFlags) inActions() bool {
	return os.Getenv("GITHUB_STEP_SUMMARY") != "" || f.annotates()
}

func (f *outputFlags) annotates() bool { return f.ci && os.Getenv("GITHUB_ACTIONS") == "true" }

// writeActions adds a report to the step summary of GitHub Actions and prints its
// failures as annotations. An error is printed and changes nothing else.
func (f *outputFlags) writeActions(r *reports.Report, stderr io.Writer) {
	if path := os.Getenv("GITHUB_STEP_SUMMARY"); path != "" {
		if err := addMarkdown(path, r); err != nil {
			fmt.Fprintf(stderr, "warning: cannot write the step summary %s: %v\n", path, text.Reason(err))
		}
	}
	if f.annotates() {
		if err := reports.WriteAnnotations(stderr, r); err != nil {
			fmt.Fprintf(stderr, "warning: cannot write annotations: %v\n", err)
		}
	}
}

// addMarkdown appends a report in Markdown to a file.
func addMarkdown(path string, r *reports.Report) error {
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	return errors.Join(reports.WriteMarkdown(file, r), file.Close())
}
