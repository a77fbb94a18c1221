package audit

import (
	"strconv"
	"unicode/utf8"

	"github.com/agentbench-go/agentbench/loop"
)

// This file recounts compactions: when one is due, and which of them were without gain.

// gains is what the compactions of a run achieved so far.
type gains struct {
	run   *run
	turns int

	none   int  // in a row without gain
	last   int  // the turns at the last one that gained, so far
	open   bool // it has gained, unless the next one comes too soon
	due    bool // one was due since the last request for a reply
	before int  // the size of the history before the current one
	over   bool // the current one follows an overflow
}

// checkCompaction checks that a history above its bound, and one that the model refused
// as too long, is compacted, that no other one is, and that too many compactions
// without gain stop the run.
func (b *book) checkCompaction() {
	cfg := &b.cfg.History
	if cfg.CompactAt == 0 && cfg.CompactTokens == 0 && !cfg.CompactOnOverflow || b.task.Planner == loop.PlannerJSON {
		return
	}
	g := gains{}
	b.rebuild(func(it *item, h []*loop.Message) {
		if it.run != g.run {
			if g.run == nil || b.cfg.Scope != loop.ScopeSession {
				g = gains{}
			}
			g.run, g.due = it.run, false
		}
		if it.eff == nil {
			if r := b.reply(it.line); it.in.Kind == loop.ModelReply && r != nil && r.sort >= answerReply && (r.sort != batchReply || len(r.calls) > 0) {
				g.turns++
			}
			return
		}
		switch e := it.eff; {
		case e.Kind == loop.AskModel && e.For == loop.ForSummary && e.Ref.Try <= 1:
			g.over = b.overflowed(it)
			if long, known := b.tooLong(h); known && !long && !g.over {
				b.report(it.place, "no summary", "a request for one", "the history is not above its bound")
			}
			b.dueAgain(&g)
			g.before = b.weight(h, g.over)
		case e.Kind == loop.Note && e.Event == loop.EventCompacted:
			gain := float64(g.before-b.weight(h, g.over)) / float64(g.before)
			long, known := b.tooLong(h)
			if g.open = gain > 0 && gain >= cfg.MinGain && !(long && known); g.open {
				g.last = g.turns
			} else {
				g.none++
			}
		case e.Kind == loop.Note && e.Event == loop.EventNoSummary:
			if e.Ref.Kind == loop.RefNone { // there was nothing to replace
				b.dueAgain(&g)
			}
			g.none++
		case e.Kind == loop.AskModel && e.For == loop.ForReply && e.Ref.Try <= 1:
			if long, known := b.tooLong(h); known && long && !g.due {
				b.report(it.place, "a compaction", "none", "the history is above its bound")
			}
			g.due = false
			if cfg.CompactionsWithoutGain > 0 && g.none >= cfg.CompactionsWithoutGain && !it.run.beginsWith(it) {
				b.report(it.place, "compaction-thrash", "another request", "%d compactions in a row were without gain", g.none)
			}
		case e.Kind == loop.Halt && e.Outcome != nil && e.Outcome.Stop == loop.StopCompactionThrash:
			if b.endsRefused(it.run) {
				b.dueAgain(&g)
			} else if long, known := b.tooLong(h); known && long && !g.due {
				b.dueAgain(&g)
			}
			floor, known := b.aboveFloor(h)
			if cfg.CompactionsWithoutGain == 0 || known && !floor && g.none < cfg.CompactionsWithoutGain {
				b.report(it.place, strconv.Itoa(cfg.CompactionsWithoutGain), strconv.Itoa(g.none), "compactions in a row without gain")
			}
		}
	})
}

// beginsWith reports whether an item is the run's first request. What the next run of a
// session needs is not known before.
func (r *run) beginsWith(it *item) bool {
	return len(r.requests) > 0 && r.requests[0].tries[0].asked.line == it.line
}

// dueAgain counts the last compaction as one without gain if the next is due too soon.
func (b *book) dueAgain(g *gains) {
	g.due = true
	if !g.open {
		return
	}
	g.open = false
	if g.turns-g.last <= b.cfg.History.ThrashTurns {
		g.none++
	} else {
		g.none = 0
	}
}

// overflowed reports whether an item follows in its record from a model's refusal of a
// request for a reply as too long.
func (b *book) overflowed(it *item) bool {
	if b.trace[it.rec].In.Kind != loop.ModelFailure {
		return false
	}
	for _, q := range it.run.requests {
		for _, a := range q.tries {
			if a.ended.rec == it.rec && b.overflow(a) {
				return true
			}
		}
	}
	return false
}

// endsRefused reports whether a run's last request was one for a reply that a model
// refused as too long. A hook may come between the refusal and the run's end.
func (b *book) endsRefused(r *run) bool {
	if len(r.requests) == 0 {
		return false
	}
	tries := r.requests[len(r.requests)-1].tries
	return b.overflow(tries[len(tries)-1])
}

// overflow reports whether a model refused a request for a reply as too long, so that
// the history is compacted.
func (b *book) overflow(a *ask) bool {
	return b.cfg.History.CompactOnOverflow && a.to == loop.ForReply && a.how == askFailed && loop.Overflow(a.in.Status, a.in.Text)
}

// weight returns the size of a history in tokens, if its bound or its reason is one in
// tokens, or else in messages.
func (b *book) weight(h []*loop.Message, overflow bool) int {
	if b.cfg.History.CompactTokens == 0 && !overflow {
		return len(h)
	}
	return tokensOf(h)
}

// tokensOf estimates the tokens of messages: for each a quarter of its characters,
// rounded up, and 4.
func tokensOf(h []*loop.Message) (tokens int) {
	for _, m := range h {
		chars := utf8.RuneCountInString(m.Text)
		for _, c := range m.Calls {
			chars += utf8.RuneCountInString(c.Name + c.Args)
		}
		tokens += (chars+3)/4 + 4
	}
	return tokens
}

// tooLong reports whether a history is above its bound, if that is known.
func (b *book) tooLong(h []*loop.Message) (long, known bool) {
	cfg := &b.cfg.History
	if cfg.CompactAt > 0 && len(h) > cfg.CompactAt {
		return true, true
	}
	if cfg.CompactTokens == 0 {
		return false, true
	}
	rest, known := b.beside()
	return rest+tokensOf(h) > cfg.CompactTokens, known
}

// aboveFloor reports whether system prompt, tools and the protected first message alone
// are above the bound in tokens, if that is known.
func (b *book) aboveFloor(h []*loop.Message) (above, known bool) {
	cfg := &b.cfg.History
	if cfg.CompactTokens == 0 {
		return false, true
	}
	rest, known := b.beside()
	if cfg.KeepFirst && len(h) > 0 && h[0].Ref == (loop.Ref{Kind: loop.RefMessage, N: 1}) {
		rest += tokensOf(h[:1])
	}
	return rest > cfg.CompactTokens, known
}

// beside estimates the tokens of a request beside its messages: system prompt and
// tools. They are not known if the loop writes a part of the prompt, or a hook may
// replace it.
func (b *book) beside() (tokens int, known bool) {
	tokens = (utf8.RuneCountInString(b.task.System) + 3) / 4
	for _, t := range b.tools {
		tokens += (utf8.RuneCountInString(t.Name+t.Description+t.Input) + 3) / 4
	}
	return tokens, !b.task.SafetyPrompt && len(b.task.Constraints) == 0 && !b.task.Hooks.BeforeRun
}
