package fakes

import (
	"github.com/agentbench-go/agentbench/loop"
)

// call queues the answer to a try, which may be a failure. A try that hangs queues
// nothing.
func (w *World) call(e *loop.Effect) {
	if c := w.user.Cancel; c != nil && c.Call == e.Ref.N && e.Ref.Try <= 1 {
		w.push(loop.Input{At: w.now, Kind: loop.Cancel})
	}
	c, err := w.opened(w.open, e.Ref, e.Name, e.Args)
	if err != nil {
		err.Problem = w.where() + err.Problem
		w.fail(err)
		return
	}
	if c.tool.Session != nil {
		w.spawn(e, c)
		return
	}
	if out := w.answerTry(&c, e.Ref, w.turn); !out.hang {
		out.in.At = w.now + out.after
		w.push(out.in)
	}
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
		in.TokensIn, in.TokensOut, in.Cost, in.Asked, in.Used, in.Spawned = c.used.TokensIn, c.used.TokensOut, c.used.Cost, c.used.Asked, c.used.Used, c.used.Spawned
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
