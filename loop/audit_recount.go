package loop

import (
	"math"
	"slices"
	"strings"
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
	rankDeadline = iota << 20
	rankCancel
	rankModel
	rankValidity
	rankDone
	rankTokens
	rankCost
	rankSteps
	rankDetectors
	rankCalls // and the index of the call
	rankTryLimit
	rankHook
	rankErrorLimit
	rankSubTokens
	rankSubCost
	rankTurnLimit
)

// before reports whether d surely comes before e.
func (d auditDecision) before(e auditDecision) bool {
	return !d.maybe && (d.hi < e.lo || d.hi == e.lo && d.rank < e.rank)
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
	turns, calls, steps, row, spawns int
	tokens, cost                     int64
	open                             bool // calls cannot be told: the user went on at a question, which may have been theirs

	// Failing turns in a row, where a turn of which nothing was started breaks
	// the row and where it does not: the documentation leaves that open.
	errors, errorsKept int

	auditStreaks
	before auditStreaks // those before the last turn
}

func (b *auditBook) recount() {
	type written struct{ name, args string }
	type read struct {
		same   string
		object bool
	}
	seen := map[written]read{} // a run that repeats itself writes the same again and again
	for _, c := range b.calls {
		w := written{c.name, c.args}
		r, known := seen[w]
		if !known {
			r = read{auditSame(c.name, c.args), auditIsObject(c.args)}
			seen[w] = r
		}
		c.same = r.same
		b.readFault(c, r.object)
	}
	n := auditCounts{}
	for _, r := range b.runs {
		if b.cfg.Scope != ScopeSession {
			n = auditCounts{}
		}
		n.row = 0 // what is asked for again is asked for in the same run
		b.breakOff(r)
		b.beginRun(r, &n)
		b.trust(r)
		for _, reply := range r.replies {
			b.judge(reply, &n)
		}
		b.decideRequests(r)
		b.decideTries(r)
	}
}

// trust takes the stops at their word that are not recounted: those of detectors
// that do more than stop, and of a question to the user that is not about a
// limit.
func (b *auditBook) trust(r *auditRun) {
	for _, d := range b.cfg.Detectors {
		if !b.plain {
			r.perhaps(Stop(d.Name), r.begin.rec)
		}
	}
	for _, q := range r.asks {
		if q.answered.found() && !q.allow && (b.cfg.Policy.AskMissing || b.cfg.Policy.OnFailure == FailureTable) {
			r.perhaps(StopNeedsUser, q.answered.rec)
		}
	}
}

// readFault finds out whether a call is of an unknown tool or has arguments that
// are not valid.
func (b *auditBook) readFault(c *auditCall, object bool) {
	c.loose = !auditClear(c.args) || c.planned && c.name == ""
	switch {
	case c.spec == nil:
		c.fault = Unknown
	case !object:
		c.fault = InvalidArgs
	case b.cfg.Contracts.Input && c.spec.Input != "":
		schema := b.schema(c.spec.Input)
		if schema == nil {
			c.loose = true
			return
		}
		fixed, _, problem, _ := schema.Check(c.args, b.cfg.Contracts.Repair)
		c.fixed, c.sent = fixed, fixed
		if problem != "" {
			c.fault = InvalidArgs
		}
	}
	if c.loose && len(c.puts) > 0 {
		c.fault = c.puts[0].eff.Why // taken at its word
		if c.fault != Unknown && c.fault != InvalidArgs {
			c.fault = Executed
		}
	}
}

// judge counts a reply, and finds out what blocks its calls and what it
// decides.
func (b *auditBook) judge(r *auditReply, n *auditCounts) {
	n.tokens += r.in.TokensIn + r.in.TokensOut
	n.cost += r.in.Cost
	switch {
	case r.last:
		b.judgeLast(r)
		return
	case r.sort == auditSummary:
		return
	}
	b.countRow(r, n)
	if r.sort != auditBatch {
		b.judgeText(r, n)
		return
	}
	n.turns++
	n.steps++
	b.checkSpending(r, n, rankTokens)
	b.checkSteps(r, n)
	for _, c := range r.calls {
		c.stop(c.fault, "executable")
	}
	b.checkDetectors(r, n)
	full := b.checkCallLimits(r, n)
	b.readGates(r)
	n.forgetVetoed(r)
	for _, c := range r.calls {
		c.final = b.finality(c)
	}
	for _, g := range r.gates(true) {
		if g.answered.found() && !g.allow {
			r.run.decide(StopCancelled, rankHook, g.answered.rec, g.answered.rec)
		}
	}
	rec := b.decideErrors(r, n)
	b.decidePolicy(r, rec)
	b.rollUp(r, n, rec)
	b.judgeBatch(r, n, full, rec)
	b.endTools(r)
}

// decidePolicy takes the policy table's stops as they come: they need a failed
// call.
func (b *auditBook) decidePolicy(r *auditReply, rec int) {
	failed := slices.ContainsFunc(r.calls, func(c *auditCall) bool { return len(c.puts) > 0 && c.puts[0].eff.Code.Failed() })
	if rec >= 0 && failed && b.cfg.Policy.OnFailure == FailureTable {
		r.run.perhaps(StopToolContract, rec)
		r.run.perhaps(StopUnauthorized, rec)
	}
}

// rollUp counts what the sub-runs of a batch used.
func (b *auditBook) rollUp(r *auditReply, n *auditCounts, rec int) {
	used := false
	for _, c := range r.calls {
		for _, t := range c.tries {
			if t.in != nil {
				n.tokens += t.in.TokensIn + t.in.TokensOut
				n.cost += t.in.Cost
				n.calls += t.in.Used
				used = used || t.in.TokensIn+t.in.TokensOut+t.in.Cost > 0
			}
		}
	}
	if used && rec >= 0 {
		after := *r
		after.rec, after.calls = rec, nil
		b.checkSpending(&after, n, rankSubTokens)
	}
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
	if r.sort == auditAnswer || r.sort == auditAction || r.sort == auditBatch && !(cut && r.faulty()) {
		n.row = 0
		return
	}
	n.row++
	if n.row > b.cfg.ModelRetry.EmptyReplies {
		if r.sort == auditEmpty || r.sort == auditBad {
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
	switch {
	case failed > 0 && (failed == ended || b.cfg.Errors.Batch == BatchAny):
		n.errors++
		n.errorsKept++
	case ended == 0:
		n.errors = 0
	default:
		n.errors, n.errorsKept = 0, 0
	}
	switch {
	case b.trips(n.errors):
		r.run.decide(StopErrorLimit, rankErrorLimit, rec, rec)
	case b.trips(n.errorsKept):
		r.run.perhaps(StopErrorLimit, rec)
	}
	return rec
}

// trips reports whether a number of failing turns trips the error limit.
func (b *auditBook) trips(count int) bool {
	limit := b.cfg.Errors.MaxConsecutive
	return limit > 0 && (count > limit || count == limit && b.cfg.Errors.Trip != TripExceeded)
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

// errorText reports whether a call's result begins like an error's.
func (b *auditBook) errorText(c *auditCall) bool {
	t, prefix := c.last(), b.cfg.Errors.TextPrefix
	if prefix == "" || t == nil || t.in == nil {
		return false
	}
	return strings.HasPrefix(b.heard(c, t), prefix)
}

// decideRequests finds the model requests that failed for good.
func (b *auditBook) decideRequests(r *auditRun) {
	for _, q := range r.requests {
		a := q.tries[len(q.tries)-1]
		if a.to == ForSummary {
			for _, stop := range []Stop{StopCompactionThrash, StopTokenLimit, StopCostLimit} {
				r.perhaps(stop, a.asked.rec)
			}
			continue // without a summary the run goes on
		}
		if a.how != auditFailed && a.how != auditGivenUp || r.broken(a.ended.rec) {
			continue
		}
		retry := b.modelRetry(q, len(q.tries))
		if retry.may && (retry.must || !b.noted(a.ended.rec, EventGaveUp)) {
			continue
		}
		stop := StopModelFailed
		if a.how == auditGivenUp {
			stop = StopModelDeadline
		}
		r.decide(stop, rankModel, a.ended.rec, a.ended.rec)
	}
}

// decideTries finds the tries that the try limit kept from being made. The first
// of a batch decides, and that need not be the first call's.
func (b *auditBook) decideTries(r *auditRun) {
	for _, reply := range r.replies {
		lo, hi := math.MaxInt, math.MaxInt
		for _, c := range reply.calls {
			if from, until, ok := b.kept(c); ok {
				lo, hi = min(lo, from), min(hi, until)
			}
		}
		if hi < math.MaxInt {
			r.decide(StopTryLimit, rankTryLimit, lo, hi)
		}
	}
}
