package audit

import (
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/agentbench-go/agentbench/loop"
)

// The rules on order and numbers.

func (b *book) checkFirstInput() {
	for i := range b.trace {
		in := &b.trace[i].In
		if ignores(&b.trace[i]) || in.Kind == loop.Tick {
			continue
		}
		if in.Kind != loop.Started || b.task.Text != "" && in.Text != b.task.Text {
			b.report(b.input(i), "started with the task's text", inputName(in),
				"the first input is not the start of the session")
		}
		return
	}
}

func (b *book) checkTime() {
	last := time.Duration(0)
	for i := range b.trace {
		at := b.trace[i].In.At
		if at < last {
			b.report(b.input(i), "at least "+last.String(), at.String(), "time goes back")
		}
		last = at
	}
}

// numbers holds the last number used of each kind, and the messages in the history.
type numbers struct {
	request, gate, question, user int
	history                       map[loop.Ref]bool
}

func (b *book) checkNumbers() {
	n := numbers{history: map[loop.Ref]bool{}}
	for i := range b.items {
		it := &b.items[i]
		switch {
		case it.run == nil:
		case it.eff != nil:
			if want, what, ok := b.numbered(it, &n); !ok {
				b.report(it.place, strings.TrimSpace(want.String()+" "+what), it.eff.Ref.String(), "the number is not new or not open")
			}
		case it.user > 0:
			n.user++
			b.adds(&n, loop.Ref{Kind: loop.RefMessage, N: n.user})
		case it.taken && it.in.Kind == loop.ModelReply:
			b.adds(&n, loop.Ref{Kind: loop.RefModel, N: it.in.Ref.N})
		}
	}
}

// adds remembers a message of the history if drops must be checked.
func (b *book) adds(n *numbers, ref loop.Ref) {
	if b.dropped {
		n.history[ref] = true
	}
}

// numbered reports whether the number of an effect is right. want is the number that
// it should have, if there is only one, and what describes it.
func (b *book) numbered(it *item, n *numbers) (want loop.Ref, what string, ok bool) {
	ref := it.eff.Ref
	switch it.eff.Kind {
	case loop.AskModel:
		return b.askNumbered(it, n)
	case loop.CancelModel:
		a := b.ask(ref)
		return want, "an open request", a != nil && a.ended.line >= it.line
	case loop.OpenGate:
		n.gate++
		want = loop.Ref{Kind: loop.RefGate, N: n.gate}
		if it.eff.At == loop.GateBeforeRun || it.eff.At == loop.GateAfterRun {
			return want, "of no call", ref == want && it.eff.Of == loop.Ref{}
		}
		c := b.call(it.eff.Of)
		return want, "of a call without result", ref == want && c != nil && c.pending(it.place)
	case loop.AskUser:
		n.question++
		want = loop.Ref{Kind: loop.RefQuestion, N: n.question}
		return want, "", ref == want
	case loop.CallTool:
		return b.tryNumbered(it)
	case loop.CancelTool:
		t := b.try(ref)
		return want, "a running try", t != nil && t.started.line < it.line && !(t.ended.found() && t.ended.rec < it.rec)
	case loop.Put:
		return b.putNumbered(it, n)
	case loop.Drop:
		there := n.history[whole(ref)]
		delete(n.history, whole(ref))
		return want, "a message of the history", there
	}
	return want, "", true
}

func (b *book) askNumbered(it *item, n *numbers) (want loop.Ref, what string, ok bool) {
	ref := it.eff.Ref
	if ref.Try <= 1 {
		last := b.requests[n.request]
		n.request++
		want = loop.Ref{Kind: loop.RefModel, N: n.request, Try: 1}
		return want, "after the request before", ref == want && (last == nil || last.tries[len(last.tries)-1].ended.by(it.rec))
	}
	q := b.requests[ref.N]
	if ref.Kind != loop.RefModel || q == nil {
		return want, "a model request", false
	}
	for k, a := range q.tries {
		if a.asked.line == it.line {
			want = loop.Ref{Kind: loop.RefModel, N: n.request, Try: k + 1}
			return want, "after the try before", ref.N == n.request && ref.Try == k+1 && q.tries[k-1].ended.by(it.rec)
		}
	}
	return want, "", false
}

func (b *book) tryNumbered(it *item) (want loop.Ref, what string, ok bool) {
	c := b.call(it.eff.Ref)
	if c == nil {
		return want, "a call of the reply", false
	}
	for k, t := range c.tries {
		if t.started.line == it.line {
			want = loop.Ref{Kind: loop.RefCall, N: c.n, Try: k + 1}
			return want, "after the try before", t.ref.Try == k+1 && c.pending(it.place) && (k == 0 || c.tries[k-1].ended.by(it.rec))
		}
	}
	return want, "", false
}

// pending reports whether a call was asked for before a place and has its result after
// it or not at all.
func (c *call) pending(p place) bool {
	return c.reply.line < p.line && (len(c.puts) == 0 || c.puts[0].line > p.line)
}

func (b *book) putNumbered(it *item, n *numbers) (want loop.Ref, what string, ok bool) {
	ref := it.eff.Ref
	if ref.Kind == loop.RefMessage {
		n.user++
		want = loop.Ref{Kind: loop.RefMessage, N: n.user}
		b.adds(n, ref)
		return want, "", ref == want
	}
	c := b.call(ref)
	b.adds(n, whole(ref))
	return want, "a call that was asked for", c != nil && ref.Try == 0 && c.reply.line < it.line
}

func (b *book) checkAsked() {
	check := func(p place, c *call, e *loop.Effect, hooked bool) {
		name := e.Name == c.name || e.Kind == loop.CallTool && b.fellBack(c, e.Ref.Try)
		if !name || !c.carries(e.Args, hooked) {
			b.report(p, c.name+"("+c.sent+")", e.Name+"("+e.Args+")", "not the call that the model asked for")
		}
	}
	for _, it := range b.made {
		switch {
		case it.eff.Kind == loop.CallTool && b.call(it.eff.Ref) != nil:
			c := b.call(it.eff.Ref)
			check(it.place, c, it.eff, c.hooked)
		case it.eff.Kind == loop.OpenGate && it.eff.At != loop.GateAfterCall && b.call(it.eff.Of) != nil:
			c := b.call(it.eff.Of)
			check(it.place, c, it.eff, c.hooked && it.eff.At == loop.GatePermission)
		}
	}
}

// carries reports whether args are the arguments that a call should have.
func (c *call) carries(args string, hooked bool) bool {
	if hooked {
		return args == c.sent
	}
	if args == c.asked.Args || args == c.args || args == c.fixed {
		return true
	}
	same := sameCall("", args)
	return same == sameCall("", c.fixed) || c.planned && (c.name == "" || same == sameCall("", c.args))
}

// fellBack reports whether a try of a call calls the fallback of its tool.
func (b *book) fellBack(c *call, try int) bool {
	if c.standIn != "" {
		return c.tries[0].name == c.standIn
	}
	for k := 1; k < len(c.tries); k++ {
		t, before := c.tries[k], c.tries[k-1]
		if t.name != before.name && t.ref.Try <= try && before.spec.Fallback == t.name && b.fallsBack(c, k) {
			return true
		}
	}
	return false
}

// checkIgnored checks that the machine took the inputs whose numbers were open and
// ignored the others. In the record that closes its number an input may be either.
func (b *book) checkIgnored() {
	for i := range b.trace {
		rec := &b.trace[i]
		run := b.runAt(i)
		if i == 0 || run == nil || rec.In.Kind == loop.Tick {
			continue
		}
		open, closing := b.open(run, i, &rec.In)
		ignored := ignores(rec)
		switch {
		case open && ignored && !closing:
			b.report(b.input(i), "taken", "ignored", "%s answers an open number", inputName(&rec.In))
		case !open && !ignored && !closing:
			b.report(b.input(i), "ignored", "taken", "the number of %s is not open", inputName(&rec.In))
		case !open && len(rec.Effects) != 1 && !b.due(run, i):
			b.report(b.input(i), "the note ignored and nothing else", strconv.Itoa(len(rec.Effects))+" effects",
				"the number of %s is not open, and something changed", inputName(&rec.In))
		}
	}
}

// runAt returns the run that was under way before record rec, or nil.
func (b *book) runAt(rec int) *run {
	begun := sort.Search(len(b.runs), func(i int) bool { return b.runs[i].begin.rec >= rec })
	if begun == 0 {
		return nil
	}
	if r := b.runs[begun-1]; !r.halt.found() || r.halt.rec >= rec {
		return r
	}
	return nil
}

// open reports whether an input answers something that was open before its record.
// closing reports whether the record itself closes that in another way.
func (b *book) open(run *run, rec int, in *loop.Input) (open, closing bool) {
	between := func(opened, ended place) bool {
		return opened.rec < rec && !(ended.found() && ended.rec < rec)
	}
	deadline := run.brokeBy == loop.StopRunDeadline && run.broke.rec == rec && run.broke.found()
	switch in.Kind {
	case loop.ModelDelta, loop.ModelReply, loop.ModelFailure:
		a := b.ask(in.Ref)
		return a != nil && between(a.asked, a.ended), a != nil && a.how == askGivenUp && a.ended.rec == rec
	case loop.GateAnswer:
		g := b.gate(in.Ref)
		return g != nil && g.run == run && between(g.opened, g.answered) && !run.broken(rec-1), deadline || g != nil && g.lapsed && g.answered.rec == rec
	case loop.UserReply:
		q := b.question(in.Ref)
		return q != nil && q.run == run && between(q.opened, q.answered) && !run.broken(rec-1), deadline
	case loop.ToolResult:
		t := b.try(in.Ref)
		return t != nil && between(t.started, t.ended), t != nil && t.abandoned && t.ended.rec == rec
	case loop.Cancel, loop.Steer:
		return true, true
	}
	return false, false
}

// due reports whether a timer was due at a record, which may then have other effects
// than those of its input.
func (b *book) due(run *run, rec int) bool {
	at := b.trace[rec].In.At
	if run.broke.found() && run.broke.rec == rec {
		return true
	}
	if slices.ContainsFunc(run.pauses, func(p *pause) bool { g := b.gate(p.ref); return g != nil && g.lapsed && g.answered.rec == rec }) {
		return true
	}
	if q := run.requestBy(rec - 1); q != nil {
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
	if r := run.replyBy(rec - 1); r != nil {
		for _, c := range r.calls {
			for _, t := range c.tries {
				if t.started.rec < rec && b.tryDue(t, rec, at) {
					return true
				}
			}
		}
	}
	return false
}

// requestBy returns the last request whose first try is in record rec or before it, or
// nil.
func (r *run) requestBy(rec int) *request {
	n := sort.Search(len(r.requests), func(i int) bool { return r.requests[i].tries[0].asked.rec > rec })
	if n == 0 {
		return nil
	}
	return r.requests[n-1]
}

// replyBy returns the last reply in record rec or before it, or nil.
func (r *run) replyBy(rec int) *reply {
	n := sort.Search(len(r.replies), func(i int) bool { return r.replies[i].rec > rec })
	if n == 0 {
		return nil
	}
	return r.replies[n-1]
}

func (b *book) tryDue(t *try, rec int, at time.Duration) bool {
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

func (b *book) checkAfterHalt() {
	for _, it := range b.idle {
		switch {
		case !b.begun(it.rec) && it.in != nil:
		case it.eff != nil && !(it.eff.Kind == loop.Note && it.eff.Event == loop.EventIgnored):
			b.report(it.place, "nothing", "an effect", "the run has ended")
		case it.in != nil && it.taken && it.in.Kind != loop.Tick:
			b.report(it.place, "ignored", "taken", "the run has ended, and %s is not a user message", inputName(it.in))
		case it.in != nil && !it.taken && it.in.Kind == loop.UserMessage && b.begun(it.rec):
			b.report(it.place, "taken", "ignored", "the run has ended, and a user message begins the next")
		case it.in != nil && !it.taken && len(b.trace[it.rec].Effects) != 1:
			b.report(it.place, "the note ignored and nothing else", strconv.Itoa(len(b.trace[it.rec].Effects))+" effects", "the run has ended")
		}
	}
}

// checkProgress reports the first record of a run after which the machine would wait
// for ever.
func (b *book) checkProgress() {
	for _, r := range b.runs {
		asks := r.open()
		for rec := r.begin.rec; rec < len(b.trace) && !r.halt.by(rec); rec++ {
			if !(asks(rec) && !r.broken(rec)) && !b.waits(r, rec) {
				b.report(b.input(rec), "something open, or a halt", "nothing", "the run waits for nothing and has not ended")
				break
			}
		}
	}
}

// open returns a function that reports whether a gate or question was open after a
// record. The function must be called for records in rising order.
func (r *run) open() func(rec int) bool {
	opened, until := 0, 0 // the pauses so far, and the record in which the last of them is answered
	return func(rec int) bool {
		for ; opened < len(r.pauses) && r.pauses[opened].opened.rec <= rec; opened++ {
			if p := r.pauses[opened].answered; p.found() {
				until = max(until, p.rec)
			} else {
				until = math.MaxInt
			}
		}
		return until > rec
	}
}

// waits reports whether a request or a call was open after a record.
func (b *book) waits(run *run, rec int) bool {
	q := run.requestBy(rec)
	for k := 0; q != nil && k < len(q.tries); k++ {
		next := k + 1
		if next < len(q.tries) && q.tries[next].asked.rec <= rec {
			continue
		}
		if !q.tries[k].ended.by(rec) {
			return true
		}
		retry := b.modelRetry(q, next)
		return next < len(q.tries) || retry.must || retry.may && b.trace[rec].In.At <= retry.hi || b.batchWaits(run, rec)
	}
	return b.batchWaits(run, rec)
}

// batchWaits reports whether a call of the last batch was open after a record. It looks
// first at the call that was open the last time.
func (b *book) batchWaits(run *run, rec int) bool {
	r := run.replyBy(rec)
	if r == nil {
		return false
	}
	for i := range r.calls {
		k := (r.open + i) % len(r.calls)
		if b.callWaits(r.calls[k], rec) {
			r.open = k
			return true
		}
	}
	return false
}

func (b *book) callWaits(c *call, rec int) bool {
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

func inputName(in *loop.Input) string {
	names := map[loop.InputKind]string{loop.Started: "started", loop.UserMessage: "message", loop.Steer: "steer", loop.ModelDelta: "delta", loop.ModelReply: "reply",
		loop.ModelFailure: "failure", loop.GateAnswer: "gate", loop.UserReply: "answer", loop.ToolResult: "result", loop.Tick: "tick", loop.Cancel: "cancel"}
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
func (b *book) begun(rec int) bool { return len(b.runs) > 0 && b.runs[0].begin.rec < rec }
