package loop

import "time"

// An InputKind says what the world told the machine. The zero InputKind is not
// an input; see [World] for where it occurs.
type InputKind uint8

// The closed set of inputs. For each, the fields of [Input] that it uses beside
// At; every other field is zero.
const (
	// Started begins the first run of a session. Text: the user's message.
	Started InputKind = iota + 1
	// UserMessage begins the next run, after a halt. Text: the user's message.
	UserMessage
	// Steer is something that the user says while a run is under way: the model
	// reads it with the next request, if there is one. Text.
	Steer
	// ModelDelta is a piece of a streamed reply. Ref; Text. It only shows that
	// the model is alive: the reply comes whole in a ModelReply.
	ModelDelta
	// ModelReply is a whole reply. Ref, Text, Calls, Finish, TokensIn,
	// TokensOut, Cost.
	ModelReply
	// ModelFailure is a failed model request. Ref, Status (0 = no HTTP answer:
	// network, broken stream), RetryAfter, Text.
	ModelFailure
	// GateAnswer answers a gate. Ref; Allow; Text, a reason for a denial; and
	// what a hook changes: Args, Result or System, "" = nothing (so is white
	// space as Args).
	GateAnswer
	// UserReply answers a question. Ref; Allow, to go on; Text, what the user
	// says to it.
	UserReply
	// ToolResult ends a try. Ref; Code (None = success); Text; and of a sub-run
	// what it used: TokensIn, TokensOut, Cost, Used.
	ToolResult
	// Tick tells the time and nothing else.
	Tick
	// Cancel ends the run. Cause.
	Cancel
)

// Finish reasons of a reply, in the words of the OpenAI API. Others are kept as
// they came and mean nothing to the machine.
const (
	FinishStop      = "stop"
	FinishToolCalls = "tool_calls"
	FinishLength    = "length" // cut off by the token limit
)

// A Cause says on whose behalf a Cancel input comes.
type Cause string

// The causes of a cancel. The zero value is the caller's.
const (
	ByCaller         Cause = ""                // the caller gave up: stop cancelled
	ByCeiling        Cause = "ceiling"         // the harness's own bound on a runaway
	ByRecordingEnded Cause = "recording-ended" // a recording has no further answer
)

// An Input is one thing that the world told the machine, and when. It is a
// flat value: Kind says which fields mean anything.
type Input struct {
	At         time.Duration // since the session began; never decreases
	Kind       InputKind
	Ref        Ref           // what it answers
	Text       string        // as the world said it, whole
	Calls      []AskedCall   // of a ModelReply, in the model's order
	Finish     string        // of a ModelReply: why the model stopped
	TokensIn   int64         // of a ModelReply or ToolResult: tokens read
	TokensOut  int64         // of a ModelReply or ToolResult: tokens written
	Cost       int64         // of a ModelReply or ToolResult: in nano-dollars
	Used       int           // of a ToolResult: calls that a sub-run made
	Code       Code          // of a ToolResult
	Status     int           // of a ModelFailure: HTTP status, 0 = none
	RetryAfter time.Duration // of a ModelFailure: what the server asked for, 0 = nothing
	Allow      bool          // of a GateAnswer or UserReply
	Args       string        // of a GateAnswer: what the tool gets instead
	Result     string        // of a GateAnswer: what the history gets instead
	System     string        // of a GateAnswer: the system prompt from now on
	Cause      Cause         // of a Cancel
}

// An AskedCall is a call as the model asked for it: nothing in it can be
// trusted. ID may be missing or used twice, Name unknown, Args no JSON.
type AskedCall struct {
	ID   string
	Name string
	Args string
}
