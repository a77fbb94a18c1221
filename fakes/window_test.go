package fakes

import (
	"context"
	"strings"
	"testing"

	"github.com/agentbench-go/agentbench/loop"
)

// A request above the window is refused and uses up no step. The request has the task
// (2 characters: 1 + 4 tokens), the system prompt (8: 2) and the tool (read and Read it,
// 11: 3), 10 tokens. A turn adds the call (4 + 2 characters: 2 + 4) and its result (40: 10 + 4).
func TestWindow(t *testing.T) {
	script := &Script{Task: "go", System: "Be brief", Window: 30,
		Tools: []Tool{{ToolSpec: loop.ToolSpec{Name: "read", Description: "Read it"}, Answers: []Answer{{Result: strings.Repeat("x", 40)}}}},
		Model: []Step{{Calls: []StepCall{{Name: "read", Args: "{}"}}, Repeat: 2}, {Text: "done"}}}
	for _, c := range []struct {
		window int
		stop   loop.Stop
		asked  int // calls before the stop
	}{
		{9, loop.StopModelFailed, 0},
		{10, loop.StopModelFailed, 1},
		{29, loop.StopModelFailed, 1},
		{30, loop.StopModelFailed, 2},
		{50, loop.StopDone, 2},
		{0, loop.StopDone, 2},
	} {
		script.Window = c.window
		out, err := NewWorld(script, 1).Run(context.Background(), loop.Off(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if out[0].Stop != c.stop || out[0].Asked != c.asked {
			t.Errorf("window %d: %s after %d calls, want %s after %d", c.window, out[0].Stop, out[0].Asked, c.stop, c.asked)
		}
	}
	// An overflow uses up no step: with results of 100 + 4 tokens the third request has
	// 10 + 2 x 110, and its step answers after a summary.
	script.Window, script.Tools[0].Answers[0].Result = 229, strings.Repeat("x", 400)
	cfg := loop.Off()
	cfg.History.CompactOnOverflow = true
	var trace loop.Trace
	script.Model = append(script.Model, Step{When: WhenSummary, Text: "S"})
	out, err := NewWorld(script, 1).Run(context.Background(), cfg, &trace)
	if err != nil || out[0].Stop != loop.StopDone || out[0].Answer != "done" || out[0].Asked != 2 {
		t.Errorf("%v, %+v\n%v", err, out, trace)
	}
	if script.Window = -1; script.Validate() == nil {
		t.Error("a window of -1 is valid")
	}
}

// What the model says when it refuses a request is what the loop takes for an overflow.
func TestOverflowIsUnderstood(t *testing.T) {
	s := Script{Window: 8000}
	if text := s.Overflow(8000); text != "" {
		t.Errorf("a request that fits is refused: %s", text)
	}
	if text := s.Overflow(8001); !loop.Overflow(400, text) || loop.Overflow(500, text) {
		t.Errorf("not taken for an overflow: %s", text)
	}
}
