package fakes

import (
	"testing"

	"github.com/agentbench-go/agentbench/loop"
)

func TestHooks(t *testing.T) {
	s := oneTool(Answer{When: map[string]any{"n": 7}, Result: "seven"}, Answer{Result: "raw"})
	one := func(args string) Step { return Step{Calls: []StepCall{{Name: "f", Args: args}}} }
	s.Model = []Step{one(`{"n":1}`), one(`{"n":2}`), one(`{"n":3}`), one(`{"n":4}`), {Text: "never"}}
	s.Hooks = Hooks{
		BeforeCall: []BeforeCall{
			{Tool: "g", End: "another tool"},
			{When: map[string]any{"n": 1}, Veto: "not one"},
			{Times: 1, Args: `{"n":7}`},
			{When: map[string]any{"n": 4.0}, End: "not four"},
		},
		AfterCall: []AfterCall{{Tool: "f", Times: 1, Result: "changed"}},
	}
	outcomes, trace := play(t, s, loop.Config{})
	var got []string
	for i := range trace {
		for _, e := range trace[i].Effects {
			if e.Kind == loop.Put && e.Ref.Kind == loop.RefCall {
				got = append(got, string(e.Why)+" "+e.Text)
			}
		}
	}
	want := []string{"vetoed Error: This call was vetoed and not run: not one", " changed", " raw", "vetoed Error: This call was vetoed and not run: not four"}
	if len(got) != len(want) || got[0] != want[0] || got[1] != want[1] || got[2] != want[2] || got[3] != want[3] {
		t.Errorf("got %q\nwant %q", got, want)
	}
	if o := outcomes[0]; o.Stop != loop.StopCancelled || o.Reason != "A hook ended the run: not four" || o.Calls != 2 {
		t.Errorf("the run ended as %+v", o)
	}
}

func TestHookMistakes(t *testing.T) {
	for _, h := range []Hooks{
		{BeforeCall: []BeforeCall{{}}},
		{BeforeCall: []BeforeCall{{Veto: "a", End: "b"}}},
		{BeforeCall: []BeforeCall{{Args: "[]"}}},
		{BeforeCall: []BeforeCall{{Args: "{"}}},
		{BeforeCall: []BeforeCall{{Veto: "a", Times: -1}}},
		{AfterCall: []AfterCall{{}}},
	} {
		s := model()
		s.Hooks = h
		if s.Validate() == nil {
			t.Errorf("%+v is valid", h)
		}
	}
}
