package loop

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agentbench-go/agentbench/loop/detect"
)

// A Config is one safety config: every limit, timeout, counter and detector of
// the loop. The zero Config has every mechanism off. [Default] returns the preset
// hpd-agent. The tags are the field names in YAML.
//
// Unless its field says otherwise, a counter restarts with each user message
// under ScopeRun, and never under ScopeSession. The package comment lists the
// counter of each mechanism.
type Config struct {
	Scope      Scope             `yaml:"scope"`
	Limits     Limits            `yaml:"limits"`
	Time       Time              `yaml:"time"`
	Errors     Errors            `yaml:"errors"`
	Retry      Retry             `yaml:"retry"`
	ModelRetry ModelRetry        `yaml:"model_retry"`
	Parallel   Parallel          `yaml:"parallel"`
	History    History           `yaml:"history"`
	Contracts  Contracts         `yaml:"contracts"`
	Policy     Policy            `yaml:"policy"`
	Detectors  []detect.Detector `yaml:"detectors"`
}

// A Scope says what limits and counters belong to: one run, or the session.
type Scope string

// The scopes. The zero value is ScopeRun.
const (
	ScopeRun     Scope = "run"     // limits and counters restart with each user message
	ScopeSession Scope = "session" // limits and counters go on over the session
)

// Limits bound the amount of work. 0 turns a limit off, and a negative value is
// an error.
type Limits struct {
	// Turns is the largest number of replies. The calls of the last one still
	// run; AtLimit happens instead of the next request.
	Turns int `yaml:"turns"`
	// Asked is the largest number of calls that the model asks for, whatever becomes
	// of them: unknown, invalid, vetoed, denied and refused calls count too, also
	// those of a last reply. Call N+1 is refused, the calls before it in its batch
	// run, and then AtLimit happens. Retries and the calls of sub-runs do not count.
	Asked int `yaml:"asked"`
	// Calls is the largest number of calls that run. Call N+1 is refused, the calls
	// before it in its batch run, and then AtLimit happens. A call counts when it
	// passes this check, even if a gate denies it afterwards. Retries do not
	// count; calls of sub-runs do once these have ended, so that later calls of the
	// batch may still be refused when their turn comes.
	Calls int `yaml:"calls"`
	// CallsPerTurn is the largest number of calls in one reply. The calls beyond
	// it are refused, and the run goes on. Each turn starts at 0.
	CallsPerTurn int `yaml:"calls_per_turn"`
	// Tokens is the largest sum of tokens read and written, those of sub-runs
	// included. If a reply brings the sum above it, its calls are refused and the
	// run stops. If a sub-run does, the calls of the batch that have not started are
	// refused and none is tried again; what runs may end, then the run stops. A reply
	// without calls still ends the run as done; the next run of a session whose Scope
	// counts on then asks for nothing.
	Tokens int64 `yaml:"tokens"`
	// CostUSD is the largest cost in US dollars, and works as Tokens does. The
	// machine counts in nano-dollars, of which the limit must be one at least.
	CostUSD float64 `yaml:"cost_usd"`
	// Tries is the largest number of tries over all calls. Try N+1 is not made,
	// its call keeps the error of the try before, and the run stops after the
	// batch.
	Tries int `yaml:"tries"`
	// Steps is the largest number of steps. Each reply is a step, and so is each
	// batch of which a call runs, is unknown or has invalid arguments. The run stops
	// at step N with the stop turn-limit, even if that step was the answer
	// (LangGraph's recursion limit).
	Steps int `yaml:"steps"`
	// Depth is how deep sub-runs may be nested. A call that would start a deeper
	// one is refused, and the run stops after the batch.
	Depth int `yaml:"depth"`
	// Spawns is the largest number of sub-runs, those that sub-runs start included
	// once they have ended. The call that would start one more is refused, also in the
	// middle of a batch, and the run stops after the batch.
	Spawns int `yaml:"spawns"`
	// AtLimit says what happens at the turn, step, asked and call limit.
	AtLimit AtLimit `yaml:"at_limit"`
	// Adapt tightens Turns and Calls while too many calls fail.
	Adapt Adapt `yaml:"adapt"`
	// Near is the number of turns, asked calls or calls left at which the loop warns the
	// model, once a run, with the next request. 0 means never.
	Near int `yaml:"near"`
}

// Adapt tightens limits.turns and limits.calls as errors grow. While the share of
// failed calls (as errors.kinds counts them, of all that have ended) is above Errors, a
// limit N is
//
//	Floor + (N - Floor) × (1 - share) / (1 - Errors)
//
// rounded down: N at that share, Floor if every call fails. When calls succeed again
// the limit rises again. The counts restart as those of the limits do.
type Adapt struct {
	// Errors is that share, from 0 to below 1, to a thousandth. 0 turns it off.
	Errors float64 `yaml:"errors"`
	// Floor is what a limit never falls below; 0 counts as 1. A limit that is not
	// above it stays as it is.
	Floor int `yaml:"floor"`
}

// limit returns a limit as it is after so many of the calls that have ended failed.
func (a *Adapt) limit(limit, failed, ended int) int {
	above, floor := int(math.Round(a.Errors*1000)), max(1, a.Floor)
	if above == 0 || limit <= floor || failed*1000 <= above*ended {
		return limit
	}
	return floor + min(limit-floor, 1<<31)*(ended-failed)*1000/(ended*(1000-above))
}

// nanoDollars returns CostUSD in the unit of the machine.
func (l *Limits) nanoDollars() int64 { return int64(math.Round(l.CostUSD * 1e9)) }

// An AtLimit says what happens instead of the work that a limit forbids. The stop
// is the limit's, whatever the model says after it, with one exception: a last reply
// under LimitGrace that asks for no calls is the answer, and the run is done.
type AtLimit string

// The choices. The zero value is LimitStop.
const (
	LimitStop  AtLimit = "stop"         // the run stops
	LimitFinal AtLimit = "final-answer" // the model gives one more reply, without tools
	// LimitSummary is as LimitFinal, and tells the model to sum up.
	LimitSummary AtLimit = "summary"
	LimitGrace   AtLimit = "grace" // the model gives one more reply, tools offered; without calls it is the answer, and else its calls are refused
	LimitAsk     AtLimit = "ask"   // the user is asked; going on sets the limit's count to 0
)

// Time holds the deadlines. 0 turns a deadline off, except that a Grace of 0
// abandons a cancelled try at once.
type Time struct {
	// Run bounds each run, from the user's message on. The scope does not matter.
	Run time.Duration `yaml:"run"`
	// Model bounds one try of a model request.
	Model time.Duration `yaml:"model"`
	// Summary bounds one try of a request for a summary; 0 means as Model.
	Summary time.Duration `yaml:"summary"`
	// FirstToken bounds the wait for the first delta of a try. A reply that is not
	// streamed must come within it as a whole.
	FirstToken time.Duration `yaml:"first_token"`
	// Chunk bounds the wait for the next delta, or the reply, after a delta.
	Chunk time.Duration `yaml:"chunk"`
	// Tool bounds one try of a call, unless the tool has a Timeout of its own.
	Tool time.Duration `yaml:"tool"`
	// Grace is how long a cancelled try may take to end before it is abandoned.
	Grace time.Duration `yaml:"grace"`
	// Permission bounds the wait for the answer to a permission. A call that nobody
	// allows in time is denied, and the run goes on. The clock of Run may be stopped
	// meanwhile, that of Permission is not.
	Permission time.Duration `yaml:"permission"`
	// PauseForUser stops the clock of Run while a gate or a question is open.
	PauseForUser bool `yaml:"pause_for_user"`
}

// Errors limits failing turns in a row. A turn with calls that is not failing
// sets the count to 0. A turn whose calls were all not-started changes nothing.
type Errors struct {
	// MaxConsecutive is the limit; 0 turns it off.
	MaxConsecutive int `yaml:"max_consecutive"`
	// Trip says whether the count must reach or exceed the limit.
	Trip Trip `yaml:"trip"`
	// Batch says how many calls must fail to make a turn a failing one.
	Batch BatchRule `yaml:"batch"`
	// Kinds lists the kinds of error that count; empty means none.
	Kinds []ErrorKind `yaml:"kinds"`
	// TextPrefix makes a successful result that begins with it an error of kind
	// text. The loop's own error results begin with it too. "" means that no text
	// is an error.
	TextPrefix string `yaml:"text_prefix"`
	// Normalize names a failed model request in the outcome by its [Code] and
	// HTTP status instead of the provider's words.
	Normalize bool `yaml:"normalize"`
	// ProviderDetails adds the provider's words to a normalized failure.
	ProviderDetails bool `yaml:"provider_details"`
}

// A Trip says when a count trips its limit.
type Trip string

// The trips. The zero value is TripReached.
const (
	TripReached  Trip = "reached"  // count >= limit
	TripExceeded Trip = "exceeded" // count > limit
)

// A BatchRule says which turns are failing.
type BatchRule string

// The batch rules. The zero value is BatchAll.
const (
	BatchAll BatchRule = "all" // those of which every call failed
	BatchAny BatchRule = "any" // those of which a call failed
)

// An ErrorKind is a way in which a call fails.
type ErrorKind string

// The kinds of error.
const (
	KindException ErrorKind = "exception" // a typed error code
	KindText      ErrorKind = "text"      // a result that begins with errors.text_prefix
	KindUnknown   ErrorKind = "unknown"   // no tool has the name
	KindInvalid   ErrorKind = "invalid"   // the arguments are not a JSON object, or break the tool's schema
	KindDenied    ErrorKind = "denied"    // a gate denied it
	KindVetoed    ErrorKind = "vetoed"    // a detector or hook vetoed it, or a limit refused it
)

// ErrorKinds returns every kind.
func ErrorKinds() []ErrorKind {
	return []ErrorKind{KindException, KindText, KindUnknown, KindInvalid, KindDenied, KindVetoed}
}

// Retry says which failed tries of a call are retried, and when.
type Retry struct {
	// Max is the number of retries after the first try: 3 means 4 tries, 0 means
	// no retry. Each call starts at 0, and so does its fallback.
	Max int `yaml:"max"`
	// Base and Cap are the numbers of the Backoff formula. A Cap of 0 means no
	// cap.
	Base    time.Duration `yaml:"base"`
	Backoff Backoff       `yaml:"backoff"`
	Cap     time.Duration `yaml:"cap"`
	// Timeouts allows a retry after a try that ran out of time, unless the tool is
	// [NotIdempotent]. After an abandoned try it must be [Idempotent].
	Timeouts bool `yaml:"timeouts"`
	// Codes lists the codes that are retried; RetryableServer stands for
	// [ConnectionLost] and [NotSent] too. A call of a [NotIdempotent] tool is
	// retried only after a try that took no effect.
	Codes []Code `yaml:"codes"`
}

// ModelRetry says which failed model requests are retried, and how often the
// model is asked again after a reply that cannot be used.
type ModelRetry struct {
	// Max is the number of retries after the first try; 0 means no retry. Each
	// request starts at 0.
	Max     int           `yaml:"max"`
	Base    time.Duration `yaml:"base"`
	Backoff Backoff       `yaml:"backoff"`
	Cap     time.Duration `yaml:"cap"` // 0 means no cap
	// MaxWait is the longest wait before a retry. If the formula or the server's
	// Retry-After asks for a longer one, the request fails at once. 0 means no
	// bound.
	MaxWait time.Duration `yaml:"max_wait"`
	// Statuses lists the HTTP statuses that are retried, each a number or a class
	// such as 5xx. A timeout, a broken stream and a lost connection count as 5xx.
	Statuses []string `yaml:"statuses"`
	// SameDeadline is how often one request may run into the same deadline
	// (time.model or time.summary, time.first_token, or time.chunk): after that it
	// is not tried again. 0 means no bound but Max. Each request starts at 0.
	SameDeadline int `yaml:"same_deadline"`
	// BrokenStreams is how often one request may fail after deltas have come: after
	// that it is not tried again. 0 means no bound but Max. Each request starts at 0.
	BrokenStreams int `yaml:"broken_streams"`
	// EmptyReplies is how many replies in a row may be unusable (empty, cut off by
	// the length limit, without the calls that it announces, or not an action of the
	// planner) before one that was not cut off stops the run. After each of them the
	// model is asked again. 0 stops at the first.
	EmptyReplies int `yaml:"empty_replies"`
	// CutReplies is the same for a reply that the length limit cut off: more unusable
	// replies than this in a row stop the run if the last one was cut off.
	CutReplies int `yaml:"cut_replies"`
	// GapReplies is the same for an answer in which the critic finds gaps (see
	// [Task].Critic): more unusable replies than this in a row stop the run if the last
	// one had gaps.
	GapReplies int `yaml:"gap_replies"`
}

// Parallel bounds how many calls of a batch run at once.
type Parallel struct {
	// Max is the largest number of calls at once: 1 means one after another, 0
	// means the whole batch.
	Max int `yaml:"max"`
}

// History bounds the messages that the model is asked with.
type History struct {
	// MaxMessages is the number of messages above which the oldest are dropped
	// before a request. A reply is always dropped together with its results. 0
	// means no bound.
	MaxMessages int `yaml:"max_messages"`
	// KeepFirst protects the first user message from dropping and compaction.
	KeepFirst bool `yaml:"keep_first"`
	// KeepLast protects the last N messages, even if MaxMessages cannot be met
	// then. The newest group is always kept: a reply with its results, or the
	// last message if it has none.
	KeepLast int `yaml:"keep_last"`
	// CompactAt is the number of messages above which the model is asked to sum
	// up the old ones. CompactTokens is the same in tokens of the whole request,
	// with system prompt and tools, as [EstimateRequest] counts them. 0 means never.
	// What KeepFirst and KeepLast protect and the newest group stay, and a reply
	// stays together with its results.
	CompactAt     int `yaml:"compact_at"`
	CompactTokens int `yaml:"compact_tokens"`
	// CompactOnOverflow compacts the history when the model refuses a request for
	// a reply as longer than its context window ([Overflow]), and asks again. If
	// false, such a failure is one like any other.
	CompactOnOverflow bool `yaml:"compact_on_overflow"`
	// A compaction is without gain if it frees less than MinGain, a share of the
	// history's messages or tokens from 0 to 1, or nothing; if the history is still
	// above its bound afterwards; or if another one is needed at most ThrashTurns
	// turns later. Without two messages to replace it is one without gain, too.
	// After CompactionsWithoutGain of them in a row the run stops with
	// compaction-thrash; at once, if what no compaction can drop is above the
	// bound. 0 means never.
	MinGain                float64 `yaml:"min_gain"`
	ThrashTurns            int     `yaml:"thrash_turns"` // 0 means that the time between two does not matter
	CompactionsWithoutGain int     `yaml:"compactions_without_gain"`
	// MaxResultChars is the length above which a result is cut, with a notice, in
	// characters (Unicode code points), not bytes. 0 means no bound.
	MaxResultChars int `yaml:"max_result_chars"`
}

// A Backoff is a formula for the wait before retry n (n = 1 for the first).
type Backoff string

// The backoffs. The zero value is Linear. No wait is longer than the cap.
const (
	Linear      Backoff = "linear"      // base × n
	Constant    Backoff = "constant"    // base
	Exponential Backoff = "exponential" // base × 2^(n-1)
	// FullJitter draws from [0, base × 2^(n-1)].
	FullJitter Backoff = "full-jitter"
	// DecorrelatedJitter draws from [base, 3 × the wait before]. Both jitters are
	// from Marc Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog,
	// 2015.
	DecorrelatedJitter Backoff = "decorrelated-jitter"
)

// Off returns the preset none. Every mechanism is off, but has usual values for
// everything except its limit, so that setting the limit turns it on.
func Off() Config {
	return Config{
		Scope:      ScopeRun,
		Limits:     Limits{AtLimit: LimitStop, Adapt: Adapt{Floor: 3}},
		Time:       Time{Grace: 2 * time.Second},
		Errors:     Errors{Trip: TripReached, Batch: BatchAll, Kinds: ErrorKinds(), TextPrefix: "Error:", Normalize: true},
		Retry:      Retry{Base: time.Second, Backoff: Linear, Cap: 60 * time.Second, Timeouts: true, Codes: []Code{Timeout, RetryableServer, RateLimited}},
		ModelRetry: ModelRetry{Base: time.Second, Backoff: Exponential, Cap: 200 * time.Second, MaxWait: 200 * time.Second, Statuses: []string{"429", "5xx"}, EmptyReplies: 2, CutReplies: 2, GapReplies: 2},
		History:    History{KeepFirst: true, MinGain: 0.1, ThrashTurns: 3, CompactionsWithoutGain: 2},
		Contracts:  Contracts{PageLimit: 100, BrokenArgs: BrokenAnswered},
		Policy:     Policy{OnFailure: FailureModel},
	}
}

// Default returns the preset hpd-agent. It stops at 5 identical calls or 3
// failing turns in a row, retries a call 3 times after 1, 2 and 3 s, and allows
// 30 s a try and 5 min a run. Everything else is as in [Off].
func Default() Config {
	c := Off()
	c.Time.Run, c.Time.Tool = 5*time.Minute, 30*time.Second
	c.Errors.MaxConsecutive = 3
	c.Retry.Max = 3
	c.Detectors = []detect.Detector{{Name: "circuit-breaker", Do: []detect.Rung{{At: 5, Act: detect.Stop}}}}
	return c
}

// Validate reports every invalid value. Its error joins a [FieldError] for each,
// and is nil if there is none.
func (c *Config) Validate() error { return c.validate(0) }

// validate is Validate, with the least number that a limit may have which [Config.Within]
// sets: 0, or -1 for nothing left.
func (c *Config) validate(least int) error {
	var v validation
	left := func(field string, n int) {
		if n != least {
			v.count(field, n)
		}
	}
	oneOf(&v, "scope", c.Scope, "", ScopeRun, ScopeSession)
	v.count("limits.turns", c.Limits.Turns)
	left("limits.asked", c.Limits.Asked)
	left("limits.calls", c.Limits.Calls)
	v.count("limits.calls_per_turn", c.Limits.CallsPerTurn)
	left("limits.tokens", int(c.Limits.Tokens))
	v.count("limits.tries", c.Limits.Tries)
	v.count("limits.steps", c.Limits.Steps)
	v.count("limits.depth", c.Limits.Depth)
	left("limits.spawns", c.Limits.Spawns)
	v.count("limits.near", c.Limits.Near)
	v.count("limits.adapt.floor", c.Limits.Adapt.Floor)
	if e := c.Limits.Adapt.Errors; e != 0 && !(e >= 0.001 && e <= 0.999) {
		v.add("limits.adapt.errors", "must be 0 (off), or from 0.001 to 0.999, not %v", e)
	}
	oneOf(&v, "limits.at_limit", c.Limits.AtLimit, "", LimitStop, LimitFinal, LimitSummary, LimitGrace, LimitAsk)
	if usd := c.Limits.CostUSD; usd < float64(least) || math.IsNaN(usd) || usd > 1e9 || usd > 0 && usd < 1e-9 {
		v.add("limits.cost_usd", "must be 0 (off), or from 1e-9 to 1e9 dollars, not %v", usd)
	}
	v.duration("time.run", c.Time.Run)
	v.duration("time.model", c.Time.Model)
	v.duration("time.first_token", c.Time.FirstToken)
	v.duration("time.chunk", c.Time.Chunk)
	v.duration("time.tool", c.Time.Tool)
	v.duration("time.grace", c.Time.Grace)
	v.duration("time.permission", c.Time.Permission)
	v.count("errors.max_consecutive", c.Errors.MaxConsecutive)
	oneOf(&v, "errors.trip", c.Errors.Trip, "", TripReached, TripExceeded)
	oneOf(&v, "errors.batch", c.Errors.Batch, "", BatchAll, BatchAny)
	kinds := ErrorKinds()
	for i, k := range c.Errors.Kinds {
		if !slices.Contains(kinds, k) { // a replay validates many configs: words are for mistakes
			oneOf(&v, fmt.Sprintf("errors.kinds[%d]", i), k, kinds...)
		}
	}
	v.retry(&c.Retry)
	v.count("model_retry.max", c.ModelRetry.Max)
	v.duration("model_retry.base", c.ModelRetry.Base)
	v.duration("model_retry.cap", c.ModelRetry.Cap)
	v.duration("model_retry.max_wait", c.ModelRetry.MaxWait)
	oneOf(&v, "model_retry.backoff", c.ModelRetry.Backoff, backoffs...)
	for i, s := range c.ModelRetry.Statuses {
		if _, _, ok := statusRange(s); !ok {
			v.add(fmt.Sprintf("model_retry.statuses[%d]", i), "must be an HTTP status such as 429 or a class such as 5xx, not %q", s)
		}
	}
	v.count("model_retry.same_deadline", c.ModelRetry.SameDeadline)
	v.count("model_retry.broken_streams", c.ModelRetry.BrokenStreams)
	v.count("model_retry.empty_replies", c.ModelRetry.EmptyReplies)
	v.count("model_retry.cut_replies", c.ModelRetry.CutReplies)
	v.count("model_retry.gap_replies", c.ModelRetry.GapReplies)
	v.count("parallel.max", c.Parallel.Max)
	v.count("history.max_messages", c.History.MaxMessages)
	v.count("history.keep_last", c.History.KeepLast)
	v.count("history.compact_at", c.History.CompactAt)
	v.count("history.compact_tokens", c.History.CompactTokens)
	v.count("history.compactions_without_gain", c.History.CompactionsWithoutGain)
	v.count("history.thrash_turns", c.History.ThrashTurns)
	if g := c.History.MinGain; !(g >= 0 && g <= 1) {
		v.add("history.min_gain", "must be from 0 to 1, not %v", g)
	}
	v.duration("time.summary", c.Time.Summary)
	v.count("history.max_result_chars", c.History.MaxResultChars)
	oneOf(&v, "contracts.broken_args", c.Contracts.BrokenArgs, "", BrokenAnswered, BrokenDropped)
	v.count("contracts.repair", c.Contracts.Repair)
	v.count("contracts.page_limit", c.Contracts.PageLimit)
	v.count("contracts.max_payload_bytes", c.Contracts.MaxPayloadBytes)
	oneOf(&v, "policy.on_failure", c.Policy.OnFailure, "", FailureModel, FailureTable)
	names := map[string]bool{}
	for i := range c.Detectors {
		v.list, v.index = "detectors", i
		for _, p := range c.Detectors[i].Validate() {
			v.add(p.Field, "%s", p.Text)
		}
		if name := c.Detectors[i].Name; Stop(name).Means() != "" {
			v.add("name", "%q is the name of one of the loop's own stops: use another name", name)
		}
		if names[c.Detectors[i].Name] {
			v.add("name", "%q is used twice: give each detector its own name", c.Detectors[i].Name)
		}
		names[c.Detectors[i].Name] = true
	}
	return v.err()
}

var backoffs = []Backoff{"", Linear, Constant, Exponential, FullJitter, DecorrelatedJitter}

// A FieldError says which value of a [Config] or a [ToolSpec] is invalid, and why.
type FieldError struct {
	Field   string // as in YAML: limits.turns, detectors[0].name
	Problem string
}

func (e *FieldError) Error() string { return e.Field + ": " + e.Problem }

type validation struct {
	errs  []error
	list  string // what is validated is the element of this list with that index, if it is set
	index int
}

func (v *validation) err() error { return errors.Join(v.errs...) }

func (v *validation) add(field, format string, args ...any) {
	if v.list != "" {
		field = fmt.Sprintf("%s[%d].%s", v.list, v.index, field)
	}
	v.errs = append(v.errs, &FieldError{Field: field, Problem: fmt.Sprintf(format, args...)})
}

func (v *validation) count(field string, n int) {
	if n < 0 {
		v.add(field, "must be 0 (off) or more, not %d", n)
	}
}

func (v *validation) retry(r *Retry) {
	v.count("retry.max", r.Max)
	v.duration("retry.base", r.Base)
	v.duration("retry.cap", r.Cap)
	oneOf(v, "retry.backoff", r.Backoff, backoffs...)
	codes := Codes()[1:]
	for i, code := range r.Codes {
		if !slices.Contains(codes, code) {
			oneOf(v, fmt.Sprintf("retry.codes[%d]", i), code, codes...)
		}
	}
}

// maxDuration is the longest duration of a config. It keeps sums of instants and
// durations from overflowing.
const maxDuration = 10 * 365 * 24 * time.Hour

func (v *validation) duration(field string, d time.Duration) {
	if d < 0 || d > maxDuration {
		v.add(field, "must be from 0 to ten years, not %v", d)
	}
}

func oneOf[T ~string](v *validation, field string, got T, allowed ...T) {
	if slices.Contains(allowed, got) {
		return
	}
	var names []string
	for _, a := range allowed {
		if a != "" {
			names = append(names, string(a))
		}
	}
	v.add(field, "must be one of %s, not %q", strings.Join(names, ", "), got)
}

// statusRange reads "429" as 429..429 and "5xx" as 500..599.
func statusRange(s string) (lo, hi int, ok bool) {
	if len(s) == 3 && strings.EqualFold(s[1:], "xx") && s[0] >= '1' && s[0] <= '5' {
		lo = int(s[0]-'0') * 100
		return lo, lo + 99, true
	}
	n, err := strconv.Atoi(s)
	return n, n, err == nil && len(s) == 3 && n >= 100 && n <= 599
}

// retries reports whether a model failure with this HTTP status is retried; a
// status of 0 means that there was no HTTP answer.
func (r *ModelRetry) retries(status int) bool {
	for _, s := range r.Statuses {
		lo, hi, _ := statusRange(s)
		if status == 0 && lo == 500 && hi == 599 || lo <= status && status <= hi {
			return true
		}
	}
	return false
}

// wait returns the wait before retry n, counted from 1. draw returns a random
// number in [0, 1) that depends on k.
func (b Backoff) wait(base, limit time.Duration, n int, draw func(k int) float64) time.Duration {
	capped := func(d float64) time.Duration {
		if limit > 0 && d > float64(limit) {
			return limit
		}
		return time.Duration(min(d, float64(maxDuration)))
	}
	switch b {
	case Constant:
		return capped(float64(base))
	case Exponential:
		return capped(float64(base) * math.Pow(2, float64(n-1)))
	case FullJitter:
		return time.Duration(draw(n) * float64(capped(float64(base)*math.Pow(2, float64(n-1)))))
	case DecorrelatedJitter:
		wait := float64(base)
		for k := 1; k <= n; k++ {
			wait = float64(capped(float64(base) + draw(k)*max(0, 3*wait-float64(base))))
		}
		return time.Duration(wait)
	}
	return capped(float64(base) * float64(n))
}
