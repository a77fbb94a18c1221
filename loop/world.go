package loop

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// A World answers a machine: it carries out effects and yields the next input.
// Worlds are interchangeable and wrap each other.
type World interface {
	// Do is told what the machine was given and what it asks for in answer. It
	// does not block, and keeps nothing of effects.
	//
	// An in without a Kind is not a step: a resumed session hands over, once and
	// first of all, the effects of its saved steps that still wait for an answer
	// (see [Continue]). Nobody works on them, so the world starts on them anew.
	Do(ctx context.Context, in Input, effects []Effect)

	// Next yields the next input. Where armed is true it never yields one at or
	// after wake without yielding a Tick at wake first. It returns io.EOF when
	// nothing is pending and nothing is armed: the session is over, or a script
	// ran dry.
	Next(ctx context.Context, wake time.Duration, armed bool) (Input, error)
}

// ErrDry says that a world had nothing to answer while the machine still
// waited.
var ErrDry = errors.New("the world ran dry")

// Run drives a machine in a world to the end of the session, and returns the
// outcome of its last run. An error means that the session broke off: the
// outcome then tells how far it came.
func Run(ctx context.Context, m *Machine, w World) (Outcome, error) {
	in := m.Begin()
	return Continue(ctx, m, w, in, m.Step(in))
}

// Continue drives a machine on after steps that have been made already. effects
// are those that the world still has to carry out, and in is the input of their
// step; or, where they come from several steps, an input without a Kind that
// only tells the time of the last one.
func Continue(ctx context.Context, m *Machine, w World, in Input, effects []Effect) (Outcome, error) {
	for {
		w.Do(ctx, in, effects)
		wake, armed := m.Wake()
		next, err := w.Next(ctx, wake, armed)
		switch {
		case err == io.EOF && m.Halted():
			return m.Outcome(), nil
		case err == io.EOF:
			return m.Outcome(), fmt.Errorf("%w: waiting for %s", ErrDry, m.waiting())
		case err != nil:
			return m.Outcome(), err
		}
		in, effects = next, m.Step(next)
	}
}

// Recording wraps a world and appends each step to t. The result has the method
// Remember of the package session if w has it.
func Recording(w World, t *Trace) World {
	r := &recorder{World: w, trace: t}
	if told, ok := w.(rememberer); ok {
		return struct {
			*recorder
			rememberer
		}{r, told}
	}
	return r
}

type recorder struct {
	World
	trace *Trace
}

type rememberer interface {
	Remember(in Input, effects []Effect)
}

func (r *recorder) Do(ctx context.Context, in Input, effects []Effect) {
	if in.Kind != 0 {
		r.trace.Append(in, effects)
	}
	r.World.Do(ctx, in, effects)
}
