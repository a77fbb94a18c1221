// Package session keeps sessions of a loop beyond one process, and runs the
// messages of a session one after another.
//
// # Save and resume
//
// A session is saved by appending its steps, what went in and what came out, to a
// [Store], and resumed by a fresh machine that is fed with the inputs. There is no
// state to serialise, and drift shows, since the effects are compared. This runs
// a session until it ends, however often the process is killed in between:
//
//	store, err := session.Dir("sessions")
//	…
//	trace, err := store.Load("order-7") // ErrNotFound the first time
//	…
//	out, err := session.Resume(ctx, machine, session.Saving(world, store, "order-7"), trace)
//
// [Saving] saves each step before the world carries it out, and [Resume] hands the
// world what the saved steps asked for and none of them answered. So a call that
// has a result never runs again. A call without one does, since nobody knows how
// far it came, unless its tool is [loop.NotIdempotent]: such a call runs once at
// most, and ends with an error that tells the model that it may have taken effect.
// What the world does anew is not a new step: a session that was resumed has the trace
// of one that never broke off, but for clock times, and for calls that did not run
// again.
//
// # Queues
//
// A [Queue] gives the messages of one session to the loop in turn: two runs of
// a session never interleave, runs of different sessions do.
package session
