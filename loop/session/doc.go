// Package session saves sessions of a loop, resumes them in another process, and
// runs the messages of a session one after another.
//
// # Save and resume
//
// Saving a session appends its steps, each an input with its effects, to a [Store].
// Resuming it feeds the inputs to a fresh machine and compares the effects. There is
// no state to serialise, and a machine that behaves differently is found at once.
// This runs a session until it ends, however often the process is killed in
// between:
//
//	store, err := session.Dir("sessions")
//	…
//	trace, err := store.Load("order-7") // ErrNotFound the first time
//	…
//	out, err := session.Resume(ctx, machine, session.Saving(world, store, "order-7"), trace)
//
// [Saving] saves each step before the world carries it out. [Resume] hands the world
// the effects of the saved steps that no saved step answers. So a call with a result
// never runs again. A call without one runs again, since it is not known how far it
// came. But if its tool is [loop.NotIdempotent] it does not run again: it ends with
// an error from which the model learns that it may have taken effect.
//
// An effect that is carried out again is not a new step. So a resumed session has
// the same trace as one that was never interrupted, except for clock times and the
// calls that did not run again.
//
// # Queues
//
// A [Queue] runs the messages of one session one after another. Runs of different
// sessions overlap.
package session
