package goagents

import (
	"context"
	"testing"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/loop"
)

// TestLoopStops runs the reference loop itself, as a library: its default
// config stops the same call at its fifth request, after four calls.
func TestLoopStops(t *testing.T) {
	script := &fakes.Script{
		Task:  "go",
		Tools: []fakes.Tool{{ToolSpec: loop.ToolSpec{Name: "look"}, Answers: []fakes.Answer{{Result: "nothing new"}}}},
		Model: []fakes.Step{{Calls: []fakes.StepCall{{Name: "look", Args: "{}"}}, Repeat: fakes.Forever}},
	}
	m, err := loop.New(loop.Default(), loop.Task{Text: script.Task}, []loop.ToolSpec{{Name: "look"}})
	if err != nil {
		t.Fatal(err)
	}
	out, err := loop.Run(context.Background(), m, fakes.NewWorld(script, 1))
	if err != nil {
		t.Fatal(err)
	}
	if out.Stop != "circuit-breaker" || out.Calls != 4 {
		t.Errorf("it stopped by %s after %d calls, want the circuit breaker after 4", out.Stop, out.Calls)
	}
}
