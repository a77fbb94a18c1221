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
// the loop. The zero Config has every mechanism off: a loop without any net.
// [Default] is the first seed's. Field names in YAML are those of the tags.
//
// What resets a counter, unless its field says otherwise: with ScopeRun every
// user message, with ScopeSession nothing.
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

// A Scope says what limits and counters belong to (decision D0).
type Scope string

// The scopes. The zero value is ScopeRun.
const (
	ScopeRun     Scope = "run"     // they restart with each user message
	ScopeSession Scope = "session" // they count over the session
)

// Limits bound the amount of work. 0 turns a limit off.
type Limits struct {
	// Turns is the largest number of replies. The calls of reply N run; instead
	// of asking for reply N+1 the run stops.
	Turns int `yaml:"turns"`
	// Calls is the largest number of calls: call N+1 is refused, its
	// batch-mates before it run, then the run stops. A call takes its place
	// when it passes this check, also when a gate denies it afterwards; retries
	// take none.
	Calls int `yaml:"calls"`
	// CallsPerTurn refuses the calls of one reply beyond the N-th. It does not
	// stop the run, and each turn starts anew.
	CallsPerTurn int `yaml:"calls_per_turn"`
	// Tokens is the largest sum of tokens read and written. When a reply brings
	// the sum above it, its calls are refused and the run stops; a reply
	// without calls still ends the run as done.
	Tokens int64 `yaml:"tokens"`
	// CostUSD is the same for the cost in US dollars, counted in nano-dollars.
	CostUSD float64 `yaml:"cost_usd"`
	// Tries is the largest number of tries over all calls. The try that would
	// be one too many is not made, its call ends with the error it has, and the
	// run stops after the batch.
	Tries int `yaml:"tries"`
	// Steps is the largest number of steps: a reply is one, and so is a batch
	// that runs. A run that reaches it stops as by the turn limit, also when
	// the last step was the answer (LangGraph's recursion limit).
	Steps int `yaml:"steps"`
	// Depth is how deep sub-runs may go: a call that would start one below it is
	// refused, and the run stops.
	Depth int `yaml:"depth"`
	// Spawns is the largest number of sub-runs. The call that would start one
	// too many is refused, and the run stops after the batch.
	Spawns int `yaml:"spawns"`
	// AtLimit says what happens at the turn, step and call limit.
	AtLimit AtLimit `yaml:"at_limit"`
	// Near tells the model how many turns or calls are left, once, when no
	// more than Near are. 0 = never.
	Near int `yaml:"near"`
}

// An AtLimit is what happens instead of the work that a limit forbids. The end
// state is the limit's whatever the model then says (decision D11).
type AtLimit string

// The choices. The zero value is LimitStop.
const (
	LimitStop  AtLimit = "stop"         // the run stops
	LimitFinal AtLimit = "final-answer" // one more reply, no tools offered
	LimitGrace AtLimit = "grace"        // one more reply with tools offered; its text counts, its calls do not run
	LimitAsk   AtLimit = "ask"          // the user is asked; to go on sets the limit's count to 0
)

// Time holds the deadlines. 0 turns a deadline off, except Grace, where it
// means that nothing is waited for.
type Time struct {
	// Run bounds a run, from the user's message on. With ScopeSession it still
	// bounds each run.
	Run time.Duration `yaml:"run"`
	// Model bounds one try of a model request.
	Model time.Duration `yaml:"model"`
	// Summary bounds one try of a request for a summary; 0 = as Model.
	Summary time.Duration `yaml:"summary"`
	// FirstToken bounds the wait for the first sign of an answer. A reply that
	// is not streamed is its own first token.
	FirstToken time.Duration `yaml:"first_token"`
	// Chunk bounds the wait between two pieces of a stream.
	Chunk time.Duration `yaml:"chunk"`
	// Tool bounds one try of a call.
	Tool time.Duration `yaml:"tool"`
	// Grace is how long a cancelled try may take to end before it is abandoned.
	Grace time.Duration `yaml:"grace"`
	// PauseForUser stops the clock of Run while a gate is open.
	PauseForUser bool `yaml:"pause_for_user"`
}

// Errors is the limit on failing turns in a row. Any turn with calls that is
// not failing sets the count to 0; one of which no call came so far as to start
// or be blocked changes nothing.
type Errors struct {
	// MaxConsecutive is the limit; 0 turns it off.
	MaxConsecutive int `yaml:"max_consecutive"`
	// Trip says whether the count must reach or exceed the limit.
	Trip Trip `yaml:"trip"`
	// Batch says how many calls must fail to make a turn a failing one.
	Batch BatchRule `yaml:"batch"`
	// Kinds lists what counts as an error; empty means nothing does.
	Kinds []ErrorKind `yaml:"kinds"`
	// TextPrefix marks a successful result as an error of kind text when the
	// result begins so; "" = no text is an error. The loop's own error results
	// begin with it too.
	TextPrefix string `yaml:"text_prefix"`
	// Normalize tells a failed model request in the outcome by the taxonomy's
	// code instead of the provider's words.
	Normalize bool `yaml:"normalize"`
	// ProviderDetails adds the provider's words all the same.
	ProviderDetails bool `yaml:"provider_details"`
}

// A Trip says when a count trips its limit (decision D3).
type Trip string

// The trips. The zero value is TripReached.
const (
	TripReached  Trip = "reached"  // count >= limit
	TripExceeded Trip = "exceeded" // count > limit
)

// A BatchRule says which turns are failing ones (decision D4).
type BatchRule string

// The batch rules. The zero value is BatchAll.
const (
	BatchAll BatchRule = "all" // no call of the turn succeeded
	BatchAny BatchRule = "any" // one failure is enough
)

// An ErrorKind is a way for a call to fail (decision D5).
type ErrorKind string

// The kinds of error.
const (
	KindException ErrorKind = "exception" // a typed error code
	KindText      ErrorKind = "text"      // a result that begins with errors.text_prefix
	KindUnknown   ErrorKind = "unknown"   // no tool has that name
	KindInvalid   ErrorKind = "invalid"   // arguments that are no JSON object
	KindDenied    ErrorKind = "denied"    // by a gate
	KindVetoed    ErrorKind = "vetoed"    // by a detector, or refused by a limit
)

// ErrorKinds lists every kind.
func ErrorKinds() []ErrorKind {
	return []ErrorKind{KindException, KindText, KindUnknown, KindInvalid, KindDenied, KindVetoed}
}

// Retry is how failed tries of a call are made again.
type Retry struct {
	// Max is the number of retries after the first try: 3 means 4 tries. 0 = no
	// retry. Each call starts anew.
	Max int `yaml:"max"`
	// Base and Cap are the numbers of the backoff formula; a Cap of 0 caps
	// nothing.
	Base    time.Duration `yaml:"base"`
	Backoff Backoff       `yaml:"backoff"`
	Cap     time.Duration `yaml:"cap"`
	// Timeouts says whether a try that timed out is retried. An abandoned try is
	// retried only if the tool is [Idempotent].
	Timeouts bool `yaml:"timeouts"`
	// Codes lists what is transient.
	Codes []Code `yaml:"codes"`
}

// ModelRetry is how failed model requests are made again, and replies that
// cannot be used are asked for again.
type ModelRetry struct {
	// Max is the number of retries after the first try; 0 = no retry. Each
	// request starts anew.
	Max     int           `yaml:"max"`
	Base    time.Duration `yaml:"base"`
	Backoff Backoff       `yaml:"backoff"`
	Cap     time.Duration `yaml:"cap"` // 0 caps nothing
	// MaxWait is the longest wait that is worth while, whether the formula or
	// the server's Retry-After asks for it: a longer one fails at once. 0 = no
	// bound.
	MaxWait time.Duration `yaml:"max_wait"`
	// Statuses lists the HTTP statuses that are retried: a number, or a class
	// such as 5xx. A timeout, a broken stream and a lost connection count as
	// 5xx.
	Statuses []string `yaml:"statuses"`
	// EmptyReplies is how often in a row a reply that cannot be used (empty, or
	// cut off by the length limit) is asked for again; 0 = never.
	EmptyReplies int `yaml:"empty_replies"`
}

// Parallel bounds how many calls of a batch run at once.
type Parallel struct {
	// Max: 0 = the whole batch, 1 = one after another.
	Max int `yaml:"max"`
}

// History bounds what the model is asked with.
type History struct {
	// MaxMessages is the size above which the oldest messages are dropped
	// before a request, a reply always together with its results. 0 = no bound.
	MaxMessages int `yaml:"max_messages"`
	// KeepFirst protects the first user message.
	KeepFirst bool `yaml:"keep_first"`
	// KeepLast protects the last N messages, also where MaxMessages then cannot
	// be met. The newest group is always kept: a reply with its results, or the
	// message at the end.
	KeepLast int `yaml:"keep_last"`
	// CompactAt is the size in messages above which the model is asked to sum
	// up the old ones; 0 = never. CompactTokens is the same in tokens as
	// [EstimateTokens] counts them. The first user message (KeepFirst), the
	// last KeepLast and the newest group stay; pairs stay whole.
	CompactAt     int `yaml:"compact_at"`
	CompactTokens int `yaml:"compact_tokens"`
	// MinGain is the least share of the history that a compaction must win, from
	// 0 to 1. CompactionsWithoutGain in a row that win less stop the run
	// (compaction-thrash); 0 = never.
	MinGain                float64 `yaml:"min_gain"`
	CompactionsWithoutGain int     `yaml:"compactions_without_gain"`
	// MaxResultChars is the size above which a result is cut, with a notice. It
	// counts characters (Unicode code points), not bytes. 0 = no bound.
	MaxResultChars int `yaml:"max_result_chars"`
}

// A Backoff is a formula for the wait before retry n (n = 1 for the first).
type Backoff string

// The backoffs. The zero value is Linear. Every wait is cut to the cap.
const (
	Linear      Backoff = "linear"      // base × n
	Constant    Backoff = "constant"    // base
	Exponential Backoff = "exponential" // base × 2^(n-1)
	// FullJitter draws from [0, base × 2^(n-1)].
	FullJitter Backoff = "full-jitter"
	// DecorrelatedJitter draws from [base, 3 × the wait before]. Both jitters
	// are those of Marc Brooker, "Exponential Backoff And Jitter", AWS
	// Architecture Blog, 2015.
	DecorrelatedJitter Backoff = "decorrelated-jitter"
)

// Off gives the preset none: every net off, and the values that a net would
// use when only its limit is set.
func Off() Config {
	return Config{
		Scope:      ScopeRun,
		Limits:     Limits{AtLimit: LimitStop},
		Time:       Time{Grace: 2 * time.Second},
		Errors:     Errors{Trip: TripReached, Batch: BatchAll, Kinds: ErrorKinds(), TextPrefix: "Error:", Normalize: true},
		Retry:      Retry{Base: time.Second, Backoff: Linear, Cap: 60 * time.Second, Timeouts: true, Codes: []Code{Timeout, RetryableServer, RateLimited}},
		ModelRetry: ModelRetry{Base: time.Second, Backoff: Exponential, Cap: 200 * time.Second, MaxWait: 200 * time.Second, Statuses: []string{"429", "5xx"}, EmptyReplies: 2},
		History:    History{KeepFirst: true, MinGain: 0.1, CompactionsWithoutGain: 2},
		Contracts:  Contracts{PageLimit: 100},
		Policy:     Policy{OnFailure: FailureModel},
	}
}

// Default gives the preset hpd-agent, the first seed's config and nothing
// else: 5 identical calls, 3 failing turns, 3 retries of 1 s linear, 30 s a
// try, 5 min a run.
func Default() Config {
	c := Off()
	c.Time.Run, c.Time.Tool = 5*time.Minute, 30*time.Second
	c.Errors.MaxConsecutive = 3
	c.Retry.Max = 3
	c.Detectors = []detect.Detector{{Name: "circuit-breaker", Do: []detect.Rung{{At: 5, Act: detect.Stop}}}}
	return c
}

// Validate reports every value that cannot be meant, each error beginning with
// the field's name as in YAML.
func (c *Config) Validate() error {
	var v validation
	oneOf(&v, "scope", c.Scope, "", ScopeRun, ScopeSession)
	v.count("limits.turns", c.Limits.Turns)
	v.count("limits.calls", c.Limits.Calls)
	v.count("limits.calls_per_turn", c.Limits.CallsPerTurn)
	v.count("limits.tokens", int(c.Limits.Tokens))
	v.count("limits.tries", c.Limits.Tries)
	v.count("limits.steps", c.Limits.Steps)
	v.count("limits.depth", c.Limits.Depth)
	v.count("limits.spawns", c.Limits.Spawns)
	v.count("limits.near", c.Limits.Near)
	oneOf(&v, "limits.at_limit", c.Limits.AtLimit, "", LimitStop, LimitFinal, LimitGrace, LimitAsk)
	if usd := c.Limits.CostUSD; usd < 0 || math.IsNaN(usd) || usd > 1e9 {
		v.add("limits.cost_usd", "must be from 0 (off) to 1e9 dollars, not %v", usd)
	}
	v.duration("time.run", c.Time.Run)
	v.duration("time.model", c.Time.Model)
	v.duration("time.first_token", c.Time.FirstToken)
	v.duration("time.chunk", c.Time.Chunk)
	v.duration("time.tool", c.Time.Tool)
	v.duration("time.grace", c.Time.Grace)
	v.count("errors.max_consecutive", c.Errors.MaxConsecutive)
	oneOf(&v, "errors.trip", c.Errors.Trip, "", TripReached, TripExceeded)
	oneOf(&v, "errors.batch", c.Errors.Batch, "", BatchAll, BatchAny)
	for i, k := range c.Errors.Kinds {
		oneOf(&v, fmt.Sprintf("errors.kinds[%d]", i), k, ErrorKinds()...)
	}
	v.count("retry.max", c.Retry.Max)
	v.duration("retry.base", c.Retry.Base)
	v.duration("retry.cap", c.Retry.Cap)
	oneOf(&v, "retry.backoff", c.Retry.Backoff, backoffs...)
	for i, code := range c.Retry.Codes {
		oneOf(&v, fmt.Sprintf("retry.codes[%d]", i), code, Codes()[1:]...)
	}
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
	v.count("model_retry.empty_replies", c.ModelRetry.EmptyReplies)
	v.count("parallel.max", c.Parallel.Max)
	v.count("history.max_messages", c.History.MaxMessages)
	v.count("history.keep_last", c.History.KeepLast)
	v.count("history.compact_at", c.History.CompactAt)
	v.count("history.compact_tokens", c.History.CompactTokens)
	v.count("history.compactions_without_gain", c.History.CompactionsWithoutGain)
	if g := c.History.MinGain; !(g >= 0 && g <= 1) {
		v.add("history.min_gain", "must be from 0 to 1, not %v", g)
	}
	v.duration("time.summary", c.Time.Summary)
	v.count("history.max_result_chars", c.History.MaxResultChars)
	v.count("contracts.repair", c.Contracts.Repair)
	v.count("contracts.page_limit", c.Contracts.PageLimit)
	v.count("contracts.max_payload_bytes", c.Contracts.MaxPayloadBytes)
	oneOf(&v, "policy.on_failure", c.Policy.OnFailure, "", FailureModel, FailureTable)
	names := map[string]bool{}
	for i := range c.Detectors {
		at := fmt.Sprintf("detectors[%d]", i)
		for _, p := range c.Detectors[i].Validate() {
			v.add(at+"."+p.Field, "%s", p.Text)
		}
		if name := c.Detectors[i].Name; slices.Contains(Stops(), Stop(name)) {
			v.add(at+".name", "%q is the name of another stop", name)
		}
		if names[c.Detectors[i].Name] {
			v.add(at+".name", "%q is used twice", c.Detectors[i].Name)
		}
		names[c.Detectors[i].Name] = true
	}
	return errors.Join(v.errs...)
}

var backoffs = []Backoff{"", Linear, Constant, Exponential, FullJitter, DecorrelatedJitter}

// A FieldError is a value of a [Config] that cannot be meant.
type FieldError struct {
	Field   string // as in YAML: limits.turns, detectors[0].name
	Problem string
}

func (e *FieldError) Error() string { return e.Field + ": " + e.Problem }

type validation struct{ errs []error }

func (v *validation) add(field, format string, args ...any) {
	v.errs = append(v.errs, &FieldError{Field: field, Problem: fmt.Sprintf(format, args...)})
}

func (v *validation) count(field string, n int) {
	if n < 0 {
		v.add(field, "must be 0 (off) or more, not %d", n)
	}
}

// maxDuration keeps sums of instants and durations from overflowing.
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

// retries reports whether a model failure with this HTTP status, 0 for none,
// is retried.
func (r *ModelRetry) retries(status int) bool {
	for _, s := range r.Statuses {
		lo, hi, _ := statusRange(s)
		if status == 0 && lo == 500 && hi == 599 || lo <= status && status <= hi {
			return true
		}
	}
	return false
}

// wait gives the wait before retry n, n counted from 1. draw gives a number
// from [0, 1) for the k-th wait of the same thing.
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
