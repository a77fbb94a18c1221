package trajectories

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// labelled writes files, reads and labels the runs in paths, and returns the label of
// each run and the problems, with the kind of those that are not errors.
func labelled(t *testing.T, files map[string]string, paths ...string) (labels map[string]Label, problems []string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, content := range files {
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	found, all := Find(paths)
	l := NewLabels(paths)
	labels = map[string]Label{}
	for _, f := range found {
		runs, more := Read(f, "")
		all = append(all, more...)
		l.Label(runs)
		for _, r := range runs {
			labels[r.ID()] = r.Label
		}
	}
	for _, p := range append(all, l.Problems()...) {
		words := p.Error()
		if p.Kind != Broken {
			words = fmt.Sprint("note: ", words)
		}
		problems = append(problems, words)
	}
	return labels, problems
}

// chats returns lines of conversations with these names.
func chats(names ...string) string {
	var b strings.Builder
	for _, name := range names {
		fmt.Fprintf(&b, `{"name": %q, "messages": %s}`+"\n", name, goodChat)
	}
	return b.String()
}

func TestLabelsOfFiles(t *testing.T) {
	two := chats("r1", "r2")
	for _, c := range []struct {
		name     string
		files    map[string]string
		path     string // "" = runs
		want     map[string]Label
		problems []string
	}{
		{name: "booleans", files: map[string]string{"runs/a.jsonl": two, "runs/labels.json": `{"r1": true, "r2": false}`},
			want: map[string]Label{"runs/a.jsonl/r1": Success, "runs/a.jsonl/r2": Failure}},
		{name: "numbers and one word", files: map[string]string{"runs/a.jsonl": chats("r1", "r2", "r3"), "runs/labels.json": `{"r1": 1, "r2": 0, "r3": "resolved"}`},
			want: map[string]Label{"runs/a.jsonl/r1": Success, "runs/a.jsonl/r2": Failure, "runs/a.jsonl/r3": Success}},
		{name: "null is no label", files: map[string]string{"runs/a.jsonl": two, "runs/labels.json": `{"r1": null, "r2": "PASS "}`},
			want: map[string]Label{"runs/a.jsonl/r1": "", "runs/a.jsonl/r2": Success}},
		{name: "a word that is not known does not void the others", files: map[string]string{"runs/a.jsonl": two, "runs/labels.json": `{"r1": "maybe", "r2": "Failed"}`},
			want:     map[string]Label{"runs/a.jsonl/r1": "", "runs/a.jsonl/r2": Failure},
			problems: []string{`runs/labels.json: 1 label is not known, such as "maybe" of "r1": a label is ` + labelWords}},
		{name: "nor do objects", files: map[string]string{"runs/a.jsonl": two, "runs/labels.json": `{"r1": {"label": 1}, "r2": 0.5, "r3": []}`},
			want: map[string]Label{"runs/a.jsonl/r1": "", "runs/a.jsonl/r2": ""},
			problems: []string{`runs/labels.json: 3 labels are not known, such as "{\"label\": 1}" of "r1": a label is ` + labelWords,
				`note: runs/labels.json: 3 labels, 2 used: 1 label matches no run, such as "r3"; 2 runs have no label, such as "r1"`}},
		{name: "broken JSON", files: map[string]string{"runs/a.jsonl": two, "runs/labels.json": `{"r1": true, "r2": tru}`},
			want:     map[string]Label{"runs/a.jsonl/r1": Success, "runs/a.jsonl/r2": ""},
			problems: []string{`runs/labels.json: no labels: broken JSON after 1 label: invalid character '}' in literal true (expecting 'e')`}},
		{name: "an array", files: map[string]string{"runs/a.jsonl": two, "runs/labels.json": `[true, false]`},
			want:     map[string]Label{"runs/a.jsonl/r1": "", "runs/a.jsonl/r2": ""},
			problems: []string{`runs/labels.json: no labels: want an object from names to labels, such as {"run-1": "success", "run-2": "failure"}`}},
		{name: "two objects", files: map[string]string{"runs/a.jsonl": two, "runs/labels.json": "{\"r1\": true}\n{\"r2\": true}"},
			want:     map[string]Label{"runs/a.jsonl/r1": Success, "runs/a.jsonl/r2": ""},
			problems: []string{`runs/labels.json: no labels: broken JSON: the file goes on after the object`}},
		{name: "names that fit no run", files: map[string]string{"runs/a.jsonl": two, "runs/labels.json": `{"task-1": true, "task-2": true, "task-3": false}`},
			want:     map[string]Label{"runs/a.jsonl/r1": "", "runs/a.jsonl/r2": ""},
			problems: []string{`runs/labels.json: 3 labels, 0 used: they are for names such as "task-1", and the runs have names such as "r1"`}},
		{name: "some names that fit no run", files: map[string]string{"runs/a.jsonl": two, "runs/labels.json": `{"r1": true, "task-2": true}`},
			want:     map[string]Label{"runs/a.jsonl/r1": Success, "runs/a.jsonl/r2": ""},
			problems: []string{`note: runs/labels.json: 2 labels, 1 used: 1 label matches no run, such as "task-2"; 1 run has no label, such as "r2"`}},
		{name: "labels of files that are not replayed", path: "runs/a.jsonl",
			files: map[string]string{"runs/a.jsonl": two, "runs/b.jsonl": chats("r3"), "runs/labels.json": `{"r1": true, "r2": true, "r3": true}`},
			want:  map[string]Label{"runs/a.jsonl/r1": Success, "runs/a.jsonl/r2": Success}},
		{name: "several folders above", files: map[string]string{"runs/x/y/z/a.jsonl": two, "runs/labels.json": `{"r1": "ok", "r2": "no"}`},
			want: map[string]Label{"runs/x/y/z/a.jsonl/r1": Success, "runs/x/y/z/a.jsonl/r2": Failure}},
		{name: "several folders above a glob", path: "runs/*/y/z/*.jsonl", files: map[string]string{"runs/x/y/z/a.jsonl": two, "runs/labels.json": `{"r1": "ok", "r2": "no"}`},
			want: map[string]Label{"runs/x/y/z/a.jsonl/r1": Success, "runs/x/y/z/a.jsonl/r2": Failure}},
		{name: "above a PATH that is a file: one folder", path: "runs/x/y/a.jsonl", files: map[string]string{"runs/x/y/a.jsonl": two, "runs/x/labels.json": `{"r1": 1}`, "runs/labels.json": `{"r2": 1}`},
			want: map[string]Label{"runs/x/y/a.jsonl/r1": Success, "runs/x/y/a.jsonl/r2": ""}},
		{name: "the nearest that names the run", files: map[string]string{"runs/x/a.jsonl": two, "runs/x/labels.json": `{"r1": 1}`, "runs/labels.json": `{"r1": 0, "r2": 0, "r3": 0}`},
			want:     map[string]Label{"runs/x/a.jsonl/r1": Success, "runs/x/a.jsonl/r2": Failure},
			problems: []string{`note: runs/labels.json: 3 labels, 1 used: 2 labels match no run, such as "r1"`}},
		{name: "a run alone by its file", files: map[string]string{"runs/a.traj.json": goodChat, "runs/b.json": goodChat, "runs/labels.json": `{"a": "pass", "b.json": "fail"}`},
			want: map[string]Label{"runs/a.traj.json/line=1": Success, "runs/b.json/line=1": Failure}},
		{name: "CSV", files: map[string]string{"runs/a.jsonl": chats("r1", "r2", "r3"), "runs/labels.csv": "\ufeffsplit, Name ,LABEL\nx,r1,True\nx,r2,unresolved\nx,r3,\n"},
			want: map[string]Label{"runs/a.jsonl/r1": Success, "runs/a.jsonl/r2": Failure, "runs/a.jsonl/r3": ""}},
		{name: "CSV with a short row and an odd word", files: map[string]string{"runs/a.jsonl": two, "runs/labels.csv": "name,label\nr1\nr2,x\n"},
			want: map[string]Label{"runs/a.jsonl/r1": "", "runs/a.jsonl/r2": ""},
			problems: []string{`runs/labels.csv:2: the row has 1 column, and the head 2`,
				`runs/labels.csv: 1 label is not known, such as "x" of "r2": a label is ` + labelWords}},
		{name: "CSV without the columns", files: map[string]string{"runs/a.jsonl": two, "runs/labels.csv": "run_name,outcome\nr1,pass\n"},
			want:     map[string]Label{"runs/a.jsonl/r1": "", "runs/a.jsonl/r2": ""},
			problems: []string{`runs/labels.csv: no labels: want a first line with the columns label, success, outcome, passed, resolved or correct and episode_id, name, id, run, run_id, trace_id, session_id, instance_id, file or task_id`}},
		{name: "both", files: map[string]string{"runs/a.jsonl": two, "runs/labels.json": `{"r1": 1, "r2": 1}`, "runs/labels.csv": "name,label\nr1,0\n"},
			want:     map[string]Label{"runs/a.jsonl/r1": Success, "runs/a.jsonl/r2": Success},
			problems: []string{`note: runs/labels.json: labels.csv beside it is left out`}},
		{name: "two labels", files: map[string]string{"runs/a.jsonl": two, "runs/labels.json": `{"r1": 1, "r2": 1, "r1": 0, "r2": true}`},
			want:     map[string]Label{"runs/a.jsonl/r1": Failure, "runs/a.jsonl/r2": Success},
			problems: []string{`runs/labels.json: 1 name has two labels, of which the last counts, such as "r1"`}},
		{name: "another than the run's own", files: map[string]string{"runs/a.jsonl": `{"name": "r1", "label": true, "messages": ` + goodChat + `}`, "runs/labels.json": `{"r1": "fail"}`},
			want:     map[string]Label{"runs/a.jsonl/r1": Success},
			problems: []string{`note: runs/labels.json: 1 label contradicts what the run itself says, which counts, such as "r1"`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.path == "" {
				c.path = "runs"
			}
			got, problems := labelled(t, c.files, c.path)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("labels (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.problems, problems); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

// Labels that people write, in any case and with spaces, mean what they say wherever a
// label may be.
func TestLabelWords(t *testing.T) {
	for _, c := range []struct {
		raw   string
		want  Label
		known bool
	}{
		{`"Success"`, Success, true}, {`" resolved "`, Success, true}, {`"PASS"`, Success, true}, {`"True"`, Success, true}, {`true`, Success, true}, {`1`, Success, true},
		{`1.0`, Success, true}, {`"1"`, Success, true}, {`"healthy"`, Success, true}, {`"Fail"`, Failure, true}, {`"unresolved"`, Failure, true}, {`false`, Failure, true},
		{`0`, Failure, true}, {`"runaway"`, Failure, true}, {`null`, Unlabelled, true}, {``, Unlabelled, true}, {`""`, Unlabelled, true}, {`" "`, Unlabelled, true},
		{`"great"`, Unlabelled, false}, {`2`, Unlabelled, false}, {`0.5`, Unlabelled, false}, {`[]`, Unlabelled, false}, {`{}`, Unlabelled, false}, {`"not success"`, Unlabelled, false},
	} {
		if got, known := labelOf([]byte(c.raw)); got != c.want || known != c.known {
			t.Errorf("%s means %q (%t), want %q (%t)", c.raw, got, known, c.want, c.known)
		}
	}
	for _, word := range successWords {
		if slices.Contains(failureWords, word) {
			t.Errorf("%q means both", word)
		}
	}
}

// Each format takes labels as people write them, and a run whose label is not known is
// replayed without one, and told.
func TestLabelsOfSources(t *testing.T) {
	for _, form := range []string{
		`{"messages": ` + goodChat + `, "label": %s}`,
		`{"messages": ` + goodChat + `, "success": %s}`,
		`{"messages": ` + goodChat + `, "metadata": {"success": %s}}`,
		`{"messages": ` + goodChat + `, "suite_name": "s", "pipeline_name": "p", "utility": %s}`,
		`{"messages": ` + goodChat + `, "suite_name": "s", "pipeline_name": "p", "evaluation": {"utility": %s}}`,
		`{"messages": ` + goodChat + `, "pass": %s}`,
		`{"traj": ` + goodChat + `, "reward": %s}`,
		`{"info": {}, "simulations": [{"messages": ` + goodChat + `, "reward_info": {"reward": %s}}]}`,
	} {
		for raw, want := range map[string]Label{`true`: Success, `"pass"`: Success, `1`: Success, `false`: Failure, `0`: Failure, `"FAILED"`: Failure, `"great"`: Unlabelled} {
			runs, problems := Read(write(t, "x.json", fmt.Sprintf(form, raw)), "")
			if len(runs) != 1 || runs[0].Label != want {
				t.Errorf("%s: %d runs, want one labelled %q", fmt.Sprintf(form, raw), len(runs), want)
			}
			if told := len(problems) == 1 && problems[0].Kind == Broken && strings.Contains(problems[0].Text, `replayed without a label: `) && strings.HasSuffix(problems[0].Text, `not "great"`); told != (want == Unlabelled) || len(problems) > 1 {
				t.Errorf("%s: problems %v", fmt.Sprintf(form, raw), problems)
			}
		}
	}
}

// A file of labels is read once, however many files of runs are near it.
func TestLabelsAreReadOnce(t *testing.T) {
	files := map[string]string{"runs/labels.json": `{"a": 1}`}
	for i := range 3 {
		files[fmt.Sprintf("runs/%d.json", i)] = goodChat
	}
	_, problems := labelled(t, files, "runs")
	if len(problems) != 1 {
		t.Fatalf("%q", problems)
	}
	l := NewLabels([]string{"runs"})
	first := l.in("runs")
	if err := os.Remove("runs/labels.json"); err != nil {
		t.Fatal(err)
	}
	if l.in("runs") != first {
		t.Error("the file was read again")
	}
}

// A run without a label takes it from the nearest folder whose name is one, within the
// paths; what the run itself says counts more.
func TestLabelsOfFolders(t *testing.T) {
	root := t.TempDir()
	write := func(path, content string) string {
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const chat = `{"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"ho"}]`
	want := map[string]Label{
		write("runs/failed/a.json", chat+"}"):                Failure,
		write("runs/failed/Resolved/b.json", chat+"}"):       Success,
		write("runs/failed/c.json", chat+`,"success":true}`): Success,
		write("runs/others/d.json", chat+"}"):                Unlabelled,
	}
	labels := NewLabels([]string{filepath.Join(root, "runs")})
	for path, label := range want {
		runs, _ := Read(path, "")
		labels.Label(runs)
		if len(runs) != 1 || runs[0].Label != label {
			t.Errorf("%s: %q, want %q", path, runs[0].Label, label)
		}
	}
	var got []string
	for _, p := range labels.Problems() {
		if p.Kind != Noted {
			t.Errorf("kind %d, want noted", p.Kind)
		}
		got = append(got, p.Text)
	}
	told := []string{"its name is a label: 1 label of success from names of folders", "its name is a label: 1 label of failure from names of folders"}
	if !slices.Equal(got, told) {
		t.Errorf("told %q, want %q", got, told)
	}
	// A folder above the paths says nothing.
	labels = NewLabels([]string{filepath.Join(root, "runs", "failed", "a.json")})
	runs, _ := Read(filepath.Join(root, "runs", "failed", "a.json"), "")
	if labels.Label(runs); runs[0].Label != Unlabelled {
		t.Errorf("a file alone has the label %q", runs[0].Label)
	}
}

// A table may call its columns otherwise.
func TestLabelColumns(t *testing.T) {
	f := labelFile{labels: map[string]Label{}, used: map[string]bool{}}
	if err := f.csv([]byte("task_id,run_id,passed,cost\n1,r1,true,3\n1,r2,false,4\n")); err != nil || f.labels["r1"] != Success || f.labels["r2"] != Failure {
		t.Errorf("%v, %v", f.labels, err)
	}
}
