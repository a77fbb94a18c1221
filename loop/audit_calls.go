package loop

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// The rules on calls: what may run, and in which order.

// ran reports the calls that were made although a rule blocked them.
func (b *auditBook) ran(rule string) {
	for _, c := range b.calls {
		if c.rule == rule && len(c.tries) > 0 {
			b.report(c.tries[0].started, "not executed: "+string(c.block), "executed", "call c%d is blocked", c.n)
		}
	}
}

func (b *auditBook) checkExecutable() { b.ran("executable") }

// checkWhy compares why results say that nothing was executed with the recount.
func (b *auditBook) checkWhy() {
	for _, c := range b.calls {
		if len(c.puts) == 0 {
			continue
		}
		put := c.puts[0]
		if want := b.whys(c); !slices.Contains(want, put.eff.Why) {
			b.report(put.auditPlace, auditWhyNames(want...), auditWhyNames(put.eff.Why), "why call c%d was not executed", c.n)
		}
	}
}

// whys gives what may stand in a call's result.
func (b *auditBook) whys(c *auditCall) []Why {
	_, _, kept := b.kept(c)
	switch {
	case len(c.tries) > 0:
		return []Why{Executed}
	case c.block == Unknown:
		if !auditIsObject(c.args) {
			return []Why{Unknown, InvalidArgs}
		}
		return []Why{Unknown}
	case c.rule == "last-word", c.rule == "cut-reply":
		return []Why{Refused, NotStarted, Unknown, InvalidArgs}
	case c.loose && len(c.puts) > 0 && c.puts[0].eff.Why == InvalidArgs:
		return []Why{InvalidArgs}
	case c.block != Executed:
		return []Why{c.block}
	case c.denied.found():
		return []Why{c.deny}
	case kept:
		return []Why{NotStarted, Refused}
	}
	return []Why{NotStarted}
}

func auditWhyNames(whys ...Why) string {
	var names []string
	for _, w := range whys {
		if w == Executed {
			w = "executed"
		}
		names = append(names, string(w))
	}
	return strings.Join(names, " or ")
}

// checkResultCode compares how results say that calls ended with the recount.
func (b *auditBook) checkResultCode() {
	for _, c := range b.calls {
		if len(c.puts) == 0 {
			continue
		}
		put := c.puts[0]
		if want := b.codes(c); len(want) > 0 && !slices.Contains(want, put.eff.Code) {
			b.report(put.auditPlace, auditCodeNames(want...), auditCodeNames(put.eff.Code), "how call c%d ended", c.n)
		}
	}
}

// codes gives what a call may have ended with; nothing where the rules leave it
// open.
func (b *auditBook) codes(c *auditCall) []Code {
	t := c.last()
	switch {
	case t == nil && c.block == Unknown && auditIsObject(c.args):
		return []Code{NotFound}
	case t == nil && c.block == InvalidArgs:
		return []Code{InvalidInput}
	case t == nil && c.denied.found() && c.deny == Denied:
		return []Code{Forbidden}
	case t == nil || !t.ended.found():
		return nil
	}
	var codes []Code
	_, code := b.result(t)
	run := c.reply.run
	cut := run.broke.found() && run.broke.rec <= t.ended.rec
	if b.timedOut(t) {
		codes = append(codes, Timeout)
	}
	switch {
	case cut && t.in != nil && !code.Failed():
		codes = append(codes, code)
	case cut && t.in != nil && !t.in.Code.Failed():
		codes = append(codes, Cancelled, code) // it succeeds, and breaks its contract
	case cut:
		codes = append(codes, Cancelled)
	case b.timedOut(t):
	case t.in != nil:
		codes = append(codes, code)
	}
	return codes
}

func auditCodeNames(codes ...Code) string {
	var names []string
	for _, c := range codes {
		if c == None {
			c = "None"
		}
		names = append(names, string(c))
	}
	return strings.Join(names, " or ")
}

// checkParallel checks each call's first try: no place was taken by too many,
// none was jumped for, none stood empty.
func (b *auditBook) checkParallel() {
	for _, r := range b.replies {
		places := b.cfg.Parallel.Max
		if places <= 0 {
			places = len(r.calls)
		}
		ready := b.gatesDone(r)
		for i, c := range r.calls {
			if len(c.tries) == 0 {
				continue
			}
			p := c.tries[0].started
			busy := 1 + r.busy(func(d *auditCall, start auditPlace) bool {
				return start.line < p.line && !(d.final.ok && d.final.lo <= p.rec)
			})
			left := r.busy(func(d *auditCall, start auditPlace) bool {
				return start.rec < p.rec && !(d.final.ok && d.final.hi < p.rec)
			})
			switch {
			case busy > places:
				b.report(p, "at most "+strconv.Itoa(places)+" at once", strconv.Itoa(busy), "too many calls run")
			case r.jumped(i, p):
				b.report(p, "request order", "another", "call c%d starts before one that was asked for earlier", c.n)
			case p.rec > ready && left < places:
				b.report(p, "as soon as a place is free", "later", "call c%d waited for nothing", c.n)
			}
		}
	}
}

// busy counts the calls of a batch that have started and are in the way.
func (r *auditReply) busy(in func(c *auditCall, start auditPlace) bool) int {
	n := 0
	for _, c := range r.calls {
		if len(c.tries) > 0 && in(c, c.tries[0].started) {
			n++
		}
	}
	return n
}

// jumped reports whether a call before the i-th that may run had not started
// when the i-th did.
func (r *auditReply) jumped(i int, p auditPlace) bool {
	return slices.ContainsFunc(r.calls[:i], func(c *auditCall) bool {
		return c.block == Executed && !c.denied.found() && (len(c.tries) == 0 || c.tries[0].started.line > p.line)
	})
}

// checkToolDeadline checks that tries are cancelled when time.tool is over, and
// only then or with the whole run.
func (b *auditBook) checkToolDeadline() {
	for _, t := range b.tries {
		limit := b.toolTime(t)
		due := t.started.at + limit
		for i, p := range t.cancels {
			if i > 0 && p.rec == t.cancels[i-1].rec {
				b.report(p, "one cancel", "another", "the try %s is cancelled already", t.ref)
			}
			if !(limit > 0 && p.at == due) && !t.call.reply.run.broke.by(p.rec) {
				b.report(p, auditDue(limit, due), p.at.String(), "the try %s is cancelled at another time", t.ref)
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

func auditDue(limit, due time.Duration) string {
	if limit <= 0 {
		return "never"
	}
	return "at " + due.String()
}

// checkAbandoned checks that cancelled tries are abandoned when time.grace is
// over, and only then.
func (b *auditBook) checkAbandoned() {
	grace := b.cfg.Time.Grace
	for _, it := range b.items {
		if it.run == nil || it.eff == nil || it.eff.Kind != Note || it.eff.Event != EventAbandoned {
			continue
		}
		if t := b.try(it.eff.Ref); t == nil || t.ended.line != it.line || len(t.cancels) == 0 {
			b.report(it.auditPlace, "a cancelled try that has not ended", it.eff.Ref.String(), "nothing to abandon")
		}
	}
	for _, t := range b.tries {
		if n := len(t.cancels); n > 0 {
			b.checkGrace(t, t.cancels[0].at+grace, t.cancels[n-1].at+grace)
		}
	}
}

// checkGrace checks the end of a cancelled try. Its grace ends at first, or at
// last if it was cancelled again with the whole run.
func (b *auditBook) checkGrace(t *auditTry, first, last time.Duration) {
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
