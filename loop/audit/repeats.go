package audit

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/agentbench-go/agentbench/loop"
)

// This file finds the calls that repeat another one: they have its id, its name and its
// arguments, in the same reply or, after a broken stream, in the turn before. Such a
// call is not a call of its own.

// separate takes the calls that repeat another one out of the calls of a reply.
func (b *book) separate(r *reply, a *ask) {
	before := r.run.callsBefore()
	if !b.broke(a) {
		before = nil
	}
	if len(before)+len(r.calls) < 2 {
		return
	}
	clear(b.seen)
	shared := false // an id occurs twice
	for _, list := range [][]*call{before, r.calls} {
		for _, c := range list {
			_, again := b.seen[c.asked.ID]
			shared = shared || again && c.asked.ID != ""
			b.seen[c.asked.ID] = c
		}
	}
	if !shared {
		return
	}
	firsts := map[written]*call{}
	key := func(c *call) written { return written{c.asked.ID, sameCall(c.name, c.args)} }
	for _, c := range before {
		firsts[key(c)] = c
	}
	all := r.calls
	r.calls = nil
	for _, c := range all {
		first := firsts[key(c)]
		if !clearJSON(c.args) || strings.ContainsRune(c.args, utf8.RuneError) {
			first = b.saidToRepeat(c) // readers disagree about its arguments
		}
		if c.asked.ID == "" || first == nil {
			firsts[key(c)] = c
			r.calls = append(r.calls, c)
			continue
		}
		c.repeats = first
		r.repeats = append(r.repeats, c)
	}
}

// saidToRepeat returns the call that the trace says a call repeats, or nil.
func (b *book) saidToRepeat(c *call) *call {
	for _, e := range b.trace[c.reply.rec].Effects {
		if e.Kind == loop.Note && e.Event == loop.EventRepeatedCall && e.Ref == (loop.Ref{Kind: loop.RefCall, N: c.n}) {
			n, _ := strconv.Atoi(strings.TrimPrefix(e.Text, "c"))
			return b.call(loop.Ref{Kind: loop.RefCall, N: n})
		}
	}
	return nil
}

// callsBefore returns the calls of the last turn so far.
func (r *run) callsBefore() []*call {
	for i := len(r.replies) - 1; i >= 0; i-- {
		if last := r.replies[i]; last.sort >= answerReply {
			return last.calls
		}
	}
	return nil
}

// broke reports whether an earlier try of the request failed after deltas had come.
func (b *book) broke(a *ask) bool {
	for _, earlier := range b.requests[a.ref.N].tries {
		if earlier != a && len(earlier.deltas) > 0 && (earlier.how == askFailed || earlier.how == askGivenUp) {
			return true
		}
	}
	return false
}

// checkDroppedCall checks that nothing runs and no result comes for a call that
// contracts.broken_args took out of its reply.
func (b *book) checkDroppedCall() {
	for _, c := range b.calls {
		if c.dropped {
			b.nothingOf(c, "is dropped")
		}
	}
}

// nothingOf checks that nothing runs and no result comes for a call.
func (b *book) nothingOf(c *call, why string) {
	switch {
	case len(c.tries) > 0:
		b.report(c.tries[0].started, "nothing", "a try", "call c%d %s", c.n, why)
	case len(c.puts) > 0:
		b.report(c.puts[0].place, "nothing", "a result", "call c%d %s", c.n, why)
	case len(c.gates) > 0:
		b.report(c.gates[0].opened, "nothing", "a gate", "call c%d %s", c.n, why)
	}
}

// checkRepeatedCall checks that nothing runs and no result comes for a call that
// repeats another one, and that its note names that one.
func (b *book) checkRepeatedCall() {
	for _, c := range b.calls {
		if c.repeats != nil {
			b.nothingOf(c, "repeats c"+strconv.Itoa(c.repeats.n))
		}
	}
	for _, it := range b.notes {
		if it.eff.Event != loop.EventRepeatedCall {
			continue
		}
		if c := b.call(it.eff.Ref); c != nil && c.repeats != nil && it.eff.Text != "c"+strconv.Itoa(c.repeats.n) {
			b.report(it.place, "c"+strconv.Itoa(c.repeats.n), it.eff.Text, "call c%d repeats another one", c.n)
		}
	}
}
