package session

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/agentbench-go/agentbench/loop"
)

// Saving wraps a world and saves the session in store while it goes on: each
// step before w carries it out. So a call is saved before it starts, and its
// result before the loop goes on. Pieces of a stream, and ticks that bring
// nothing, are saved with the next step.
//
// The first error of the store ends the session: w is not given the step, and
// Next returns the error. To go on with a saved session, pass the result to
// [Resume], which saves only what is new. The result is a [Rememberer] if w is
// one.
func Saving(w loop.World, store Store, session string) loop.World {
	s := &saving{World: w, store: store, session: session}
	if r, ok := w.(Rememberer); ok {
		return struct {
			*saving
			Rememberer
		}{s, r}
	}
	return s
}

type saving struct {
	loop.World
	store   Store
	session string
	pending loop.Trace // steps to save with the next one
	err     error
}

func (s *saving) Do(ctx context.Context, in loop.Input, effects []loop.Effect) {
	if in.Kind != 0 { // else the effects of steps that are saved already
		s.pending.Append(in, effects)
		if !canWait(in, effects) {
			s.save()
		}
	}
	if s.err == nil {
		s.World.Do(ctx, in, effects)
	}
}

// canWait reports whether a step changes nothing that a resumed session needs.
func canWait(in loop.Input, effects []loop.Effect) bool {
	switch in.Kind {
	case loop.ModelDelta:
		return !slices.ContainsFunc(effects, func(e loop.Effect) bool { return e.Kind != loop.Note })
	case loop.Tick:
		return len(effects) == 0
	}
	return false
}

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
