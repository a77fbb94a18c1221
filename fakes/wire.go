package fakes

import (
	"slices"
	"strings"
)

// A Wire is how a reply or a failure looks on the wire, where a script is served
// over HTTP and its other words do not say it. In a [World], which has no wire,
// each stands for the nearest thing.
type Wire string

// WireUsual is the wire of what is not said to be odd.
const WireUsual Wire = ""

// The wires of a [Step]: its reply is whole, and a World gives it as it is. They
// show in streams only.
const (
	WireStallAfterDone Wire = "stall-after-done" // the stream's last event comes, and the connection stays open
	WireSameIndex      Wire = "same-index"       // all calls have the index of the first
	WireShuffledIndex  Wire = "shuffled-index"   // the pieces of the calls come in turns, the last call's first
)

// The wires of a [ModelFailure].
const (
	WireRetryAfterDate Wire = "retry-after-date" // RetryAfter is told as a date; in a World as any
	WireHeartbeats     Wire = "heartbeats"       // after Chunks pieces come signs of life only; in a World it hangs
	WireCutEvent       Wire = "cut-event"        // after Chunks pieces the answer ends inside an event; in a World the connection is lost
	WireEndsEarly      Wire = "ends-early"       // after Chunks pieces the answer ends as if it were whole; in a World the connection is lost
	WireNoFinish       Wire = "no-finish"        // the whole reply comes, without a finish reason; in a World the connection is lost
	WireErrorEvent     Wire = "error-event"      // the status is 200, and an error follows; in a World the request fails with Status
)

// StepWires lists the wires of a [Step]; the usual one is left out.
func StepWires() []Wire { return []Wire{WireStallAfterDone, WireSameIndex, WireShuffledIndex} }

// FailureWires lists the wires of a [ModelFailure]; the usual one is left out.
func FailureWires() []Wire {
	return []Wire{WireRetryAfterDate, WireHeartbeats, WireCutEvent, WireEndsEarly, WireNoFinish, WireErrorEvent}
}

// Hangs reports whether the try never gets an answer.
func (f *ModelFailure) Hangs() bool { return f.Hang || f.Wire == WireHeartbeats }

// problem says what is wrong with the wire beside the rest, "" if nothing is.
func (f *ModelFailure) problem() string {
	switch f.Wire {
	case WireUsual:
		return ""
	case WireRetryAfterDate:
		if f.Status == 0 || f.RetryAfter == 0 {
			return "needs a status and retry_after"
		}
	case WireErrorEvent:
	default:
		if f.Status != 0 {
			return "means nothing beside a status"
		}
	}
	switch {
	case f.Hang:
		return "means nothing beside hang"
	case f.Wire == WireNoFinish && f.Chunks > 0:
		return "means nothing beside chunks: the whole reply comes"
	case f.Wire == WireRetryAfterDate && f.Chunks > 0:
		return "means nothing beside chunks: no header comes after a piece"
	}
	return ""
}

// wire checks that a wire is one of those.
func (r *reader) wire(w Wire, of []Wire) {
	if w == WireUsual || slices.Contains(of, w) {
		return
	}
	words := make([]string, len(of))
	for i := range of {
		words[i] = string(of[i])
	}
	r.wrong("wire", "must be one of %s, not %s", strings.Join(words, ", "), quoted(string(w)))
}

// failureWire checks the wire of a failure.
func (r *reader) failureWire(f *ModelFailure) {
	r.wire(f.Wire, FailureWires())
	if problem := f.problem(); problem != "" {
		r.wrong("wire", "%s %s", f.Wire, problem)
	}
}
