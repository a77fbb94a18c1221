package audit

import (
	"slices"

	"github.com/agentbench-go/agentbench/loop"
)

// The rules on gates, which are permissions and hooks.

// gates returns the gates of a batch in the order in which they opened: those before
// its calls, or if after is true the hooks after them.
func (r *reply) gates(after bool) []*gate {
	var gates []*gate
	for _, c := range r.calls {
		for _, g := range c.gates {
			if (g.at == loop.GateAfterCall) == after {
				gates = append(gates, g)
			}
		}
	}
	slices.SortStableFunc(gates, func(g, h *gate) int { return g.opened.line - h.opened.line })
	return gates
}

// readGates applies the answers of the gates before the calls of a batch.
func (b *book) readGates(r *reply) {
	for _, g := range r.gates(false) {
		c := g.of
		switch {
		case !g.answered.found() || c.spec == nil:
		case g.at == loop.GateBeforeCall && !g.allow:
			c.denied, c.deny = g.answered, loop.Vetoed
		case g.at == loop.GateBeforeCall:
			if isObject(g.in.Args) && !b.breaksSchema(c.spec, g.in.Args) {
				c.sent, c.hooked = g.in.Args, true
			}
		case !g.allow:
			for _, d := range r.calls {
				alike := d == c || c.spec.Permission == loop.AskBatch && d.name == c.name && d.block == loop.Executed
				if alike && !d.denied.found() {
					d.denied, d.deny = g.answered, loop.Denied
				}
			}
		}
	}
}

// breaksSchema reports whether arguments break the schema of a tool's input.
func (b *book) breaksSchema(t *loop.ToolSpec, args string) bool {
	schema := b.schema(t.Input)
	if !b.cfg.Contracts.Input || schema == nil {
		return false
	}
	_, _, problem, _ := schema.Check(args, 0)
	return problem != ""
}

// gatesDone returns the record from which the calls of a batch may start.
func (b *book) gatesDone(r *reply) int {
	if r.ready > 0 {
		return r.ready
	}
	r.ready = r.rec
	for _, g := range r.gates(false) {
		if !g.answered.found() {
			r.ready = len(b.trace)
			break
		}
		r.ready = max(r.ready, g.answered.rec)
	}
	return r.ready
}

// hooked returns the records in which the results of a batch may enter the history:
// after the last hook, or if there is none as soon as the batch is final.
func (b *book) hooked(r *reply, final span) span {
	gates := r.gates(true)
	if len(gates) == 0 || !final.ok {
		return final
	}
	last, broke := gates[len(gates)-1], r.run.broke
	switch {
	case last.answered.found():
		return span{last.answered.rec, last.answered.rec, true}
	case broke.found():
		return span{broke.rec, broke.rec, true}
	}
	return span{}
}

// checkPermission compares the gates with those that tools and hooks require. They
// must open one after another, and nothing may run before its gate's answer.
func (b *book) checkPermission() {
	for _, r := range b.runs {
		b.checkRunHooks(r)
		for _, g := range r.gates {
			b.checkLapse(g)
		}
	}
	for _, r := range b.replies {
		b.checkGates(r)
		b.checkAfterCalls(r)
		done := b.gatesDone(r)
		for _, c := range r.calls {
			switch {
			case len(c.tries) == 0:
			case c.denied.found():
				b.report(c.tries[0].started, "not executed: "+string(c.deny), "executed", "call c%d may not run", c.n)
			case c.tries[0].started.rec < done:
				b.report(c.tries[0].started, "after the last answer", "before it", "call c%d starts while a gate is open", c.n)
			}
		}
	}
}

// checkLapse checks that a permission that nobody answers is denied exactly when
// time.permission runs out, and no other gate ever.
func (b *book) checkLapse(g *gate) {
	limit := b.cfg.Time.Permission
	due := g.opened.at + limit
	if g.lapsed {
		if limit <= 0 || g.at != loop.GatePermission || g.answered.at != due {
			b.report(g.answered, "nothing, or a denial at the end of time.permission", g.answered.at.String(), "the gate %s is given up at another time", g.ref)
		}
		return
	}
	over := b.next(g.opened.rec, due)
	if limit <= 0 || g.at != loop.GatePermission || over == len(b.trace) || g.answered.by(over-1) || g.run.broken(over) || g.run.halt.by(over-1) {
		return
	}
	b.report(b.input(over), "denied at "+due.String(), "not denied", "the time of the permission %s is over", g.ref)
}

// A gateQueue holds the gates of a batch that are still to be checked, and the
// record in which the next one must open.
type gateQueue struct {
	gates []*gate
	ready int
}

// take takes the next gate, and reports whether it is the one that should open and
// is answered.
func (l *gateQueue) take(b *book, at loop.GateKind, c *call) bool {
	g := l.gates[0]
	switch {
	case g.of != c || g.at != at:
		b.report(g.opened, gateName(at, c), gateName(g.at, g.of), "another gate should open")
		return false
	case g.opened.rec != l.ready:
		b.report(g.opened, "right after the answer before", "at another time", "gates open one after another")
		return false
	}
	l.gates, l.ready = l.gates[1:], g.answered.rec
	return g.answered.found()
}

func gateName(at loop.GateKind, c *call) string {
	name := "a permission"
	if at != loop.GatePermission {
		name = "the hook " + string(at)
	}
	return name + " for " + loop.Ref{Kind: loop.RefCall, N: c.n}.String()
}

func (b *book) checkGates(r *reply) {
	left := gateQueue{r.gates(false), r.rec}
	asked := map[string]bool{}
	for _, c := range r.calls {
		for _, at := range b.gated(c, asked, left) {
			if len(left.gates) == 0 {
				b.checkUnasked(r, gateName(at, c))
				return
			}
			if !left.take(b, at, c) {
				return
			}
		}
	}
	if len(left.gates) > 0 {
		b.report(left.gates[0].opened, "no gate", left.gates[0].ref.String(), "no call is left to ask for")
	}
}

// gated returns the gates that open for a call. If the call was denied together with
// another one, its hook may open or not.
func (b *book) gated(c *call, asked map[string]bool, left gateQueue) []loop.GateKind {
	if c.block != loop.Executed || c.spec == nil {
		return nil
	}
	var gates []loop.GateKind
	alone := !asked[c.name] || c.spec.Permission != loop.AskBatch
	if b.task.Hooks.BeforeCall && (alone || !c.denied.found() || len(left.gates) > 0 && left.gates[0].of == c) {
		gates = append(gates, loop.GateBeforeCall)
	}
	if c.deny != loop.Vetoed && c.spec.Permission != loop.AskNever && alone {
		gates = append(gates, loop.GatePermission)
		asked[c.name] = true
	}
	return gates
}

// checkUnasked reports a batch that starts although a gate should open.
func (b *book) checkUnasked(r *reply, want string) {
	for _, c := range r.calls {
		if len(c.tries) > 0 {
			b.report(c.tries[0].started, want, "none", "the batch starts before every gate has opened")
			return
		}
	}
}

// checkAfterCalls checks that the hooks after calls open for every executed call, in
// request order, once the batch is final.
func (b *book) checkAfterCalls(r *reply) {
	left := gateQueue{r.gates(true), 0}
	if len(left.gates) > 0 {
		left.ready = left.gates[0].opened.rec
		if span := b.batchFinal(r); !b.task.Hooks.AfterCall || !span.ok || left.ready < span.lo || left.ready > span.hi {
			b.report(left.gates[0].opened, "no hook here", left.gates[0].ref.String(), "the batch has not just become final")
			return
		}
	}
	for _, c := range r.calls {
		switch {
		case len(c.tries) == 0 || !b.task.Hooks.AfterCall:
		case len(left.gates) > 0:
			if !left.take(b, loop.GateAfterCall, c) {
				return
			}
		case len(c.puts) > 0 && !r.run.broken(c.puts[0].rec):
			b.report(c.puts[0].place, gateName(loop.GateAfterCall, c), "none", "a hook is left out")
			return
		}
	}
}

// checkRunHooks checks the hooks before and after a run.
func (b *book) checkRunHooks(r *run) {
	var before, after []*gate
	for _, g := range r.gates {
		switch g.at {
		case loop.GateBeforeRun:
			before = append(before, g)
		case loop.GateAfterRun:
			after = append(after, g)
		}
	}
	wanted := func(hook bool) int {
		if hook {
			return 1
		}
		return 0
	}
	if want := wanted(b.task.Hooks.BeforeRun); len(before) != want || want > 0 && before[0].opened.rec != r.begin.rec {
		b.report(r.begin, "a hook before the run where it is asked for", "another number or time", "the run begins")
	} else if want > 0 {
		b.checkWaits(r, before[0])
	}
	switch {
	case len(after) > wanted(b.task.Hooks.AfterRun):
		b.report(after[len(after)-1].opened, "no hook", after[len(after)-1].ref.String(), "no hook after the run is left to ask")
	case !r.halt.found() || len(after) > 0:
	case b.task.Hooks.AfterRun && !r.broke.found() && !b.refused(r):
		b.report(r.halt, "the hook after-run", "none", "a hook is left out")
	}
}

// checkWaits reports the first request that a run makes before its before-run hook
// allows it.
func (b *book) checkWaits(r *run, g *gate) {
	for _, q := range r.requests {
		if a := q.tries[0].asked; !g.answered.by(a.rec) || !g.allow {
			b.report(a, "nothing before the hook allows it", "a request", "the hook before the run has not allowed it")
			return
		}
	}
}

// refused reports whether the hook before a run denied it.
func (b *book) refused(r *run) bool {
	return slices.ContainsFunc(r.gates, func(g *gate) bool {
		return g.at == loop.GateBeforeRun && g.answered.found() && !g.allow
	})
}
