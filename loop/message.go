package loop

import "time"

// A Role says whose message a [Message] is.
type Role uint8

// The roles. There is no system role: the system prompt is [Task.System], so
// trimming cannot drop it.
const (
	User Role = iota + 1
	Assistant
	ToolRole
)

// A Message is one message of the history, in the form that chat APIs take.
type Message struct {
	Ref    Ref // u1, m3 or c7
	Role   Role
	Failed bool // of a tool message: not executed, or ended with an error code or error text
	Text   string
	Calls  []Call // of an assistant message
	CallID string // of a tool message: the id of the call that it answers
}

// A Call is a call in the history.
type Call struct {
	N    int    // its number: 7 for c7
	ID   string // unique in the session: the model's own id, or a new one
	Name string
	Args string // as the model wrote them, even if that is not JSON
}

// A Task describes a session to the machine.
type Task struct {
	Text   string // the user's first message
	System string // the system prompt, "" = none
	Seed   uint64 // for jitter: with equal seeds the waits are equal
	Depth  int    // how many sessions this one is nested in; 0 = it is not a sub-run
	Hooks  Hooks  // the points at which the loop asks the world before it goes on
	// Planner says how the loop reads the model's decisions.
	Planner Planner
	// ToolChoice says whether the model must call a tool.
	ToolChoice ToolChoice
	// Critic judges the results of each turn, and each answer; nil means no critic. An
	// answer in which it finds gaps is turned back: the model reads them and is asked
	// again. Such a reply is unusable, so that more than model_retry.gap_replies in a
	// row stop the run with unmet-goal. A last word under [LimitGrace] with gaps is not
	// the answer.
	Critic Critic
	// Constraints are what must hold of an answer. They stand in the system prompt,
	// and the Critic checks them: without one [New] refuses them.
	Constraints []Constraint
	// SafetyPrompt adds safety guidelines, the tools and the limits to the system
	// prompt.
	SafetyPrompt bool
	// Schemas compiles the tools' schemas. It may be nil if contracts are off.
	Schemas SchemaCompiler
}

// A ToolChoice forces the model to call a tool, as APIs let a request ask for. It goes
// with each request for a reply until the run's first reply with calls, so that the run
// can end. The zero ToolChoice leaves the choice to the model. A [PlannerJSON] has none.
type ToolChoice struct {
	Use  string // "" = the model chooses, [UseRequired] = some tool, else the name of a tool
	Hold bool   // it goes on after the first call: such a model cannot answer by itself
}

// UseRequired makes the model call some tool.
const UseRequired = "required"

// A Permission says when the user is asked before a tool runs.
type Permission string

// The permissions. The zero value never asks.
const (
	AskNever Permission = ""
	AskBatch Permission = "batch" // asks once for all calls of the tool in a batch
	AskCall  Permission = "call"  // asks for each call
)

// An Idempotence says whether running a call twice has the same effect as running
// it once.
type Idempotence string

// The three values. The zero value means unknown.
const (
	// IdempotenceUnset: a try that was abandoned or ended as [ConnectionLost] is not
	// retried. A resumed session runs a call without a result again.
	IdempotenceUnset Idempotence = ""
	// Idempotent: such tries may be retried too, and a resumed session runs a call
	// without a result again.
	Idempotent Idempotence = "true"
	// NotIdempotent: a try that may have taken effect is not retried, and no
	// fallback runs after it. That is every failed try, unless it ended by itself
	// and its code says that the tool did nothing: [NotSent], [RateLimited],
	// [InvalidInput], [NotFound], [Unauthorized] or [Forbidden]. A resumed session
	// never runs the call again, but ends it with [Cancelled]. See
	// [github.com/agentbench-go/agentbench/loop/session].
	NotIdempotent Idempotence = "false"
)

// A ToolSpec describes a tool to the machine and to the model.
type ToolSpec struct {
	Name        string // unique, without white space around it
	Description string
	Version     string // shown with the tool's results, "" = none
	Input       string // JSON Schema of the arguments, "" = any object
	Output      string // JSON Schema of the result, "" = any text
	Permission  Permission
	Idempotent  Idempotence   // whether it is safe to run a call twice
	Timeout     time.Duration // instead of time.tool; 0 = time.tool
	Retries     int           // instead of retry.max; 0 = retry.max, negative = none
	Retry       *Retry        // the tool's own policy instead of the config's retry, without Retries; nil = the config's
	Fallback    string        // the tool that policy.fallbacks calls instead, "" = none
	Waits       bool          // it sleeps, or polls with a delay: only detectors that name it watch it
	SubRun      bool          // its calls run another loop: limits.depth and limits.spawns apply
	Rate        Rate
	Breaker     ToolBreaker
}
