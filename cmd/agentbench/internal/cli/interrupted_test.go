package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What reads all recordings before it does anything ends at Ctrl-C with 130, the exit
// code of an interrupt, and writes nothing: half of the shapes would look whole.
func TestInterruptedReading(t *testing.T) {
	folder := t.TempDir()
	runs := filepath.Join(folder, "runs.jsonl")
	const chat = `{"name":"a","messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"b"}]}` + "\n"
	if err := os.WriteFile(runs, []byte(chat), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, args := range [][]string{
		{"replay", runs, "--run", "a"},
		{"replay", runs, "--to-scenario", "a", "-o", filepath.Join(folder, "a.yaml")},
		{"replay", runs, "--to-scenario", "a"},
		{"replay", runs, "--shapes", "-o", filepath.Join(folder, "a.shapes")},
		{"replay", runs, "--shapes"},
		{"tune", runs, "-o", filepath.Join(folder, "b.yaml")},
	} {
		var stdout, stderr bytes.Buffer
		if code := run(ctx, args, strings.NewReader(""), &stdout, &stderr); code != 130 || stdout.Len()+stderr.Len() > 0 {
			t.Errorf("%q: exit %d, stdout %q, stderr %q", args, code, stdout.String(), stderr.String())
		}
	}
	if files, _ := os.ReadDir(folder); len(files) != 1 {
		t.Errorf("the folder holds %v, want only what was there", files)
	}
}

// A run is shown or kept although another file is broken, and the exit code says so, as
// that of a replay of all does.
func TestOneRunBesideABrokenFile(t *testing.T) {
	folder := t.TempDir()
	const chat = `{"name":"a","messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"b"}]}` + "\n"
	for name, content := range map[string]string{"a.json": chat, "b.json": chat[:50]} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	kept := filepath.Join(t.TempDir(), "a.yaml")
	for _, args := range [][]string{{"--run", "a"}, {"--to-scenario", "a"}, {"--to-scenario", "a", "-o", kept}} {
		code, stdout, stderr := session(t, append([]string{"replay", folder}, args...)...)
		if written, _ := os.ReadFile(kept); code != exitUsage || stdout == "" && len(written) == 0 || !strings.Contains(stderr, "b.json: no recorded run that can be read") {
			t.Errorf("%q: exit %d, stdout %q, stderr %q", args, code, stdout, stderr)
		}
	}
}
