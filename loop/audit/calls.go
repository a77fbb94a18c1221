package audit

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agentbench-go/agentbench/loop"
)

// The rules on calls: what may run, and in which order.

// ran reports the calls that were executed although this rule blocked them.
func (b *book) ran(rule string) {
	for _, c := range b.calls {
		if c.rule == rule && len(c.tries) > 0 {
			b.report(c.tries[0].started, "not executed: "+string(c.block), "executed", "call c%d is blocked", c.n)
		}
	}
}

func (b *book) checkExecutable() { b.ran("executable") }

// checkWhy compares the why of each result with the recount.
func (b *book) checkWhy() {
	for _, c := range b.calls {
		if len(c.puts) == 0 {
			continue
		}
		put := c.puts[0]
		var few [4]loop.Why
		if want := b.whys(few[:0], c); !slices.Contains(want, put.eff.Why) {
			b.report(put.place, whyNames(want...), whyNames(put.eff.Why), "why call c%d was not executed", c.n)
		}
	}
}

// whys appends the values that the why of a call's result may have.
func (b *book) whys(whys []loop.Why, c *call) []loop.Why {
	switch {
	case len(c.tries) > 0:
		return append(whys, loop.Executed)
	case c.block == loop.Unknown:
		if !c.object {
			return append(whys, loop.Unknown, loop.InvalidArgs)
		}
		return append(whys, loop.Unknown)
	case c.rule == "last-word", c.rule == "cut-reply":
		return append(whys, loop.Refused, loop.NotStarted, loop.Unknown, loop.InvalidArgs)
	case c.loose && len(c.puts) > 0 && c.puts[0].eff.Why == loop.InvalidArgs:
		return append(whys, loop.InvalidArgs)
	case c.block != loop.Executed:
		return append(whys, c.block)
	case c.denied.found():
		return append(whys, c.deny)
	}
	if _, _, kept := b.kept(c); kept {
		return append(whys, loop.NotStarted, loop.Refused)
	}
	return append(whys, loop.NotStarted)
}

func whyNames(whys ...loop.Why) string {
	var names []string
	for _, w := range whys {
		if w == loop.Executed {
			w = "executed"
		}
		names = append(names, string(w))
	}
	return strings.Join(names, " or ")
}

// checkResultCode compares the codes of results with the recount.
func (b *book) checkResultCode() {
	for _, c := range b.calls {
		if len(c.puts) == 0 {
			continue
		}
		put := c.puts[0]
		var few [3]loop.Code
		if want := b.codes(few[:0], c); len(want) > 0 && !slices.Contains(want, put.eff.Code) {
			b.report(put.place, codeNames(want...), codeNames(put.eff.Code), "how call c%d ended", c.n)
		}
	}
}

// codes appends the codes with which a call may have ended. It appends none if any
// code is allowed.
func (b *book) codes(codes []loop.Code, c *call) []loop.Code {
	t := c.last()
	switch {
	case t == nil && c.block == loop.Unknown && c.object:
		return append(codes, loop.NotFound)
	case t == nil && c.block == loop.InvalidArgs:
		return append(codes, loop.InvalidInput)
	case t == nil && c.denied.found() && c.deny == loop.Denied:
		return append(codes, loop.Forbidden)
	case t == nil || !t.ended.found():
		return codes
	}
	_, code := b.result(t)
	run := c.reply.run
	cut := run.broke.found() && run.broke.rec <= t.ended.rec
	if b.timedOut(t) {
		codes = append(codes, loop.Timeout)
	}
	switch {
	case cut && t.in != nil && !code.Failed():
		codes = append(codes, code)
	case cut && t.in != nil && !t.in.Code.Failed():
		codes = append(codes, loop.Cancelled, code) // a success whose result breaks the schema
	case cut:
		codes = append(codes, loop.Cancelled)
	case b.timedOut(t):
	case t.in != nil:
		codes = append(codes, code)
	}
	return codes
}

func codeNames(codes ...loop.Code) string {
	var names []string
	for _, c := range codes {
		if c == loop.None {
			c = "None"
		}
		names = append(names, string(c))
	}
	return strings.Join(names, " or ")
}

// checkParallel checks when the first try of each call starts: not more calls run than
// there are places, calls start in request order, and none waits while a place is free.
func (b *book) checkParallel() {
	for _, r := range b.replies {
		b.checkPlaces(r)
	}
}

func (b *book) checkPlaces(r *reply) {
	b.started = append(b.started[:0], r.calls...)
	started := slices.DeleteFunc(b.started, func(c *call) bool { return len(c.tries) == 0 })
	slices.SortFunc(started, func(c, d *call) int { return c.tries[0].started.line - d.tries[0].started.line })
	places := b.cfg.Parallel.Max
	if places <= 0 {
		places = len(r.calls)
	}
	ready, jumped := b.gatesDone(r), b.jumped(r)
	var running []*call // calls that certainly run
	var left []*call    // calls that may have run when the record came in
	rec, earlier := -1, 0
	for i, c := range started {
		p := c.tries[0].started
		if p.rec != rec {
			rec = p.rec
			running = slices.DeleteFunc(running, func(d *call) bool { return d.final.ok && d.final.lo <= rec })
			left = slices.DeleteFunc(append(left, started[earlier:i]...), func(d *call) bool { return d.final.ok && d.final.hi < rec })
			earlier = i
		}
		switch busy := 1 + len(running); {
		case busy > places:
			b.report(p, "at most "+strconv.Itoa(places)+" at once", strconv.Itoa(busy), "too many calls run")
		case slices.Contains(jumped, c):
			b.report(p, "request order", "another", "call c%d starts before one that was asked for earlier", c.n)
		case rec > ready && len(left) < places:
			b.report(p, "as soon as a place is free", "later", "call c%d waited for nothing", c.n)
		}
		if !(c.final.ok && c.final.lo <= rec) {
			running = append(running, c)
		}
	}
}

// jumped returns the calls of a batch that started before an earlier call that may
// run.
func (b *book) jumped(r *reply) (jumped []*call) {
	last := 0 // all calls so far that may run have started by this line
	for _, c := range r.calls {
		line := math.MaxInt
		if len(c.tries) > 0 {
			line = c.tries[0].started.line
		}
		if line < last {
			jumped = append(jumped, c)
		}
		if _, _, kept := b.kept(c); c.block == loop.Executed && !c.denied.found() && !(kept && len(c.tries) == 0) {
			last = max(last, line)
		}
	}
	return jumped
}

// checkToolDeadline checks that a try is cancelled when its time runs out, and at no
// other time except with the whole run.
func (b *book) checkToolDeadline() {
	for _, t := range b.tries {
		limit := b.toolTime(t)
		due := t.started.at + limit
		for i, p := range t.cancels {
			if i > 0 && p.rec == t.cancels[i-1].rec {
				b.report(p, "one cancel", "another", "the try %s is cancelled already", t.ref)
			}
			if !(limit > 0 && p.at == due) && !t.call.reply.run.broke.by(p.rec) {
				b.report(p, dueName(limit, due), p.at.String(), "the try %s is cancelled at another time", t.ref)
			}
		}
		over := b.next(t.started.rec, due)
		run := t.call.reply.run
		if limit <= 0 || len(t.cancels) > 0 || over == len(b.trace) || run.broken(over) ||
			t.ended.found() && t.ended.rec < over || run.halt.found() && run.halt.rec < over {
			continue
		}
		b.report(b.input(over), "cancelled at "+due.String(), "not cancelled", "the time of the try %s is over", t.ref)
	}
}

func dueName(limit, due time.Duration) string {
	if limit <= 0 {
		return "never"
	}
	return "at " + due.String()
}

// checkAbandoned checks that a cancelled try is abandoned when time.grace runs out,
// and only then.
func (b *book) checkAbandoned() {
	grace := b.cfg.Time.Grace
	for _, it := range b.notes {
		if it.eff.Event != loop.EventAbandoned {
			continue
		}
		if t := b.try(it.eff.Ref); t == nil || t.ended.line != it.line || len(t.cancels) == 0 {
			b.report(it.place, "a cancelled try that has not ended", it.eff.Ref.String(), "nothing to abandon")
		}
	}
	for _, t := range b.tries {
		if n := len(t.cancels); n > 0 {
			b.checkGrace(t, t.cancels[0].at+grace, t.cancels[n-1].at+grace)
		}
	}
}

// checkGrace checks the end of a cancelled try. Its grace ends at first, or at last if
// it was cancelled again together with the run.
func (b *book) checkGrace(t *try, first, last time.Duration) {
	over := b.next(t.cancels[0].rec, last+1)
	switch {
	case t.abandoned && t.ended.at != first && t.ended.at != last:
		b.report(t.ended, "at "+last.String(), t.ended.at.String(), "the try %s is abandoned at another time", t.ref)
	case t.in != nil && t.ended.at >= last && b.cfg.Time.Grace > 0:
		b.report(t.ended, "abandoned at "+last.String(), "answered", "the grace of the try %s is over", t.ref)
	case !t.ended.found() && over < len(b.trace):
		b.report(b.input(over), "abandoned at "+last.String(), "not abandoned", "the grace of the try %s is over", t.ref)
	}
}
