package own

import (
	"context"
	"fmt"
	"testing"

	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/scenarios/agenttest"

	goagents "example.com/go-agents"
)

// The reference loop as a library. Its default config stops the same call at its fifth
// request.
func TestLoop(t *testing.T) {
	goagents.Ask(t, func(ctx context.Context, w *agenttest.World) (string, error) {
		var tools []loop.Tool
		for _, one := range w.Tools {
			tools = append(tools, scripted{one})
		}
		model := &counting{Model: w.Model()}
		out, err := loop.RunLive(ctx, loop.Default(), loop.Task{Text: w.Task}, model, tools, loop.LiveOptions{})
		if err == nil && out.End != loop.Done {
			err = fmt.Errorf("%s: %s", out.Stop, out.Reason)
		}
		if out.Stop == "circuit-breaker" && model.requests != 5 {
			t.Errorf("%d requests, not 5", model.requests)
		}
		return out.Answer, err
	})
}

// A counting model is a model of one's own around another one.
type counting struct {
	loop.Model
	requests int
}

func (m *counting) Reply(ctx context.Context, req loop.ModelRequest, delta func(string)) (loop.Reply, error) {
	m.requests++
	return m.Model.Reply(ctx, req, delta)
}

type scripted struct{ agenttest.Tool }

func (s scripted) Spec() loop.ToolSpec { return s.Tool.Spec() }

func (s scripted) Call(ctx context.Context, args string) (string, error) {
	return s.Tool.Call(ctx, args)
}
