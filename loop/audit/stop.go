package audit

import (
	"slices"
	"strconv"
	"strings"

	"github.com/agentbench-go/agentbench/loop"
)

// The rules on limits, and on how runs end.

// goesOn reports the requests for another turn after the decision for one of these
// stops.
func (b *book) goesOn(stops ...loop.Stop) {
	for _, r := range b.runs {
		for _, d := range r.decisions {
			if !slices.Contains(stops, d.stop) {
				continue
			}
			p := r.disobeyed(d)
			known := slices.ContainsFunc(b.found, func(v Violation) bool { return v.Rule == b.rule && v.Line == p.line })
			if p.found() && !known {
				b.report(p, "the stop "+string(d.stop), "another request", "the run goes on")
			}
		}
	}
}

func (b *book) checkErrorLimit()   { b.goesOn(loop.StopErrorLimit) }
func (b *book) checkCallsPerTurn() { b.ran("calls-per-turn") }
func (b *book) checkToolRate()     { b.ran("rate") }

func (b *book) checkSubRuns() {
	b.ran("sub-runs")
	b.startedAfter(barSpawns)
	b.goesOn(loop.StopDepthLimit, loop.StopSpawnLimit)
}

func (b *book) checkTurnLimit() {
	b.ran("turn-limit")
	b.goesOn(loop.StopTurnLimit)
}

// checkLastWord checks that a run asks for a last word if a limit or a detector
// requires one, only once, and does not run its calls.
func (b *book) checkLastWord() {
	b.ran("last-word")
	for _, r := range b.runs {
		b.checkQuestions(r)
		words := 0
		for _, q := range r.requests {
			a := q.tries[0]
			if a.to == loop.ForReply || a.to == loop.ForSummary {
				continue
			}
			if words++; words > 1+max(0, b.cfg.ModelRetry.EmptyReplies) {
				b.report(a.asked, "one", strconv.Itoa(words), "one last word too many")
			}
			if !b.lastWordDue(r, a) {
				b.report(a.asked, "for=reply", "for="+string(a.to), "no rule requires a last word here")
			}
		}
		if r.outcome == nil || r.broke.found() || words > 0 || b.purpose() == loop.ForReply || r.answered() {
			continue
		}
		if hasLastWord(r.outcome.Stop) {
			b.report(r.halt, "for="+string(b.purpose()), "none", "the run ends without its last word")
		}
	}
}

func (b *book) checkQuestions(r *run) {
	for _, q := range r.asks {
		if b.cfg.Limits.AtLimit != loop.LimitAsk && b.onlyLimitsAsk() {
			b.report(q.opened, "no question", q.ref.String(), "no rule asks the user here")
		}
	}
}

// answered reports whether the last reply of a run is an answer, or the action
// with which a planner stops.
func (r *run) answered() bool {
	n := len(r.replies)
	if n == 0 {
		return false
	}
	last := r.replies[n-1]
	return last.sort == answerReply || last.sort == actionReply && strings.Contains(last.in.Text, `"`+loop.ActionStop+`"`)
}

// purpose returns the purpose of the request at a limit.
func (b *book) purpose() loop.Purpose {
	switch b.cfg.Limits.AtLimit {
	case loop.LimitFinal, loop.LimitSummary:
		return loop.ForFinal
	case loop.LimitGrace:
		return loop.ForGrace
	}
	return loop.ForReply
}

func (b *book) lastWordDue(r *run, a *ask) bool {
	for _, d := range r.decisions {
		limit := hasLastWord(d.stop)
		if d.lo <= a.asked.rec && (limit && a.to == b.purpose() || d.maybe && !limit && a.to == loop.ForFinal) {
			return true
		}
	}
	return false
}

// hasLastWord reports whether limits.at_limit applies to a stop.
func hasLastWord(stop loop.Stop) bool {
	return stop == loop.StopTurnLimit || stop == loop.StopAskedLimit || stop == loop.StopCallLimit
}

func (b *book) checkAskedLimit() {
	b.ran("asked-limit")
	b.goesOn(loop.StopAskedLimit)
}

func (b *book) checkCallLimit() {
	b.ran("call-limit")
	b.startedAfter(barCalls)
	b.goesOn(loop.StopCallLimit)
}

func (b *book) checkTokenLimit() {
	b.ran("token-limit")
	b.startedAfter(barTokens)
	b.goesOn(loop.StopTokenLimit)
}

func (b *book) checkCostLimit() {
	b.ran("cost-limit")
	b.startedAfter(barCost)
	b.goesOn(loop.StopCostLimit)
}

func (b *book) checkDetector() {
	b.ran("detector")
	for _, d := range b.cfg.Detectors {
		b.goesOn(loop.Stop(d.Name))
	}
}

// first returns the decisions that may have been the first of a run. It leaves out those
// that the run disobeyed, which other rules report.
func (r *run) first() []decision {
	var standing, first []decision
	for _, d := range r.decisions {
		if d.rank <= rankCancel || r.obeyed(d) {
			standing = append(standing, d)
		}
	}
	for _, d := range standing {
		if !slices.ContainsFunc(standing, func(e decision) bool { return e.before(d) }) {
			first = append(first, d)
		}
	}
	return first
}

func (b *book) checkStop() {
	b.goesOn(loop.StopDone)
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
		if r.graced && slices.ContainsFunc(r.first(), func(d decision) bool { return hasLastWord(d.stop) }) {
			want = []string{string(loop.StopDone)}
		}
		if !slices.Contains(want, string(r.outcome.Stop)) {
			if want == nil {
				want = []string{"no stop"}
			}
			b.report(r.halt, strings.Join(want, " or "), string(r.outcome.Stop), "the trace leads to another stop")
		}
	}
}

func (b *book) checkEndState() {
	for _, r := range b.runs {
		if r.outcome == nil {
			continue
		}
		if want := endStateOf(r.outcome.Stop); r.outcome.End != want {
			b.report(r.halt, string(want), string(r.outcome.End), "the end state of the stop %s", r.outcome.Stop)
		}
	}
}

// endStateOf returns the end state of a stop, which may be the name of a detector.
func endStateOf(s loop.Stop) loop.EndState {
	if end, ok := endStates[s]; ok {
		return end
	}
	return "LOOP_DETECTED"
}

var endStates = map[loop.Stop]loop.EndState{
	"done": "DONE", "stopped-by-model": "DONE", "needs-user": "CLARIFY_NEEDED",
	"turn-limit": "BUDGET_EXCEEDED", "asked-limit": "BUDGET_EXCEEDED", "call-limit": "BUDGET_EXCEEDED", "token-limit": "BUDGET_EXCEEDED",
	"cost-limit": "BUDGET_EXCEEDED", "try-limit": "BUDGET_EXCEEDED", "run-deadline": "BUDGET_EXCEEDED",
	"depth-limit": "BUDGET_EXCEEDED", "spawn-limit": "BUDGET_EXCEEDED",
	"tool-contract": "UNRECOVERABLE_TOOL_CONTRACT", "unauthorized": "UNRECOVERABLE_TOOL_CONTRACT",
	"error-limit":  "ERROR_LIMIT",
	"model-failed": "MODEL_FAILED", "model-deadline": "MODEL_FAILED",
	"empty-reply": "MODEL_FAILED", "truncated-reply": "MODEL_FAILED", "unmet-goal": "MODEL_FAILED",
	"cancelled": "CANCELLED", "ceiling": "CEILING", "recording-ended": "RECORDING_ENDED",
	"stopped-by-agent": "STOPPED", "hung": "HUNG",
}

// checkAlsoStopped compares the also-stopped notes with the recount. A note on a limit
// that is checked before a request may be missing, and so may any note once a run is
// broken off.
func (b *book) checkAlsoStopped() {
	for _, r := range b.runs {
		var noted []loop.Stop
		for _, it := range r.notes {
			if it.eff.Event != loop.EventAlsoStopped {
				continue
			}
			stop := loop.Stop(it.eff.Text)
			noted = append(noted, stop)
			if !slices.ContainsFunc(r.decisions, func(d decision) bool { return d.stop == stop && d.lo <= it.rec }) {
				b.report(it.place, "nothing", it.eff.Text, "no rule would have stopped the run here")
			}
		}
		b.checkAlsoNoted(r, noted)
	}
}

func (b *book) checkAlsoNoted(r *run, noted []loop.Stop) {
	if r.outcome == nil || r.broke.found() {
		return
	}
	free := append(noted, r.outcome.Stop, loop.StopDone, loop.StopTurnLimit, loop.StopEmptyReply, loop.StopTruncatedReply, loop.StopUnmetGoal)
	for _, d := range r.first() {
		if r.graced && hasLastWord(d.stop) {
			free = append(free, d.stop)
		}
	}
	for _, d := range r.decisions {
		if d.maybe || d.rank == rankDetectors || slices.Contains(free, d.stop) {
			continue
		}
		if r.obeyed(d) {
			b.report(r.halt, "the note also-stopped "+string(d.stop), "none", "a second rule would have stopped the run")
		}
	}
}
