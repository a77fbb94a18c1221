package fakes

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/agentbench-go/agentbench/loop"
)

// A Session is a sub-run as a script. A [Tool] that has one does not answer by itself:
// each try starts the session, a machine of its own in the same virtual time, and the
// result is what the session comes to.
//
//   - An answer (DONE) is the text of the result. Any other end is a failure: Timeout
//     after its own time.run, Cancelled after a cancel by its caller, InvalidInput if
//     nobody answered its question, else ToolBug. The text then says why it ended.
//   - The result has the tokens, cost, calls and sub-runs of the session and of those
//     below it, which count against the caller's limits.
//   - Its limits on tokens and cost are at most what its caller's leave when it starts
//     (see [loop.Config.Within]). A cancelled try, after time.tool or at the run
//     deadline, cancels the session.
//   - Gates and questions go to the user of the whole script. Faults strike the first
//     session only.
type Session struct {
	// Task is the first message; "" means the arguments of the call.
	Task    string
	System  string       // the system prompt, "" = none
	Planner loop.Planner // becomes that of the [loop.Task]
	Tools   []Tool
	// Shared names tools of the sessions around this one that it may call too, also
	// the tool that it belongs to. Sessions that share tools can call each other in
	// a ring. A shared tool has no fallback unless the session has that tool too.
	Shared []string
	Model  []Step
	// Config is the loop's; nil means that of the caller.
	Config *loop.Config
}

// A scope holds the tools that a session may call, and the scope in which each of them
// was written, where the names that its own session shares are looked up.
type scope struct {
	around *scope
	tools  []Tool
	from   []*scope
}

func newScope(tools []Tool, around *scope) *scope {
	s := &scope{around: around, tools: slices.Clone(tools)}
	for range tools {
		s.from = append(s.from, s)
	}
	return s
}

// find returns the index of a tool, or -1.
func (s *scope) find(name string) int {
	return slices.IndexFunc(s.tools, func(t Tool) bool { return t.Name == name })
}

// share adds the tool of that name from the sessions around.
func (s *scope) share(name string) {
	for out := s.around; out != nil; out = out.around {
		if i := out.find(name); i >= 0 {
			s.tools, s.from = append(s.tools, out.tools[i]), append(s.from, out.from[i])
			return
		}
	}
}

// A setting is what one session of a script is played from: the script's own, or a sub-run.
type setting struct {
	script *Script
	scope  *scope
	cfg    loop.Config
	seed   uint64
	depth  int
}

func (s *Script) setting(cfg loop.Config, seed uint64, depth int) *setting {
	return &setting{script: s, scope: newScope(s.Tools, nil), cfg: cfg, seed: seed, depth: depth}
}

// sub returns the setting of the sub-run that a try of a tool starts, or nil.
func (p *setting) sub(try loop.Ref, tool, args string) *setting {
	i := p.scope.find(tool)
	if i < 0 || p.scope.tools[i].Session == nil {
		return nil
	}
	x := p.scope.tools[i].Session
	s := newScope(x.Tools, p.scope.from[i])
	for _, name := range x.Shared {
		s.share(name)
	}
	for i := range s.tools {
		if t := &s.tools[i]; t.Fallback != "" && s.find(t.Fallback) < 0 {
			t.Fallback = ""
		}
	}
	out := &setting{scope: s, cfg: p.cfg, seed: p.seed, depth: p.depth + 1}
	if x.Config != nil {
		out.cfg = *x.Config
	}
	out.script = &Script{Name: fmt.Sprintf("%s/%v", p.script.Name, try), Task: x.Task, System: x.System, Planner: x.Planner, Tools: s.tools, Window: p.script.Window, Model: x.Model}
	if x.Task == "" {
		out.script.Task = args
	}
	return out
}

// setup returns what the machine of the setting is made of.
func (p *setting) setup() loop.Setup {
	task := p.script.LoopTask(p.seed)
	task.Depth = p.depth
	return loop.Setup{Config: p.cfg, Task: task, Tools: p.script.Specs(),
		Sub: func(try loop.Ref, tool, args string) (loop.Setup, bool) {
			sub := p.sub(try, tool, args)
			if sub == nil {
				return loop.Setup{}, false
			}
			return sub.setup(), true
		}}
}

// Setup returns what the machine of the script is made of, and those of its sub-runs.
func (s *Script) Setup(cfg loop.Config, seed uint64) loop.Setup {
	return s.setting(cfg, seed, 0).setup()
}

// A nest is the part of a [World] that concerns its sub-runs.
type nest struct {
	path    loop.Path
	setting *setting
	parent  *World // of a sub-run
	top     *World // the world of the whole script
	begun   bool   // of a sub-run: its machine has begun

	// Of a sub-run.
	machine *loop.Machine
	try     loop.Ref // the try that started it
	caller  openCall // and its call

	// Of the top world.
	subs             []*World // that run, in the order in which they began
	watchers         []func(loop.Path, loop.Input, []loop.Effect)
	requests, called int // model requests and calls of sub-runs
}

// SubSteps makes the world call each with every step of a sub-run, in order.
// [loop.Recording] uses it.
func (w *World) SubSteps(each func(loop.Path, loop.Input, []loop.Effect)) {
	w.watchers = append(w.watchers, each)
}

// RememberSub is like [World.Remember] for a step of a sub-run. It returns the step as
// the sub-run makes it now: if that differs, the script or a config was changed.
func (w *World) RememberSub(saved loop.Record) loop.Record {
	var got loop.Trace
	sub := w.sub(saved.Path)
	if sub == nil {
		return loop.Record{Path: saved.Path}
	}
	sub.forget(&saved.In)
	effects := sub.machine.Step(saved.In)
	got.AppendSub(saved.Path, saved.In, effects)
	sub.Do(context.Background(), saved.In, effects)
	return got[0]
}

// sub returns the running sub-run with that path, or nil.
func (w *World) sub(path loop.Path) *World {
	for _, s := range w.top.subs {
		if s.path == path {
			return s
		}
	}
	return nil
}

// spawn starts the sub-run of a try.
func (w *World) spawn(e *loop.Effect, c openCall) {
	path := w.path.Sub(e.Ref)
	if path.Depth() > w.ceiling().Depth {
		if !w.top.boundNow(w.now) { // it ends already, or nothing waits for this sub-run
			w.push(loop.Input{At: w.now, Kind: loop.ToolResult, Ref: e.Ref, Code: loop.Cancelled, Text: "cancelled"})
		}
		return
	}
	if w.setting == nil {
		cfg := loop.Default()
		if w.Config != nil {
			cfg = *w.Config
		}
		w.setting = w.script.setting(cfg, w.seed, w.Depth)
	}
	x := w.setting.sub(e.Ref, e.Name, e.Args)
	x.cfg = x.cfg.Within(w.setting.cfg, *e)
	setup := x.setup()
	m, err := loop.New(setup.Config, setup.Task, setup.Tools)
	p, wrong := compileOne(x.script)
	if err = errors.Join(err, wrong); err != nil {
		w.fail(fmt.Errorf("the session of tool %s: %w", clip(e.Name), err))
		return
	}
	sub := &World{answering: p.answering(w.seed), script: x.script, specs: setup.Tools,
		open: map[int]openCall{}, heard: heard{whys: map[int]loop.Why{}},
		nest: nest{path: path, setting: x, parent: w, top: w.top, machine: m, try: e.Ref, caller: c}}
	w.top.subs = append(w.top.subs, sub)
	sub.push(loop.Input{At: w.now, Kind: loop.Started, Text: setup.Task.Text})
}

// step feeds an input to the machine of a sub-run.
func (w *World) step(ctx context.Context, in loop.Input) {
	effects := w.machine.Step(in)
	for _, each := range w.top.watchers {
		each(w.path, in, effects)
	}
	w.Do(ctx, in, effects)
}

// remove takes a sub-run out of those that run.
func (w *World) remove() {
	w.over = true
	w.top.subs = slices.DeleteFunc(w.top.subs, func(s *World) bool { return s == w })
	w.top.queue.remove(func(e *entry) bool { return e.to == w })
}

// ended reports the end of a sub-run to its caller.
func (w *World) ended(out *loop.Outcome) {
	w.remove()
	p := w.parent
	if p.over {
		return // nobody reads the result
	}
	in := loop.Input{Kind: loop.ToolResult, Ref: w.try, TokensIn: out.TokensIn, TokensOut: out.TokensOut, Cost: out.Cost,
		Asked: out.Asked + out.SubAsked, Used: out.Calls + out.SubCalls, Spawned: out.Spawns}
	in.Code, in.Text = reported(out)
	if c, open := p.open[w.try.N]; open {
		result := in
		c.used = &result
		p.open[w.try.N] = c
	}
	answer := tryAnswer{in: in}
	if len(p.faults) > 0 {
		answer = p.spoiledAnswer(answer, w.try, &w.caller)
	}
	if !answer.hang {
		answer.in.At = w.now + answer.after
		p.push(answer.in)
	}
}

// reported returns what the caller of a sub-run reads.
func reported(out *loop.Outcome) (loop.Code, string) {
	text := "The sub-run did not finish: " + out.Reason
	switch {
	case out.End == loop.Done:
		return loop.None, out.Answer
	case out.Stop == loop.StopCancelled:
		return loop.Cancelled, "cancelled"
	case out.Stop == loop.StopRunDeadline:
		return loop.Timeout, text
	case out.Stop == loop.StopNeedsUser:
		return loop.InvalidInput, text
	}
	return loop.ToolBug, text
}

// cancelSub cancels the sub-run of a try, and reports whether there is one.
func (w *World) cancelSub(try loop.Ref) bool {
	sub := w.sub(w.path.Sub(try))
	switch {
	case sub == nil:
		return false
	case sub.begun:
		sub.push(loop.Input{At: w.now, Kind: loop.Cancel})
	default:
		sub.remove()
		w.push(loop.Input{At: w.now, Kind: loop.ToolResult, Ref: try, Code: loop.Cancelled, Text: "cancelled"})
	}
	return true
}
