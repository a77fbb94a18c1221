package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/agentbench-go/agentbench/cassettes/secrets"
	"github.com/agentbench-go/agentbench/internal/outfile"
	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/scenarios"
)

// createFile begins a file, and names on stderr the temporary files of the same
// path that an earlier run left. The error is one of bad usage where the path
// cannot be meant.
func createFile(stderr io.Writer, path string) (*outfile.File, error) {
	return createMode(stderr, path, 0o666)
}

// createMode is createFile with the mode of a new file.
func createMode(stderr io.Writer, path string, mode fs.FileMode) (*outfile.File, error) {
	file, err := outfile.Create(path, mode)
	switch {
	case errors.Is(err, outfile.ErrNotRegular):
		return nil, misuse("-o - writes to the standard output", "cannot write %s: it is not a regular file", path)
	case err != nil:
		return nil, misuse("-o takes the path of a file in a folder that you may write to", "cannot write %s: %s", path, text.Reason(err))
	}
	for _, name := range file.Stale() {
		fmt.Fprintf(stderr, "note: %s was left by a run that was killed, or another run is writing it; if none is, remove it\n", text.Line(name))
	}
	return file, nil
}

// A resultFile is a results file on its way.
type resultFile struct {
	*outfile.File
	results *scenarios.ResultWriter
}

// createResults begins a results file.
func createResults(stderr io.Writer, path string, mode fs.FileMode, h scenarios.Header) (*resultFile, error) {
	file, err := createMode(stderr, path, mode)
	if err != nil {
		return nil, err
	}
	f := &resultFile{File: file}
	if f.results, err = scenarios.NewResultWriter(f, h); err != nil {
		f.Discard()
		return nil, fmt.Errorf("cannot write %s: %w", path, err)
	}
	return f, nil
}

// complete writes the last line, if there is one, and gives the file its name.
func (f *resultFile) complete(last string) error {
	if _, err := f.WriteString(last); err != nil {
		return fmt.Errorf("cannot write %s: %w", f.Path(), err)
	}
	return f.Commit()
}

// redactor returns the redactor for an output that belongs to no scenario.
func redactor() *secrets.Redactor {
	r, err := secrets.New(secrets.Options{})
	if err != nil {
		panic(err) // no option can be wrong
	}
	return r
}
