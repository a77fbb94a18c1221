package loop

import "time"

// An InputKind says what an [Input] reports to the machine. The zero InputKind is
// not an input; see [World] for where it occurs.
type InputKind uint8

// The closed set of inputs. Each comment ends with the fields of [Input] that the
// kind uses in addition to At; every other field is zero.
const (
	// Started begins the first run of a session. Text: the user's message.
	Started InputKind = iota + 1
	// UserMessage begins the next run, after a halt. Text: the user's message.
	UserMessage
	// Steer is a text of the user during a run. The model reads it with the next
	// request, if there is one. Text.
	Steer
	// ModelDelta is a piece of a streamed reply. It only shows that the model is
	// alive; the whole reply comes in a ModelReply. Ref, Text.
	ModelDelta
	// ModelReply is a whole reply. Ref, Text, Calls, Finish, TokensIn,
	// TokensOut, Cost.
	ModelReply
	// ModelFailure is a failed model request. Ref, Status (0 = no HTTP answer, as
	// after a lost connection or a broken stream), RetryAfter, Text.
	ModelFailure
	// GateAnswer answers a gate. Ref, Allow, Text (the reason for a denial), and
	// what a hook changes: Args, Result or System. "" changes nothing, and neither
	// do Args of only white space. The Cause ByHook makes the denial of a hook
	// before a call end the run.
	GateAnswer
	// UserReply answers a question. Ref, Allow (whether to go on), Text (the
	// user's words for the model). The Cause ByNobody says that nobody answered.
	UserReply
	// ToolResult ends a try. Ref, Code (None = success), Text, and the use of
	// sub-runs: TokensIn, TokensOut, Cost, Asked, Used, Spawned.
	ToolResult
	// Tick reports only the time.
	Tick
	// Cancel ends the run. Cause.
	Cancel
)

// Finish reasons of a reply, in the words of the OpenAI API. The machine acts only
// on FinishLength, and on FinishToolCalls of a reply without calls; it passes any other
// word on.
const (
	FinishStop      = "stop"
	FinishToolCalls = "tool_calls"
	FinishLength    = "length" // cut off by the token limit
)

// A Cause says why a run is cancelled.
type Cause string

// The causes of a cancel. The zero value is the caller's. ByHook belongs to a
// GateAnswer, ByNobody to a UserReply, the others to a Cancel.
const (
	ByCaller         Cause = ""                // the caller cancelled the run
	ByHook           Cause = "hook"            // a hook before a call ended the run
	ByNobody         Cause = "nobody"          // nobody answered a question
	ByCeiling        Cause = "ceiling"         // a test harness stopped a run that went on too long
	ByRecordingEnded Cause = "recording-ended" // the replayed recording has no further answer
)

// An Input is one thing that the world reports to the machine, and when. Kind says
// which fields are used.
type Input struct {
	At         time.Duration // since the session began; an earlier instant counts as the last one
	Kind       InputKind
	Ref        Ref           // the effect that it answers
	Text       string        // never cut
	Calls      []AskedCall   // of a ModelReply, in the model's order
	Finish     string        // of a ModelReply: why the model stopped
	TokensIn   int64         // of a ModelReply or ToolResult: tokens read
	TokensOut  int64         // of a ModelReply or ToolResult: tokens written
	Cost       int64         // of a ModelReply or ToolResult: in nano-dollars
	Asked      int           // of a ToolResult: calls that the model of a sub-run asked for
	Used       int           // of a ToolResult: calls that a sub-run made
	Spawned    int           // of a ToolResult: sub-runs that a sub-run started
	Code       Code          // of a ToolResult
	Status     int           // of a ModelFailure: HTTP status, 0 = none
	RetryAfter time.Duration // of a ModelFailure: the wait that the server asked for, 0 = none
	Allow      bool          // of a GateAnswer or UserReply
	Args       string        // of a GateAnswer: replaces the arguments
	Result     string        // of a GateAnswer: replaces the result or the answer
	System     string        // of a GateAnswer: replaces the system prompt
	Cause      Cause         // of a Cancel, ByHook of a GateAnswer, ByNobody of a UserReply
}

// An AskedCall is a call as the model asked for it. Nothing in it can be trusted:
// ID may be empty or used twice, Name unknown, and Args not JSON.
type AskedCall struct {
	ID   string
	Name string
	Args string
}
