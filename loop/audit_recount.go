package loop

import (
	"math"
	"slices"
	"strings"
	"time"
)

// This file recounts what should have happened: what blocks each call, when a
// run is broken off, and what decides that it stops.

// An auditDecision is a rule's decision that a run stops. Where the rules leave
// open when exactly it falls, it falls in one of the records lo to hi.
type auditDecision struct {
	stop   Stop
	lo, hi int
	rank   int  // which comes first at one instant (decision D20)
	maybe  bool // the recount cannot tell whether it fell
}

const (
	rankDeadline = iota
	rankCancel
	rankModel
	rankValidity
	rankDone
	rankTokens
	rankCost
	rankSteps
	rankDetectors
	rankCallLimit
	rankTryLimit
	rankErrorLimit
	rankTurnLimit
)

// before reports whether d surely comes before e.
func (d auditDecision) before(e auditDecision) bool {
	return !d.maybe && d.hi < e.lo || d.hi == e.lo && d.rank < e.rank
}

func (r *auditRun) decide(stop Stop, rank, lo, hi int) {
	r.decisions = append(r.decisions, auditDecision{stop: stop, rank: rank, lo: lo, hi: hi})
}

// perhaps adds a decision that may have fallen at any time from lo on.
func (r *auditRun) perhaps(stop Stop, lo int) {
	for _, d := range r.decisions {
		if d.maybe && d.stop == stop {
			return
		}
	}
	r.decisions = append(r.decisions, auditDecision{stop: stop, lo: lo, hi: math.MaxInt, maybe: true})
}

// obeyed reports whether the run asked the model for no further turn once the
// decision had fallen.
func (r *auditRun) obeyed(d auditDecision) bool {
	return !r.disobeyed(d).found()
}

// disobeyed gives the first place where a run asked for another turn although
// the decision had fallen.
func (r *auditRun) disobeyed(d auditDecision) (first auditPlace) {
	for _, q := range r.requests {
		for _, a := range q.tries {
			if a.to == ForReply && a.asked.rec >= d.hi && (!first.found() || a.asked.line < first.line) {
				first = a.asked
			}
		}
	}
	return first
}

// auditCounts is what the limits and detectors count.
type auditCounts struct {
	turns, calls, steps, row, errors int
	tokens, cost                     int64

	streaks map[string]int // of the calls in the last turn
	same    string         // the last call
	times   int            // how often in a row
}

func (b *auditBook) recount() {
	for _, c := range b.calls {
		c.same = auditSame(c.name, c.args)
		switch {
		case c.spec == nil:
			c.fault = Unknown
		case !auditIsObject(c.args):
			c.fault = InvalidArgs
		}
	}
	n := auditCounts{}
	for _, r := range b.runs {
		if b.cfg.Scope != ScopeSession {
			n = auditCounts{}
		}
		n.row = 0 // what is asked for again is asked for in the same run
		b.breakOff(r)
		b.beginRun(r, &n)
		for _, reply := range r.replies {
			b.judge(reply, &n)
		}
		b.decideRequests(r)
		b.decideTries(r)
	}
}

// breakOff finds out when a cancel or the run deadline broke a run off.
func (b *auditBook) breakOff(r *auditRun) {
	if len(r.cancels) > 0 {
		c := r.cancels[0]
		r.broke, r.brokeBy = c.auditPlace, auditCancelStop(c.in.Cause)
		r.decide(r.brokeBy, rankCancel, c.rec, c.rec)
	}
	deadline, limited := b.deadline(r, len(b.trace))
	if !limited {
		return
	}
	rec := b.next(r.begin.rec, deadline)
	if rec == len(b.trace) || r.halt.found() && r.halt.rec < rec {
		return
	}
	r.decide(StopRunDeadline, rankDeadline, rec, rec)
	if !r.broke.found() || rec <= r.broke.rec {
		r.broke, r.brokeBy = b.input(rec), StopRunDeadline
	}
}

func auditCancelStop(c Cause) Stop {
	switch c {
	case ByCeiling:
		return StopCeiling
	case ByRecordingEnded:
		return StopRecordingEnded
	}
	return StopCancelled
}

// deadline gives the instant of a run's deadline, as it stands at record rec.
func (b *auditBook) deadline(r *auditRun, rec int) (at time.Duration, limited bool) {
	if b.cfg.Time.Run <= 0 {
		return 0, false
	}
	at = r.begin.at + b.cfg.Time.Run
	for _, p := range r.pauses {
		if !b.cfg.Time.PauseForUser || p.opened.rec > rec || p.opened.at >= at {
			break
		}
		if !p.answered.found() {
			return 0, false
		}
		at += p.answered.at - p.opened.at
	}
	return at, true
}

// beginRun applies a turn limit that was reached in an earlier run.
func (b *auditBook) beginRun(r *auditRun, n *auditCounts) {
	if !b.turnsUsed(n) {
		return
	}
	if b.cfg.Limits.AtLimit == LimitAsk {
		b.askAtLimit(r, n, false, r.begin.rec)
		return
	}
	b.decideTurns(r, n, r.begin.rec)
}

// judge counts a reply, and finds out what blocks its calls and what it
// decides.
func (b *auditBook) judge(r *auditReply, n *auditCounts) {
	n.tokens += r.in.TokensIn + r.in.TokensOut
	n.cost += r.in.Cost
	if r.last {
		b.judgeLast(r)
		return
	}
	b.countRow(r, n)
	if r.sort != auditBatch {
		b.judgeText(r, n)
		return
	}
	n.turns++
	n.steps++
	b.checkSpending(r, n)
	b.checkSteps(r, n)
	for _, c := range r.calls {
		c.stop(c.fault, "executable")
	}
	b.checkDetectors(r, n)
	full := b.checkCallLimits(r, n)
	b.readDenials(r)
	for _, c := range r.calls {
		c.final = b.finality(c)
	}
	b.judgeBatch(r, n, full, b.decideErrors(r, n))
}

// stop blocks a call if nothing has blocked it before.
func (c *auditCall) stop(why Why, rule string) {
	if c.block == Executed && why != Executed {
		c.block, c.rule = why, rule
	}
}

// countRow counts the replies in a row that cannot be used.
func (b *auditBook) countRow(r *auditReply, n *auditCounts) {
	cut := r.in.Finish == FinishLength
	if r.sort == auditAnswer || r.sort == auditBatch && !(cut && r.faulty()) {
		n.row = 0
		return
	}
	n.row++
	if n.row > b.cfg.ModelRetry.EmptyReplies {
		if r.sort == auditEmpty {
			r.run.decide(StopEmptyReply, rankValidity, r.rec, r.rec)
		}
		if cut {
			r.run.decide(StopTruncatedReply, rankValidity, r.rec, r.rec)
		}
		for _, c := range r.calls {
			c.stop(Refused, "cut-reply")
		}
	}
}

// faulty reports whether the arguments of a call are no JSON object.
func (r *auditReply) faulty() bool {
	return slices.ContainsFunc(r.calls, func(c *auditCall) bool { return !auditIsObject(c.args) })
}

// readDenials finds out which calls of a batch were denied.
func (b *auditBook) readDenials(r *auditReply) {
	for _, c := range r.calls {
		for _, g := range c.gates {
			if !g.answered.found() || g.allow || c.spec == nil {
				continue
			}
			for _, d := range r.calls {
				if d == c || c.spec.Permission == AskBatch && d.name == c.name && d.block == Executed {
					d.denied = g.answered
				}
			}
		}
	}
}

// decideErrors counts failing turns, and gives the record in which the batch
// became final, or -1.
func (b *auditBook) decideErrors(r *auditReply, n *auditCounts) (rec int) {
	var failed, ended int
	for _, c := range r.calls {
		if len(c.puts) == 0 {
			return -1
		}
		put := c.puts[0]
		rec = max(rec, put.rec)
		if put.eff.Why == NotStarted {
			continue
		}
		ended++
		if slices.Contains(b.cfg.Errors.Kinds, b.errorKind(c, put.eff)) {
			failed++
		}
	}
	if failed == 0 || failed < ended && b.cfg.Errors.Batch != BatchAny {
		n.errors = 0
	} else {
		n.errors++
	}
	limit := b.cfg.Errors.MaxConsecutive
	if limit > 0 && (n.errors > limit || n.errors == limit && b.cfg.Errors.Trip != TripExceeded) {
		r.run.decide(StopErrorLimit, rankErrorLimit, rec, rec)
	}
	return rec
}

// errorKind gives the kind of error that a result is, "" for none.
func (b *auditBook) errorKind(c *auditCall, put *Effect) ErrorKind {
	switch put.Why {
	case Unknown:
		return KindUnknown
	case InvalidArgs:
		return KindInvalid
	case Denied:
		return KindDenied
	case Vetoed, Refused:
		return KindVetoed
	}
	if put.Code.Failed() {
		return KindException
	}
	if b.errorText(c) {
		return KindText
	}
	return ""
}

// errorText reports whether the tool's last words begin like an error's.
func (b *auditBook) errorText(c *auditCall) bool {
	t, prefix := c.last(), b.cfg.Errors.TextPrefix
	return prefix != "" && t != nil && t.in != nil && strings.HasPrefix(t.in.Text, prefix)
}

// decideRequests finds the model requests that failed for good.
func (b *auditBook) decideRequests(r *auditRun) {
	for _, q := range r.requests {
		a := q.tries[len(q.tries)-1]
		if a.how != auditFailed && a.how != auditGivenUp || r.broken(a.ended.rec) {
			continue
		}
		retry := b.modelRetry(q, len(q.tries))
		if retry.may && (retry.must || r.halt.rec != a.ended.rec) {
			continue
		}
		stop := StopModelFailed
		if a.how == auditGivenUp {
			stop = StopModelDeadline
		}
		r.decide(stop, rankModel, a.ended.rec, a.ended.rec)
	}
}

// decideTries finds the tries that the try limit kept from being made.
func (b *auditBook) decideTries(r *auditRun) {
	for _, reply := range r.replies {
		for _, c := range reply.calls {
			from, until, ok := b.kept(c)
			if ok {
				r.decide(StopTryLimit, rankTryLimit, from, until)
				break
			}
		}
	}
}
