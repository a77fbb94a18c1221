package fuzz

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/loop/audit"
)

// A play is what came of a case.
type play struct {
	*Case
	trace    loop.Trace
	machine  *loop.Machine
	outcomes []loop.Outcome
	err      error  // the session broke off
	dirty    []dirt // requests with a history that an API would refuse
	read     *view
	lines    string // see text
	ends     []int
	ids      map[string]string // see identities
	sums     *used
}

// A dirt is what is wrong with the history of a request.
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
	_, p.err = loop.Run(context.Background(), p.machine, &watcher{strayWorld: w, play: p})
	p.outcomes = w.Outcomes()
}

// view gives the trace, read.
func (p *play) view() *view {
	if p.read == nil {
		p.read = readTrace(p.trace)
	}
	return p.read
}

// A strayWorld plays a case's script, says its strays in between, and answers
// hooks, which no script does.
type strayWorld struct {
	*fakes.World
	strays  []Stray
	answers []loop.HookAnswer
	hooks   map[loop.Ref]bool // gates that are hooks
	steps   int               // of the loop, that have been made
	now     time.Duration     // of the last
	halted  bool
}

func newWorld(c *Case) *strayWorld {
	w := fakes.NewWorld(c.Script, c.Seed)
	w.Ceiling = ceiling
	return &strayWorld{World: w, strays: c.Strays, answers: c.Answers}
}

func (w *strayWorld) Do(ctx context.Context, in loop.Input, effects []loop.Effect) {
	if in.Kind != 0 { // else Remember knows
		w.step(in, effects)
	}
	w.World.Do(ctx, in, effects)
}

// Remember tells the world a step of a session that is resumed. A stray is not
// what the world itself had to say.
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

// answer puts the answer of a hook in the place of the script's, which lets
// everything pass. Which answer a gate gets depends on its number alone.
func (w *strayWorld) answer(in loop.Input) loop.Input {
	if in.Kind == loop.GateAnswer && w.hooks[in.Ref] && len(w.answers) > 0 {
		a := &w.answers[in.Ref.N%len(w.answers)]
		in.Allow, in.Text, in.Args, in.Result, in.System = !a.Deny, a.Reason, a.Args, a.Result, a.System
	}
	return in
}

// stray reports whether the next stray's time has come, and forgets those whose
// time has passed.
func (w *strayWorld) stray() bool {
	for len(w.strays) > 0 && w.strays[0].After < w.steps {
		w.strays = w.strays[1:]
	}
	return len(w.strays) > 0 && w.strays[0].After == w.steps && !w.halted
}

// mostSteps ends a session that goes round in circles without a request.
const mostSteps = 50_000

var errEndless = errors.New("it takes step after step and comes to no end")

// Next yields a stray where its time has come. Between runs there are none: a
// stray message would begin one.
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

// A watcher sees what passes between the loop and the world.
type watcher struct {
	*strayWorld
	play *play
}

func (w *watcher) Do(ctx context.Context, in loop.Input, effects []loop.Effect) {
	p := w.play
	p.trace.Append(in, effects)
	for i := range effects {
		if e := &effects[i]; e.Kind == loop.AskModel {
			p.checkRequest(e)
		}
	}
	w.strayWorld.Do(ctx, in, effects)
}

// checkRequest looks at the history that the model is asked with.
func (p *play) checkRequest(e *loop.Effect) {
	messages := e.History
	if e.For == loop.ForSummary {
		messages = messages[:len(messages)-1] // the instruction belongs to no history
	}
	if len(messages) != e.To {
		p.dirty = append(p.dirty, dirt{e.Ref, fmt.Sprintf("to=%d, and the model is asked with %d messages", e.To, len(messages))})
	}
	for _, problem := range audit.CheckHistory(messages) {
		p.dirty = append(p.dirty, dirt{e.Ref, problem})
	}
}
