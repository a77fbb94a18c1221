package fakes

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbench-go/agentbench/loop"
)

var ceilingCancel = loop.Input{Kind: loop.Cancel, Cause: loop.ByCeiling}

func TestOneInstantKeepsTheOrderOfCreation(t *testing.T) {
	w := NewWorld(oneTool(Answer{}), 1)
	do(w, 0, call(3, 1, "f", ""), call(1, 1, "f", ""), call(4, 1, "f", ""))
	do(w, 0, call(2, 1, "f", ""))
	for _, want := range []int{3, 1, 4, 2} {
		if in := next(t, w); in.Ref.N != want {
			t.Errorf("call %d answered, not %d", in.Ref.N, want)
		}
	}
}

func TestTheTickComesFirst(t *testing.T) {
	w := NewWorld(model(Step{Repeat: Forever}), 1)
	do(w, 0, ask(1, 1)) // answered at 2 s
	for _, tt := range []struct {
		wake time.Duration
		want loop.Input
	}{
		{sec, loop.Input{At: sec, Kind: loop.Tick}},
		{2 * sec, loop.Input{At: 2 * sec, Kind: loop.Tick}},
		{2*sec + 1, loop.Input{At: 2 * sec, Kind: loop.ModelReply, Ref: m(1, 1), Finish: loop.FinishStop}},
		{9 * sec, loop.Input{At: 9 * sec, Kind: loop.Tick}}, // nothing is pending
	} {
		in, err := w.Next(context.Background(), tt.wake, true)
		if diff := cmp.Diff(tt.want, in); diff != "" || err != nil {
			t.Errorf("wake at %v: %v %s", tt.wake, err, diff)
		}
	}
}

// After a good end comes the next message, after any other nothing.
func TestFollowUps(t *testing.T) {
	script := &Script{User: User{Messages: []UserMessage{{Text: "And the next one?"}, {Text: "Thanks.", Wait: 10 * sec}}}}
	w := NewWorld(script, 1)
	do(w, sec, halt(loop.StopDone))
	first := loop.Input{At: sec, Kind: loop.UserMessage, Text: "And the next one?"}
	if diff := cmp.Diff(first, next(t, w)); diff != "" {
		t.Error(diff)
	}
	w.Do(context.Background(), first, nil)
	do(w, 5*sec, halt(loop.StopByModel)) // as good an end
	second := loop.Input{At: 15 * sec, Kind: loop.UserMessage, Text: "Thanks."}
	if diff := cmp.Diff(second, next(t, w)); diff != "" {
		t.Error(diff)
	}
	w.Do(context.Background(), second, nil)
	do(w, 20*sec, halt(loop.StopDone))
	if err := failing(t, w); err != io.EOF {
		t.Errorf("after the last message: %v", err)
	}
	if n := len(w.Outcomes()); n != 3 {
		t.Errorf("%d outcomes of 3 runs", n)
	}

	w = NewWorld(script, 1)
	do(w, sec, halt(loop.StopTurnLimit))
	if err := failing(t, w); err != io.EOF {
		t.Errorf("after a bad stop: %v", err)
	}
}

func TestUserCancels(t *testing.T) {
	script := oneTool(Answer{})
	script.User.Cancel = &CancelAt{At: 150 * ms}
	w := NewWorld(script, 1)
	do(w, 0, call(1, 1, "f", ""))
	if diff := cmp.Diff(loop.Input{At: 150 * ms, Kind: loop.Cancel}, next(t, w)); diff != "" {
		t.Error(diff)
	}

	script.User.Cancel = &CancelAt{Call: 2}
	w = NewWorld(script, 1)
	do(w, 0, call(1, 1, "f", ""))
	if in := next(t, w); in.Kind != loop.ToolResult {
		t.Errorf("the first call got %+v", in)
	}
	do(w, sec, call(2, 1, "f", ""))
	if diff := cmp.Diff(loop.Input{At: sec, Kind: loop.Cancel}, next(t, w)); diff != "" {
		t.Error(diff)
	}
	next(t, w) // the result of call 2
	do(w, 2*sec, call(2, 2, "f", ""))
	if in := next(t, w); in.Kind != loop.ToolResult {
		t.Errorf("the second try of call 2 got %+v", in)
	}
}

func TestCeilingOfRequests(t *testing.T) {
	w := NewWorld(model(Step{Repeat: Forever, Failures: []ModelFailure{{}}}), 1)
	w.Ceiling.Requests = 2
	for _, e := range []loop.Effect{ask(1, 1), ask(1, 2), ask(2, 1), ask(2, 2)} {
		do(w, 0, e)
		if in := next(t, w); in.Kind == loop.Cancel {
			t.Errorf("cut short at %v", e.Ref)
		}
	}
	do(w, 7*sec, ask(3, 1))
	want := ceilingCancel
	want.At = 7 * sec
	if diff := cmp.Diff(want, next(t, w)); diff != "" {
		t.Error(diff)
	}
}

// The world does not send a reply that would ask for one call too many.
func TestCeilingOfCalls(t *testing.T) {
	w := NewWorld(model(Step{Repeat: Forever, Calls: []StepCall{{Name: "f"}, {Name: "f"}}}), 1)
	w.Ceiling.Calls = 5
	for n := 1; n <= 2; n++ { // 2 and 4 calls
		do(w, 0, ask(n, 1))
		in := next(t, w)
		if in.Kind != loop.ModelReply {
			t.Fatalf("request %d got %+v", n, in)
		}
		w.Do(context.Background(), in, nil)
	}
	do(w, 10*sec, ask(3, 1)) // 6 calls
	want := ceilingCancel
	want.At = 12 * sec
	if diff := cmp.Diff(want, next(t, w)); diff != "" {
		t.Error(diff)
	}
}

func TestCeilingOfTime(t *testing.T) {
	atEnd := ceilingCancel
	atEnd.At = 24 * time.Hour
	t.Run("an answer at the very end", func(t *testing.T) {
		w := NewWorld(model(Step{}), 1)
		do(w, 24*time.Hour-2*sec, ask(1, 1))
		if in := next(t, w); in.Kind != loop.ModelReply {
			t.Errorf("got %+v", in)
		}
	})
	t.Run("an answer after it", func(t *testing.T) {
		w := NewWorld(model(Step{}), 1)
		do(w, 24*time.Hour-2*sec+1, ask(1, 1))
		if diff := cmp.Diff(atEnd, next(t, w)); diff != "" {
			t.Error(diff)
		}
		// What was under way may still end.
		if in := next(t, w); in.Kind != loop.ModelReply {
			t.Errorf("then %+v", in)
		}
	})
	t.Run("a tick after it", func(t *testing.T) {
		w := NewWorld(model(Step{}), 1)
		in, err := w.Next(context.Background(), 25*time.Hour, true)
		if diff := cmp.Diff(atEnd, in); diff != "" || err != nil {
			t.Error(err, diff)
		}
	})
	// A hang that no timeout ends is not a dry script: time passes.
	t.Run("nothing ever", func(t *testing.T) {
		w := NewWorld(oneTool(Answer{Hang: true}), 1)
		do(w, sec, call(1, 1, "f", ""))
		if diff := cmp.Diff(atEnd, next(t, w)); diff != "" {
			t.Error(diff)
		}
		if err := failing(t, w); err != io.EOF {
			t.Errorf("after the ceiling: %v", err)
		}
	})
	// Nobody runs away between two runs; a run that begins too late ends at once.
	t.Run("a message after it", func(t *testing.T) {
		script := model(Step{})
		script.User.Messages = []UserMessage{{Wait: 30 * time.Hour}}
		w := NewWorld(script, 1)
		do(w, 0, halt(loop.StopDone))
		in := next(t, w)
		if in.Kind != loop.UserMessage || in.At != 30*time.Hour {
			t.Fatalf("got %+v", in)
		}
		w.Do(context.Background(), in, []loop.Effect{ask(1, 1)})
		want := ceilingCancel
		want.At = 30 * time.Hour
		if diff := cmp.Diff(want, next(t, w)); diff != "" {
			t.Error(diff)
		}
	})
}

func TestBrokenScriptIsNotPlayed(t *testing.T) {
	w := NewWorld(model(Step{Text: "${rnd:1..6}"}), 1)
	do(w, 0, ask(1, 1))
	var field *loop.FieldError
	if err := failing(t, w); !errors.As(err, &field) || field.Field != "model[0].text" {
		t.Errorf("got %v", err)
	}
}

func TestMissingResultRunsDry(t *testing.T) {
	w := NewWorld(model(Step{Calls: []StepCall{{Name: "f", Args: `{"id":"${result:last.id}"}`}}}), 1)
	do(w, 0, ask(1, 1))
	err := failing(t, w)
	if !errors.Is(err, loop.ErrDry) || !strings.Contains(err.Error(), `request m1, call "f": no value for ${result:last.id}: there is no result yet`) {
		t.Errorf("got %v", err)
	}
}

// The queue returns its inputs ordered by instant and then by creation, without
// those that were dropped.
func TestQueue(t *testing.T) {
	var q queue
	k := newKey(1)
	type item struct {
		at time.Duration
		n  int
	}
	var want []item
	for n := range 200 {
		at := time.Duration(k.of(n).below(20))
		q.push(nil, loop.Input{At: at, Ref: c(n+1, 0)})
		if n%3 != 0 {
			want = append(want, item{at, n})
		}
	}
	for n := 0; n < 200; n += 3 {
		q.drop(nil, c(n+1, 0))
	}
	for i := range want { // insertion sort, stable
		for j := i; j > 0 && want[j].at < want[j-1].at; j-- {
			want[j], want[j-1] = want[j-1], want[j]
		}
	}
	for _, item := range want {
		at, _ := q.first()
		if in, _ := q.pop(); in.Ref.N != item.n+1 || in.At != item.at || at != item.at {
			t.Fatalf("got call %d at %v, want call %d at %v", in.Ref.N, in.At, item.n+1, item.at)
		}
	}
	if _, more := q.first(); more {
		t.Error("something is left")
	}
}
