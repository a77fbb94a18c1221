package trajectories

import (
	"context"
	"io"
	"strings"
	"time"

	"github.com/agentbench-go/agentbench/loop"
)

// A world replays a trajectory to a machine. It is open loop: whatever the variant
// did with a turn's calls, the recorded next turn follows, also as the last word
// that a limit asks for. Results find the machine's calls by their place in the
// batch. Virtual time stands still, unless the trajectory has times: then each turn
// comes at its time, with its results.
//
// A recorded run may end without an answer, because the trajectory breaks off or
// the user spoke in between. It is then cancelled with [loop.ByRecordingEnded],
// and the next user message begins the next run. A last user message without an
// answer does not begin a run. A call without a result ends with its run; if the
// run went on, the call succeeds with an empty result, since nothing says that it
// failed. A question to the user has no recorded answer and is answered with no.
//
// The session ends with the first run that a rule stops. A rule that trips where
// the recorded run ends anyway, with all its calls executed and no turn left, has
// stopped nothing, and the session goes on.
type world struct {
	traj  *Trajectory
	blind []BlindSpot
	run   int // the current one
	turn  int // the next one of that run
	next  int // the machine's number of the next call

	asked    loop.Ref   // the open model request
	question loop.Ref   // the open question to the user
	open     []loop.Ref // calls that wait for a result
	batch    int        // the machine's number of the batch's first call
	blocked  int        // calls of the batch that a rule vetoed or refused
	halted   bool
	now      time.Duration

	// What became of the session.
	outcomes []loop.Outcome
	executed []*Call
	codes    map[string]int // final codes of executed calls with an answer

	unanswered int           // executed calls that the recording ends before the answer of
	lost       []*Call       // calls that did not run because of a rule
	stop       *loop.Outcome // of the run that a rule stopped
}

func newWorld(r *Trajectory) *world {
	return &world{traj: r, next: 1, codes: map[string]int{}}
}

// task returns the machine's task.
func (w *world) task() loop.Task {
	return loop.Task{System: w.traj.System, Text: w.traj.Runs[0].User}
}

// tools returns the tools that the trajectory calls. None of them asks for
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

// turns returns the turns of the current run.
func (w *world) turns() []*Turn { return w.traj.Runs[w.run].Turns }

// call returns the recorded call of one of the machine's.
func (w *world) call(ref loop.Ref) *Call {
	return w.turns()[w.turn-1].Calls[ref.N-w.batch]
}

// Do notes what the machine asks for.
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
		if e.Code == loop.Cancelled && w.call(e.Ref).Result == nil {
			w.unanswered++ // nobody recorded what became of it
			return
		}
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

// Next returns the next recorded input, or a tick if the machine wakes before it.
func (w *world) Next(ctx context.Context, wake time.Duration, armed bool) (loop.Input, error) {
	if err := ctx.Err(); err != nil {
		return loop.Input{}, err
	}
	at := max(w.now, w.due())
	if w.traj.Timed && armed && wake <= at {
		w.now = max(w.now, wake)
		return loop.Input{Kind: loop.Tick, At: w.now}, nil
	}
	w.now = at
	in, err := w.recorded()
	in.At = w.now
	return in, err
}

// due returns the time of the next user message or turn, 0 if it has none or if
// something else comes next.
func (w *world) due() time.Duration {
	switch left := w.turns()[w.turn:]; {
	case w.halted && w.run+1 < len(w.traj.Runs):
		return w.traj.Runs[w.run+1].At
	case !w.halted && w.asked.Kind != loop.RefNone && len(left) > 0:
		return left[0].At
	}
	return 0
}

// recorded returns the next recorded input.
func (w *world) recorded() (loop.Input, error) {
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
