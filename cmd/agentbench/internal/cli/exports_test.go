package cli

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/agentbench-go/agentbench/reports"
)

// A report that cannot be written is an error and leaves no file; the others are
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
		t.Error("the error is not returned")
	}
	if got, want := stderr.String(), "error: cannot write "+filepath.Join(dir, "a.md")+": no room\n"; got != want {
		t.Errorf("stderr has %q, want %q", got, want)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 || entries[0].Name() != "b.json" {
		t.Errorf("the folder holds %v (%v), want b.json alone", entries, err)
	}
}

// Whatever command cannot write a file that -o asks for, its exit code is 3, and the
// file of that name stays and is called what it is. The file breaks because its
// temporary file goes away, at the note of a stale one.
func TestUnwrittenOutput(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows does not remove an open file")
	}
	results, recorded := filepath.Join(t.TempDir(), "r.jsonl"), filepath.Join(t.TempDir(), "chat.json")
	same := scenario(t)
	if code, _, stderr := session(t, "run", same, "-q", "-o", results); code != exitPassed {
		t.Fatalf("exit code %d\n%s", code, stderr)
	}
	chat := `{"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]}`
	if err := os.WriteFile(recorded, []byte(chat), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		ending string
		args   []string
	}{
		{".html", []string{"run", same}},
		{".jsonl", []string{"run", same}},
		{".xml", []string{"run", same, "--variant", "none"}}, // it fails
		{".html", []string{"compare", same, "--variant", "none", "--variant", "hpd-agent"}},
		{".json", []string{"gate", results}},
		{".md", []string{"report", results}},
		{".csv", []string{"replay", recorded}},
		{".jsonl", []string{"fuzz", "--runs", "10"}},
		{".json", []string{"soak", "-n", "1", "--rounds", "1", "--over", "process"}},
	} {
		dir := t.TempDir()
		file := filepath.Join(dir, "out"+tt.ending)
		for _, name := range []string{file, file + ".host-aaaa.partial"} {
			if err := os.WriteFile(name, []byte("yesterday's"), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		var stdout, stderr strings.Builder
		watch := writerFunc(func(p []byte) (int, error) {
			if strings.HasPrefix(string(p), "note: ") {
				left, _ := filepath.Glob(filepath.Join(dir, "*.partial"))
				for _, name := range left {
					os.Remove(name)
				}
			}
			return stderr.Write(p)
		})
		args := append(tt.args, "-q", "-o", file)
		if code := run(t.Context(), args, strings.NewReader(""), &stdout, watch); code != exitInconclusive {
			t.Errorf("%q: exit code %d, want 3\n%s", args, code, stderr.String())
		}
		if !strings.Contains(stderr.String(), "error: cannot write "+file) || !strings.Contains(stderr.String(), "; the file with that name is from an earlier run\n") {
			t.Errorf("%q: stderr has %q", args, stderr.String())
		}
		if text, err := os.ReadFile(file); err != nil || string(text) != "yesterday's" {
			t.Errorf("%q: the file has %q, %v", args, text, err)
		}
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
