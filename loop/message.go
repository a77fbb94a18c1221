package loop

import "time"

// A Role says who speaks in a [Message].
type Role uint8

// The roles. There is no system role: the system prompt is [Task.System], and
// no trimming can lose it.
const (
	User Role = iota + 1
	Assistant
	ToolRole
)

// A Message is one entry of the history, in the shape that chat APIs take.
type Message struct {
	Ref    Ref // u1, m3 or c7
	Role   Role
	Failed bool // of a tool message: not executed, or ended with an error code or error text
	Text   string
	Calls  []Call // of an assistant message
	CallID string // of a tool message: the id of the call that it answers
}

// A Call is a call as it stands in the history: its id is unique in the
// session.
type Call struct {
	N    int    // its number: c7 is 7
	ID   string // as on the wire
	Name string
	Args string // as the model wrote it; no JSON where it wrote none
}

// A Task is what a session is given at its beginning.
type Task struct {
	Text   string // the user's first message
	System string // the system prompt, "" = none
	Seed   uint64 // for jitter; the same seed gives the same waits
	Depth  int    // of this session among sub-runs; 0 = nobody's sub-run
	Hooks  Hooks  // where the world is asked before the loop goes on
	// Planner says how the model's decisions are read.
	Planner Planner
	// Critic judges what a turn brought; nil = nobody does.
	Critic Critic
	// SafetyPrompt adds the safety text, with the tools and the limits, to the
	// system prompt.
	SafetyPrompt bool
	// Schemas reads the tools' schemas where contracts are on; nil is enough
	// where they are off.
	Schemas SchemaCompiler
}

// A Permission says when the user is asked before a tool runs.
type Permission string

// The permissions. The zero value never asks.
const (
	AskNever Permission = ""
	AskBatch Permission = "batch" // once for all calls of the tool in a batch
	AskCall  Permission = "call"  // for each call
)

// An Idempotence says whether running a call twice does the same as running it
// once.
type Idempotence string

// The three values. The zero value means that nobody has said.
const (
	// IdempotenceUnset: an abandoned try is not retried; a resumed session runs
	// a call that has no result again.
	IdempotenceUnset Idempotence = ""
	// Idempotent: an abandoned try may be retried, and a resumed session runs a
	// call that has no result again.
	Idempotent Idempotence = "true"
	// NotIdempotent: as unset, but a resumed session never runs the call again.
	// It ends the call with [Cancelled], which is then neither retried nor left
	// to a fallback. See [github.com/agentbench-go/agentbench/loop/session].
	NotIdempotent Idempotence = "false"
)

// A ToolSpec describes a tool to the machine and to the model.
type ToolSpec struct {
	Name        string // unique, without surrounding white space
	Description string
	Version     string // shown with its results, "" = none
	Input       string // JSON Schema of the arguments, "" = any object
	Output      string // JSON Schema of the result, "" = any text
	Permission  Permission
	Idempotent  Idempotence   // whether a call may run twice
	Timeout     time.Duration // instead of time.tool; 0 = time.tool
	Retries     int           // instead of retry.max; 0 = retry.max, negative = none
	Fallback    string        // the tool that policy.fallbacks calls instead, "" = none
	SubRun      bool          // its calls are runs of another loop: limits.depth and limits.spawns hold
	Rate        Rate
	Breaker     ToolBreaker
}
