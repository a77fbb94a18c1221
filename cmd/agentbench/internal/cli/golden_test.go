package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentbench-go/agentbench/goldens"
)

// writeFiles writes files below a folder, and makes it the working directory.
func writeFiles(t *testing.T, files map[string]string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	return dir
}

const goModule = "module github.com/agentbench-go/agentbench\n\ngo 1.26\n"

// In a checkout of agentbench the goldens of the embedded scenarios are the files
// there, from whatever folder.
func TestGoldensInACheckout(t *testing.T) {
	const id = "stuck-loops/same-call-forever"
	stored, err := goldens.Embedded().Read(id + ".hpd-agent.golden")
	if err != nil {
		t.Fatal(err)
	}
	right := string(stored.Format())
	wrong := strings.Replace(right, "Buy milk", "Buy soap", 1)
	dir := writeFiles(t, map[string]string{"go.mod": goModule, "goldens/" + id + ".hpd-agent.golden": wrong, "docs/x": ""})
	for _, here := range []string{dir, filepath.Join(dir, "docs")} {
		t.Chdir(here)
		shown := "goldens/"
		if here != dir {
			shown = "../goldens/"
		}
		code, stdout, _ := session(t, "run", "--filter", id, "--failures-only")
		if code != exitFailed || !strings.Contains(stdout, "\n  "+shown+id+".hpd-agent.golden:11: the trace differs ") {
			t.Errorf("in %s: code %d\n%s", here, code, stdout)
		}
		// The others are missing, since there are goldens.
		code, stdout, _ = session(t, "run", "--filter", "stuck-loops/", "--ci", "--failures-only")
		if code != exitFailed || !strings.Contains(stdout, "there is no golden "+shown+"stuck-loops/five-iteration-walk.hpd-agent.golden") {
			t.Errorf("in %s: code %d\n%s", here, code, stdout)
		}
	}
	if code, stdout, stderr := session(t, "golden", "update", "--filter", id, "-q"); code != exitPassed || stdout+stderr != "" {
		t.Errorf("update: code %d\n%s%s", code, stdout, stderr)
	}
	if now, err := os.ReadFile(filepath.Join(dir, "goldens", id+".hpd-agent.golden")); err != nil || string(now) != right {
		t.Errorf("written is\n%s\nerror %v, want\n%s", now, err, right)
	}
}

// A random trial is compared for the seed of its golden, any other for all.
func TestGoldenSeeds(t *testing.T) {
	file := scenario(t) // draws at random
	if code, stdout, _ := session(t, "golden", "update", file); code != exitPassed || !strings.Contains(stdout, "1 new") {
		t.Fatalf("code %d\n%s", code, stdout)
	}
	words := func(args ...string) string {
		t.Helper()
		_, stdout, _ := session(t, append([]string{"run", file, "--format", "jsonl"}, args...)...)
		var found []string
		for line := range strings.Lines(stdout) {
			if _, rest, ok := strings.Cut(line, `"golden":"`); ok {
				word, _, _ := strings.Cut(rest, `"`)
				found = append(found, word)
			}
		}
		return strings.Join(found, " ")
	}
	for _, c := range []struct{ args, want string }{
		{"", "match"},
		{"--seeds 3", "match off off"},
		{"--seed 5", "off"},
		{"--seed 0 --seeds 2", "off match"},
		{"--variant none", "off"},
		{"--golden off", "off"},
	} {
		if got := words(strings.Fields(c.args)...); got != c.want {
			t.Errorf("%s: got %s, want %s", c.args, got, c.want)
		}
	}
	// The golden keeps its seed when the first seed is another.
	if code, _, stderr := session(t, "run", file, "--seed", "5", "--golden", "update"); code != exitPassed || !strings.Contains(stderr, "0 goldens written") {
		t.Errorf("code %d\n%s", code, stderr)
	}
	if err := os.RemoveAll(filepath.Join(filepath.Dir(filepath.Dir(file)), "goldens")); err != nil {
		t.Fatal(err)
	}
	if got := words("--seeds", "3", "--golden", "check"); got != "missing off off" {
		t.Errorf("without a golden: got %s", got)
	}
	if got := words("--seed", "5", "--seeds", "2", "--golden", "update"); got != "match off" {
		t.Errorf("a new golden: got %s", got)
	}
	if got := words("--seed", "4", "--seeds", "3"); got != "off match off" {
		t.Errorf("with the golden of seed 5: got %s", got)
	}
	if code, stdout, _ := session(t, "golden", "check", file); code != exitPassed {
		t.Errorf("golden check takes the golden's seed: code %d\n%s", code, stdout)
	}
}

// In an agentbench.yaml golden is both: a flag of run, and a command with flags.
func TestGoldenInTheProjectFile(t *testing.T) {
	for text, want := range map[string]string{
		"golden: off\n":   `"golden":"off"`,
		"golden: check\n": `"golden":"missing"`,
		"golden: {goldens: there}\nscenarios: a\n": `"golden":"off"`,
		"run: {golden: check}\n":                   `"golden":"missing"`,
	} {
		file, err := os.ReadFile(scenario(t))
		if err != nil {
			t.Fatal(err)
		}
		writeFiles(t, map[string]string{projectName: text, "a/loops/same.yaml": string(file)})
		if code, stdout, stderr := session(t, "run", "a", "--format", "jsonl"); code != exitPassed || !strings.Contains(stdout, want) {
			t.Errorf("%s: code %d\n%s%s", text, code, stdout, stderr)
		}
		if !strings.Contains(text, "there") {
			continue
		}
		if code, _, stderr := session(t, "golden", "update"); code != exitPassed {
			t.Errorf("%s: code %d\n%s", text, code, stderr)
		}
		if _, err := os.Stat("there/loops/same.hpd-agent.golden"); err != nil {
			t.Error(err)
		}
	}
}
