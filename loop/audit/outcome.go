package audit

import (
	"slices"
	"strconv"

	"github.com/agentbench-go/agentbench/loop"
)

// checkOutcome compares each outcome with the recount.
func (b *book) checkOutcome() {
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
		field("calls asked for by sub-runs", int64(want.SubAsked), int64(got.SubAsked))
		field("calls of sub-runs", int64(want.SubCalls), int64(got.SubCalls))
		field("sub-runs", int64(want.Spawns), int64(got.Spawns))
		field("repairs", int64(want.Repairs), int64(got.Repairs))
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
		if incomplete := got.Stop != loop.StopDone && got.Stop != loop.StopByModel; got.Incomplete != incomplete {
			b.report(r.halt, strconv.FormatBool(incomplete), strconv.FormatBool(got.Incomplete), "whether the answer is incomplete")
		}
		b.checkAnswer(r)
	}
}

func (b *book) checkAnswer(r *run) {
	replies := r.replies
	if n := len(replies); r.outcome.Stop == loop.StopDone {
		replies = replies[max(0, n-1):]
	}
	right := slices.ContainsFunc(replies, func(reply *reply) bool { return reply.in.Text == r.outcome.Answer }) ||
		r.outcome.Answer == "" && (r.outcome.Stop != loop.StopDone || len(replies) == 0)
	for _, g := range r.gates {
		if g.at == loop.GateAfterRun && g.in != nil && g.in.Result != "" {
			right = g.in.Result == r.outcome.Answer
		}
	}
	if b.task.Planner != loop.PlannerJSON && !right {
		b.report(r.halt, "the model's last text", strconv.Quote(r.outcome.Answer), "the answer")
	}
}

// count recounts the figures of a run's outcome.
func (b *book) count(r *run) loop.Outcome {
	o := loop.Outcome{Tries: len(r.tries), Elapsed: r.halt.at - r.begin.at}
	for _, q := range r.requests {
		o.ModelCalls += len(q.tries)
	}
	o.Nudges, o.Repairs = r.noted(loop.EventNudged), r.noted(loop.EventRepaired)
	for _, t := range r.tries {
		if t.in != nil {
			o.TokensIn += t.in.TokensIn
			o.TokensOut += t.in.TokensOut
			o.Cost += t.in.Cost
			o.SubAsked += t.in.Asked
			o.SubCalls += t.in.Used
			o.Spawns += t.in.Spawned
		}
		if t.spec.SubRun && t.ref.Try == 1 {
			o.Spawns++
		}
	}
	for _, reply := range r.replies {
		o.TokensIn += reply.in.TokensIn
		o.TokensOut += reply.in.TokensOut
		o.Cost += reply.in.Cost
		if !reply.last && reply.sort >= answerReply {
			o.Turns++
		}
		o.Asked += len(reply.calls)
		for _, c := range reply.calls {
			b.countCall(&o, c)
		}
	}
	return o
}

// noted returns the number of notes on an event in a run.
func (r *run) noted(event loop.Event) int {
	n := 0
	for _, it := range r.notes {
		if it.eff.Event == event {
			n++
		}
	}
	return n
}

// countCall adds a call to the figures.
func (b *book) countCall(o *loop.Outcome, c *call) {
	switch {
	case len(c.tries) > 0:
		o.Calls++
		if len(c.puts) > 0 && (c.puts[0].eff.Code.Failed() || b.errorText(c)) {
			o.Errors++
		}
	case c.block == loop.Unknown, c.block == loop.InvalidArgs:
		o.Invalid++
	case c.denied.found() && c.deny == loop.Denied:
		o.Denied++
	default:
		o.Vetoed++
	}
}
