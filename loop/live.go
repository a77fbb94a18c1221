package loop

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"time"
)

// The live world is the part of the package that reads a clock and starts
// goroutines. It is in this file, live_pending.go (one open effect) and
// live_arrivals.go (the inputs that have come). Its interfaces are in model.go,
// tool.go and live_options.go.

// The causes with which the live world cancels the context of a model, tool or
// person.
var (
	ErrTimeout   = errors.New("this try took too long")      // time.tool, model, first_token, chunk or permission
	ErrDeadline  = errors.New("the run deadline has passed") // time.run
	ErrCancelled = errors.New("the caller gave up")          // the context of Run is done
)

// causes maps the texts of the cancel effects to causes.
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
// time.grace, as [StopCancelled] and without an error, whatever model and tools
// do meanwhile. The error joins all mistakes in config and tools.
//
// It is short for [New], [NewLive] and [Run]. Call these three to get a trace,
// with [Recording] around the world, or to read the history afterwards.
func RunLive(ctx context.Context, config Config, task Task, model Model, tools []Tool, opts LiveOptions) (Outcome, error) {
	if model == nil {
		return Outcome{}, errors.New("model: must not be nil")
	}
	live := NewLive(task, model, tools, opts)
	defer live.Close()
	if live.mistake != nil {
		return Outcome{}, errors.Join(config.Validate(), live.mistake)
	}
	m, err := New(config, task, live.Tools())
	if err != nil {
		return Outcome{}, err
	}
	return Run(ctx, m, live)
}

// A Live is the live world of one session: it asks a model and calls tools, in
// goroutines and by the wall clock. Its clock starts with the first input that
// Do gets.
//
// Models and tools see the values of the context that [Run] gets, but not its
// end: the machine passes that on a moment later and with a cause, so that what
// they return then does not count as a failure of their own.
type Live struct {
	planner Planner
	model   Model
	tools   map[string]Tool
	specs   []ToolSpec
	mistake error // in the tools
	opts    LiveOptions

	// Only the goroutine that calls Do and Next uses these.
	history []Message   // what model requests show: a copy of the machine's history
	offered []ToolSpec  // and of specs
	timer   *time.Timer // ends a sleep, nil before the first

	mu        sync.Mutex
	start     time.Time
	over      *Outcome // of the run that has halted, nil while one is under way
	cancelled bool     // the Cancel input has been queued
	arrivals  arrivals
	open      map[Ref]*pending
	arrived   chan struct{} // holds a token when something has come
}

// NewLive makes the live world of a session with this task. A nil tool, and a
// tool whose Spec panics or has a schema that is not JSON, is a mistake: [RunLive] returns it, and Tools has a
// spec without a name in the tool's place, which [New] refuses.
func NewLive(task Task, model Model, tools []Tool, opts LiveOptions) *Live {
	l := &Live{
		planner: task.Planner, model: model, tools: make(map[string]Tool, len(tools)), opts: opts,
		open: map[Ref]*pending{},
	}
	for i, t := range tools {
		spec, err := specOf(t)
		if err == nil && task.Schemas == nil { // else they are in the compiler's language
			err = checkSchemas(&spec)
		}
		if err != nil {
			spec = ToolSpec{}
			l.mistake = errors.Join(l.mistake, fmt.Errorf("tools[%d]: %w", i, err))
		}
		l.specs = append(l.specs, spec)
		l.tools[spec.Name] = t
	}
	return l
}

// specOf asks a tool for its spec.
func specOf(t Tool) (spec ToolSpec, err error) {
	if t == nil {
		return ToolSpec{}, errors.New("must not be nil")
	}
	defer func() {
		if r := recover(); r != nil {
			spec, err = ToolSpec{}, fmt.Errorf("its Spec panics: %v", r)
		}
	}()
	return t.Spec(), nil
}

// checkSchemas returns an error for a schema that is not one: models read it, whether or
// not the config checks anything by it.
func checkSchemas(spec *ToolSpec) error {
	for _, s := range []struct{ what, text string }{{"input", spec.Input}, {"output", spec.Output}} {
		start := strings.TrimLeft(s.text, " \t\r\n")
		if s.text == "" || start != "" && strings.IndexByte("{tf", start[0]) >= 0 && json.Valid([]byte(s.text)) {
			continue
		}
		return fmt.Errorf("its %s schema is not a JSON Schema: it must be a JSON object, true or false", s.what)
	}
	return nil
}

// Tools returns the specs of the tools, as [New] takes them.
func (l *Live) Tools() []ToolSpec { return slices.Clip(slices.Clone(l.specs)) }

// Do carries out effects.
func (l *Live) Do(ctx context.Context, in Input, effects []Effect) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.arrived == nil {
		l.start, l.arrived = time.Now().Add(-in.At), make(chan struct{}, 1)
	}
	for i := range effects {
		switch e := &effects[i]; e.Kind {
		case AskModel:
			l.askModel(ctx, e)
		case CancelModel:
			l.giveUp(e.Ref, causes[e.Text])
			l.history, l.offered = nil, nil // the model may still use its request
		case OpenGate:
			l.openGate(ctx, e)
		case AskUser:
			l.askUser(ctx, e)
		case CallTool:
			l.callTool(ctx, in.At, e)
		case CancelTool:
			if p := l.open[e.Ref]; p != nil {
				p.ctx.cancel(causes[e.Text])
			}
		case Put:
			if e.To > 0 { // not at the end
				l.history = nil
			}
		case Drop:
			l.history = nil
		case Note:
			if e.Event == EventUnanswered {
				l.giveUp(e.Ref, ErrTimeout)
			}
		case Halt:
			l.halt(in.Kind, e.Outcome)
		}
	}
}

func (l *Live) askModel(ctx context.Context, e *Effect) {
	ref := e.Ref
	req := ModelRequest{Ref: ref, For: e.For, System: e.System, History: l.show(e), Choice: e.Choice}
	req.JSON = e.For == ForReply && l.planner == PlannerJSON
	if (e.For == ForReply || e.For == ForGrace) && l.planner == PlannerNative {
		if l.offered == nil {
			l.offered = l.Tools()
		}
		req.Tools = l.offered
	}
	l.arrivals.stream = stream{ref: ref}
	p := new(pending)
	l.begin(ctx, p, Input{Kind: ModelFailure, Ref: ref}, func(ctx context.Context) Input {
		r, err := l.model.Reply(ctx, req, p.delta)
		if err != nil {
			return modelFailure(ref, err)
		}
		return Input{Kind: ModelReply, Ref: ref, Text: r.Text, Calls: slices.Clone(r.Calls), Finish: r.Finish,
			TokensIn: used(r.TokensIn), TokensOut: used(r.TokensOut), Cost: used(r.Cost)}
	})
}

// used returns what a model or sub-run says that it used, but not less than nothing,
// and not so much that a sum overflows: no session has 4,096 replies of a million
// dollars. Either would keep limits.tokens and limits.cost_usd from stopping the run.
func used[N int | int64](n N) N { return N(min(max(0, int64(n)), 1<<50)) }

// show returns a copy of a request's history. Requests share one copy, which
// grows as the history does, so that each message is copied once and not once a
// turn. After messages were dropped or inserted a new copy is made.
func (l *Live) show(e *Effect) []Message {
	if e.For == ForSummary {
		return copyMessages(nil, e.History)
	}
	if len(l.history) > len(e.History) {
		l.history = nil
	}
	l.history = copyMessages(l.history, e.History[len(l.history):])
	return slices.Clip(l.history)
}

func copyMessages(to, from []Message) []Message {
	for _, m := range from {
		m.Calls = slices.Clone(m.Calls)
		to = append(to, m)
	}
	return to
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
	l.begin(ctx, new(pending), Input{Kind: GateAnswer, Ref: ref}, func(ctx context.Context) Input {
		in := Input{Kind: GateAnswer, Ref: ref, Allow: true}
		switch {
		case at.At == GatePermission && l.opts.Approve != nil:
			in.Allow, in.Text = l.opts.Approve(ctx, at.Tool, at.Args)
		case at.At != GatePermission && l.opts.Hook != nil:
			a := l.opts.Hook(ctx, at)
			in.Allow, in.Text = !a.Deny, a.Reason
			if a.End && at.At == GateBeforeCall {
				in.Allow, in.Cause = false, ByHook
			}
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
	l.begin(ctx, new(pending), Input{Kind: UserReply, Ref: ref}, func(ctx context.Context) Input {
		if l.opts.Ask == nil {
			return Input{Kind: UserReply, Ref: ref, Cause: ByNobody}
		}
		text, goOn := l.opts.Ask(ctx, question)
		return Input{Kind: UserReply, Ref: ref, Allow: goOn, Text: text}
	})
}

func (l *Live) callTool(ctx context.Context, at time.Duration, e *Effect) {
	ref, name, args := e.Ref, e.Name, e.Args
	if strings.TrimSpace(args) == "" {
		args = "{}"
	}
	p := new(pending)
	p.ctx.try = true
	if e.Budget > 0 {
		p.ctx.deadline = l.start.Add(at + e.Budget)
	}
	l.begin(ctx, p, Input{Kind: ToolResult, Ref: ref, Code: ToolBug}, func(ctx context.Context) Input {
		t := l.tools[name]
		if t == nil {
			return Input{Kind: ToolResult, Ref: ref, Code: NotFound, Text: "the world has no tool " + name}
		}
		in := Input{Kind: ToolResult, Ref: ref}
		var err error
		if in.Text, err = t.Call(ctx, args); err != nil {
			in.Code, in.Text = toolFailure(ctx, err)
		}
		p.ctx.used.into(&in)
		return in
	})
}

// toolFailure returns the code and the text of a call that ended with an error.
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
	return networkFailure(err), err.Error()
}

// networkFailure returns the code of an error that has no code of its own: it tells
// what was never sent from what may have arrived.
func networkFailure(err error) Code {
	var op *net.OpError
	var dns *net.DNSError
	var network net.Error
	switch {
	case errors.As(err, &op) && op.Op == "dial", errors.As(err, &dns):
		return NotSent
	case errors.As(err, &network) && network.Timeout():
		return Timeout
	case op != nil, errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed):
		return ConnectionLost
	case network != nil && errors.Is(err, io.EOF): // a *url.Error: the server hung up instead of answering
		return ConnectionLost
	}
	return ToolBug
}

// close closes what is answered or given up: nothing that comes for it counts
// any more.
func (l *Live) close(p *pending) {
	p.open.Store(false)
	delete(l.open, p.Ref)
}

// giveUp cancels what nobody waits for any more, and drops what it said so far.
func (l *Live) giveUp(ref Ref, cause error) {
	if ref == l.arrivals.stream.ref {
		l.arrivals.stream = stream{}
	}
	if p := l.open[ref]; p != nil {
		l.close(p)
		p.ctx.cancel(cause)
	}
}

// halt gives up a gate or question that the run did not wait for. Tools that
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
			l.giveUp(ref, cause)
		}
	}
}

// Say passes on a text that the user says while a run is under way, as a
// [Steer] input. The model reads it with the run's next request, if there is one.
// Any goroutine may call it. It reports whether the loop takes
// the text: not before the session begins, between two runs or after the end,
// nor while more than a MiB of text waits. Texts that wait together become one
// input, with line breaks between them.
func (l *Live) Say(text string) bool {
	l.mu.Lock()
	said := l.arrived != nil && l.over == nil && l.arrivals.steer(text, l.now())
	l.mu.Unlock()
	if said {
		l.notify()
	}
	return said
}

// now returns the instant on the session's clock.
func (l *Live) now() time.Duration { return time.Since(l.start) }

// notify ends a sleep.
func (l *Live) notify() {
	select {
	case l.arrived <- struct{}{}:
	default:
	}
}

// Next yields the next input. Its instant is that of the arrival; a tick's is
// wake, however late it comes.
func (l *Live) Next(ctx context.Context, wake time.Duration, armed bool) (Input, error) {
	if !armed {
		wake = never
	}
	if l.over != nil && !l.followUp(ctx) {
		l.Close()
		return Input{}, io.EOF
	}
	for {
		in, ok, err := l.poll(ctx, wake)
		if ok || err != nil {
			return in, err
		}
		l.sleep(ctx, wake)
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
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over = nil
	l.arrivals.push(&arrival{Input: Input{Kind: UserMessage, At: l.now(), Text: text}})
	return true
}

// poll returns the next input, if there is one; ok is false while there is not.
//
// The end of ctx comes next, whatever deltas wait: they are dropped. Answers
// that came before it was noticed keep their place.
func (l *Live) poll(ctx context.Context, wake time.Duration) (in Input, ok bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if ctx.Err() != nil && !l.cancelled {
		l.cancelled = true
		l.arrivals.stream = stream{}
		l.arrivals.push(&arrival{Input: Input{Kind: Cancel, At: l.now()}})
	}
	if in, ok := l.arrivals.take(wake); ok {
		return in, true, nil
	}
	if wake <= l.now() {
		return Input{At: wake, Kind: Tick}, true, nil
	}
	if wake == never && len(l.open) == 0 {
		return Input{}, false, io.EOF
	}
	return Input{}, false, nil
}

// sleep waits until something has come, ctx is done or it is time for a tick at
// wake.
func (l *Live) sleep(ctx context.Context, wake time.Duration) {
	done := ctx.Done()
	if l.cancelled {
		done = nil
	}
	var due <-chan time.Time
	if wake < never {
		wait := wake - l.now()
		if l.timer == nil {
			l.timer = time.NewTimer(wait)
		}
		l.timer.Reset(wait)
		due = l.timer.C
	}
	select {
	case <-l.arrived:
	case <-due:
	case <-done:
	}
}

// Close ends the session. It cancels whatever still works on an answer, with
// [ErrCancelled] as the cause, and drops what comes from now on. It is for a session
// that [Run] left with an error, such as that of a store: nobody tells its models and
// tools any more that their time has run out. A session that ended needs no Close.
func (l *Live) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for ref := range l.open {
		l.giveUp(ref, ErrCancelled)
	}
	l.arrivals = arrivals{}
}
