package agenttest_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/scenarios/agenttest"
)

// A test of an agent with an interface of its own for models: func TestChat in a test
// file.
func testChat(t *testing.T) {
	agenttest.Run(t, func(ctx context.Context, w *agenttest.World) (string, error) {
		a := &agent{model: scriptedModel{w}, tools: w.Tools}
		return a.run(ctx, w.Task)
	}, agenttest.Suites("stuck-loops"), agenttest.Filter("ring-of-four"))
}

// A scriptedModel is the model of the scenario as the agent's own interface has it.
type scriptedModel struct{ w *agenttest.World }

func (m scriptedModel) chat(ctx context.Context, history []message) (message, error) {
	var req loop.ModelRequest
	for _, tool := range m.w.Tools {
		req.Tools = append(req.Tools, tool.Spec()) // what the model may call
	}
	roles := map[string]loop.Role{"user": loop.User, "assistant": loop.Assistant, "tool": loop.ToolRole}
	for _, h := range history {
		one := loop.Message{Role: roles[h.Role], Text: h.Content, CallID: h.CallID}
		for _, c := range h.Calls {
			one.Calls = append(one.Calls, loop.Call{ID: c.ID, Name: c.Function.Name, Args: c.Function.Arguments})
		}
		req.History = append(req.History, one)
	}
	reply, err := m.w.Model().Reply(ctx, req, nil) // nil: the agent does not look at the pieces of a stream
	answer := message{Role: "assistant", Content: reply.Text}
	for _, asked := range reply.Calls {
		c := call{ID: asked.ID, Type: "function"}
		c.Function.Name, c.Function.Arguments = asked.Name, asked.Args
		answer.Calls = append(answer.Calls, c)
	}
	return answer, err
}

// A test of the reference loop: func TestLoop in a test file.
func testLoop(t *testing.T) {
	agenttest.Run(t, func(ctx context.Context, w *agenttest.World) (string, error) {
		var tools []loop.Tool
		for _, one := range w.Tools {
			tools = append(tools, scriptedTool{one})
		}
		out, err := loop.RunLive(ctx, loop.Default(), loop.Task{Text: w.Task}, w.Model(), tools, loop.LiveOptions{})
		if err == nil && out.End != loop.Done {
			err = fmt.Errorf("%s: %s", out.Stop, out.Reason)
		}
		return out.Answer, err
	}, agenttest.Suites("stuck-loops"), agenttest.Filter("same-call-forever"))
}

// A scriptedTool is a tool of the scenario as a tool of the loop.
type scriptedTool struct{ agenttest.Tool }

func (t scriptedTool) Spec() loop.ToolSpec { return t.Tool.Spec() }

func (t scriptedTool) Call(ctx context.Context, args string) (string, error) {
	return t.Tool.Call(ctx, args)
}

// An agent that does not speak HTTP gets the same model by an interface.
func ExampleWorld_Model() {
	_ = testLoop // go test runs it
	// Output:
}
