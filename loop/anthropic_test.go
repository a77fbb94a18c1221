package loop

import (
	"slices"
	"testing"
)

func TestCheckAnthropicHistory(t *testing.T) {
	user := Message{Ref: Ref{Kind: RefMessage, N: 1}, Role: User, Text: "go"}
	call := Message{Ref: Ref{Kind: RefModel, N: 1}, Role: Assistant, Calls: []Call{{N: 1, ID: "a", Name: "read"}}}
	result := Message{Ref: Ref{Kind: RefCall, N: 1}, Role: ToolRole, CallID: "a"}
	hint := Message{Ref: Ref{Kind: RefMessage, N: 2}, Role: User, Text: "come to an end"}
	answer := Message{Ref: Ref{Kind: RefModel, N: 2}, Role: Assistant, Text: "done"}
	if len(CheckAnthropicHistory([]Message{user, call, hint, result})) == 0 {
		t.Error("a text may stand before the results")
	}
	for _, c := range []struct {
		name    string
		history []Message
		want    []string
	}{
		{"as it should be", []Message{user, call, result, hint, answer}, nil},
		{"an empty result is none of its business", []Message{user, call, result, answer}, nil},
		{"no user first", []Message{answer, user}, []string{"message 1 (m2): the first message must be the user's"}},
		{"two replies", []Message{user, answer, answer}, []string{"message 3 (m2): two replies in a row"}},
		{"a blank user message", []Message{{Role: User, Text: " \n"}}, []string{"message 1: a blank text"}},
	} {
		got := CheckAnthropicHistory(c.history)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

// The sessions of the machine that keep the first message are histories that
// Anthropic's API takes at each request.
func TestSessionsSuitAnthropic(t *testing.T) {
	cfg := Default()
	cfg.ModelRetry.EmptyReplies = 2
	cfg.Limits.Turns, cfg.Limits.Near, cfg.Limits.AtLimit = 4, 2, LimitFinal
	m, err := New(cfg, Task{Text: "go"}, []ToolSpec{{Name: "read"}})
	if err != nil {
		t.Fatal(err)
	}
	check := func(effects []Effect) {
		t.Helper()
		for _, e := range effects {
			if e.Kind == AskModel {
				if problems := CheckAnthropicHistory(e.History); problems != nil {
					t.Errorf("%v is asked with %q", e.Ref, problems)
				}
			}
		}
	}
	call := func(args string) Input { return Input{Calls: []AskedCall{{Name: "read", Args: args}, {Name: "gone"}}} }
	check(m.Step(m.Begin()))
	for n, reply := range []Input{call(`{"n":1}`), {}, {Text: "cut", Finish: FinishLength}, call("{"), call(`{"n":2}`), call(`{"n":3}`), {Text: "the end"}} {
		check(m.Step(replyWith(n+1, reply)))
		for c := 1; c <= m.numbers.call; c++ {
			check(m.Step(toolResult(c)))
		}
	}
	if !m.Halted() {
		t.Fatal("the session goes on")
	}
	if problems := CheckAnthropicHistory(m.History()); problems != nil {
		t.Errorf("it ends with %q", problems)
	}
}
