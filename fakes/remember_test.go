package fakes

import (
	"context"
	"io"
	"testing"

	"github.com/agentbench-go/agentbench/loop"
)

// TestRememberCancel: a cancel that has been said is not said again. The user
// gives up at 12 s, between two runs, where it changes nothing; a world that is
// told so has nothing more to say.
func TestRememberCancel(t *testing.T) {
	s := model(Step{Text: "done", Repeat: Forever})
	s.User = User{Cancel: &CancelAt{At: 12 * sec}, Messages: []UserMessage{{Text: "more", After: 60 * sec}}}
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
