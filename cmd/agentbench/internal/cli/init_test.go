package cli

import (
	"os"
	"path/filepath"
	"testing"
)

// The baseline that init writes is what its scenarios give now. UPDATE=1 rewrites it.
func TestStarterBaseline(t *testing.T) {
	path, err := filepath.Abs(filepath.Join("starter", "agentbench", "baseline.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	if code, _, stderr := session(t, "init"); code != exitPassed {
		t.Fatal(stderr)
	}
	if code, stdout, stderr := session(t, "run", "-o", "now.jsonl"); code != exitPassed {
		t.Fatal(stdout, stderr)
	}
	want, err := os.ReadFile("now.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(path, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != string(want) {
		t.Errorf("the baseline is another: run UPDATE=1 go test ./cmd/agentbench/internal/cli -run StarterBaseline (%v)", err)
	}
}
