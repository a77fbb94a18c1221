package fakes

import (
	"context"
	"io"
	"slices"
	"time"

	"github.com/agentbench-go/agentbench/loop"
)

// A Ceiling is the harness's own bound on a session that nothing stops. It
// shows as a Cancel by the ceiling, which gives the end state CEILING: never
// the loop's merit. In each field 0 means the default.
type Ceiling struct {
	Requests int           // model requests; default 1,000
	Calls    int           // calls in the replies that were given; default 5,000
	Time     time.Duration // virtual time; default 24 h
}

// DefaultCeiling gives the bounds of a [Ceiling] that says nothing.
func DefaultCeiling() Ceiling {
	return Ceiling{Requests: 1000, Calls: 5000, Time: 24 * time.Hour}
}

// A World plays a [Script] to one machine, in virtual time: [loop.Run] takes as
// long as the computing takes. What it says is a pure function of the script,
// the seed and the effects so far.
//
// A reply or an answer that the script does not have is a [DryError]. A script
// that hangs where no timeout of the loop wakes it does not run dry: time
// passes up to the ceiling. After a stop other than done, and after the last
// user message, the session is over, whatever was still to come.
type World struct {
	// Ceiling bounds the session; it may be set before the first Do.
	Ceiling Ceiling
	// Speaker answers the model requests, and People what is asked of the user
	// (its hooks aside); both may be set before the first Do. nil, and a nil
	// function of People, leave that to the script. Time stands still while
	// people think.
	Speaker Speaker
	People  loop.LiveOptions

	seeded
	script  *Script
	user    User
	specs   []loop.ToolSpec
	waiting []question // what Next has to ask first

	queue    queue
	told     bool // of steps made before: see Remember
	now      time.Duration
	turn     int    // the number of the newest request
	asked    int    // calls asked for in replies
	choice   choice // the step for the newest request
	course   Course
	summed   int // requests for a summary
	heard    heard
	open     map[int]openCall // calls that have no result yet, by number
	messages int              // follow-up messages said
	halted   bool             // no run is going on
	over     bool             // nor will one begin
	bounded  bool             // the ceiling has ended the run, and with it the session
	broken   error            // why nothing more can be said
	outcomes []loop.Outcome   // of the runs so far
	fired    []bool           // the faults that have struck, by their place in the script
	nth      map[string]int   // calls of each tool so far; nil where no fault counts them
	scratch  scratch
}

// NewWorld makes a world for one session. The same script may be played in
// other worlds at the same time.
func NewWorld(s *Script, seed uint64) *World {
	p, err := compile(s)
	w := &World{seeded: seeded{p, seed, newKey(seed)}, broken: err, script: s, user: s.User, specs: s.Specs(),
		open: map[int]openCall{}, heard: heard{whys: map[int]loop.Why{}}}
	if len(p.faults) > 0 {
		w.fired, w.nth = make([]bool, len(p.faults)), map[string]int{}
	}
	if c := s.User.Cancel; c != nil && c.Call == 0 {
		w.queue.push(loop.Input{At: c.At, Kind: loop.Cancel})
	}
	return w
}

// Run plays the script to a machine with that config, and returns how each run of
// the session ended, in order. It appends all that passes to trace, unless that is
// nil. An error means that the session did not finish: the script ran dry, the
// config is invalid, or ctx ended. The last outcome then says how far its run came.
func (w *World) Run(ctx context.Context, cfg loop.Config, trace *loop.Trace) ([]loop.Outcome, error) {
	m, err := loop.New(cfg, w.script.LoopTask(w.seed), w.specs)
	if err != nil {
		return nil, err
	}
	var world loop.World = w
	if trace != nil {
		world = loop.Recording(w, trace)
	}
	last, err := loop.Run(ctx, m, world)
	if err != nil {
		return append(w.Outcomes(), last), err
	}
	return w.Outcomes(), nil
}

// Outcomes returns how each run of the session that has ended did so, in order.
func (w *World) Outcomes() []loop.Outcome { return w.outcomes }

// Do carries out what the machine asks for. See [loop.World].
func (w *World) Do(_ context.Context, in loop.Input, effects []loop.Effect) {
	if in.Kind == 0 && w.told {
		return // Remember has taken it up
	}
	w.now = in.At
	switch in.Kind {
	case loop.ModelReply:
		w.asked += len(in.Calls)
	case loop.Started, loop.UserMessage:
		w.halted = false
	}
	for i := range effects {
		w.carry(&effects[i])
	}
}

// Remember tells the world a step that has been made already, in another process
// for example. The world takes up what the step asks for as Do does, and gives
// each answer at its own instant, unless a later step that it is told holds it.
func (w *World) Remember(in loop.Input, effects []loop.Effect) {
	w.told = true
	w.forget(&in)
	w.Do(context.Background(), in, effects)
}

// forget drops what the world still has to say and has said already: in.
func (w *World) forget(in *loop.Input) {
	switch {
	case in.Kind == loop.ModelDelta:
		w.queue.dropFirst(func(e *loop.Input) bool { return e.Kind == in.Kind && e.Ref == in.Ref })
	case in.Ref.Kind != loop.RefNone:
		w.drop(in.Ref)
	case in.Kind == loop.UserMessage:
		w.queue.dropKind(in.Kind)
		w.waiting = nil
	case in.Kind == loop.Cancel:
		w.queue.dropKind(in.Kind)
		w.bounded = w.bounded || in.Cause == loop.ByCeiling
	}
}

// drop drops every answer to ref, and whatever the world would still ask others
// to answer it.
func (w *World) drop(ref loop.Ref) {
	w.queue.drop(ref)
	w.waiting = slices.DeleteFunc(w.waiting, func(q question) bool { return q.ref == ref })
}

func (w *World) carry(e *loop.Effect) {
	switch e.Kind {
	case loop.AskModel:
		w.ask(e)
	case loop.CallTool:
		w.call(e)
	case loop.CancelModel:
		w.drop(e.Ref)
	case loop.CancelTool:
		w.cancelTool(e)
	case loop.OpenGate:
		w.openGate(e)
	case loop.AskUser:
		w.askUser(e)
	case loop.Put, loop.Note:
		w.hear(e)
	case loop.Halt:
		w.halt(e)
	}
}

// halt ends a run. After done comes the next message, if the user has one.
func (w *World) halt(e *loop.Effect) {
	w.outcomes = append(w.outcomes, *e.Outcome)
	w.halted = true
	w.waiting = nil // what the run no longer waits for
	if left := w.messages < len(w.user.Messages); !left || e.Outcome.Stop.EndState() != loop.Done {
		w.over = left || !w.followUp(*e.Outcome)
		return
	}
	next := &w.user.Messages[w.messages]
	w.messages++
	w.queue.push(loop.Input{At: w.now + next.After, Kind: loop.UserMessage, Text: next.Text})
}

// Next yields the next input: the earlier of what the world has to say next and
// the machine's wake, which comes first on a tie. See [loop.World]. Its errors
// are io.EOF, a [DryError], what [Script.Validate] reports, and ctx's.
func (w *World) Next(ctx context.Context, wake time.Duration, armed bool) (loop.Input, error) {
	w.settle(ctx)
	switch {
	case w.broken != nil:
		return loop.Input{}, w.broken
	case w.over:
		return loop.Input{}, io.EOF
	case ctx.Err() != nil:
		return loop.Input{}, context.Cause(ctx)
	}
	at, pending := w.queue.first()
	tick := armed && (!pending || wake <= at)
	if tick {
		at = wake
	}
	if end := w.ceiling().Time; w.mayBound() && (at > end || !tick && !pending) {
		return w.bound(max(end, w.now)), nil
	}
	switch {
	case tick:
		return loop.Input{At: max(wake, w.now), Kind: loop.Tick}, nil
	case !pending:
		return loop.Input{}, io.EOF
	}
	in := w.queue.pop()
	if w.mayBound() && w.asked+len(in.Calls) > w.ceiling().Calls {
		return w.bound(in.At), nil
	}
	return in, nil
}

// mayBound reports whether a run is going on that the ceiling has not ended
// yet: what it ended may still take its grace.
func (w *World) mayBound() bool { return !w.halted && !w.bounded }

// bound ends the run.
func (w *World) bound(at time.Duration) loop.Input {
	w.bounded = true
	return loop.Input{At: at, Kind: loop.Cancel, Cause: loop.ByCeiling}
}

func (w *World) ceiling() Ceiling {
	c, d := w.Ceiling, DefaultCeiling()
	if c.Requests == 0 {
		c.Requests = d.Requests
	}
	if c.Calls == 0 {
		c.Calls = d.Calls
	}
	if c.Time == 0 {
		c.Time = d.Time
	}
	return c
}

// fail ends the session; the first reason stands.
func (w *World) fail(err error) {
	if w.broken == nil {
		w.broken = err
	}
}

// A DryError says that a script has nothing to say to what it was asked.
// errors.Is(err, loop.ErrDry) holds for it.
type DryError struct {
	Ref     loop.Ref // the request or the try that got no answer
	Problem string   // what is missing
}

func (e *DryError) Error() string { return "the script ran dry: " + e.Problem }

// Is makes a DryError one of those that [loop.ErrDry] stands for.
func (e *DryError) Is(target error) bool { return target == loop.ErrDry }
