package fakes

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/agentbench-go/agentbench/loop"
)

// TestRememberCancel: the world does not repeat a remembered cancel. The user
// cancels at 12 s, between two runs, where it changes nothing; a world that
// remembers it has no further input.
func TestRememberCancel(t *testing.T) {
	s := model(Step{Text: "done", Repeat: Forever})
	s.User = User{Cancel: &CancelAt{At: 12 * sec}, Messages: []UserMessage{{Text: "more", Wait: 60 * sec}}}
	w := NewWorld(s, 1)
	w.Remember(loop.Input{Kind: loop.Started}, []loop.Effect{ask(1, 1)})
	w.Remember(loop.Input{At: 2 * sec, Kind: loop.ModelReply, Ref: m(1, 1), Text: "done"}, []loop.Effect{halt(loop.StopDone)})
	w.Remember(loop.Input{At: 12 * sec, Kind: loop.Cancel}, []loop.Effect{{Kind: loop.Note, Event: loop.EventIgnored}})
	if in := next(t, w); in.Kind != loop.UserMessage || in.At != 62*sec {
		t.Fatalf("got %+v, want the message at 62s", in)
	}
	if in, err := w.Next(context.Background(), 0, false); err != io.EOF {
		t.Errorf("got %+v and %v, want nothing more", in, err)
	}
}

// TestRememberCeiling: the ceiling that has ended a session does not end it
// again while a call takes its grace.
func TestRememberCeiling(t *testing.T) {
	w := NewWorld(oneTool(Answer{Hang: true}), 1)
	w.Remember(loop.Input{Kind: loop.Started}, []loop.Effect{call(1, 1, "f", "{}")})
	end := DefaultCeiling().Time
	w.Remember(loop.Input{At: end, Kind: loop.Cancel, Cause: loop.ByCeiling}, nil)
	in, err := w.Next(context.Background(), end+2*sec, true)
	if err != nil || in.Kind != loop.Tick || in.At != end+2*sec {
		t.Errorf("got %+v and %v, want the tick 2s later", in, err)
	}
}

// TestRememberSpeaker: a speaker and people that answered in an earlier process
// are asked only what is still open.
func TestRememberSpeaker(t *testing.T) {
	w := NewWorld(model(), 1)
	var asked []string
	w.Speaker = func(_ context.Context, _ time.Duration, r loop.ModelRequest) (Said, error) {
		asked = append(asked, r.Ref.String())
		return Said{Text: "done"}, nil
	}
	w.People.Approve = func(_ context.Context, tool, _ string) (bool, string) {
		asked = append(asked, tool)
		return true, ""
	}
	w.People.FollowUp = func(context.Context, loop.Outcome) (string, bool) {
		asked = append(asked, "follow-up")
		return "more", true
	}
	gate := loop.Effect{Kind: loop.OpenGate, Ref: g(1), Name: "f"}
	w.Remember(loop.Input{Kind: loop.Started}, []loop.Effect{ask(1, 1)})
	w.Remember(loop.Input{At: sec, Kind: loop.Tick}, []loop.Effect{{Kind: loop.CancelModel, Ref: m(1, 1)}})
	w.Remember(loop.Input{At: 2 * sec, Kind: loop.Tick}, []loop.Effect{ask(1, 2)})
	w.Remember(loop.Input{At: 3 * sec, Kind: loop.ModelReply, Ref: m(1, 2)}, []loop.Effect{gate})
	w.Remember(loop.Input{At: 4 * sec, Kind: loop.GateAnswer, Ref: g(1), Allow: true}, []loop.Effect{halt(loop.StopDone)})
	w.Remember(loop.Input{At: 5 * sec, Kind: loop.UserMessage, Text: "more"}, []loop.Effect{ask(2, 1)})
	w.Do(context.Background(), loop.Input{At: 5 * sec}, []loop.Effect{ask(2, 1)}) // handed over, and known
	if in := next(t, w); in.Kind != loop.ModelReply || in.Ref != m(2, 1) {
		t.Errorf("got %+v, want the reply m2", in)
	}
	if got := strings.Join(asked, " "); got != "m2#1" {
		t.Errorf("asked %q, want m2#1 alone", got)
	}
	if in, err := w.Next(context.Background(), 0, false); err != nil || in.Cause != loop.ByCeiling {
		t.Errorf("got %+v and %v, want nothing more than the ceiling", in, err)
	}
}
