package fakes

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentbench-go/agentbench/loop"
)

func TestRandom(t *testing.T) {
	wide := Span{Min: 1, Max: 2}
	tests := []struct {
		name   string
		script *Script
		want   bool
	}{
		{"nothing", &Script{}, false},
		{"fixed latencies", model(Step{Latency: exactly(sec)}), false},
		{"a maximum below the minimum", model(Step{Latency: Span{Min: 2, Max: 1}}), false},
		{"turn, call and an escape", model(Step{Text: "${turn} ${call} $${rand:1..6} {rand:1..6}"}), false},
		{"a result", model(Step{Calls: []StepCall{{Args: "${result:last.id}"}}}), false},
		{"a step's latency", model(Step{}, Step{Latency: wide}), true},
		{"a When step's latency", model(Step{When: WhenOK, Latency: wide}), true},
		{"a model failure's latency", model(Step{Failures: []ModelFailure{{Latency: wide}}}), true},
		{"a tool's latency", &Script{Tools: []Tool{{Latency: wide}}}, true},
		{"an answer's latency", oneTool(Answer{Latency: wide}), true},
		{"a failure's latency", oneTool(Answer{Failures: []Failure{{}, {Latency: wide}}}), true},
		{"a permission's", &Script{User: User{Permissions: []PermissionAnswer{{After: wide}}}}, true},
		{"a reply's", &Script{User: User{Replies: []Reply{{After: wide}}}}, true},
		{"rand in a step's text", model(Step{Text: "${rand:1..6}"}), true},
		{"pick in arguments", model(Step{Calls: []StepCall{{}, {Args: `{"a":"${pick:a|b}"}`}}}), true},
		{"seed in a model failure", model(Step{Failures: []ModelFailure{{Text: "${seed}"}}}), true},
		{"seed in a result", oneTool(Answer{Result: "a ${seed}"}), true},
		{"rand in an error", oneTool(Answer{Error: loop.NotFound, Text: "${rand:1..2}"}), true},
		{"pick in a failure", oneTool(Answer{Failures: []Failure{{Text: "${pick:a|b}"}}}), true},
	}
	for _, tt := range tests {
		if got := tt.script.Random(); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}

func TestValidate(t *testing.T) {
	ok := &Script{
		Model: []Step{{When: WhenOK, Repeat: Forever, Chunks: 3, Text: "$${x}", Latency: Instantly()}},
		Tools: []Tool{{Answers: []Answer{{When: map[string]any{"a": []any{1, nil}}, ResultChars: 120_000}}}},
		User:  User{Cancel: &CancelAt{At: time.Hour}},
	}
	if err := ok.Validate(); err != nil {
		t.Errorf("a good script: %v", err)
	}
	bad := &Script{
		Model: []Step{
			{When: "sometimes", Repeat: -2, Chunks: -1, FirstToken: -1},
			{Latency: Span{Min: -1}, Text: "${x}"},
			{Calls: []StepCall{{}, {Args: "${x}"}}, Failures: []ModelFailure{{RetryAfter: -1, Text: "${", Chunks: math.MaxInt, Latency: Span{Max: 100 * 365 * 24 * time.Hour}}}},
		},
		Tools: []Tool{
			{Latency: Span{Min: -1}},
			{Answers: []Answer{{}, {When: map[string]any{"a": math.NaN()}, Times: -1, Result: "${x}", Text: "${result:c1}", ResultChars: 1 << 40,
				Failures: []Failure{{}, {Text: "${x}"}}}, {Latency: Span{Min: -1}}}},
		},
		User: User{
			Permissions: []PermissionAnswer{{After: Span{Min: -1}}},
			Replies:     []Reply{{Times: -1}},
			Messages:    []UserMessage{{}, {Wait: -1}},
			Cancel:      &CancelAt{At: -1, Call: -1},
		},
	}
	want := []string{
		"model[0].when", "model[0].repeat", "model[0].chunks", "model[0].first_token",
		"model[1].latency", "model[1].text",
		"model[2].calls[1].args", "model[2].failures[0].chunks", "model[2].failures[0].latency", "model[2].failures[0].retry_after", "model[2].failures[0].text",
		"tools[0].latency",
		"tools[1].answers[1].result_chars", "tools[1].answers[1].times", "tools[1].answers[1].when", "tools[1].answers[1].result", "tools[1].answers[1].text",
		"tools[1].answers[1].failures[1].text", "tools[1].answers[2].latency",
		"user.permissions[0].after", "user.replies[0].times", "user.messages[1].wait", "user.cancel.at", "user.cancel.call",
	}
	joined, _ := bad.Validate().(interface{ Unwrap() []error })
	if joined == nil {
		t.Fatalf("not a list of errors: %v", bad.Validate())
	}
	var got []string
	for _, err := range joined.Unwrap() {
		var f *loop.FieldError
		if !errors.As(err, &f) {
			t.Fatalf("%T is no FieldError", err)
		}
		got = append(got, f.Field)
		if strings.ContainsAny(f.Problem, "\n") {
			t.Errorf("%s: more than a line: %s", f.Field, f.Problem)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestSpecs(t *testing.T) {
	s := &Script{Tools: []Tool{{ToolSpec: loop.ToolSpec{Name: "a", Idempotent: loop.Idempotent}}, {ToolSpec: loop.ToolSpec{Name: "b"}}}}
	if got := s.Specs(); !slices.Equal(got, []loop.ToolSpec{{Name: "a", Idempotent: loop.Idempotent}, {Name: "b"}}) {
		t.Errorf("got %+v", got)
	}
}
