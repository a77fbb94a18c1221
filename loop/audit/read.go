package audit

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/agentbench-go/agentbench/loop"
)

// This file reads a trace without judging it. The rules check it afterwards.

// read returns the book of a trace. lines are those of its records, nil if they follow
// each other.
func read(cfg loop.Config, task loop.Task, tools []loop.ToolSpec, trace loop.Trace, lines []int) *book {
	b := &book{storage: storages.Get().(*storage), cfg: cfg, task: task, trace: trace,
		tools: map[string]*loop.ToolSpec{}, requests: map[int]*request{}, gates: map[int]*gate{}, asks: map[int]*pause{}, schemas: map[string]loop.Schema{}, states: map[string]*toolState{}, rests: map[loop.Ref]rest{}}
	b.plain = allCount(&cfg, task.Planner != loop.PlannerNative)
	for i := range tools {
		b.tools[tools[i].Name] = &tools[i]
	}
	line, effects := 1, 0
	for i := range trace {
		effects += len(trace[i].Effects)
		b.backwards = b.backwards || i > 0 && trace[i].In.At < trace[i-1].In.At
	}
	b.streaks = b.plain && len(cfg.Detectors) > 0
	b.items, b.lines = slices.Grow(b.items, len(trace)+effects), slices.Grow(b.lines, len(trace))
	for i := range trace {
		if lines != nil {
			line = lines[i]
		}
		b.lines = append(b.lines, line)
		b.readRecord(place{rec: i, line: line, at: trace[i].In.At}, &trace[i])
		line += 1 + len(trace[i].Effects)
	}
	return b
}

// running returns the run that has not halted yet, or nil.
func (b *book) running() *run {
	if n := len(b.runs); n > 0 && !b.runs[n-1].halt.found() {
		return b.runs[n-1]
	}
	return nil
}

// readRecord reads the effects of timers, then the input, then all effects. Timers that
// are due at an instant come before that instant's input, and only their effects cancel
// or abandon what was open before.
func (b *book) readRecord(p place, rec *loop.Record) {
	it := item{place: p, in: &rec.In, taken: !ignores(rec)}
	begins := rec.In.Kind == loop.UserMessage || len(b.runs) == 0 && rec.In.Kind != loop.Tick
	if it.taken && begins && b.running() == nil {
		b.runs = append(b.runs, &run{begin: p, from: len(b.items)})
		b.says(&it)
	}
	it.run = b.running()
	if it.run != nil {
		for j := range rec.Effects {
			b.readClosing(place{p.rec, p.line + 1 + j, p.at}, &rec.Effects[j])
		}
		if it.taken {
			b.readInput(&it)
		}
	}
	b.add(it)
	for j := range rec.Effects {
		e := item{place: place{p.rec, p.line + 1 + j, p.at}, eff: &rec.Effects[j], run: b.running()}
		if it := b.add(e); it.run != nil {
			b.readClosing(it.place, it.eff)
			b.readEffect(it)
		}
	}
}

// add adds an item to the book and to the lists of its kind, and returns it.
func (b *book) add(new item) *item {
	b.items = append(b.items, new)
	it := &b.items[len(b.items)-1]
	switch {
	case it.run == nil:
		b.idle = append(b.idle, it)
	case it.eff == nil:
	case it.eff.Kind == loop.Note:
		b.notes, it.run.notes = append(b.notes, it), append(it.run.notes, it)
	case it.eff.Kind == loop.CallTool, it.eff.Kind == loop.OpenGate:
		b.made = append(b.made, it)
	case speaks(it.eff):
		b.said = append(b.said, it)
	}
	if it.run != nil {
		it.run.to = len(b.items)
	}
	return it
}

// ignores reports whether the machine ignored the input of a record.
func ignores(rec *loop.Record) bool {
	for i := range rec.Effects {
		if rec.Effects[i].Kind == loop.Note && rec.Effects[i].Event == loop.EventIgnored {
			return true
		}
	}
	return false
}

// readClosing reads an effect that cancels or abandons something, or denies what
// nobody has answered. It may be called
// twice for one effect.
func (b *book) readClosing(p place, e *loop.Effect) {
	switch {
	case e.Kind == loop.CancelModel:
		if a := b.ask(e.Ref); a != nil && a.how == askOpen {
			a.how, a.ended = askGivenUp, p
		}
	case e.Kind == loop.CancelTool:
		if t := b.try(e.Ref); t != nil && !t.ended.found() && !t.cancelledAt(p.line) {
			t.cancels = append(t.cancels, p)
		}
	case e.Kind == loop.Note && e.Event == loop.EventUnanswered:
		if g := b.gate(e.Ref); g != nil && !g.answered.found() {
			g.lapsed, g.answered = true, p
		}
	case e.Kind == loop.Note && e.Event == loop.EventAbandoned:
		if t := b.try(e.Ref); t != nil && !t.ended.found() {
			t.abandoned, t.ended = true, p
		}
	}
}

// says numbers the user message of an input.
func (b *book) says(it *item) {
	b.users++
	it.user = b.users
}

func (b *book) readInput(it *item) {
	in := it.in
	switch in.Kind {
	case loop.ModelDelta, loop.ModelReply, loop.ModelFailure:
		if a := b.ask(in.Ref); a != nil && a.how == askOpen {
			b.readAnswer(a, it)
		}
	case loop.GateAnswer:
		if g := b.gate(in.Ref); g != nil && !g.answered.found() {
			g.answered, g.allow, g.in = it.place, in.Allow, in
			if g.at == loop.GateBeforeCall && !in.Allow && in.Cause == loop.ByHook {
				it.run.cancels = append(it.run.cancels, *it)
			}
		}
	case loop.UserReply:
		if q := b.question(in.Ref); q != nil && !q.answered.found() {
			q.answered, q.allow = it.place, in.Allow
			if in.Allow && in.Text != "" {
				b.says(it)
			}
		}
	case loop.ToolResult:
		if t := b.try(in.Ref); t != nil && !t.ended.found() {
			t.ended, t.in = it.place, in
		}
	case loop.Cancel:
		it.run.cancels = append(it.run.cancels, *it)
	}
}

func (b *book) readAnswer(a *ask, it *item) {
	switch it.in.Kind {
	case loop.ModelDelta:
		a.deltas = append(a.deltas, it.place)
		return
	case loop.ModelFailure:
		a.how = askFailed
	case loop.ModelReply:
		a.how = askReplied
		b.readReply(a, it)
	}
	a.ended, a.in = it.place, it.in
}

func (b *book) readReply(a *ask, it *item) {
	r := b.storage.replies.new()
	r.place, r.ref, r.run, r.in = it.place, loop.Ref{Kind: loop.RefModel, N: a.ref.N}, it.run, it.in
	r.last, r.grace, r.calls = a.to == loop.ForFinal || a.to == loop.ForGrace, a.to == loop.ForGrace, r.first[:0]
	r.tokens, r.cost = never, never
	asked := it.in.Calls
	planned := len(asked) == 0 && b.task.Planner == loop.PlannerJSON && a.to != loop.ForSummary
	if planned {
		asked = b.readAction(it)
	}
	if r.sort = b.sortOf(r); a.to == loop.ForSummary {
		r.sort, asked = summaryReply, nil
	} else if len(asked) > 0 {
		r.sort = batchReply
	}
	for _, written := range asked {
		c := b.storage.calls.new()
		c.n, c.reply, c.asked, c.id, c.name, c.args = len(b.calls)+1, r, written, written.ID, strings.TrimSpace(written.Name), written.Args
		c.tries, c.puts = c.first.try[:0], c.first.put[:0]
		if strings.Trim(c.args, " \t\r\n") == "" {
			c.args = "{}"
		}
		c.full, c.crowded = never, never
		c.fixed, c.sent, c.spec, c.planned = c.args, c.args, b.tools[c.name], planned
		b.calls = append(b.calls, c)
		if b.drops(c) {
			c.dropped, r.dropped = true, append(r.dropped, c)
			continue
		}
		r.calls = append(r.calls, c)
	}
	switch b.separate(r, a); {
	case len(r.calls) > 0:
	case len(r.dropped) > 0:
		if r.sort = b.sortOf(r); r.sort == announcedReply {
			r.sort = answerReply
		}
	case len(r.repeats) > 0:
		r.sort = emptyReply
		if r.last && strings.TrimSpace(it.in.Text) != "" {
			r.sort = answerReply
		}
	}
	if !r.last && b.turnsBack(r) {
		r.sort = gapReply
	}
	it.run.replies = append(it.run.replies, r)
	b.replies = append(b.replies, r)
}

// sortOf returns the sort of a reply as if it had no calls.
func (b *book) sortOf(r *reply) replySort {
	planner := b.task.Planner == loop.PlannerJSON
	switch {
	case planner && b.noted(r.rec, loop.EventBadAction):
		return badReply
	case strings.TrimSpace(r.in.Text) == "":
		return emptyReply
	case r.in.Finish == loop.FinishLength:
		return cutReply
	case planner:
		return actionReply
	case r.in.Finish == loop.FinishToolCalls && !r.last:
		return announcedReply
	}
	return answerReply
}

// drops reports whether contracts.broken_args takes a call out of its reply. Where
// readers disagree about its arguments, the trace says so.
func (b *book) drops(c *call) bool {
	if b.cfg.Contracts.BrokenArgs != loop.BrokenDropped || b.task.Planner == loop.PlannerJSON {
		return false
	}
	if !clearJSON(c.args) {
		return b.has(c.reply.rec, func(e *loop.Effect) bool {
			return e.Kind == loop.Note && e.Event == loop.EventDroppedCall && e.Ref == (loop.Ref{Kind: loop.RefCall, N: c.n})
		})
	}
	_, object := appendObject(nil, c.args)
	return !object
}

// readAction reads the call in a planner's reply. A note in the trace shows whether
// there is one: the call has no id, so the loop sets one and notes that.
func (b *book) readAction(it *item) []loop.AskedCall {
	ref := loop.Ref{Kind: loop.RefCall, N: len(b.calls) + 1}
	if !b.has(it.rec, func(e *loop.Effect) bool {
		return e.Kind == loop.Note && e.Event == loop.EventReplacedID && e.Ref == ref
	}) {
		return nil
	}
	var action struct {
		Name string
		Args json.RawMessage
	}
	text := strings.TrimSpace(it.in.Text)
	if fenced, ok := strings.CutPrefix(text, "```"); ok {
		_, text, _ = strings.Cut(strings.TrimSuffix(fenced, "```"), "\n")
	}
	if json.Unmarshal([]byte(text), &action) != nil {
		return []loop.AskedCall{{}}
	}
	return []loop.AskedCall{{Name: action.Name, Args: string(action.Args)}}
}

// noted reports whether a record has a note on an event.
func (b *book) noted(rec int, event loop.Event) bool {
	return b.has(rec, func(e *loop.Effect) bool { return e.Kind == loop.Note && e.Event == event })
}

func (b *book) readEffect(it *item) {
	e := it.eff
	switch e.Kind {
	case loop.AskModel:
		if e.Ref.Kind != loop.RefModel {
			return
		}
		q := b.requests[e.Ref.N]
		if q == nil {
			q = b.storage.requests.new()
			q.run, q.tries = it.run, q.first[:0]
			b.requests[e.Ref.N] = q
			it.run.requests = append(it.run.requests, q)
		}
		a := b.storage.asks.new()
		a.ref, a.run, a.to, a.asked = e.Ref, it.run, e.For, it.place
		q.tries = append(q.tries, a)
	case loop.OpenGate:
		g := &gate{pause: pause{ref: e.Ref, run: it.run, opened: it.place}, at: e.At, of: b.call(e.Of)}
		if e.Ref.Kind == loop.RefGate {
			b.gates[e.Ref.N] = g
		}
		it.run.gates, it.run.pauses = append(it.run.gates, g), append(it.run.pauses, &g.pause)
		if g.of != nil {
			g.of.gates = append(g.of.gates, g)
		}
	case loop.AskUser:
		q := &pause{ref: e.Ref, run: it.run, opened: it.place}
		if e.Ref.Kind == loop.RefQuestion {
			b.asks[e.Ref.N] = q
		}
		it.run.asks, it.run.pauses = append(it.run.asks, q), append(it.run.pauses, q)
	case loop.CallTool:
		if c := b.call(e.Ref); c != nil {
			t := b.storage.tries.new()
			t.n, t.ref, t.call, t.name, t.spec, t.started = len(b.tries)+1, e.Ref, c, e.Name, b.tools[e.Name], it.place
			if t.spec == nil {
				t.spec = &loop.ToolSpec{}
			}
			c.tries = append(c.tries, t)
			b.tries, it.run.tries = append(b.tries, t), append(it.run.tries, t)
		}
	case loop.Put:
		if c := b.call(e.Ref); c != nil {
			c.puts = append(c.puts, it)
		}
		if e.Ref.Kind == loop.RefMessage {
			b.users++
		}
	case loop.Note:
		if c := b.call(e.Ref); c != nil && e.Event == loop.EventReplacedID {
			c.id = e.Text
		}
	case loop.Drop:
		b.dropped = true
	case loop.Halt:
		it.run.halt, it.run.outcome = it.place, e.Outcome
	}
}
