package audit

import (
	"math"
	"slices"
	"sort"
	"time"

	"github.com/agentbench-go/agentbench/loop"
)

// This file recounts how runs begin, and how a cancel or the run deadline breaks
// them off.

// breakOff finds the record in which a cancel or the run deadline broke off a run.
func (b *book) breakOff(r *run) {
	for _, c := range r.cancels {
		if !r.broke.found() {
			r.broke, r.brokeBy = c.place, cancelStop(c.in.Cause)
		}
		r.decide(cancelStop(c.in.Cause), rankCancel, c.rec, c.rec)
	}
	deadline, limited := b.deadline(r, len(b.trace))
	if !limited {
		return
	}
	rec := b.next(r.begin.rec, deadline)
	if rec == len(b.trace) || r.halt.found() && r.halt.rec < rec {
		return
	}
	r.decide(loop.StopRunDeadline, rankDeadline, rec, rec)
	if !r.broke.found() || rec <= r.broke.rec {
		r.broke, r.brokeBy = b.input(rec), loop.StopRunDeadline
	}
}

func cancelStop(c loop.Cause) loop.Stop {
	switch c {
	case loop.ByCeiling:
		return loop.StopCeiling
	case loop.ByRecordingEnded:
		return loop.StopRecordingEnded
	}
	return loop.StopCancelled
}

// deadline returns the instant of a run's deadline as of record rec.
func (b *book) deadline(r *run, rec int) (at time.Duration, limited bool) {
	if b.cfg.Time.Run <= 0 {
		return 0, false
	}
	if !b.cfg.Time.PauseForUser {
		return r.begin.at + b.cfg.Time.Run, true
	}
	if r.extended == nil {
		r.extend(r.begin.at + b.cfg.Time.Run)
	}
	before := sort.Search(len(r.pauses), func(i int) bool { return r.pauses[i].opened.rec >= rec })
	at = r.extended[min(before, len(r.extended)-1)]
	return at, at != endless
}

// endless is the deadline of a run that waits for a user who does not answer.
const endless = time.Duration(math.MinInt64)

// extend computes the deadline after each pause. at is the one before the first pause.
func (r *run) extend(at time.Duration) {
	r.extended = append(r.extended, at)
	for _, p := range r.pauses {
		if p.opened.at >= at {
			return
		}
		if !p.answered.found() {
			r.extended = append(r.extended, endless)
			return
		}
		at += p.answered.at - p.opened.at
		r.extended = append(r.extended, at)
	}
}

// beginRun decides whether a run asks the model at all. A hook may deny it, and an
// earlier run may have reached the turn limit or used up the tokens or the cost.
func (b *book) beginRun(r *run, n *counts) {
	rec := r.begin.rec
	for _, g := range r.gates {
		switch {
		case g.at == loop.GateBeforeRun && !g.answered.found():
			return
		case g.at == loop.GateBeforeRun && !g.allow:
			r.decide(loop.StopCancelled, rankHook, g.answered.rec, g.answered.rec)
			return
		case g.at == loop.GateBeforeRun:
			rec = g.answered.rec
		}
	}
	over := false
	if b.aboveTokens(n) {
		r.decide(loop.StopTokenLimit, rankTokens, rec, rec)
		over = true
	}
	if b.aboveCost(n) {
		r.decide(loop.StopCostLimit, rankCost, rec, rec)
		over = true
	}
	switch {
	case over || !b.turnsUsed(n):
	case b.cfg.Limits.AtLimit == loop.LimitAsk:
		b.askAtLimit(r, n, false, false, rec)
	default:
		b.decideTurns(r, n, rec)
	}
}

func (b *book) checkRunDeadline() {
	b.checkBreak(func(s loop.Stop) bool { return s == loop.StopRunDeadline })
}
func (b *book) checkCancel() {
	b.checkBreak(func(s loop.Stop) bool { return s != loop.StopRunDeadline })
}

// checkBreak checks that after a cancel or the run deadline nothing starts, open
// requests and tries are cancelled, and the run halts in time.
func (b *book) checkBreak(by func(loop.Stop) bool) {
	for _, r := range b.runs {
		if r.broke.found() && by(r.brokeBy) {
			b.checkNoStart(r)
			b.checkAllCancelled(r)
			b.checkHaltInTime(r)
		}
	}
}

func (b *book) checkNoStart(r *run) {
	for i := range b.itemsOf(r) {
		it := &b.itemsOf(r)[i]
		if it.eff == nil || it.rec < r.broke.rec {
			continue
		}
		if k := it.eff.Kind; k == loop.AskModel || k == loop.AskUser || k == loop.OpenGate || k == loop.CallTool {
			b.report(it.place, "nothing new", it.eff.Ref.String(), "the run was broken off at %s", r.broke.at)
		}
	}
}

func (b *book) checkAllCancelled(r *run) {
	for _, t := range r.tries {
		open := t.started.rec < r.broke.rec && !(t.ended.found() && t.ended.rec <= r.broke.rec)
		if open && !slices.ContainsFunc(t.cancels, func(p place) bool { return p.rec <= r.broke.rec }) {
			b.report(r.broke, "cancelled", "not cancelled", "the try %s runs when the run is broken off", t.ref)
		}
	}
	for _, q := range r.requests {
		a := q.tries[len(q.tries)-1]
		if a.asked.rec < r.broke.rec && !(a.ended.found() && (a.ended.rec < r.broke.rec || a.how == askGivenUp)) {
			b.report(r.broke, "cancelled", "not cancelled", "the request %s is open when the run is broken off", a.ref)
		}
	}
}

func (b *book) checkHaltInTime(r *run) {
	grace := b.cfg.Time.Grace
	last := r.broke.at + grace
	if r.brokeBy == loop.StopRunDeadline {
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
