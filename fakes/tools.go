package fakes

import (
	"fmt"
	"slices"

	"github.com/agentbench-go/agentbench/loop"
)

// An openCall is a call that has started. All of its tries get the same answer,
// until a fallback tool takes over.
type openCall struct {
	tool   *tool
	answer *answer
	before int         // tries before this tool's first one
	nth    int         // its number among the tool's calls; 0 if no fault counts them
	used   *loop.Input // the result of its last sub-run, or nil
}

// call queues the answer to a try, which may be a failure. A try that hangs queues
// nothing.
func (w *World) call(e *loop.Effect) {
	if c := w.user.Cancel; c != nil && c.Call == e.Ref.N && e.Ref.Try <= 1 {
		w.push(loop.Input{At: w.now, Kind: loop.Cancel})
	}
	c, started := w.open[e.Ref.N]
	if fallback := started && c.tool.Name != e.Name; fallback || !started {
		if c = w.start(e); c.tool == nil {
			return
		}
		if fallback {
			c.before = e.Ref.Try - 1
		}
		w.open[e.Ref.N] = c
	}
	if c.tool.Session != nil {
		w.spawn(e, c)
		return
	}
	a, latency := c.answer, c.answer.Latency.or(c.tool.Latency).or(exactly(DefaultToolLatency))
	k := w.key.ref(e.Ref).of(e.Ref.Try)
	v := vars{turn: w.turn, call: e.Ref.N, seed: w.seed, key: k.of(forText)}
	out := tryAnswer{hang: a.Hang, in: loop.Input{Kind: loop.ToolResult, Ref: e.Ref,
		TokensIn: a.TokensIn, TokensOut: a.TokensOut, Cost: a.Cost, Used: a.Used}}
	in := &out.in
	switch i := max(e.Ref.Try-c.before, 1) - 1; {
	case i < len(a.Failures):
		f := &a.Failures[i]
		a.struck = max(a.struck, i+1)
		in.Code, in.Text = f.Error, w.scratch.say(&a.failures[i], &v)
		if f.Error == loop.None {
			in.Code = loop.RetryableServer
		}
		out.hang, latency = f.Hang, f.Latency.or(latency)
	case out.hang:
	case a.Error != loop.None:
		in.Code, in.Text = a.Error, w.scratch.say(&a.text, &v)
	default:
		in.Text = w.success(a, v)
	}
	out.after = latency.draw(k.of(forLatency))
	if len(w.faults) > 0 {
		out = w.spoiledAnswer(out, e, &c)
	}
	if !out.hang {
		in.At = w.now + out.after
		w.push(*in)
	}
}

// start takes the answer for a call. If there is none, it ends the session and
// returns the zero openCall.
func (w *World) start(e *loop.Effect) openCall {
	at := slices.IndexFunc(w.tools, func(t tool) bool { return t.Name == e.Name })
	if at < 0 {
		w.fail(&DryError{e.Ref, w.where() + fmt.Sprintf("call %v asks for %s, but the script has no such tool", e.Ref, quoted(e.Name))})
		return openCall{}
	}
	t, args := &w.tools[at], arguments{text: e.Args}
	c := openCall{tool: t}
	for i := range t.answers {
		if a := &t.answers[i]; a.fits(&args) {
			a.left--
			c.answer = a
			break
		}
	}
	if c.answer != nil || t.Session != nil {
		if w.nth != nil {
			w.nth[t.Name]++
			c.nth = w.nth[t.Name]
		}
		return c
	}
	w.fail(&DryError{e.Ref, w.where() + fmt.Sprintf("no answer of tool %s fits call %v with %s (it has %d)", clip(e.Name), e.Ref, clip(e.Args), len(t.answers))})
	return openCall{}
}

// success returns the text of a successful answer, padded to its ResultChars.
func (w *World) success(a *answer, v vars) string {
	text := pad(w.scratch.say(&a.result, &v), a.ResultChars)
	if a.result.parts == nil {
		a.result.text = text // pad a long text only once
	}
	return text
}

// cancelTool drops the queued answer to a try and ends the try at once, unless the
// tool ignores cancels.
func (w *World) cancelTool(e *loop.Effect) {
	c, started := w.open[e.Ref.N]
	if started && c.tool.IgnoresCancel || w.cancelSub(e.Ref) {
		return
	}
	in := loop.Input{At: w.now, Kind: loop.ToolResult, Ref: e.Ref, Code: loop.Cancelled, Text: "cancelled"}
	if c.used != nil && c.used.Ref == e.Ref {
		in.TokensIn, in.TokensOut, in.Cost, in.Used, in.Spawned = c.used.TokensIn, c.used.TokensOut, c.used.Cost, c.used.Used, c.used.Spawned
	}
	w.top.queue.drop(w, e.Ref)
	w.push(in)
}

// openGate answers a gate: people, the user of the script, or for hooks, at once, those
// of the script.
func (w *World) openGate(e *loop.Effect) {
	if w.askPeople(e) {
		return
	}
	in := loop.Input{Kind: loop.GateAnswer, Ref: e.Ref, Allow: true}
	if e.At != loop.GatePermission {
		in.At = w.now
		w.hook(e, &in)
		w.push(in)
		return
	}
	after := exactly(DefaultToolLatency)
	if g := w.permission(e); g != nil {
		if g.Hang {
			return
		}
		in.Allow, in.Text, after = !g.Deny, g.Text, g.After.or(after)
	}
	in.At = w.now + after.draw(w.key.ref(e.Ref).of(forLatency))
	w.push(in)
}

// hook makes in the answer of the first hook that fits.
func (w *World) hook(e *loop.Effect, in *loop.Input) {
	switch e.At {
	case loop.GateBeforeCall:
		args := arguments{text: e.Args}
		for i := range w.before {
			if h := &w.before[i]; (h.Tool == "" || h.Tool == e.Name) && h.fits(&args) {
				h.left--
				in.Allow, in.Text, in.Args = h.Args != "", h.Veto+h.End, h.Args
				if h.End != "" {
					in.Cause = loop.ByHook
				}
				return
			}
		}
	case loop.GateAfterCall:
		for i := range w.after {
			if h := &w.after[i]; (h.Tool == "" || h.Tool == e.Name) && h.left > 0 {
				h.left--
				in.Result = h.Result
				return
			}
		}
	}
}

func (w *World) permission(e *loop.Effect) *gate {
	args := arguments{text: e.Args}
	for i := range w.top.gates {
		g := &w.top.gates[i]
		if (g.Tool == "" || g.Tool == e.Name) && g.fits(&args) {
			g.left--
			return g
		}
	}
	return nil
}

// askUser answers a question of the loop to the user.
func (w *World) askUser(e *loop.Effect) {
	if w.askPeople(e) {
		return
	}
	in := loop.Input{Kind: loop.UserReply, Ref: e.Ref, Cause: loop.ByNobody}
	after := exactly(DefaultToolLatency)
	user := w.top
	for len(user.replies) > 0 && user.replies[0].left <= 0 {
		user.replies = user.replies[1:]
	}
	if len(user.replies) > 0 {
		r := &user.replies[0]
		r.left--
		if r.Hang {
			return
		}
		in.Allow, in.Text, in.Cause, after = !r.Deny, r.Text, "", r.After.or(after)
	}
	in.At = w.now + after.draw(w.key.ref(e.Ref).of(forLatency))
	w.push(in)
}
