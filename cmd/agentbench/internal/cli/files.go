package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/agentbench-go/agentbench/scenarios"
)

// An outFile is a file on its way: it is written under a temporary name beside
// its own, and gets that when it is complete.
type outFile struct {
	path   string
	file   *os.File
	buffer *bufio.Writer
}

// createFile begins a file. The error is one of bad usage where the path cannot
// be meant.
func createFile(path string) (*outFile, error) {
	path, err := target(path)
	if err != nil {
		return nil, err
	}
	file, err := os.Create(path + ".partial")
	if err != nil {
		return nil, misuse("-o takes the path of a file in a folder that you may write to", "cannot write %s: %s", path, reason(err))
	}
	return &outFile{path: path, file: file, buffer: bufio.NewWriter(file)}, nil
}

// target follows a link, and refuses what is there and is no file.
func target(path string) (string, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return path, nil
	case err != nil:
		return "", misuse("", "cannot write %s: %s", path, reason(err))
	case !info.Mode().IsRegular():
		return "", misuse("-o - writes to the standard output", "cannot write %s: it is no regular file", path)
	}
	return filepath.EvalSymlinks(path)
}

// reason is what went wrong with a file, without its name.
func reason(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

// complete gives the file its name.
func (f *outFile) complete() error {
	err := errors.Join(f.buffer.Flush(), f.file.Close())
	if err == nil {
		err = os.Rename(f.file.Name(), f.path)
	}
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", f.path, err)
	}
	return nil
}

// discard removes what has been written.
func (f *outFile) discard() {
	f.file.Close()
	os.Remove(f.file.Name())
}

// A resultFile is a results file on its way.
type resultFile struct {
	*outFile
	results *scenarios.ResultWriter
}

// createResults begins a results file.
func createResults(path string, h scenarios.Header) (*resultFile, error) {
	file, err := createFile(path)
	if err != nil {
		return nil, err
	}
	f := &resultFile{outFile: file}
	if f.results, err = scenarios.NewResultWriter(f.buffer, h); err != nil {
		f.discard()
		return nil, fmt.Errorf("cannot write %s: %w", path, err)
	}
	return f, nil
}

// complete writes the last line, if there is one, and gives the file its name.
func (f *resultFile) complete(last string) error {
	if _, err := f.buffer.WriteString(last); err != nil {
		return fmt.Errorf("cannot write %s: %w", f.path, err)
	}
	return f.outFile.complete()
}
