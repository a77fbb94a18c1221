package serve

import (
	"bytes"
	"fmt"
	"net/http"
	"time"

	"github.com/agentbench-go/agentbench/fakes"
)

// A plan is an answer and the schedule of its bytes. Instants count from the
// request's arrival, in the script's time.
type plan struct {
	status     int
	stream     bool
	refused    bool          // the whole answer is an error
	wait       time.Duration // for Retry-After
	waitAsDate bool
	out        *stream
	parts      []part
	ending     ending
	after      time.Duration // until the ending
}

// A part is the bytes up to an offset and the instant at which they are sent.
type part struct {
	at time.Duration
	to int
}

// An ending is how an answer ends.
type ending uint8

const (
	endsWell  ending = iota
	endsNever        // the connection stays open and silent
	endsAlive        // only keep-alives follow
	endsLost         // the connection is lost
)

// prepare returns the plan for a reply or its failure.
func (x *exchange) prepare(said *fakes.Said, r *reply, streamed bool) *plan {
	p := &plan{status: http.StatusOK, stream: streamed, out: x.streams.Get().(*stream), after: said.After}
	p.out.b, p.out.marks, p.out.sequence = p.out.b[:0], p.out.marks[:0], 0
	x.entry.Finish, x.entry.Calls = r.finish, len(r.calls)
	f := said.Failure
	switch {
	case f != nil:
		x.entry.Finish, x.entry.Calls = "", 0
		x.entry.Fault = faultName(f)
	case len(said.Struck) > 0:
		x.entry.Fault = x.scene.script.Faults[said.Struck[0]].Kind
	case streamed && r.odd():
		x.entry.Fault = string(r.wire)
	}
	switch {
	case f != nil && refusing(f, streamed):
		p.refuse(x, f, said.Reason)
		return p
	case f != nil && f.Wire == fakes.WireNoFinish:
		r.finish = ""
	}
	if streamed {
		p.out.write(x.api, r)
		p.schedule(said)
	} else {
		p.out.b = x.api.whole(p.out.b, r)
	}
	switch {
	case f != nil && f.Wire != fakes.WireNoFinish:
		p.fail(x.api, f, said)
	case streamed && r.wire == fakes.WireStallAfterDone:
		p.ending = endsNever
		p.send(said.After, len(p.out.b))
	default:
		p.send(said.After, len(p.out.b))
	}
	return p
}

// faultName returns a failure's name in the journal.
func faultName(f *fakes.ModelFailure) string {
	switch {
	case f.Wire != fakes.WireUsual:
		return string(f.Wire)
	case f.Hang && f.Chunks > 0:
		return "stall"
	case f.Hang:
		return "hang"
	case f.Status == 0:
		return "connection-lost"
	}
	return fmt.Sprintf("status-%d", f.Status)
}

// refusing reports whether a failure replaces the whole answer by an error: with a
// status of its own, or with status 200 and an error in the body.
func refusing(f *fakes.ModelFailure, streamed bool) bool {
	if streamed && (f.Chunks > 0 || f.Wire == fakes.WireErrorEvent) {
		return false
	}
	return f.Status != 0 && !f.Hangs() || f.Wire == fakes.WireErrorEvent
}

// refuse plans an answer that consists of the failure's status and error.
func (p *plan) refuse(x *exchange, f *fakes.ModelFailure, reason string) {
	p.stream, p.refused = false, true
	if f.Wire != fakes.WireErrorEvent {
		p.status = f.Status
		p.wait, p.waitAsDate = f.RetryAfter, f.Wire == fakes.WireRetryAfterDate
	}
	p.out.b = x.api.failure(p.out.b, f.Status, "", reasonOf(f, reason), x.real(p.wait))
	p.send(p.after, len(p.out.b))
}

// reasonOf returns the message of a failure on the wire.
func reasonOf(f *fakes.ModelFailure, reason string) string {
	if reason == "" {
		reason = http.StatusText(f.Status)
	}
	if reason == "" {
		reason = "the model failed"
	}
	return reason
}

// schedule plans the pieces of a stream.
func (p *plan) schedule(said *fakes.Said) {
	for i := range min(said.Pieces, len(p.out.marks)) {
		p.send(said.At(i), p.out.marks[i])
	}
}

// send plans the bytes up to an offset.
func (p *plan) send(at time.Duration, to int) { p.parts = append(p.parts, part{at, to}) }

// sent returns the offset up to which bytes are planned.
func (p *plan) sent() int {
	if len(p.parts) == 0 {
		return 0
	}
	return p.parts[len(p.parts)-1].to
}

// fail plans the failure of an answer: a stream fails after its pieces. An answer
// that is not streamed fails in the middle if the failure has chunks, else before
// its first byte.
func (p *plan) fail(a api, f *fakes.ModelFailure, said *fakes.Said) {
	if !p.stream && f.Chunks > 0 {
		p.send(said.At(f.Chunks-1), len(p.out.b)/2)
	}
	from := p.sent()
	switch {
	case f.Wire == fakes.WireHeartbeats:
		p.ending = endsAlive
	case f.Hang:
		p.ending = endsNever
	case f.Wire == fakes.WireCutEvent:
		p.send(said.After, p.middle(from))
	case f.Wire == fakes.WireEndsEarly:
		p.send(said.After, from)
	case f.Status != 0, f.Wire == fakes.WireErrorEvent:
		p.out.b = a.failureEvent(p.out.b[:from], f.Status, reasonOf(f, said.Reason))
		p.send(said.After, len(p.out.b))
	default:
		p.ending = endsLost
	}
}

// middle returns the offset of the middle of a stream's next event, or of the rest
// of an answer that is not streamed.
func (p *plan) middle(from int) int {
	rest := p.out.b[from:]
	if i := bytes.Index(rest, []byte("\n\n")); p.stream && i >= 0 {
		rest = rest[:i]
	}
	return from + (len(rest)+1)/2
}
