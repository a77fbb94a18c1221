// Package session keeps sessions of a loop beyond one process, and runs the
// messages of a session one after another.
//
// A session is saved by appending what went in and came out (a [Store]), and
// resumed by a fresh machine that is fed with it ([Resume]): there is no state
// to serialise, and drift shows, since the effects are compared. What is saved
// ends with a turn: calls of a turn that broke off run again when it is
// resumed, so a tool that must not run twice has to see to that itself.
//
// A [Queue] gives the messages of one session to the loop in turn: two runs of
// a session never interleave, runs of different sessions do.
package session
