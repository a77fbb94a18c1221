package audit

import (
	"cmp"
	"slices"
	"sort"
	"strings"

	"github.com/agentbench-go/agentbench/loop"
)

// This file recounts the limits.

// judgeText counts a reply without calls, and decides whether it stops the run.
func (b *book) judgeText(r *reply, n *counts) {
	if r.sort != answerReply && r.sort != actionReply {
		b.checkSpending(r, n, rankTokens)
		return
	}
	n.turns++
	for i := range n.streaks {
		n.streaks[i].turns = nil
	}
	if r.sort == actionReply {
		n.steps++
		b.judgeAction(r, n)
		return
	}
	if n.steps++; b.stepsUsed(n) {
		r.run.decide(loop.StopTurnLimit, rankSteps, r.rec, r.rec)
		return
	}
	r.run.decide(loop.StopDone, rankDone, r.rec, r.rec)
}

// judgeAction accepts the stop that a planner's action asks for.
func (b *book) judgeAction(r *reply, n *counts) {
	for _, stop := range []loop.Stop{loop.StopByModel, loop.StopNeedsUser, loop.StopTurnLimit, loop.StopTokenLimit, loop.StopCostLimit} {
		r.run.perhaps(stop, r.rec)
	}
	chain := r.run.questions(r.rec)
	if strings.Contains(b.trace[r.rec].In.Text, `"`+loop.ActionAsk+`"`) && len(chain) > 0 {
		chain = chain[1:] // the question of the action itself does not renew a limit
	}
	if b.cfg.Limits.AtLimit == loop.LimitAsk && len(chain) > 0 && chain[0].allow {
		n.turns, n.steps = 0, 0
	}
}

// judgeLast blocks the calls of a last word. A whole text with tools offered is the
// answer, unless the critic finds gaps in it.
func (b *book) judgeLast(r *reply) {
	r.run.graced = r.sort == answerReply && r.grace && b.purpose() == loop.ForGrace && len(r.in.Calls) == 0 && r.in.Finish != loop.FinishToolCalls && !b.turnsBack(r)
	for _, c := range r.calls {
		c.stop(loop.Refused, "last-word")
		c.final = b.finality(c)
	}
}

func (b *book) turnsUsed(n *counts) bool {
	return b.cfg.Limits.Turns > 0 && n.turns >= b.adapted(b.cfg.Limits.Turns, n)
}

// adapted returns a limit as limits.adapt has it: exactly so much of what lies above the
// floor as the share of calls that went well is of the share that must.
func (b *book) adapted(limit int, n *counts) int {
	a := b.cfg.Limits.Adapt
	floor := int64(max(a.Floor, 1))
	must := 1000 - int64(a.Errors*1000+0.5)
	well, ended := int64(n.ended-n.failed), int64(n.ended)
	if must == 1000 || int64(limit) <= floor || well*1000 >= must*ended {
		return limit
	}
	return int(floor + min(int64(limit)-floor, 1<<31)*well*1000/(must*ended))
}

func (b *book) stepsUsed(n *counts) bool {
	return b.cfg.Limits.Steps > 0 && n.steps >= b.cfg.Limits.Steps
}

// checkSpending applies the limits on tokens and cost in a reply's record.
func (b *book) checkSpending(r *reply, n *counts, rank int) {
	over := func(stop loop.Stop, rank int, rule string) {
		r.run.decide(stop, rank, r.rec, r.rec)
		for _, c := range r.calls {
			c.stop(loop.Refused, rule)
		}
	}
	if b.aboveTokens(n) {
		over(loop.StopTokenLimit, rank, "token-limit")
	}
	if b.aboveCost(n) {
		over(loop.StopCostLimit, rank+1<<20, "cost-limit")
	}
}

func (b *book) aboveTokens(n *counts) bool {
	return b.cfg.Limits.Tokens != 0 && n.tokens > max(b.cfg.Limits.Tokens, 0)
}

// aboveCost allows for limits such as 0.1, which are not exact.
func (b *book) aboveCost(n *counts) bool {
	return b.cfg.Limits.CostUSD != 0 && float64(n.cost) > max(b.cfg.Limits.CostUSD, 0)*1e9*(1+1e-12)
}

// checkSteps refuses the calls of a reply that was the last step.
func (b *book) checkSteps(r *reply, n *counts) {
	if !b.stepsUsed(n) {
		return
	}
	if b.cfg.Limits.AtLimit != loop.LimitAsk {
		r.run.decide(loop.StopTurnLimit, rankSteps, r.rec, r.rec)
	}
	for _, c := range r.calls {
		c.stop(loop.Refused, "turn-limit")
	}
}

// aboveAsked reports whether more calls were asked for than limits.asked allows.
func (b *book) aboveAsked(n *counts) bool {
	return b.cfg.Limits.Asked != 0 && n.asked > b.cfg.Limits.Asked
}

// askedBelow reports whether sub-runs of a batch asked for calls.
func (b *book) askedBelow(r *reply) bool {
	return slices.ContainsFunc(r.calls, func(c *call) bool {
		return slices.ContainsFunc(c.tries, func(t *try) bool { return t.in != nil && t.in.Asked > 0 })
	})
}

// checkAskedCalls refuses the calls of a reply above limits.asked, and returns the index of
// the first of them, or -1.
func (b *book) checkAskedCalls(r *reply, n *counts) (first int) {
	limit := b.cfg.Limits.Asked
	before := n.asked - len(r.calls)
	if limit == 0 || n.asked <= limit {
		return -1
	}
	first = max(0, limit-before)
	for _, c := range r.calls[first:] {
		c.stop(loop.Refused, "asked-limit")
	}
	return first
}

// checkCallLimits applies the call limits to one call after another. It returns the
// first call that limits.calls refuses, or nil.
func (b *book) checkCallLimits(r *reply, n *counts) (full *call) {
	inTurn, limits := 0, b.cfg.Limits
	most := b.adapted(limits.Calls, n)
	for i, c := range r.calls {
		sub := c.spec != nil && c.spec.SubRun
		switch {
		case c.block != loop.Executed:
		case limits.CallsPerTurn > 0 && inTurn >= limits.CallsPerTurn:
			c.stop(loop.Refused, "calls-per-turn")
		case limits.Calls != 0 && !n.open && n.calls >= most:
			c.stop(loop.Refused, "call-limit")
			full = cmp.Or(full, c)
		case sub && limits.Depth > 0 && b.task.Depth >= limits.Depth:
			c.stop(loop.Refused, "sub-runs")
			r.run.decide(loop.StopDepthLimit, rankCalls+i, r.rec, r.rec)
		case sub && limits.Spawns != 0 && n.spawns >= limits.Spawns:
			c.stop(loop.Refused, "sub-runs")
			r.run.decide(loop.StopSpawnLimit, rankCalls+i, r.rec, r.rec)
		case b.refusedByTool(c):
			c.stop(loop.Refused, "rate")
		case limits.Calls != 0 && n.open && c.refused() && len(c.gates) == 0:
			c.stop(loop.Refused, "call-limit")
			full = cmp.Or(full, c)
			if rec, ok := b.spent(r.run); ok && rec <= c.puts[0].rec {
				r.run.perhaps(loop.StopTryLimit, max(rec, r.rec)) // the try limit may have refused the call
			}
		default:
			inTurn++
			n.calls++
			c.place = n.calls
			if sub && c.standIn == "" {
				n.spawns++
				c.spawn = n.spawns
			}
			if c.spec != nil {
				b.toolState(c.spec).let(r.at)
			}
		}
	}
	return full
}

// refused reports whether a call's result says that it was refused.
func (c *call) refused() bool { return len(c.puts) > 0 && c.puts[0].eff.Why == loop.Refused }

// judgeBatch counts a batch once it is final, in record rec. full is the first
// call that limits.calls refused, if any, and surplus the index of the first one above
// limits.asked, or -1.
func (b *book) judgeBatch(r *reply, n *counts, full *call, surplus, rec int) {
	out := b.stepsUsed(n)
	if slices.ContainsFunc(r.calls, func(c *call) bool {
		return len(c.puts) > 0 && slices.Contains([]loop.Why{loop.Executed, loop.Unknown, loop.InvalidArgs}, c.puts[0].eff.Why)
	}) {
		n.steps++
	}
	if b.cfg.Limits.AtLimit == loop.LimitAsk {
		b.askAtLimit(r.run, n, full != nil, surplus >= 0 || b.askedBelow(r) && b.aboveAsked(n), rec)
		return
	}
	if full != nil {
		r.run.decide(loop.StopCallLimit, rankCalls+slices.Index(r.calls, full), r.rec, r.rec)
	}
	if surplus >= 0 {
		r.run.decide(loop.StopAskedLimit, rankCalls+surplus, r.rec, r.rec)
	}
	if b.askedBelow(r) && b.aboveAsked(n) && rec >= 0 {
		r.run.decide(loop.StopAskedLimit, rankSubAsked, rec, rec)
	}
	if rec = b.afterQuestion(r.run, rec); rec >= 0 && !out {
		b.decideTurns(r.run, n, rec)
	}
}

// decideTurns applies the turn limit where the next request would be made.
func (b *book) decideTurns(r *run, n *counts, rec int) {
	if b.turnsUsed(n) || b.stepsUsed(n) {
		r.decide(loop.StopTurnLimit, rankTurnLimit, rec, rec)
	}
}

// afterQuestion returns the record in which a run goes on after record rec. If a
// question opened there it is the record of the answer, or -1 if the user did not
// allow it.
func (b *book) afterQuestion(r *run, rec int) int {
	for _, q := range r.asksFrom(rec) {
		switch {
		case q.opened.rec != rec:
			return rec
		case q.allow:
			return q.answered.rec
		default:
			return -1
		}
	}
	return rec
}

// asksFrom returns the questions that opened in record rec or after it.
func (r *run) asksFrom(rec int) []*pause {
	return r.asks[sort.Search(len(r.asks), func(i int) bool { return r.asks[i].opened.rec >= rec }):]
}

// askAtLimit applies the user's answer at the limits that a run reached in record rec.
// A pending question comes before that of the turn limit. Going on sets the limit's
// count to 0. If it is not clear which question is about which limit, the audit
// accepts the trace.
func (b *book) askAtLimit(r *run, n *counts, full, surplus bool, rec int) {
	turns := b.turnsUsed(n) || b.stepsUsed(n)
	if rec < 0 || !full && !surplus && !turns {
		return
	}
	stop, several := loop.StopCallLimit, full && turns || full && surplus || surplus && turns
	switch {
	case turns:
		stop = loop.StopTurnLimit
	case surplus:
		stop = loop.StopAskedLimit
	}
	chain := r.questions(rec)
	if surplus && len(chain) > 0 && chain[0].allow {
		n.asked = 0
	}
	if len(chain) == 0 {
		if d := (decision{stop: stop, rank: rankTurnLimit, lo: rec, hi: rec}); !r.obeyed(d) {
			r.decisions = append(r.decisions, d) // nobody was asked
		}
		return
	}
	last := chain[len(chain)-1]
	clear := len(chain) == 1 && !several && b.onlyLimitsAsk()
	n.open = n.open || full && !clear
	switch {
	case last.allow && turns:
		n.turns, n.steps = 0, 0
	case !last.allow && last.answered.found() && clear:
		r.decide(stop, rankTurnLimit, last.answered.rec, last.answered.rec)
	case !last.allow:
		r.perhaps(loop.StopAskedLimit, rec)
		r.perhaps(loop.StopCallLimit, rec)
		r.perhaps(loop.StopTurnLimit, rec)
	}
	if last.allow && full {
		n.calls = 0
	}
}

// questions returns the questions that opened one after another from record rec on.
func (r *run) questions(rec int) []*pause {
	var chain []*pause
	for _, q := range r.asksFrom(rec) {
		if q.opened.rec > rec {
			break
		}
		if q.opened.rec < rec {
			continue
		}
		if chain = append(chain, q); !q.allow {
			break
		}
		rec = q.answered.rec
	}
	return chain
}

// onlyLimitsAsk reports whether only limits can ask the user.
func (b *book) onlyLimitsAsk() bool {
	return b.plain && !b.cfg.Policy.AskMissing && b.cfg.Policy.OnFailure != loop.FailureTable && b.task.Planner != loop.PlannerJSON
}
