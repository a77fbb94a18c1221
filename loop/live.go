package loop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"
)

// This is the only file of the package that reads a clock or starts a
// goroutine. What it talks to stands in model.go, tool.go
// and live_options.go.

// The causes for which the live world cancels the context of a model, tool or
// approver.
var (
	ErrTimeout   = errors.New("this try took too long")      // time.tool, model, first_token or chunk
	ErrDeadline  = errors.New("the run deadline has passed") // time.run
	ErrCancelled = errors.New("the caller gave up")          // the context of Run is done
)

// causes are the texts of the cancel effects.
var causes = map[string]error{
	textTimeout:      ErrTimeout,
	textModelTimeout: ErrTimeout,
	textFirstToken:   ErrTimeout,
	textChunk:        ErrTimeout,
	textDeadline:     ErrDeadline,
	textCancelled:    ErrCancelled,
}

// RunLive runs a task with a model and tools to the end of the session, and
// returns the outcome of its last run. When ctx is done the run ends within
// time.grace, as [StopCancelled] and without an error. The error joins what is
// wrong with config and tools.
//
// It is short for [New], [NewLive] and [Run]. Who wants a trace, or the history
// afterwards, calls these three, with [Recording] round the world.
func RunLive(ctx context.Context, config Config, task Task, model Model, tools []Tool, opts LiveOptions) (Outcome, error) {
	if model == nil {
		return Outcome{}, errors.New("model: must not be nil")
	}
	live := NewLive(task, model, tools, opts)
	m, err := New(config, task, live.Tools())
	if err != nil {
		return Outcome{}, err
	}
	return Run(ctx, m, live)
}

// A Live is the live world of one session: it asks a model and calls tools, in
// goroutines, by the clock, which begins at the instant of the first input that
// Do is told of.
//
// Of the context that [Run] is given, models and tools see the values. That it
// is done they learn from the machine, a moment later and with a cause, so that
// nothing they then return can be taken for a failure of their own.
type Live struct {
	planner Planner
	model   Model
	tools   map[string]Tool
	specs   []ToolSpec
	opts    LiveOptions

	// Of the goroutine that calls Do and Next.
	over      *Outcome // of the run that has halted, nil while one is under way
	cancelled bool     // the Cancel input has been queued

	mu      sync.Mutex
	start   time.Time
	queue   []Input                         // what has come and was not yielded, in the order of its instants
	open    map[Ref]context.CancelCauseFunc // what may still be answered
	arrived chan struct{}                   // holds a token when the queue has grown
}

// NewLive makes the live world of a session with this task.
func NewLive(task Task, model Model, tools []Tool, opts LiveOptions) *Live {
	l := &Live{
		planner: task.Planner, model: model, tools: make(map[string]Tool, len(tools)), opts: opts,
		open: map[Ref]context.CancelCauseFunc{},
	}
	for _, t := range tools {
		spec := t.Spec()
		l.specs = append(l.specs, spec)
		l.tools[spec.Name] = t
	}
	return l
}

// Tools gives the specs of the tools, as [New] takes them.
func (l *Live) Tools() []ToolSpec { return slices.Clone(l.specs) }

// Do carries out effects.
func (l *Live) Do(ctx context.Context, in Input, effects []Effect) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.arrived == nil {
		l.start, l.arrived = time.Now().Add(-in.At), make(chan struct{}, 1)
	}
	ctx = context.WithoutCancel(ctx)
	for i := range effects {
		switch e := &effects[i]; e.Kind {
		case AskModel:
			l.askModel(ctx, e)
		case CancelModel:
			l.cancel(e.Ref, causes[e.Text])
			delete(l.open, e.Ref)
		case OpenGate:
			l.openGate(ctx, e)
		case AskUser:
			l.askUser(ctx, e)
		case CallTool:
			l.callTool(ctx, in.At, e)
		case CancelTool:
			l.cancel(e.Ref, causes[e.Text])
		case Halt:
			l.halt(in.Kind, e.Outcome)
		}
	}
}

func (l *Live) askModel(ctx context.Context, e *Effect) {
	ref := e.Ref
	req := ModelRequest{Ref: ref, For: e.For, System: e.System, History: slices.Clone(e.History)}
	if (e.For == ForReply || e.For == ForGrace) && l.planner == PlannerNative {
		req.Tools = l.Tools()
	}
	for i := range req.History {
		req.History[i].Calls = slices.Clone(req.History[i].Calls)
	}
	delta := func(text string) { l.deliver(Input{Kind: ModelDelta, Ref: ref, Text: text}) }
	l.answer(ctx, Input{Kind: ModelFailure, Ref: ref}, func(ctx context.Context) Input {
		r, err := l.model.Reply(ctx, req, delta)
		if err != nil {
			return modelFailure(ref, err)
		}
		return Input{Kind: ModelReply, Ref: ref, Text: r.Text, Calls: slices.Clone(r.Calls), Finish: r.Finish,
			TokensIn: r.TokensIn, TokensOut: r.TokensOut, Cost: r.Cost}
	})
}

func modelFailure(ref Ref, err error) Input {
	var e *ModelError
	if !errors.As(err, &e) {
		e = &ModelError{Text: err.Error()}
	}
	return Input{Kind: ModelFailure, Ref: ref, Status: e.Status, RetryAfter: min(max(0, e.RetryAfter), maxDuration), Text: e.Text}
}

func (l *Live) openGate(ctx context.Context, e *Effect) {
	ref, at := e.Ref, HookPoint{At: e.At, Call: e.Of.N, Tool: e.Name, Args: e.Args, Code: e.Code, Text: e.Text}
	l.answer(ctx, Input{Kind: GateAnswer, Ref: ref}, func(ctx context.Context) Input {
		in := Input{Kind: GateAnswer, Ref: ref, Allow: true}
		switch {
		case at.At == GatePermission && l.opts.Approve != nil:
			in.Allow, in.Text = l.opts.Approve(ctx, at.Tool, at.Args)
		case at.At != GatePermission && l.opts.Hook != nil:
			a := l.opts.Hook(ctx, at)
			in.Allow, in.Text = !a.Deny, a.Reason
			in.Args, in.Result, in.System = a.Args, a.Result, a.System
		}
		if in.Allow {
			in.Text = "" // a reason is for a denial
		}
		return in
	})
}

func (l *Live) askUser(ctx context.Context, e *Effect) {
	ref, question := e.Ref, e.Text
	l.answer(ctx, Input{Kind: UserReply, Ref: ref}, func(ctx context.Context) Input {
		if l.opts.Ask == nil {
			return Input{Kind: UserReply, Ref: ref}
		}
		text, goOn := l.opts.Ask(ctx, question)
		return Input{Kind: UserReply, Ref: ref, Allow: goOn, Text: text}
	})
}

func (l *Live) callTool(ctx context.Context, at time.Duration, e *Effect) {
	if e.Budget > 0 {
		ctx = announced{ctx, l.start.Add(at + e.Budget)}
	}
	ref, name, args := e.Ref, e.Name, e.Args
	if strings.TrimSpace(args) == "" {
		args = "{}"
	}
	used := new(rollUp)
	ctx = context.WithValue(ctx, rollUpKey{}, used)
	l.answer(ctx, Input{Kind: ToolResult, Ref: ref, Code: ToolBug}, func(ctx context.Context) Input {
		t := l.tools[name]
		if t == nil {
			return Input{Kind: ToolResult, Ref: ref, Code: NotFound, Text: "the world has no tool " + name}
		}
		in := Input{Kind: ToolResult, Ref: ref}
		var err error
		if in.Text, err = t.Call(ctx, args); err != nil {
			in.Code, in.Text = toolFailure(ctx, err)
		}
		used.into(&in)
		return in
	})
}

func toolFailure(ctx context.Context, err error) (code Code, text string) {
	var typed *ToolError
	late := errors.Is(err, context.DeadlineExceeded)
	switch ours := context.Cause(ctx); {
	case ours != nil && (late || errors.Is(err, context.Canceled) || errors.Is(err, ours)):
		return Cancelled, textCancelled
	case errors.As(err, &typed):
		code = ToolBug
		if typed.Code != None && slices.Contains(Codes(), typed.Code) {
			code = typed.Code
		}
		return code, cmp.Or(typed.Text, string(code))
	case late:
		return Timeout, err.Error()
	}
	return ToolBug, err.Error()
}

// announced is a context that names a deadline and does not keep it.
type announced struct {
	context.Context
	deadline time.Time
}

func (a announced) Deadline() (time.Time, bool) { return a.deadline, true }

// answer opens what crashed answers, and runs f to answer it. Where f panics,
// crashed is the answer.
func (l *Live) answer(ctx context.Context, crashed Input, f func(context.Context) Input) {
	ctx, cancel := context.WithCancelCause(ctx)
	l.open[crashed.Ref] = cancel
	go func() {
		in := crashed
		in.Text = "ended without an answer" // where f calls runtime.Goexit
		defer func() {
			if p := recover(); p != nil {
				in.Text = "panic: " + fmt.Sprint(p)
			}
			cancel(nil)
			l.deliver(in)
		}()
		in = f(ctx)
	}()
}

// deliver queues an answer to what is open; any other is dropped.
func (l *Live) deliver(in Input) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, open := l.open[in.Ref]; !open {
		return
	}
	if in.Kind != ModelDelta {
		delete(l.open, in.Ref)
	}
	l.push(in)
}

// Say hands the machine something that the user says while a run is under way:
// a [Steer] input. It may be called from any goroutine. Before the session
// begins and after it has ended it reports false.
func (l *Live) Say(text string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.arrived == nil || l.over != nil {
		return false
	}
	l.push(Input{Kind: Steer, Text: text})
	return true
}

// push stamps and queues an input. Both happen under the lock, so that the
// queue is in the order of its instants.
func (l *Live) push(in Input) {
	in.At = time.Since(l.start)
	l.queue = append(l.queue, in)
	select {
	case l.arrived <- struct{}{}:
	default:
	}
}

func (l *Live) cancel(ref Ref, cause error) {
	if cancel := l.open[ref]; cancel != nil {
		cancel(cause)
	}
}

// halt forgets a gate or question that the run did not wait for. Tools that
// were abandoned stay open: a late result is an input like any other.
func (l *Live) halt(after InputKind, out *Outcome) {
	last := *out
	l.over = &last
	cause := ErrDeadline
	if after == Cancel {
		cause = ErrCancelled
	}
	for ref := range l.open {
		if ref.Kind != RefCall {
			l.cancel(ref, cause)
			delete(l.open, ref)
		}
	}
}

// Next yields the next input. An instant is that of the arrival; a tick's is
// wake, however late it comes.
func (l *Live) Next(ctx context.Context, wake time.Duration, armed bool) (Input, error) {
	if l.over != nil && !l.followUp(ctx) {
		l.close()
		return Input{}, io.EOF
	}
	for {
		in, wait, err := l.poll(ctx, wake, armed)
		if wait == 0 {
			return in, err
		}
		l.sleep(ctx, wait)
	}
}

// followUp asks for the user's next message, which begins the next run.
func (l *Live) followUp(ctx context.Context) bool {
	if l.opts.FollowUp == nil || ctx.Err() != nil {
		return false
	}
	text, ok := l.opts.FollowUp(ctx, *l.over)
	if !ok || ctx.Err() != nil {
		return false
	}
	l.over = nil
	l.mu.Lock()
	defer l.mu.Unlock()
	l.push(Input{Kind: UserMessage, Text: text})
	return true
}

// poll gives the next input if there is one. If not, wait is how long none can
// be due: never, where only an answer can end it.
func (l *Live) poll(ctx context.Context, wake time.Duration, armed bool) (in Input, wait time.Duration, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if ctx.Err() != nil && !l.cancelled {
		l.cancelled = true
		l.push(Input{Kind: Cancel})
	}
	now := time.Since(l.start)
	switch {
	case len(l.queue) > 0 && (!armed || l.queue[0].At < wake):
		in = l.queue[0]
		l.queue = slices.Delete(l.queue, 0, 1)
		return in, 0, nil
	case armed && wake <= now:
		return Input{At: wake, Kind: Tick}, 0, nil
	case armed:
		return Input{}, wake - now, nil
	case len(l.open) == 0:
		return Input{}, 0, io.EOF
	}
	return Input{}, never, nil
}

// sleep waits until something has come, ctx is done or wait is over.
func (l *Live) sleep(ctx context.Context, wait time.Duration) {
	done := ctx.Done()
	if l.cancelled {
		done = nil
	}
	var due <-chan time.Time
	if wait != never {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		due = timer.C
	}
	select {
	case <-l.arrived:
	case <-due:
	case <-done:
	}
}

// close ends the session: what comes from now on is dropped.
func (l *Live) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.open)
	l.queue = nil
}
