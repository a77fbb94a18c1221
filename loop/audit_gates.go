package loop

import "slices"

// The gates: permissions and hooks.

// gates gives the gates of a batch as they opened: those before its calls, or
// the hooks after them.
func (r *auditReply) gates(after bool) []*auditGate {
	var gates []*auditGate
	for _, c := range r.calls {
		for _, g := range c.gates {
			if (g.at == GateAfterCall) == after {
				gates = append(gates, g)
			}
		}
	}
	slices.SortStableFunc(gates, func(g, h *auditGate) int { return g.opened.line - h.opened.line })
	return gates
}

// readGates finds out what the gates before its calls say of a batch.
func (b *auditBook) readGates(r *auditReply) {
	for _, g := range r.gates(false) {
		c := g.of
		switch {
		case !g.answered.found() || c.spec == nil:
		case g.at == GateBeforeCall && !g.allow:
			c.denied, c.deny = g.answered, Vetoed
		case g.at == GateBeforeCall:
			if auditIsObject(g.in.Args) && !b.breaksSchema(c.spec, g.in.Args) {
				c.sent, c.hooked = g.in.Args, true
			}
		case !g.allow:
			for _, d := range r.calls {
				alike := d == c || c.spec.Permission == AskBatch && d.name == c.name && d.block == Executed
				if alike && !d.denied.found() {
					d.denied, d.deny = g.answered, Denied
				}
			}
		}
	}
}

// breaksSchema reports whether arguments break the schema that a tool's must keep.
func (b *auditBook) breaksSchema(t *ToolSpec, args string) bool {
	schema := b.schema(t.Input)
	if !b.cfg.Contracts.Input || schema == nil {
		return false
	}
	_, _, problem, _ := schema.Check(args, 0)
	return problem != ""
}

// gatesDone gives the record from which the calls of a batch may start.
func (b *auditBook) gatesDone(r *auditReply) int {
	rec := r.rec
	for _, g := range r.gates(false) {
		if !g.answered.found() {
			return len(b.trace)
		}
		rec = max(rec, g.answered.rec)
	}
	return rec
}

// hooked gives the records in which the results of a batch go into the history
// that is final in span: after the hooks after its calls.
func (b *auditBook) hooked(r *auditReply, span auditSpan) auditSpan {
	gates := r.gates(true)
	if len(gates) == 0 || !span.ok {
		return span
	}
	last, broke := gates[len(gates)-1], r.run.broke
	switch {
	case last.answered.found():
		return auditSpan{last.answered.rec, last.answered.rec, true}
	case broke.found():
		return auditSpan{broke.rec, broke.rec, true}
	}
	return auditSpan{}
}

// checkPermission compares the gates with those that tools and hooks ask for:
// one after another, and nothing before its gate's answer.
func (b *auditBook) checkPermission() {
	for _, r := range b.runs {
		b.checkRunHooks(r)
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

// An auditLine is what is left of a batch's gates, and the record in which the
// next one opens.
type auditLine struct {
	gates []*auditGate
	ready int
}

// take reports whether the next gate is the one that should open now, and
// answered.
func (l *auditLine) take(b *auditBook, at GateKind, c *auditCall) bool {
	g := l.gates[0]
	switch {
	case g.of != c || g.at != at:
		b.report(g.opened, auditGateName(at, c), auditGateName(g.at, g.of), "another gate should open")
		return false
	case g.opened.rec != l.ready:
		b.report(g.opened, "right after what comes before", "at another time", "gates open one after another")
		return false
	}
	l.gates, l.ready = l.gates[1:], g.answered.rec
	return g.answered.found()
}

func auditGateName(at GateKind, c *auditCall) string {
	name := "a permission"
	if at != GatePermission {
		name = "the hook " + string(at)
	}
	return name + " for " + Ref{Kind: RefCall, N: c.n}.String()
}

func (b *auditBook) checkGates(r *auditReply) {
	left := auditLine{r.gates(false), r.rec}
	asked := map[string]bool{}
	for _, c := range r.calls {
		for _, at := range b.gated(c, asked, left) {
			if len(left.gates) == 0 {
				b.checkUnasked(r, auditGateName(at, c))
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

// gated gives the gates that open for a call. Whether a hook is asked for a call
// that was denied with another is open.
func (b *auditBook) gated(c *auditCall, asked map[string]bool, left auditLine) []GateKind {
	if c.block != Executed || c.spec == nil {
		return nil
	}
	var gates []GateKind
	alone := !asked[c.name] || c.spec.Permission != AskBatch
	if b.task.Hooks.BeforeCall && (alone || !c.denied.found() || len(left.gates) > 0 && left.gates[0].of == c) {
		gates = append(gates, GateBeforeCall)
	}
	if c.deny != Vetoed && c.spec.Permission != AskNever && alone {
		gates = append(gates, GatePermission)
		asked[c.name] = true
	}
	return gates
}

// checkUnasked reports a batch that starts although a gate should open.
func (b *auditBook) checkUnasked(r *auditReply, want string) {
	for _, c := range r.calls {
		if len(c.tries) > 0 {
			b.report(c.tries[0].started, want, "none", "the batch starts before every gate has opened")
			return
		}
	}
}

// checkAfterCalls checks the hooks after calls: in request order, once the batch
// is final, for what was executed.
func (b *auditBook) checkAfterCalls(r *auditReply) {
	left := auditLine{r.gates(true), 0}
	if len(left.gates) > 0 {
		left.ready = left.gates[0].opened.rec
		if span := b.batchFinal(r); !b.task.Hooks.AfterCall || !span.ok || left.ready < span.lo || left.ready > span.hi {
			b.report(left.gates[0].opened, "no hook here", left.gates[0].ref.String(), "the batch is not just final")
			return
		}
	}
	for _, c := range r.calls {
		switch {
		case len(c.tries) == 0 || !b.task.Hooks.AfterCall:
		case len(left.gates) > 0:
			if !left.take(b, GateAfterCall, c) {
				return
			}
		case len(c.puts) > 0 && !r.run.broken(c.puts[0].rec):
			b.report(c.puts[0].auditPlace, auditGateName(GateAfterCall, c), "none", "a hook is left out")
			return
		}
	}
}

// checkRunHooks checks the hooks before and after a run.
func (b *auditBook) checkRunHooks(r *auditRun) {
	var before, after []*auditGate
	for _, g := range r.gates {
		switch g.at {
		case GateBeforeRun:
			before = append(before, g)
		case GateAfterRun:
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

// checkWaits reports what a run asks for before the hook before it is answered.
func (b *auditBook) checkWaits(r *auditRun, g *auditGate) {
	for _, q := range r.requests {
		if a := q.tries[0].asked; !g.answered.by(a.rec) || !g.allow {
			b.report(a, "nothing before the hook allows it", "a request", "the hook before the run holds it up")
			return
		}
	}
}

// refused reports whether a hook keeps a run from beginning.
func (b *auditBook) refused(r *auditRun) bool {
	return slices.ContainsFunc(r.gates, func(g *auditGate) bool {
		return g.at == GateBeforeRun && g.answered.found() && !g.allow
	})
}
