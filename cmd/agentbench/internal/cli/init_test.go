package cli

import (
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"

	"github.com/goccy/go-yaml"
)

// The workflow that init writes names what there is: an action of a release that does
// not exist fails every pull request.
func TestStarterAction(t *testing.T) {
	const commit = "410f1f7a1b2c3d4e5f60718293a4b5c6d7e8f901"
	vcs := []debug.BuildSetting{{Key: "vcs", Value: "git"}, {Key: "vcs.revision", Value: commit}}
	for _, c := range []struct {
		name, version string
		settings      []debug.BuildSetting
		uses, release any
	}{
		{"a release", "v" + Version, vcs, "agentbench-go/agentbench@v" + Version, "v" + Version},
		{"a checkout", "v0.1.1-0.20261129101010-410f1f7a1b2c", vcs, "agentbench-go/agentbench@" + commit, nil},
		{"a changed checkout", "(devel)", vcs, "agentbench-go/agentbench@" + commit, nil},
		{"go run", "(devel)", nil, "agentbench-go/agentbench@main", nil},
	} {
		var steps []map[string]any
		text := actionOf(&debug.BuildInfo{Main: debug.Module{Version: c.version}, Settings: c.settings}) + "\n          gate: x\n"
		if err := yaml.Unmarshal([]byte(text), &steps); err != nil || len(steps) != 1 {
			t.Fatalf("%s: %v\n%s", c.name, err, text)
		}
		with := steps[0]["with"].(map[string]any)
		if steps[0]["uses"] != c.uses || with["version"] != c.release || with["gate"] != "x" {
			t.Errorf("%s: %v", c.name, steps[0])
		}
	}
}

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
