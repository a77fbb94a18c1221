package loop

import (
	"slices"
	"strconv"
	"strings"
)

// The rules on limits, and on how runs end.

// goesOn reports the requests that a run makes after one of these stops was
// decided.
func (b *auditBook) goesOn(stops ...Stop) {
	for _, r := range b.runs {
		for _, d := range r.decisions {
			if !slices.Contains(stops, d.stop) {
				continue
			}
			if p := r.disobeyed(d); p.found() {
				b.report(p, "the stop "+string(d.stop), "another request", "the run goes on")
			}
		}
	}
}

func (b *auditBook) checkErrorLimit()   { b.goesOn(StopErrorLimit) }
func (b *auditBook) checkCallsPerTurn() { b.ran("calls-per-turn") }

func (b *auditBook) checkTurnLimit() {
	b.ran("turn-limit")
	b.goesOn(StopTurnLimit)
}

// checkLastWord checks that a run asks for a last word where a limit or a
// detector says so, once, and does not run the calls in it.
func (b *auditBook) checkLastWord() {
	b.ran("last-word")
	for _, r := range b.runs {
		b.checkQuestions(r)
		words := 0
		for _, q := range r.requests {
			a := q.tries[0]
			if a.to == ForReply {
				continue
			}
			if words++; words > 1+max(0, b.cfg.ModelRetry.EmptyReplies) {
				b.report(a.asked, "one", strconv.Itoa(words), "one last word too many")
			}
			if !b.lastWordDue(r, a) {
				b.report(a.asked, "for=reply", "for="+string(a.to), "nothing asks for a last word here")
			}
		}
		if r.outcome == nil || r.broke.found() || words > 0 || b.purpose() == ForReply || r.answered() {
			continue
		}
		if r.outcome.Stop == StopTurnLimit || r.outcome.Stop == StopCallLimit {
			b.report(r.halt, "for="+string(b.purpose()), "none", "the run ends without its last word")
		}
	}
}

func (b *auditBook) checkQuestions(r *auditRun) {
	for _, q := range r.asks {
		if b.cfg.Limits.AtLimit != LimitAsk && b.plain {
			b.report(q.opened, "no question", q.ref.String(), "nothing says that the user is asked here")
		}
	}
}

// answered reports whether the last reply of a run is an answer.
func (r *auditRun) answered() bool {
	n := len(r.replies)
	return n > 0 && r.replies[n-1].sort == auditAnswer
}

// purpose gives what is asked for at a limit.
func (b *auditBook) purpose() Purpose {
	switch b.cfg.Limits.AtLimit {
	case LimitFinal:
		return ForFinal
	case LimitGrace:
		return ForGrace
	}
	return ForReply
}

func (b *auditBook) lastWordDue(r *auditRun, a *auditAsk) bool {
	for _, d := range r.decisions {
		limit := d.stop == StopTurnLimit || d.stop == StopCallLimit
		if d.lo <= a.asked.rec && (limit && a.to == b.purpose() || d.maybe && !limit && a.to == ForFinal) {
			return true
		}
	}
	return false
}

func (b *auditBook) checkCallLimit() {
	b.ran("call-limit")
	b.goesOn(StopCallLimit)
}

func (b *auditBook) checkTokenLimit() {
	b.ran("token-limit")
	b.goesOn(StopTokenLimit)
}

func (b *auditBook) checkCostLimit() {
	b.ran("cost-limit")
	b.goesOn(StopCostLimit)
}

func (b *auditBook) checkDetector() {
	b.ran("detector")
	for _, d := range b.cfg.Detectors {
		b.goesOn(Stop(d.Name))
	}
}

func (b *auditBook) checkRunDeadline() {
	b.checkBreak(func(s Stop) bool { return s == StopRunDeadline })
}
func (b *auditBook) checkCancel() { b.checkBreak(func(s Stop) bool { return s != StopRunDeadline }) }

// checkBreak checks that nothing starts once a cancel or the run deadline broke
// a run off, that what runs is cancelled, and that the run then ends in time.
func (b *auditBook) checkBreak(by func(Stop) bool) {
	for _, r := range b.runs {
		if r.broke.found() && by(r.brokeBy) {
			b.checkNoStart(r)
			b.checkAllCancelled(r)
			b.checkHaltInTime(r)
		}
	}
}

func (b *auditBook) checkNoStart(r *auditRun) {
	for _, it := range b.items {
		if it.run != r || it.eff == nil || it.rec < r.broke.rec {
			continue
		}
		if k := it.eff.Kind; k == AskModel || k == AskUser || k == OpenGate || k == CallTool {
			b.report(it.auditPlace, "nothing new", it.eff.Ref.String(), "the run was broken off at %s", r.broke.at)
		}
	}
}

func (b *auditBook) checkAllCancelled(r *auditRun) {
	for _, t := range r.tries {
		open := t.started.rec < r.broke.rec && !(t.ended.found() && t.ended.rec <= r.broke.rec)
		if open && !slices.ContainsFunc(t.cancels, func(p auditPlace) bool { return p.rec <= r.broke.rec }) {
			b.report(r.broke, "cancelled", "not cancelled", "the try %s runs when the run is broken off", t.ref)
		}
	}
	for _, q := range r.requests {
		a := q.tries[len(q.tries)-1]
		if a.asked.rec < r.broke.rec && !(a.ended.found() && (a.ended.rec < r.broke.rec || a.how == auditGivenUp)) {
			b.report(r.broke, "cancelled", "not cancelled", "the request %s is open when the run is broken off", a.ref)
		}
	}
}

func (b *auditBook) checkHaltInTime(r *auditRun) {
	grace := b.cfg.Time.Grace
	last := r.broke.at + grace
	if r.brokeBy == StopRunDeadline {
		if deadline, limited := b.deadline(r, len(b.trace)); limited {
			last = deadline + grace
		}
	}
	p := r.halt
	if !p.found() {
		rec := b.next(r.broke.rec, last+1)
		if rec == len(b.trace) {
			return
		}
		p = b.input(rec)
	}
	if p.at > last {
		b.report(p, "a halt by "+last.String(), p.at.String(), "the run was broken off at %s", r.broke.at)
	}
}

// first gives the decisions that may have been the first of a run. Those that it
// disobeyed are left out: other rules tell of them.
func (r *auditRun) first() []auditDecision {
	var standing, first []auditDecision
	for _, d := range r.decisions {
		if d.rank <= rankCancel || r.obeyed(d) {
			standing = append(standing, d)
		}
	}
	for _, d := range standing {
		if !slices.ContainsFunc(standing, func(e auditDecision) bool { return e.before(d) }) {
			first = append(first, d)
		}
	}
	return first
}

func (b *auditBook) checkStop() {
	b.goesOn(StopDone)
	for _, r := range b.runs {
		if !r.halt.found() {
			continue
		}
		if r.outcome == nil {
			b.report(r.halt, "an outcome", "none", "the run ends without an outcome")
			continue
		}
		var want []string
		for _, d := range r.first() {
			want = append(want, string(d.stop))
		}
		if !slices.Contains(want, string(r.outcome.Stop)) {
			if want == nil {
				want = []string{"no stop"}
			}
			b.report(r.halt, strings.Join(want, " or "), string(r.outcome.Stop), "the trace does not decide on this stop")
		}
	}
}

func (b *auditBook) checkEndState() {
	for _, r := range b.runs {
		if r.outcome == nil {
			continue
		}
		if want := auditEndState(r.outcome.Stop); r.outcome.End != want {
			b.report(r.halt, string(want), string(r.outcome.End), "the end state of the stop %s", r.outcome.Stop)
		}
	}
}

// auditEndState is decision D21.
func auditEndState(s Stop) EndState {
	table := map[Stop]EndState{
		"done": "DONE", "needs-user": "CLARIFY_NEEDED",
		"turn-limit": "BUDGET_EXCEEDED", "call-limit": "BUDGET_EXCEEDED", "token-limit": "BUDGET_EXCEEDED",
		"cost-limit": "BUDGET_EXCEEDED", "try-limit": "BUDGET_EXCEEDED", "run-deadline": "BUDGET_EXCEEDED",
		"error-limit":  "ERROR_LIMIT",
		"model-failed": "MODEL_FAILED", "model-deadline": "MODEL_FAILED",
		"empty-reply": "MODEL_FAILED", "truncated-reply": "MODEL_FAILED",
		"cancelled": "CANCELLED", "ceiling": "CEILING", "recording-ended": "RECORDING_ENDED",
	}
	if end, ok := table[s]; ok {
		return end
	}
	return "LOOP_DETECTED"
}

// checkOutcome recounts an outcome.
func (b *auditBook) checkOutcome() {
	for _, r := range b.runs {
		if r.outcome == nil {
			continue
		}
		got, want := *r.outcome, b.count(r)
		field := func(name string, want, got int64) {
			if want != got {
				b.report(r.halt, strconv.FormatInt(want, 10), strconv.FormatInt(got, 10), "the outcome's %s", name)
			}
		}
		field("turns", int64(want.Turns), int64(got.Turns))
		field("nudges", int64(want.Nudges), int64(got.Nudges))
		field("model calls", int64(want.ModelCalls), int64(got.ModelCalls))
		field("asked calls", int64(want.Asked), int64(got.Asked))
		field("calls", int64(want.Calls), int64(got.Calls))
		field("tries", int64(want.Tries), int64(got.Tries))
		field("errors", int64(want.Errors), int64(got.Errors))
		field("vetoed calls", int64(want.Vetoed), int64(got.Vetoed))
		field("denied calls", int64(want.Denied), int64(got.Denied))
		field("invalid calls", int64(want.Invalid), int64(got.Invalid))
		field("tokens in", want.TokensIn, got.TokensIn)
		field("tokens out", want.TokensOut, got.TokensOut)
		field("cost", want.Cost, got.Cost)
		if want.Elapsed != got.Elapsed {
			b.report(r.halt, want.Elapsed.String(), got.Elapsed.String(), "the outcome's elapsed time")
		}
		if incomplete := got.Stop != StopDone; got.Incomplete != incomplete {
			b.report(r.halt, strconv.FormatBool(incomplete), strconv.FormatBool(got.Incomplete), "whether the answer is incomplete")
		}
		b.checkAnswer(r)
	}
}

func (b *auditBook) checkAnswer(r *auditRun) {
	texts := []string{""}
	for _, reply := range r.replies {
		texts = append(texts, reply.in.Text)
	}
	if r.outcome.Stop == StopDone {
		texts = texts[len(texts)-1:]
	}
	if !slices.Contains(texts, r.outcome.Answer) {
		b.report(r.halt, "the model's last text", strconv.Quote(r.outcome.Answer), "the answer")
	}
}

// count recounts what a run used.
func (b *auditBook) count(r *auditRun) Outcome {
	o := Outcome{Tries: len(r.tries), Elapsed: r.halt.at - r.begin.at}
	for _, q := range r.requests {
		o.ModelCalls += len(q.tries)
	}
	o.Nudges = b.notes(r, EventNudged)
	for _, reply := range r.replies {
		o.TokensIn += reply.in.TokensIn
		o.TokensOut += reply.in.TokensOut
		o.Cost += reply.in.Cost
		if !reply.last && (reply.sort == auditAnswer || reply.sort == auditBatch) {
			o.Turns++
		}
		o.Asked += len(reply.calls)
		for _, c := range reply.calls {
			b.countCall(&o, c)
		}
	}
	return o
}

// notes counts the notes of an event in a run.
func (b *auditBook) notes(r *auditRun, event Event) int {
	n := 0
	for _, it := range b.items {
		if it.run == r && it.eff != nil && it.eff.Kind == Note && it.eff.Event == event {
			n++
		}
	}
	return n
}

func (b *auditBook) countCall(o *Outcome, c *auditCall) {
	switch {
	case len(c.tries) > 0:
		o.Calls++
		if len(c.puts) > 0 && (c.puts[0].eff.Code.Failed() || b.errorText(c)) {
			o.Errors++
		}
	case c.block == Unknown, c.block == InvalidArgs:
		o.Invalid++
	case c.denied.found():
		o.Denied++
	default:
		o.Vetoed++
	}
}

// checkAlsoStopped compares the notes on further stops with the recount. It
// leaves free whether a limit is noted that is looked at before a request, and
// what is noted once a run is broken off.
func (b *auditBook) checkAlsoStopped() {
	for _, r := range b.runs {
		var noted []Stop
		for _, it := range b.items {
			if it.run != r || it.eff == nil || it.eff.Kind != Note || it.eff.Event != EventAlsoStopped {
				continue
			}
			stop := Stop(it.eff.Text)
			noted = append(noted, stop)
			if !slices.ContainsFunc(r.decisions, func(d auditDecision) bool { return d.stop == stop && d.lo <= it.rec }) {
				b.report(it.auditPlace, "nothing", it.eff.Text, "no rule would have stopped the run here")
			}
		}
		b.checkAlsoNoted(r, noted)
	}
}

func (b *auditBook) checkAlsoNoted(r *auditRun, noted []Stop) {
	if r.outcome == nil || r.broke.found() {
		return
	}
	free := append(noted, r.outcome.Stop, StopDone, StopTurnLimit, StopEmptyReply, StopTruncatedReply)
	for _, d := range r.decisions {
		if d.maybe || d.rank == rankDetectors || slices.Contains(free, d.stop) {
			continue
		}
		if r.obeyed(d) {
			b.report(r.halt, "the note also-stopped "+string(d.stop), "none", "a second rule would have stopped the run")
		}
	}
}
