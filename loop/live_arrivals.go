package loop

import (
	"strings"
	"time"
)

// arrivals holds the inputs that have come and wait for the loop: at most one
// answer to each thing that was open, one text of the user, one cancel, and the
// joined deltas of the open model request. What is open bounds it, and adding
// and taking an input costs the same however much has come.
type arrivals struct {
	first, last *arrival // a list, in the order in which it came
	stream      stream   // of the open model request
	said        joined   // the text of the Steer input in the list
	steering    bool     // the list holds a Steer input
}

// An arrival is an input that waits to be yielded.
type arrival struct {
	Input
	next *arrival
}

func (q *arrivals) push(a *arrival) {
	if q.last == nil {
		q.first = a
	} else {
		q.last.next = a
	}
	q.last = a
}

// steer adds a text of the user, and reports whether there was room for it.
// Texts that wait together become one input, with a line break between them.
func (q *arrivals) steer(text string, at time.Duration) bool {
	if q.steering {
		return q.said.add("\n" + text)
	}
	q.steering = q.said.add(text)
	q.push(&arrival{Input: Input{Kind: Steer, At: at}})
	return true
}

// take removes and returns the first input before the instant limit. Of one
// instant, a delta comes before an answer, which may be the reply that it is
// part of.
func (q *arrivals) take(limit time.Duration) (Input, bool) {
	a := q.first
	if a != nil {
		limit = min(limit, a.At+1)
	}
	if q.stream.waits && q.stream.from < limit {
		return q.stream.take(limit - 1), true
	}
	if a == nil || a.At >= limit {
		return Input{}, false
	}
	if q.first = a.next; q.first == nil {
		q.last = nil
	}
	in := a.Input
	if in.Kind == Steer {
		in.Text, q.steering = q.said.take(), false
	}
	return in, true
}

// A stream holds the deltas of one model request that wait for the loop. It
// joins them, so that a model that says more than the loop can take does not
// keep the loop from its timers.
//
// To the machine a delta means that the model was alive at that instant: it
// meets time.first_token and restarts time.chunk. Joined deltas came at several
// instants, and no single one can replace them all. With the first alone,
// time.chunk would run out although the model went on. The last may be later
// than a timer that the first would have met. So a stream keeps the span in
// which deltas came, and the longest silence within it. It yields one delta
// with the whole text, and then deltas without text up to the end of the span.
// Each has the latest instant that the order of inputs allows: before the
// machine's next timer, not after the next answer, and not within the longest
// silence.
//
// So time.chunk runs out exactly if one of the silences was that long. (If
// several were, it runs out in the longest, which may not be the first.) All
// other timers run out in their order.
type stream struct {
	ref   Ref
	text  joined
	waits bool // for the loop; if not, the instants below mean nothing
	// Deltas came from from to rest, and again from again to last. Before the
	// first silence the last three are equal.
	from, rest, again, last time.Duration
}

// add adds a delta.
func (s *stream) add(text string, at time.Duration) {
	s.text.add(text)
	switch {
	case !s.waits:
		s.waits, s.from, s.rest, s.again = true, at, at, at
	case at-s.last > s.again-s.rest:
		s.rest, s.again = s.last, at
	}
	s.last = at
}

// take removes and returns a delta, and keeps what is left of the span. Its
// instant is as late as possible, but at most limit, which is not before from.
func (s *stream) take(limit time.Duration) Input {
	end := s.rest
	if s.from > s.rest {
		end = s.last
	}
	at := min(end, limit)
	switch {
	case at < end:
		s.from = at + 1
	case at < s.last:
		s.from = s.again
	default:
		s.waits = false
	}
	return Input{Kind: ModelDelta, At: at, Ref: s.ref, Text: s.text.take()}
}

// maxJoined bounds a joined text, in bytes.
const maxJoined = 1 << 20

// joined is a text put together of pieces. It always takes the first piece.
type joined struct{ b strings.Builder }

// add appends a piece, and reports false if it does not fit.
func (j *joined) add(text string) bool {
	if n := j.b.Len(); n > 0 && n+len(text) > maxJoined {
		return false
	}
	j.b.WriteString(text)
	return true
}

func (j *joined) take() string {
	text := j.b.String()
	j.b.Reset()
	return text
}
