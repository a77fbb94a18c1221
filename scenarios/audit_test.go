package scenarios

import (
	"strings"
	"testing"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/loop"
)

// A loop that breaks a promise fails, whatever was expected of it: here one
// that goes on after the turn limit.
func TestBrokenPromise(t *testing.T) {
	s := answering("a", false)
	s.Script.Task = "t"
	s.Config.Limits.Turns = 1
	trace, err := loop.ParseTrace(`   0.000s started text=t
          > ask m1#1 for=reply to=1
   1.000s reply m1 call=a:x("{}") finish=tool_calls
          > put c1 code=NotFound why=unknown text=no
          > ask m2#1 for=reply to=3
`)
	if err != nil {
		t.Fatal(err)
	}
	r := &Result{}
	trial := Trial{Scenario: s, Variant: s.Variant}
	if got := trial.judge(r, nil, read(trace), trace, fakes.Idle{}, loop.ErrDry); got != Fail || !strings.Contains(rules(r), "audit: turn-limit: ") {
		t.Errorf("%s: %s", got, rules(r))
	}
	if at := r.Findings[0].At; at != "line 5" {
		t.Errorf("it is said of %q", at)
	}
}

// No mechanism hides a trial from the audit: where arguments must keep a schema,
// a call that does not is not made.
func TestBrokenContract(t *testing.T) {
	s := answering("a", false)
	s.Script.Task = "t"
	s.Script.Tools = []fakes.Tool{{ToolSpec: loop.ToolSpec{Name: "x", Input: `{"type": "object", "required": ["path"]}`}}}
	s.Config.Contracts.Input = true
	trace, err := loop.ParseTrace(`   0.000s started text=t
          > ask m1#1 for=reply to=1
   1.000s reply m1 call=a:x("{}") finish=tool_calls
          > call c1#1 name=x args="{}"
`)
	if err != nil {
		t.Fatal(err)
	}
	r, trial := &Result{}, Trial{Scenario: s, Variant: s.Variant}
	if trial.checkTrace(r, trace); !strings.Contains(rules(r), "audit: executable: ") {
		t.Errorf("got %s", rules(r))
	}
}

// The history of a trace that is too long for the audit is checked.
func TestLongTraceHistory(t *testing.T) {
	trace := loop.Trace{{In: loop.Input{Kind: loop.Started, Text: "t"}}}
	for range maxAudited {
		trace = append(trace, loop.Record{In: loop.Input{Kind: loop.Tick}})
	}
	trace = append(trace, loop.Record{In: loop.Input{Kind: loop.Tick},
		Effects: []loop.Effect{{Kind: loop.AskModel, Ref: loop.Ref{Kind: loop.RefModel, N: 1, Try: 1}, For: loop.ForReply, To: 9}}})
	s := answering("a", false)
	r, trial := &Result{}, Trial{Scenario: s, Variant: s.Variant}
	trial.checkTrace(r, trace)
	if rules(r) != "history: the history does not have the messages that the loop asks with" {
		t.Errorf("got %s", rules(r))
	}
}
