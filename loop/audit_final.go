package loop

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// This file recounts when tries are made again and when results are final.

// kept reports whether the try limit kept a try of a call from being made, and
// between which records.
func (b *auditBook) kept(c *auditCall) (from, until int, ok bool) {
	spent, ok := b.spent(c.reply.run)
	if !ok || c.block != Executed || c.denied.found() || len(c.puts) == 0 {
		return 0, 0, false
	}
	from, until = b.gatesDone(c.reply), c.puts[0].rec
	if t := c.last(); t != nil {
		if !t.ended.found() || !b.toolRetry(c, len(c.tries)).may {
			return 0, 0, false
		}
		from = t.ended.rec
	}
	from = max(from, spent)
	return from, until, from <= until
}

// spent gives the record in which the last try that limits.tries allows was
// made.
func (b *auditBook) spent(r *auditRun) (rec int, ok bool) {
	tries, limit := r.tries, b.cfg.Limits.Tries
	if b.cfg.Scope == ScopeSession {
		tries = b.tries
	}
	if limit <= 0 || len(tries) < limit {
		return 0, false
	}
	return tries[limit-1].started.rec, true
}

// gatesDone gives the record from which the calls of a batch may start.
func (b *auditBook) gatesDone(r *auditReply) int {
	rec := r.rec
	for _, c := range r.calls {
		for _, g := range c.gates {
			if !g.answered.found() {
				return len(b.trace)
			}
			rec = max(rec, g.answered.rec)
		}
	}
	return rec
}

// finality finds out when a call's result is final.
func (b *auditBook) finality(c *auditCall) auditSpan {
	t, run, reply := c.last(), c.reply.run, c.reply.rec
	spent, limited := b.spent(run)
	ready := b.gatesDone(c.reply)
	switch {
	case t != nil:
		return b.tryFinality(c, t)
	case c.block != Executed:
		return auditSpan{reply, reply, true}
	case c.denied.found():
		return auditSpan{c.denied.rec, c.denied.rec, true}
	case c.reply.mayRest:
		return auditSpan{reply, max(reply, run.broke.rec), true}
	case run.broke.found() && !(limited && ready <= spent && spent <= run.broke.rec):
		return auditSpan{run.broke.rec, max(reply, run.broke.rec), true}
	case limited:
		return auditSpan{ready, max(ready, spent), ready < len(b.trace)}
	case len(c.puts) > 0 && c.puts[0].eff.Why != Executed && c.puts[0].eff.Why != NotStarted:
		return auditSpan{reply, max(reply, ready), ready < len(b.trace)} // for a reason that another rule judges
	}
	return auditSpan{}
}

// tryFinality finds out when a call is final of which t is the last try.
func (b *auditBook) tryFinality(c *auditCall, t *auditTry) auditSpan {
	run, ended := c.reply.run, t.ended.rec
	retry := b.toolRetry(c, len(c.tries))
	switch {
	case !t.ended.found():
		return auditSpan{}
	case !retry.may:
		return auditSpan{ended, ended, true}
	}
	span := auditSpan{ended, b.next(ended-1, retry.hi), true}
	if run.broke.found() {
		span.hi = max(ended, min(span.hi, run.broke.rec))
	}
	if _, _, kept := b.kept(c); !kept && retry.must {
		span.lo = span.hi
	}
	span.ok = span.lo < len(b.trace)
	return span
}

// An auditRetry says whether a try may and must be followed by another, and
// between which instants.
type auditRetry struct {
	may, must bool
	lo, hi    time.Duration
}

// toolRetry recounts whether the n-th try of a call is made again.
func (b *auditBook) toolRetry(c *auditCall, n int) auditRetry {
	t, run, cfg := c.tries[n-1], c.reply.run, b.cfg.Retry
	if !t.ended.found() || run.broken(t.ended.rec) || n > cfg.Max {
		return auditRetry{}
	}
	var r auditRetry
	transient := slices.Contains(cfg.Codes, Timeout)
	switch {
	case b.timedOut(t):
		r.may = cfg.Timeouts && (!t.abandoned || c.spec != nil && c.spec.Idempotent)
		r.must = r.may && transient
	case t.in != nil:
		r.may = t.in.Code.Failed() && slices.Contains(cfg.Codes, t.in.Code)
		r.must = r.may && (t.in.Code != Timeout || cfg.Timeouts)
	}
	before := time.Duration(-1)
	if n > 1 {
		before = t.started.at - c.tries[n-2].ended.at
	}
	r.lo, r.hi = auditWait(cfg.Backoff, cfg.Base, cfg.Cap, n, before)
	r.lo, r.hi = r.lo+t.ended.at, r.hi+t.ended.at
	if deadline, limited := b.deadline(run, t.ended.rec); limited && r.hi >= deadline {
		r.must = false
	}
	return r
}

// timedOut reports whether a try was cancelled for its own time, and not only
// with the whole run.
func (b *auditBook) timedOut(t *auditTry) bool {
	limit, broke := b.cfg.Time.Tool, t.call.reply.run.broke
	return slices.ContainsFunc(t.cancels, func(p auditPlace) bool {
		return !broke.by(p.rec) || limit > 0 && p.at == t.started.at+limit
	})
}

// modelRetry recounts whether the n-th try of a model request is made again.
func (b *auditBook) modelRetry(q *auditRequest, n int) auditRetry {
	a, cfg := q.tries[n-1], b.cfg.ModelRetry
	if a.how != auditFailed && a.how != auditGivenUp || q.run.broken(a.ended.rec) || n > cfg.Max {
		return auditRetry{}
	}
	status, wait := 0, time.Duration(0)
	if a.in != nil {
		status, wait = a.in.Status, a.in.RetryAfter
	}
	if !auditRetried(cfg.Statuses, status) {
		return auditRetry{}
	}
	r := auditRetry{may: true, must: true, lo: wait, hi: wait}
	if wait <= 0 {
		r.lo, r.hi = auditWait(cfg.Backoff, cfg.Base, cfg.Cap, n, b.waitBefore(q, n))
	}
	limit := func(longest time.Duration) {
		r.may, r.must = r.may && r.lo <= longest, r.must && r.hi <= longest
	}
	if cfg.MaxWait > 0 {
		limit(cfg.MaxWait)
	}
	if deadline, limited := b.deadline(q.run, a.ended.rec); limited {
		limit(deadline - a.ended.at - 1)
	}
	r.lo, r.hi = r.lo+a.ended.at, r.hi+a.ended.at
	return r
}

// waitBefore gives the wait before the n-th try of a model request, or -1 if
// the server named it.
func (b *auditBook) waitBefore(q *auditRequest, n int) time.Duration {
	if n < 2 || q.tries[n-2].in != nil && q.tries[n-2].in.RetryAfter > 0 {
		return -1
	}
	return q.tries[n-1].asked.at - q.tries[n-2].ended.at
}

// auditRetried reports whether a status is in the list. 0 counts as 5xx.
func auditRetried(statuses []string, status int) bool {
	word := strconv.Itoa(status)
	if status == 0 {
		word = "5xx"
	}
	return slices.ContainsFunc(statuses, func(s string) bool {
		class := len(s) == 3 && strings.EqualFold(s[1:], "xx")
		return strings.EqualFold(s, word) || class && len(word) == 3 && s[0] == word[0]
	})
}
