package session

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/agentbench-go/agentbench/loop"
)

// Resume continues a session from its saved trace, and drives it to its end as
// [loop.Run] does. m must be fresh and have the same config, task and tools. If its
// effects differ from those of the trace, Resume returns a [*DriftError]. An empty
// trace begins the session. A session that has halted is over unless the world has
// another message of the user. Sub-runs whose steps are in the trace go on where they
// were; their world must be a [loop.Nesting].
//
// Resume accepts every trace that [Saving] has stored, as often as necessary. Open
// effects are carried out again: model requests, gates, questions and calls. But a
// call of a tool that is [loop.NotIdempotent] does not run again. It ends at once
// with [loop.Cancelled] and a text that says that it may have taken effect. The
// session's clock does not count the time between its processes.
func Resume(ctx context.Context, m *loop.Machine, w loop.World, t loop.Trace) (loop.Outcome, error) {
	if len(t) == 0 {
		return loop.Run(ctx, m, w)
	}
	r, err := refold(m, w, t)
	if err != nil {
		return m.Outcome(), err
	}
	return loop.Continue(ctx, m, &resumed{World: w, lost: r.lost}, loop.Input{At: r.at}, r.open)
}

// A Rememberer is a world whose answers depend on earlier steps, such as
// [github.com/agentbench-go/agentbench/fakes.World].
type Rememberer interface {
	// Remember shows the world a step of the saved trace. [Resume] calls it for
	// each step in order, before it calls Do with the effects that are still
	// open. effects does not have the calls that do not run again.
	Remember(in loop.Input, effects []loop.Effect)
}

// A DriftError says that a machine does not repeat the effects of a saved trace:
// its config, task, tools or version differ.
type DriftError struct {
	Step      int // the first step that differs, from 1
	Want, Got loop.Record
}

func (e *DriftError) Error() string {
	return fmt.Sprintf("the session cannot be resumed: step %d differs. Was the config, the task, a tool or the version of the program changed?\nsaved:\n%snow:\n%s",
		e.Step, e.Want, e.Got)
}

// textLost is the result of a call that must not run twice.
const textLost = "the session broke off while this call ran: it may have taken effect; it was not run again"

// refolded holds the open effects of a saved trace.
type refolded struct {
	at      time.Duration     // the instant of the last step
	waiting map[loop.Ref]bool // the effects that no step answers
	open    []loop.Effect     // for the world to carry out
	lost    []loop.Input      // the results of calls that do not run again
}

// refold feeds the inputs of t to m and compares the effects. It shows the steps to
// w if that is a [Rememberer].
func refold(m *loop.Machine, w loop.World, t loop.Trace) (*refolded, error) {
	r := &refolded{at: t[len(t)-1].In.At, waiting: unanswered(t.Own())}
	world, _ := w.(Rememberer)
	nesting, _ := w.(loop.Nesting)
	for i, want := range t {
		if want.Path != "" {
			if nesting == nil {
				return nil, fmt.Errorf("the session cannot be resumed: step %d is of the sub-run %s, and the world has no sub-runs", i+1, want.Path)
			}
			if r.lostSub(want.Path) {
				continue
			}
			if got := nesting.RememberSub(want); got.String() != want.String() {
				return nil, &DriftError{Step: i + 1, Want: want, Got: got}
			}
			continue
		}
		effects := m.Step(want.In)
		var got loop.Trace
		got.Append(want.In, effects)
		if got[0].String() != want.String() {
			return nil, &DriftError{Step: i + 1, Want: want, Got: got[0]}
		}
		var shown []loop.Effect
		for _, e := range effects {
			if !r.waiting[e.Ref] {
				shown = append(shown, e)
			} else if !r.loses(m, &e) {
				shown = append(shown, e)
				r.hand(e, want.In.At)
			}
		}
		if world != nil {
			world.Remember(want.In, shown)
		}
	}
	if m.Halted() {
		out := m.Outcome()
		r.open = append(r.open, loop.Effect{Kind: loop.Halt, Outcome: &out})
	}
	return r, nil
}

// loses reports whether an effect belongs to a call that does not run again, and
// keeps the result of that call.
func (r *refolded) loses(m *loop.Machine, e *loop.Effect) bool {
	if e.Kind == loop.CallTool {
		if spec, _ := m.Tool(e.Name); spec.Idempotent == loop.NotIdempotent {
			r.lost = append(r.lost, loop.Input{At: r.at, Kind: loop.ToolResult, Ref: e.Ref, Code: loop.Cancelled, Text: textLost})
			return true
		}
	}
	return e.Kind == loop.CancelTool && slices.ContainsFunc(r.lost, func(in loop.Input) bool { return in.Ref == e.Ref })
}

// lostSub reports whether a sub-run belongs to a call that does not run again.
func (r *refolded) lostSub(path loop.Path) bool {
	return slices.ContainsFunc(r.lost, func(in loop.Input) bool { return strings.HasPrefix(string(path), string(loop.Path("").Sub(in.Ref))) })
}

// hand keeps an effect if the world must carry it out. at is the instant of its step.
func (r *refolded) hand(e loop.Effect, at time.Duration) {
	switch e.Kind {
	case loop.AskModel:
		e.History = slices.Clone(e.History) // the machine's own is only valid until the next step
	case loop.CallTool:
		if e.Budget > 0 {
			e.Budget = max(e.Budget-(r.at-at), 1)
		}
	case loop.CancelTool, loop.OpenGate, loop.AskUser:
	default:
		return
	}
	r.open = append(r.open, e)
}

// unanswered returns the references of the effects that no step of a trace answers.
func unanswered(t loop.Trace) map[loop.Ref]bool {
	open := map[loop.Ref]bool{}
	for i := range t {
		if in := &t[i].In; in.Kind != loop.ModelDelta && !ignored(&t[i]) {
			delete(open, in.Ref)
		}
		for j := range t[i].Effects {
			switch e := &t[i].Effects[j]; e.Kind {
			case loop.AskModel, loop.OpenGate, loop.AskUser, loop.CallTool:
				open[e.Ref] = true
			case loop.CancelModel:
				delete(open, e.Ref)
			case loop.Note:
				if e.Event == loop.EventAbandoned {
					delete(open, e.Ref)
				}
			case loop.Halt:
				clear(open)
			}
		}
	}
	return open
}

// ignored reports whether the machine ignored the input of a step.
func ignored(r *loop.Record) bool {
	return slices.ContainsFunc(r.Effects, func(e loop.Effect) bool {
		return e.Kind == loop.Note && e.Event == loop.EventIgnored && e.Ref == r.In.Ref
	})
}

// resumed is a world that first returns the results of calls that do not run again.
type resumed struct {
	loop.World
	lost []loop.Input
}

func (r *resumed) Next(ctx context.Context, wake time.Duration, armed bool) (loop.Input, error) {
	if len(r.lost) > 0 {
		in := r.lost[0]
		r.lost = r.lost[1:]
		return in, nil
	}
	return r.World.Next(ctx, wake, armed)
}
