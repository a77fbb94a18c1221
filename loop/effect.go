package loop

import "time"

// An EffectKind says what the machine asks of the world.
type EffectKind uint8

// The closed set of effects. For each, the fields of [Effect] that it uses;
// every other field is zero.
const (
	// AskModel sends a model request. Ref (with try), For, To, Choice, and Text for
	// a summary; System and History for the world.
	AskModel EffectKind = iota + 1
	// CancelModel gives up a request: a later answer to it is ignored. Ref, Text.
	CancelModel
	// OpenGate asks whether the loop may go on. Ref; At. Before a call: Of,
	// Name, Args. After a call: Of, Name, Code, Text. Before a run: Text, the
	// system prompt. After a run: Text, the answer.
	OpenGate
	// CallTool starts a try. Ref (with try), Name, Args; Budget, and of a sub-run
	// AskedLeft, CallsLeft, SpawnsLeft, TokensLeft and CostLeft, for the world.
	CallTool
	// CancelTool asks a running try to end. The try ends with its result. Ref
	// (with try), Text.
	CancelTool
	// AskUser asks the user whether and how to go on. Ref, Text.
	AskUser
	// Put adds a message to the history. A result: Ref (c), Code, Why, By, Text. A
	// user message that the loop itself wrote: Ref (u), To, Text.
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
	ForFinal   Purpose = "final"   // the last reply of a run, without tools
	ForGrace   Purpose = "grace"   // the last reply of a run, with tools offered; its calls are refused
)

// An Event says what a [Note] records. A scenario may list these words in
// expect.events.
type Event string

// The events.
const (
	EventIgnored      Event = "ignored"       // an input whose number is not open
	EventReplacedID   Event = "replaced-id"   // a call id was missing, empty or used before; Text is the new one
	EventRepeatedCall Event = "repeated-call" // a call has the id, name and arguments of another one and is that call; Text is its number, such as c7
	EventDroppedCall  Event = "dropped-call"  // a call whose arguments are not a JSON object was taken out of its reply; Text is its name
	EventTrimmedName  Event = "trimmed-name"  // white space around a tool's name was cut; Text is the name
	EventRepaired     Event = "repaired"      // arguments or a result were repaired to match their schema; Text is the number of repairs
	EventFallback     Event = "fallback"      // the tool's fallback is called instead; Text is its name
	EventAlert        Event = "alert"         // a tool crashed under policy.on_failure: table; Text names it and its error
	EventBadHook      Event = "bad-hook"      // a hook's arguments are not a JSON object or break the schema, and are not used; Text says why
	EventCompacted    Event = "compacted"     // messages were replaced by a summary
	EventNoSummary    Event = "no-summary"    // a request for a summary brought none; Text says why
	EventBadAction    Event = "bad-action"    // a planner's reply is not an action; Text says why
	EventGaps         Event = "gaps"          // the critic found gaps, which the model reads next; Text names them
	EventEmptyReply   Event = "empty-reply"   // a reply has neither text nor calls, or announces calls (tool_calls) and holds none
	EventCutReply     Event = "cut-reply"     // a reply was cut off by the length limit
	EventBrokenStream Event = "broken-stream" // a request failed after deltas had come; they are discarded
	EventUnanswered   Event = "unanswered"    // nobody answered a permission within time.permission: the call is denied
	EventAbandoned    Event = "abandoned"     // a cancelled try did not end within time.grace
	EventTruncated    Event = "truncated"     // a result was cut to history.max_result_chars or contracts.max_payload_bytes
	EventTrimmed      Event = "trimmed"       // messages were dropped from the history
	EventSteered      Event = "steered"       // the user said something; the model reads it with the next request
	EventNudged       Event = "nudged"        // a detector nudged the model; Text is its name
	EventLimitNear    Event = "limit-near"    // the loop warns the model that few turns or calls are left
	EventAlsoStopped  Event = "also-stopped"  // a second rule would have stopped the run; Text is its stop
	EventGaveUp       Event = "gave-up"       // a retry was not made; Text says why
)

// A Why says why a call was not executed.
type Why string

// The reasons. The zero value means that the call was executed.
const (
	Executed    Why = ""
	Unknown     Why = "unknown"     // no tool has that name
	InvalidArgs Why = "invalid"     // the arguments are not a JSON object, or break the tool's schema
	Vetoed      Why = "vetoed"      // a detector or a hook vetoed it
	Refused     Why = "refused"     // a limit, breaker or rate refused it
	Denied      Why = "denied"      // its permission was denied
	NotStarted  Why = "not-started" // the run was stopping before it could start
)

// An Effect is one thing that the machine asks of the world. Kind says which
// fields are used.
type Effect struct {
	Kind    EffectKind
	Ref     Ref
	For     Purpose  // of AskModel
	To      int      // of AskModel: the number of messages sent; of Put: the place, counted from 1, 0 = the end
	Choice  string   // of AskModel: what the model must call, as [ToolChoice] has it; "" = it chooses
	At      GateKind // of OpenGate
	Of      Ref      // of OpenGate: the call
	Name    string   // of OpenGate and CallTool
	Args    string   // of OpenGate and CallTool: the arguments that the tool gets
	Event   Event    // of Note
	Code    Code     // of Put: how the call ended
	Why     Why      // of Put: why the call was not executed
	By      string   // of Put: the tool, version and try that returned the result, if the tool has a version or is a fallback
	Text    string   // never cut
	Outcome *Outcome // of Halt

	// The fields below are for the world that carries out the effect. They follow
	// from the fields above and the effects before, and are not part of a trace.

	System  string        // of AskModel: the system prompt
	History []Message     // of AskModel: read only, valid until the next Step
	Budget  time.Duration // of CallTool: time left for this try, 0 = no bound
	// What limits.asked, calls, spawns, tokens and cost_usd (in nano-dollars) leave to a
	// sub-run when it starts; 0 = no bound, -1 = nothing.
	AskedLeft, CallsLeft, SpawnsLeft int
	TokensLeft, CostLeft             int64
}
