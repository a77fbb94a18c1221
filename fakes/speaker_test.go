package fakes

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/agentbench-go/agentbench/loop"
	"github.com/google/go-cmp/cmp"
)

// playSpoken plays a script with a speaker, and returns the trace as text.
func playSpoken(t *testing.T, w *World, s *Script, cfg loop.Config) (string, loop.Outcome) {
	t.Helper()
	m, err := loop.New(cfg, s.LoopTask(1), s.Specs())
	if err != nil {
		t.Fatal(err)
	}
	var trace loop.Trace
	out, err := loop.Run(context.Background(), m, loop.Recording(w, &trace))
	if err != nil {
		t.Fatalf("%v\n%s", err, trace)
	}
	return trace.String(), out
}

var looks = loop.AskedCall{ID: "c", Name: "look", Args: "{}"}

func lookScript(faults ...string) *Script {
	s := &Script{Task: "look", Tools: []Tool{{ToolSpec: loop.ToolSpec{Name: "look"}, Answers: []Answer{{Result: "a wall"}}}}}
	for _, text := range faults {
		f, err := ParseFault(text)
		if err != nil {
			panic(err)
		}
		s.Faults = append(s.Faults, f)
	}
	return s
}

// The speaker calls a tool in its first reply and answers in its second. Its
// pieces come at the instants that it names.
func TestSpeaker(t *testing.T) {
	s := lookScript()
	w := NewWorld(s, 1)
	var asked []string
	w.Speaker = func(_ context.Context, at time.Duration, req loop.ModelRequest) (Said, error) {
		asked = append(asked, at.String()+" "+req.Ref.String()+" "+req.Tools[0].Name)
		if req.Ref.N == 1 {
			return Said{Calls: []loop.AskedCall{looks}, Finish: loop.FinishToolCalls, After: 300 * time.Millisecond, TokensIn: 5, TokensOut: 7, Cost: 9}, nil
		}
		return Said{Text: "a wall", Finish: loop.FinishStop, After: 90 * time.Millisecond, Deltas: []Delta{{20 * time.Millisecond, "a "}, {70 * time.Millisecond, "wall"}}}, nil
	}
	got, out := playSpoken(t, w, s, loop.Off())
	// The tool takes 200 ms, so the second request is made at 0.3 + 0.2 s.
	want := `   0.000s started text=look
          > ask m1#1 for=reply to=1
   0.300s reply m1 call=c:look("{}") finish=tool_calls in=5 out=7 cost=9
          > call c1#1 name=look args="{}"
   0.500s result c1#1 ok text="a wall"
          > put c1 text="a wall"
          > ask m2#1 for=reply to=3
   0.520s delta m2 text="a "
   0.570s delta m2 text=wall
   0.590s reply m2 text="a wall" finish=stop
`
	if diff := cmp.Diff(want, got[:min(len(want), len(got))]); diff != "" || out.Stop != loop.StopDone {
		t.Errorf("stop %s, trace (-want +got):\n%s", out.Stop, diff)
	}
	if diff := cmp.Diff([]string{"0s m1#1 look", "500ms m2#1 look"}, asked); diff != "" {
		t.Error(diff)
	}
}

// The speaker is not asked if a fault replaces its answer, so that a cassette keeps
// its answer to the second request.
func TestFaultsStrikeTheSpeaker(t *testing.T) {
	cfg := loop.Off()
	cfg.ModelRetry = loop.ModelRetry{Max: 3, Statuses: []string{"4xx", "5xx"}}
	for _, c := range []struct {
		faults []string
		asked  []string // the tries that reach the speaker
		stop   loop.Stop
	}{
		{nil, []string{"m1#1", "m2#1"}, loop.StopDone},
		{[]string{"error model 2 429", "error model 2#2 429"}, []string{"m1#1", "m2#3"}, loop.StopDone},
		{[]string{"cut model 2 after 1"}, []string{"m1#1", "m2#1", "m2#2"}, loop.StopDone},
		{[]string{"empty model 2"}, []string{"m1#1", "m2#1"}, loop.StopEmptyReply},
	} {
		s := lookScript(c.faults...)
		w := NewWorld(s, 1)
		var asked []string
		w.Speaker = func(_ context.Context, _ time.Duration, req loop.ModelRequest) (Said, error) {
			asked = append(asked, req.Ref.String())
			if req.Ref.N == 1 {
				return Said{Calls: []loop.AskedCall{looks}, Finish: loop.FinishToolCalls, After: time.Second}, nil
			}
			return Said{Text: "done", Finish: loop.FinishStop, After: time.Second, Deltas: []Delta{{0, "do"}, {time.Second, "ne"}}}, nil
		}
		trace, out := playSpoken(t, w, s, cfg)
		if diff := cmp.Diff(c.asked, asked); diff != "" || out.Stop != c.stop || len(w.NotFired()) > 0 {
			t.Errorf("%v: stop %s (want %s), not fired %v, asked (-want +got):\n%s\n%s", c.faults, out.Stop, c.stop, w.NotFired(), diff, trace)
		}
	}
}

// An error of the speaker ends the session.
func TestSpeakerFails(t *testing.T) {
	s := lookScript()
	w := NewWorld(s, 1)
	miss := errors.New("not recorded")
	w.Speaker = func(context.Context, time.Duration, loop.ModelRequest) (Said, error) { return Said{}, miss }
	m, err := loop.New(loop.Off(), s.LoopTask(1), s.Specs())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := loop.Run(context.Background(), m, w); !errors.Is(err, miss) {
		t.Errorf("got %v", err)
	}
}

// People are asked for a permission and for the next message, also after a run
// that failed; time stands still meanwhile.
func TestPeople(t *testing.T) {
	s := lookScript()
	s.Tools[0].Permission = loop.AskCall
	w := NewWorld(s, 1)
	w.Speaker = func(_ context.Context, _ time.Duration, req loop.ModelRequest) (Said, error) {
		switch req.Ref.N {
		case 1:
			return Said{Calls: []loop.AskedCall{looks}, Finish: loop.FinishToolCalls, After: time.Second}, nil
		case 2:
			return Said{Failure: &ModelFailure{Status: 400}, Reason: "no", After: time.Second}, nil
		}
		return Said{Text: "hello", Finish: loop.FinishStop, After: time.Second}, nil
	}
	var denied []string
	w.People.Approve = func(_ context.Context, tool, args string) (bool, string) {
		denied = append(denied, tool+args)
		return false, "not now"
	}
	var stops []loop.Stop
	w.People.FollowUp = func(_ context.Context, last loop.Outcome) (string, bool) {
		stops = append(stops, last.Stop)
		return "again", len(stops) < 2
	}
	_, out := playSpoken(t, w, s, loop.Off())
	if diff := cmp.Diff([]loop.Stop{loop.StopModelFailed, loop.StopDone}, stops); diff != "" {
		t.Error(diff)
	}
	// One second each for requests 1, 2 and 3, and nothing else takes time.
	if w.now != 3*time.Second || len(denied) != 1 || denied[0] != "look{}" || out.Stop != loop.StopDone {
		t.Errorf("at %v, denied %q, stop %s", w.now, denied, out.Stop)
	}
}
