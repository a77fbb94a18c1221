package telemetry

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/loop"
)

// An Event is one line of the specification's event schema (its section 8).
type Event struct {
	TraceID    string      `json:"trace_id"`
	Turn       int         `json:"turn"`
	Role       string      `json:"role"`   // planner, executor or critic
	Intent     string      `json:"intent"` // call_tool, ask_user, replan or stop; none of a reply that decides nothing
	ToolCall   *ToolCall   `json:"tool_call,omitempty"`
	ToolResult *ToolResult `json:"tool_result,omitempty"`
	Policy     Policy      `json:"policy"`
	Outcome    Outcome     `json:"outcome"`
	Timings    Timings     `json:"timings"`
	Tokens     Tokens      `json:"tokens"`
}

// A ToolCall is the call that an event is about. It has no arguments.
type ToolCall struct {
	Name      string `json:"name"`
	ArgsValid bool   `json:"args_valid"`
}

// A ToolResult is how the call ended.
type ToolResult struct {
	OK       bool   `json:"ok"`
	Err      string `json:"err"` // a code of the taxonomy, None for a success; vetoed, refused or not-started where it did not run
	SchemaOK bool   `json:"schema_ok"`
}

// A Policy is the budget that the run has; 0 = no bound.
type Policy struct {
	MaxTurns    int     `json:"max_turns"`
	TimeBudgetS float64 `json:"time_budget_s"`
}

// An Outcome is the state of the run after the event.
type Outcome struct {
	Status     string `json:"status"`      // continue, or an end state
	NextAction string `json:"next_action"` // "" at the end
}

// Timings are in milliseconds of the run's virtual time.
type Timings struct {
	LatencyMS int64 `json:"latency_ms"`
}

// Tokens are those of a reply, or at the end those of the whole run.
type Tokens struct {
	Input  int64 `json:"input"`
	Output int64 `json:"output"`
}

// Events turns a session's trace into events: one for each reply and question
// (planner), each result (executor), each critique that names gaps (critic), and
// each end of a run (planner, intent stop). A summary, and a reply that the loop
// cannot use (empty, cut off, an answer in which the critic finds gaps, or no action of
// the planner), decides nothing: its intent is none, and it does not count as a turn. The trace_id is id/1 for the
// session's first run, id/2 for the next. Sub-runs have no events.
func Events(id string, cfg loop.Config, planner loop.Planner, trace loop.Trace) []Event {
	f := folder{id: id, planner: planner, calls: clock{}, base: Event{Outcome: Outcome{Status: "continue"},
		Policy: Policy{MaxTurns: cfg.Limits.Turns, TimeBudgetS: cfg.Time.Run.Seconds()}}}
	own := trace.Own()
	for i := range own {
		f.record(&own[i])
	}
	return f.events
}

// WriteEvents writes events as JSON Lines.
func WriteEvents(w io.Writer, events []Event) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	for i := range events {
		if err := enc.Encode(&events[i]); err != nil {
			return err
		}
	}
	_, err := w.Write(text.JSON(b.Bytes()))
	return err
}

type folder struct {
	id      string
	planner loop.Planner
	base    Event
	runs    int
	calls   clock
	asked   time.Duration  // when the last request was made
	purpose loop.Purpose   // of the last request
	turns   int            // replies of the run that are turns
	given   int            // calls asked for so far
	names   map[int]string // of the last reply's calls
	events  []Event
}

// add adds an event, and returns it for the rest of its fields.
func (f *folder) add(role, intent string) *Event {
	e := f.base
	e.Role, e.Intent, e.Outcome.NextAction = role, intent, intent
	f.events = append(f.events, e)
	return &f.events[len(f.events)-1]
}

func (f *folder) record(r *loop.Record) {
	f.calls.read(r)
	switch {
	case noted(r, loop.EventIgnored):
		return
	case r.In.Kind == loop.Started || r.In.Kind == loop.UserMessage:
		f.runs++
		f.turns = 0
		f.base.TraceID, f.base.Turn = fmt.Sprintf("%s/%d", f.id, f.runs), 0
	case r.In.Kind == loop.ModelReply:
		f.reply(r)
	}
	for i := range r.Effects {
		f.effect(r.In.At, &r.Effects[i])
	}
}

func noted(r *loop.Record, events ...loop.Event) bool {
	return slices.ContainsFunc(r.Effects, func(e loop.Effect) bool { return e.Kind == loop.Note && slices.Contains(events, e.Event) })
}

func (f *folder) reply(r *loop.Record) {
	intent, calls := f.decision(r)
	f.base.Turn = f.turns + 1
	if intent != intentNone {
		f.turns++
	}
	f.names = map[int]string{}
	for i, c := range calls {
		f.names[f.given+i+1] = c.Name
	}
	f.given += len(calls)
	e := f.add("planner", intent)
	e.Timings.LatencyMS = (r.In.At - f.asked).Milliseconds()
	e.Tokens = Tokens{Input: r.In.TokensIn, Output: r.In.TokensOut}
}

// intentNone is the intent of a reply that decides nothing.
const intentNone = "none"

// decision returns what a reply decides, and the calls that it asks for.
func (f *folder) decision(r *loop.Record) (intent string, calls []loop.AskedCall) {
	switch {
	case f.purpose == loop.ForSummary:
		return intentNone, nil
	case len(r.In.Calls) > 0 && noted(r, loop.EventEmptyReply): // all of them were answered before
		return intentNone, r.In.Calls
	case len(r.In.Calls) > 0:
		return loop.ActionCall, r.In.Calls
	case f.purpose != loop.ForReply:
		return loop.ActionStop, nil
	case noted(r, loop.EventEmptyReply, loop.EventCutReply, loop.EventBadAction), turnedBack(r):
		return intentNone, nil
	case f.planner == loop.PlannerJSON:
		a, _ := loop.ParseAction(r.In.Text)
		if a.Action == loop.ActionCall {
			calls = []loop.AskedCall{{Name: a.Name, Args: string(a.Args)}}
		}
		return a.Action, calls
	}
	return loop.ActionStop, nil
}

// turnedBack reports whether the critic finds gaps in an answer. Those of a turn have no
// reference.
func turnedBack(r *loop.Record) bool {
	return slices.ContainsFunc(r.Effects, func(e loop.Effect) bool {
		return e.Kind == loop.Note && e.Event == loop.EventGaps && e.Ref.Kind == loop.RefModel
	})
}

func (f *folder) effect(at time.Duration, e *loop.Effect) {
	switch {
	case e.Kind == loop.AskModel:
		f.asked, f.purpose = at, e.For
	case e.Kind == loop.Put && e.Ref.Kind == loop.RefCall:
		f.result(e)
	case e.Kind == loop.AskUser:
		if n := len(f.events); n == 0 || f.events[n-1].Intent != loop.ActionAsk {
			f.add("planner", loop.ActionAsk)
		}
	case e.Kind == loop.Note && e.Event == loop.EventGaps:
		f.add("critic", loop.ActionCall)
	case e.Kind == loop.Halt:
		ev := f.add("planner", loop.ActionStop)
		ev.Outcome = Outcome{Status: string(e.Outcome.End)}
		ev.Timings.LatencyMS = e.Outcome.Elapsed.Milliseconds()
		ev.Tokens = Tokens{Input: e.Outcome.TokensIn, Output: e.Outcome.TokensOut}
	}
}

func (f *folder) result(e *loop.Effect) {
	ev := f.add("executor", loop.ActionCall)
	name := f.names[e.Ref.N]
	if t := f.calls[e.Ref.N]; t != nil {
		name = t.name
		ev.Timings.LatencyMS = max(0, t.end-t.start).Milliseconds()
	}
	code := string(e.Code)
	switch {
	case e.Code == loop.None && e.Why != loop.Executed:
		code = string(e.Why)
	case e.Code == loop.None:
		code = "None"
	}
	ev.ToolCall = &ToolCall{Name: name, ArgsValid: e.Why != loop.InvalidArgs}
	ev.ToolResult = &ToolResult{OK: e.Why == loop.Executed && !e.Code.Failed(), Err: code, SchemaOK: e.Code != loop.OutputSchemaMismatch}
}
