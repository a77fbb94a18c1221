package scenarios

import (
	"time"

	"github.com/goccy/go-yaml/ast"
)

// The structs below are the scenario language. Their yaml tags are its keys, their
// jsonschema tags are its constraints, and editors show the comments of their fields.
// The published JSON Schema is generated from them, with the comments of the fields.

// A scenarioFile is one scenario.
type scenarioFile struct {
	// Name is unique within the suite, which is the file's folder.
	Name string `yaml:"name" jsonschema:"required"`
	// Description is one sentence about the failure that the scenario shows.
	Description string `yaml:"description" jsonschema:"required"`
	// Label says whether the run should be stopped (runaway) or should finish
	// (healthy).
	Label labelWord `yaml:"label" jsonschema:"required"`
	// Source is the public report or document that the scenario comes from.
	Source string `yaml:"source"`
	// HeldBack says that no setting is chosen by looking at the scenario. It is kept to
	// check choices that were made on others.
	HeldBack bool `yaml:"held_back"`
	// Variant is the safety config that the scenario is meant for: a preset, or the
	// path of a file in the project, relative to this one. The default is hpd-agent.
	Variant string `yaml:"variant"`
	// Config holds changes to the variant, with the keys of a variant. A list replaces
	// the list of the variant.
	Config configNode `yaml:"config"`
	// Task is the user's first message.
	Task string `yaml:"task" jsonschema:"required"`
	// System is the system prompt.
	System string `yaml:"system"`
	// SafetyPrompt adds the loop's safety text to the system prompt, with the tools and
	// the limits.
	SafetyPrompt bool `yaml:"safety_prompt"`
	// Window is the model's context window in estimated tokens: a request above it is
	// refused with status 400 and context_length_exceeded, and uses up no entry of
	// model. The default 0 means no bound.
	Window int `yaml:"window" jsonschema:"minimum=0"`
	// Planner says how the model's decisions are read: native (the default) as
	// calls, json as one JSON action in its text.
	Planner plannerWord `yaml:"planner"`
	// ToolChoice makes the model call a tool: required, or a tool's name; auto (the
	// default) leaves it the choice. It goes with each request until the run's first
	// call, with {use: required, hold: true} with every one.
	ToolChoice toolChoice `yaml:"tool_choice"`
	// Critic judges the results of a turn, and the answer: none (the default), or
	// rules, which report each call that failed or found nothing as a gap, and each
	// constraint that the answer breaks.
	Critic criticWord `yaml:"critic"`
	// Constraints are what must hold of an answer. They stand in the system prompt, and
	// need critic: rules, which turns an answer back that breaks one.
	Constraints []constraintEntry `yaml:"constraints"`
	// Tools are the tools that the model can call, and how they behave.
	Tools []toolEntry `yaml:"tools"`
	// Model is what the model says. One entry answers one request, unless repeat
	// says otherwise.
	Model []stepEntry `yaml:"model" jsonschema:"oneof_required=model"`
	// Cassette is the recording of a live model, which replaces model: the path of a
	// .cassette.yaml file, relative to this one.
	Cassette string `yaml:"cassette" jsonschema:"oneof_required=cassette"`
	// User is what the user does after the task.
	User userEntry `yaml:"user"`
	// Hooks are checks of the host's own before and after calls.
	Hooks hooksEntry `yaml:"hooks"`
	// Faults are laid over the tools, the model and the user, such as drop model 3.
	Faults []faultEntry `yaml:"faults"`
	// Expect is what must be true of the trace under the scenario's own variant: one
	// mapping for the whole session, or a list with one entry for each run.
	Expect expectation `yaml:"expect"`
	// Golden says how the trace is compared with the scenario's golden, under its own
	// variant. Without it the golden's own header applies.
	Golden *goldenEntry `yaml:"golden"`
}

// A toolEntry is a tool and how it behaves.
type toolEntry struct {
	Name        string `yaml:"name" jsonschema:"required"`
	Description string `yaml:"description"`
	// Version is shown with its results.
	Version string `yaml:"version"`
	// Input is the JSON Schema of the arguments. Without it any object is valid.
	Input jsonObject `yaml:"input"`
	// Output is the JSON Schema of the results. Without it any text is valid.
	Output jsonObject `yaml:"output"`
	// Permission says when the user is asked before the tool runs: never (the
	// default), once per batch, or for each call.
	Permission permissionWord `yaml:"permission"`
	// Idempotent says whether running a call twice does the same as running it
	// once. true: any try may be retried. false: a try that may have taken effect
	// (a timeout, a lost connection, a failure of the server) is not retried, and a
	// resumed session never runs the call again. Unset: a try that was abandoned or
	// lost its connection is not retried.
	Idempotent *bool `yaml:"idempotent"`
	// Waits says that it sleeps, or polls with a delay. Repetition rules leave it out
	// unless their tools.only names it.
	Waits bool `yaml:"waits"`
	// Timeout bounds a try, in place of the config's time.tool.
	Timeout time.Duration `yaml:"timeout"`
	// Retries is the number of retries, in place of the config's retry.max.
	Retries *int `yaml:"retries" jsonschema:"minimum=0"`
	// Retry is the tool's own retry policy, in place of the config's retry. Keys that
	// it leaves out are as in the preset none.
	Retry *ownRetry `yaml:"retry"`
	// Fallback is the tool that is called instead if the config's policy.fallbacks
	// allows it.
	Fallback string `yaml:"fallback"`
	// SubRun says that its calls are runs of another loop. A tool with a session always
	// is one.
	SubRun bool `yaml:"sub_run"`
	// Rate bounds how many of its calls start within a period.
	Rate rateEntry `yaml:"rate"`
	// Breaker disables it for a time after failed calls in a row.
	Breaker breakerEntry `yaml:"breaker"`
	// IgnoresCancel makes a cancelled try go on as if it had not been cancelled.
	IgnoresCancel bool `yaml:"ignores_cancel"`
	// Latency is how long an answer takes if the answer has no latency; 200ms by
	// default.
	Latency latency `yaml:"latency"`
	// Answers are tried in order: the first that matches and is not used up answers.
	// Each has exactly one of result, error and hang.
	Answers []answerEntry `yaml:"answers" jsonschema:"oneof_required=answers"`
	// Session is what the tool runs instead of answering: a session of its own in the
	// same virtual time, with steps in the trace. Its answer is the result.
	Session *sessionEntry `yaml:"session" jsonschema:"oneof_required=session"`
}

// A sessionEntry is a sub-run as a session of its own.
type sessionEntry struct {
	// Task is its first message; without it, the arguments of the call.
	Task string `yaml:"task"`
	// System is its system prompt.
	System string `yaml:"system"`
	// Planner says how its model's decisions are read: native (the default) as
	// calls, json as one JSON action in its text.
	Planner plannerWord `yaml:"planner"`
	// Tools are its own tools.
	Tools []toolEntry `yaml:"tools"`
	// Shared names tools of the sessions around it that it can call too, also the
	// tool that it belongs to. A shared tool has no fallback unless the session has
	// that tool too.
	Shared []string `yaml:"shared"`
	// Model is what its model says.
	Model []stepEntry `yaml:"model" jsonschema:"required"`
	// Config holds changes to the scenario's config, with the keys of a variant.
	// Without it the sub-run has the config of its caller.
	Config configNode `yaml:"config"`
}

// A toolChoiceEntry says what the model must call.
type toolChoiceEntry struct {
	// Use is required, auto or a tool's name.
	Use string `yaml:"use" jsonschema:"required"`
	// Hold makes it go on after the run's first call.
	Hold bool `yaml:"hold"`
}

// A constraintEntry is something that must hold when the model answers. It has at least
// one of called, says and omits.
type constraintEntry struct {
	// Text says it to the model.
	Text string `yaml:"text" jsonschema:"required"`
	// Called is a tool of which a call must have succeeded in the run.
	Called string `yaml:"called"`
	// With is a regular expression that the arguments of this call must match.
	With string `yaml:"with"`
	// After is a tool: the call must come in a later turn than the last one of this
	// tool that ran, and is not needed if none ran.
	After string `yaml:"after"`
	// Says is a regular expression that the answer must match.
	Says string `yaml:"says"`
	// Omits is a regular expression that the answer must not match.
	Omits string `yaml:"omits"`
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

// An answerEntry is one way for a tool to answer. It has exactly one of result, error
// and hang.
type answerEntry struct {
	// When holds arguments that the call must have, with these values.
	When jsonValues `yaml:"when"`
	// Times is how many calls it answers before the next answer takes over. Without it
	// there is no end.
	Times int `yaml:"times" jsonschema:"minimum=1"`
	// Result is the text of a success.
	Result *string `yaml:"result"`
	// ResultChars is the number of characters up to which the result is repeated.
	ResultChars int `yaml:"result_chars" jsonschema:"minimum=1"`
	// Error is the code of a failed call.
	Error codeWord `yaml:"error"`
	// Text is the error's message.
	Text string `yaml:"text"`
	// TokensIn is the number of tokens that each try reads, for a sub-run.
	TokensIn int64 `yaml:"tokens_in" jsonschema:"minimum=0,maximum=1000000000000"`
	// TokensOut is the number of tokens that each try writes.
	TokensOut int64 `yaml:"tokens_out" jsonschema:"minimum=0,maximum=1000000000000"`
	// CostUSD is the cost of each try, in US dollars.
	CostUSD dollars `yaml:"cost_usd"`
	// Used is the number of calls that each try makes.
	Used int `yaml:"used" jsonschema:"minimum=0,maximum=1000000"`
	// Failures are the failures of the first tries of each call.
	Failures []failureEntry `yaml:"failures"`
	// Hang makes it never answer.
	Hang bool `yaml:"hang"`
	// Latency is how long it takes. Without it the tool's latency applies.
	Latency latency `yaml:"latency"`
	// Wire is how the answer looks when it is served over MCP.
	Wire answerWireWord `yaml:"wire"`
}

// A failureEntry is how one try of a call fails: error or hang.
type failureEntry struct {
	Error   codeWord `yaml:"error"`
	Text    string   `yaml:"text"`
	Hang    bool     `yaml:"hang"`
	Latency latency  `yaml:"latency"`
	// Wire is how the failure looks when it is served over MCP.
	Wire errorWireWord `yaml:"wire"`
}

// A stepEntry is what the model says to one request, or to several in a row.
type stepEntry struct {
	// When restricts the entry to requests that come right after an event. Such an
	// entry takes precedence over entries without when.
	When whenEntry `yaml:"when"`
	// Repeat is the number of requests that it answers, or forever; 1 by default.
	Repeat repeat `yaml:"repeat"`
	// State makes it an entry of that state. After the entries without a state, the
	// model enters the first state, whose entries answer in their order.
	State string `yaml:"state"`
	// Optional says that the run may end before the entry is asked for. Otherwise a
	// healthy run that does so is inconclusive.
	Optional bool `yaml:"optional"`
	// Next are the states that may follow, each with its weight. It belongs on a
	// state's last entry; without it the state begins again.
	Next transitions `yaml:"next"`
	// Text is what the model says.
	Text string `yaml:"text"`
	// Calls are the calls that it asks for: {tool: arguments}. The arguments are a
	// mapping, or a raw text if they are to be broken.
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
	// Chunks is the number of pieces in which the text is streamed.
	Chunks int `yaml:"chunks" jsonschema:"minimum=1"`
	// FirstToken is when the first piece comes, counted from the request.
	FirstToken time.Duration `yaml:"first_token"`
	// Failures are the failures of the first tries of each request.
	Failures []modelFailureEntry `yaml:"failures"`
	// FailForever repeats the last of the failures without end.
	FailForever bool `yaml:"fail_forever"`
	// Wire is how the reply looks when it is served over HTTP.
	Wire stepWireWord `yaml:"wire"`
}

// A whenEntry is a word, or {result: …} with a condition on the last result.
type whenEntry struct {
	word   whenWord
	result resultEntry
}

// A resultEntry is a condition on the last result that the model has read: contains,
// matches, or path and is.
type resultEntry struct {
	// Contains is a text that the result contains.
	Contains string `yaml:"contains"`
	// Matches is a regular expression that the result matches.
	Matches string `yaml:"matches"`
	// Path leads to a field of a JSON result, such as job.state or items.0.id.
	Path string `yaml:"path"`
	// Is is the value of that field.
	Is *jsonValue `yaml:"is"`
}

// A modelFailureEntry is how one try of a request fails. Without status and hang the
// connection is lost.
type modelFailureEntry struct {
	// Status is the HTTP status.
	Status int `yaml:"status" jsonschema:"minimum=400,maximum=599"`
	// RetryAfter is the delay before the next try that the server asks for.
	RetryAfter time.Duration `yaml:"retry_after"`
	Text       string        `yaml:"text"`
	// Hang makes it never answer.
	Hang bool `yaml:"hang"`
	// Chunks is how many pieces of the reply come before the failure.
	Chunks int `yaml:"chunks" jsonschema:"minimum=1"`
	// Latency is how long it takes until the failure. Without it the entry's latency
	// applies.
	Latency latency `yaml:"latency"`
	// Wire is how the failure looks when it is served over HTTP.
	Wire failureWireWord `yaml:"wire"`
}

// A userEntry is what the user does.
type userEntry struct {
	// Permissions answer requests for permission: the first that matches answers. If
	// none matches, the user allows the call after 200ms.
	Permissions []permissionEntry `yaml:"permissions"`
	// Replies answer the loop's questions, one after another. Where none is left, the
	// user does not go on.
	Replies []replyEntry `yaml:"replies"`
	// Messages are the user's next messages: follow-ups, each sent after the run before,
	// and those that are said during a run.
	Messages []messageEntry `yaml:"messages"`
	// Cancel is when the user gives up.
	Cancel *cancelEntry `yaml:"cancel"`
}

// A hooksEntry is what the host does before and after calls.
type hooksEntry struct {
	// BeforeCall acts before a call: the first that matches.
	BeforeCall []beforeCallEntry `yaml:"before_call"`
	// AfterCall acts after a call that was executed: the first that matches.
	AfterCall []afterCallEntry `yaml:"after_call"`
}

// A beforeCallEntry vetoes a call, changes its arguments or ends the run. It has
// exactly one of veto, args and end.
type beforeCallEntry struct {
	// Tool is the tool of the call. Without it any tool matches.
	Tool string `yaml:"tool"`
	// When holds arguments that the call must have, with these values.
	When jsonValues `yaml:"when"`
	// Times is how many calls it acts on. Without it there is no end.
	Times int `yaml:"times" jsonschema:"minimum=1"`
	// Veto vetoes the call, for this reason.
	Veto string `yaml:"veto"`
	// Args are the arguments that the tool gets in place of the model's.
	Args jsonObject `yaml:"args"`
	// End ends the run as cancelled, for this reason.
	End string `yaml:"end"`
}

// An afterCallEntry replaces the result of a call.
type afterCallEntry struct {
	// Tool is the tool of the call. Without it any tool matches.
	Tool string `yaml:"tool"`
	// Times is how many calls it acts on. Without it there is no end.
	Times int `yaml:"times" jsonschema:"minimum=1"`
	// Result is what the model reads in place of the tool's result.
	Result string `yaml:"result" jsonschema:"required"`
}

// A permissionEntry answers a request for permission: answer or hang.
type permissionEntry struct {
	// Tool is the tool that the request is about. Without it any tool matches.
	Tool string `yaml:"tool"`
	// When holds arguments that the call must have, with these values.
	When jsonValues `yaml:"when"`
	// Times is how many questions it answers. Without it there is no end.
	Times int `yaml:"times" jsonschema:"minimum=1"`
	// Answer is allow or deny.
	Answer allowWord `yaml:"answer"`
	// Text is the reason for a denial.
	Text string `yaml:"text"`
	// After is how long the user takes to answer; 200ms by default.
	After latency `yaml:"after"`
	// Hang makes it never answer.
	Hang bool `yaml:"hang"`
}

// A messageEntry is a further message, or its text alone.
type messageEntry struct {
	Text string `yaml:"text" jsonschema:"required"`
	// After is the end of the run before after which it is sent: done (the default), or
	// any.
	After afterWord `yaml:"after"`
	// Wait is how long the user waits after that end.
	Wait time.Duration `yaml:"wait"`
	// At is the instant at which the user says it while a run is under way. The model
	// reads it with its next request.
	At time.Duration `yaml:"at"`
}

func (m *messageEntry) decode(s *source, n ast.Node, what string) {
	type entry messageEntry
	decodeEither(s, n, what, &m.Text, (*entry)(m))
}

// A replyEntry answers a question of the loop: a mapping, or its text alone.
type replyEntry struct {
	// Text is what the user says.
	Text string `yaml:"text"`
	// Answer is whether the run goes on: allow (the default) or deny.
	Answer allowWord `yaml:"answer"`
	// Times is how many questions it answers. Without it there is no end.
	Times int `yaml:"times" jsonschema:"minimum=1"`
	// After is how long the user takes to answer; 200ms by default.
	After latency `yaml:"after"`
	// Hang makes it never answer.
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

// An expectation is what must be true of the session, or as a list, of each of its runs
// in their order.
type expectation struct {
	session expectEntry
	runs    []expectEntry // nil if it is not a list
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
	// Refused counts the calls that a detector or a hook vetoed or a limit refused,
	// without those that fell with a stop.
	Refused *Range `yaml:"refused"`
	// Interfered counts those of them that the scenario's own variant lets through.
	Interfered *Range `yaml:"interfered"`
	// SubRuns counts the sub-runs that were sessions of their own, at any depth.
	SubRuns *Range `yaml:"sub_runs"`
	// SubStops are stops that must have ended one of those sub-runs each.
	SubStops []string `yaml:"sub_stops"`
	// Time is the virtual time of the session, or of the run from its message to
	// its end.
	Time *TimeRange `yaml:"time"`
	// Events are the events that must and must not appear.
	Events eventsEntry `yaml:"events"`
}

// An eventsEntry names events.
type eventsEntry struct {
	Must    []eventWord `yaml:"must"`
	MustNot []eventWord `yaml:"must_not"`
}

// A goldenEntry says how a trace may differ from its golden.
type goldenEntry struct {
	// Mode is what must be equal: strict (the default), actions, unordered, subset or
	// superset. off says that there is no golden.
	Mode goldenWord `yaml:"mode"`
	// Allow lists the allowances, which are differences that are accepted, as RULE:
	// REASON.
	Allow []string `yaml:"allow"`
}
