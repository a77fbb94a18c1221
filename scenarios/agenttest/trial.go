package agenttest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/fakes/serve"
	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/scenarios"
	"github.com/agentbench-go/agentbench/scenarios/observe"
)

// The causes with which a trial ends an agent's context.
var (
	ErrCancelled = errors.New("agenttest: the user has cancelled")
	ErrCap       = errors.New("agenttest: too many model requests: nothing has stopped the agent")
	ErrTime      = errors.New("agenttest: the time is up: nothing has stopped the agent")
	errOver      = errors.New("agenttest: the trial is over")
)

// patience is how long a trial waits for an agent whose context has ended.
const patience = time.Minute

// A trial is one scenario asked of one agent.
type trial struct {
	*options
	scenario *scenarios.Scenario
	seed     uint64
	server   *serve.Server
	desk     *fakes.Desk // nil = the script has no tools
	model    http.RoundTripper
	recorder observe.Recorder
	over     context.Context // ends with the trial
	close    context.CancelFunc
	limit    int // of requests

	stop context.CancelCauseFunc // ends what the agent does

	mu   sync.Mutex
	sent int                     // requests of all kinds
	run  context.CancelCauseFunc // ends the run under way
}

// newTrial makes the world of a trial. In a bubble, time begins here.
func newTrial(s *scenarios.Scenario, o *options, seed uint64) (*trial, error) {
	tr := &trial{options: o, scenario: s, seed: seed}
	began := time.Now()
	tr.recorder.Clock = func() time.Duration { return time.Since(began).Truncate(time.Millisecond) }
	speed := o.speed
	if speed == 0 {
		speed = 1
	}
	var err error
	tr.server, err = serve.New([]serve.Scenario{{Name: s.ID(), Script: &s.Script}},
		serve.Options{Seed: seed, Speed: speed, Observe: tr.recorder.Seen, Executed: tr.executed})
	if err != nil {
		return nil, err
	}
	tr.desk, tr.model = tr.server.Desk(s.ID(), seed), serve.Transport(tr.server)
	needed, _ := observe.Needed(&s.Script)
	tr.limit = needed + o.cap
	tr.over, tr.close = context.WithCancel(context.Background())
	return tr, nil
}

// base is the address of the model. Nothing listens there.
const base = "http://model.localhost"

func (tr *trial) world() *World {
	s := &tr.scenario.Script
	w := &World{Task: s.Task, System: s.System, URL: base + "/v1", Base: base, Client: &http.Client{Transport: tr}, trial: tr}
	if tr.desk == nil {
		return w
	}
	for _, spec := range tr.desk.Tools() {
		w.Tools = append(w.Tools, tr.tool(spec))
	}
	return w
}

// An ending is how an agent returned.
type ending struct {
	answer   string
	err      error
	panicked string
	stack    string
}

// play runs the agent to its end and judges what it did. The caller closes the trial.
func (tr *trial) play(parent context.Context, agent Agent) *Report {
	began := time.Now()
	ctx, stop := context.WithCancelCause(parent)
	defer stop(errOver)
	tr.stop = stop
	var then *observe.Observation // when the time was up: before the agent could let go
	running, run := context.WithCancelCause(ctx)
	tr.begin(run)
	if c := tr.scenario.Script.User.Cancel; c != nil && c.At > 0 {
		defer time.AfterFunc(tr.real(c.At), tr.cancel).Stop()
	}
	timer := time.AfterFunc(tr.within, func() {
		then = tr.recorder.Observation()
		stop(ErrTime)
	})
	defer timer.Stop()
	returned := make(chan ending, 1)
	go func() { returned <- call(running, agent, tr.world()) }()
	var e ending
	select {
	case e = <-returned:
	case <-ctx.Done():
		select {
		case e = <-returned:
		case <-time.After(tr.patience()):
			e = ending{err: fmt.Errorf("it had not returned %s after its context ended", text.Duration(tr.patience()))}
		}
	}
	end := tr.end(context.Cause(ctx), &e)
	end.At = time.Since(began).Truncate(time.Millisecond)
	tr.settle()
	o := tr.recorder.Observation()
	if end.How == observe.AtCeiling || end.How == observe.AtTimeout {
		o = then
	}
	inOrder(o.Executions)
	o.Scenario, o.Variant, o.Seed, o.End = tr.scenario, tr.name, tr.seed, end
	result, trace := o.Judge()
	trace = result.Redact(trace, tr.scenario.Redactor().Text)
	result.Trace = cutTrace(trace.String())
	return &Report{Result: *result, Answer: e.answer, Err: e.err, Observation: o, Observed: trace, scenario: tr.scenario, stack: e.stack}
}

// inOrder brings executions of one instant into the order of their calls. Goroutines
// that begin, or end, at one instant of a bubble do so in any order.
func inOrder(all []observe.Execution) {
	byCall := func(a, b observe.Execution) int { return cmp.Or(cmp.Compare(a.N, b.N), cmp.Compare(a.Try, b.Try)) }
	for _, moment := range []func(*observe.Execution) *observe.Moment{
		func(x *observe.Execution) *observe.Moment { return &x.Ended },
		func(x *observe.Execution) *observe.Moment { return &x.Began },
	} {
		slices.SortStableFunc(all, func(a, b observe.Execution) int {
			return cmp.Or(cmp.Compare(moment(&a).At, moment(&b).At), byCall(a, b))
		})
		for i := 0; i < len(all); {
			end := i
			var seqs []int
			for ; end < len(all) && moment(&all[end]).At == moment(&all[i]).At; end++ {
				seqs = append(seqs, moment(&all[end]).Seq)
			}
			slices.Sort(seqs)
			for j, seq := range seqs {
				if m := moment(&all[i+j]); m.Seq > 0 {
					m.Seq = seq
				}
			}
			i = end
		}
	}
}

func (tr *trial) patience() time.Duration {
	if tr.speed > 0 {
		return time.Duration(float64(patience)/tr.speed) + time.Second
	}
	return patience
}

// real returns the time that a wait of the script takes.
func (tr *trial) real(d time.Duration) time.Duration {
	if tr.speed == 0 {
		return d
	}
	return time.Duration(float64(d) / tr.speed)
}

// begin begins a run, which a cancel of the user ends.
func (tr *trial) begin(run context.CancelCauseFunc) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.run = run
}

// cancel is the user's cancel.
func (tr *trial) cancel() {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.recorder.Cancel()
	tr.run(ErrCancelled)
}

// executed notes an execution, right after whose begin the user may cancel.
func (tr *trial) executed(x *serve.Executed) {
	tr.recorder.Executed(x)
	c := tr.scenario.Script.User.Cancel
	if c != nil && c.Call > 0 && c.Call == x.Execution.Call.N && x.Execution.Call.Try == 1 && !x.Execution.Ended {
		tr.cancel()
	}
}

// Converse holds the conversation of the scenario: it asks with the task, and then with
// each further message of the user, at its time. The context of a run ends when the user
// cancels that run. Converse returns what the last run returned. It ends early if a run
// fails and the user waits for its success. See [Sessions].
func (w *World) Converse(ctx context.Context, ask func(ctx context.Context, text string) (answer string, err error)) (answer string, err error) {
	tr, message := w.trial, w.Task
	for i := 0; ; i++ {
		run, stop := context.WithCancelCause(ctx)
		tr.begin(stop)
		tr.recorder.Begin(message)
		answer, err = ask(run, message)
		failed := err != nil || run.Err() != nil
		stop(nil)
		tr.recorder.End(failed)
		messages := tr.scenario.Script.User.Messages
		if ctx.Err() != nil || i == len(messages) || failed && !messages[i].AfterAny {
			return answer, err
		}
		select {
		case <-time.After(tr.real(messages[i].Wait)):
		case <-ctx.Done():
			return answer, err
		}
		message = messages[i].Text
	}
}

// call calls the agent, and catches its panic.
func call(ctx context.Context, agent Agent, w *World) (e ending) {
	e.err = errors.New("it ended its goroutine, as t.FailNow does")
	defer func() {
		if p := recover(); p != nil {
			e.err, e.panicked, e.stack = fmt.Errorf("panic: %v", p), fmt.Sprint(p), string(debug.Stack())
		}
	}()
	e.answer, e.err = agent(ctx, w)
	return e
}

// end returns how the agent's part of the trial ended.
func (tr *trial) end(cause error, e *ending) observe.End {
	end := observe.End{Returned: true, Panic: e.panicked}
	switch {
	case e.panicked != "":
	case errors.Is(cause, ErrCap):
		end.How, end.Cap = observe.AtCap, tr.limit
	case errors.Is(cause, ErrTime) && tr.speed > 0:
		end.How, end.Limit = observe.AtTimeout, tr.within
	case errors.Is(cause, ErrTime):
		end.How, end.Limit = observe.AtCeiling, tr.within
	case cause != nil:
		end.How = observe.Interrupted
	}
	if e.err != nil {
		end.Code, end.Says = 1, strings.Split(e.err.Error(), "\n")
	}
	return end
}

// maxTrace bounds the text of a trace in a result, in bytes.
const maxTrace = 1 << 20

func cutTrace(s string) string {
	if len(s) <= maxTrace {
		return s
	}
	return s[:strings.LastIndexByte(s[:maxTrace], '\n')+1]
}

// maxAsides is how many requests of any kind an agent may send for each that it may
// send for its loop.
const maxAsides = 10

// RoundTrip lets the server answer a request, until the trial is over or the agent has
// sent too many.
func (tr *trial) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Context().Err() != nil {
		return nil, context.Cause(r.Context())
	}
	tr.mu.Lock()
	tr.sent++
	sent := tr.sent
	tr.mu.Unlock()
	if tr.recorder.State().Requests >= tr.limit || sent > maxAsides*tr.limit {
		tr.stop(ErrCap)
		if sent > 2*maxAsides*tr.limit { // it goes on for ever: let it wait for its own end
			select {
			case <-r.Context().Done():
			case <-tr.over.Done():
			}
		}
		return nil, ErrCap
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	context.AfterFunc(tr.over, func() { cancel(errOver) })
	return tr.model.RoundTrip(r.WithContext(ctx))
}

// tool returns a tool of the script.
func (tr *trial) tool(spec loop.ToolSpec) Tool {
	deaf := false
	for i := range tr.scenario.Script.Tools {
		if t := &tr.scenario.Script.Tools[i]; t.Name == spec.Name {
			deaf = t.IgnoresCancel
		}
	}
	schema := json.RawMessage(spec.Input)
	if !json.Valid(schema) {
		schema = json.RawMessage(`{"type":"object"}`)
	}
	return Tool{Name: spec.Name, Description: spec.Description, Schema: schema, Call: func(ctx context.Context, args string) (string, error) {
		if args = strings.TrimSpace(args); args == "" {
			args = "{}"
		}
		if args[0] != '{' || !json.Valid([]byte(args)) {
			return "", &loop.ToolError{Code: loop.InvalidInput, Text: "the arguments are not a JSON object"}
		}
		return tr.execute(ctx, spec.Name, args, deaf)
	}}
}

// execute executes a call at its time.
func (tr *trial) execute(ctx context.Context, name, args string, deaf bool) (string, error) {
	x := tr.desk.Execute(name, args)
	if x.Err != nil {
		x.End(false)
		return "", x.Err
	}
	left := ctx.Done()
	if deaf {
		left = nil
	}
	var answered <-chan time.Time // never, for a tool that hangs
	if !x.Said.Hang {
		timer := time.NewTimer(tr.real(x.Said.After))
		defer timer.Stop()
		answered = timer.C
	}
	select {
	case <-answered:
	case <-left:
		x.End(false)
		return "", context.Cause(ctx)
	case <-tr.over.Done():
		x.End(false)
		return "", errOver
	}
	x.End(ctx.Err() == nil)
	if x.Said.Code.Failed() {
		return "", &loop.ToolError{Code: x.Said.Code, Text: x.Said.Text}
	}
	return x.Said.Text, nil
}
