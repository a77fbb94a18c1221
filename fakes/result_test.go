package fakes

import (
	"encoding/json"
	"io"
	"testing"

	"github.com/agentbench-go/agentbench/loop"
)

// A When step may depend on what the last result says.
func TestWhenResult(t *testing.T) {
	for _, tt := range []struct {
		name   string
		is     ResultIs
		result string
		want   bool
	}{
		{"contains", ResultIs{Contains: "running"}, "job 7 is running", true},
		{"contains something else", ResultIs{Contains: "running"}, "job 7 is done", false},
		{"matches", ResultIs{Matches: "state: (queued|running)$"}, "state: queued", true},
		{"matches nothing", ResultIs{Matches: "state: (queued|running)$"}, "state: queued for ever", false},
		{"a field", ResultIs{Path: "job.state", Is: "running"}, `{"job":{"state":"running"}}`, true},
		{"another value", ResultIs{Path: "job.state", Is: "running"}, `{"job":{"state":"done"}}`, false},
		{"no such field", ResultIs{Path: "job.state", Is: "running"}, `{"job":"running"}`, false},
		{"an entry of a list", ResultIs{Path: "items.1.id", Is: json.Number("4")}, `{"items":[{"id":3},{"id":4.0}]}`, true},
		{"beyond a list", ResultIs{Path: "items.2", Is: nil}, `{"items":[1,2]}`, false},
		{"null", ResultIs{Path: "next", Is: nil}, `{"next":null}`, true},
		{"an object", ResultIs{Path: "a", Is: map[string]any{"b": true}}, `{"a":{"b":true}}`, true},
		{"not JSON", ResultIs{Path: "a", Is: "b"}, `a: b`, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := NewWorld(model(Step{Repeat: Forever}, Step{When: WhenResult, Result: tt.is, Text: "holds"}), 1)
			result := func(n int, text string) loop.Message {
				return loop.Message{Ref: c(n, 0), Role: loop.ToolRole, Text: text}
			}
			do(w, 0, ask(1, 1))
			next(t, w)
			// The last result of the batch counts, and a message of the loop's own may follow it.
			do(w, 0, ask(2, 1, loop.Message{Ref: m(1, 0), Role: loop.Assistant}, result(1, "state: running"), result(2, tt.result),
				loop.Message{Role: loop.User, Text: "running"}))
			if got := next(t, w).Text == "holds"; got != tt.want {
				t.Errorf("it holds: %t, want %t", got, tt.want)
			}
		})
	}
	w := NewWorld(model(Step{Text: "no result"}, Step{When: WhenResult, Result: ResultIs{Matches: ".*"}}), 1)
	do(w, 0, ask(1, 1, loop.Message{Role: loop.User, Text: "Hello"}))
	if in := next(t, w); in.Text != "no result" {
		t.Errorf("without a result got %+v", in)
	}
}

func TestWhenResultMistakes(t *testing.T) {
	for _, s := range []Step{
		{When: WhenResult},
		{When: WhenResult, Result: ResultIs{Contains: "a", Matches: "b"}},
		{When: WhenResult, Result: ResultIs{Matches: "("}},
		{When: WhenResult, Result: ResultIs{Contains: "a", Is: 1}},
		{When: WhenResult, Result: ResultIs{Path: "a", Is: func() {}}},
		{When: WhenOK, Result: ResultIs{Contains: "a"}},
	} {
		if err := model(s).Validate(); err == nil {
			t.Errorf("%+v is valid", s)
		}
	}
}

// A message after any end follows a run that failed, and one after a run that is done
// does not.
func TestMessageAfterAnyEnd(t *testing.T) {
	s := model(Step{Failures: []ModelFailure{{Status: 401}}}, Step{Text: "Two."}, Step{Failures: []ModelFailure{{Status: 401}}})
	s.User.Messages = []UserMessage{{Text: "a", AfterAny: true, Wait: 10 * sec}, {Text: "b"}, {Text: "never said"}}
	outcomes, trace := play(t, s, loop.Default())
	var got []loop.Stop
	for _, o := range outcomes {
		got = append(got, o.Stop)
	}
	if len(got) != 3 || got[0] != loop.StopModelFailed || got[1] != loop.StopDone || got[2] != loop.StopModelFailed {
		t.Errorf("got %v\n%v", got, trace)
	}
	// 2 s, 10 s, 2 s, at once, 2 s.
	if at := trace[len(trace)-1].In.At; at != 16*sec {
		t.Errorf("it took %v", at)
	}
}

// The ceiling ends the session whatever the user would say next.
func TestNoMessageAfterTheCeiling(t *testing.T) {
	s := model(Step{Failures: []ModelFailure{{Hang: true}}})
	s.User.Messages = []UserMessage{{Text: "a", AfterAny: true}}
	cfg := loop.Config{}
	if outcomes, trace := play(t, s, cfg); len(outcomes) != 1 || outcomes[0].End != loop.Ceiling {
		t.Errorf("got %v\n%v", outcomes, trace)
	}
}

// A message at an instant is read with the next request; between runs nobody hears it.
func TestMessageDuringARun(t *testing.T) {
	s := oneTool(Answer{Result: "ok"})
	s.Model = []Step{{Calls: []StepCall{{Name: "f", Args: "{}"}}}, {Text: "One."}, {Text: "Two."}}
	s.User.Messages = []UserMessage{{Text: "heard", At: 1 * sec}, {Text: "more", Wait: 10 * sec}, {Text: "not heard", At: 6 * sec}}
	w := NewWorld(s, 1)
	var trace loop.Trace
	outcomes, err := w.Run(t.Context(), loop.Default(), &trace)
	if err != nil || len(outcomes) != 2 {
		t.Fatalf("%v, %v", outcomes, err)
	}
	var steers []string
	for _, r := range trace {
		if r.In.Kind == loop.Steer {
			steers = append(steers, r.In.Text+" "+string(r.Effects[0].Event))
		}
	}
	if len(steers) != 2 || steers[0] != "heard steered" || steers[1] != "not heard ignored" {
		t.Errorf("got %q\n%v", steers, trace)
	}
	if n := w.Idle().Unsaid; n != 1 {
		t.Errorf("%d messages were not heard, want 1", n)
	}
	// The world does not repeat a remembered one.
	again := NewWorld(s, 1)
	again.Remember(loop.Input{Kind: loop.Started}, []loop.Effect{ask(1, 1)})
	again.Remember(loop.Input{At: 1 * sec, Kind: loop.Steer, Text: "heard"}, []loop.Effect{{Kind: loop.Note, Event: loop.EventSteered}})
	again.Remember(loop.Input{At: 2 * sec, Kind: loop.ModelReply, Ref: m(1, 1)}, []loop.Effect{call(1, 1, "f", "{}")})
	if in := next(t, again); in.Kind != loop.ToolResult {
		t.Errorf("got %+v, want the result", in)
	}
	again.halted = true
	if in := next(t, again); in.Kind != loop.Steer || in.Text != "not heard" {
		t.Errorf("got %+v, want the second text", in)
	}
	if in, err := again.Next(t.Context(), 0, false); err != io.EOF {
		t.Errorf("got %+v and %v, want nothing more", in, err)
	}
}
