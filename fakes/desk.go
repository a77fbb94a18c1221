package fakes

import (
	"slices"
	"strings"
	"sync"

	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/loop/detect"
)

// A Desk gives the answers of a [Toolbox] to an agent that executes the calls of a
// scripted model, but says only the name and the arguments of what it executes. It
// holds one conversation. Any number of goroutines may use it: the model's side, and
// whatever offers the tools.
//
// An execution belongs to the oldest call of that name and those arguments (compared
// as canonical JSON) that the model has asked for and that has neither an answer nor
// an execution in progress. If there is none, it is the next try of the newest one.
// An agent may have changed the arguments, for example to fill in defaults: if no call
// has them, it belongs to the oldest one of that name in the newest reply that has
// neither.
//
// An execution that the model never asked for is a call of its own. If the model has
// asked for nothing at all, as for tools that are tried alone, these calls are
// numbered from 1, otherwise from [FirstUnasked]. It is the next try of the last one
// of that name and those arguments if that got a passing answer (see
// [ToolSaid.Passing]).
type Desk struct {
	// Observe is called when an execution begins and when it ends, one call at a time.
	// It must not call the desk, nor change the execution. It may be set before the
	// first use.
	Observe func(*Execution)

	script  *Script
	seed    uint64
	mu      sync.Mutex
	box     *Toolbox // nil until the first execution
	canon   detect.Canon
	calls   []deskCall // that the model has asked for, in the order of their turns
	from    int        // the index in calls of the newest reply's first
	alone   []deskCall // that it has not asked for
	unasked int        // how many of those there were
	turn    int        // the number of the newest reply
}

// FirstUnasked is the number of the first call that the model has not asked for.
const FirstUnasked = 1_000_001

// maxDesk is the number of calls of each kind that a desk remembers at least.
const maxDesk = 1_000

// An Execution is one execution of a call by an agent.
type Execution struct {
	Call  ToolCall
	Asked bool // the model has asked for the call
	Said  ToolSaid
	// Err is why there is no answer: see [Toolbox.Call].
	Err error
	// Ended is set when the execution has ended, and Answered if the agent got the
	// answer: not if it left before.
	Ended, Answered bool

	desk *Desk
	box  *Toolbox // that of the conversation
}

// A deskCall is a call and what became of it.
type deskCall struct {
	n, turn  int
	name     string
	call, as detect.Signature // as the model asked, and as the agent executes it if it has changed the arguments
	tries    int
	open     int      // executions in progress
	passing  bool     // the newest try gets a passing answer
	answered bool     // the agent got an answer
	said     ToolSaid // the newest that it got
}

func (c *deskCall) is(call detect.Signature) bool { return c.call == call || c.as == call }

// NewDesk returns a desk for the tools of a script, which must not change afterwards.
// If the script is invalid, each execution has its error.
func NewDesk(s *Script, seed uint64) *Desk { return &Desk{script: s, seed: seed} }

// Tools returns the tools that can be executed, in the order of the script: those that
// are no sub-runs.
func (d *Desk) Tools() []loop.ToolSpec {
	specs := d.script.Specs()
	out := specs[:0]
	for i := range specs {
		if d.script.Tools[i].Session == nil {
			out = append(out, specs[i])
		}
	}
	return out
}

// Begin begins a new conversation: nothing was asked, and no answer is used up.
func (d *Desk) Begin() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.box, d.calls, d.from, d.alone, d.unasked, d.turn = nil, nil, 0, nil, 0, 0
}

// Asked tells the calls of the model's reply to the request with number turn: their
// numbers, scripted names and arguments. The agent is done with the calls of earlier
// replies. If it has gone back, it begins the calls of this reply and of later ones
// anew. A reply that is told again changes nothing.
func (d *Desk) Asked(turn int, calls []loop.Call) {
	d.mu.Lock()
	defer d.mu.Unlock()
	asked := make([]deskCall, len(calls))
	for i, c := range calls {
		name := strings.TrimSpace(c.Name) // as agents do
		asked[i] = deskCall{n: c.N, turn: turn, name: name, call: d.sign(name, c.Args)}
	}
	if d.newest(turn, asked) {
		return
	}
	i := len(d.calls)
	for i > 0 && (d.calls[i-1].turn >= turn || len(asked) > 0 && d.calls[i-1].n >= asked[0].n) {
		i--
	}
	d.drop(d.calls[i:])
	d.calls = d.trimmed(append(d.calls[:i], asked...))
	d.from = max(len(d.calls)-len(asked), 0)
	d.turn = turn
}

// newest reports whether the newest reply is this one.
func (d *Desk) newest(turn int, asked []deskCall) bool {
	from := len(d.calls) - len(asked)
	return turn == d.turn && from >= 0 && slices.EqualFunc(d.calls[from:], asked, func(a, b deskCall) bool {
		return a.turn == b.turn && a.n == b.n && a.call == b.call
	})
}

// trimmed drops the oldest calls of a list that is too long.
func (d *Desk) trimmed(calls []deskCall) []deskCall {
	if len(calls) < 2*maxDesk {
		return calls
	}
	old := calls[:len(calls)-maxDesk]
	d.drop(old)
	return slices.Clone(calls[len(old):])
}

// drop makes the toolbox forget calls.
func (d *Desk) drop(calls []deskCall) {
	for i := range calls {
		if d.box != nil {
			d.box.forget(calls[i].n)
		}
	}
}

func (d *Desk) sign(name, args string) detect.Signature {
	s, _ := d.canon.Signature(name, args) // of arguments that are not an object, the text counts
	return s
}

// Execute begins an execution: args are the text of its arguments. If its Err is nil,
// Said is the answer, which the caller gives to the agent at its time. Then, or once
// the agent has left, the caller calls [Execution.End].
func (d *Desk) Execute(name, args string) *Execution {
	d.mu.Lock()
	defer d.mu.Unlock()
	x := &Execution{desk: d, Call: ToolCall{Turn: d.turn, Name: name, Args: args}}
	if d.box == nil {
		if d.box, x.Err = NewToolbox(d.script, d.seed); x.Err != nil {
			d.box = nil
		}
	}
	if x.box = d.box; x.Err == nil {
		c := d.find(name, d.sign(name, args), &x.Asked)
		c.tries++
		c.open++
		x.Call.N, x.Call.Try = c.n, c.tries
		x.Said, x.Err = d.box.Call(x.Call)
		c.passing = x.Said.Passing
	}
	d.observe(x)
	return x
}

// find returns the call that an execution belongs to, and sets whether the model has
// asked for it.
func (d *Desk) find(name string, call detect.Signature, asked *bool) *deskCall {
	newest := -1
	for i := len(d.calls) - 1; i >= 0 && newest < 0; i-- {
		if d.calls[i].is(call) {
			newest = i
		}
	}
	changed := -1
	for i := len(d.calls) - 1; i >= d.from; i-- {
		switch c := &d.calls[i]; {
		case c.answered || c.open > 0:
		case c.is(call):
			newest = i
		case c.name == name:
			changed = i
		}
	}
	if newest < 0 && changed >= 0 {
		newest, d.calls[changed].as = changed, call
	}
	if *asked = newest >= 0; *asked {
		return &d.calls[newest]
	}
	for i := len(d.alone) - 1; i >= 0; i-- {
		if c := &d.alone[i]; c.is(call) {
			if c.passing {
				return c
			}
			break
		}
	}
	d.unasked++
	n := d.unasked
	if d.turn > 0 {
		n += FirstUnasked - 1
	}
	d.alone = d.trimmed(append(d.alone, deskCall{n: n, call: call}))
	return &d.alone[len(d.alone)-1]
}

// End ends the execution. answered says whether the agent got the answer.
func (x *Execution) End(answered bool) {
	d := x.desk
	d.mu.Lock()
	defer d.mu.Unlock()
	x.Ended, x.Answered = true, answered
	list := d.alone
	if x.Asked {
		list = d.calls
	}
	i := slices.IndexFunc(list, func(c deskCall) bool { return c.n == x.Call.N })
	if i >= 0 && d.box == x.box {
		c := &list[i]
		c.open--
		if answered && x.Err == nil {
			c.answered, c.said = true, x.Said
		}
	}
	d.observe(x)
}

func (d *Desk) observe(x *Execution) {
	if d.Observe != nil {
		d.Observe(x)
	}
}

// Told returns the newest answer that the agent got for call n, if it got one. used
// says whether it has executed anything in this conversation. If so, a call whose
// result it tells the model without having got an answer had a [loop.Timeout].
func (d *Desk) Told(n int) (said ToolSaid, answered, used bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if i := slices.IndexFunc(d.calls, func(c deskCall) bool { return c.n == n && c.answered }); i >= 0 {
		return d.calls[i].said, true, true
	}
	return ToolSaid{}, false, d.box != nil
}

// Idle returns what the script plans for its tools and no call of this conversation
// has reached: see [Toolbox.Idle].
func (d *Desk) Idle() Idle {
	d.mu.Lock()
	defer d.mu.Unlock()
	box := d.box
	if box == nil {
		box, _ = NewToolbox(d.script, d.seed)
	}
	if box == nil {
		return Idle{}
	}
	return box.Idle()
}
