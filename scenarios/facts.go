package scenarios

import (
	"slices"
	"time"

	"github.com/agentbench-go/agentbench/loop"
)

// facts are what the judging needs to know of a trace beside the outcomes of its runs.
type facts struct {
	end                time.Duration         // when the last run stopped or the session broke off; for a single run, how long it took
	events             map[string]bool       // that appeared
	codes              map[loop.Code]int     // final codes of executed calls
	took               map[time.Duration]int // the number of executed calls in each bucket of latency, by its upper bound
	acted              bool                  // a detector nudged or vetoed a call, or lastWord
	lastWord           bool                  // a limit asked for a last word that may be the answer
	schemaOK           int
	subStops           map[string]int // of sub-runs; nil if there are none
	subRuns, subNudges int
	last               string // the event that was added last
}

// saw adds an event, which is mostly the one before.
func (f *facts) saw(event string) {
	if event != f.last {
		f.last = event
		f.events[event] = true
	}
}

// Events returns the words of expect.events: the events that the loop notes (see
// [loop.Event]), and run-started, run-ended, call-started, call-retried,
// call-cancelled, model-retried, model-cancelled, permission-asked and user-asked.
func Events() []string { return slices.Clone(events) }

const (
	runStarted      = "run-started"
	runEnded        = "run-ended"
	callStarted     = "call-started"
	callRetried     = "call-retried"
	callCancelled   = "call-cancelled"
	modelRetried    = "model-retried"
	modelCancelled  = "model-cancelled"
	permissionAsked = "permission-asked"
	userAsked       = "user-asked"
)

var events = append([]string{runStarted, runEnded, callStarted, callRetried, callCancelled, modelRetried, modelCancelled, permissionAsked, userAsked},
	words([]loop.Event{loop.EventIgnored, loop.EventReplacedID, loop.EventRepeatedCall, loop.EventDroppedCall, loop.EventTrimmedName, loop.EventEmptyReply, loop.EventCutReply,
		loop.EventBrokenStream, loop.EventUnanswered, loop.EventAbandoned, loop.EventTruncated, loop.EventTrimmed, loop.EventAlsoStopped, loop.EventGaveUp, loop.EventNudged, loop.EventSteered, loop.EventLimitNear,
		loop.EventRepaired, loop.EventFallback, loop.EventAlert, loop.EventBadHook, loop.EventCompacted, loop.EventNoSummary, loop.EventBadAction, loop.EventGaps})...)

// read gathers the facts of a trace. Of sub-runs they are the number and the stops, and
// whether a rule acted: on what a sub-run asked for, or by stopping it.
func read(trace loop.Trace) facts {
	f := readOwn(trace.Own())
	for _, path := range trace.Subs() {
		part := trace.Of(path)
		sub := readOwn(part)
		f.subRuns++
		f.acted = f.acted || sub.acted
		for i := range part {
			for j := range part[i].Effects {
				if part[i].Effects[j].Event == loop.EventNudged {
					f.subNudges++
				}
			}
		}
		if out := part.End(); out != nil {
			if f.subStops == nil {
				f.subStops = map[string]int{}
			}
			f.subStops[string(out.Stop)]++
			f.acted = f.acted || !endedWell(out.End) && caught(out.End, sub)
		}
	}
	return f
}

func readOwn(trace loop.Trace) facts {
	f := facts{events: map[string]bool{}, codes: map[loop.Code]int{}, took: map[time.Duration]int{}}
	spans := map[int]span{}
	for i := range trace {
		in := &trace[i].In
		f.end = in.At
		switch in.Kind {
		case loop.Started, loop.UserMessage:
			f.saw(runStarted)
		case loop.ToolResult:
			if !ignored(&trace[i]) {
				spans[in.Ref.N] = spans[in.Ref.N].until(in.At)
			}
		}
		for j := range trace[i].Effects {
			f.effect(in.At, &trace[i].Effects[j], spans)
		}
	}
	return f
}

// runsOf cuts a trace into its runs. Each begins with its message, and records after
// its halt belong to it.
func runsOf(trace loop.Trace) []loop.Trace {
	var parts []loop.Trace
	from := 0
	for i := 1; i < len(trace); i++ {
		if trace[i].In.Kind == loop.UserMessage && !ignored(&trace[i]) {
			parts = append(parts, trace[from:i])
			from = i
		}
	}
	return append(parts, trace[from:])
}

// ignored reports whether a record's input changed nothing.
func ignored(r *loop.Record) bool {
	return len(r.Effects) == 1 && r.Effects[0].Kind == loop.Note && r.Effects[0].Event == loop.EventIgnored
}

// A span is the time from a call's first try to the end of its last.
type span struct{ from, to time.Duration }

func (s span) until(at time.Duration) span { return span{s.from, at} }

func (f *facts) effect(at time.Duration, e *loop.Effect, spans map[int]span) {
	switch e.Kind {
	case loop.AskModel:
		f.lastWord = f.lastWord || e.For == loop.ForGrace
		f.acted = f.acted || f.lastWord
		if e.Ref.Try > 1 {
			f.saw(modelRetried)
		}
	case loop.CancelModel:
		f.saw(modelCancelled)
	case loop.OpenGate:
		f.saw(permissionAsked)
	case loop.AskUser:
		f.saw(userAsked)
	case loop.CallTool:
		if e.Ref.Try > 1 {
			f.saw(callRetried)
		} else {
			f.saw(callStarted)
			spans[e.Ref.N] = span{at, at}
		}
	case loop.CancelTool:
		f.saw(callCancelled)
	case loop.Note:
		f.saw(string(e.Event))
		f.acted = f.acted || e.Event == loop.EventNudged
		if e.Event == loop.EventAbandoned {
			spans[e.Ref.N] = spans[e.Ref.N].until(at)
		}
	case loop.Put:
		f.put(e, spans)
	case loop.Halt:
		f.saw(runEnded)
	}
}

// put counts a call that has ended.
func (f *facts) put(e *loop.Effect, spans map[int]span) {
	if e.Ref.Kind != loop.RefCall {
		return
	}
	if e.Why == loop.Vetoed {
		f.acted = true
	}
	s, started := spans[e.Ref.N]
	delete(spans, e.Ref.N)
	if !started {
		return
	}
	f.codes[e.Code]++
	if e.Code != loop.OutputSchemaMismatch {
		f.schemaOK++
	}
	f.took[bucket(s.to-s.from)]++
}

// bucket returns the upper bound of the bucket that a latency falls into. It has two
// digits, and a third that is 0 or 5, so that the bound is at most 5 % above the
// latency.
func bucket(d time.Duration) time.Duration {
	unit := time.Duration(1)
	for d/unit >= 1000 {
		unit *= 10
	}
	step := 10 * unit // d is from 200 to 1000 units
	switch {
	case d/unit < 100:
		return d // below 100 ns: unchanged
	case d/unit < 200:
		step = 5 * unit
	}
	return (d + step - 1) / step * step
}
