package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// The steps of a workflow, or of the action.
type step struct {
	Name string            `yaml:"name"`
	Uses string            `yaml:"uses"`
	Run  string            `yaml:"run"`
	Env  map[string]string `yaml:"env"`
}

// actionSteps returns the steps of action.yml that run a script, by their name.
func actionSteps(t *testing.T) map[string]step {
	t.Helper()
	text, err := os.ReadFile("../../action.yml")
	if err != nil {
		t.Fatal(err)
	}
	var action struct {
		Runs struct{ Steps []step } `yaml:"runs"`
	}
	if err := yaml.Unmarshal(text, &action); err != nil {
		t.Fatal(err)
	}
	steps := map[string]step{}
	for _, s := range action.Runs.Steps {
		if s.Run != "" {
			steps[s.Name] = s
		}
	}
	return steps
}

// A runner runs the scripts of the action as GitHub does, with a program in place of
// agentbench that writes its arguments, one a line, and ends with the code of its command.
type runner struct {
	t     *testing.T
	temp  string
	steps map[string]step
	codes map[string]int
}

func newRunner(t *testing.T) *runner {
	if _, err := exec.LookPath("bash"); err != nil || runtime.GOOS == "windows" {
		t.Skip("there is no bash")
	}
	return &runner{t: t, temp: t.TempDir(), steps: actionSteps(t), codes: map[string]int{}}
}

// run runs a step with values for its variables, and returns its output and exit code.
func (r *runner) run(name string, env map[string]string) (string, int) {
	r.t.Helper()
	step, ok := r.steps[name]
	if !ok {
		r.t.Fatalf("the action has no step %s", name)
	}
	for variable := range env {
		if _, ok := step.Env[variable]; !ok {
			r.t.Fatalf("the step %s has no variable %s", name, variable)
		}
	}
	bin := filepath.Join(r.temp, "agentbench", "bin")
	program := "#!/bin/sh\nprintf '%s\\n' \"$@\" >\"$RUNNER_TEMP/$1.args\"\ncase $1 in\n"
	for command, code := range r.codes {
		program += fmt.Sprintf("%s) exit %d ;;\n", command, code)
	}
	lay(r.t, bin, map[string]string{"agentbench": program + "esac\n"})
	if err := os.Chmod(filepath.Join(bin, "agentbench"), 0o755); err != nil {
		r.t.Fatal(err)
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		r.t.Fatal(err)
	}
	cmd := exec.Command("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step.Run)
	cmd.Env = append(os.Environ(), "RUNNER_TEMP="+r.temp, "GITHUB_ACTION_PATH="+root, "GITHUB_OUTPUT="+filepath.Join(r.temp, "output"))
	for variable, value := range env {
		cmd.Env = append(cmd.Env, variable+"="+value)
	}
	out, _ := cmd.CombinedOutput()
	return string(out), cmd.ProcessState.ExitCode()
}

// args returns the arguments that a command got.
func (r *runner) args(command string) []string {
	r.t.Helper()
	text, err := os.ReadFile(filepath.Join(r.temp, command+".args"))
	if err != nil {
		r.t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}

// The action passes every argument on, or fails: a --baseline that a quote swallows would
// be a gate that compares with nothing.
func TestActionArguments(t *testing.T) {
	r := newRunner(t)
	folder := filepath.Join(r.temp, "agentbench", "results")
	for text, want := range map[string][]string{
		"":                               nil,
		" \n ":                           nil,
		"scenarios/ --seeds 5":           {"scenarios/", "--seeds", "5"},
		"--filter '*/a b*'\n--seeds=2\n": {"--filter", "*/a b*", "--seeds=2"},
		`a\ b "c d"e '' '$(touch x)' *`:  {"a b", "c de", "", "$(touch x)", "*"},
	} {
		if out, code := r.run("Run", map[string]string{"ARGUMENTS": text}); code != 0 {
			t.Errorf("%q: exit code %d\n%s", text, code, out)
			continue
		}
		whole := slices.Concat([]string{"run", "--ci"}, want, []string{"-o", folder + "/results.jsonl", "-o", folder + "/junit.xml"})
		if got := r.args("run"); !slices.Equal(got, whole) {
			t.Errorf("%q is passed on as %q, want %q", text, got, whole)
		}
	}
	for _, lost := range []string{`--baseline "main.jsonl`, "--baseline main.jsonl '", "it's"} {
		for _, step := range []string{"Run", "Gate"} {
			if out, code := r.run(step, map[string]string{"ARGUMENTS": lost}); code != 2 || !strings.Contains(out, "::error::the input "+strings.ToLower(step)+" is not a list of arguments") {
				t.Errorf("%s with %q: exit code %d, want 2\n%s", step, lost, code, out)
			}
		}
	}
}

// What the gate says is the verdict and the exit code of the action; a run that failed is
// judged, one that could not run is not.
func TestActionVerdicts(t *testing.T) {
	r := newRunner(t)
	for code, want := range map[int]int{0: 0, 1: 0, 2: 1, 3: 0, 130: 1} {
		r.codes["run"] = code
		if out, got := r.run("Run", map[string]string{"ARGUMENTS": ""}); got != want {
			t.Errorf("run ends with %d: exit code %d, want %d\n%s", code, got, want, out)
		}
	}
	for code, want := range []string{"pass", "fail", "", "inconclusive"} {
		r.codes["gate"] = code
		out, got := r.run("Gate", map[string]string{"ARGUMENTS": "--baseline b.jsonl", "FOLDER": "/f"})
		said, err := os.ReadFile(filepath.Join(r.temp, "output"))
		if lines := strings.Fields(string(said)); err != nil || got != code || lines[len(lines)-1] != "verdict="+want {
			t.Errorf("gate ends with %d: exit code %d, %q, want verdict=%s\n%s", code, got, said, want, out)
		}
	}
	want := strings.Fields("gate --ci /f/results.jsonl --baseline b.jsonl -o /f/gate.json -o /f/report.md -o /f/report.html -o /f/report.sarif")
	if got := r.args("gate"); !slices.Equal(got, want) {
		t.Errorf("gate gets %q, want %q", got, want)
	}
}

// Inputs are checked before anything is built or downloaded.
func TestActionInputs(t *testing.T) {
	r := newRunner(t)
	fine := map[string]string{"VERSION": "", "ARTIFACT": "agentbench", "RUN_ARGUMENTS": "--seeds 5", "GATE_ARGUMENTS": ""}
	for _, c := range []struct {
		input, value string
		code         int
	}{
		{"VERSION", "", 0}, {"VERSION", "v0.1.0", 0}, {"VERSION", "v1.2.3-rc.1", 0}, {"VERSION", "0.1.0", 2}, {"VERSION", "latest", 2}, {"VERSION", "v0.1.0/../../x", 2}, {"VERSION", "v0.1.0\nx", 2},
		{"ARTIFACT", "", 0}, {"ARTIFACT", "agentbench results-3.14 (linux)", 0}, {"ARTIFACT", "a/b", 2}, {"ARTIFACT", `a\b`, 2}, {"ARTIFACT", "a:b", 2}, {"ARTIFACT", `a"b`, 2}, {"ARTIFACT", "a*", 2}, {"ARTIFACT", "a\nb", 2},
		{"RUN_ARGUMENTS", "'x", 2}, {"GATE_ARGUMENTS", `"x`, 2}, {"GATE_ARGUMENTS", `"x"`, 0},
	} {
		env := map[string]string{}
		for name, value := range fine {
			env[name] = value
		}
		env[c.input] = c.value
		if out, code := r.run("Inputs", env); code != c.code || (code == 2) != strings.HasPrefix(out, "::error::the input ") {
			t.Errorf("%s=%q: exit code %d, want %d\n%s", c.input, c.value, code, c.code, out)
		}
	}
}

// Actions of others are pinned by the hash of a commit, which nobody can move, with the
// version beside it. A workflow may read, and a job may do more only if this list has it.
func TestWorkflows(t *testing.T) {
	may := map[string]string{
		"release.yml build":   "attestations: write, contents: read, id-token: write",
		"release.yml publish": "contents: write",
	}
	pinned := regexp.MustCompile(`^\s*(?:- )?uses: (?:\./|[\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+)$`)
	files, err := filepath.Glob("../../.github/workflows/*.yml")
	if err != nil || len(files) < 3 {
		t.Fatalf("%d workflows, %v", len(files), err)
	}
	for _, file := range append(files, "../../action.yml") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for n, line := range strings.Split(string(text), "\n") {
			if strings.Contains(line, "uses:") && !pinned.MatchString(line) {
				t.Errorf("%s:%d: %s is not pinned by a hash with its version", file, n+1, strings.TrimSpace(line))
			}
		}
		if checkouts, kept := strings.Count(string(text), "actions/checkout@"), strings.Count(string(text), "persist-credentials: false"); checkouts != kept {
			t.Errorf("%s: %d checkouts, of which %d leave no token behind", file, checkouts, kept)
		}
		if strings.HasSuffix(file, "action.yml") {
			continue
		}
		var workflow struct {
			Permissions map[string]string `yaml:"permissions"`
			Jobs        map[string]struct {
				Permissions map[string]string `yaml:"permissions"`
			} `yaml:"jobs"`
		}
		if err := yaml.Unmarshal(text, &workflow); err != nil {
			t.Fatal(err)
		}
		if len(workflow.Permissions) != 1 || workflow.Permissions["contents"] != "read" {
			t.Errorf("%s: the permissions are %v, want contents: read", file, workflow.Permissions)
		}
		for name, job := range workflow.Jobs {
			var has []string
			for what, how := range job.Permissions {
				has = append(has, what+": "+how)
			}
			slices.Sort(has)
			if key := filepath.Base(file) + " " + name; strings.Join(has, ", ") != may[key] {
				t.Errorf("%s: the permissions are %q, want %q", key, has, may[key])
			}
		}
	}
}
