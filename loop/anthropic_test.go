package loop_test

import (
	"testing"

	. "github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/loop/audit"
)

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
				if problems := audit.CheckAnthropicHistory(e.History); problems != nil {
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
	if problems := audit.CheckAnthropicHistory(m.History()); problems != nil {
		t.Errorf("it ends with %q", problems)
	}
}
