// Package fakes plays the world for a loop: a [Script] describes the answers of
// the model, the tools and the user, and a [World] plays them in virtual time.
//
// A script is a pure function of its name, the seed, the request's number and the
// session so far. No draw depends on the order in which things are asked for: the
// key of each random number is the script's name, the seed and the thing it belongs
// to (the request, or the call and its try).
//
//	script := &fakes.Script{Task: "Summarise notes.txt", Tools: tools, Model: steps}
//	var trace loop.Trace
//	outcomes, err := fakes.NewWorld(script, seed).Run(ctx, loop.Default(), &trace)
//
// # Values
//
// The texts of the model and the tools may contain ${…} values:
//
//   - ${turn} is the number of the model request.
//   - ${call} is the number of the call; in the text of a reply, of its first call.
//   - ${seed} is the seed.
//   - ${rand:1..6} is a whole number in that range.
//   - ${pick:a|b} is one of the words.
//   - ${result:c3.items.0.id}, in arguments only, is a field of the JSON result of
//     call 3 as the history has it, and ${result:last.id} a field of the last
//     result. A string is inserted in the form it has between the quotes of a JSON
//     string, any other value as JSON. Without a field, the whole text is inserted
//     like a string. A missing result makes the script run dry.
//   - $${ is a plain ${.
//
// # Faults, failures, attacks
//
// Three words name failures at three levels:
//
//   - A failure ([Failure], [ModelFailure]) is one entry of a script: one try of a
//     call or of a model request gets it instead of its answer.
//   - A fault ([Fault]) is planned for a world and independent of its script. It
//     says, for example, that model request 3 never gets an answer.
//   - An attack (fuzz.Attack) is a kind of fuzz case. It says how a generated world
//     is hostile: by failures, faults, texts, arguments or users.
package fakes

import (
	"time"

	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/loop/contract"
)

// The latencies of models and tools without a latency of their own.
const (
	DefaultModelLatency = 2 * time.Second
	DefaultToolLatency  = 200 * time.Millisecond
)

// A Script is a world as data. A [World] does not change the script that it plays,
// and any number of worlds may play one script.
type Script struct {
	// Name keys the random draws together with the seed: two scripts that differ
	// only in their names draw independently. A scenario's script has the
	// scenario's full name. "" is a name like any other.
	Name string

	Task   string // the user's first message
	System string // the system prompt, "" = none
	// Planner, Critic, Constraints and SafetyPrompt become those of the [loop.Task].
	Planner      loop.Planner
	Critic       loop.Critic
	Constraints  []loop.Constraint
	SafetyPrompt bool
	// ToolChoice becomes that of the task. The script says what a forced model does:
	// see [WhenForced].
	ToolChoice loop.ToolChoice
	Tools      []Tool
	// Window is the context window of the model, in tokens as [loop.EstimateRequest]
	// counts them: a request above it is refused, as the APIs do, with status 400 and
	// context_length_exceeded, after DefaultModelLatency. It uses up no step.
	// Requests for a summary have the window too. 0 = no bound.
	Window int
	Model  []Step
	User   User
	// Hooks act before and after calls. Where none fits, the hook lets everything pass.
	Hooks Hooks
	// Faults strike the answers that the other fields describe.
	Faults []Fault
}

// LoopTask returns the task for the loop. The jitter of its waits is drawn by the
// script's name and the seed.
func (s *Script) LoopTask(seed uint64) loop.Task {
	hooks := loop.Hooks{BeforeCall: len(s.Hooks.BeforeCall) > 0, AfterCall: len(s.Hooks.AfterCall) > 0}
	return loop.Task{Text: s.Task, System: s.System, Seed: named(s.Name, seed), Planner: s.Planner, Critic: s.Critic, Constraints: s.Constraints, Hooks: hooks,
		SafetyPrompt: s.SafetyPrompt, ToolChoice: s.ToolChoice, Schemas: contract.Compiler()}
}

// A Tool is a tool with its behavior.
type Tool struct {
	loop.ToolSpec
	// Latency applies to answers without a latency of their own; zero means
	// DefaultToolLatency.
	Latency Span
	// IgnoresCancel makes a cancelled try go on as if it had not been cancelled.
	IgnoresCancel bool
	// Answers are tried in order: the first one that matches the arguments and is
	// not used up answers. If there is none, the script runs dry.
	Answers []Answer
	// Session is what the tool runs in place of Answers. The tool is a sub-run then.
	Session *Session
}

// An Answer is one possible answer of a tool.
type Answer struct {
	// When lists arguments and the values that a call must have for them; other
	// arguments are free. nil matches every call.
	When map[string]any
	// Times is the number of calls that it answers before the next answer takes
	// over; 0 = unlimited. All tries of a call count as one.
	Times int
	// Result is the text of a success. It may contain ${…} values.
	Result string
	// ResultChars pads Result to this number of characters, by repeating it, or
	// "x" if it is empty.
	ResultChars int
	// Error makes the answer a failure with Text as its message, which may contain
	// ${…} values.
	Error loop.Code
	Text  string
	// Failures replace the answers to the first tries of each call: the first try
	// gets the first failure, and so on. A fallback tool counts from its own first
	// try.
	Failures []Failure
	// Hang never answers, but acknowledges a cancel unless the tool ignores it.
	Hang bool
	// Latency is the time until the answer; zero means the tool's.
	Latency Span
	// Wire is the form of the answer over MCP: one of [ResultWires], with an Error one
	// of [ErrorWires], or "".
	Wire Wire
	// TokensIn, TokensOut, Cost (nano-dollars) and Used (calls, asked for and made) are the usage of
	// each try, if the tool is a sub-run.
	TokensIn, TokensOut, Cost int64
	Used                      int
}

// A Failure replaces the answer to one try of a call.
type Failure struct {
	Error   loop.Code // "" means RetryableServer
	Text    string    // may contain ${…} values
	Hang    bool      // never answers; Error and Text are ignored
	Latency Span      // zero means the answer's
	Wire    Wire      // the form over MCP: one of [ErrorWires], or ""
}

// A Step is the model's answer to one request, or to several in a row.
type Step struct {
	// When restricts the step to requests that follow something: "" = always. A
	// When step that holds answers before any step without When.
	When When
	// Result is the condition of a [WhenResult] step.
	Result ResultIs
	// Repeat is the number of requests that the step answers: 0 means one, and
	// Forever has no end. The steps without When (plain steps) cover the requests
	// of a session one after another, and a step answers the requests that it
	// covers. A request that a When step answers uses up its place too. Among When
	// steps the first one that holds answers, at most Repeat times in all.
	// Requests for a summary are not counted. The world itself answers a request
	// for a summary or for a last word that no step answers.
	Repeat int
	// State makes this a step of that state, "" = of no state. After the last
	// request that the other plain steps cover, the model enters the state of the
	// first step that has one. The steps of a state answer in their order; then
	// the next state is drawn by the number of the request.
	State string
	// Optional says that the session may end before the step is asked for: see
	// [World.Idle].
	Optional bool
	// Next lists the states that may follow, on a state's last step. Without it the
	// state begins again.
	Next []Transition

	Text   string // may contain ${…} values
	Calls  []StepCall
	Finish string // "" = tool_calls if there are calls, else stop
	// TokensIn, TokensOut and Cost (nano-dollars) are the reply's usage.
	TokensIn, TokensOut, Cost int64
	// Latency is the time until the whole reply has come; zero means
	// DefaultModelLatency.
	Latency Span
	// Chunks streams the text in this number of pieces: the first after
	// FirstToken, the others evenly spaced up to Latency. 0 = not streamed. With a
	// FirstToken of 0 the first piece takes as long as each of the others. A
	// FirstToken above Latency is cut to Latency.
	Chunks     int
	FirstToken time.Duration
	// Failures replace the answers to the first tries of each request.
	Failures []ModelFailure
	// FailForever repeats the last failure without end.
	FailForever bool
	// Wire is the form of the reply on the wire: one of [StepWires], or "".
	Wire Wire
}

// A Transition is a state that may come next, and its weight against the others.
// The weights need not have a particular sum.
type Transition struct {
	State  string
	Weight int64 // above 0, at most 10^12
}

// Forever is a Repeat without end.
const Forever = -1

// A StepCall is a call that the model asks for.
type StepCall struct {
	// ID is the id on the wire. nil means a fresh one, "" none.
	ID   *string
	Name string
	// Args is the text of the arguments as sent on the wire. It may contain ${…}
	// values.
	Args string
}

// A ModelFailure replaces the reply to one try of a model request.
type ModelFailure struct {
	Status     int           // HTTP status; 0 without Hang = lost connection; after pieces, the status of an error in the stream
	RetryAfter time.Duration // 0 = the server names none
	Text       string        // may contain ${…} values
	Hang       bool          // never answers; Status, RetryAfter and Text are ignored
	// Chunks is the number of pieces that come before the reply fails or hangs.
	// They are spaced like those of a stream whose last piece is the failure.
	Chunks  int
	Latency Span // until the failure; zero means the step's
	Wire    Wire // the form on the wire: one of [FailureWires], or ""
}

// A When is a condition on what a request follows.
type When string

// The conditions. Each looks at the last batch of results, or the last user
// message, in the history; the last three look at the request.
const (
	WhenAlways When = ""
	WhenDenied When = "denied" // a gate denied one of the calls
	WhenVetoed When = "vetoed" // one of the calls was vetoed or refused
	WhenFailed When = "failed" // one of the calls did not succeed
	WhenOK     When = "ok"     // all calls succeeded, and there was one
	WhenCut    When = "cut"    // the loop said that the reply was cut off
	WhenNudged When = "nudged" // a detector nudged the model
	WhenResult When = "result" // the last result of the batch is as [Step.Result] says

	WhenForced  When = "forced"  // the request forces the model to call a tool
	WhenSummary When = "summary" // the loop asks for a summary of the history
	WhenFinal   When = "final"   // the loop asks for a last word
)

// A ResultIs is a condition on the last result of the batch that a request follows, as
// the model reads it: a failed call's text counts too. Exactly one of Contains, Matches
// and Path is set.
type ResultIs struct {
	Contains string // the result contains this text
	Matches  string // the result matches this regular expression (of the package regexp)
	// Path leads to a field of a JSON result, such as job.state or items.0.id, whose
	// value is Is. A result that is not JSON or lacks the field does not fulfil it. The
	// numbers 1 and 1.0 are equal.
	Path string
	Is   any
}

// A User describes the actions of the user.
type User struct {
	// Permissions answer the gates: the first one that fits. If none fits, the
	// user allows the call after DefaultToolLatency.
	Permissions []PermissionAnswer
	// Replies answer the loop's questions: the first one that is not used up. If
	// there is none, the user ends the run after DefaultToolLatency.
	Replies []Reply
	// Messages are those after the task. The ones with an At are said at that instant.
	// The others are sent in order, each its Wait after the run before has ended.
	Messages []UserMessage
	// Cancel is when the user cancels; nil = never.
	Cancel *CancelAt
}

// Hooks are the host's own checks. They take no time.
type Hooks struct {
	BeforeCall []BeforeCall // the first one that fits acts before the call
	AfterCall  []AfterCall  // the first one that fits acts after a call that was executed
}

// A BeforeCall vetoes a call, changes its arguments or ends the run. Exactly one of
// Veto, Args and End is set.
type BeforeCall struct {
	Tool  string         // "" = any
	When  map[string]any // as in [Answer]: the arguments of the model
	Times int            // how many calls it acts on; 0 = unlimited
	Veto  string         // vetoes the call, for this reason
	Args  string         // replaces the arguments: a JSON object
	End   string         // ends the run as cancelled, for this reason
}

// An AfterCall replaces the result of a call.
type AfterCall struct {
	Tool   string // "" = any
	Times  int    // how many calls it acts on; 0 = unlimited
	Result string // not ""
}

// A PermissionAnswer answers a gate.
type PermissionAnswer struct {
	Tool  string         // "" = any
	When  map[string]any // as in [Answer]
	Times int            // how many gates it answers; 0 = unlimited
	Deny  bool
	Text  string // the reason
	After Span   // zero means DefaultToolLatency
	Hang  bool   // never answers
}

// A Reply answers a question of the loop.
type Reply struct {
	Times int    // how many questions it answers; 0 = unlimited
	Deny  bool   // the user does not want the run to go on
	Text  string // the user's answer, "" = none
	After Span   // zero means DefaultToolLatency
	Hang  bool   // never answers
}

// A UserMessage is a message after the task.
type UserMessage struct {
	Text string
	// At says it during the run that is under way at this instant of the session: the
	// model reads it with its next request. Between runs nobody hears it. 0 = it is a
	// follow-up message, which begins a run.
	At time.Duration
	// Wait is the time from the end of the run before to a follow-up message; 0 = none.
	Wait time.Duration
	// AfterAny sends a follow-up message however the run before ended, unless the
	// ceiling ended it. Otherwise it is sent only after a run that is DONE.
	AfterAny bool
}

// A CancelAt says when the user cancels: at an instant, or right after the call
// with number Call starts. One of the two is 0.
type CancelAt struct {
	At   time.Duration
	Call int
}

// A Span is a latency: drawn evenly from Min to Max, or Min if Max is not above
// Min. It is drawn in whole milliseconds from Min on, or in nanoseconds if Max is
// less than a millisecond above Min. The zero Span means that none is given;
// [Instantly] takes no time.
type Span struct{ Min, Max time.Duration }

// Instantly returns a span that takes no time.
func Instantly() Span { return Span{Max: -1} }

// Validate reports every invalid value, each as a [loop.FieldError] whose field is
// a path in the script, such as model[2].calls[0].args. A world with an invalid
// script returns only that error.
func (s *Script) Validate() error {
	_, err := compile(s)
	return err
}

// Random reports whether the script draws a random number anywhere, the backoffs of its
// tools' own retry policies included. If not, the trials of all seeds are equal, unless
// the config draws too (a backoff with jitter does).
func (s *Script) Random() bool {
	p, _ := compile(s)
	return p.random
}

// Specs returns the tools as the loop sees them.
func (s *Script) Specs() []loop.ToolSpec {
	specs := make([]loop.ToolSpec, len(s.Tools))
	for i := range s.Tools {
		specs[i] = s.Tools[i].ToolSpec
		specs[i].SubRun = specs[i].SubRun || s.Tools[i].Session != nil
	}
	return specs
}
