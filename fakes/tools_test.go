package fakes

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbench-go/agentbench/loop"
)

// answers makes the tries one after another and returns their answers; that of a
// hang is a zero input.
func answers(t *testing.T, w *World, tries ...loop.Effect) []loop.Input {
	t.Helper()
	var got []loop.Input
	for _, e := range tries {
		do(w, 0, e)
		if _, any := w.queue.first(); !any {
			got = append(got, loop.Input{})
			continue
		}
		in := next(t, w)
		if in.Kind != loop.ToolResult || in.Ref != e.Ref {
			t.Fatalf("%v got %+v", e.Ref, in)
		}
		in.Kind, in.Ref = 0, loop.Ref{}
		got = append(got, in)
	}
	return got
}

func TestAnswers(t *testing.T) {
	tests := []struct {
		name  string
		tool  Tool
		tries []loop.Effect
		want  []loop.Input
	}{
		{"a success",
			Tool{Answers: []Answer{{Result: "the text"}}},
			[]loop.Effect{call(1, 1, "f", "{}")},
			[]loop.Input{{At: 200 * ms, Text: "the text"}}},
		{"an error",
			Tool{Answers: []Answer{{Error: loop.NotFound, Text: "no such file", Result: "unused"}}},
			[]loop.Effect{call(1, 1, "f", "{}")},
			[]loop.Input{{At: 200 * ms, Code: loop.NotFound, Text: "no such file"}}},
		{"the latency of the failure, the answer, the tool",
			Tool{Latency: exactly(3 * sec), Answers: []Answer{
				{Times: 1, Latency: exactly(2 * sec), Failures: []Failure{{Latency: exactly(sec)}, {}}}, {}}},
			[]loop.Effect{call(1, 1, "f", ""), call(1, 2, "f", ""), call(1, 3, "f", ""), call(2, 1, "f", "")},
			[]loop.Input{{At: sec, Code: loop.RetryableServer}, {At: 2 * sec, Code: loop.RetryableServer}, {At: 2 * sec}, {At: 3 * sec}}},
		{"failures come first in each call",
			Tool{Answers: []Answer{{Result: "ok", Failures: []Failure{{Error: loop.RateLimited, Text: "429"}, {Hang: true}}}}},
			[]loop.Effect{call(1, 1, "f", ""), call(1, 2, "f", ""), call(1, 3, "f", ""), call(2, 1, "f", "")},
			[]loop.Input{{At: 200 * ms, Code: loop.RateLimited, Text: "429"}, {}, {At: 200 * ms, Text: "ok"}, {At: 200 * ms, Code: loop.RateLimited, Text: "429"}}},
		{"times count calls, not tries",
			Tool{Answers: []Answer{{Times: 2, Error: loop.RetryableServer}, {Result: "b"}}},
			[]loop.Effect{call(1, 1, "f", ""), call(1, 2, "f", ""), call(2, 1, "f", ""), call(3, 1, "f", ""), call(2, 2, "f", "")},
			[]loop.Input{{At: 200 * ms, Code: loop.RetryableServer}, {At: 200 * ms, Code: loop.RetryableServer},
				{At: 200 * ms, Code: loop.RetryableServer}, {At: 200 * ms, Text: "b"}, {At: 200 * ms, Code: loop.RetryableServer}}},
		{"the first answer that fits",
			Tool{Answers: []Answer{{When: map[string]any{"path": "a", "n": 1}, Result: "a1"}, {When: map[string]any{"path": "a"}, Result: "a"}, {Result: "rest"}}},
			[]loop.Effect{call(1, 1, "f", `{"n":1.0,"path":"a","more":0}`), call(2, 1, "f", `{"path":"a","n":"1"}`), call(3, 1, "f", `{"Path":"a"}`), call(4, 1, "f", ``)},
			[]loop.Input{{At: 200 * ms, Text: "a1"}, {At: 200 * ms, Text: "a"}, {At: 200 * ms, Text: "rest"}, {At: 200 * ms, Text: "rest"}}},
		{"a hang", Tool{Answers: []Answer{{Hang: true, Failures: []Failure{{Text: "503"}}}}},
			[]loop.Effect{call(1, 1, "f", ""), call(1, 2, "f", "")},
			[]loop.Input{{At: 200 * ms, Code: loop.RetryableServer, Text: "503"}, {}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.tool.Name = "f"
			w := NewWorld(&Script{Tools: []Tool{tt.tool}}, 1)
			if diff := cmp.Diff(tt.want, answers(t, w, tt.tries...)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestMatching(t *testing.T) {
	tests := []struct {
		when map[string]any
		args string
		want bool
	}{
		{map[string]any{}, `{}`, true},
		{map[string]any{"a": nil}, `{}`, false}, // must be there
		{map[string]any{"a": nil}, `{"a":null}`, true},
		{map[string]any{"a": true}, `{"a":true,"b":1}`, true},
		{map[string]any{"a": 10}, `{"a":1e1}`, true},
		{map[string]any{"a": 0.5}, `{"a":0.50}`, true},
		{map[string]any{"a": 1}, `{"a":true}`, false},
		{map[string]any{"a": int64(9007199254740993)}, `{"a":9007199254740992}`, false}, // one apart, the same as floats
		{map[string]any{"a": []any{1, "x"}}, `{"a":[1,"x"]}`, true},
		{map[string]any{"a": []any{1, "x"}}, `{"a":["x",1]}`, false},
		{map[string]any{"a": []any{1}}, `{"a":[1,2]}`, false},
		{map[string]any{"a": map[string]any{"b": 1}}, `{"a":{"b":1}}`, true},
		{map[string]any{"a": map[string]any{"b": 1}}, `{"a":{"b":1,"c":2}}`, false}, // only the top level is free
		{map[string]any{"a": map[string]any{"b": 1}}, `{"a":{"c":1}}`, false},
		{map[string]any{"a": "x"}, `not json`, false},
		{map[string]any{"a": "x"}, `{"a":"x"} and more`, false},
		{map[string]any{"a": 1}, `{"a":1e999999999}`, false},
	}
	for _, tt := range tests {
		w := NewWorld(oneTool(Answer{When: tt.when, Result: "yes"}, Answer{Result: "no"}), 1)
		if got := answers(t, w, call(1, 1, "f", tt.args))[0].Text == "yes"; got != tt.want {
			t.Errorf("%v fits %s: %v", tt.when, tt.args, got)
		}
	}
}

func TestNoAnswer(t *testing.T) {
	w := NewWorld(oneTool(Answer{When: map[string]any{"path": "a"}}, Answer{Times: 1}), 1)
	answers(t, w, call(1, 1, "f", `{"path":"b"}`))
	do(w, 0, call(2, 1, "f", `{"path":"b"}`))
	err := failing(t, w)
	if want := `the script ran dry: no answer of tool f fits call c2#1 with {"path":"b"} (it has 2)`; err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	if !errors.Is(err, loop.ErrDry) {
		t.Error("it is not loop.ErrDry")
	}
	w = NewWorld(oneTool(), 1)
	do(w, 0, call(1, 1, "f\x1b[2J", strings.Repeat("x", 1000)))
	if text := failing(t, w).Error(); len(text) > 300 || strings.ContainsRune(text, '\x1b') {
		t.Errorf("%q is not made safe", text)
	}
}

func TestResultChars(t *testing.T) {
	for _, tt := range []struct {
		result string
		chars  int
		want   string
	}{
		{"", 3, "xxx"},
		{"ab", 5, "ababa"},
		{"é€", 3, "é€é"},
		{"longer", 3, "longer"},
	} {
		w := NewWorld(oneTool(Answer{Result: tt.result, ResultChars: tt.chars}), 1)
		for n, in := range answers(t, w, call(1, 1, "f", ""), call(2, 1, "f", "")) {
			if in.Text != tt.want {
				t.Errorf("%q padded to %d in call %d: %q", tt.result, tt.chars, n+1, in.Text)
			}
		}
	}
	w := NewWorld(oneTool(Answer{Result: "${call} ", ResultChars: 120_000}), 1)
	got := answers(t, w, call(1, 1, "f", ""), call(2, 1, "f", ""))
	if n := utf8.RuneCountInString(got[1].Text); n != 120_000 || !strings.HasPrefix(got[0].Text, "1 1 ") || !strings.HasPrefix(got[1].Text, "2 2 ") {
		t.Errorf("%d characters, %.9q, %.9q", n, got[0].Text, got[1].Text)
	}
}

func TestCancelTool(t *testing.T) {
	stop := func(n, try int) loop.Effect { return loop.Effect{Kind: loop.CancelTool, Ref: c(n, try)} }
	script := &Script{Tools: []Tool{
		{ToolSpec: loop.ToolSpec{Name: "polite"}, Latency: exactly(9 * sec), Answers: []Answer{{Times: 1, Result: "late"}, {Hang: true}}},
		{ToolSpec: loop.ToolSpec{Name: "deaf"}, IgnoresCancel: true, Latency: exactly(9 * sec), Answers: []Answer{{Result: "late"}}},
	}}
	w := NewWorld(script, 1)
	do(w, 0, call(1, 1, "polite", ""), call(2, 1, "polite", ""), call(3, 1, "deaf", ""))
	do(w, 5*sec, stop(1, 1), stop(2, 1), stop(3, 1))
	want := []loop.Input{
		{At: 5 * sec, Kind: loop.ToolResult, Ref: c(1, 1), Code: loop.Cancelled, Text: "cancelled"},
		{At: 5 * sec, Kind: loop.ToolResult, Ref: c(2, 1), Code: loop.Cancelled, Text: "cancelled"},
		{At: 9 * sec, Kind: loop.ToolResult, Ref: c(3, 1), Text: "late"},
	}
	for _, in := range want {
		if diff := cmp.Diff(in, next(t, w)); diff != "" {
			t.Error(diff)
		}
	}
	if at, more := w.queue.first(); more {
		t.Errorf("a cancelled try still speaks at %v", at)
	}
}

func TestGates(t *testing.T) {
	gate := func(n int, name, args string) loop.Effect {
		return loop.Effect{Kind: loop.OpenGate, Ref: g(n), Of: c(n, 0), Name: name, Args: args}
	}
	w := NewWorld(&Script{User: User{Permissions: []PermissionAnswer{
		{Tool: "delete", When: map[string]any{"path": "/"}, Times: 1, Deny: true, Text: "no", After: exactly(3 * sec)},
		{Tool: "delete"},
		{Tool: "send", Hang: true},
	}}}, 1)
	root := `{"path":"/"}`
	for _, tt := range []struct {
		gate loop.Effect
		want loop.Input
	}{
		{gate(1, "delete", `{"path":"/tmp"}`), loop.Input{At: 200 * ms, Allow: true}},
		{gate(2, "delete", root), loop.Input{At: 3 * sec, Text: "no"}},
		{gate(3, "delete", root), loop.Input{At: 200 * ms, Allow: true}}, // the denial is used up
		{gate(4, "other", root), loop.Input{At: 200 * ms, Allow: true}},  // none fits
	} {
		do(w, 0, tt.gate)
		tt.want.Kind, tt.want.Ref = loop.GateAnswer, tt.gate.Ref
		if diff := cmp.Diff(tt.want, next(t, w)); diff != "" {
			t.Error(diff)
		}
	}
	do(w, 0, gate(5, "send", ""))
	if at, any := w.queue.first(); any {
		t.Errorf("a hanging gate is answered at %v", at)
	}
}

// Hooks are not scripted, and no permission is meant for them.
func TestHooksLetPass(t *testing.T) {
	w := NewWorld(&Script{User: User{Permissions: []PermissionAnswer{{Deny: true}}}}, 1)
	for n, kind := range []loop.GateKind{loop.GateBeforeRun, loop.GateBeforeCall, loop.GateAfterCall, loop.GateAfterRun} {
		do(w, sec, loop.Effect{Kind: loop.OpenGate, Ref: g(n + 1), At: kind, Name: "f"})
		want := loop.Input{At: sec, Kind: loop.GateAnswer, Ref: g(n + 1), Allow: true}
		if diff := cmp.Diff(want, next(t, w)); diff != "" {
			t.Error(diff)
		}
	}
	do(w, sec, loop.Effect{Kind: loop.OpenGate, Ref: g(5), Name: "f"})
	if in := next(t, w); in.Allow {
		t.Error("the permission is not denied")
	}
}

func TestQuestions(t *testing.T) {
	w := NewWorld(&Script{User: User{Replies: []Reply{
		{Times: 2, Text: "the other one", After: exactly(3 * sec)},
		{Times: 1, Deny: true},
		{Times: 1, Hang: true},
	}}}, 1)
	q := func(n int) loop.Ref { return loop.Ref{Kind: loop.RefQuestion, N: n} }
	for n, want := range []loop.Input{
		{At: 3 * sec, Allow: true, Text: "the other one"},
		{At: 3 * sec, Allow: true, Text: "the other one"},
		{At: 200 * ms},
		{},                                   // never
		{At: 200 * ms, Cause: loop.ByNobody}, // nobody says anything: not to go on
	} {
		do(w, 0, loop.Effect{Kind: loop.AskUser, Ref: q(n + 1), Text: "Go on?"})
		if want.At == 0 {
			if at, any := w.queue.first(); any {
				t.Errorf("the hang answers at %v", at)
			}
			continue
		}
		want.Kind, want.Ref = loop.UserReply, q(n+1)
		if diff := cmp.Diff(want, next(t, w)); diff != "" {
			t.Errorf("question %d: %s", n+1, diff)
		}
	}
}

// A fallback takes over a call: its own answers and failures count from there.
func TestFallback(t *testing.T) {
	w := NewWorld(&Script{Tools: []Tool{
		{ToolSpec: loop.ToolSpec{Name: "main"}, Answers: []Answer{{Error: loop.RetryableServer, Text: "503"}}},
		{ToolSpec: loop.ToolSpec{Name: "spare"}, Answers: []Answer{{Result: "ok", Failures: []Failure{{Text: "first"}}}}},
	}}, 1)
	got := answers(t, w, call(1, 1, "main", ""), call(1, 2, "main", ""), call(1, 3, "spare", ""), call(1, 4, "spare", ""))
	var texts []string
	for _, in := range got {
		texts = append(texts, in.Text)
	}
	if diff := cmp.Diff([]string{"503", "503", "first", "ok"}, texts); diff != "" {
		t.Error(diff)
	}
}

func TestSubRunUsage(t *testing.T) {
	w := NewWorld(oneTool(Answer{Result: "found", TokensIn: 5, TokensOut: 6, Cost: 7, Used: 8}), 1)
	want := []loop.Input{{At: 200 * ms, Text: "found", TokensIn: 5, TokensOut: 6, Cost: 7, Asked: 8, Used: 8}}
	if diff := cmp.Diff(want, answers(t, w, call(1, 1, "f", ""))); diff != "" {
		t.Error(diff)
	}
}

// No draw depends on the order in which things are asked for.
func TestDrawsAreKeyed(t *testing.T) {
	script := oneTool(Answer{Result: "${rand:1..1000000} ${pick:a|b|c|d|e|f|g|h}", Latency: Span{Min: 0, Max: time.Hour}})
	ask := func(order ...int) map[int]loop.Input {
		w := NewWorld(script, 7)
		for _, n := range order {
			do(w, 0, call(n, 1, "f", ""))
		}
		got := map[int]loop.Input{}
		for range order {
			in := next(t, w)
			got[in.Ref.N] = in
		}
		return got
	}
	if diff := cmp.Diff(ask(1, 2, 3), ask(3, 1, 2)); diff != "" {
		t.Error(diff)
	}
	if alone, among := ask(2)[2], ask(1, 2, 3)[2]; !cmp.Equal(alone, among) {
		t.Errorf("alone %+v, among others %+v", alone, among)
	}
	other := NewWorld(script, 8)
	do(other, 0, call(2, 1, "f", ""))
	if in := next(t, other); cmp.Equal(in, ask(2)[2]) {
		t.Error("another seed says the same")
	}
}

func TestContextEnds(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	why := errors.New("the user pressed ctrl-c")
	cancel(why)
	w := NewWorld(model(Step{}), 1)
	do(w, 0, ask(1, 1))
	if _, err := w.Next(ctx, 0, false); err != why {
		t.Errorf("got %v", err)
	}
}
