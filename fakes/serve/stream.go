package serve

import (
	"unicode/utf8"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/loop"
)

// An api is one of the ways in which a model is asked over HTTP: how a request
// is read, and how a reply is written. Everything is appended to b.
type api interface {
	name() string
	read(body value) (*question, error)
	// whole writes a reply that is not streamed.
	whole(b []byte, r *reply) []byte
	// The events of a streamed reply, in this order. The text has no event where
	// it is empty.
	begin(s *stream, r *reply)
	piece(s *stream, r *reply, text string)
	endText(s *stream, r *reply)
	call(s *stream, r *reply, d delta)
	end(s *stream, r *reply)
	// failure writes the body of a failed request, failureEvent the event of one
	// that fails in its stream.
	failure(b []byte, status int, code, text string) []byte
	failureEvent(b []byte, status int, text string) []byte
	// heartbeat is a sign of life in a stream that says nothing.
	heartbeat() string
}

// A reply is what is to be written.
type reply struct {
	n       int // the number of its request
	model   string
	text    string
	calls   []loop.AskedCall
	finish  string // "" = it is not told
	in, out int64  // tokens
	usage   bool   // a chat's stream ends with them
	of      int    // pieces that a stream is cut into, 0 = as many as is usual
	wire    fakes.Wire
}

// odd reports whether the reply's wire shows in a stream.
func (r *reply) odd() bool {
	return r.wire == fakes.WireStallAfterDone || r.wire != fakes.WireUsual && len(r.calls) > 1
}

// usualPieces is how many pieces a text has, and the arguments of a call, where
// the script does not say it.
const usualPieces = 3

// A stream is a reply as events, on its way.
type stream struct {
	b        []byte
	marks    []int // where in b each piece of the reply ends
	sequence int   // of the next event
}

func (s *stream) mark() { s.marks = append(s.marks, len(s.b)) }

// write writes the whole stream. Its pieces are those of the text, or of the
// calls where there is no text.
func (s *stream) write(a api, r *reply) {
	a.begin(s, r)
	if r.text == "" && len(r.calls) == 0 {
		for range r.of {
			s.mark()
		}
	}
	if r.text != "" {
		for _, piece := range fakes.Cut(r.text, pieces(r.text, r.of)) {
			a.piece(s, r, piece)
			s.mark()
		}
		a.endText(s, r)
	}
	for _, d := range r.deltas() {
		if d.part != callPiece || d.text != "" {
			a.call(s, r, d)
		}
		if d.part == callPiece && r.text == "" {
			s.mark()
		}
	}
	a.end(s, r)
}

// pieces is the number of pieces of a text.
func pieces(text string, of int) int {
	if of > 0 {
		return of
	}
	return min(usualPieces, utf8.RuneCountInString(text))
}

// A delta is a part of a call in a stream.
type delta struct {
	call int // its place among the reply's
	part callPart
	text string // of a piece
}

type callPart uint8

const (
	callBegins callPart = iota
	callPiece
	callEnds
)

// deltas gives the calls in parts: one call after the other, or mixed where the
// script says so.
func (r *reply) deltas() []delta {
	if len(r.calls) == 0 {
		return nil
	}
	each := 0
	if r.text == "" && r.of > 0 {
		each = (r.of + len(r.calls) - 1) / len(r.calls)
	}
	all := make([]delta, 0, len(r.calls)*(2+usualPieces))
	for i := range r.calls {
		all = append(all, delta{i, callBegins, ""})
		for _, text := range fakes.Cut(r.calls[i].Args, pieces(r.calls[i].Args, each)) {
			all = append(all, delta{i, callPiece, text})
		}
		all = append(all, delta{i, callEnds, ""})
	}
	if r.wire == fakes.WireShuffledIndex {
		return shuffled(all, len(r.calls))
	}
	return all
}

// shuffled lets the calls take turns, the last one first.
func shuffled(all []delta, calls int) []delta {
	out := make([]delta, 0, len(all))
	lists := make([][]delta, calls)
	for _, d := range all {
		lists[d.call] = append(lists[d.call], d)
	}
	for len(out) < len(all) {
		for i := calls - 1; i >= 0; i-- {
			if len(lists[i]) > 0 {
				out = append(out, lists[i][0])
				lists[i] = lists[i][1:]
			}
		}
	}
	return out
}

// index is the place on the wire of a call, of those that begin with first.
func (r *reply) index(call, first int) int {
	if r.wire == fakes.WireSameIndex {
		return first
	}
	return first + call
}
