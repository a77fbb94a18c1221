package cli

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentbench-go/agentbench/cassettes/secrets"
	"github.com/agentbench-go/agentbench/fakes/serve"
	"github.com/agentbench-go/agentbench/scenarios"
)

// planted are ten secrets, made of parts so that none is in this repository.
var planted = []string{"gh" + "p_" + strings.Repeat("a1B2c3D4e5F6", 3), "gl" + "pat-" + "a1B2c3D4e5F6g7H8i9J0", "AK" + "IA" + "Q7W2E5R3T6Y4U7I2", "jane@mail." + "example.org",
	"4111 1111 " + "1111 1111", "+1 415 555 " + "2671", "sk-" + "proj-" + strings.Repeat("Zx9Cv8Bn7M", 4), "DE8937040044" + "0532013000", "ya" + "29." + strings.Repeat("q1W2e3R4t5", 4), "wh" + "sec_" + strings.Repeat("p9O8i7U6y5", 4)}

// leaky is a scenario whose user, model and tools say the secrets, and which fails.
const leaky = `name: leaky
description: the model says what it should not
label: healthy
task: write to {3}
tools:
  - name: look
    answers: [{result: 'card {4}', times: 1}, {result: '{"phone":"{5}","key":"{6}"}', times: 1}, {error: NotFound, text: 'no {7}'}]
model:
  - {text: 'I use {0}.', calls: [{look: {key: '{1}'}}], finish: tool_calls}
  - {calls: [{look: {again: '{2}'}}, {'broken_{0}': {}}]}
  - {calls: [{look: {once: '{8}'}}]}
  - {text: 'Done with {9}.'}
expect: {calls: 9}
`

// fill puts the secrets into a text.
func fill(text string) string {
	for i, s := range planted {
		text = strings.ReplaceAll(text, fmt.Sprintf("{%d}", i), s)
	}
	return text
}

func leaks(t *testing.T, where, text string) {
	t.Helper()
	for _, s := range planted {
		if strings.Contains(text, s) {
			t.Errorf("%s holds %s", where, s)
		}
	}
}

// Nothing that a model or a tool says reaches a file or a terminal as it stands,
// whatever command writes it and in whatever format.
func TestSecretsAreNotWritten(t *testing.T) {
	changed := strings.Replace(fill(leaky), "Done with", "All done with", 1)
	writeFiles(t, map[string]string{"mine/leaky.yaml": fill(leaky), "changed/mine/leaky.yaml": changed})
	spans := &wire{}
	collector := httptest.NewServer(spans)
	defer collector.Close()
	run := []string{"run", "mine/leaky.yaml", "--verbose", "--keep-traces", "all", "--events", "out/events.jsonl", "--otlp-endpoint", collector.URL, "--otlp-content"}
	for _, ext := range extensions() {
		run = append(run, "-o", "out/run"+ext)
	}
	if err := os.Mkdir("out", 0o777); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		code int
		args []string
	}{
		{exitFailed, run},
		{exitFailed, []string{"run", "mine/leaky.yaml", "--format", "jsonl"}},
		{exitFailed, []string{"run", "mine/leaky.yaml", "--format", "json"}},
		{exitFailed, []string{"run", "mine/leaky.yaml", "--failures-only"}},
		{exitPassed, []string{"compare", "mine/leaky.yaml", "--variant", "none", "--variant", "hpd-agent", "-o", "out/compare.html"}},
		{exitFailed, []string{"explain", "mine/leaky.yaml"}},
		{exitFailed, []string{"explain", "out/run.jsonl"}},
		{exitPassed, []string{"report", "out/run.jsonl", "-o", "out/report.html", "-o", "out/report.xml"}},
		{exitPassed, []string{"golden", "update", "mine/leaky.yaml", "--verbose", "-o", "out/goldens"}},
		{exitPassed, []string{"golden", "check", "mine/leaky.yaml", "--verbose", "-o", "out/goldens"}},
		// A golden that differs in lines with secrets.
		{exitFailed, []string{"golden", "check", "changed/mine/leaky.yaml", "-o", "out/goldens"}},
		{exitPassed, []string{"golden", "update", "changed/mine/leaky.yaml", "-o", "out/goldens"}},
	} {
		code, stdout, stderr := session(t, c.args...)
		if code != c.code {
			t.Errorf("%q: exit code %d, want %d\n%s%s", c.args, code, c.code, stdout, stderr)
		}
		leaks(t, fmt.Sprintf("the standard output of %.40q", c.args), stdout)
		leaks(t, fmt.Sprintf("the standard error of %.40q", c.args), stderr)
	}
	written := readAll(t, "out")
	for path, text := range written {
		leaks(t, path, text)
	}
	if n := len(extensions()) + 5; len(written) != n { // events, compare.html, report.html, report.xml, a golden
		t.Errorf("there are %d files, want %d: %v", len(written), n, written)
	}
	leaks(t, "the spans", spans.String())
	if text := written["out/run.jsonl"]; !strings.Contains(text, "broken_[github-pat-1]") {
		t.Errorf("the results lack the tool's name:\n%s", text)
	}
	if !strings.Contains(spans.String(), `{"key":"[gitlab-pat-1]"}`) {
		t.Errorf("the spans lack the arguments:\n%q", spans)
	}

	// A file that somebody else wrote is redacted when it is shown.
	foreign := written["out/run.jsonl"]
	for i, p := range placeholders(t) {
		foreign = strings.ReplaceAll(foreign, p, planted[i])
	}
	writeFiles(t, map[string]string{"foreign.jsonl": foreign})
	for _, args := range [][]string{{"explain", "foreign.jsonl"}, {"report", "foreign.jsonl", "-o", "again.html", "-o", "again.jsonl", "-o", "again.sarif"}} {
		_, stdout, stderr := session(t, args...)
		leaks(t, strings.Join(args, " "), stdout+stderr)
	}
	for _, name := range []string{"again.html", "again.jsonl", "again.sarif"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		leaks(t, name, string(text))
	}
}

// placeholders are those of the planted secrets, each the first of its kind.
func placeholders(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, s := range planted {
		r, err := secrets.New(secrets.Options{})
		if err != nil {
			t.Fatal(err)
		}
		p := r.Text(s)
		if !strings.HasSuffix(p, "-1]") || slices.Contains(all, p) {
			t.Fatalf("%s becomes %s", s, p)
		}
		all = append(all, p)
	}
	return all
}

// A wire keeps what an OTLP endpoint is sent.
type wire struct{ bytes.Buffer }

func (w *wire) ServeHTTP(_ http.ResponseWriter, r *http.Request) { io.Copy(w, r.Body) }

// readAll reads the files in a folder.
func readAll(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		found[filepath.ToSlash(path)] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// A recorded run becomes a scenario without secrets that still differs where the
// run did, and plays as the run was replayed.
func TestScenarioOfTrajectoryIsRedacted(t *testing.T) {
	chat := `[{"role":"user","content":"write to {3}"},
{"role":"assistant","content":"I use {0}.","tool_calls":[{"id":"a","type":"function","function":{"name":"login","arguments":"{\"password\":\"one\",\"n\":1}"}}]},
{"role":"tool","tool_call_id":"a","content":"card {4}, iban {7}"},
{"role":"assistant","content":null,"tool_calls":[{"id":"b","type":"function","function":{"name":"login","arguments":"{\"password\":\"two\",\"n\":1}"}}]},
{"role":"tool","tool_call_id":"b","content":"{\"token\":\"three\",\"phone\":\"{5}\"}"},
{"role":"assistant","content":"Done with {9}."}]`
	writeFiles(t, map[string]string{"chat.json": fill(chat)})
	code, stdout, stderr := session(t, "replay", "chat.json", "--input-format", "openai-chat", "--verbose", "-o", "runs.jsonl")
	if code != exitPassed {
		t.Fatalf("exit code %d\n%s%s", code, stdout, stderr)
	}
	runs, err := os.ReadFile("runs.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	leaks(t, "the results", string(runs)+stdout+stderr)
	name := strings.Split(strings.SplitAfter(string(runs), `"scenario":"`)[1], `"`)[0]
	code, stdout, stderr = session(t, "replay", "chat.json", "--input-format", "openai-chat", "--to-scenario", name, "-o", "made.yaml")
	if code != exitPassed {
		t.Fatalf("exit code %d\n%s%s", code, stdout, stderr)
	}
	made, err := os.ReadFile("made.yaml")
	if err != nil {
		t.Fatal(err)
	}
	leaks(t, "the scenario", string(made)+stdout+stderr)
	for _, want := range []string{"[email-1]", "[github-pat-1]", "[card-1]", "[iban-1]", "[secret-1]", "[secret-2]", "[secret-3]", "[phone-1]"} {
		if !strings.Contains(string(made), want) {
			t.Errorf("the scenario lacks %s:\n%s", want, made)
		}
	}
	if code, stdout, stderr := session(t, "run", "made.yaml"); code != exitPassed {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
}

// What an endpoint says, in an error, in a reply and in the name of a tool, reaches
// neither the terminal nor a file.
func TestRecordedSecretsAreNotShown(t *testing.T) {
	writeFiles(t, map[string]string{"mine/ask.yaml": `name: ask
description: a model answers
label: healthy
variant: none
config: {model_retry: {max: 2, base: 1ms, statuses: [5xx]}}
task: answer
model: [{text: unused}]
`})
	said := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		said++
		if said == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
			io.WriteString(w, "slow down, key "+strings.Join(planted, " and "))
			return
		}
		io.WriteString(w, "I know "+strings.Join(planted, " and "))
	}))
	defer server.Close()
	var stdout, stderr bytes.Buffer
	args := []string{"record", "mine/ask.yaml", "--model", "m", "--base-url", server.URL + "/v1", "--results", "r.jsonl", "-o", "ask.cassette.yaml"}
	code := run(Options{Connect: connectPlain}.within(t.Context()), args, strings.NewReader(""), &stdout, &stderr)
	if code != exitPassed {
		t.Fatalf("exit code %d\n%s%s", code, stdout.String(), stderr.String())
	}
	leaks(t, "the terminal", stdout.String()+stderr.String())
	if want := "warning: the endpoint failed with the status 503: slow down, key [github-pat-1] and [gitlab-pat-1]"; !strings.Contains(stderr.String(), want) {
		t.Errorf("the standard error lacks %q:\n%s", want, stderr.String())
	}
	for _, name := range []string{"r.jsonl", "ask.cassette.yaml", "ask.cassette.golden"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		leaks(t, name, string(text))
	}
	stdout.Reset()
	stderr.Reset()
	if code := run(Options{Connect: connectPlain}.within(t.Context()), []string{"cassette", "doctor", "ask.cassette.yaml"}, strings.NewReader(""), &stdout, &stderr); code != exitPassed {
		t.Errorf("doctor: exit code %d\n%s%s", code, stdout.String(), stderr.String())
	}
}

// The journal of serve quotes what a client said wrong.
func TestJournalFileIsRedacted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "served.jsonl")
	var f servedFile
	if err := f.create(io.Discard, path, scenarios.Header{Type: "header", Schema: scenarios.ResultsSchema}); err != nil {
		t.Fatal(err)
	}
	f.add(&serve.Entry{Type: "request", N: 1, Path: "/v1/x?key=" + planted[1], Problems: []string{"there is no tool broken_" + planted[0], "mail " + planted[3]}, Error: "no " + planted[7]})
	if err := f.complete(nil, &serve.Journal{}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	leaks(t, "the journal", string(text))
	if !strings.Contains(string(text), "there is no tool broken_[github-pat-1]") {
		t.Errorf("the journal is\n%s", text)
	}
}
