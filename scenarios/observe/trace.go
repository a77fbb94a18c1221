package observe

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/agentbench-go/agentbench/fakes/serve"
	"github.com/agentbench-go/agentbench/loop"
)

// maxText bounds the texts that a trace takes from an agent's history, in bytes: the
// agent's own tools may return anything.
const maxText = 2000

// A tracer writes an observation as a trace. It counts what the trace holds.
type tracer struct {
	o     *Observation
	trace loop.Trace
	out   loop.Outcome    // of the session so far
	base  loop.Outcome    // of the runs before the one under way
	began time.Duration   // when that one began
	runs  []loop.Outcome  // that have ended
	said  map[string]bool // what the user said after the task

	tries    map[int]int        // of each model request
	asked    map[int]loop.Call  // the calls of the replies so far
	started  map[int]bool       // calls that were executed
	put      map[int]bool       // calls whose result the history has had
	present  map[loop.Ref]bool  // replies and results in the newest history
	users    map[string]int     // messages of the user in the newest history
	begun    bool               // there was a request
	nudge    string             // the newest message that the agent put into the history
	refusal  string             // the newest result of a call that the agent refused
	unrun    int                // calls with a result that nobody executed or refused
	unknown  map[string]bool    // tools that requests do not declare
	toolless bool               // the newest request declares no tools, an earlier one did
	had      bool               // a request declared tools
	executed map[int]*Execution // the last execution of each call
}

// An event is one moment of an observation.
type event struct {
	seq int
	do  func()
}

func (o *Observation) record() *tracer {
	t := &tracer{o: o, tries: map[int]int{}, asked: map[int]loop.Call{}, started: map[int]bool{}, put: map[int]bool{}, present: map[loop.Ref]bool{},
		users: map[string]int{}, unknown: map[string]bool{}, executed: map[int]*Execution{}, said: map[string]bool{}}
	t.input(loop.Input{Kind: loop.Started, Text: o.Scenario.Script.Task})
	var events []event
	for i := range o.Requests {
		q := &o.Requests[i]
		ref := loop.Ref{Kind: loop.RefModel, N: max(q.N, 1)}
		events = append(events, event{q.Asked.Seq, func() { t.request(q, &ref) }})
		if q.Answered.Seq > 0 {
			events = append(events, event{q.Answered.Seq, func() { t.reply(q, ref) }})
		}
	}
	for i := range o.Executions {
		x := &o.Executions[i]
		events = append(events, event{x.Began.Seq, func() { t.begin(x) }})
		if x.Ended.Seq > 0 {
			events = append(events, event{x.Ended.Seq, func() { t.end(x) }})
		}
	}
	for i := 1; i < len(o.Runs); i++ {
		events = append(events, event{o.Runs[i].Began.Seq, func() { t.next(i) }})
	}
	if o.Cancelled.Seq > 0 {
		events = append(events, event{o.Cancelled.Seq, func() { t.input(loop.Input{At: o.Cancelled.At, Kind: loop.Cancel}) }})
	}
	slices.SortStableFunc(events, func(a, b event) int { return a.seq - b.seq })
	for _, e := range events {
		e.do()
	}
	return t
}

// input adds a record. Its time is not before that of the record before it.
func (t *tracer) input(in loop.Input) {
	if n := len(t.trace); n > 0 {
		in.At = max(in.At, t.trace[n-1].In.At)
	}
	t.trace = append(t.trace, loop.Record{In: in})
}

func (t *tracer) effect(e loop.Effect) {
	last := &t.trace[len(t.trace)-1]
	last.Effects = append(last.Effects, e)
}

// request writes a request: first what is new in its history.
func (t *tracer) request(q *Request, ref *loop.Ref) {
	t.tries[ref.N]++
	ref.Try = t.tries[ref.N]
	t.out.ModelCalls++
	for _, name := range q.Undeclared {
		t.unknown[name] = true
	}
	t.had = t.had || q.Tools > 0
	t.toolless = t.had && q.Tools == 0
	t.history(q)
	e := loop.Effect{Kind: loop.AskModel, Ref: *ref, For: loop.ForReply, To: len(q.History)}
	if t.toolless {
		e.For = loop.ForFinal
	}
	t.effect(e)
}

// history writes what a request's history has that the one before had not, and what it
// has no more.
func (t *tracer) history(q *Request) {
	present, users := map[loop.Ref]bool{}, map[string]int{}
	worked := false // a reply came before
	for i := range q.History {
		m := &q.History[i]
		switch m.Role {
		case loop.Assistant:
			worked = true
			present[m.Ref] = m.Ref.N > 0
		case loop.ToolRole:
			present[m.Ref] = m.Ref.N > 0
			if m.Ref.N > 0 && !t.put[m.Ref.N] {
				t.put[m.Ref.N] = true
				t.result(q, m)
			}
		case loop.User:
			users[m.Text]++
			if users[m.Text] > t.users[m.Text] && t.begun && !t.said[m.Text] {
				t.effect(loop.Effect{Kind: loop.Put, Ref: loop.Ref{Kind: loop.RefMessage, N: max(m.Ref.N, 1)}, To: i + 1, Text: clip(m.Text)})
				if worked {
					t.out.Nudges++
					t.nudge = m.Text
				}
			}
		}
	}
	for _, ref := range sorted(t.present) {
		if !present[ref] {
			t.effect(loop.Effect{Kind: loop.Drop, Ref: ref})
		}
	}
	t.present, t.users, t.begun = present, users, true
}

func sorted(refs map[loop.Ref]bool) []loop.Ref {
	var out []loop.Ref
	for ref, in := range refs {
		if in {
			out = append(out, ref)
		}
	}
	slices.SortFunc(out, func(a, b loop.Ref) int {
		if a.N != b.N {
			return a.N - b.N
		}
		return int(a.Kind) - int(b.Kind)
	})
	return out
}

// result writes the result of a call as the agent's history has it.
func (t *tracer) result(q *Request, m *loop.Message) {
	n := m.Ref.N
	call := t.asked[n]
	denied, vetoed, failed := serve.ReadResult(m.Text)
	failed = failed || m.Failed
	e := loop.Effect{Kind: loop.Put, Ref: loop.Ref{Kind: loop.RefCall, N: n}, Text: clip(m.Text)}
	if failed {
		e.Code = loop.ToolBug
	}
	switch x := t.executed[n]; {
	case x != nil:
		if e.Code = x.Code; !x.Answered {
			e.Code = loop.Timeout
		}
		t.count(&t.out.Errors, e.Code.Failed())
	case denied:
		e.Why, e.Code = loop.Denied, loop.Forbidden
		t.out.Denied++
		t.refusal = m.Text
	case vetoed:
		e.Why = loop.Vetoed
		t.out.Vetoed++
		t.refusal = m.Text
	case t.unknown[call.Name]:
		e.Why, e.Code = loop.Unknown, loop.NotFound
		t.out.Invalid++
	case !isObject(call.Args) && (failed || !t.o.OwnTools): // which no tool can be called with
		e.Why, e.Code = loop.InvalidArgs, loop.InvalidInput
		t.out.Invalid++
	case !t.o.OwnTools:
		e.Why = loop.NotStarted
		t.out.Vetoed++
		t.unrun++
	default: // its own tool ran, which nobody saw
		at := loop.Ref{Kind: loop.RefCall, N: n, Try: 1}
		t.call(at, call.Name, call.Args)
		t.input(loop.Input{At: q.Asked.At, Kind: loop.ToolResult, Ref: at, Code: e.Code, Text: clip(m.Text)})
		t.count(&t.out.Errors, failed)
	}
	t.effect(e)
}

func (t *tracer) count(n *int, one bool) {
	if one {
		*n++
	}
}

func (t *tracer) call(ref loop.Ref, name, args string) {
	if !t.started[ref.N] {
		t.started[ref.N] = true
		t.out.Calls++
	}
	t.out.Tries++
	t.effect(loop.Effect{Kind: loop.CallTool, Ref: ref, Name: name, Args: args})
}

// reply writes the answer to a request.
func (t *tracer) reply(q *Request, ref loop.Ref) {
	in := loop.Input{At: q.Answered.At, Ref: ref}
	if !q.answered() {
		in.Kind, in.Status, in.Text = loop.ModelFailure, q.Status, clip(q.Text)
		switch {
		case q.Refused != "":
			in.Text = clip(q.Refused)
		case q.Gone:
			in.Status, in.Text = 0, "the client left"
		}
		t.input(in)
		return
	}
	in.Kind, in.Text, in.Finish, in.TokensIn, in.TokensOut = loop.ModelReply, q.Text, q.Finish, q.TokensIn, q.TokensOut
	for _, c := range q.Calls {
		in.Calls = append(in.Calls, loop.AskedCall{ID: c.ID, Name: c.Name, Args: c.Args})
		if _, again := t.asked[c.N]; !again {
			t.out.Asked++
		}
		t.asked[c.N] = c
	}
	t.out.Turns++
	t.out.TokensIn += q.TokensIn
	t.out.TokensOut += q.TokensOut
	t.out.Answer = q.Text
	t.input(in)
}

// begin and end write an execution of a scripted tool.
func (t *tracer) begin(x *Execution) {
	t.executed[x.N] = x
	t.call(loop.Ref{Kind: loop.RefCall, N: x.N, Try: x.Try}, x.Name, x.Args)
}

func (t *tracer) end(x *Execution) {
	in := loop.Input{At: x.Ended.At, Kind: loop.ToolResult, Ref: loop.Ref{Kind: loop.RefCall, N: x.N, Try: x.Try}, Code: x.Code, Text: x.Text}
	if !x.Answered {
		in.Code, in.Text = loop.Timeout, "the agent left before the answer"
	}
	t.input(in)
}

// next writes the end of a run, and the message with which run i begins.
func (t *tracer) next(i int) {
	before, now := &t.o.Runs[i-1], &t.o.Runs[i]
	r := ruling{stop: loop.StopDone, end: loop.Done}
	switch {
	case t.o.cancelledIn(i - 1):
		r = ruling{stop: loop.StopCancelled, end: loop.WasCancelled, why: "cancelled by the user"}
	case before.Failed:
		r = ruling{stop: loop.StopByAgent, end: loop.StoppedByAgent, why: "it returned an error"}
	}
	t.input(loop.Input{At: before.Ended.At, Kind: loop.Tick})
	t.ended(&r, before.Ended.At)
	t.input(loop.Input{At: now.Began.At, Kind: loop.UserMessage, Text: now.Text})
	t.said[now.Text] = true
	t.base, t.began = t.out, now.Began.At
}

// ended writes the end of the run under way, with what it came to.
func (t *tracer) ended(r *ruling, at time.Duration) {
	t.out.Vetoed = max(t.out.Asked-t.out.Calls-t.out.Denied-t.out.Invalid, 0) // with those that fell with the end
	out, base := t.out, &t.base
	for _, n := range []struct{ n, before *int }{{&out.Turns, &base.Turns}, {&out.ModelCalls, &base.ModelCalls}, {&out.Asked, &base.Asked}, {&out.Calls, &base.Calls},
		{&out.Tries, &base.Tries}, {&out.Errors, &base.Errors}, {&out.Vetoed, &base.Vetoed}, {&out.Denied, &base.Denied}, {&out.Invalid, &base.Invalid}, {&out.Nudges, &base.Nudges}} {
		*n.n -= *n.before
	}
	out.TokensIn -= base.TokensIn
	out.TokensOut -= base.TokensOut
	out.Stop, out.End, out.Reason, out.Incomplete, out.Elapsed = r.stop, r.end, r.why, r.end != loop.Done, at-t.began
	t.effect(loop.Effect{Kind: loop.Halt, Outcome: &out})
	t.runs = append(t.runs, out)
}

// halt writes the end of the last run.
func (t *tracer) halt(r *ruling) {
	in := loop.Input{At: t.o.End.At, Kind: loop.Tick}
	switch {
	case r.end == loop.Ceiling:
		in.Kind, in.Cause = loop.Cancel, loop.ByCeiling
	case t.o.End.How == Interrupted:
		in.Kind = loop.Cancel
	}
	t.input(in)
	t.ended(r, t.o.End.At)
}

func isObject(args string) bool {
	trimmed := bytes.TrimSpace([]byte(args))
	return len(trimmed) == 0 || trimmed[0] == '{' && json.Valid(trimmed)
}

// clip cuts a text to maxText bytes.
func clip(s string) string {
	if len(s) <= maxText {
		return s
	}
	s = s[:maxText]
	for !utf8.ValidString(s) && len(s) > maxText-utf8.UTFMax {
		s = s[:len(s)-1]
	}
	return strings.TrimSpace(s) + " …"
}
