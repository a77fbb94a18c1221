package loop_test

import (
	"testing"
	"time"

	. "github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/loop/audit"
	"github.com/agentbench-go/agentbench/loop/detect"
)

// TestPlannerTurnsWithoutCalls: a planner's action that is not a call is a turn like
// any other. It ends the streak of a call, and a detector of replies sees it.
func TestPlannerTurnsWithoutCalls(t *testing.T) {
	const read, replan = `{"action":"call_tool","name":"read","args":{}}`, `{"action":"replan","subgoals":["look"]}`
	breaker := detect.Detector{Name: "breaker", Do: []detect.Rung{{At: 2, Act: detect.Stop}}}
	repeated := detect.Detector{Name: "repeated", Record: detect.PerReply, Key: []detect.Part{detect.Text}, Acts: detect.AfterBatch,
		Do: []detect.Rung{{At: 2, Act: detect.Stop}}}
	for _, c := range []struct {
		name     string
		detector detect.Detector
		replies  []string
		want     Stop // after the last of them, "" = the run goes on
	}{
		{"twice the same call", breaker, []string{read, read}, "breaker"},
		{"a turn in between", breaker, []string{read, replan, read}, ""},
		{"twice the same plan", repeated, []string{replan, replan}, "repeated"},
	} {
		cfg := Off()
		cfg.Detectors = []detect.Detector{c.detector}
		task, tools := Task{Text: "go", Planner: PlannerJSON}, []ToolSpec{{Name: "read"}}
		m, err := New(cfg, task, tools)
		if err != nil {
			t.Fatal(err)
		}
		var trace Trace
		step := func(in Input) {
			in.At = time.Duration(len(trace)) * time.Second
			trace.Append(in, m.Step(in))
		}
		step(m.Begin())
		for i, text := range c.replies {
			step(Input{Kind: ModelReply, Ref: Ref{Kind: RefModel, N: i + 1, Try: 1}, Text: text})
			for _, e := range trace[len(trace)-1].Effects {
				if e.Kind == CallTool {
					step(Input{Kind: ToolResult, Ref: e.Ref, Text: "fine"})
				}
			}
		}
		if got := m.Outcome().Stop; got != c.want {
			t.Errorf("%s: stop %q, want %q\n%s", c.name, got, c.want, trace)
		}
		for _, v := range audit.Check(cfg, task, tools, trace) {
			t.Errorf("%s: %v\n%s", c.name, v, trace)
		}
	}
}

// TestPlannerStopsAtTheLimit: the step that is the last is the planner's own
// stop, which needs no last word. A call with its batch is two steps, the stop
// the third.
func TestPlannerStopsAtTheLimit(t *testing.T) {
	cfg := Off()
	cfg.Limits.Steps, cfg.Limits.AtLimit = 3, LimitFinal
	task, tools := Task{Text: "go", Planner: PlannerJSON}, []ToolSpec{{Name: "read"}}
	m, err := New(cfg, task, tools)
	if err != nil {
		t.Fatal(err)
	}
	var trace Trace
	for i, in := range []Input{
		m.Begin(),
		{Kind: ModelReply, Ref: Ref{Kind: RefModel, N: 1, Try: 1}, Text: `{"action":"call_tool","name":"read","args":{}}`},
		{Kind: ToolResult, Ref: Ref{Kind: RefCall, N: 1, Try: 1}, Text: "fine"},
		{Kind: ModelReply, Ref: Ref{Kind: RefModel, N: 2, Try: 1}, Text: `{"action":"stop","reason":"Enough."}`},
	} {
		in.At = time.Duration(i) * time.Second
		trace.Append(in, m.Step(in))
	}
	if out := m.Outcome(); !m.Halted() || out.Stop != StopTurnLimit {
		t.Errorf("the run ends as %+v, want the turn limit\n%s", out, trace)
	}
	for _, v := range audit.Check(cfg, task, tools, trace) {
		t.Errorf("%v\n%s", v, trace)
	}
}
