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
			p := r.disobeyed(d)
			told := slices.ContainsFunc(b.found, func(v Violation) bool { return v.Rule == b.rule && v.Line == p.line })
			if p.found() && !told {
				b.report(p, "the stop "+string(d.stop), "another request", "the run goes on")
			}
		}
	}
}

func (b *auditBook) checkErrorLimit()   { b.goesOn(StopErrorLimit) }
func (b *auditBook) checkCallsPerTurn() { b.ran("calls-per-turn") }
func (b *auditBook) checkToolRate()     { b.ran("rate") }

func (b *auditBook) checkSubRuns() {
	b.ran("sub-runs")
	b.goesOn(StopDepthLimit, StopSpawnLimit)
}

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
			if a.to == ForReply || a.to == ForSummary {
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
		if b.cfg.Limits.AtLimit != LimitAsk && b.onlyLimitsAsk() {
			b.report(q.opened, "no question", q.ref.String(), "nothing says that the user is asked here")
		}
	}
}

// answered reports whether the last reply of a run is an answer, or the action
// with which a planner stops.
func (r *auditRun) answered() bool {
	n := len(r.replies)
	if n == 0 {
		return false
	}
	last := r.replies[n-1]
	return last.sort == auditAnswer || last.sort == auditAction && strings.Contains(last.in.Text, `"`+ActionStop+`"`)
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
		"done": "DONE", "stopped-by-model": "DONE", "needs-user": "CLARIFY_NEEDED",
		"turn-limit": "BUDGET_EXCEEDED", "call-limit": "BUDGET_EXCEEDED", "token-limit": "BUDGET_EXCEEDED",
		"cost-limit": "BUDGET_EXCEEDED", "try-limit": "BUDGET_EXCEEDED", "run-deadline": "BUDGET_EXCEEDED",
		"depth-limit": "BUDGET_EXCEEDED", "spawn-limit": "BUDGET_EXCEEDED",
		"tool-contract": "UNRECOVERABLE_TOOL_CONTRACT", "unauthorized": "UNRECOVERABLE_TOOL_CONTRACT",
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
