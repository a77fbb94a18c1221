package fakes

import (
	"context"
	"slices"
	"time"

	"github.com/agentbench-go/agentbench/loop"
)

// A Speaker answers the model requests of a [World] in place of its script: a live
// endpoint, for example, or a cassette of one. at is the instant of the request on
// the world's clock. A Speaker may take any time, since the world waits for its
// answer. On the world's clock the answer takes the time in After, and its pieces
// the times in Deltas.
//
// An error ends the session. To let the loop see a failure, a Speaker returns a
// Said with a Failure.
type Speaker func(ctx context.Context, at time.Duration, req loop.ModelRequest) (Said, error)

// A Delta is a piece of a reply that a [Speaker] has streamed.
type Delta struct {
	At   time.Duration // counted from the request
	Text string        // "" = a piece without text
}

// A question is a request to a [Speaker] or to people. ref is that of the effect
// it answers in a world, zero for the next user message.
type question struct {
	to  *World
	ref loop.Ref
	ask func(ctx context.Context)
}

// later postpones a question until Next, because it blocks and Do must not.
func (w *World) later(ref loop.Ref, ask func(ctx context.Context)) {
	w.top.waiting = append(w.top.waiting, question{w, ref, ask})
}

// settle asks the postponed questions.
func (w *World) settle(ctx context.Context) {
	for len(w.waiting) > 0 && w.broken == nil && ctx.Err() == nil {
		q := w.waiting[0]
		w.waiting = w.waiting[1:]
		q.ask(ctx)
	}
}

// askSpeaker lets the speaker answer a request.
func (w *World) askSpeaker(e *loop.Effect) {
	ref := e.Ref
	req := loop.ModelRequest{Ref: ref, For: e.For, System: e.System, History: slices.Clone(e.History), Choice: e.Choice}
	for i := range req.History {
		req.History[i].Calls = slices.Clone(req.History[i].Calls)
	}
	req.JSON = e.For == loop.ForReply && w.script.Planner == loop.PlannerJSON
	if (e.For == loop.ForReply || e.For == loop.ForGrace) && w.script.Planner == loop.PlannerNative {
		req.Tools = w.specs
	}
	w.later(ref, func(ctx context.Context) {
		said := Said{After: DefaultModelLatency}
		if !w.forestalled(ref) {
			var err error
			if said, err = w.Speaker(ctx, w.now, req); err != nil {
				w.fail(err)
				return
			}
			said.Pieces, said.Of = len(said.Deltas), len(said.Deltas)
		}
		said = w.spoiled(said, ref)
		for _, d := range said.Deltas[:min(said.Pieces, len(said.Deltas))] {
			if said.Failure == nil && said.Text == "" {
				d.Text = "" // a fault has emptied the reply
			}
			w.delta(ref, d.At, d.Text)
		}
		w.answer(ref, &said)
	})
}

// forestalled reports whether a fault replaces any answer to a try, so that the
// speaker need not be asked.
func (w *World) forestalled(ref loop.Ref) bool {
	for i := range w.faults {
		f := &w.faults[i]
		if f.instead && w.strikes(i, ref, max(ref.Try, 1), ref.N) {
			return true
		}
	}
	return false
}

// askPeople lets people answer a gate or a question, and reports whether People
// has a function for it.
func (w *World) askPeople(e *loop.Effect) bool {
	in := loop.Input{Kind: loop.GateAnswer, Ref: e.Ref, Allow: true}
	p, at := &w.top.People, loop.HookPoint{At: e.At, Call: e.Of.N, Tool: e.Name, Args: e.Args, Code: e.Code, Text: e.Text}
	var ask func(ctx context.Context)
	switch {
	case e.Kind == loop.AskUser && p.Ask != nil:
		in.Kind = loop.UserReply
		ask = func(ctx context.Context) { in.Text, in.Allow = p.Ask(ctx, at.Text) }
	case e.Kind == loop.OpenGate && at.At == loop.GatePermission && p.Approve != nil:
		ask = func(ctx context.Context) {
			if in.Allow, in.Text = p.Approve(ctx, at.Tool, at.Args); in.Allow {
				in.Text = "" // only a denial has a reason
			}
		}
	default:
		return false
	}
	w.later(e.Ref, func(ctx context.Context) {
		ask(ctx)
		in.At = w.now
		w.push(in)
	})
	return true
}

// followUp asks people for the next message once the script has none left, and
// reports whether there is anybody to ask.
func (w *World) followUp(last loop.Outcome) bool {
	if w.People.FollowUp == nil || w.bounded || last.Stop == loop.StopCancelled {
		return false
	}
	w.later(loop.Ref{}, func(ctx context.Context) {
		text, ok := w.People.FollowUp(ctx, last)
		w.over = !ok
		if ok {
			w.push(loop.Input{At: w.now, Kind: loop.UserMessage, Text: text})
		}
	})
	return true
}
