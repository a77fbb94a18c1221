package loop

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// A World answers a machine: it carries out effects and returns the next input.
// Worlds are interchangeable and can wrap each other.
type World interface {
	// Do starts to carry out the effects of a step whose input was in. It does
	// not block, and does not keep the slice effects.
	//
	// An in without a Kind is not a step. A resumed session makes its first call
	// of Do so, with the effects of saved steps that still wait for an answer
	// (see [Continue]). The world starts on them from the beginning.
	Do(ctx context.Context, in Input, effects []Effect)

	// Next returns the next input. If armed is true it must return a Tick at wake
	// before any input at or after wake. It returns io.EOF if nothing is pending
	// and armed is false: the session is over, or a script has nothing more to
	// say.
	Next(ctx context.Context, wake time.Duration, armed bool) (Input, error)
}

// ErrDry means that a world had no further input while the machine still waited
// for one.
var ErrDry = errors.New("the world ran dry")

// Run drives a machine in a world to the end of the session, and returns the
// outcome of its last run. After an error the session is incomplete, and the
// outcome holds the counts so far.
func Run(ctx context.Context, m *Machine, w World) (Outcome, error) {
	in := m.Begin()
	return Continue(ctx, m, w, in, m.Step(in))
}

// Continue is like [Run] for a machine that has already made steps. effects are
// those that the world must still carry out, and in is the input of their step. If
// they are from several steps, in has no Kind, and its At is that of the last one.
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

// A Nesting is a world in which tools are sub-runs with machines of their own, which
// the world drives itself. It remembers steps: see the package session.
type Nesting interface {
	World
	Remember(in Input, effects []Effect)
	// SubSteps makes the world call each with every further step of a sub-run, in
	// the order of the trace.
	SubSteps(each func(path Path, in Input, effects []Effect))
	// RememberSub shows the world a step of a sub-run that was made earlier. It
	// returns the step as the sub-run makes it now.
	RememberSub(saved Record) Record
}

// Recording returns a world that appends each step to t and passes it on to w. Of a
// [Nesting] it also appends the steps of sub-runs. The result is a Nesting if w is one,
// and has the method Remember, which the package session calls, if w has it.
func Recording(w World, t *Trace) World {
	r := &recorder{World: w, trace: t}
	if nesting, ok := w.(Nesting); ok {
		nesting.SubSteps(t.AppendSub)
		return struct {
			*recorder
			nested
		}{r, nesting}
	}
	if known, ok := w.(rememberer); ok {
		return struct {
			*recorder
			rememberer
		}{r, known}
	}
	return r
}

type recorder struct {
	World
	trace *Trace
}

type nested interface {
	rememberer
	SubSteps(each func(path Path, in Input, effects []Effect))
	RememberSub(saved Record) Record
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
