package fuzz

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/agentbench-go/agentbench/loop"
)

// A view is a trace as the checks read it. It shares no code with the loop's own
// audit.
type view struct {
	runs  []*runView
	calls []*callView // by number, from 1
}

type runView struct {
	begin, end int // records; end is -1 for a run that has not halted
	beganAt    time.Duration
	haltedAt   time.Duration
	outcome    *loop.Outcome
	replies    []*replyView
	requests   []requestView
	paused     time.Duration // the time that gates and questions were open
	asked      bool          // the user was asked a question
}

// A requestView is one try of a model request.
type requestView struct {
	rec int
	ref loop.Ref
	to  loop.Purpose
}

// A replyView is a reply that the loop accepted.
type replyView struct {
	rec      int
	in       *loop.Input
	to       loop.Purpose // of the request
	calls    []*callView
	stripped bool // a call was dropped
	back     bool // the critic turned it back
}

// turn reports whether the reply counts as a turn: it has calls, or is an
// answer that the critic does not turn back, as is a text whose calls were dropped.
func (r *replyView) turn() bool {
	blank := strings.TrimSpace(r.in.Text) == ""
	return r.to == loop.ForReply && !r.back && (len(r.calls) > 0 || (len(r.in.Calls) == 0 || r.stripped) && !blank && r.in.Finish != loop.FinishLength)
}

type callView struct {
	n       int
	id      string // the model's own
	name    string
	args    string
	repeats int // the number of the call that it repeats; 0 = none
	denied  bool
	tries   []tryView
	puts    []putView
	last    *loop.Input // the last result of a try, as changed by a hook
}

type tryView struct {
	rec       int
	at        time.Duration
	try       int
	name      string
	cancelled bool        // before its result
	result    *loop.Input // nil if it has none
}

type putView struct {
	rec int
	seq int // its number among all effects
	e   *loop.Effect
}

// readTrace reads a trace.
func readTrace(t loop.Trace) *view {
	v := &view{}
	r := reading{view: v, asks: map[loop.Ref]loop.Purpose{}, gates: map[int]int{}, shown: map[int]int{}, opened: map[loop.Ref]time.Duration{}, streamed: map[loop.Ref]bool{}, broken: map[int]bool{}}
	for i := range t {
		if t[i].Path == "" { // the audit looks at sub-runs
			r.record(i, &t[i])
		}
	}
	return v
}

type reading struct {
	*view
	run      *runView
	asks     map[loop.Ref]loop.Purpose // the purposes of requests
	gates    map[int]int               // permission gate → call
	shown    map[int]int               // gate of the hook after a call → call
	streamed map[loop.Ref]bool         // tries of requests of which a delta has come
	broken   map[int]bool              // requests of which a stream broke
	seq      int
	opened   map[loop.Ref]time.Duration
}

// ignored reports whether the loop ignored a record's input.
func ignored(r *loop.Record) bool {
	for i := range r.Effects {
		if e := &r.Effects[i]; e.Kind == loop.Note && e.Event == loop.EventIgnored {
			return true
		}
	}
	return false
}

func (r *reading) record(i int, rec *loop.Record) {
	if !ignored(rec) {
		r.input(i, rec)
	}
	for j := range rec.Effects {
		r.effect(i, rec.In.At, &rec.Effects[j])
	}
}

func (r *reading) input(i int, rec *loop.Record) {
	in := &rec.In
	switch in.Kind {
	case loop.Started, loop.UserMessage:
		r.run = &runView{begin: i, end: -1, beganAt: in.At}
		r.runs = append(r.runs, r.run)
	case loop.ModelDelta:
		r.streamed[tryOf(in.Ref)] = true
	case loop.ModelFailure:
		r.broken[in.Ref.N] = r.broken[in.Ref.N] || r.streamed[tryOf(in.Ref)]
	case loop.ModelReply:
		r.reply(i, rec)
	case loop.GateAnswer, loop.UserReply:
		if at, open := r.opened[in.Ref]; open {
			r.run.paused += in.At - at
			delete(r.opened, in.Ref)
		}
		if c := r.call(r.gates[in.Ref.N]); in.Kind == loop.GateAnswer && c != nil && !in.Allow {
			c.denied = true
		}
		if c := r.call(r.shown[in.Ref.N]); in.Kind == loop.GateAnswer && c != nil && c.last != nil && in.Result != "" {
			changed := *c.last
			changed.Text = in.Result
			c.last = &changed
		}
	case loop.ToolResult:
		if c := r.call(in.Ref.N); c != nil {
			c.last = in
		}
		if t := r.try(in.Ref); t != nil {
			t.result = in
		}
	}
}

// tryOf returns the reference of a try of a request. Inputs leave out the first try.
func tryOf(ref loop.Ref) loop.Ref {
	ref.Try = max(ref.Try, 1)
	return ref
}

func (r *reading) reply(i int, rec *loop.Record) {
	in := &rec.In
	reply := &replyView{rec: i, in: in, to: r.asks[in.Ref]}
	reply.back = slices.ContainsFunc(rec.Effects, func(e loop.Effect) bool { return e.Event == loop.EventGaps && e.Ref.N == in.Ref.N })
	if reply.to == loop.ForSummary {
		in = &loop.Input{} // calls in a summary are ignored, and have no number
	}
	var before []*callView
	if n := len(r.run.replies); n > 0 && r.broken[in.Ref.N] {
		before = r.lastTurn()
	}
	for _, asked := range in.Calls {
		c := &callView{n: len(r.calls) + 1, id: asked.ID, name: strings.TrimSpace(asked.Name), args: asked.Args}
		r.calls = append(r.calls, c)
		if slices.ContainsFunc(rec.Effects, func(e loop.Effect) bool { return e.Event == loop.EventDroppedCall && e.Ref.N == c.n }) {
			reply.stripped = true
			continue
		}
		if c.repeats = c.repeated(before, rec) + c.repeated(reply.calls, rec); c.repeats == 0 {
			reply.calls = append(reply.calls, c)
		}
	}
	r.run.replies = append(r.run.replies, reply)
}

// repeated returns the number of the call of a list that has the id, name and
// arguments of c, or 0. If it cannot compare the arguments it believes the record.
func (c *callView) repeated(list []*callView, rec *loop.Record) int {
	for _, d := range list {
		if c.id == "" || c.id != d.id || c.name != d.name {
			continue
		}
		x, plainX := identity(c.args)
		y, plainY := identity(d.args)
		if plainX && plainY && x == y || !(plainX && plainY) && slices.ContainsFunc(rec.Effects, func(e loop.Effect) bool {
			return e.Event == loop.EventRepeatedCall && e.Ref.N == c.n && e.Text == fmt.Sprint("c", d.n)
		}) {
			return d.n
		}
	}
	return 0
}

// lastTurn returns the calls of the last turn of the run.
func (r *reading) lastTurn() []*callView {
	for i := len(r.run.replies) - 1; i >= 0; i-- {
		if r.run.replies[i].turn() {
			return r.run.replies[i].calls
		}
	}
	return nil
}

// call returns the call with that number, or nil if there is none yet. A planner's
// call is in a reply's text, so it is known only from its first effect on.
func (r *reading) call(n int) *callView {
	if n < 1 || n > len(r.calls) {
		return nil
	}
	return r.calls[n-1]
}

// try returns the try with that reference, or nil if it has not started.
func (r *reading) try(ref loop.Ref) *tryView {
	c := r.call(ref.N)
	if c == nil || ref.Kind != loop.RefCall || len(c.tries) == 0 || c.tries[len(c.tries)-1].try != ref.Try {
		return nil
	}
	return &c.tries[len(c.tries)-1]
}

// planned returns the call with that number. If it is the next number, the call
// comes from the text of the last reply, and planned adds it there.
func (r *reading) planned(n int) *callView {
	if n == len(r.calls)+1 && r.run != nil && len(r.run.replies) > 0 {
		reply := r.run.replies[len(r.run.replies)-1]
		c := &callView{n: n}
		r.calls, reply.calls = append(r.calls, c), append(reply.calls, c)
	}
	return r.call(n)
}

func (r *reading) effect(i int, at time.Duration, e *loop.Effect) {
	r.seq++
	switch e.Kind {
	case loop.AskModel:
		r.asks[e.Ref] = e.For
		r.run.requests = append(r.run.requests, requestView{i, e.Ref, e.For})
	case loop.OpenGate:
		r.opened[e.Ref] = at
		if e.At == loop.GatePermission && r.planned(e.Of.N) != nil {
			r.gates[e.Ref.N] = e.Of.N
		}
		if e.At == loop.GateAfterCall {
			r.shown[e.Ref.N] = e.Of.N
		}
	case loop.AskUser:
		r.opened[e.Ref] = at
		r.run.asked = true
	case loop.CallTool:
		if c := r.planned(e.Ref.N); c != nil {
			c.tries = append(c.tries, tryView{rec: i, at: at, try: e.Ref.Try, name: e.Name})
		}
	case loop.CancelModel:
		r.broken[e.Ref.N] = r.broken[e.Ref.N] || r.streamed[tryOf(e.Ref)]
	case loop.CancelTool:
		if t := r.try(e.Ref); t != nil {
			t.cancelled = true
		}
	case loop.Note:
		if opened, open := r.opened[e.Ref]; open && e.Event == loop.EventUnanswered {
			r.run.paused += at - opened
			delete(r.opened, e.Ref)
			if c := r.call(r.gates[e.Ref.N]); c != nil {
				c.denied = true
			}
		}
	case loop.Put:
		if e.Ref.Kind != loop.RefCall {
			return
		}
		if c := r.planned(e.Ref.N); c != nil {
			c.puts = append(c.puts, putView{i, r.seq, e})
		}
	case loop.Halt:
		r.run.end, r.run.haltedAt, r.run.outcome = i, at, e.Outcome
		for ref, opened := range r.opened { // never answered
			r.run.paused += at - opened
			delete(r.opened, ref)
		}
	}
}
