package audit

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agentbench-go/agentbench/loop"
)

// This file recounts when tries are repeated and when results are final.

// spent returns the record of the last try that limits.tries allows.
func (b *book) spent(r *run) (rec int, ok bool) {
	tries, limit := r.tries, b.cfg.Limits.Tries
	if b.cfg.Scope == loop.ScopeSession {
		tries = b.tries
	}
	if limit <= 0 || len(tries) < limit {
		return 0, false
	}
	return tries[limit-1].started.rec, true
}

// finality returns the records in which a call's result may become final.
func (b *book) finality(c *call) span {
	t, run, reply := c.last(), c.reply.run, c.reply.rec
	spent, limited := b.barred(c)
	ready := b.gatesDone(c.reply)
	switch {
	case t != nil:
		return b.tryFinality(c, t)
	case c.block != loop.Executed:
		return span{reply, reply, true}
	case c.denied.found():
		return span{c.denied.rec, c.denied.rec, true}
	case run.broke.found() && !(limited && max(ready, spent) <= run.broke.rec):
		return span{run.broke.rec, max(reply, run.broke.rec), true}
	case limited:
		return span{ready, max(ready, spent), ready < len(b.trace)}
	case len(c.puts) > 0 && c.puts[0].eff.Why != loop.Executed && c.puts[0].eff.Why != loop.NotStarted:
		return span{reply, max(reply, ready), ready < len(b.trace)} // another rule checks the why
	}
	return span{}
}

// tryFinality is finality for a call whose last try is t.
func (b *book) tryFinality(c *call, t *try) span {
	run, ended := c.reply.run, t.ended.rec
	retry := b.toolRetry(c, len(c.tries))
	switch {
	case !t.ended.found():
		return span{}
	case !retry.may:
		return span{ended, ended, true}
	}
	span := span{ended, b.next(ended-1, retry.hi), true}
	if run.broke.found() {
		span.hi = max(ended, min(span.hi, run.broke.rec))
	}
	if _, _, kept := b.kept(c); !kept && retry.must {
		span.lo = span.hi
	}
	span.ok = span.lo < len(b.trace)
	return span
}

// A retry says whether another try may or must follow a try, and between which
// instants.
type retry struct {
	may, must bool
	lo, hi    time.Duration
}

// toolRetry recounts whether another try follows the n-th try of a call.
func (b *book) toolRetry(c *call, n int) retry {
	t, run := c.tries[n-1], c.reply.run
	cfg := b.policy(t)
	first := c.since(n)
	if !t.ended.found() || run.broken(t.ended.rec) || n-first > cfg.Max {
		return retry{}
	}
	var r retry
	transient := retriesCode(cfg.Codes, loop.Timeout)
	switch {
	case b.timedOut(t):
		r.may = transient && cfg.Timeouts && (!t.abandoned || t.spec.Idempotent == loop.Idempotent) && !b.lost(t, loop.Timeout)
		r.must = r.may
	case t.in != nil:
		_, code := b.result(t)
		r.may = code.Failed() && retriesCode(cfg.Codes, code) && !b.lost(t, code) && (code != loop.ConnectionLost || t.spec.Idempotent == loop.Idempotent)
		r.must = r.may && (code != loop.Timeout || cfg.Timeouts)
		if b.cfg.Policy.OnFailure == loop.FailureTable && !slices.Contains(passing, code) {
			return retry{} // the table retries only these
		}
	}
	before := time.Duration(-1)
	if n-first > 1 {
		before = t.started.at - c.tries[n-2].ended.at
	}
	r.lo, r.hi = waitRange(cfg.Backoff, cfg.Base, cfg.Cap, n-first, before)
	r.lo, r.hi = r.lo+t.ended.at, r.hi+t.ended.at
	if deadline, limited := b.deadline(run, t.ended.rec); limited && r.hi >= deadline {
		r.must = false
	}
	return r
}

// timedOut reports whether a try was cancelled because its own time ran out, and not
// only together with the run.
func (b *book) timedOut(t *try) bool {
	limit, broke := b.toolTime(t), t.call.reply.run.broke
	return slices.ContainsFunc(t.cancels, func(p place) bool {
		return !broke.by(p.rec) || limit > 0 && p.at == t.started.at+limit
	})
}

// modelRetry recounts whether another try follows the n-th try of a model request.
func (b *book) modelRetry(q *request, n int) retry {
	a, cfg := q.tries[n-1], b.cfg.ModelRetry
	if a.how != askFailed && a.how != askGivenUp || q.run.broken(a.ended.rec) || n > cfg.Max || b.overflow(a) {
		return retry{}
	}
	if cfg.SameDeadline > 0 && b.sameDeadlines(q, n) >= cfg.SameDeadline {
		return retry{}
	}
	if cfg.BrokenStreams > 0 && brokenStreams(q, n) >= cfg.BrokenStreams {
		return retry{}
	}
	status, wait := 0, time.Duration(0)
	if a.in != nil {
		status, wait = a.in.Status, a.in.RetryAfter
	}
	if !retried(cfg.Statuses, status) {
		return retry{}
	}
	r := retry{may: true, must: true, lo: wait, hi: wait}
	if wait <= 0 {
		r.lo, r.hi = waitRange(cfg.Backoff, cfg.Base, cfg.Cap, n, b.waitBefore(q, n))
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

// sameDeadlines returns how many of the first n tries of a model request were given up
// for the commonest reason.
func (b *book) sameDeadlines(q *request, n int) (most int) {
	times := map[string]int{}
	for _, a := range q.tries[:n] {
		if a.how == askGivenUp {
			why := b.trace[a.ended.rec].Effects[a.ended.line-b.lines[a.ended.rec]-1].Text
			times[why]++
			most = max(most, times[why])
		}
	}
	return most
}

// brokenStreams returns how many of the first n tries of a model request failed after
// deltas had come.
func brokenStreams(q *request, n int) (broken int) {
	for _, a := range q.tries[:n] {
		if len(a.deltas) > 0 && (a.how == askFailed || a.how == askGivenUp) {
			broken++
		}
	}
	return broken
}

// waitBefore returns the wait before the n-th try of a model request, or -1 if the
// server asked for it.
func (b *book) waitBefore(q *request, n int) time.Duration {
	if n < 2 || q.tries[n-2].in != nil && q.tries[n-2].in.RetryAfter > 0 {
		return -1
	}
	return q.tries[n-1].asked.at - q.tries[n-2].ended.at
}

// retried reports whether a status is in the list. 0 counts as 5xx.
func retried(statuses []string, status int) bool {
	word := strconv.Itoa(status)
	if status == 0 {
		word = "5xx"
	}
	return slices.ContainsFunc(statuses, func(s string) bool {
		class := len(s) == 3 && strings.EqualFold(s[1:], "xx")
		return strings.EqualFold(s, word) || class && len(word) == 3 && s[0] == word[0]
	})
}

// batchFinal returns the records in which a batch may become final.
func (b *book) batchFinal(r *reply) span {
	span := span{ok: true}
	for _, c := range r.calls {
		span.lo, span.hi = max(span.lo, c.final.lo), max(span.hi, c.final.hi)
		span.ok = span.ok && c.final.ok
	}
	return span
}

// toolTime returns the time that a try may take; 0 means no limit.
func (b *book) toolTime(t *try) time.Duration {
	return cmp.Or(t.spec.Timeout, b.cfg.Time.Tool)
}

// policy returns the retry policy for a try of this tool.
func (b *book) policy(t *try) loop.Retry {
	if t.spec.Retry != nil {
		return *t.spec.Retry
	}
	cfg := b.cfg.Retry
	cfg.Max = cmp.Or(t.spec.Retries, cfg.Max)
	return cfg
}

// since returns the index of the first of the consecutive tries of one tool that end
// with the n-th try.
func (c *call) since(n int) int {
	first := n - 1
	for first > 0 && c.tries[first-1].name == c.tries[n-1].name {
		first--
	}
	return first
}

// fallsBack reports whether a try of the tool's fallback may follow the n-th try of
// a call.
func (b *book) fallsBack(c *call, n int) bool {
	t := c.tries[n-1]
	other := b.tools[t.spec.Fallback]
	if !b.cfg.Policy.Fallbacks || other == nil || c.standIn != "" || c.since(n) != 0 || c.reply.run.broken(t.ended.rec) || !b.replaceable(t) {
		return false
	}
	if schema := b.schema(other.Input); b.cfg.Contracts.Input && schema != nil {
		if _, _, problem, _ := schema.Check(c.sent, 0); problem != "" {
			return false
		}
	}
	return true
}

// replaceable reports whether a fallback may follow a try: not if the arguments are
// invalid for another tool too, or the policy table forbids it.
func (b *book) replaceable(t *try) bool {
	_, code := b.result(t)
	if b.timedOut(t) {
		code = loop.Timeout
	}
	if b.lost(t, code) {
		return false
	}
	if b.cfg.Policy.OnFailure == loop.FailureTable {
		return slices.Contains(passing, code) || slices.Contains([]loop.Code{loop.OutputSchemaMismatch, loop.NotFound}, code)
	}
	return code.Failed() && code != loop.InvalidInput
}

// passing lists the codes of failures that may pass.
var passing = []loop.Code{loop.Timeout, loop.RateLimited, loop.RetryableServer, loop.ConnectionLost, loop.NotSent}

// harmless lists the codes that say that the call took no effect.
var harmless = []loop.Code{loop.NotSent, loop.RateLimited, loop.InvalidInput, loop.NotFound, loop.Unauthorized, loop.Forbidden}

// retriesCode reports whether a policy with this list retries a code. RetryableServer in
// it stands for the two codes of connections too.
func retriesCode(list []loop.Code, code loop.Code) bool {
	return slices.Contains(list, code) ||
		(code == loop.ConnectionLost || code == loop.NotSent) && slices.Contains(list, loop.RetryableServer)
}

// lost reports whether a try of a tool that is not idempotent may have taken effect: it
// was cancelled, or its code does not deny it. Then nothing may run the call again.
func (b *book) lost(t *try, code loop.Code) bool {
	return t.spec.Idempotent == loop.NotIdempotent && (b.timedOut(t) || !slices.Contains(harmless, code))
}

// result returns the text of a try, repaired for the tool's schema, and its code.
func (b *book) result(t *try) (string, loop.Code) {
	if t.in == nil {
		return "", loop.Cancelled
	}
	text, code := t.in.Text, t.in.Code
	schema := b.schema(t.spec.Output)
	if !b.cfg.Contracts.Output || schema == nil || code != loop.None {
		return text, code
	}
	text, _, problem, _ := schema.Check(text, b.cfg.Contracts.Repair)
	if problem != "" {
		code = loop.OutputSchemaMismatch
	}
	return text, code
}

// schema returns a compiled schema, or nil if there is none.
func (b *book) schema(text string) loop.Schema {
	if text == "" || b.task.Schemas == nil {
		return nil
	}
	s, known := b.schemas[text]
	if !known {
		s, _ = b.task.Schemas.Compile(text)
		b.schemas[text] = s
	}
	return s
}
