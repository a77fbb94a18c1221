package loop_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	. "github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/loop/audit"
)

// anthropicProblems returns what is wrong with a history by the rules of the
// Anthropic Messages API beside those of [audit.CheckHistory], in the order of
// the messages; nil if nothing is. There the results of a reply and the user
// messages after them are one message of the user's, so: the first message is
// the user's; replies alternate with it; results come first in it, which
// CheckHistory sees to; and no text in it is blank, but for results.
//
// The loop keeps these rules where the history keeps its first message
// (history.keep_first), no user writes a blank message, and no run that broke
// off left a reply last.
func anthropicProblems(h []Message) []string {
	problems := audit.CheckHistory(h)
	for i, m := range h {
		problem := ""
		switch {
		case i == 0 && m.Role != User:
			problem = "the first message must be the user's"
		case i > 0 && m.Role == Assistant && h[i-1].Role == Assistant:
			problem = "two replies in a row"
		case m.Role == User && strings.TrimSpace(m.Text) == "":
			problem = "a blank text"
		default:
			continue
		}
		problems = append(problems, fmt.Sprintf("message %d: %s", i+1, problem))
	}
	return problems
}

func TestAnthropicProblems(t *testing.T) {
	user := Message{Ref: Ref{Kind: RefMessage, N: 1}, Role: User, Text: "go"}
	call := Message{Ref: Ref{Kind: RefModel, N: 1}, Role: Assistant, Calls: []Call{{N: 1, ID: "a", Name: "read"}}}
	result := Message{Ref: Ref{Kind: RefCall, N: 1}, Role: ToolRole, CallID: "a"}
	hint := Message{Ref: Ref{Kind: RefMessage, N: 2}, Role: User, Text: "come to an end"}
	answer := Message{Ref: Ref{Kind: RefModel, N: 2}, Role: Assistant, Text: "done"}
	if len(anthropicProblems([]Message{user, call, hint, result})) == 0 {
		t.Error("a text may stand before the results")
	}
	for _, c := range []struct {
		name    string
		history []Message
		want    []string
	}{
		{"as it should be", []Message{user, call, result, hint, answer}, nil},
		{"an empty result is none of its business", []Message{user, call, result, answer}, nil},
		{"no user first", []Message{answer, user}, []string{"message 1: the first message must be the user's"}},
		{"two replies", []Message{user, answer, answer}, []string{"message 3: two replies in a row"}},
		{"a blank user message", []Message{{Role: User, Text: " \n"}}, []string{"message 1: a blank text"}},
	} {
		got := anthropicProblems(c.history)
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
				if problems := anthropicProblems(e.History); problems != nil {
					t.Errorf("%v is asked with %q", e.Ref, problems)
				}
			}
		}
	}
	call := func(args string) Input { return Input{Calls: []AskedCall{{Name: "read", Args: args}, {Name: "gone"}}} }
	check(m.Step(m.Begin()))
	calls := 0
	for n, reply := range []Input{call(`{"n":1}`), {}, {Text: "cut", Finish: FinishLength}, call("{"), call(`{"n":2}`), call(`{"n":3}`), {Text: "the end"}} {
		calls += len(reply.Calls)
		check(m.Step(replyWith(n+1, reply)))
		for c := 1; c <= calls; c++ {
			check(m.Step(toolResult(c)))
		}
	}
	if !m.Halted() {
		t.Fatal("the session goes on")
	}
	if problems := anthropicProblems(m.History()); problems != nil {
		t.Errorf("it ends with %q", problems)
	}
}
