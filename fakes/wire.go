package fakes

import (
	"slices"
	"strings"
)

// A Wire is an odd form that a reply or a failure has on the wire when a script is
// served over HTTP, or a tool's answer over MCP. A [World], which has no wire, plays the
// nearest thing.
type Wire string

// WireUsual is the form without an oddity.
const WireUsual Wire = ""

// The wires of a [Step], which show only in streams. The reply is complete, and a
// World plays it as usual.
const (
	WireStallAfterDone Wire = "stall-after-done" // the connection stays open after the stream's last event
	WireSameIndex      Wire = "same-index"       // all calls have the index of the first
	WireShuffledIndex  Wire = "shuffled-index"   // the pieces of the calls come in turns, the last call's first
)

// The wires of a [ModelFailure].
const (
	WireRetryAfterDate Wire = "retry-after-date" // RetryAfter is sent as a date; in a World it is as usual
	WireHeartbeats     Wire = "heartbeats"       // after Chunks pieces only keep-alives come; in a World it hangs
	WireCutEvent       Wire = "cut-event"        // after Chunks pieces the answer ends inside an event; in a World the connection is lost
	WireEndsEarly      Wire = "ends-early"       // after Chunks pieces the answer ends as if it were complete; in a World the connection is lost
	WireNoFinish       Wire = "no-finish"        // the whole reply comes without a finish reason; in a World the connection is lost
	WireErrorEvent     Wire = "error-event"      // the status is 200, and an error follows; in a World the request fails with Status
)

// The wires of a tool's answer over MCP. Where there is no MCP, the answer is as usual.
const (
	WireStructured    Wire = "structured"     // the result is structured content, and no text
	WireImage         Wire = "image"          // an image follows the text
	WireProgress      Wire = "progress"       // progress is told before the result
	WireProtocolError Wire = "protocol-error" // the failure is an error of the protocol, and no result
	WireCancelled     Wire = "cancelled"      // the server says that the call was cancelled
)

// ResultWires lists the wires of a successful [Answer], except the usual one.
func ResultWires() []Wire { return []Wire{WireStructured, WireImage, WireProgress} }

// ErrorWires lists the wires of a failed [Answer] and of a [Failure], except the usual
// one.
func ErrorWires() []Wire { return []Wire{WireProtocolError, WireCancelled} }

// StepWires lists the wires of a [Step], except the usual one.
func StepWires() []Wire { return []Wire{WireStallAfterDone, WireSameIndex, WireShuffledIndex} }

// FailureWires lists the wires of a [ModelFailure], except the usual one.
func FailureWires() []Wire {
	return []Wire{WireRetryAfterDate, WireHeartbeats, WireCutEvent, WireEndsEarly, WireNoFinish, WireErrorEvent}
}

// Hangs reports whether the try never gets an answer.
func (f *ModelFailure) Hangs() bool { return f.Hang || f.Wire == WireHeartbeats }

// problem returns why the wire cannot be combined with the other fields, or "" if
// it can.
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
			return "cannot be combined with a status"
		}
	}
	switch {
	case f.Hang:
		return "cannot be combined with hang"
	case f.Wire == WireNoFinish && f.Chunks > 0:
		return "cannot be combined with chunks: the whole reply comes"
	case f.Wire == WireRetryAfterDate && f.Chunks > 0:
		return "cannot be combined with chunks: no header comes after a piece"
	}
	return ""
}

// wire checks that a wire is in the list.
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

// answerWire checks the wire of a tool's answer or failure.
func (r *reader) answerWire(w Wire, failed, hang bool) {
	switch {
	case hang && w != WireUsual:
		r.wrong("wire", "cannot be combined with hang")
	case failed:
		r.wire(w, ErrorWires())
	default:
		r.wire(w, ResultWires())
	}
}

// failureWire checks the wire of a failure.
func (r *reader) failureWire(f *ModelFailure) {
	r.wire(f.Wire, FailureWires())
	if problem := f.problem(); problem != "" {
		r.wrong("wire", "%s %s", f.Wire, problem)
	}
}
