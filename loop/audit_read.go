package loop

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/agentbench-go/agentbench/loop/detect"
)

// This file reads a trace, and takes it at its word; whether the words are
// right is for the rules.

func readAudit(cfg Config, task Task, tools []ToolSpec, trace Trace) *auditBook {
	b := &auditBook{cfg: cfg, task: task, trace: trace,
		tools: map[string]*ToolSpec{}, requests: map[int]*auditRequest{}, gates: map[int]*auditGate{}, asks: map[int]*auditPause{}, schemas: map[string]Schema{}, states: map[string]*auditTool{}}
	b.plain = !slices.ContainsFunc(cfg.Detectors, func(d detect.Detector) bool { return !auditPlain(d) })
	for i := range tools {
		b.tools[tools[i].Name] = &tools[i]
	}
	line := 1
	for i := range trace {
		b.lines = append(b.lines, line)
		b.readRecord(auditPlace{rec: i, line: line, at: trace[i].In.At}, &trace[i])
		line += 1 + len(trace[i].Effects)
	}
	return b
}

// running gives the run that has not halted yet, or nil.
func (b *auditBook) running() *auditRun {
	if n := len(b.runs); n > 0 && !b.runs[n-1].halt.found() {
		return b.runs[n-1]
	}
	return nil
}

// readRecord reads what was due, then the input, then the rest: what is due at
// an instant comes before that instant's input, and only that can cancel or
// abandon what was open before.
func (b *auditBook) readRecord(p auditPlace, rec *Record) {
	it := auditItem{auditPlace: p, in: &rec.In, taken: !auditIgnores(rec)}
	begins := rec.In.Kind == UserMessage || len(b.runs) == 0 && rec.In.Kind != Tick
	if it.taken && begins && b.running() == nil {
		b.runs = append(b.runs, &auditRun{begin: p})
		b.says(&it)
	}
	it.run = b.running()
	if it.run != nil {
		for j := range rec.Effects {
			b.readClosing(auditPlace{p.rec, p.line + 1 + j, p.at}, &rec.Effects[j])
		}
		if it.taken {
			b.readInput(&it)
		}
	}
	b.items = append(b.items, it)
	for j := range rec.Effects {
		e := auditItem{auditPlace: auditPlace{p.rec, p.line + 1 + j, p.at}, eff: &rec.Effects[j], run: b.running()}
		b.items = append(b.items, e)
		if e.run != nil {
			b.readClosing(e.auditPlace, e.eff)
			b.readEffect(e)
		}
	}
}

func auditIgnores(rec *Record) bool {
	for i := range rec.Effects {
		if rec.Effects[i].Kind == Note && rec.Effects[i].Event == EventIgnored {
			return true
		}
	}
	return false
}

// readClosing reads the effects that cancel or abandon. It may see one twice.
func (b *auditBook) readClosing(p auditPlace, e *Effect) {
	switch {
	case e.Kind == CancelModel:
		if a := b.ask(e.Ref); a != nil && a.how == auditOpen {
			a.how, a.ended = auditGivenUp, p
		}
	case e.Kind == CancelTool:
		if t := b.try(e.Ref); t != nil && !t.ended.found() && !t.cancelledAt(p.line) {
			t.cancels = append(t.cancels, p)
		}
	case e.Kind == Note && e.Event == EventAbandoned:
		if t := b.try(e.Ref); t != nil && !t.ended.found() {
			t.abandoned, t.ended = true, p
		}
	}
}

// says numbers what the user says with an input.
func (b *auditBook) says(it *auditItem) {
	b.users++
	it.user = b.users
}

func (b *auditBook) readInput(it *auditItem) {
	in := it.in
	switch in.Kind {
	case ModelDelta, ModelReply, ModelFailure:
		if a := b.ask(in.Ref); a != nil && a.how == auditOpen {
			b.readAnswer(a, it)
		}
	case GateAnswer:
		if g := b.gate(in.Ref); g != nil && !g.answered.found() {
			g.answered, g.allow, g.in = it.auditPlace, in.Allow, in
		}
	case UserReply:
		if q := b.question(in.Ref); q != nil && !q.answered.found() {
			q.answered, q.allow = it.auditPlace, in.Allow
			if in.Allow && in.Text != "" {
				b.says(it)
			}
		}
	case ToolResult:
		if t := b.try(in.Ref); t != nil && !t.ended.found() {
			t.ended, t.in = it.auditPlace, in
		}
	case Cancel:
		it.run.cancels = append(it.run.cancels, *it)
	}
}

func (b *auditBook) readAnswer(a *auditAsk, it *auditItem) {
	switch it.in.Kind {
	case ModelDelta:
		a.deltas = append(a.deltas, it.auditPlace)
		return
	case ModelFailure:
		a.how = auditFailed
	case ModelReply:
		a.how = auditReplied
		b.readReply(a, it)
	}
	a.ended, a.in = it.auditPlace, it.in
}

func (b *auditBook) readReply(a *auditAsk, it *auditItem) {
	r := &auditReply{auditPlace: it.auditPlace, ref: Ref{Kind: RefModel, N: a.ref.N}, run: it.run, in: it.in, last: a.to == ForFinal || a.to == ForGrace}
	asked := it.in.Calls
	planned := len(asked) == 0 && b.task.Planner == PlannerJSON && a.to != ForSummary
	if planned {
		asked = b.readAction(it)
	}
	switch {
	case a.to == ForSummary:
		r.sort, asked = auditSummary, nil
	case len(asked) > 0:
		r.sort = auditBatch
	case b.task.Planner == PlannerJSON && b.noted(it.rec, EventBadAction):
		r.sort = auditBad
	case strings.TrimSpace(it.in.Text) == "":
		r.sort = auditEmpty
	case it.in.Finish == FinishLength:
		r.sort = auditCut
	case b.task.Planner == PlannerJSON:
		r.sort = auditAction
	default:
		r.sort = auditAnswer
	}
	for _, call := range asked {
		c := &auditCall{n: len(b.calls) + 1, reply: r, asked: call, id: call.ID, name: strings.TrimSpace(call.Name), args: call.Args}
		if strings.Trim(c.args, " \t\r\n") == "" {
			c.args = "{}"
		}
		c.fixed, c.sent, c.spec, c.planned = c.args, c.args, b.tools[c.name], planned
		b.calls = append(b.calls, c)
		r.calls = append(r.calls, c)
	}
	it.run.replies = append(it.run.replies, r)
	b.replies = append(b.replies, r)
}

// readAction reads the call in a planner's reply. That there is one shows in
// the trace: it has no id, so it gets one.
func (b *auditBook) readAction(it *auditItem) []AskedCall {
	ref := Ref{Kind: RefCall, N: len(b.calls) + 1}
	if !b.has(it.rec, func(e *Effect) bool { return e.Kind == Note && e.Event == EventReplacedID && e.Ref == ref }) {
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
		return []AskedCall{{}}
	}
	return []AskedCall{{Name: action.Name, Args: string(action.Args)}}
}

// noted reports whether a record has a note of an event.
func (b *auditBook) noted(rec int, event Event) bool {
	return b.has(rec, func(e *Effect) bool { return e.Kind == Note && e.Event == event })
}

func (b *auditBook) readEffect(it auditItem) {
	e := it.eff
	switch e.Kind {
	case AskModel:
		if e.Ref.Kind != RefModel {
			return
		}
		q := b.requests[e.Ref.N]
		if q == nil {
			q = &auditRequest{run: it.run}
			b.requests[e.Ref.N] = q
			it.run.requests = append(it.run.requests, q)
		}
		q.tries = append(q.tries, &auditAsk{ref: e.Ref, run: it.run, to: e.For, asked: it.auditPlace})
	case OpenGate:
		g := &auditGate{auditPause: auditPause{ref: e.Ref, run: it.run, opened: it.auditPlace}, at: e.At, of: b.call(e.Of)}
		if e.Ref.Kind == RefGate {
			b.gates[e.Ref.N] = g
		}
		it.run.gates, it.run.pauses = append(it.run.gates, g), append(it.run.pauses, &g.auditPause)
		if g.of != nil {
			g.of.gates = append(g.of.gates, g)
		}
	case AskUser:
		q := &auditPause{ref: e.Ref, run: it.run, opened: it.auditPlace}
		if e.Ref.Kind == RefQuestion {
			b.asks[e.Ref.N] = q
		}
		it.run.asks, it.run.pauses = append(it.run.asks, q), append(it.run.pauses, q)
	case CallTool:
		if c := b.call(e.Ref); c != nil {
			t := &auditTry{ref: e.Ref, call: c, name: e.Name, started: it.auditPlace}
			c.tries = append(c.tries, t)
			b.tries, it.run.tries = append(b.tries, t), append(it.run.tries, t)
		}
	case Put:
		if c := b.call(e.Ref); c != nil {
			c.puts = append(c.puts, it)
		}
		if e.Ref.Kind == RefMessage {
			b.users++
		}
	case Note:
		if c := b.call(e.Ref); c != nil && e.Event == EventReplacedID {
			c.id = e.Text
		}
	case Halt:
		it.run.halt, it.run.outcome = it.auditPlace, e.Outcome
	}
}
