package loop

import (
	"slices"
)

// This file recounts the limits.

// judgeText counts a reply without calls.
func (b *auditBook) judgeText(r *auditReply, n *auditCounts) {
	if r.sort != auditAnswer {
		b.checkSpending(r, n)
		return
	}
	n.turns++
	n.steps++
	n.streaks = nil
	if b.stepsUsed(n) {
		r.run.decide(StopTurnLimit, rankSteps, r.rec, r.rec)
		return
	}
	r.run.decide(StopDone, rankDone, r.rec, r.rec)
}

// judgeLast blocks all calls of a last word.
func (b *auditBook) judgeLast(r *auditReply) {
	for _, c := range r.calls {
		c.stop(Refused, "last-word")
		c.final = b.finality(c)
	}
}

func (b *auditBook) turnsUsed(n *auditCounts) bool {
	return b.cfg.Limits.Turns > 0 && n.turns >= b.cfg.Limits.Turns
}

func (b *auditBook) stepsUsed(n *auditCounts) bool {
	return b.cfg.Limits.Steps > 0 && n.steps >= b.cfg.Limits.Steps
}

func (b *auditBook) checkSpending(r *auditReply, n *auditCounts) {
	over := func(stop Stop, rank int, rule string) {
		r.run.decide(stop, rank, r.rec, r.rec)
		for _, c := range r.calls {
			c.stop(Refused, rule)
		}
	}
	if limit := b.cfg.Limits.Tokens; limit > 0 && n.tokens > limit {
		over(StopTokenLimit, rankTokens, "token-limit")
	}
	if limit := b.cfg.Limits.CostUSD; limit > 0 && float64(n.cost) > limit*1e9*(1+1e-12) { // the last factor covers 0.1 and its like
		over(StopCostLimit, rankCost, "cost-limit")
	}
}

// checkSteps refuses the calls of a reply that was the last step.
func (b *auditBook) checkSteps(r *auditReply, n *auditCounts) {
	if !b.stepsUsed(n) || b.cfg.Limits.AtLimit == LimitAsk {
		return
	}
	r.run.decide(StopTurnLimit, rankSteps, r.rec, r.rec)
	for _, c := range r.calls {
		c.stop(Refused, "turn-limit")
	}
}

// checkCallLimits reports whether limits.calls refused a call.
func (b *auditBook) checkCallLimits(r *auditReply, n *auditCounts) (full bool) {
	inTurn := 0
	for _, c := range r.calls {
		switch limits := b.cfg.Limits; {
		case c.block != Executed:
		case limits.CallsPerTurn > 0 && inTurn >= limits.CallsPerTurn:
			c.stop(Refused, "calls-per-turn")
		case limits.Calls > 0 && n.calls >= limits.Calls:
			c.stop(Refused, "call-limit")
			full = true
		default:
			inTurn++
			n.calls++
		}
	}
	return full
}

// judgeBatch counts a batch once it is final, in record rec. full says that
// limits.calls refused one of its calls.
func (b *auditBook) judgeBatch(r *auditReply, n *auditCounts, full bool, rec int) {
	out := b.stepsUsed(n)
	if slices.ContainsFunc(r.calls, func(c *auditCall) bool { return len(c.puts) > 0 && c.puts[0].eff.Why != NotStarted }) {
		n.steps++
	}
	switch {
	case b.cfg.Limits.AtLimit == LimitAsk:
		b.askAtLimit(r.run, n, full, b.afterDetectors(r.run, rec))
		return
	case full:
		r.run.decide(StopCallLimit, rankCallLimit, r.rec, r.rec)
	}
	if rec = b.afterDetectors(r.run, rec); rec >= 0 && !out {
		b.decideTurns(r.run, n, rec)
	}
}

// decideTurns applies the turn limit where the next request would be made.
func (b *auditBook) decideTurns(r *auditRun, n *auditCounts, rec int) {
	if b.turnsUsed(n) || b.stepsUsed(n) {
		r.decide(StopTurnLimit, rankTurnLimit, rec, rec)
	}
}

// afterDetectors gives the record in which a run goes on that would go on in
// record rec, or -1 if the question of a detector keeps it from that.
func (b *auditBook) afterDetectors(r *auditRun, rec int) int {
	for _, q := range r.asks {
		if q.opened.rec != rec || b.cfg.Limits.AtLimit == LimitAsk {
			continue
		}
		if !q.allow {
			return -1
		}
		return q.answered.rec
	}
	return rec
}

// askAtLimit finds out what the user answers at the limits that keep a run from
// going on in record rec. To go on sets a limit's count to 0. Which question is
// about which limit cannot be told where there are two.
func (b *auditBook) askAtLimit(r *auditRun, n *auditCounts, full bool, rec int) {
	var stops []Stop
	if full {
		stops = append(stops, StopCallLimit)
	}
	if b.turnsUsed(n) || b.stepsUsed(n) {
		stops = append(stops, StopTurnLimit)
	}
	if len(stops) == 0 || rec < 0 {
		return
	}
	asked, allowed := false, false
	for _, q := range r.asks {
		switch {
		case q.opened.rec < rec:
		case q.allow:
			allowed = true
		case q.opened.rec == rec && q.answered.found() && len(stops) == 1:
			r.decide(stops[0], rankTurnLimit, q.answered.rec, q.answered.rec)
		}
		asked = asked || q.opened.rec == rec
	}
	switch d := (auditDecision{stop: stops[0], rank: rankTurnLimit, lo: rec, hi: rec}); {
	case len(stops) == 2:
		r.perhaps(StopCallLimit, rec)
		r.perhaps(StopTurnLimit, rec)
	case !asked && !r.obeyed(d):
		r.decisions = append(r.decisions, d)
	}
	if allowed && full {
		n.calls = 0
	}
	if allowed && len(stops) > 0 && stops[len(stops)-1] == StopTurnLimit {
		n.turns, n.steps = 0, 0
	}
}
