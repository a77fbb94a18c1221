package loop_test

import (
	"testing"
	"time"

	"github.com/agentbench-go/agentbench/loop"
)

// TestSteerIsHeard checks that what the user says during a run enters the history before
// the next request, whatever that request follows: "it enters the history with the next
// request" (package comment).
func TestSteerIsHeard(t *testing.T) {
	const said = "In French please."
	m := func(n, try int) loop.Ref { return loop.Ref{Kind: loop.RefModel, N: n, Try: try} }
	for name, c := range map[string]struct {
		set     func(*loop.Config, *loop.Task)
		replies []loop.Input // the user speaks before the last one
	}{
		"an empty reply":  {replies: []loop.Input{{Text: ""}}},
		"a cut-off reply": {replies: []loop.Input{{Text: "half", Finish: loop.FinishLength}}},
		"an answer with gaps": {func(_ *loop.Config, task *loop.Task) {
			task.Critic, task.Constraints = loop.RuleCritic{}, []loop.Constraint{{Text: "Say yes.", Says: "yes"}}
		}, []loop.Input{{Text: "no"}}},
		"a reply without an action": {func(_ *loop.Config, task *loop.Task) { task.Planner = loop.PlannerJSON }, []loop.Input{{Text: "no"}}},
		"a summary": {func(c *loop.Config, _ *loop.Task) { c.History.CompactAt = 2 },
			[]loop.Input{{Text: "half", Finish: loop.FinishLength}, {Text: "the task is this"}}},
	} {
		t.Run(name, func(t *testing.T) {
			config, task := loop.Default(), loop.Task{Text: "Do it."}
			config.History.KeepFirst = false
			if c.set != nil {
				c.set(&config, &task)
			}
			machine, err := loop.New(config, task, nil)
			if err != nil {
				t.Fatal(err)
			}
			machine.Step(machine.Begin())
			for i, reply := range c.replies {
				at := time.Duration(i+1) * time.Second
				if i == len(c.replies)-1 {
					machine.Step(loop.Input{Kind: loop.Steer, At: at, Text: said})
				}
				reply.Kind, reply.At, reply.Ref = loop.ModelReply, at, m(i+1, 1)
				machine.Step(reply)
			}
			if h := machine.History(); h[len(h)-1].Role != loop.User || h[len(h)-1].Text != said {
				t.Errorf("the request after %s ends with %+v", name, h[len(h)-1])
			}
			if machine.Halted() {
				t.Error("the run has ended")
			}
		})
	}
}
