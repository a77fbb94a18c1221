package scenarios

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/loop"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// Every key of the language, and what it becomes.
func TestScenarioOfFile(t *testing.T) {
	const text = `
name: all-keys
description: every key once
label: runaway
source: https://example.org/1
held_back: true
variant: none
config: {limits: {turns: 9, cost_usd: 0.5}, model_retry: {statuses: [429, 5xx]}}
task: |
  Do
  it
tool_choice: {use: list, hold: true}
critic: rules
constraints:
  - {text: Read it after the list., called: read, with: '"n":1', after: list}
  - {text: Say so., says: so, omits: not so}
tools:
  - name: read
    description: Read
    input: {type: object, properties: {n: {type: integer, maximum: 1e3}}}
    version: "2"
    output: {type: string}
    permission: batch
    idempotent: true
    timeout: 7s
    retries: 0
    fallback: list
    sub_run: true
    rate: {calls: 3, per: 1m}
    breaker: {failures: 2, cooldown: 30s}
    ignores_cancel: true
    latency: 50ms..120ms
    answers:
      - {when: {n: 12345678901234567890, s: "1", b: true, z: null, l: [1.50]}, times: 2, result: "a\nb", result_chars: 10, latency: 0s, tokens_in: 5, tokens_out: 6, cost_usd: 0.000000007, used: 8}
      - {error: NotFound, text: no, failures: [{error: Timeout, text: t, latency: 1s}, {hang: true}]}
  - {name: more, retry: {max: 2, base: 3s, timeouts: false, codes: [NotFound]}, answers: [{result: x}]}
  - {name: list, idempotent: false, retries: 4, answers: [{result: x}]}
model:
  - {text: hi, calls: [{read: {b: 1, a: [x, 2.0, true]}}, {read: '{"a'}, {name: read, id: "", args: {}}, {name: {n: 1}}], finish: length, repeat: 3}
  - {when: failed, optional: true, repeat: forever, text: "two\nlines", tokens_in: 1, tokens_out: 2, cost_usd: 0.0000015,
     latency: 4s, chunks: 5, first_token: 300ms, wire: stall-after-done,
     failures: [{status: 429, retry_after: 5s, text: slow}, {hang: true, chunks: 2, latency: 1s}, {wire: no-finish}], fail_forever: true}
user:
  permissions: [{tool: read, when: {n: 1}, times: 1, answer: deny, text: no, after: 3s}, {hang: true}]
  replies: [{times: 2, answer: deny, text: no, after: 1s}, {times: 1, hang: true}, go on]
  messages: [more, {text: thanks, wait: 10s}]
  cancel: {call: 3}
expect:
  end_state: CANCELLED
  stop: cancelled
  turns: 3..5
  time: 1s..1m
  events: {must: [run-ended], must_not: [abandoned, trimmed]}
`
	file := write(t, t.TempDir(), "suite/s.yaml", text)
	all, err := Load(file)
	if err != nil {
		t.Fatal(err)
	}
	base, err := LoadVariant("none")
	if err != nil {
		t.Fatal(err)
	}
	cfg := base.Config
	cfg.Limits.Turns, cfg.Limits.CostUSD = 9, 0.5
	empty := ""
	want := &Scenario{Suite: "suite", Name: "all-keys", Description: "every key once", Label: Runaway, Source: "https://example.org/1", HeldBack: true,
		Variant: base, Config: cfg, File: filepath.ToSlash(file), Line: 2,
		Script: fakes.Script{Name: "suite/all-keys", Task: "Do\nit\n", ToolChoice: loop.ToolChoice{Use: "list", Hold: true},
			Critic: loop.RuleCritic{}, Constraints: []loop.Constraint{{Text: "Read it after the list.", Called: "read", With: `"n":1`, After: "list"}, {Text: "Say so.", Says: "so", Omits: "not so"}},
			Tools: []fakes.Tool{{
				ToolSpec: loop.ToolSpec{Name: "read", Description: "Read", Permission: loop.AskBatch, Idempotent: loop.Idempotent,
					Version: "2", Output: `{"type":"string"}`, Timeout: 7 * time.Second, Retries: -1, Fallback: "list", SubRun: true,
					Rate: loop.Rate{Calls: 3, Per: time.Minute}, Breaker: loop.ToolBreaker{Failures: 2, Cooldown: 30 * time.Second},
					Input: `{"type":"object","properties":{"n":{"type":"integer","maximum":1e3}}}`},
				Latency: fakes.Span{Min: 50 * time.Millisecond, Max: 120 * time.Millisecond}, IgnoresCancel: true,
				Answers: []fakes.Answer{
					{When: all[0].Script.Tools[0].Answers[0].When, Times: 2, Result: "a\nb", ResultChars: 10, Latency: fakes.Instantly(), TokensIn: 5, TokensOut: 6, Cost: 7, Used: 8},
					{Error: loop.NotFound, Text: "no", Failures: []fakes.Failure{{Error: loop.Timeout, Text: "t", Latency: fakes.Span{Min: time.Second, Max: time.Second}}, {Hang: true}}},
				}},
				{ToolSpec: loop.ToolSpec{Name: "more", Retry: &loop.Retry{Max: 2, Base: 3 * time.Second, Backoff: loop.Linear, Cap: time.Minute, Timeouts: false, Codes: []loop.Code{loop.NotFound}}}, Answers: []fakes.Answer{{Result: "x"}}},
				{ToolSpec: loop.ToolSpec{Name: "list", Idempotent: loop.NotIdempotent, Retries: 4}, Answers: []fakes.Answer{{Result: "x"}}}},
			Model: []fakes.Step{
				{Text: "hi", Finish: "length", Repeat: 3, Calls: []fakes.StepCall{{Name: "read", Args: `{"b":1,"a":["x",2.0,true]}`}, {Name: "read", Args: `{"a`},
					{ID: &empty, Name: "read", Args: "{}"}, {Name: "name", Args: `{"n":1}`}}},
				{When: fakes.WhenFailed, Optional: true, Repeat: fakes.Forever, Text: "two\nlines", TokensIn: 1, TokensOut: 2, Cost: 1500, Latency: fakes.Span{Min: 4 * time.Second, Max: 4 * time.Second},
					Chunks: 5, FirstToken: 300 * time.Millisecond, FailForever: true, Wire: fakes.WireStallAfterDone,
					Failures: []fakes.ModelFailure{{Status: 429, RetryAfter: 5 * time.Second, Text: "slow"}, {Hang: true, Chunks: 2, Latency: fakes.Span{Min: time.Second, Max: time.Second}}, {Wire: fakes.WireNoFinish}}},
			},
			User: fakes.User{
				Permissions: []fakes.PermissionAnswer{{Tool: "read", When: all[0].Script.User.Permissions[0].When, Times: 1, Deny: true, Text: "no", After: fakes.Span{Min: 3 * time.Second, Max: 3 * time.Second}}, {Hang: true}},
				Replies:     []fakes.Reply{{Times: 2, Deny: true, Text: "no", After: fakes.Span{Min: time.Second, Max: time.Second}}, {Times: 1, Hang: true}, {Text: "go on"}},
				Messages:    []fakes.UserMessage{{Text: "more"}, {Text: "thanks", Wait: 10 * time.Second}},
				Cancel:      &fakes.CancelAt{Call: 3},
			}},
		Expect: Expect{EndState: loop.WasCancelled, Stop: loop.StopCancelled, Turns: &Range{3, 5}, Time: &TimeRange{time.Second, time.Minute},
			Must: []string{"run-ended"}, MustNot: []string{"abandoned", "trimmed"}},
	}
	if d := cmp.Diff(want, all[0], cmpopts.IgnoreUnexported(Scenario{})); d != "" {
		t.Error(d)
	}
	// Numbers of when stay as they are written. Texts are not numbers.
	got := string(appendAny(all[0].Script.Tools[0].Answers[0].When))
	if want := `{"b":true,"l":[1.50],"n":12345678901234567890,"s":"1","z":null}`; got != want {
		t.Errorf("when is %s, want %s", got, want)
	}
}

// What looks as if it could never come, but can.
func TestReachable(t *testing.T) {
	for _, change := range []struct{ old, new string }{
		{"  - {text: hello}", "  - {when: failed, text: a, repeat: forever}\n  - {text: hello}"},
		{"  - {text: hello}", "  - {text: hello, repeat: forever}\n  - {when: failed, text: a}"},
		{"{when: {path: a}, result: text}", "{times: 3, result: text}"},
		{"expect:", "user:\n  permissions: [{times: 1, answer: deny}, {tool: read, answer: deny}, {answer: allow}]\nexpect:"},
	} {
		if _, err := load(t, strings.Replace(valid, change.old, change.new, 1)); err != nil {
			t.Errorf("%s: %v", change.new, err)
		}
	}
}

func TestLoadPaths(t *testing.T) {
	dir := t.TempDir()
	for _, f := range []struct{ file, name string }{{"b/x/z.yaml", "z"}, {"b/x/a.yml", "a"}, {"b/y.yaml", "y"}, {"c.yaml", "c"}} {
		write(t, dir, f.file, strings.Replace(valid, "name: one", "name: "+f.name, 1))
	}
	write(t, dir, ".hidden/s.yaml", valid)
	write(t, dir, "b/agentbench.yaml", "jobs: 3\n")
	write(t, dir, "b/notes.txt", "no scenario\n")
	// A file that is named twice is one scenario; a folder is a suite.
	all, err := Load(filepath.Join(dir, "c.yaml"), filepath.Join(dir, "b"), filepath.Join(dir, "b", "x", "..", "y.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, s := range all {
		ids = append(ids, s.ID())
	}
	root := filepath.Base(dir)
	if want := []string{root + "/c", "b/y", "x/a", "x/z"}; !slices.Equal(ids, want) {
		t.Errorf("got %q, want %q", ids, want)
	}
	if hidden, err := Load(filepath.Join(dir, ".hidden")); err != nil || len(hidden) != 1 {
		t.Errorf("a hidden folder that is asked for: %d scenarios, %v", len(hidden), err)
	}
	if got := Suites(all); !slices.Equal(got, []string{root, "b", "x"}) {
		t.Errorf("suites %q", got)
	}
}

func TestSecondScenarioOfName(t *testing.T) {
	dir := t.TempDir()
	first := write(t, dir, "s/a.yaml", valid)
	write(t, dir, "s/b.yaml", "\n"+valid)
	write(t, dir, "other/b.yaml", valid)
	_, err := Load(dir)
	var ms Mistakes
	if !errors.As(err, &ms) || len(ms) != 1 {
		t.Fatalf("got %v", err)
	}
	m := ms[0]
	if m.Line != 2 || m.Column != 7 || m.Problem != `the suite s has a second scenario "one"` || m.Hint != "the first is in "+filepath.ToSlash(first)+":1" {
		t.Errorf("got %v", m)
	}
}

// The embedded suites load, and each has a run that should be stopped or one
// that should finish.
func TestEmbedded(t *testing.T) {
	all, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	if slices.Contains(Suites(all), variantFolder) {
		t.Error("the variants are a suite")
	}
	for _, s := range all {
		if s.File != "scenarios/"+s.Suite+"/"+s.Name+".yaml" {
			t.Errorf("%s is in %s", s.ID(), s.File)
		}
	}
}

func TestSelect(t *testing.T) {
	all := []*Scenario{{Suite: "healthy", Name: "paging"}, {Suite: "stuck-loops", Name: "paging-forever"}, {Suite: "stuck-loops", Name: "same"}}
	tests := []struct {
		suites  []string
		pattern string
		want    []int
		err     string
	}{
		{nil, "", []int{0, 1, 2}, ""},
		{[]string{"stuck-loops"}, "", []int{1, 2}, ""},
		{[]string{"stuck-loops", "healthy"}, "paging", []int{0, 1}, ""},
		{nil, "y/p", []int{0}, ""},
		{nil, "*/paging", []int{0}, ""},
		{nil, "*", []int{0, 1, 2}, ""}, // without a slash it is for the name
		{nil, "paging?*", []int{1}, ""},
		{nil, "none of them", nil, ""},
		{[]string{"stuckloops"}, "", nil, `there is no suite "stuckloops"; did you mean stuck-loops?`},
		{nil, "[", nil, `the pattern "[" is malformed: a [ needs its ]`},
	}
	for _, tt := range tests {
		got, err := Select(all, tt.suites, tt.pattern)
		if (err == nil) != (tt.err == "") || err != nil && err.Error() != tt.err {
			t.Errorf("%q %q: %v", tt.suites, tt.pattern, err)
		}
		var want []*Scenario
		for _, i := range tt.want {
			want = append(want, all[i])
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q %q: got %d scenarios, want %d", tt.suites, tt.pattern, len(got), len(want))
		}
	}
}

// A file with a byte order mark and Windows line ends reads like any other, its
// places too.
func TestWindowsFile(t *testing.T) {
	text := "\ufeff" + strings.ReplaceAll(valid, "\n", "\r\n")
	if _, err := load(t, text); err != nil {
		t.Error(err)
	}
	_, err := load(t, strings.Replace(text, "label: healthy", "label: x", 1))
	if ms := (Mistakes{}); !errors.As(err, &ms) || ms[0].Excerpt != "   3 | label: x\n     |        ^" {
		t.Errorf("got %v", err)
	}
	got := mistakes(t, strings.Replace(text, "{text: hello}", "{text: é, txt: a}", 1))
	if want := `12:15: unknown key "txt" in an entry of model (did you mean text?)`; got[0] != want {
		t.Errorf("got  %s\nwant %s", got[0], want)
	}
}

// appendAny writes a value as JSON.
func appendAny(v any) []byte {
	b, _ := json.Marshal(v)
	return b
}
