// Package events turns the records of a trace into events for a user interface or
// a log, one record after another. It reads only the trace.
package events

import (
	"fmt"
	"time"

	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/loop/detect"
)

// A Kind says what an [Event] reports.
type Kind string

// The kinds of event, each with the fields of [Event] that it sets in addition to At,
// Run, Turn and Ref.
const (
	RunStarted   Kind = "run-started"   // Text: the user's message
	TurnStarted  Kind = "turn-started"  // the model is asked for a reply
	ModelDelta   Kind = "model-delta"   // Text: a piece of a stream
	ModelRetry   Kind = "model-retry"   // a request is retried
	ModelTimeout Kind = "model-timeout" // a request was cancelled; Text: the timeout, or why else
	CallStarted  Kind = "call-started"  // Tool, Args, Repeat
	CallRetry    Kind = "call-retry"    // a call is retried; Tool, Args
	CallTimeout  Kind = "call-timeout"  // a try was cancelled; Tool; Text: why
	CallEnded    Kind = "call-ended"    // Tool, Code, Why, Duration; Text: the result that the model reads
	Nudge        Kind = "nudge"         // a detector nudged the model; Text: its name
	Alert        Kind = "alert"         // a tool crashed, and the policy table ends the run; Text: the tool and its error
	LimitNear    Kind = "limit-near"    // the loop warned the model that a limit is near
	Truncated    Kind = "truncated"     // a result was cut
	Trimmed      Kind = "trimmed"       // old messages were dropped
	Compacted    Kind = "compacted"     // old messages were summed up
	Question     Kind = "question"      // the user is asked; Text: the question
	Permission   Kind = "permission"    // the user is asked whether a call may run; Tool, Args
	RunEnded     Kind = "run-ended"     // Outcome, with the end state DONE or CLARIFY_NEEDED
	RunFailed    Kind = "run-failed"    // Outcome, with any other end state
)

// An Event is one thing that happened.
type Event struct {
	At      time.Duration
	Kind    Kind
	Run     int      // the number of the run in the session, from 1
	Turn    int      // the number of the turn in the run, from 1; 0 before the first
	Ref     loop.Ref // the request, call or message that it is about; zero for the run as a whole
	Tool    string
	Args    string
	Index   int // of a call: its place in the batch, from 1
	Batch   int // of a call: the number of calls in the batch
	Code    loop.Code
	Why     loop.Why
	Text    string
	Outcome *loop.Outcome
	// Duration is how long a call that ended took, from its first try to the end of
	// its last, with the waits between them; 0 if it did not run.
	Duration time.Duration
	// Repeat is how often a call that starts has been asked for in a row: in this turn
	// and the turns right before it, with the same arguments. 1 is the first time.
	Repeat int
}

// A Reader turns the records of one session into events. It must read them in
// order. The zero Reader is ready to use.
type Reader struct {
	run, turn int
	batch     []loop.AskedCall // of the last reply
	calls     int              // the number of calls before that batch
	made      map[int]*made    // the batch, by the number of the call
	streaks   streaks          // of the last turn with calls
	summing   bool             // the open request is for a summary, whose calls do not count
}

// made is a call of the batch.
type made struct {
	tool         string
	repeat       int
	ran          bool
	begun, ended time.Duration // ended is 0 while a try runs
}

// streaks counts in how many turns in a row each call was asked for.
type streaks map[detect.Signature]int

// next adds a call to the streaks of a turn, and returns its streak. before are those of
// the turn before.
func (s streaks) next(before streaks, canon *detect.Canon, tool, args string) int {
	sig, _ := canon.Signature(tool, args)
	if s[sig] == 0 {
		s[sig] = before[sig]
	}
	s[sig]++
	return s[sig]
}

// Read returns the events of the next record, in order.
func (r *Reader) Read(rec loop.Record) []Event {
	var events []Event
	add := func(e Event) {
		e.At, e.Run, e.Turn = rec.In.At, r.run, r.turn
		if e.Ref.Kind == loop.RefCall {
			e.Index, e.Batch = e.Ref.N-r.calls, len(r.batch)
			if c := r.made[e.Ref.N]; e.Tool == "" && c != nil {
				e.Tool = c.tool
			}
		}
		events = append(events, e)
	}
	r.readInput(&rec.In, ignored(rec), add)
	for i := range rec.Effects {
		r.readEffect(rec.In.At, &rec.Effects[i], add)
	}
	return events
}

// ignored reports whether the machine ignored the record's input.
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
		r.asked(in.Calls)
	case loop.ToolResult:
		if c := r.made[in.Ref.N]; c != nil {
			c.ended = in.At
		}
	}
}

// asked begins a batch.
func (r *Reader) asked(calls []loop.AskedCall) {
	r.batch, r.made = calls, map[int]*made{}
	if len(calls) == 0 {
		return // an answer, or a planner's action that may be a call
	}
	var canon detect.Canon
	now := streaks{}
	for i, c := range calls {
		r.made[r.calls+i+1] = &made{tool: c.Name, repeat: now.next(r.streaks, &canon, c.Name, c.Args)}
	}
	r.streaks = now
}

func (r *Reader) readEffect(at time.Duration, e *loop.Effect, add func(Event)) {
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
		if e.Ref.N > r.calls+len(r.batch) { // a planner's call, which is in the text of its reply
			r.calls = e.Ref.N - 1
			r.asked([]loop.AskedCall{{Name: e.Name, Args: e.Args}})
		}
		event := Event{Kind: CallStarted, Ref: e.Ref, Tool: e.Name, Args: e.Args}
		if c := r.made[e.Ref.N]; c != nil {
			if e.Ref.Try == 1 {
				c.begun, c.ran, event.Repeat = at, true, c.repeat
			}
			c.ended = 0
		}
		if e.Ref.Try > 1 {
			event.Kind = CallRetry
		}
		add(event)
	case loop.CancelTool:
		add(Event{Kind: CallTimeout, Ref: e.Ref, Text: e.Text})
	case loop.AskUser:
		add(Event{Kind: Question, Ref: e.Ref, Text: e.Text})
	case loop.OpenGate:
		if e.At == loop.GatePermission {
			add(Event{Kind: Permission, Ref: e.Ref, Tool: e.Name, Args: e.Args})
		}
	case loop.Put:
		if e.Ref.Kind == loop.RefCall {
			ended := Event{Kind: CallEnded, Ref: e.Ref, Code: e.Code, Why: e.Why, Text: e.Text}
			if c := r.made[e.Ref.N]; c != nil && c.ran {
				if c.ended == 0 { // it was abandoned
					c.ended = at
				}
				ended.Duration = c.ended - c.begun
			}
			add(ended)
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

// notes maps the notes of a trace to kinds. Other notes are not events.
var notes = map[loop.Event]Kind{
	loop.EventNudged: Nudge, loop.EventLimitNear: LimitNear, loop.EventTruncated: Truncated,
	loop.EventAlert: Alert, loop.EventTrimmed: Trimmed, loop.EventCompacted: Compacted,
}

// Progress returns a line about a call that starts, for a person who waits: [1/10]
// Calling read_file (1/3) is the first of three calls in the first of ten turns. A call
// that repeats itself has a mark from the second time on: ⚠️ 2 times in a row.
// maxTurns is limits.turns; if it is 0 the line begins with [1]. For any other
// event Progress returns "".
func (e Event) Progress(maxTurns int) string {
	if e.Kind != CallStarted {
		return ""
	}
	turn := fmt.Sprint(e.Turn)
	if maxTurns > 0 {
		turn = fmt.Sprintf("%d/%d", e.Turn, maxTurns)
	}
	line := fmt.Sprintf("[%s] Calling %s (%d/%d)", turn, e.Tool, e.Index, e.Batch)
	if e.Repeat > 1 {
		line += fmt.Sprintf(" ⚠️ %d times in a row", e.Repeat)
	}
	return line
}
