package scenarios

import (
	"time"

	"github.com/goccy/go-yaml/ast"
)

// The structs below are the scenario language: their yaml tags are its keys,
// their jsonschema tags its constraints, their comments what an editor shows.
// The published JSON Schema is made from them.

// A scenarioFile is one scenario.
type scenarioFile struct {
	// Name is unique within the suite, which is the file's folder.
	Name string `yaml:"name" jsonschema:"required"`
	// Description is one sentence: the failure that the scenario stands for.
	Description string `yaml:"description" jsonschema:"required"`
	// Label says whether the run should be stopped (runaway) or should finish
	// (healthy).
	Label labelWord `yaml:"label" jsonschema:"required"`
	// Source is the public report or document that the scenario comes from.
	Source string `yaml:"source"`
	// Variant is the safety config that the scenario is meant for: a preset, or
	// the path of a file, seen from this one. The default is hpd-agent.
	Variant string `yaml:"variant"`
	// Config holds changes to the variant, with the keys of a variant. A list
	// takes the place of the variant's.
	Config configNode `yaml:"config"`
	// Task is the user's first message.
	Task string `yaml:"task" jsonschema:"required"`
	// System is the system prompt.
	System string `yaml:"system"`
	// SafetyPrompt adds the loop's safety text to it, with the tools and the
	// limits.
	SafetyPrompt bool `yaml:"safety_prompt"`
	// Planner says how the model's decisions are read: native (the default) as
	// calls, json as one JSON action in its text.
	Planner plannerWord `yaml:"planner"`
	// Critic judges what a turn brought: none (the default), or rules, by which
	// each call that failed or found nothing is a gap.
	Critic criticWord `yaml:"critic"`
	// Tools are the tools that the model is told of, and how they behave.
	Tools []toolEntry `yaml:"tools"`
	// Model is what the model says. One entry answers one request, unless repeat
	// says otherwise.
	Model []stepEntry `yaml:"model" jsonschema:"oneof_required=model"`
	// Cassette is the recording of a live model that takes the place of model: the
	// path of a .cassette.yaml file, seen from this one.
	Cassette string `yaml:"cassette" jsonschema:"oneof_required=cassette"`
	// User is what the user does beside the task.
	User userEntry `yaml:"user"`
	// Faults strike what all of this says, such as drop model 3.
	Faults []faultEntry `yaml:"faults"`
	// Expect is what must be true of the trace under the scenario's own variant: of
	// the whole session, or in a list of each of its runs.
	Expect expectation `yaml:"expect"`
	// Golden says how the trace is compared with the scenario's golden, under its
	// own variant. Without it the golden itself does.
	Golden *goldenEntry `yaml:"golden"`
}

// A toolEntry is a tool and how it behaves.
type toolEntry struct {
	Name        string `yaml:"name" jsonschema:"required"`
	Description string `yaml:"description"`
	// Version is shown with its results.
	Version string `yaml:"version"`
	// Input is the JSON Schema of the arguments; any object without it.
	Input jsonObject `yaml:"input"`
	// Output is the JSON Schema of the results; any text without it.
	Output jsonObject `yaml:"output"`
	// Permission says when the user is asked before the tool runs: never (the
	// default), once per batch, or for each call.
	Permission permissionWord `yaml:"permission"`
	// Idempotent says whether running a call twice does the same as running it
	// once. true: an abandoned try may be retried. false: a resumed session never
	// runs the call again.
	Idempotent *bool `yaml:"idempotent"`
	// Timeout bounds a try instead of the config's time.tool.
	Timeout time.Duration `yaml:"timeout"`
	// Retries is the number of retries instead of the config's retry.max.
	Retries *int `yaml:"retries" jsonschema:"minimum=0"`
	// Fallback is the tool that is called instead where the config's
	// policy.fallbacks says so.
	Fallback string `yaml:"fallback"`
	// SubRun says that its calls are runs of another loop.
	SubRun bool `yaml:"sub_run"`
	// Rate bounds how many of its calls start within a time.
	Rate rateEntry `yaml:"rate"`
	// Breaker disables it for a time after failed calls in a row.
	Breaker breakerEntry `yaml:"breaker"`
	// IgnoresCancel makes a cancelled try go on as if nothing had been said.
	IgnoresCancel bool `yaml:"ignores_cancel"`
	// Latency is how long an answer takes that does not say so itself; 200ms by
	// default.
	Latency latency `yaml:"latency"`
	// Answers are tried in order: the first that matches and is not used up
	// answers.
	Answers []answerEntry `yaml:"answers" jsonschema:"required"`
}

// A rateEntry bounds how often a tool is called.
type rateEntry struct {
	Calls int           `yaml:"calls" jsonschema:"required,minimum=1"`
	Per   time.Duration `yaml:"per" jsonschema:"required"`
}

// A breakerEntry says when a tool is disabled, and for how long.
type breakerEntry struct {
	Failures int           `yaml:"failures" jsonschema:"required,minimum=1"`
	Cooldown time.Duration `yaml:"cooldown" jsonschema:"required"`
}

// An answerEntry is one way for a tool to answer. It has one of result, error
// and hang.
type answerEntry struct {
	// When holds arguments that must be there with these values.
	When jsonValues `yaml:"when"`
	// Times is how many calls it answers before the next one takes over; for ever
	// without it.
	Times int `yaml:"times" jsonschema:"minimum=1"`
	// Result is the text of a success.
	Result *string `yaml:"result"`
	// ResultChars repeats the result up to that many characters.
	ResultChars int `yaml:"result_chars" jsonschema:"minimum=1"`
	// Error makes it a failure.
	Error codeWord `yaml:"error"`
	// Text is the error's message.
	Text string `yaml:"text"`
	// TokensIn is the number of tokens that each try reads, of a sub-run.
	TokensIn int64 `yaml:"tokens_in" jsonschema:"minimum=0,maximum=1000000000000"`
	// TokensOut is the number of tokens that it writes.
	TokensOut int64 `yaml:"tokens_out" jsonschema:"minimum=0,maximum=1000000000000"`
	// CostUSD is what it costs, in US dollars.
	CostUSD dollars `yaml:"cost_usd"`
	// Used is the number of calls that it makes.
	Used int `yaml:"used" jsonschema:"minimum=0,maximum=1000000"`
	// Failures are what the first tries of each call get instead.
	Failures []failureEntry `yaml:"failures"`
	// Hang never answers.
	Hang bool `yaml:"hang"`
	// Latency is how long it takes; the tool's without it.
	Latency latency `yaml:"latency"`
}

// A failureEntry is how one try of a call goes wrong: error or hang.
type failureEntry struct {
	Error   codeWord `yaml:"error"`
	Text    string   `yaml:"text"`
	Hang    bool     `yaml:"hang"`
	Latency latency  `yaml:"latency"`
}

// A stepEntry is what the model says to one request, or to several in a row.
type stepEntry struct {
	// When restricts the entry to requests that come right after something; it
	// then goes before those without.
	When whenWord `yaml:"when"`
	// Repeat is the number of requests that it answers, or forever; 1 by default.
	Repeat repeat `yaml:"repeat"`
	// State makes it an entry of that state: behind the other entries the model is
	// in the first state, whose entries answer in their order.
	State string `yaml:"state"`
	// Next are the states that may follow, each with its weight, on a state's last
	// entry; without it the state begins again.
	Next transitions `yaml:"next"`
	// Text is what the model says.
	Text string `yaml:"text"`
	// Calls are what it asks for: {tool: arguments}, the arguments a mapping or
	// the raw text of broken ones.
	Calls []callEntry `yaml:"calls"`
	// Finish is why the model stopped; stop or tool_calls by default.
	Finish string `yaml:"finish"`
	// TokensIn is the number of tokens read.
	TokensIn int64 `yaml:"tokens_in" jsonschema:"minimum=0,maximum=1000000000000"`
	// TokensOut is the number of tokens written.
	TokensOut int64 `yaml:"tokens_out" jsonschema:"minimum=0,maximum=1000000000000"`
	// CostUSD is what the reply costs, in US dollars.
	CostUSD dollars `yaml:"cost_usd"`
	// Latency is how long the whole reply takes; 2s by default.
	Latency latency `yaml:"latency"`
	// Chunks streams the text in that many pieces.
	Chunks int `yaml:"chunks" jsonschema:"minimum=1"`
	// FirstToken is when the first piece comes.
	FirstToken time.Duration `yaml:"first_token"`
	// Failures are what the first tries of each request get instead.
	Failures []modelFailureEntry `yaml:"failures"`
	// FailForever repeats the last failure without end.
	FailForever bool `yaml:"fail_forever"`
	// Wire is how the reply looks where it is served over HTTP.
	Wire stepWireWord `yaml:"wire"`
}

// A modelFailureEntry is how one try of a request goes wrong. Without status
// and hang the connection is lost.
type modelFailureEntry struct {
	// Status is the HTTP status.
	Status int `yaml:"status" jsonschema:"minimum=400,maximum=599"`
	// RetryAfter is what the server asks for.
	RetryAfter time.Duration `yaml:"retry_after"`
	Text       string        `yaml:"text"`
	// Hang never answers.
	Hang bool `yaml:"hang"`
	// Chunks is how many pieces of the reply come before.
	Chunks int `yaml:"chunks" jsonschema:"minimum=1"`
	// Latency is how long it takes until the failure; the entry's without it.
	Latency latency `yaml:"latency"`
	// Wire is how the failure looks where it is served over HTTP.
	Wire failureWireWord `yaml:"wire"`
}

// A userEntry is what the user does.
type userEntry struct {
	// Permissions answer what the user is asked: the first that fits. Without
	// one the user allows it after 200ms.
	Permissions []permissionEntry `yaml:"permissions"`
	// Replies answer the loop's questions, one after another. Without one the
	// user does not go on.
	Replies []replyEntry `yaml:"replies"`
	// Messages follow one another, each after the run before was done.
	Messages []messageEntry `yaml:"messages"`
	// Cancel is when the user gives up.
	Cancel *cancelEntry `yaml:"cancel"`
}

// A permissionEntry answers a question of the loop: answer or hang.
type permissionEntry struct {
	// Tool is the tool that it is about; any without it.
	Tool string `yaml:"tool"`
	// When holds arguments that must be there with these values.
	When jsonValues `yaml:"when"`
	// Times is how many questions it answers; for ever without it.
	Times int `yaml:"times" jsonschema:"minimum=1"`
	// Answer is allow or deny.
	Answer allowWord `yaml:"answer"`
	// Text is the reason for a denial.
	Text string `yaml:"text"`
	// After is how long the user takes; 200ms by default.
	After latency `yaml:"after"`
	// Hang never answers.
	Hang bool `yaml:"hang"`
}

// A messageEntry is a follow-up message, or its text alone.
type messageEntry struct {
	Text string `yaml:"text" jsonschema:"required"`
	// After is how long the user takes.
	After time.Duration `yaml:"after"`
}

func (m *messageEntry) decode(s *source, n ast.Node, what string) {
	type entry messageEntry
	decodeEither(s, n, what, &m.Text, (*entry)(m))
}

// A replyEntry answers a question of the loop, or is what the user says to it.
type replyEntry struct {
	// Text is what the user says.
	Text string `yaml:"text"`
	// Answer is whether the run goes on: allow (the default) or deny.
	Answer allowWord `yaml:"answer"`
	// Times is how many questions it answers; for ever without it.
	Times int `yaml:"times" jsonschema:"minimum=1"`
	// After is how long the user takes; 200ms by default.
	After latency `yaml:"after"`
	// Hang never answers.
	Hang bool `yaml:"hang"`
}

func (r *replyEntry) decode(s *source, n ast.Node, what string) {
	type entry replyEntry
	decodeEither(s, n, what, &r.Text, (*entry)(r))
}

// A cancelEntry is when the user gives up: at an instant, or right after a call
// started.
type cancelEntry struct {
	At   time.Duration `yaml:"at"`
	Call int           `yaml:"call" jsonschema:"minimum=1"`
}

// An expectation is what must be true of the session, or in a list of each of
// its runs, in their order.
type expectation struct {
	session expectEntry
	runs    []expectEntry // nil where it is no list
}

func (e *expectation) decode(s *source, n ast.Node, what string) {
	switch n.Type() {
	case ast.SequenceType:
		s.decode(n, reflectValue(&e.runs), what)
	case ast.MappingType:
		s.decode(n, reflectValue(&e.session), what)
	default:
		s.mismatch(n, what, "a mapping or a list of them")
	}
}

// An expectEntry is what must be true of the trace, or of the part of one run.
type expectEntry struct {
	EndState   endStateWord `yaml:"end_state"`
	Stop       string       `yaml:"stop"`
	Turns      *Range       `yaml:"turns"`
	ModelCalls *Range       `yaml:"model_calls"`
	Calls      *Range       `yaml:"calls"`
	Tries      *Range       `yaml:"tries"`
	Errors     *Range       `yaml:"errors"`
	Vetoed     *Range       `yaml:"vetoed"`
	Nudges     *Range       `yaml:"nudges"`
	Denied     *Range       `yaml:"denied"`
	Invalid    *Range       `yaml:"invalid"`
	// Time is the virtual time of the session, or of the run from its message to
	// its end.
	Time *TimeRange `yaml:"time"`
	// Events are what must and must not appear.
	Events eventsEntry `yaml:"events"`
}

// An eventsEntry names events.
type eventsEntry struct {
	Must    []eventWord `yaml:"must"`
	MustNot []eventWord `yaml:"must_not"`
}

// A goldenEntry says how a trace may differ from its golden.
type goldenEntry struct {
	// Mode is what must be the same: strict (the default), actions, unordered,
	// subset or superset; off says that there is no golden.
	Mode goldenWord `yaml:"mode"`
	// Allow lists differences that are fine, as RULE: REASON.
	Allow []string `yaml:"allow"`
}
