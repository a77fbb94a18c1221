package loop

import (
	"slices"
	"strconv"
	"time"
)

// The rules on order and numbers.

func (b *auditBook) checkFirstInput() {
	for i := range b.trace {
		in := &b.trace[i].In
		if auditIgnores(&b.trace[i]) || in.Kind == Tick {
			continue
		}
		if in.Kind != Started || b.task.Text != "" && in.Text != b.task.Text {
			b.report(b.input(i), "started with the task's text", auditInputName(in),
				"the first input is not the start of the session")
		}
		return
	}
}

func (b *auditBook) checkTime() {
	last := time.Duration(0)
	for i := range b.trace {
		at := b.trace[i].In.At
		if at < last {
			b.report(b.input(i), "at least "+last.String(), at.String(), "time goes back")
		}
		last = at
	}
}

// auditNumbers counts what the numbers of a session should be.
type auditNumbers struct {
	request, gate, question, user int
	history                       map[Ref]bool
}

func (b *auditBook) checkNumbers() {
	n := auditNumbers{history: map[Ref]bool{}}
	for _, it := range b.items {
		switch {
		case it.run == nil:
		case it.eff != nil:
			if want, ok := b.numbered(it, &n); !ok {
				b.report(it.auditPlace, want, it.eff.Ref.String(), "the number is not new or not open")
			}
		case it.user > 0:
			n.user++
			n.history[Ref{Kind: RefMessage, N: n.user}] = true
		case it.taken && it.in.Kind == ModelReply:
			n.history[Ref{Kind: RefModel, N: it.in.Ref.N}] = true
		}
	}
}

// numbered checks the number of an effect, and tells what it should be.
func (b *auditBook) numbered(it auditItem, n *auditNumbers) (want string, ok bool) {
	ref := it.eff.Ref
	switch it.eff.Kind {
	case AskModel:
		return b.askNumbered(it, n)
	case CancelModel:
		a := b.ask(ref)
		return "an open request", a != nil && a.ended.line >= it.line
	case OpenGate:
		n.gate++
		want := Ref{Kind: RefGate, N: n.gate}
		if it.eff.At == GateBeforeRun || it.eff.At == GateAfterRun {
			return want.String() + " of no call", ref == want && it.eff.Of == Ref{}
		}
		c := b.call(it.eff.Of)
		return want.String() + " of a call without result", ref == want && c != nil && c.pending(it.auditPlace)
	case AskUser:
		n.question++
		want := Ref{Kind: RefQuestion, N: n.question}
		return want.String(), ref == want
	case CallTool:
		return b.tryNumbered(it)
	case CancelTool:
		t := b.try(ref)
		return "a running try", t != nil && t.started.line < it.line && !(t.ended.found() && t.ended.rec < it.rec)
	case Put:
		return b.putNumbered(it, n)
	case Drop:
		there := n.history[ref.whole()]
		delete(n.history, ref.whole())
		return "a message of the history", there
	}
	return "", true
}

func (b *auditBook) askNumbered(it auditItem, n *auditNumbers) (want string, ok bool) {
	ref := it.eff.Ref
	if ref.Try <= 1 {
		last := b.requests[n.request]
		n.request++
		want := Ref{Kind: RefModel, N: n.request, Try: 1}
		return want.String() + " after the request before",
			ref == want && (last == nil || last.tries[len(last.tries)-1].ended.by(it.rec))
	}
	q := b.requests[ref.N]
	if ref.Kind != RefModel || q == nil {
		return "a model request", false
	}
	for k, a := range q.tries {
		if a.asked.line == it.line {
			return Ref{Kind: RefModel, N: n.request, Try: k + 1}.String() + " after the try before",
				ref.N == n.request && ref.Try == k+1 && q.tries[k-1].ended.by(it.rec)
		}
	}
	return "", false
}

func (b *auditBook) tryNumbered(it auditItem) (want string, ok bool) {
	c := b.call(it.eff.Ref)
	if c == nil {
		return "a call of the reply", false
	}
	for k, t := range c.tries {
		if t.started.line == it.line {
			return Ref{Kind: RefCall, N: c.n, Try: k + 1}.String() + " after the try before",
				t.ref.Try == k+1 && c.pending(it.auditPlace) && (k == 0 || c.tries[k-1].ended.by(it.rec))
		}
	}
	return "", false
}

// pending reports whether a call had been asked for and had no result yet.
func (c *auditCall) pending(p auditPlace) bool {
	return c.reply.line < p.line && (len(c.puts) == 0 || c.puts[0].line > p.line)
}

func (b *auditBook) putNumbered(it auditItem, n *auditNumbers) (want string, ok bool) {
	ref := it.eff.Ref
	if ref.Kind == RefMessage {
		n.user++
		want := Ref{Kind: RefMessage, N: n.user}
		n.history[ref] = true
		return want.String(), ref == want
	}
	c := b.call(ref)
	n.history[ref.whole()] = true
	return "a call that was asked for", c != nil && ref.Try == 0 && c.reply.line < it.line
}

func (b *auditBook) checkAsked() {
	check := func(p auditPlace, c *auditCall, e *Effect, hooked bool) {
		name := e.Name == c.name || e.Kind == CallTool && b.fellBack(c, e.Ref.Try)
		if !name || !c.carries(e.Args, hooked) {
			b.report(p, c.name+"("+c.sent+")", e.Name+"("+e.Args+")", "not the call that the model asked for")
		}
	}
	for _, it := range b.items {
		switch {
		case it.run == nil || it.eff == nil:
		case it.eff.Kind == CallTool && b.call(it.eff.Ref) != nil:
			c := b.call(it.eff.Ref)
			check(it.auditPlace, c, it.eff, c.hooked)
		case it.eff.Kind == OpenGate && it.eff.At != GateAfterCall && b.call(it.eff.Of) != nil:
			c := b.call(it.eff.Of)
			check(it.auditPlace, c, it.eff, c.hooked && it.eff.At == GatePermission)
		}
	}
}

// carries reports whether arguments are those that a call should be made with.
func (c *auditCall) carries(args string, hooked bool) bool {
	if hooked {
		return args == c.sent
	}
	if args == c.asked.Args || args == c.args {
		return true
	}
	same := auditSame("", args)
	return same == auditSame("", c.fixed) || c.planned && (c.name == "" || same == auditSame("", c.args))
}

// fellBack reports whether a try of a call is one of its tool's fallback.
func (b *auditBook) fellBack(c *auditCall, try int) bool {
	if c.standIn != "" {
		return c.tries[0].name == c.standIn
	}
	for k := 1; k < len(c.tries); k++ {
		t, before := c.tries[k], c.tries[k-1]
		if t.name != before.name && t.ref.Try <= try && b.spec(before).Fallback == t.name && b.fallsBack(c, k) {
			return true
		}
	}
	return false
}

// checkIgnored compares what was taken with what was open. An input that comes
// at the instant that closes its number may be either.
func (b *auditBook) checkIgnored() {
	for i := range b.trace {
		rec := &b.trace[i]
		run := b.runAt(i)
		if i == 0 || run == nil || rec.In.Kind == Tick {
			continue
		}
		open, closing := b.open(run, i, &rec.In)
		ignored := auditIgnores(rec)
		switch {
		case open && ignored && !closing:
			b.report(b.input(i), "taken", "ignored", "%s answers an open number", auditInputName(&rec.In))
		case !open && !ignored && !closing:
			b.report(b.input(i), "ignored", "taken", "the number of %s is not open", auditInputName(&rec.In))
		case !open && len(rec.Effects) != 1 && !b.due(run, i):
			b.report(b.input(i), "the note ignored and nothing else", strconv.Itoa(len(rec.Effects))+" effects",
				"the number of %s is not open, and something changed", auditInputName(&rec.In))
		}
	}
}

// runAt gives the run that was going when record rec came in, or nil.
func (b *auditBook) runAt(rec int) *auditRun {
	for i := len(b.runs) - 1; i >= 0; i-- {
		if r := b.runs[i]; r.begin.rec < rec {
			if r.halt.found() && r.halt.rec < rec {
				return nil
			}
			return r
		}
	}
	return nil
}

// open reports whether an input answers something that was open before its
// record, and whether that was closed in the record itself by something else.
func (b *auditBook) open(run *auditRun, rec int, in *Input) (open, closing bool) {
	between := func(opened, ended auditPlace) bool {
		return opened.rec < rec && !(ended.found() && ended.rec < rec)
	}
	deadline := run.brokeBy == StopRunDeadline && run.broke.rec == rec && run.broke.found()
	switch in.Kind {
	case ModelDelta, ModelReply, ModelFailure:
		a := b.ask(in.Ref)
		return a != nil && between(a.asked, a.ended), a != nil && a.how == auditGivenUp && a.ended.rec == rec
	case GateAnswer:
		g := b.gate(in.Ref)
		return g != nil && g.run == run && between(g.opened, g.answered) && !run.broken(rec-1), deadline
	case UserReply:
		q := b.question(in.Ref)
		return q != nil && q.run == run && between(q.opened, q.answered) && !run.broken(rec-1), deadline
	case ToolResult:
		t := b.try(in.Ref)
		return t != nil && between(t.started, t.ended), t != nil && t.abandoned && t.ended.rec == rec
	case Cancel, Steer:
		return true, true
	}
	return false, false
}

// due reports whether something was due at a record, so that it may have
// effects beside those of its input.
func (b *auditBook) due(run *auditRun, rec int) bool {
	at := b.trace[rec].In.At
	if run.broke.found() && run.broke.rec == rec {
		return true
	}
	for _, q := range run.requests {
		for k, a := range q.tries {
			expires, limited := b.expires(a)
			switch {
			case a.asked.rec >= rec:
			case !a.ended.found() || a.ended.rec >= rec:
				if limited && expires <= at {
					return true
				}
			case k+1 == len(q.tries) || q.tries[k+1].asked.rec >= rec:
				if retry := b.modelRetry(q, k+1); retry.may && retry.lo <= at {
					return true
				}
			}
		}
	}
	for _, t := range run.tries {
		if t.started.rec < rec && b.tryDue(t, rec, at) {
			return true
		}
	}
	return false
}

func (b *auditBook) tryDue(t *auditTry, rec int, at time.Duration) bool {
	if t.ended.found() && t.ended.rec < rec {
		k := slices.Index(t.call.tries, t) + 1
		if k < len(t.call.tries) && t.call.tries[k].started.rec < rec {
			return false
		}
		retry := b.toolRetry(t.call, k)
		return retry.may && retry.lo <= at
	}
	for _, p := range t.cancels {
		if p.rec < rec {
			return p.at+b.cfg.Time.Grace <= at
		}
	}
	limit := b.toolTime(t)
	return limit > 0 && t.started.at+limit <= at
}

func (b *auditBook) checkAfterHalt() {
	for _, it := range b.items {
		switch {
		case it.run != nil || !b.begun(it.rec) && it.in != nil:
		case it.eff != nil && !(it.eff.Kind == Note && it.eff.Event == EventIgnored):
			b.report(it.auditPlace, "nothing", "an effect", "the run has ended")
		case it.in != nil && it.taken && it.in.Kind != Tick:
			b.report(it.auditPlace, "ignored", "taken", "the run has ended, and %s is no user message", auditInputName(it.in))
		case it.in != nil && !it.taken && it.in.Kind == UserMessage && b.begun(it.rec):
			b.report(it.auditPlace, "taken", "ignored", "the run has ended, and a user message begins the next")
		case it.in != nil && !it.taken && len(b.trace[it.rec].Effects) != 1:
			b.report(it.auditPlace, "the note ignored and nothing else", strconv.Itoa(len(b.trace[it.rec].Effects))+" effects", "the run has ended")
		}
	}
}

// checkProgress finds the records after which the machine would wait for ever.
func (b *auditBook) checkProgress() {
	for _, r := range b.runs {
		for rec := r.begin.rec; rec < len(b.trace) && !r.halt.by(rec); rec++ {
			if !b.waits(r, rec) {
				b.report(b.input(rec), "something open, or a halt", "nothing", "the run waits for nothing and has not ended")
				break
			}
		}
	}
}

// waits reports whether something was open after a record.
func (b *auditBook) waits(run *auditRun, rec int) bool {
	for _, p := range run.pauses {
		if p.opened.rec <= rec && !p.answered.by(rec) && !run.broken(rec) {
			return true
		}
	}
	for i := len(run.requests) - 1; i >= 0; i-- {
		q := run.requests[i]
		for k := len(q.tries) - 1; k >= 0; k-- {
			a := q.tries[k]
			if a.asked.rec > rec {
				continue
			}
			if !a.ended.by(rec) {
				return true
			}
			retry := b.modelRetry(q, k+1)
			return k+1 < len(q.tries) || retry.must || retry.may && b.trace[rec].In.At <= retry.hi || b.batchWaits(run, rec)
		}
	}
	return b.batchWaits(run, rec)
}

// batchWaits reports whether a call of the last batch was open after a record.
func (b *auditBook) batchWaits(run *auditRun, rec int) bool {
	for i := len(run.replies) - 1; i >= 0; i-- {
		r := run.replies[i]
		if r.rec > rec {
			continue
		}
		for _, c := range r.calls {
			if b.callWaits(c, rec) {
				return true
			}
		}
		return false
	}
	return false
}

func (b *auditBook) callWaits(c *auditCall, rec int) bool {
	for k := len(c.tries) - 1; k >= 0; k-- {
		t := c.tries[k]
		if t.started.rec > rec {
			continue
		}
		retry := b.toolRetry(c, k+1)
		return !t.ended.by(rec) || k+1 < len(c.tries) || !c.reply.run.broken(rec) && (retry.must || retry.may && b.trace[rec].In.At <= retry.hi)
	}
	return false
}

func auditInputName(in *Input) string {
	names := map[InputKind]string{Started: "started", UserMessage: "message", Steer: "steer", ModelDelta: "delta", ModelReply: "reply",
		ModelFailure: "failure", GateAnswer: "gate", UserReply: "answer", ToolResult: "result", Tick: "tick", Cancel: "cancel"}
	name := names[in.Kind]
	if name == "" {
		name = "an unknown input"
	}
	if ref := in.Ref.String(); ref != "" {
		name += " " + ref
	}
	return name
}

// begun reports whether the session had begun before a record.
func (b *auditBook) begun(rec int) bool { return len(b.runs) > 0 && b.runs[0].begin.rec < rec }
