package loop

import "time"

// An EffectKind says what the machine asks of the world.
type EffectKind uint8

// The closed set of effects. For each, the fields of [Effect] that it uses;
// every other field is zero.
const (
	// AskModel requests a reply. Ref (with try), For, To, and Text for a
	// summary; System and History for the world.
	AskModel EffectKind = iota + 1
	// CancelModel gives a request up: an answer to it is ignored. Ref, Text.
	CancelModel
	// OpenGate asks whether the loop may go on. Ref; At. Before a call: Of,
	// Name, Args. After a call: Of, Name, Code, Text. Before a run: Text, the
	// system prompt. After a run: Text, the answer.
	OpenGate
	// CallTool starts a try. Ref (with try), Name, Args; Budget for the world.
	CallTool
	// CancelTool asks a running try to end; it is done when its result comes.
	// Ref (with try), Text.
	CancelTool
	// AskUser asks the user whether and how to go on. Ref, Text.
	AskUser
	// Put appends to the history. A result: Ref (c), Code, Why, By, Text. A user
	// message that the loop itself wrote: Ref (u), Text.
	Put
	// Drop removes a message from the history. Ref: m, c or u.
	Drop
	// Note records something that changes nothing. Ref, Event, Text.
	Note
	// Halt ends the run. Outcome.
	Halt
)

// A Purpose says what a model request is for.
type Purpose string

// The purposes.
const (
	ForReply   Purpose = "reply"   // the next turn
	ForSummary Purpose = "summary" // a summary of the old messages; Text is the instruction
	ForFinal   Purpose = "final"   // the last word, without tools
	ForGrace   Purpose = "grace"   // the last word, with tools offered that will not run
)

// An Event names what a [Note] tells. Each word can stand in a scenario's
// expect.events.
type Event string

// The events.
const (
	EventIgnored      Event = "ignored"       // an input whose number is not open
	EventReplacedID   Event = "replaced-id"   // a call id was missing, empty or used before; Text is the new one
	EventTrimmedName  Event = "trimmed-name"  // white space round a tool's name was cut; Text is the name
	EventRepaired     Event = "repaired"      // arguments or a result were mended to keep their schema; Text is how often
	EventFallback     Event = "fallback"      // the tool's fallback is called instead; Text is its name
	EventBadHook      Event = "bad-hook"      // a hook gave arguments that are no JSON object or break the schema; they are not used
	EventCompacted    Event = "compacted"     // messages were replaced by a summary
	EventNoSummary    Event = "no-summary"    // a summary was asked for and did not come; Text says why
	EventBadAction    Event = "bad-action"    // a planner's reply is no action; Text says why
	EventGaps         Event = "gaps"          // the critic told the model what is missing; Text is what
	EventEmptyReply   Event = "empty-reply"   // a reply without text and calls; it is asked again
	EventCutReply     Event = "cut-reply"     // a reply was cut off by the length limit
	EventBrokenStream Event = "broken-stream" // deltas came, then no reply: they are discarded
	EventAbandoned    Event = "abandoned"     // a cancelled try did not end within time.grace
	EventTruncated    Event = "truncated"     // a result was cut to history.max_result_chars
	EventTrimmed      Event = "trimmed"       // messages were dropped from the history
	EventSteered      Event = "steered"       // the user said something; the model reads it with the next request
	EventNudged       Event = "nudged"        // a detector told the model; Text names it
	EventLimitNear    Event = "limit-near"    // the loop told the model how much is left
	EventAlsoStopped  Event = "also-stopped"  // a second rule would have stopped the run; Text names it
	EventGaveUp       Event = "gave-up"       // a retry was not made; Text says why
)

// A Why says why a call was not executed.
type Why string

// The reasons. The zero value means that it was executed.
const (
	Executed    Why = ""
	Unknown     Why = "unknown"     // no tool has that name
	InvalidArgs Why = "invalid"     // the arguments are no JSON object
	Vetoed      Why = "vetoed"      // by a detector
	Refused     Why = "refused"     // by a limit
	Denied      Why = "denied"      // by a gate
	NotStarted  Why = "not-started" // the run stopped before its turn came
)

// An Effect is one thing that the machine asks of the world. It is a flat
// value: Kind says which fields mean anything.
type Effect struct {
	Kind    EffectKind
	Ref     Ref
	For     Purpose  // of AskModel
	To      int      // of AskModel: messages in the history that it is asked with; of Put: the place, counted from 1, 0 = the end
	At      GateKind // of OpenGate
	Of      Ref      // of OpenGate: the call
	Name    string   // of OpenGate and CallTool
	Args    string   // of OpenGate and CallTool: a JSON object, as the model wrote it
	Event   Event    // of Note
	Code    Code     // of Put: how the call ended
	Why     Why      // of Put: why the call was not executed
	By      string   // of Put: tool, version and try that gave the result, where a version or a fallback makes it worth telling
	Text    string   // in full
	Outcome *Outcome // of Halt

	// The rest is for the world that carries the effect out. It follows from
	// what stands above and before it, and is no part of a trace.

	System  string        // of AskModel: the system prompt
	History []Message     // of AskModel: read only, valid until the next Step
	Budget  time.Duration // of CallTool: time left for this try, 0 = no bound
}
