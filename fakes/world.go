package fakes

import (
	"context"
	"io"
	"slices"
	"time"

	"github.com/agentbench-go/agentbench/loop"
)

// A Ceiling is the harness's own bound on a session that nothing else stops. The
// trace shows it as a Cancel caused by the ceiling, and the end state is CEILING:
// the loop did not stop the session itself. In each field 0 means the default.
type Ceiling struct {
	Requests int           // model requests, those of sub-runs included; default 1,000
	Calls    int           // calls in the model's replies, and in those of sub-runs; default 5,000
	Time     time.Duration // virtual time; default 24 h
	Depth    int           // sub-runs within each other; default 64
}

// DefaultCeiling returns the bounds of a zero [Ceiling].
func DefaultCeiling() Ceiling {
	return Ceiling{Requests: 1000, Calls: 5000, Time: 24 * time.Hour, Depth: 64}
}

// A World plays a [Script] to one machine, in virtual time: [loop.Run] takes only
// as long as the computation. Its inputs are a pure function of the script, the
// seed and the effects so far.
//
// If the script has no reply or answer, Next returns a [DryError]. A script that
// hangs without a timeout of the loop does not run dry: time passes up to the
// ceiling. The session is over after any stop other than done, and after the run
// on the last user message.
type World struct {
	// Ceiling bounds the session; it may be set before the first Do.
	Ceiling Ceiling
	// Speaker answers the model requests in place of the script, and the functions
	// of People, except its hooks, answer for the user. If nil, the script answers.
	// Both may be set before the first Do. The world's clock stops while people
	// think.
	Speaker Speaker
	People  loop.LiveOptions
	// Config and Depth are those of the machine: sub-runs begin from them. A nil
	// Config means [loop.Default]; Run sets it.
	Config *loop.Config
	Depth  int

	answering
	nest
	script  *Script
	user    User
	specs   []loop.ToolSpec
	waiting []question // Next asks them first

	queue      queue
	remembered bool // a step was taken over: see Remember
	now        time.Duration
	turn       int    // the number of the newest request
	asked      int    // calls asked for in replies
	choice     choice // the step for the newest request
	course     Course
	summed     int // requests that no plain step answers: for a summary, or refused by the window
	refused    int // the newest request that the window refused
	heard      heard
	open       map[int]openCall // calls that have no result yet, by number
	messages   int              // of the user that were sent, or skipped as they are no follow-ups
	steered    int              // messages that the user said during a run
	halted     bool             // no run is in progress
	over       bool             // and none will begin
	bounded    bool             // the ceiling has ended the run, and with it the session
	broken     error            // why the world cannot go on
	outcomes   []loop.Outcome   // of the runs so far
}

// NewWorld returns a world for one session. Other worlds may play the same script
// at the same time.
func NewWorld(s *Script, seed uint64) *World {
	p, err := compile(s)
	w := &World{answering: p.answering(seed), broken: err, script: s, user: s.User, specs: s.Specs(),
		open: map[int]openCall{}, heard: heard{whys: map[int]loop.Why{}}}
	w.top = w
	for _, m := range s.User.Messages {
		if m.At > 0 {
			w.push(loop.Input{At: m.At, Kind: loop.Steer, Text: m.Text})
		}
	}
	if c := s.User.Cancel; c != nil && c.Call == 0 {
		w.push(loop.Input{At: c.At, Kind: loop.Cancel})
	}
	return w
}

// Run plays the script to a machine with that config, and returns the outcome of
// each run of the session, in order. It appends every input and its effects to
// trace, unless trace is nil. An error means that the session did not finish: the
// script ran dry, the config is invalid, or ctx ended. The last outcome then says
// how far its run got.
func (w *World) Run(ctx context.Context, cfg loop.Config, trace *loop.Trace) ([]loop.Outcome, error) {
	w.Config = &cfg
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

// Outcomes returns the outcomes of the session's finished runs, in order.
func (w *World) Outcomes() []loop.Outcome { return w.outcomes }

// Do carries out the effects of the machine. See [loop.World].
func (w *World) Do(_ context.Context, in loop.Input, effects []loop.Effect) {
	if in.Kind == 0 && w.remembered {
		return // Remember has carried them out
	}
	w.now = in.At
	switch in.Kind {
	case loop.ModelReply:
		w.asked += len(in.Calls)
		if w.parent != nil {
			w.top.called += len(in.Calls)
		}
	case loop.Started, loop.UserMessage:
		w.halted, w.begun = false, true
	}
	for i := range effects {
		w.carry(&effects[i])
	}
}

// Remember takes over a step that was made earlier, for example in another
// process. The world carries out the step's effects as Do does, and sends each
// answer at its own instant, unless the input of a later remembered step is that
// answer.
func (w *World) Remember(in loop.Input, effects []loop.Effect) {
	w.remembered = true
	w.forget(&in)
	w.Do(context.Background(), in, effects)
}

// forget drops the pending input that in already is.
func (w *World) forget(in *loop.Input) {
	switch {
	case in.Kind == loop.Started:
		w.top.queue.dropKind(w, in.Kind)
	case in.Kind == loop.ModelDelta:
		w.top.queue.dropFirst(w, func(e *loop.Input) bool { return e.Kind == in.Kind && e.Ref == in.Ref })
	case in.Ref.Kind != loop.RefNone:
		w.drop(in.Ref)
	case in.Kind == loop.UserMessage:
		w.dropSaid(in)
		w.dropQuestions()
	case in.Kind == loop.Steer:
		w.dropSaid(in)
	case in.Kind == loop.Cancel:
		w.top.queue.dropFirst(w, func(e *loop.Input) bool { return e.Kind == in.Kind && e.Cause == in.Cause })
		if in.Cause == loop.ByCeiling && !w.bounded {
			w.bounded = true
			if at, pending := w.queue.first(); pending && at == in.At && w.tooMany(w.queue.next()) {
				w.queue.pop() // the cancel came in its place
			}
		}
	}
}

// dropSaid drops a pending text of the user. Another one may be pending beside it.
func (w *World) dropSaid(in *loop.Input) {
	w.top.queue.dropFirst(w, func(e *loop.Input) bool { return e.Kind == in.Kind && e.At == in.At && e.Text == in.Text })
}

// drop drops every pending answer to ref, and the questions that would answer it.
func (w *World) drop(ref loop.Ref) {
	w.top.queue.drop(w, ref)
	w.top.waiting = slices.DeleteFunc(w.top.waiting, func(q question) bool { return q.to == w && q.ref == ref })
}

// dropQuestions drops all questions of the world.
func (w *World) dropQuestions() {
	w.top.waiting = slices.DeleteFunc(w.top.waiting, func(q question) bool { return q.to == w })
}

// push queues an input to the world's machine.
func (w *World) push(in loop.Input) { w.top.queue.push(w, in) }

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

// halt ends a run. If the user has another message for such an end, the world sends it
// next.
func (w *World) halt(e *loop.Effect) {
	w.outcomes = append(w.outcomes, *e.Outcome)
	w.halted = true
	w.dropQuestions() // the run no longer waits for answers
	if w.parent != nil {
		w.ended(e.Outcome)
		return
	}
	for w.messages < len(w.user.Messages) && w.user.Messages[w.messages].At > 0 {
		w.messages++
	}
	if w.messages == len(w.user.Messages) {
		w.over = !w.followUp(*e.Outcome)
		return
	}
	next := &w.user.Messages[w.messages]
	if w.over = w.bounded || e.Outcome.Stop.EndState() != loop.Done && !next.AfterAny; w.over {
		return
	}
	w.messages++
	w.push(loop.Input{At: w.now + next.Wait, Kind: loop.UserMessage, Text: next.Text})
}

// Next returns the next input: the earlier of the world's next one and the
// machine's wake, which comes first on a tie. See [loop.World]. Its errors are
// io.EOF, a [DryError], the error of [Script.Validate], an error of the Speaker,
// and the cause of ctx's end.
//
// Next makes the steps of sub-runs that come before that input. At one instant ticks
// come before inputs, those of a caller before those of its sub-runs, and sub-runs in
// the order in which they began.
func (w *World) Next(ctx context.Context, wake time.Duration, armed bool) (loop.Input, error) {
	for {
		w.settle(ctx)
		switch {
		case w.broken != nil:
			return loop.Input{}, w.broken
		case w.over:
			return loop.Input{}, io.EOF
		case ctx.Err() != nil:
			return loop.Input{}, context.Cause(ctx)
		}
		in, to, err := w.earliest(wake, armed)
		if to == w || err != nil {
			return in, err
		}
		to.step(ctx, in)
	}
}

// earliest returns the next input of the whole session, and whose machine takes it.
func (w *World) earliest(wake time.Duration, armed bool) (in loop.Input, to *World, err error) {
	at, pending := w.queue.first()
	if armed && (!pending || wake <= at) {
		at, to = wake, w
	}
	for _, s := range w.subs {
		if wake, armed := s.machine.Wake(); armed && (to == nil && (!pending || wake <= at) || wake < at) {
			at, to = wake, s
		}
	}
	if end := w.ceiling().Time; w.mayBound() && (at > end || to == nil && !pending) {
		return w.bound(max(end, w.now)), w, nil
	}
	switch {
	case to != nil:
		return loop.Input{At: max(at, to.now), Kind: loop.Tick}, to, nil
	case !pending:
		return loop.Input{}, nil, io.EOF
	}
	in, to = w.queue.pop()
	if w.mayBound() && w.tooMany(&in) {
		return w.bound(in.At), w, nil
	}
	return in, to, nil
}

// tooMany reports whether an input brings the calls asked for above the ceiling.
func (w *World) tooMany(in *loop.Input) bool {
	return w.asked+w.called+len(in.Calls) > w.ceiling().Calls
}

// mayBound reports whether the ceiling may end a run: one is in progress, and the
// ceiling has not ended it yet. A run that it ended may still use its grace.
func (w *World) mayBound() bool { return !w.halted && !w.bounded }

// bound returns the input by which the ceiling ends the run.
func (w *World) bound(at time.Duration) loop.Input {
	w.bounded = true
	return loop.Input{At: at, Kind: loop.Cancel, Cause: loop.ByCeiling}
}

// boundNow ends the run of the whole session at the ceiling, if one is in progress, and
// reports whether it was.
func (w *World) boundNow(at time.Duration) bool {
	if !w.mayBound() {
		return false
	}
	w.push(w.bound(at))
	return true
}

func (w *World) ceiling() Ceiling {
	c, d := w.top.Ceiling, DefaultCeiling()
	if c.Requests == 0 {
		c.Requests = d.Requests
	}
	if c.Calls == 0 {
		c.Calls = d.Calls
	}
	if c.Time == 0 {
		c.Time = d.Time
	}
	if c.Depth == 0 {
		c.Depth = d.Depth
	}
	return c
}

// fail ends the session with an error. Only the first one is kept.
func (w *World) fail(err error) {
	if w.top.broken == nil {
		w.top.broken = err
	}
}

// where says in an error in which sub-run it is.
func (w *World) where() string {
	if w.path == "" {
		return ""
	}
	return "in the sub-run " + string(w.path) + " "
}

// A DryError reports that a script has no answer to a request or a call.
// errors.Is(err, loop.ErrDry) is true for it.
type DryError struct {
	Ref     loop.Ref // the request or the try that got no answer
	Problem string   // names the missing answer or value
}

func (e *DryError) Error() string { return "the script ran dry: " + e.Problem }

// Is reports whether target is [loop.ErrDry].
func (e *DryError) Is(target error) bool { return target == loop.ErrDry }
