package cli

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentbench-go/agentbench/reports"
)

// A report that cannot be written is told and leaves no file; the others are
// written.
func TestExportThatFails(t *testing.T) {
	dir := t.TempDir()
	all, err := createExports(io.Discard, []string{filepath.Join(dir, "a.md"), filepath.Join(dir, "b.json")})
	if err != nil {
		t.Fatal(err)
	}
	all[0].write = func(w io.Writer, _ *reports.Report) error {
		io.WriteString(w, "half of it")
		return errors.New("no room")
	}
	var stderr strings.Builder
	if err := writeExports(all, &reports.Report{}, &stderr); err == nil {
		t.Error("it is not told to a command that does nothing else")
	}
	if got, want := stderr.String(), "error: cannot write "+filepath.Join(dir, "a.md")+": no room\n"; got != want {
		t.Errorf("stderr has %q, want %q", got, want)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 || entries[0].Name() != "b.json" {
		t.Errorf("the folder holds %v (%v), want b.json alone", entries, err)
	}
}

// Every format that -o takes writes a report of nothing.
func TestEveryFormatWritesNothing(t *testing.T) {
	r, err := (&reports.Fold{}).Report()
	if err != nil {
		t.Fatal(err)
	}
	for ending, e := range exporters {
		var b strings.Builder
		if err := e.write(&b, r); err != nil || b.Len() == 0 {
			t.Errorf("%s: %v, %d bytes", ending, err, b.Len())
		}
	}
}
