package trajectories

import (
	"context"
	"io"
	"strings"
	"time"

	"github.com/agentbench-go/agentbench/loop"
)

// A world plays a trajectory to a machine. It is open loop: whatever the variant
// did with a turn's calls, the turn that was recorded next follows. Results are
// matched to the machine's calls by their place in the batch. Virtual time
// stands still.
//
// A recorded run that ends without an answer (because the trajectory breaks off,
// or because the user spoke in between) is cancelled with
// [loop.ByRecordingEnded], and the user's next message begins the next run, as
// any user message does. A last user message that nobody answered begins none.
// A call that nobody answered ends with the run that it is in; if that run went
// on all the same, the trajectory does not say that it failed, and it succeeds
// with an empty result.
//
// The turn recorded next is also what the machine gets for a last word. A
// question to the user has no recorded answer: it is answered with no.
//
// The session ends with the first run that a rule stops. A rule that trips
// where the recorded run ends anyway, with every call executed and no turn
// left, has stopped nothing: the session goes on.
type world struct {
	traj *Trajectory
	run  int // the run under way
	turn int // of that run, the next to be given
	next int // the machine's number of the next call to be given

	asked    loop.Ref   // the model request that is open
	question loop.Ref   // the question to the user that is open
	open     []loop.Ref // calls that wait for a result
	batch    int        // the machine's number of the batch's first call
	blocked  int        // calls of the batch that a rule kept from running
	halted   bool

	// What the replay comes to.
	outcomes []loop.Outcome
	executed []*Call
	codes    map[string]int // final codes of executed calls
	lost     []*Call        // calls that a rule kept from running
	stop     *loop.Outcome  // of the run that a rule stopped
}

func newWorld(r *Trajectory) *world {
	return &world{traj: r, next: 1, codes: map[string]int{}}
}

// task is what the machine is given at the beginning.
func (w *world) task() loop.Task {
	return loop.Task{System: w.traj.System, Text: w.traj.Runs[0].User}
}

// tools are those that the trajectory calls: each is known, and none asks for
// permission.
func (w *world) tools() []loop.ToolSpec {
	var tools []loop.ToolSpec
	known := map[string]bool{"": true}
	w.traj.eachCall(func(c *Call) {
		if name := strings.TrimSpace(c.Name); !known[name] {
			known[name] = true
			tools = append(tools, loop.ToolSpec{Name: name})
		}
	})
	return tools
}

// turns are those of the run under way.
func (w *world) turns() []*Turn { return w.traj.Runs[w.run].Turns }

// call gives the recorded call behind the machine's.
func (w *world) call(ref loop.Ref) *Call {
	return w.turns()[w.turn-1].Calls[ref.N-w.batch]
}

// Do takes note of what the machine asks for.
func (w *world) Do(_ context.Context, _ loop.Input, effects []loop.Effect) {
	for i := range effects {
		switch e := &effects[i]; e.Kind {
		case loop.AskModel:
			w.asked = e.Ref
		case loop.AskUser:
			w.question = e.Ref
		case loop.CallTool:
			w.open = append(w.open, e.Ref)
			w.executed = append(w.executed, w.call(e.Ref))
		case loop.Put:
			w.put(e)
		case loop.Halt:
			w.halt(*e.Outcome)
		}
	}
}

func (w *world) put(e *loop.Effect) {
	if e.Ref.Kind != loop.RefCall {
		return
	}
	switch e.Why {
	case loop.Executed:
		name := string(e.Code)
		if e.Code == loop.None {
			name = "None"
		}
		w.codes[name]++
	case loop.Vetoed, loop.Refused:
		w.blocked++
		w.lost = append(w.lost, w.call(e.Ref))
	}
}

func (w *world) halt(out loop.Outcome) {
	w.halted, w.open, w.asked, w.question = true, nil, loop.Ref{}, loop.Ref{}
	w.outcomes = append(w.outcomes, out)
	if out.Stop == loop.StopDone || out.Stop == loop.StopRecordingEnded {
		return
	}
	if left := w.turns()[w.turn:]; len(left) > 0 || w.blocked > 0 {
		w.stop = &out
		w.lose(left)
		for _, run := range w.traj.Runs[w.run+1:] {
			w.lose(run.Turns)
		}
	}
}

func (w *world) lose(turns []*Turn) {
	for _, t := range turns {
		w.lost = append(w.lost, t.Calls...)
	}
}

// Next yields what the trajectory says next.
func (w *world) Next(ctx context.Context, wake time.Duration, armed bool) (loop.Input, error) {
	if err := ctx.Err(); err != nil {
		return loop.Input{}, err
	}
	left := w.turns()[w.turn:]
	switch {
	case w.halted:
		return w.userMessage()
	case w.question.Kind != loop.RefNone:
		return loop.Input{Kind: loop.UserReply, Ref: w.question}, nil
	case w.asked.Kind != loop.RefNone && len(left) > 0:
		return w.reply(left[0]), nil
	case w.asked.Kind != loop.RefNone:
		return ended, nil
	}
	for i, ref := range w.open {
		r := w.call(ref).Result
		if r == nil && len(left) > 0 {
			r = &Result{}
		}
		if r != nil {
			w.open = append(w.open[:i], w.open[i+1:]...)
			return loop.Input{Kind: loop.ToolResult, Ref: ref, Code: r.Code, Text: r.Text}, nil
		}
	}
	return ended, nil
}

var ended = loop.Input{Kind: loop.Cancel, Cause: loop.ByRecordingEnded}

func (w *world) userMessage() (loop.Input, error) {
	if w.stop != nil || w.run+1 == len(w.traj.Runs) || len(w.traj.Runs[w.run+1].Turns) == 0 {
		return loop.Input{}, io.EOF
	}
	w.run, w.turn, w.halted, w.blocked = w.run+1, 0, false, 0
	return loop.Input{Kind: loop.UserMessage, Text: w.traj.Runs[w.run].User}, nil
}

func (w *world) reply(t *Turn) loop.Input {
	in := loop.Input{Kind: loop.ModelReply, Ref: w.asked, Text: t.Text, Finish: loop.FinishStop, TokensIn: t.TokensIn, TokensOut: t.TokensOut}
	for _, c := range t.Calls {
		in.Calls = append(in.Calls, loop.AskedCall{ID: c.ID, Name: c.Name, Args: c.Args})
		in.Finish = loop.FinishToolCalls
	}
	w.asked, w.turn, w.blocked = loop.Ref{}, w.turn+1, 0
	w.batch, w.next = w.next, w.next+len(t.Calls)
	return in
}
