package scenarios

import (
	"slices"
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

// The promises hold for a trace of any length: here a loop that asks once more
// after 1,001 records of a run, with a result left out of the history.
func TestLongTrace(t *testing.T) {
	trace, err := loop.ParseTrace("   0.000s started text=t\n          > ask m1#1 for=reply to=1\n" +
		strings.Repeat("   0.000s delta m1 text=x\n", 1000) +
		"   1.000s reply m1 call=a:x(\"{}\") finish=tool_calls\n          > ask m2#1 for=reply to=2\n")
	if err != nil {
		t.Fatal(err)
	}
	s := answering("a", false)
	s.Script.Task = "t"
	r, trial := &Result{}, Trial{Scenario: s, Variant: s.Variant}
	trial.checkTrace(r, trace)
	// 1 + 1 lines of the start, 1,000 deltas, and the second of the reply.
	want := Finding{Rule: "history", At: "line 1004", Message: `message 3: no result for the call id "a" before it`}
	if !slices.ContainsFunc(r.Findings, func(f Finding) bool { return f == want }) {
		t.Errorf("got %+v, and not %+v", r.Findings, want)
	}
}
