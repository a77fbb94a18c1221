package scenarios

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/loop"
)

// Every call of every embedded scenario gets from a toolbox what it got in the world:
// the same code, text and latency at the same try.
func TestToolboxAnswersAsTheWorld(t *testing.T) {
	all, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	compared, refused := 0, 0
	for _, s := range all {
		for seed := range uint64(3) {
			var trace loop.Trace
			if _, err := fakes.NewWorld(&s.Script, seed).Run(context.Background(), s.Config, &trace); err != nil {
				t.Fatal(err)
			}
			box, err := fakes.NewToolbox(&s.Script, seed)
			if err != nil {
				t.Fatal(err)
			}
			c, r := askAgain(t, s.ID(), box, trace.Own())
			compared, refused = compared+c, refused+r
		}
	}
	if compared < 3*1000 || refused < 3*10 {
		t.Errorf("only %d tries were compared and %d refused", compared, refused)
	}
}

// askAgain asks a toolbox for every try of a trace. It returns the number of answers
// that it compared, and of the calls that were refused as sub-runs.
func askAgain(t *testing.T, id string, box *fakes.Toolbox, trace loop.Trace) (compared, refused int) {
	type try struct {
		at   time.Duration
		said fakes.ToolSaid
	}
	tries, turn := map[loop.Ref]try{}, 0
	for i := range trace {
		in := &trace[i].In
		if one, ok := tries[in.Ref]; ok && in.Kind == loop.ToolResult {
			compared++
			got := fakes.ToolSaid{Code: in.Code, Text: in.Text, After: in.At - one.at, Passing: one.said.Passing}
			if got != one.said {
				t.Errorf("%s, %v:\nworld   %+v\ntoolbox %+v", id, in.Ref, got, one.said)
			}
			delete(tries, in.Ref)
		}
		for j := range trace[i].Effects {
			switch e := &trace[i].Effects[j]; e.Kind {
			case loop.AskModel:
				turn = e.Ref.N
			case loop.CancelTool:
				if one, ok := tries[e.Ref]; ok && !one.said.Hang && in.At > one.at+one.said.After {
					t.Errorf("%s, %v has no answer in the world, but in the toolbox after %v", id, e.Ref, one.said.After)
				}
				delete(tries, e.Ref)
			case loop.CallTool:
				said, err := box.Call(fakes.ToolCall{N: e.Ref.N, Try: e.Ref.Try, Turn: turn, Name: e.Name, Args: e.Args})
				switch {
				case errors.Is(err, fakes.ErrSubRun):
					refused++
				case err != nil:
					t.Errorf("%s: %v", id, err)
				default:
					tries[e.Ref] = try{in.At, said}
				}
			}
		}
	}
	return compared, refused
}
