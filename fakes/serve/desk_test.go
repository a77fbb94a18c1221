package serve

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/scenarios"
)

// A servedTools world also has its calls executed at the server's desk. The server
// sees their results only behind what a client makes of them, which it cannot read.
type servedTools struct {
	*served
	desk *fakes.Desk
	open map[loop.Ref]*fakes.Execution
	same int
}

func (w *servedTools) Do(ctx context.Context, in loop.Input, effects []loop.Effect) {
	if w.blind {
		w.served.Do(ctx, in, effects)
		return
	}
	if x := w.open[in.Ref]; x != nil && in.Kind == loop.ToolResult {
		x.End(in.Code != loop.Cancelled)
		delete(w.open, in.Ref)
		w.same++
		if got := (fakes.ToolSaid{Code: in.Code, Text: in.Text, After: x.Said.After, Passing: x.Said.Passing}); got != x.Said && in.Code != loop.Cancelled {
			w.t.Errorf("%v: the world says\n%+v\nthe desk says\n%+v", in.Ref, got, x.Said)
		}
	}
	w.served.Do(ctx, in, effects)
	for i := range effects {
		switch e := &effects[i]; e.Kind {
		case loop.CallTool:
			x := w.desk.Execute(e.Name, e.Args)
			switch {
			case errors.Is(x.Err, fakes.ErrSubRun):
				x.End(false)
				continue
			case x.Err != nil:
				w.t.Error(x.Err)
			case x.Call.Ref() != e.Ref:
				w.t.Errorf("the loop executes %v %s %s, the desk %+v (asked: %v)", e.Ref, e.Name, e.Args, x.Call, x.Asked)
			}
			w.open[e.Ref] = x
		case loop.CancelTool:
			if x := w.open[e.Ref]; x != nil {
				x.End(false)
				delete(w.open, e.Ref)
			}
		}
	}
}

// hidden is what the client makes of a result that the desk has told it.
func (w *servedTools) hidden(m loop.Message) loop.Message {
	if _, answered, _ := w.desk.Told(m.Ref.N); !answered {
		return m
	}
	m.Text, m.Failed = fmt.Sprintf("(the tool said %d characters)", len(m.Text)), false
	return m
}

// otherCalls are the scenarios in which the loop executes calls that the model did not
// ask for, and why.
var otherCalls = map[string]string{
	"contracts/fallback-tool":             "a fallback tool takes over",
	"clarify/action-asks":                 "the calls are in the text",
	"protocol/actions-in-the-text":        "the calls are in the text",
	"protocol/batches-twice-and-mixed-up": "the reply repeats calls, which the loop numbers and no history shows",
}

// Every call that the loop executes is the one that the desk takes it for, try by try,
// and the model goes on by what the desk said.
func TestTheDeskPlaysTheTools(t *testing.T) {
	all, err := scenarios.Load()
	if err != nil {
		t.Fatal(err)
	}
	least := 4_000
	if testing.Short() {
		few := all[:0]
		for i := 0; i < len(all); i += 8 {
			few = append(few, all[i])
		}
		all, least = few, 400
	}
	same := 0
	for _, s := range all {
		if otherCalls[s.ID()] != "" {
			continue
		}
		t.Run(s.ID(), func(t *testing.T) {
			server, err := New([]Scenario{{s.ID(), &s.Script}}, Options{})
			if err != nil {
				t.Fatal(err)
			}
			const seed = 3
			w := &servedTools{desk: server.desk(server.only, seed), open: map[loop.Ref]*fakes.Execution{},
				served: &served{World: fakes.NewWorld(&s.Script, seed), t: t, server: server, wants: map[loop.Ref]loop.Input{}, ids: map[string]string{},
					path: fmt.Sprintf("/run/%s/%d", s.ID(), seed), client: clients["chat"]}}
			if w.desk == nil {
				t.Skip("it has no tools to execute")
			}
			w.hides = w.hidden
			m, err := loop.New(s.Config, s.Script.LoopTask(seed), s.Script.Specs())
			if err != nil {
				t.Fatal(err)
			}
			loop.Run(context.Background(), m, w)
			same += w.same
		})
	}
	if same < least {
		t.Errorf("only %d executions were compared", same)
	}
}
