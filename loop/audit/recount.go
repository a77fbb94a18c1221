package audit

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/agentbench-go/agentbench/loop"
)

// This file recounts why each call is blocked, when a run is broken off, and which
// rules stop it.

// A decision is a rule's decision to stop a run. It is made in one of the records lo to
// hi; the rules do not always say exactly in which.
type decision struct {
	stop   loop.Stop
	lo, hi int
	rank   int  // of several decisions at one instant, the lowest rank comes first
	maybe  bool // it is not known whether it was made
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
	rankCalls // plus the index of the call
	rankTryLimit
	rankHook
	rankErrorLimit
	rankSubTokens
	rankSubCost
	rankSubAsked
	rankTurnLimit
)

// before reports whether d certainly comes before e.
func (d decision) before(e decision) bool {
	return !d.maybe && (d.hi < e.lo || d.hi == e.lo && d.rank < e.rank)
}

// decide adds a decision.
func (r *run) decide(stop loop.Stop, rank, lo, hi int) {
	r.decisions = append(r.decisions, decision{stop: stop, rank: rank, lo: lo, hi: hi})
}

// perhaps adds a decision that may have been made in any record from lo on.
func (r *run) perhaps(stop loop.Stop, lo int) {
	for _, d := range r.decisions {
		if d.maybe && d.stop == stop {
			return
		}
	}
	r.decisions = append(r.decisions, decision{stop: stop, lo: lo, hi: math.MaxInt, maybe: true})
}

// obeyed reports whether the run asked the model for no further turn after the
// decision.
func (r *run) obeyed(d decision) bool {
	return !r.disobeyed(d).found()
}

// disobeyed returns the first place where the run asked for another turn after the
// decision.
func (r *run) disobeyed(d decision) (first place) {
	for _, q := range r.requests {
		for _, a := range q.tries {
			if a.to == loop.ForReply && a.asked.rec >= d.hi && (!first.found() || a.asked.line < first.line) {
				first = a.asked
			}
		}
	}
	return first
}

// counts holds the counts of limits and detectors.
type counts struct {
	turns, asked, calls, steps, row, spawns int
	ended, failed                           int // calls
	tokens, cost                            int64
	open                                    bool // calls is not known: the user allowed a question that may have reset it

	// Failing turns in a row: errors if a turn of which nothing started ends the
	// row, errorsKept if it does not. The audit allows both.
	errors, errorsKept int

	streaks []streakCount // of each detector
	before  []streakCount // the streaks before the last turn
	loose   bool          // the streaks are not known any more
}

// recount decides for every call why it is blocked, and for every run why it stops.
func (b *book) recount() {
	b.readCalls()
	n := counts{}
	for _, r := range b.runs {
		if b.cfg.Scope != loop.ScopeSession {
			n = counts{}
		}
		n.row = 0 // unusable replies are counted per run
		b.breakOff(r)
		b.beginRun(r, &n)
		b.trust(r)
		for _, reply := range r.replies {
			b.judge(reply, &n)
		}
		b.decideRequests(r)
	}
}

// readCalls reads the arguments of the calls. It reads those of repeated calls once.
func (b *book) readCalls() {
	type read struct {
		same   string
		object bool
	}
	seen := map[written]read{}
	var plain []byte
	for _, c := range b.calls {
		w := written{c.name, c.args}
		r, known := seen[w]
		if !known {
			plain, r.object = appendObject(plain[:0], c.args)
			if b.streaks {
				r.same = sameAs(c.name, c.args, plain, r.object)
			}
			if len(seen) < 1000 { // later calls are rarely repeated
				seen[w] = r
			}
		}
		c.same, c.object = r.same, r.object
		b.readFault(c)
	}
}

// written is a call as the model wrote it.
type written struct{ name, args string }

// trust accepts the stops that are not recounted: those of detectors if one of them does
// more than count and stop, and of questions to the user that are not about a limit.
func (b *book) trust(r *run) {
	for _, d := range b.cfg.Detectors {
		if !b.plain {
			r.perhaps(loop.Stop(d.Name), r.begin.rec)
		}
	}
	if h := b.cfg.History; h.CompactAt > 0 || h.CompactTokens > 0 || h.CompactOnOverflow {
		r.perhaps(loop.StopCompactionThrash, r.begin.rec) // as checkCompaction recounts
	}
	for _, q := range r.asks {
		if q.answered.found() && !q.allow && (b.cfg.Policy.AskMissing || b.cfg.Policy.OnFailure == loop.FailureTable) {
			r.perhaps(loop.StopNeedsUser, q.answered.rec)
		}
	}
}

// readFault decides whether a call names an unknown tool or has invalid arguments.
func (b *book) readFault(c *call) {
	c.loose = !clearJSON(c.args) || c.planned && c.name == ""
	switch {
	case c.spec == nil:
		c.fault = loop.Unknown
	case !c.object:
		c.fault = loop.InvalidArgs
	case b.cfg.Contracts.Input && c.spec.Input != "":
		schema := b.schema(c.spec.Input)
		if schema == nil {
			c.loose = true
			return
		}
		fixed, _, problem, _ := schema.Check(c.args, b.cfg.Contracts.Repair)
		c.fixed, c.sent = fixed, fixed
		if problem != "" {
			c.fault = loop.InvalidArgs
		}
	}
	if c.loose && len(c.puts) > 0 {
		c.fault = c.puts[0].eff.Why // accepted from the trace
		if c.fault != loop.Unknown && c.fault != loop.InvalidArgs {
			c.fault = loop.Executed
		}
	}
}

// judge counts a reply, and decides why its calls are blocked and the run stops.
func (b *book) judge(r *reply, n *counts) {
	n.tokens += r.in.TokensIn + r.in.TokensOut
	n.cost += r.in.Cost
	n.asked += len(r.calls)
	switch {
	case r.last:
		b.judgeLast(r)
		return
	case r.sort == summaryReply:
		return
	}
	b.countRow(r, n)
	if r.sort != batchReply {
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
	surplus := b.checkAskedCalls(r, n)
	full := b.checkCallLimits(r, n)
	b.readGates(r)
	if b.streaks {
		b.forgetVetoed(r, n)
	}
	b.readStarts(r, n)
	b.readRests(r, n)
	for _, c := range r.calls {
		c.final = b.finality(c)
	}
	for _, g := range r.gates(true) {
		if g.answered.found() && !g.allow {
			r.run.decide(loop.StopCancelled, rankHook, g.answered.rec, g.answered.rec)
		}
	}
	rec := b.decideErrors(r, n)
	b.decidePolicy(r, rec)
	if late, sure := b.decideStarts(r, n); late != nil && b.cfg.Limits.AtLimit == loop.LimitAsk {
		full = cmp.Or(full, late)
		n.open = n.open || !sure
	}
	b.rollUp(r, n, rec)
	b.judgeBatch(r, n, full, surplus, rec)
	b.endTools(r)
}

// decidePolicy accepts the policy table's stops after a failed call.
func (b *book) decidePolicy(r *reply, rec int) {
	failed := slices.ContainsFunc(r.calls, func(c *call) bool { return len(c.puts) > 0 && c.puts[0].eff.Code.Failed() })
	if rec >= 0 && failed && b.cfg.Policy.OnFailure == loop.FailureTable {
		r.run.perhaps(loop.StopToolContract, rec)
		r.run.perhaps(loop.StopUnauthorized, rec)
	}
}

// rollUp adds the tokens, cost and calls of the sub-runs of a batch.
func (b *book) rollUp(r *reply, n *counts, rec int) {
	used := false
	for _, c := range r.calls {
		for _, t := range c.tries {
			if t.in != nil {
				n.tokens += t.in.TokensIn + t.in.TokensOut
				n.cost += t.in.Cost
				n.asked += t.in.Asked
				n.calls += t.in.Used
				n.spawns += t.in.Spawned
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

// stop blocks a call unless it is blocked already.
func (c *call) stop(why loop.Why, rule string) {
	if c.block == loop.Executed && why != loop.Executed {
		c.block, c.rule = why, rule
	}
}

// countRow counts unusable replies in a row.
func (b *book) countRow(r *reply, n *counts) {
	cut := r.in.Finish == loop.FinishLength
	if r.sort == answerReply || r.sort == actionReply || r.sort == batchReply && !(cut && r.faulty()) {
		n.row = 0
		return
	}
	n.row++
	limit := b.cfg.ModelRetry.EmptyReplies
	if cut {
		limit = b.cfg.ModelRetry.CutReplies
	}
	if r.sort == gapReply {
		limit = b.cfg.ModelRetry.GapReplies
	}
	if n.row > limit {
		if r.sort == emptyReply || r.sort == announcedReply || r.sort == badReply {
			r.run.decide(loop.StopEmptyReply, rankValidity, r.rec, r.rec)
		}
		if r.sort == gapReply {
			r.run.decide(loop.StopUnmetGoal, rankValidity, r.rec, r.rec)
		}
		if cut {
			r.run.decide(loop.StopTruncatedReply, rankValidity, r.rec, r.rec)
		}
		for _, c := range r.calls {
			c.stop(loop.Refused, "cut-reply")
		}
	}
}

// faulty reports whether the arguments of a call are not a JSON object.
func (r *reply) faulty() bool {
	return slices.ContainsFunc(r.calls, func(c *call) bool { return !c.object })
}

// decideErrors counts failing turns, and returns the record in which the batch
// became final, or -1.
func (b *book) decideErrors(r *reply, n *counts) (rec int) {
	var failed, ended int
	for _, c := range r.calls {
		if len(c.puts) == 0 {
			return -1
		}
		put := c.puts[0]
		rec = max(rec, put.rec)
		if put.eff.Why == loop.NotStarted {
			continue
		}
		ended++
		if slices.Contains(b.cfg.Errors.Kinds, b.errorKind(c, put.eff)) {
			failed++
		}
	}
	n.ended, n.failed = n.ended+ended, n.failed+failed
	switch {
	case failed > 0 && (failed == ended || b.cfg.Errors.Batch == loop.BatchAny):
		n.errors++
		n.errorsKept++
	case ended == 0:
		n.errors = 0
	default:
		n.errors, n.errorsKept = 0, 0
	}
	switch {
	case b.trips(n.errors):
		r.run.decide(loop.StopErrorLimit, rankErrorLimit, rec, rec)
	case b.trips(n.errorsKept):
		r.run.perhaps(loop.StopErrorLimit, rec)
	}
	return rec
}

// trips reports whether a number of failing turns trips the error limit.
func (b *book) trips(count int) bool {
	limit := b.cfg.Errors.MaxConsecutive
	return limit > 0 && (count > limit || count == limit && b.cfg.Errors.Trip != loop.TripExceeded)
}

// errorKind returns the kind of error of a result; "" for none.
func (b *book) errorKind(c *call, put *loop.Effect) loop.ErrorKind {
	switch put.Why {
	case loop.Unknown:
		return loop.KindUnknown
	case loop.InvalidArgs:
		return loop.KindInvalid
	case loop.Denied:
		return loop.KindDenied
	case loop.Vetoed, loop.Refused:
		return loop.KindVetoed
	}
	if put.Code.Failed() {
		return loop.KindException
	}
	if b.errorText(c) {
		return loop.KindText
	}
	return ""
}

// errorText reports whether a call's result begins with errors.text_prefix.
func (b *book) errorText(c *call) bool {
	t, prefix := c.last(), b.cfg.Errors.TextPrefix
	if prefix == "" || t == nil || t.in == nil {
		return false
	}
	return strings.HasPrefix(b.heard(c, t), prefix)
}

// decideRequests adds the stops of model requests whose last try failed.
func (b *book) decideRequests(r *run) {
	for _, q := range r.requests {
		a := q.tries[len(q.tries)-1]
		if a.to == loop.ForSummary {
			for _, stop := range []loop.Stop{loop.StopTokenLimit, loop.StopCostLimit} {
				r.perhaps(stop, a.asked.rec)
			}
			continue // without a summary the run goes on
		}
		if a.how != askFailed && a.how != askGivenUp || r.broken(a.ended.rec) {
			continue
		}
		if b.overflow(a) {
			r.perhaps(loop.StopModelFailed, a.ended.rec) // without anything to replace
			continue
		}
		retry := b.modelRetry(q, len(q.tries))
		if retry.may && (retry.must || !b.noted(a.ended.rec, loop.EventGaveUp)) {
			continue
		}
		stop := loop.StopModelFailed
		if a.how == askGivenUp {
			stop = loop.StopModelDeadline
		}
		r.decide(stop, rankModel, a.ended.rec, a.ended.rec)
	}
}
