package audit

import (
	"strconv"
	"time"

	"github.com/agentbench-go/agentbench/loop"
)

// The rules on retries of calls and model requests, and on unusable replies.

// checkRetry checks that calls are retried if they must be, and only if they may be.
func (b *book) checkRetry() {
	for _, c := range b.calls {
		for k, t := range c.tries {
			retry := b.toolRetry(c, k+1)
			if k+1 < len(c.tries) {
				if c.tries[k+1].name != t.name {
					b.checkFallback(c, k)
				} else if !retry.may && t.ended.found() {
					b.report(c.tries[k+1].started, "no try", c.tries[k+1].ref.String(), "the try %s must not be retried", t.ref)
				}
				continue
			}
			if retry.must {
				b.checkRetryMissing(c, t, retry)
			}
		}
	}
}

// checkFallback checks a try that calls another tool than the try before it.
func (b *book) checkFallback(c *call, k int) {
	t, next := c.tries[k], c.tries[k+1]
	switch {
	case next.name != t.spec.Fallback || !b.fallsBack(c, k+1):
		b.report(next.started, "no call of "+next.name, next.ref.String(), "it is not a fallback for the try %s", t.ref)
	case next.started.rec != t.ended.rec || b.toolRetry(c, k+1).must:
		b.report(next.started, "once no retry is left", "at another time", "the fallback %s", next.ref)
	}
}

func (b *book) checkRetryMissing(c *call, t *try, retry retry) {
	run := c.reply.run
	over := b.next(t.ended.rec-1, retry.hi)
	p := place{}
	switch _, _, kept := b.kept(c); {
	case kept:
		return
	case len(c.puts) > 0 && c.puts[0].rec < over && !run.broken(c.puts[0].rec):
		p = c.puts[0].place
	case over < len(b.trace) && !run.broken(over) && b.trace[over].In.At > retry.hi:
		p = b.input(over)
	default:
		return
	}
	b.report(p, "a retry by "+retry.hi.String(), "none", "the try %s must be retried", t.ref)
}

func (b *book) checkRetryWait() {
	for _, c := range b.calls {
		for k := 1; k < len(c.tries); k++ {
			if c.tries[k].name == c.tries[k-1].name {
				b.checkWait(c.tries[k].started, c.tries[k].ref, b.toolRetry(c, k))
			}
		}
	}
}

func (b *book) checkWait(p place, ref loop.Ref, retry retry) {
	if !retry.may || retry.lo <= p.at && p.at <= retry.hi {
		return
	}
	want := "at " + retry.lo.String()
	if retry.lo != retry.hi {
		want = "from " + retry.lo.String() + " to " + retry.hi.String()
	}
	b.report(p, want, p.at.String(), "the try %s is made at another time", ref)
}

func (b *book) checkTryLimit() {
	for _, r := range b.runs {
		for i, t := range r.tries {
			n := i + 1
			if b.cfg.Scope == loop.ScopeSession {
				n = t.n
			}
			if b.cfg.Limits.Tries > 0 && n > b.cfg.Limits.Tries {
				b.report(t.started, "at most "+strconv.Itoa(b.cfg.Limits.Tries), strconv.Itoa(n), "one try too many")
			}
		}
	}
	b.goesOn(loop.StopTryLimit)
}

// expires returns the instant at which the first timeout of a model request runs out,
// if there is no answer before.
func (b *book) expires(a *ask) (at time.Duration, limited bool) {
	limits := b.cfg.Time
	earliest := func(from, limit time.Duration) {
		if limit > 0 && (!limited || from+limit < at) {
			at, limited = from+limit, true
		}
	}
	if a.to == loop.ForSummary && limits.Summary > 0 {
		earliest(a.asked.at, limits.Summary)
	} else {
		earliest(a.asked.at, limits.Model)
	}
	if len(a.deltas) == 0 || limits.FirstToken > 0 && a.deltas[0].at >= a.asked.at+limits.FirstToken {
		earliest(a.asked.at, limits.FirstToken)
		return at, limited
	}
	for i, d := range a.deltas {
		if i+1 == len(a.deltas) || limits.Chunk > 0 && a.deltas[i+1].at >= d.at+limits.Chunk {
			earliest(d.at, limits.Chunk)
			break
		}
	}
	return at, limited
}

// checkModelDeadline checks that a model request is cancelled when one of its timeouts
// runs out, and at no other time except with the whole run.
func (b *book) checkModelDeadline() {
	for _, r := range b.runs {
		for _, q := range r.requests {
			for _, a := range q.tries {
				b.checkExpiry(r, a)
			}
		}
	}
}

func (b *book) checkExpiry(r *run, a *ask) {
	due, limited := b.expires(a)
	if a.how == askGivenUp && !r.broken(a.ended.rec) {
		if !limited || a.ended.at != due {
			b.report(a.ended, dueName(due, due), a.ended.at.String(), "the request %s is given up at another time", a.ref)
		}
		return
	}
	over := b.next(a.asked.rec, due)
	if !limited || over == len(b.trace) || r.broken(over) || a.ended.found() && a.ended.rec < over ||
		r.halt.found() && r.halt.rec < over {
		return
	}
	b.report(b.input(over), "given up at "+due.String(), "not given up", "the time of the request %s is over", a.ref)
}

// checkModelRetry checks that model requests are retried if they must be, and only if
// they may be.
func (b *book) checkModelRetry() {
	for _, r := range b.runs {
		for _, q := range r.requests {
			for k, a := range q.tries {
				retry := b.modelRetry(q, k+1)
				switch over := b.next(a.ended.rec-1, retry.hi); {
				case k+1 < len(q.tries):
					if !retry.may && a.ended.found() {
						b.report(q.tries[k+1].asked, "no try", q.tries[k+1].ref.String(), "the request %s must not be retried", a.ref)
					}
				case retry.must && over < len(b.trace) && b.trace[over].In.At > retry.hi && !r.broken(over) && !r.halt.by(over):
					b.report(b.input(over), "a retry by "+retry.hi.String(), "none", "the request %s must be retried", a.ref)
				}
			}
		}
	}
	b.goesOn(loop.StopModelFailed, loop.StopModelDeadline)
}

func (b *book) checkModelRetryWait() {
	for _, r := range b.runs {
		for _, q := range r.requests {
			for k := 1; k < len(q.tries); k++ {
				b.checkWait(q.tries[k].asked, q.tries[k].ref, b.modelRetry(q, k))
			}
		}
	}
}

// checkEmptyReply checks that empty replies are dropped, that the model is told about
// calls that it announced and left out, and that it is not asked again too often.
func (b *book) checkEmptyReply() {
	for _, r := range b.replies {
		if r.sort == emptyReply && !b.has(r.rec, func(e *loop.Effect) bool { return e.Kind == loop.Drop && e.Ref == r.ref }) {
			b.report(r.place, "dropped", "kept", "the reply %s is empty", r.ref)
		}
		if r.sort == announcedReply && b.has(r.rec, asksModel) && !b.has(r.rec, speaks) {
			b.report(r.place, "a user message that says so", "none", "the reply %s announced calls and held none", r.ref)
		}
	}
	b.goesOn(loop.StopEmptyReply)
}

// checkCutReply checks that replies that were cut off are kept and followed by a user
// message of the loop, and that the model is not asked again too often.
func (b *book) checkCutReply() {
	for _, r := range b.replies {
		again := b.has(r.rec, asksModel)
		if r.sort == cutReply && again && !b.has(r.rec, speaks) {
			b.report(r.place, "a user message that says so", "none", "the reply %s was cut off", r.ref)
		}
	}
	for _, it := range b.said {
		if r := b.reply(b.lines[it.rec]); (r == nil || !r.cut() && r.sort != announcedReply) && !b.hints(it.rec) && !b.steered(it) {
			b.report(it.place, "nothing", "a user message of the loop's own", "no reply was cut off")
		}
	}
	b.ran("cut-reply")
	b.goesOn(loop.StopTruncatedReply)
}

// cut reports whether a reply without calls was cut off.
func (r *reply) cut() bool { return r.sort != batchReply && r.in.Finish == loop.FinishLength }

// hints reports whether a record has another reason for a user message of the loop: a
// nudge, a hint, the last word, or an answer of the user.
func (b *book) hints(rec int) bool {
	for i := rec; i >= 0 && (i == rec || !b.has(i, asksModel)); i-- {
		if b.has(i, func(e *loop.Effect) bool { return e.Kind == loop.Note && e.Event == loop.EventNudged }) {
			return true
		}
	}
	return b.trace[rec].In.Kind == loop.UserReply || b.has(rec, func(e *loop.Effect) bool {
		return e.Kind == loop.AskModel && e.For != loop.ForReply || e.Kind == loop.Put && e.To > 0 ||
			e.Kind == loop.Note && (e.Event == loop.EventNudged || e.Event == loop.EventLimitNear || e.Event == loop.EventGaps || e.Event == loop.EventBadAction)
	}) || b.task.Planner == loop.PlannerJSON
}

// steered reports whether a message of the loop passes on a text of the user during
// the run. The text waits for the next request, however often the current one is
// retried.
func (b *book) steered(it *item) bool {
	for i := it.rec; i >= it.run.begin.rec; i-- {
		in := &b.trace[i].In
		if in.Kind == loop.Steer && in.Text == it.eff.Text && b.has(i, func(e *loop.Effect) bool { return e.Kind == loop.Note && e.Event == loop.EventSteered }) {
			return true
		}
	}
	return false
}

// checkSteered checks that what the user says during a run enters the history before the
// run's next request, unless that is for a summary.
func (b *book) checkSteered() {
	for _, it := range b.notes {
		if it.eff.Event != loop.EventSteered || b.trace[it.rec].In.Kind != loop.Steer {
			continue
		}
		text, told := b.trace[it.rec].In.Text, false
	next:
		for i := it.rec + 1; i < len(b.trace); i++ {
			for j := range b.trace[i].Effects {
				switch e := &b.trace[i].Effects[j]; {
				case e.Kind == loop.Halt:
					break next
				case speaks(e):
					told = told || e.Text == text
				case asksModel(e) && e.Ref.Try == 1 && e.For != loop.ForSummary:
					if !told {
						b.report(it.place, "in the history before the request "+e.Ref.String(), "not there", "the user said something during the run")
					}
					break next
				}
			}
		}
	}
}

// asksModel reports whether an effect is a model request.
func asksModel(e *loop.Effect) bool { return e.Kind == loop.AskModel }

// speaks reports whether an effect adds a user message of the loop.
func speaks(e *loop.Effect) bool { return e.Kind == loop.Put && e.Ref.Kind == loop.RefMessage }

// has reports whether is returns true for one of a record's effects.
func (b *book) has(rec int, is func(e *loop.Effect) bool) bool {
	effects := b.trace[rec].Effects
	for i := range effects {
		if is(&effects[i]) {
			return true
		}
	}
	return false
}
