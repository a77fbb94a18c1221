package agenttest_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/scenarios/agenttest"
)

// A test of an agent with an interface of its own for models and tools, here that of the
// reference loop: func TestLoop in a test file.
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
