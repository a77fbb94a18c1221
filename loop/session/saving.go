package session

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/agentbench-go/agentbench/loop"
)

// Saving returns a world that saves each step of the session in store before w
// carries it out. So a call is saved before it starts, and its result before the
// loop goes on. Pieces of a stream, and ticks without effects, are saved with the
// next step. The steps of the sub-runs of a [loop.Nesting] are saved as they are made.
//
// The first error of the store ends the session: w does not get the step, and Next
// returns the error. What w does at that time goes on: call [loop.Live.Close] to end
// it. To continue a saved session, pass the returned world to
// [Resume]; only new steps are saved then. The world is a [Rememberer] if w is one.
func Saving(w loop.World, store Store, session string) loop.World {
	s := &saving{World: w, store: store, session: session}
	if n, ok := w.(loop.Nesting); ok {
		n.SubSteps(func(path loop.Path, in loop.Input, effects []loop.Effect) { s.step(path, in, effects) })
		return struct {
			*saving
			nested
		}{s, n}
	}
	if r, ok := w.(Rememberer); ok {
		return struct {
			*saving
			Rememberer
		}{s, r}
	}
	return s
}

// nested are the methods of a [loop.Nesting] beside those of a world.
type nested interface {
	Rememberer
	SubSteps(each func(path loop.Path, in loop.Input, effects []loop.Effect))
	RememberSub(saved loop.Record) loop.Record
}

type saving struct {
	loop.World
	store   Store
	session string
	pending loop.Trace // steps to save with the next one
	err     error
}

func (s *saving) Do(ctx context.Context, in loop.Input, effects []loop.Effect) {
	if in.Kind != 0 { // otherwise these are effects of saved steps
		s.step("", in, effects)
	}
	if s.err == nil {
		s.World.Do(ctx, in, effects)
	}
}

// step saves a step of the session or of a sub-run.
func (s *saving) step(path loop.Path, in loop.Input, effects []loop.Effect) {
	s.pending.AppendSub(path, in, effects)
	if !canWait(in, effects) {
		s.save()
	}
}

// canWait reports whether a resumed session does not need the step.
func canWait(in loop.Input, effects []loop.Effect) bool {
	switch in.Kind {
	case loop.ModelDelta:
		return !slices.ContainsFunc(effects, func(e loop.Effect) bool { return e.Kind != loop.Note })
	case loop.Tick:
		return len(effects) == 0
	}
	return false
}

// save saves the pending steps.
func (s *saving) save() {
	if s.err == nil && len(s.pending) > 0 {
		s.err = s.store.Append(s.session, s.pending)
		s.pending = nil
	}
}

func (s *saving) Next(ctx context.Context, wake time.Duration, armed bool) (loop.Input, error) {
	var in loop.Input
	var err error
	if s.err == nil {
		if in, err = s.World.Next(ctx, wake, armed); err == io.EOF {
			s.save()
		}
	}
	if s.err != nil {
		return loop.Input{}, fmt.Errorf("saving session %q: %w", s.session, s.err)
	}
	return in, err
}
