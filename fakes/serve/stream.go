package serve

import (
	"time"
	"unicode/utf8"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/loop"
)

// An api is one of the served APIs: it reads requests and writes replies. All
// writers append to b.
type api interface {
	name() string
	read(body value) (*question, error)
	// whole writes a reply that is not streamed.
	whole(b []byte, r *reply) []byte
	// The events of a streamed reply, in this order. An empty text has no events.
	begin(s *stream, r *reply)
	piece(s *stream, r *reply, text string)
	endText(s *stream, r *reply)
	call(s *stream, r *reply, d delta)
	end(s *stream, r *reply)
	// failure writes the body of a failed request, after which the client should wait
	// so long, failureEvent the error event of a stream that fails.
	failure(b []byte, status int, code, text string, wait time.Duration) []byte
	failureEvent(b []byte, status int, text string) []byte
	// heartbeat returns a keep-alive of a stream.
	heartbeat() string
	// requestID returns the name of the header with the id of a request, limits the
	// beginning of the names of those that tell rate limits, "" = it has none.
	requestID() string
	limits() string
}

// A reply is the content of a response.
type reply struct {
	n       int   // the number of its request
	created int64 // seconds since 1970
	model   string
	text    string
	calls   []loop.AskedCall
	spaces  []string // the namespaces of the calls; nil = they have none
	finish  string   // "" = no finish reason is sent
	in, out int64    // tokens
	usage   bool     // the stream of a chat ends with the tokens
	of      int      // the number of pieces of a stream, 0 = the usual number
	wire    fakes.Wire
}

// odd reports whether the reply's wire shows in a stream.
func (r *reply) odd() bool {
	return r.wire == fakes.WireStallAfterDone || r.wire != fakes.WireUsual && len(r.calls) > 1
}

// usualPieces is the number of pieces of a text, and of the arguments of a call, if
// the script has no chunks.
const usualPieces = 3

// A stream is the events of a reply.
type stream struct {
	b        []byte
	marks    []int // where in b each piece of the reply ends
	sequence int   // the number of the next event
}

// mark ends a piece.
func (s *stream) mark() { s.marks = append(s.marks, len(s.b)) }

// write writes the whole stream. Its pieces are those of the text or, without text,
// those of the calls.
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

// pieces returns the number of pieces of a text: of, or the usual number if of is
// 0.
func pieces(text string, of int) int {
	if of > 0 {
		return of
	}
	return min(usualPieces, utf8.RuneCountInString(text))
}

// A delta is a part of a call in a stream.
type delta struct {
	call int // the index of the call in the reply
	part callPart
	text string // of a callPiece
}

type callPart uint8

const (
	callBegins callPart = iota
	callPiece
	callEnds
)

// deltas returns the parts of the calls: call after call, or in turns if the wire of
// the script says so.
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

// shuffled returns the parts so that the calls take turns, the last call first.
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

// index returns the index of a call on the wire, where that of the first call is
// first.
func (r *reply) index(call, first int) int {
	if r.wire == fakes.WireSameIndex {
		return first
	}
	return first + call
}
