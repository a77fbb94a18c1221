package fuzz

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/loop/audit"
)

// A play is a played case with its trace and results.
type play struct {
	*Case
	trace    loop.Trace
	machine  *loop.Machine
	outcomes []loop.Outcome
	err      error  // why the session did not finish
	dirty    []dirt // requests whose history an API would refuse
	blank    bool   // a user wrote a message without a text, which Anthropic's API refuses
	read     *view
	lines    string // see text
	ends     []int
	ids      map[string]string // see identities
	sums     *used
}

// A dirt is a problem of the history of a request.
type dirt struct {
	ref     loop.Ref
	problem string
}

// played plays a case to its end.
func played(c *Case) *play {
	p := &play{Case: c}
	p.drive(newWorld(c))
	return p
}

// drive plays the case in a world.
func (p *play) drive(w *strayWorld) {
	p.machine, p.err = loop.New(p.Config, p.task(), p.Script.Specs())
	if p.err != nil {
		return
	}
	w.SubSteps(p.step)
	_, p.err = loop.Run(context.Background(), p.machine, &watcher{strayWorld: w, play: p})
	p.outcomes = w.Outcomes()
}

// view returns the view of the trace, which it makes once.
func (p *play) view() *view {
	if p.read == nil {
		p.read = readTrace(p.trace)
	}
	return p.read
}

// A strayWorld plays a case's script, sends its strays, and answers hooks as the case
// says: more freely than a script can.
type strayWorld struct {
	*fakes.World
	strays  []Stray
	answers []loop.HookAnswer
	hooks   map[loop.Ref]bool // gates that are hooks
	steps   int               // the number of the loop's steps so far
	now     time.Duration     // the instant of the last step
	halted  bool
}

func newWorld(c *Case) *strayWorld {
	w := fakes.NewWorld(c.Script, c.Seed)
	w.Ceiling, w.Config, w.Depth = ceiling, &c.Config, c.Depth
	return &strayWorld{World: w, strays: c.Strays, answers: c.Answers}
}

func (w *strayWorld) Do(ctx context.Context, in loop.Input, effects []loop.Effect) {
	if in.Kind != 0 { // else Remember has counted the step
		w.step(in, effects)
	}
	w.World.Do(ctx, in, effects)
}

// Remember takes over a step of a session that is resumed. The world itself does not
// take over strays, since it did not send them.
func (w *strayWorld) Remember(in loop.Input, effects []loop.Effect) {
	if w.stray() {
		w.strays = w.strays[1:]
		w.Do(context.Background(), in, effects)
		return
	}
	w.step(in, effects)
	w.World.Remember(in, effects)
}

func (w *strayWorld) step(in loop.Input, effects []loop.Effect) {
	w.steps++
	w.now, w.halted = in.At, false
	for i := range effects {
		e := &effects[i]
		w.halted = w.halted || e.Kind == loop.Halt
		if e.Kind == loop.OpenGate && e.At != loop.GatePermission {
			if w.hooks == nil { // few cases have any
				w.hooks = map[loop.Ref]bool{}
			}
			w.hooks[e.Ref] = true
		}
	}
}

// answer replaces the script's answer to a hook, which lets everything pass, by one
// of the case's. The choice depends only on the gate's number.
func (w *strayWorld) answer(in loop.Input) loop.Input {
	if in.Kind == loop.GateAnswer && w.hooks[in.Ref] && len(w.answers) > 0 {
		a := &w.answers[in.Ref.N%len(w.answers)]
		in.Allow, in.Text, in.Args, in.Result, in.System = !a.Deny, a.Reason, a.Args, a.Result, a.System
		in.Cause = ""
		if a.End {
			in.Cause = loop.ByHook
		}
	}
	return in
}

// stray reports whether the next stray is due, and drops those whose time has
// passed.
func (w *strayWorld) stray() bool {
	for len(w.strays) > 0 && w.strays[0].After < w.steps {
		w.strays = w.strays[1:]
	}
	return len(w.strays) > 0 && w.strays[0].After == w.steps && !w.halted
}

// mostSteps ends a session that repeats itself without a request.
const mostSteps = 50_000

var errEndless = fmt.Errorf("the session has not ended after %d steps", mostSteps)

// Next returns a stray if one is due, else the next input of the world. Between runs
// it sends no strays: a stray message would begin a run.
func (w *strayWorld) Next(ctx context.Context, wake time.Duration, armed bool) (loop.Input, error) {
	if w.steps > mostSteps {
		return loop.Input{}, errEndless
	}
	if w.stray() {
		in := w.strays[0].Input
		w.strays = w.strays[1:]
		in.At = w.now
		return in, nil
	}
	in, err := w.World.Next(ctx, wake, armed)
	return w.answer(in), err
}

// A watcher records the inputs and effects between the loop and the world.
type watcher struct {
	*strayWorld
	play *play
}

func (w *watcher) Do(ctx context.Context, in loop.Input, effects []loop.Effect) {
	w.play.step("", in, effects)
	w.strayWorld.Do(ctx, in, effects)
}

// step records a step of the session or of a sub-run.
func (p *play) step(path loop.Path, in loop.Input, effects []loop.Effect) {
	p.trace.AppendSub(path, in, effects)
	switch in.Kind {
	case loop.Started, loop.UserMessage, loop.Steer, loop.UserReply:
		unsaid := in.Kind == loop.UserReply && in.Text == "" // it is not a message
		p.blank = p.blank || path == "" && !unsaid && strings.TrimSpace(in.Text) == ""
	}
	for i := range effects {
		if e := &effects[i]; e.Kind == loop.AskModel {
			p.checkRequest(path, e)
		}
	}
}

// historyProblems returns why chat APIs would refuse a history of the session, or of the
// sub-run with the path. It adds the rules of Anthropic's API for a session that promises
// them: its config keeps the first message, and its user writes no blank one.
func (p *play) historyProblems(path loop.Path, h []loop.Message) []string {
	if path == "" && p.Config.History.KeepFirst && !p.blank {
		return audit.CheckAnthropicHistory(h)
	}
	return audit.CheckHistory(h)
}

// checkRequest checks the history of a model request.
func (p *play) checkRequest(path loop.Path, e *loop.Effect) {
	messages := e.History
	if e.For == loop.ForSummary {
		messages = messages[:len(messages)-1] // the instruction is not part of the history
	}
	if len(messages) != e.To {
		p.dirty = append(p.dirty, dirt{e.Ref, fmt.Sprintf("to=%d, and the model is asked with %d messages", e.To, len(messages))})
	}
	for _, problem := range p.historyProblems(path, messages) {
		p.dirty = append(p.dirty, dirt{e.Ref, problem})
	}
}
