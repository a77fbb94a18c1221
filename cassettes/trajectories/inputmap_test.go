package trajectories

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// mapped reads a content through a map.
func mapped(t *testing.T, file, content string) ([]*Trajectory, []*Problem, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "map.yaml")
	if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := ReadInputMap(path)
	if err != nil {
		return nil, nil, err
	}
	runs, problems := readText(t, Reader{Map: m}, "log.json", content)
	return runs, problems, nil
}

// A map reads a format of one's own: results beside the calls, results as messages, and
// a message a line.
func TestInputMap(t *testing.T) {
	for name, c := range map[string]struct{ file, content string }{
		"results beside the calls": {`
runs: data.episodes
messages: steps
name: key
model: meta.0.model
label: score
role: who
roles: {bot: assistant, person: user}
text: say
calls: do
call_name: tool
call_arguments: with
call_result: got.out
call_error: got.err
tokens_in: cost.read
tokens_out: cost.wrote
`, `{"data":{"episodes":[{"key":"r1","meta":[{"model":"m-1"}],"score":0.5,"steps":[{"who":"person","say":"Rain?"},
{"who":"bot","say":"Both.","cost":{"read":90,"wrote":12},"do":[{"tool":"weather","with":{"city":"Oslo"},"got":{"out":"dry"}},{"tool":"weather","with":"{\"city\":\"Rome\"}","got":{"err":"no such city"}}]},
{"who":"bot","do":{"tool":"weather","with":{"city":"Roma"}}}]}]}}`},
		"results as messages": {`
messages: log
name: id
model: model
label: ok
role: from
text: body
calls: body.calls
call_id: n
call_name: f.name
call_arguments: f.args
result_id: of
error: failed
tokens_in: t.0
tokens_out: t.1
`, `[{"id":"r1","model":"m-1","ok":"failed","log":[{"from":"user","body":"Rain?"},
{"from":"assistant","body":{"calls":[{"n":1,"f":{"name":"weather","args":{"city":"Oslo"}}},{"n":2,"f":{"name":"weather","args":{"city":"Rome"}}}]},"t":[90,12]},
{"from":"tool","of":2,"body":"no such city","failed":true},{"from":"tool","of":1,"body":"dry"},
{"from":"assistant","body":{"calls":[{"n":3,"f":{"name":"weather","args":{"city":"Roma"}}}]}}]}]`},
	} {
		t.Run(name, func(t *testing.T) {
			runs, problems, err := mapped(t, c.file, c.content)
			if err != nil || len(problems) > 0 || len(runs) != 1 {
				t.Fatalf("%d runs, problems %v, %v", len(runs), problems, err)
			}
			got := sketches(runs)
			if name == "results as messages" { // whose text is the calls
				got = strings.Replace(got, `turn "{\"calls\":[{\"n\":1,\"f\":{\"name\":\"weather\",\"args\":{\"city\":\"Oslo\"}}},{\"n\":2,\"f\":{\"name\":\"weather\",\"args\":{\"city\":\"Rome\"}}}]}"`, `turn "Both."`, 1)
				got = strings.Replace(got, `turn "{\"calls\":[{\"n\":3,\"f\":{\"name\":\"weather\",\"args\":{\"city\":\"Roma\"}}}]}"`, `turn ""`, 1)
			}
			if r := runs[0]; got != block(theRun) || r.Name != "r1" || r.Model != "m-1" || r.Label != Failure {
				t.Errorf("got:\n%swant:\n%sname %q, model %q, label %q", got, block(theRun), r.Name, r.Model, r.Label)
			}
		})
	}
	runs, problems, err := mapped(t, "messages: .\nrole: who\ntext: say\n", `{"who":"user","say":"hi"}`+"\n"+`{"who":"assistant","say":"ho"}`+"\n")
	if got, want := sketches(runs), "user \"hi\"\n  turn \"ho\"\n"; got != want || len(problems) > 0 || err != nil {
		t.Errorf("got:\n%swant:\n%sproblems %v, %v", got, want, problems, err)
	}
}

func TestInputMapMistakes(t *testing.T) {
	for file, want := range map[string]string{
		"message: a":                      `unknown key "message" (did you mean messages?)`,
		"messages: a":                     "role is missing: the path, in a message, of the word that says who speaks",
		"role: a":                         "messages is missing: the path of the messages in a run",
		"messages: a\nrole: b\ncalls: c":  "call_name is missing",
		"messages: [a]":                   "messages must be a path such as turns.0.text, not [a]",
		"messages: a\nroles: {x: helper}": `roles: "x" must mean user, assistant, tool or system, not "helper"`,
		"messages: a\nroles: x":           "roles must be words and what they mean",
		"just words":                      "want keys and paths, such as messages: turns",
		"a: [":                            "invalid YAML",
	} {
		if _, _, err := mapped(t, file, "{}"); err == nil || !strings.Contains(err.Error(), "map.yaml: "+want) {
			t.Errorf("%q: %v, want %s", file, err, want)
		}
	}
	for content, want := range map[string]string{
		`{"b":[]}`:                           `run 1 of 1: messages: there is no array at a in an object with "b"`,
		`{"a":[{"say":"x"}]}`:                `run 1 of 1: message 1 of 1: there is no role at r in an object with "say"`,
		`{"a":[{"r":"bot"}]}`:                `unknown role "bot": say what it means, such as roles: {bot: assistant}`,
		`{"a":[{"r":"assistant","c":[{}]}]}`: `call 1: there is no name at n in an empty object`,
	} {
		_, problems, err := mapped(t, "messages: a\nrole: r\ncalls: c\ncall_name: n\n", content)
		if err != nil || len(problems) == 0 || !strings.Contains(problems[0].Text, want) {
			t.Errorf("%s: %v, %v, want %s", content, problems, err, want)
		}
	}
}
