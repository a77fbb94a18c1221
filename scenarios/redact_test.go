package scenarios

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/agentbench-go/agentbench/goldens"
	"github.com/agentbench-go/agentbench/loop"
)

// Secrets are joined from parts, so that this repository contains none.
var (
	mail = "jane@mail." + "example.org"
	pat  = "gh" + "p_" + strings.Repeat("a1B2c3D4e5F6", 3)
)

// leaking is a scenario whose model and tools say secrets: by their form, and by
// a name with a value that the file holds word for word.
const leaking = `
tools:
  - {name: login, answers: [{result: '{"token":"open sesame","to":"MAIL"}'}]}
model:
  - {text: I write to MAIL., calls: [{login: {password: hunter2, key: PAT}}]}
  - {text: Done with PAT.}
expect: {calls: 7}
`

func leak(t *testing.T) *Scenario {
	t.Helper()
	return scenario(t, Healthy, strings.NewReplacer("MAIL", mail, "PAT", pat).Replace(leaking))
}

// leaks fails if a text holds one of the secrets by form.
func leaks(t *testing.T, what, text string) {
	t.Helper()
	for _, s := range []string{mail, pat} {
		if strings.Contains(text, s) {
			t.Errorf("%s holds %s:\n%s", what, s, text)
		}
	}
}

// What Run hands over is redacted, and equal values are equal in the trace and in
// the findings. What a file holds word for word is secret by its form only.
func TestRunRedacts(t *testing.T) {
	s := leak(t)
	s.Expect.Must = []string{"put c1 text=*" + mail + "* and " + pat}
	var got *Result
	if err := Run(context.Background(), Options{Scenarios: []*Scenario{s}, Keep: KeepAll}, func(r *Result) error { got = r; return nil }); err != nil {
		t.Fatal(err)
	}
	leaks(t, "the trace", got.Trace)
	for _, want := range []string{`I write to [email-1].`, `hunter2`, `open sesame`, `[github-pat-1]`} {
		if !strings.Contains(got.Trace, want) {
			t.Errorf("the trace lacks %s:\n%s", want, got.Trace)
		}
	}
	if _, err := loop.ParseTrace(got.Trace); err != nil {
		t.Errorf("the redacted trace is not a trace: %v", err)
	}
	if len(got.Findings) == 0 || got.Verdict != Fail {
		t.Fatalf("the result is %+v", got)
	}
	for _, f := range got.Findings {
		leaks(t, "a finding", f.Message+f.At+f.Want+f.Got)
	}
}

// A scenario that no file holds is one whose words are those of its file, and a
// value that it does not hold is secret because of its name.
func TestOwnWords(t *testing.T) {
	s := leak(t)
	for _, where := range []string{"its file", "no file"} {
		if where == "no file" {
			s.content = ""
		}
		r := s.Redactor()
		for _, c := range []struct{ in, want string }{
			{`{"password":"hunter2","token":"open sesame"}`, `{"password":"hunter2","token":"open sesame"}`},
			{`{"password":"hunter3"}`, `{"password":"[secret-1]"}`},
			{`{"password":"hunter"}`, `{"password":"[secret-2]"}`},
		} {
			if got := r.Text(c.in); got != c.want {
				t.Errorf("with %s %s becomes %s", where, c.in, got)
			}
		}
	}
}

// A library user's own result is redacted by the writer: by all rules, or by form
// only where it was read from a file.
func TestResultsFileIsRedacted(t *testing.T) {
	trial := Trial{Scenario: leak(t), Variant: leak(t).Variant, Seed: 1}
	r, trace := trial.Run(context.Background())
	r.Trace = trace.String()
	var b bytes.Buffer
	w, err := NewResultWriter(&b, Header{Schema: ResultsSchema, Type: "header"})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(r); err != nil {
		t.Fatal(err)
	}
	leaks(t, "the file", b.String())
	if strings.Contains(b.String(), "hunter2") {
		t.Errorf("the file holds a password:\n%s", b.String())
	}
	if !strings.Contains(r.Trace, pat) {
		t.Error("the result itself has changed")
	}

	// A file from elsewhere: its names say nothing about the scenario's own words.
	line := strings.NewReplacer("[secret-1]", "hunter2", "[email-1]", mail).Replace(b.String())
	var read *Result
	_, err = ReadResults(strings.NewReader(line), "r.jsonl", func(*Header) error { return nil }, func(r *Result) error { read = r; return nil })
	if err != nil {
		t.Fatal(err)
	}
	again := read.Redacted()
	leaks(t, "what was read", again.Trace)
	if !strings.Contains(again.Trace, "hunter2") || again.Redacted() != again {
		t.Errorf("what was read becomes\n%s", again.Trace)
	}
}

func TestNotesAreRedacted(t *testing.T) {
	r := &Result{Notes: []string{"not all failures of " + mail + " fired"}}
	if got := r.Redacted(); got.Notes[0] != "not all failures of [email-1] fired" || r.Notes[0] == got.Notes[0] {
		t.Errorf("they become %q", got.Notes)
	}
}

// A trace that is broken is redacted as a text.
func TestBrokenTraceIsRedacted(t *testing.T) {
	r := &Result{Trace: "not a trace: " + mail}
	if got := r.Redacted(); got.Trace != "not a trace: [email-1]" || r.Trace == got.Trace {
		t.Errorf("it becomes %q", got.Trace)
	}
}

// A golden is written redacted, and an old one that is not matches as well as one
// that is; another secret in the same place does so too, and two that differ do
// not if there was one.
func TestGoldensAreRedacted(t *testing.T) {
	s := leak(t)
	trial := Trial{Scenario: s, Variant: s.Variant, Seed: 1}
	_, trace := trial.Run(context.Background())
	g := &Goldens{Dir: t.TempDir(), Update: true, Expected: true}
	if c := g.check(&trial, false, true, trace); c.Word != GoldenMatch {
		t.Fatalf("the golden is not taken: %+v", c)
	}
	changes, _ := g.Changes()
	if len(changes) != 1 {
		t.Fatalf("%d changes", len(changes))
	}
	leaks(t, "the golden", changes[0].Now.Trace)
	if err := g.Write(); err != nil {
		t.Fatal(err)
	}
	check := &Goldens{Dir: g.Dir}
	other := trace.Map(func(text string) string { return strings.ReplaceAll(text, mail, "bob@"+"corp.io") })
	two := trace.Map(func(text string) string {
		return strings.Replace(text, "I write to "+mail, "I write to bob@"+"corp.io", 1)
	})
	for name, c := range map[string]struct {
		trace loop.Trace
		want  string
	}{"the same": {trace, GoldenMatch}, "redacted": {trace.Map(s.redacting()), GoldenMatch}, "another address": {other, GoldenMatch}, "two addresses": {two, GoldenMismatch}} {
		got := check.check(&trial, false, true, c.trace)
		if got.Word != c.want {
			t.Errorf("%s: %s, want %s: %+v", name, got.Word, c.want, got.Difference)
		}
		if f := got.finding(); f != nil {
			leaks(t, "the finding", f.Message+f.Want+f.Got)
		}
	}
	old := &goldens.Golden{Scenario: s.ID(), Variant: s.Variant.Name, Seed: 1, Trace: trace.String()}
	if d := old.CompareRedacted(trace.Map(s.redacting()), s.redacting); d != nil {
		t.Errorf("a golden that is not redacted differs: %s", d)
	}
}
