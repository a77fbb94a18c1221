// Package events tells what happens in a loop as it happens: a fold over the
// records of a trace, in the terms that a user interface or a log wants. It
// knows nothing that the trace does not say.
package events

import (
	"fmt"
	"time"

	"github.com/agentbench-go/agentbench/loop"
)

// A Kind says what happened.
type Kind string

// The kinds of event.
const (
	RunStarted   Kind = "run-started"   // Text: the user's message
	TurnStarted  Kind = "turn-started"  // a reply is asked for
	ModelDelta   Kind = "model-delta"   // Text: a piece of a stream
	ModelRetry   Kind = "model-retry"   // a request is made again
	ModelTimeout Kind = "model-timeout" // a request was given up; Text: which timeout
	CallStarted  Kind = "call-started"  // Tool, Args
	CallRetry    Kind = "call-retry"    // a call is tried again
	CallTimeout  Kind = "call-timeout"  // a try was given up
	CallEnded    Kind = "call-ended"    // Tool; Code, Why; Text: what the model reads
	Nudge        Kind = "nudge"         // Text: the detector
	LimitNear    Kind = "limit-near"    //
	Truncated    Kind = "truncated"     // a result was cut
	Trimmed      Kind = "trimmed"       // old messages were dropped
	Compacted    Kind = "compacted"     // old messages were summed up
	Question     Kind = "question"      // Text: what the user is asked
	RunEnded     Kind = "run-ended"     // Outcome, DONE or CLARIFY_NEEDED
	RunFailed    Kind = "run-failed"    // Outcome, any other end
)

// An Event is one thing that happened.
type Event struct {
	At      time.Duration
	Kind    Kind
	Run     int      // the runs of the session, counted from 1
	Turn    int      // the turns of the run, counted from 1; 0 before the first
	Ref     loop.Ref // what it is about; zero for the run as a whole
	Tool    string
	Args    string
	Index   int // of a call in its batch, counted from 1
	Batch   int // how many calls the batch has
	Code    loop.Code
	Why     loop.Why
	Text    string
	Outcome *loop.Outcome
}

// A Reader turns the records of one session into events. The zero Reader is
// ready to use.
type Reader struct {
	run, turn int
	batch     []loop.AskedCall // of the last reply
	calls     int              // calls asked for before it
	tools     map[int]string   // by number of the call
	summing   bool             // the open request is for a summary, in which no calls count
}

// Read gives the events of the next record, in order.
func (r *Reader) Read(rec loop.Record) []Event {
	var events []Event
	add := func(e Event) {
		e.At, e.Run, e.Turn = rec.In.At, r.run, r.turn
		if e.Ref.Kind == loop.RefCall {
			e.Index, e.Batch = e.Ref.N-r.calls, len(r.batch)
			if e.Tool == "" {
				e.Tool = r.tools[e.Ref.N]
			}
		}
		events = append(events, e)
	}
	r.readInput(&rec.In, ignored(rec), add)
	for i := range rec.Effects {
		r.readEffect(&rec.Effects[i], add)
	}
	return events
}

// ignored reports whether the machine took no notice of the record's input.
func ignored(rec loop.Record) bool {
	return len(rec.Effects) == 1 && rec.Effects[0].Event == loop.EventIgnored
}

func (r *Reader) readInput(in *loop.Input, ignored bool, add func(Event)) {
	if ignored {
		return
	}
	switch in.Kind {
	case loop.Started, loop.UserMessage:
		r.run, r.turn = r.run+1, 0
		add(Event{Kind: RunStarted, Text: in.Text})
	case loop.ModelDelta:
		add(Event{Kind: ModelDelta, Ref: in.Ref, Text: in.Text})
	case loop.ModelReply:
		if r.summing {
			return
		}
		r.calls += len(r.batch)
		r.batch = in.Calls
		r.tools = map[int]string{}
		for i, c := range in.Calls {
			r.tools[r.calls+i+1] = c.Name
		}
	}
}

func (r *Reader) readEffect(e *loop.Effect, add func(Event)) {
	switch e.Kind {
	case loop.AskModel:
		r.summing = e.For == loop.ForSummary
		switch {
		case e.Ref.Try > 1:
			add(Event{Kind: ModelRetry, Ref: e.Ref})
		case e.For == loop.ForReply:
			r.turn++
			add(Event{Kind: TurnStarted, Ref: e.Ref})
		}
	case loop.CancelModel:
		add(Event{Kind: ModelTimeout, Ref: e.Ref, Text: e.Text})
	case loop.CallTool:
		if e.Ref.N > r.calls+len(r.batch) { // a planner's call, which stands in its text
			r.calls, r.batch = e.Ref.N-1, []loop.AskedCall{{Name: e.Name}}
		}
		kind := CallStarted
		if e.Ref.Try > 1 {
			kind = CallRetry
		}
		add(Event{Kind: kind, Ref: e.Ref, Tool: e.Name, Args: e.Args})
	case loop.CancelTool:
		add(Event{Kind: CallTimeout, Ref: e.Ref, Text: e.Text})
	case loop.AskUser:
		add(Event{Kind: Question, Ref: e.Ref, Text: e.Text})
	case loop.Put:
		if e.Ref.Kind == loop.RefCall {
			add(Event{Kind: CallEnded, Ref: e.Ref, Code: e.Code, Why: e.Why, Text: e.Text})
		}
	case loop.Note:
		if kind, ok := notes[e.Event]; ok {
			add(Event{Kind: kind, Ref: e.Ref, Text: e.Text})
		}
	case loop.Halt:
		kind := RunFailed
		if e.Outcome.End == loop.Done || e.Outcome.End == loop.ClarifyNeeded {
			kind = RunEnded
		}
		add(Event{Kind: kind, Outcome: e.Outcome})
	}
}

var notes = map[loop.Event]Kind{
	loop.EventNudged: Nudge, loop.EventLimitNear: LimitNear, loop.EventTruncated: Truncated,
	loop.EventTrimmed: Trimmed, loop.EventCompacted: Compacted,
}

// Progress gives the line that shows a call to whoever waits, in the second
// seed's words: [1/10] Calling read_file (1/3) is the first of three calls in
// the first of ten turns. maxTurns is limits.turns; where it is 0 the line says
// [1]. Any other event has no line.
func (e Event) Progress(maxTurns int) string {
	if e.Kind != CallStarted {
		return ""
	}
	turn := fmt.Sprint(e.Turn)
	if maxTurns > 0 {
		turn = fmt.Sprintf("%d/%d", e.Turn, maxTurns)
	}
	return fmt.Sprintf("[%s] Calling %s (%d/%d)", turn, e.Tool, e.Index, e.Batch)
}
