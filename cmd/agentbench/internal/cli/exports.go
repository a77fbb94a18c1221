package cli

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/agentbench-go/agentbench/internal/outfile"
	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/reports"
)

// An exporter writes a report in one format.
type exporter struct {
	write   func(io.Writer, *reports.Report) error
	results bool // it needs Report.Results
}

// exporters are the formats of -o, by the extension of the file. Commands that
// make results write .jsonl themselves, line by line.
var exporters = map[string]exporter{
	".jsonl": {write: reports.WriteResults, results: true},
	".json":  {write: reports.WriteJSON},
	".md":    {write: reports.WriteMarkdown},
	".csv":   {write: reports.WriteCSV, results: true},
	".xml":   {write: reports.WriteJUnit, results: true},
	".sarif": {write: reports.WriteSARIF},
	".html":  {write: reports.WriteHTML, results: true},
	".svg":   {write: reports.WriteSVG},
}

// extensions lists what a file's name may end in.
func extensions() []string { return slices.Sorted(maps.Keys(exporters)) }

// An export is a report on its way to a file.
type export struct {
	*outfile.File
	exporter
}

// createExports begins the files of reports. When it fails it leaves none.
func createExports(stderr io.Writer, paths []string) (all []export, err error) {
	for _, path := range paths {
		file, err := createFile(stderr, path)
		if err != nil {
			discardExports(all)
			return nil, err
		}
		all = append(all, export{file, exporters[filepath.Ext(path)]})
	}
	return all, nil
}

func discardExports(all []export) {
	for _, e := range all {
		e.Discard()
	}
}

// needResults reports whether one of the files needs the results themselves.
func needResults(all []export) bool {
	return slices.ContainsFunc(all, func(e export) bool { return e.results })
}

// writeExports writes a report to all files. What goes wrong is told on stderr
// and returned, for a command that does nothing else.
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
			fmt.Fprintf(stderr, "error: %v\n", err)
			failed = err
		}
	}
	return failed
}

// inActions reports whether GitHub Actions is to be told of a report: its step
// has a summary, or reads annotations from a log.
func (f *outputFlags) inActions() bool {
	return os.Getenv("GITHUB_STEP_SUMMARY") != "" || f.annotates()
}

func (f *outputFlags) annotates() bool { return f.ci && os.Getenv("GITHUB_ACTIONS") == "true" }

// tellActions adds a report to the summary of the step, and writes what was
// found wrong as annotations. That it cannot is told, and changes nothing.
func (f *outputFlags) tellActions(r *reports.Report, stderr io.Writer) {
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

// addMarkdown adds a report in Markdown to the end of a file.
func addMarkdown(path string, r *reports.Report) error {
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	return errors.Join(reports.WriteMarkdown(file, r), file.Close())
}
