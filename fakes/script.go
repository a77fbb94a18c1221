// Package fakes plays the world for a loop: a [Script] says what the model,
// the tools and the user will say, and a [World] says it in virtual time.
//
// A script is a pure function of the seed, the request's number and what has
// been said before: no draw depends on the order in which things happen to be
// asked for. Each random number is keyed by what it belongs to (the request, or
// the call and its try).
//
// # Values
//
// What the model and the tools say may hold ${…} values: ${turn} is the number
// of the model request, ${call} the number of the call (in a reply's text, of
// its first call), ${seed} the seed, ${rand:1..6} a whole number, ${pick:a|b}
// one of the words. In arguments ${result:c3.items.0.id} is a field of the JSON
// result of call 3, ${result:last.id} of the last result, as the history has
// it: a string comes as it stands between the quotes of a JSON string, anything
// else as JSON; without a field the whole text comes, as a string does. A
// result that is not there makes the script run dry. $${ is a plain ${.
//
// # Faults, failures, attacks
//
// Three words say what goes wrong, each at another level:
//
//   - A failure ([Failure], [ModelFailure]) is one entry of a script: what one try
//     of a call or of a model request gets instead of its answer.
//   - A fault ([Fault]) is planned for a world and strikes what its script says,
//     whatever that is. The answer to model request 3 never comes, say.
//   - An attack (fuzz.Attack) is a kind of fuzz case. It says what a generated
//     world is hostile with: failures, faults, texts, arguments, users.
package fakes

import (
	"time"

	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/loop/contract"
)

// The latencies of a fake that does not say otherwise.
const (
	DefaultModelLatency = 2 * time.Second
	DefaultToolLatency  = 200 * time.Millisecond
)

// A Script is a world as data. It is read only while a [World] plays it, and
// any number of worlds may play one script.
type Script struct {
	Task   string // the user's first message
	System string // the system prompt, "" = none
	// Planner, Critic and SafetyPrompt are those of [loop.Task].
	Planner      loop.Planner
	Critic       loop.Critic
	SafetyPrompt bool
	Tools        []Tool
	Model        []Step
	User         User
	// Faults strike what the rest says.
	Faults []Fault
}

// LoopTask gives what the loop is to do.
func (s *Script) LoopTask(seed uint64) loop.Task {
	return loop.Task{Text: s.Task, System: s.System, Seed: seed, Planner: s.Planner, Critic: s.Critic,
		SafetyPrompt: s.SafetyPrompt, Schemas: contract.Compiler()}
}

// A Tool is a tool and how it behaves.
type Tool struct {
	loop.ToolSpec
	// Latency is how long an answer takes that does not say so itself; zero
	// means DefaultToolLatency.
	Latency Span
	// IgnoresCancel makes a cancelled try go on as if nothing had been said.
	IgnoresCancel bool
	// Answers are tried in order: the first one that matches the arguments and
	// is not used up answers. None: the script ran dry.
	Answers []Answer
}

// An Answer is one way for a tool to answer.
type Answer struct {
	// When holds the arguments that must be there with these values; other
	// arguments are free. nil matches every call.
	When map[string]any
	// Times is how many calls it answers before the next answer takes over; 0 =
	// for ever. Tries of one call count once.
	Times int
	// Result is the text of a success. It may hold ${…} values.
	Result string
	// ResultChars pads Result to that many characters (by repeating it, or "x").
	ResultChars int
	// Error makes it a failure, with Text as its message, which may hold ${…}
	// values.
	Error loop.Code
	Text  string
	// Failures are what the first tries of each call get instead: the first
	// try the first failure, and so on. Those of a fallback begin with its own
	// first try.
	Failures []Failure
	// Hang never answers (but acknowledges a cancel, unless the tool ignores it).
	Hang bool
	// Latency is how long it takes; zero means the tool's.
	Latency Span
	// TokensIn, TokensOut, Cost (nano-dollars) and Used (calls) are what each
	// try used, where the tool is a sub-run.
	TokensIn, TokensOut, Cost int64
	Used                      int
}

// A Failure is how one try of a call goes wrong.
type Failure struct {
	Error   loop.Code // "" means RetryableServer
	Text    string    // may hold ${…} values
	Hang    bool      // never answers; Error and Text mean nothing
	Latency Span      // zero means the answer's
}

// A Step is what the model says to one request, or to several in a row.
type Step struct {
	// When restricts the step to requests that come right after something: "" =
	// always. A step with a When that holds answers before any without.
	When When
	// Repeat is the number of requests that the step answers, 0 meaning one;
	// Forever has no end. The k-th request of a session is answered by the step
	// whose span covers k; a request that a When step answered is counted too.
	// Of When steps, the first one that holds answers, Repeat times in all. A
	// request for a summary is not counted; one that no step is for, and a last
	// word that no step has, comes from the world.
	Repeat int
	// State makes it a step of that state, "" = of none: after the last request
	// that the other plain steps cover, the model is in the state of the first
	// such step. The steps of a state answer in their order; then the next state
	// is drawn, keyed by the number of the request.
	State string
	// Next are the states that may follow, on a state's last step. Without it the
	// state begins again.
	Next []Transition

	Text   string // may hold ${…} values
	Calls  []StepCall
	Finish string // "" = stop, or tool_calls where there are calls
	// TokensIn, TokensOut and Cost (nano-dollars) are the reply's usage.
	TokensIn, TokensOut, Cost int64
	// Latency is how long the whole reply takes; zero means
	// DefaultModelLatency.
	Latency Span
	// Chunks streams the text in that many pieces, the first after FirstToken,
	// the rest evenly up to Latency. 0 = not streamed. A FirstToken of 0 means
	// that the first piece takes as long as each of the others; one above
	// Latency is cut to it.
	Chunks     int
	FirstToken time.Duration
	// Failures are what the first tries of each request get instead.
	Failures []ModelFailure
	// FailForever repeats the last failure without end.
	FailForever bool
	// Wire is how the reply looks on the wire: one of [StepWires], or "".
	Wire Wire
}

// A Transition is a state that may come next, and how likely it is beside the
// others: the weights need not add up to anything.
type Transition struct {
	State  string
	Weight int64 // above 0, at most 10^12
}

// Forever is a Repeat without end.
const Forever = -1

// A StepCall is a call that the model asks for.
type StepCall struct {
	// ID is the id on the wire. nil stands for a fresh one, "" for none.
	ID   *string
	Name string
	// Args is the text of the arguments, as it would stand on the wire. It may
	// hold ${…} values.
	Args string
}

// A ModelFailure is how one try of a model request goes wrong.
type ModelFailure struct {
	Status     int           // HTTP status; 0 with Hang unset = lost connection; after pieces, that of an error in the stream
	RetryAfter time.Duration // 0 = the server names none
	Text       string        // may hold ${…} values
	Hang       bool          // no answer at all; Status, RetryAfter and Text mean nothing
	// Chunks is how many pieces of the reply come before it fails or hangs:
	// spaced as those of a stream whose last piece is the failure.
	Chunks  int
	Latency Span // until the failure; zero means the step's
	Wire    Wire // how it looks on the wire: one of [FailureWires], or ""
}

// A When names what a request must come right after.
type When string

// The conditions. Each looks at the last batch of results, or the last user
// message, in the history; the last two at what the request is for.
const (
	WhenAlways When = ""
	WhenDenied When = "denied" // a gate denied one of the calls
	WhenVetoed When = "vetoed" // one of the calls was vetoed or refused
	WhenFailed When = "failed" // one of the calls did not succeed
	WhenOK     When = "ok"     // all calls succeeded, and there was one
	WhenCut    When = "cut"    // the loop said that the reply was cut off
	WhenNudged When = "nudged" // a detector told the model

	WhenSummary When = "summary" // the loop asks for a summary of the history
	WhenFinal   When = "final"   // the loop asks for a last word
)

// A User is what the user does.
type User struct {
	// Permissions answer the gates: the first that fits. None fits: allowed
	// after DefaultToolLatency.
	Permissions []PermissionAnswer
	// Replies answer the loop's questions: the first that is not used up. None:
	// the user does not go on, after DefaultToolLatency.
	Replies []Reply
	// Messages follow one another, each After the run before was done.
	Messages []UserMessage
	// Cancel is when the user gives up; nil = never.
	Cancel *CancelAt
}

// A PermissionAnswer answers a gate.
type PermissionAnswer struct {
	Tool  string         // "" = any
	When  map[string]any // as in [Answer]
	Times int            // how many gates it answers; 0 = for ever
	Deny  bool
	Text  string // the reason
	After Span   // zero means DefaultToolLatency
	Hang  bool   // never answers
}

// A Reply answers a question of the loop's.
type Reply struct {
	Times int    // how many questions it answers; 0 = for ever
	Deny  bool   // the user does not want the run to go on
	Text  string // what the user says to it, "" = nothing
	After Span   // zero means DefaultToolLatency
	Hang  bool   // never answers
}

// A UserMessage is a follow-up message.
type UserMessage struct {
	Text  string
	After time.Duration // 0 = at once
}

// A CancelAt says when the user cancels: at an instant, or right after the
// Call-th call of the session (counted by its number) started; the other is 0.
type CancelAt struct {
	At   time.Duration
	Call int
}

// A Span is a latency: drawn evenly from Min to Max, or Min if Max is not above
// it. It is drawn in whole milliseconds from Min on, or in nanoseconds where
// Max is less than one above. The zero Span is "not said"; [Instantly] is no
// time at all.
type Span struct{ Min, Max time.Duration }

// Instantly is the span of what takes no time.
func Instantly() Span { return Span{Max: -1} }

// Validate reports every value that cannot be played, each as a
// [loop.FieldError] whose field begins as in a scenario: model[2].calls[0].args.
// A world whose script has one yields nothing but that error.
func (s *Script) Validate() error {
	_, err := compile(s)
	return err
}

// Random reports whether the script draws a random number anywhere: if not,
// every seed gives the same trial. (A config whose backoff has jitter draws
// too.)
func (s *Script) Random() bool {
	p, _ := compile(s)
	return p.random
}

// Specs gives the tools as the loop is told of them.
func (s *Script) Specs() []loop.ToolSpec {
	specs := make([]loop.ToolSpec, len(s.Tools))
	for i := range s.Tools {
		specs[i] = s.Tools[i].ToolSpec
	}
	return specs
}
