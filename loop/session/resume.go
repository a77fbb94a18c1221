package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/agentbench-go/agentbench/loop"
)

// Saving wraps a world so that the session is saved after each turn: whenever
// the loop asks the model or halts. The first error of the store ends the
// session: Next returns it.
func Saving(w loop.World, store Store, session string) loop.World {
	return &saving{World: w, store: store, session: session}
}

type saving struct {
	loop.World
	store   Store
	session string
	pending loop.Trace
	err     error
}

func (s *saving) Do(ctx context.Context, in loop.Input, effects []loop.Effect) {
	s.pending.Append(in, effects)
	for _, e := range effects {
		if (e.Kind == loop.AskModel || e.Kind == loop.Halt) && s.err == nil {
			s.err = s.store.Append(s.session, s.pending)
			s.pending = nil
		}
	}
	if s.err == nil {
		s.World.Do(ctx, in, effects)
	}
}

func (s *saving) Next(ctx context.Context, wake time.Duration, armed bool) (loop.Input, error) {
	if s.err != nil {
		return loop.Input{}, fmt.Errorf("saving session %q: %w", s.session, s.err)
	}
	return s.World.Next(ctx, wake, armed)
}

// A Rememberer is a world whose answers depend on what was said before.
// [Resume] tells it the steps that the trace holds.
type Rememberer interface {
	// Remember tells the world a step that has been made already. What it asks
	// for is answered by the next step that is told.
	Remember(in loop.Input, effects []loop.Effect)
}

// A DriftError says that a machine did not do what it had done: its config,
// task, tools or version is another.
type DriftError struct {
	Step      int // in the trace, counted from 1
	Want, Got loop.Record
}

func (e *DriftError) Error() string {
	return fmt.Sprintf("the session does not go as it went: step %d was\n%sand is now\n%s", e.Step, e.Want, e.Got)
}

// Resume goes on with a session from its saved trace, in a world that knows
// nothing of it, and drives it to its end as [loop.Run] does. m must be fresh
// and made from the same config, task and tools; a machine that does otherwise
// than the trace says is a [DriftError]. An empty trace begins the session.
func Resume(ctx context.Context, m *loop.Machine, w loop.World, t loop.Trace) (loop.Outcome, error) {
	if len(t) == 0 {
		return loop.Run(ctx, m, w)
	}
	open, err := refold(m, w, t)
	if err != nil {
		return m.Outcome(), err
	}
	return loop.Continue(ctx, m, w, loop.Input{At: t[len(t)-1].In.At, Kind: loop.Tick}, open)
}

// refold feeds the machine what went in, compares what comes out, and gives the
// effects of the last step that still wait for the world.
func refold(m *loop.Machine, w loop.World, t loop.Trace) (open []loop.Effect, err error) {
	world, _ := w.(Rememberer)
	for i, want := range t {
		effects := m.Step(want.In)
		var got loop.Trace
		got.Append(want.In, effects)
		if got[0].String() != want.String() {
			return nil, &DriftError{Step: i + 1, Want: want, Got: got[0]}
		}
		done := effects
		if i == len(t)-1 {
			done = slices.DeleteFunc(slices.Clone(effects), waits)
			open = slices.DeleteFunc(effects, func(e loop.Effect) bool { return !waits(e) })
		}
		if world != nil {
			world.Remember(want.In, done)
		}
	}
	if len(open) == 0 {
		return nil, errors.New("the trace does not end with a turn")
	}
	return open, nil
}

// waits reports whether the world has to do something after a turn.
func waits(e loop.Effect) bool { return e.Kind == loop.AskModel || e.Kind == loop.Halt }
