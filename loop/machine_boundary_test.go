package loop_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/loop/detect"
)

// A boundary is a field of the config, two values of it, one script, and what
// the trace shows with the second value and not with the first. Where the field
// is a number the two are neighbours: of n-1 and n one trips, the other does
// not.
type boundary struct {
	field, without, with string
	rest                 string // other settings, with "; " between them
	script               string // of a toy world
	shows                string
}

// A reply takes 1 s, a call 1 s, a gate 1 s; a reply reads 10 tokens and costs 10
// nano-dollars. With cap 1.999999999s the second wait of 2 s ends at 5.999999999.
var boundaries = []boundary{
	{"scope", "run", "session", "limits.turns: 3", "a . | a .", "stop=turn-limit"}, // the third is the second run's

	{"limits.turns", "4", "3", "", "a a a .", "stop=turn-limit"},
	{"limits.asked", "3", "2", "", "A A A .", "stop=asked-limit"},
	{"limits.asked", "3", "2", "", "A u j .", "stop=asked-limit"}, // unknown and invalid calls too
	{"limits.asked", "3", "2", "", "AAA .", "why=refused"},
	{"limits.calls", "3", "2", "", "A A A .", "stop=call-limit"},
	{"limits.calls", "3", "2", "", "AAA .", "why=refused"},
	{"limits.calls_per_turn", "3", "2", "", "AAA .", "why=refused"},
	{"limits.tokens", "20", "19", "", "a a .", "stop=token-limit"},
	{"limits.cost_usd", "2e-8", "1.9e-8", "", "a a .", "stop=cost-limit"},
	{"limits.tries", "2", "1", "", "ab .", "stop=try-limit"},
	{"limits.tries", "2", "1", "retry.max: 1", "r .", "stop=try-limit"},
	{"limits.steps", "4", "3", "", "a .", "stop=turn-limit"}, // reply, batch, answer
	{"limits.depth", "2", "1", "", "z .", "stop=depth-limit"},
	{"limits.spawns", "2", "1", "", "zz .", "stop=spawn-limit"},
	{"limits.at_limit", "stop", "final-answer", "limits.turns: 1", "a .", "for=final"},
	{"limits.at_limit", "final-answer", "summary", "limits.turns: 1", "a .", "Give a short summary"},
	{"limits.at_limit", "stop", "grace", "limits.turns: 1", "a .", "for=grace"},
	{"limits.at_limit", "stop", "ask", "limits.turns: 1", "a .", "> ask q1"},
	// Two of three calls failed. 2000 thousandths are not above 3 × 667, but above 3 × 666.
	{"limits.adapt.errors", "0.667", "0.666", "limits.turns: 4; limits.adapt.floor: 3", "f F a .", "stop=turn-limit"},
	{"limits.adapt.errors", "0.667", "0.666", "limits.calls: 4; limits.adapt.floor: 3", "f F a A .", "stop=call-limit"},
	{"limits.adapt.floor", "4", "3", "limits.turns: 4; limits.adapt.errors: 0.5", "f F a .", "stop=turn-limit"},
	{"limits.near", "1", "2", "limits.turns: 3", "a .", "event=limit-near"},
	{"limits.near", "1", "2", "limits.calls: 3", "a .", "event=limit-near"},
	{"limits.near", "1", "2", "limits.asked: 3", "u .", "event=limit-near"},

	{"time.run", "3.000000001s", "3s", "", "a .", "stop=run-deadline"},
	{"time.model", "1.000000001s", "1s", "", ".", "text=model-timeout"},
	{"time.model", "1.000000001s", "1s", "", "+.", "text=model-timeout"},
	{"time.summary", "1.000000001s", "1s", "history.compact_at: 4", "a a .", "event=no-summary"},
	{"time.first_token", "1.000000001s", "1s", "", ".", "text=first-token-timeout"},
	{"time.first_token", "500.000001ms", "500ms", "", "+.", "text=first-token-timeout"},
	{"time.chunk", "500.000001ms", "500ms", "", "+.", "text=chunk-timeout"},
	{"time.tool", "1.000000001s", "1s", "", "a .", "code=Timeout"},
	{"time.grace", "1.000000001s", "1s", "time.tool: 1s", "s .", "event=abandoned"},
	{"time.permission", "1.000000001s", "1s", "", "p .", "event=unanswered"},
	{"time.pause_for_user", "true", "false", "time.run: 4s", "p .", "stop=run-deadline"}, // 1+1+1+1 s, 1 of them a gate

	{"errors.max_consecutive", "3", "2", "", "f F .", "stop=error-limit"},
	{"errors.trip", "exceeded", "reached", "errors.max_consecutive: 2", "f F .", "stop=error-limit"},
	{"errors.batch", "all", "any", "errors.max_consecutive: 1", "af .", "stop=error-limit"},
	{"errors.kinds", "text, unknown, invalid, denied, vetoed", "exception", "errors.max_consecutive: 1", "f .", "stop=error-limit"},
	{"errors.kinds", "exception, unknown, invalid, denied, vetoed", "text", "errors.max_consecutive: 1", "e .", "stop=error-limit"},
	{"errors.kinds", "exception, text, invalid, denied, vetoed", "unknown", "errors.max_consecutive: 1", "u .", "stop=error-limit"},
	{"errors.kinds", "exception, text, unknown, denied, vetoed", "invalid", "errors.max_consecutive: 1", "j .", "stop=error-limit"},
	{"errors.kinds", "exception, text, unknown, invalid, vetoed", "denied", "errors.max_consecutive: 1", "x .", "stop=error-limit"},
	{"errors.kinds", "exception, text, unknown, invalid, denied", "vetoed",
		"errors.max_consecutive: 1; detectors[0].name: twice; detectors[0].do[0].at: 1; detectors[0].do[0].act: veto", "a .", "stop=error-limit"},
	{"errors.text_prefix", "", "Error:", "errors.max_consecutive: 1", "e .", "stop=error-limit"},
	{"errors.text_prefix", "error:", "Err", "errors.max_consecutive: 1", "e .", "stop=error-limit"},
	{"errors.normalize", "false", "true", "", "!.", "RetryableServer (HTTP status 503)"},
	{"errors.provider_details", "false", "true", "", "!.", "overloaded.\""},

	{"retry.max", "1", "2", "", "r .", "> call c1#3"},
	{"retry.base", "1.000000001s", "1s", "retry.max: 1", "r .", "   3.000s tick\n          > call c1#2"}, // fails at 2 s
	{"retry.backoff", "constant", "linear", "retry.max: 2", "r .", "   6.000s tick\n          > call c1#3"},
	{"retry.backoff", "linear", "constant", "retry.max: 2", "r .", "   5.000s tick\n          > call c1#3"},
	{"retry.backoff", "linear", "exponential", "retry.max: 3", "r .", "  11.000s tick\n          > call c1#4"}, // 3, 6, and 7+4
	{"retry.cap", "1.999999999s", "2s", "retry.max: 2", "r .", "   6.000s tick\n          > call c1#3"},
	{"retry.timeouts", "false", "true", "retry.max: 1; time.tool: 2s", "t .", "> call c1#2"},
	{"retry.codes", "Timeout, RateLimited", "RetryableServer", "retry.max: 1", "r .", "> call c1#2"},

	{"model_retry.max", "1", "2", "", "!!.", "> ask m1#3"},
	{"model_retry.base", "1.000000001s", "1s", "model_retry.max: 1", "!.", "   2.000s tick\n          > ask m1#2"},
	{"model_retry.backoff", "linear", "exponential", "model_retry.max: 3", "!!!.", "  10.000s tick\n          > ask m1#4"}, // 2, 5, and 6+4
	{"model_retry.cap", "1.999999999s", "2s", "model_retry.max: 2", "!!.", "   5.000s tick\n          > ask m1#3"},
	{"model_retry.max_wait", "1s", "999.999999ms", "model_retry.max: 1", "!.", "event=gave-up"},
	{"model_retry.statuses", "502, 4xx", "503", "model_retry.max: 1", "!.", "> ask m1#2"},
	{"model_retry.same_deadline", "3", "2", "model_retry.max: 5; time.first_token: 500ms", ".", "incomplete model_calls=2 "},
	{"model_retry.empty_replies", "2", "1", "", "_ _ .", "stop=empty-reply"},
	{"model_retry.cut_replies", "2", "1", "", "~ ~ .", "stop=truncated-reply"},
	{"model_retry.cut_replies", "1", "0", "model_retry.empty_replies: 2", "~ .", "stop=truncated-reply"},
	{"model_retry.cut_replies", "2", "1", "model_retry.empty_replies: 9", "_ ~ .", "stop=truncated-reply"},
	{"model_retry.gap_replies", "2", "1", "", ", , .", "stop=unmet-goal"},
	{"model_retry.gap_replies", "1", "0", "model_retry.empty_replies: 9", ", .", "stop=unmet-goal"},
	{"model_retry.gap_replies", "2", "1", "", "_ , .", "stop=unmet-goal"},
	{"model_retry.broken_streams", "2", "1", "model_retry.max: 5; time.chunk: 400ms", "+.", "incomplete model_calls=1 "},
	{"contracts.broken_args", "answer", "drop", "", "j .", "event=dropped-call"},
	{"model_retry.empty_replies", "1", "0", "", "_ .", "stop=empty-reply"},

	{"parallel.max", "2", "1", "", "ab .", "ok text=\"the same\"\n          > call c2#1"},
	{"parallel.max", "0", "2", "", "abc .", "ok text=\"the same\"\n          > call c3#1"},

	// Before the third request: go, reply, result, reply, result. As tokens: 2
	// characters are 1+4 = 5, "reply 1", the name and {"x":1} are 15, 4+4 = 8, and
	// "the same" is 2+4 = 6: 5+8+6+8+6 = 33. Of the 19 tools 17 have one character of
	// name and input schema, w has 5 and m 8: 17+2+2 = 21 more for the whole request.
	{"history.max_messages", "5", "4", "", "a a .", "event=trimmed"},
	{"history.keep_first", "true", "false", "history.max_messages: 4", "a a .", "> drop u1"},
	{"history.keep_last", "3", "2", "history.max_messages: 4", "a a .", "event=trimmed"},
	{"history.max_result_chars", "8", "7", "", "a .", "event=truncated"},
	{"history.compact_at", "5", "4", "", "a a .", "for=summary"},
	{"history.compact_tokens", "54", "53", "", "a a .", "for=summary"},
	{"history.min_gain", "0.2", "0.21", "history.compact_at: 4; history.compactions_without_gain: 1", "a a .", "stop=compaction-thrash"}, // 5 to 4
	// The second compaction is due one turn after the first.
	{"history.thrash_turns", "0", "1", "history.compact_at: 4; history.compactions_without_gain: 1", "a a _ a _ .", "stop=compaction-thrash"},
	{"history.compact_on_overflow", "false", "true", "", "a a ^ _ .", "for=summary"},
	{"history.compactions_without_gain", "2", "1", "history.compact_at: 4; history.min_gain: 0.5", "a a .", "stop=compaction-thrash"},

	{"contracts.input", "false", "true", "", "w .", "why=invalid"},
	{"contracts.output", "false", "true", "", "y .", "code=OutputSchemaMismatch"},
	{"contracts.repair", "2", "1", "contracts.input: true", "m .", "why=invalid"},
	{"contracts.page_limit", "3", "2", "", "l l l .", "why=refused"},
	{"contracts.max_payload_bytes", "8", "7", "", "a .", "event=truncated"},
	{"policy.on_failure", "model", "table", "", "q .", "stop=tool-contract"},
	{"policy.fallbacks", "false", "true", "", "h .", "event=fallback"},
	{"policy.ask_missing", "false", "true", "contracts.input: true", "w .", "> ask q1"},
}

// Of a detector that is called twice and stops at the second record, unless said
// otherwise.
var detectorBoundaries = []boundary{
	{"name", "other", "twice", "", "a a .", "stop=twice"},
	{"record", "turn", "call", "", "ab ac .", "stop=twice"},
	{"record", "turn", "reply", "scope: session; key: text; acts: after-batch", ". | .", "stop=twice"},
	{"tools.only", "b", "a", "", "a a .", "stop=twice"},
	{"tools.except", "a", "b", "", "a a .", "stop=twice"},

	{"counts", "failed", "all", "acts: after-batch", "a a .", "stop=twice"},
	{"counts", "denied", "failed", "acts: after-batch", "f f .", "stop=twice"},
	{"counts", "unknown", "denied", "acts: after-batch", "x x .", "stop=twice"},
	{"counts", "invalid", "unknown", "", "u u .", "stop=twice"},
	{"counts", "unknown", "invalid", "", "j j .", "stop=twice"},
	{"counts", "invalid", "empty", "", "0 0 .", "stop=twice"},
	{"counts", "empty", "text", "scope: session; record: reply; key: text; acts: after-batch", ". | .", "stop=twice"},

	{"key", "tool, args", "tool", "", "A A .", "stop=twice"},
	{"key", "tool, args", "args", "", "a b .", "stop=twice"},
	{"key", "tool, raw-args", "tool, args", "", "k k .", "stop=twice"},
	{"key", "tool, args", "tool, result", "acts: after-batch", "A A .", "stop=twice"},
	{"key", "tool, args, result", "tool, args", "acts: after-batch", "v v .", "stop=twice"},
	{"key", "tool, args, error", "tool, args", "acts: after-batch", "g g .", "stop=twice"},
	{"key", "tool, result", "tool, error", "acts: after-batch", "v v .", "stop=twice"}, // a success has no error
	{"key", "tool, text", "tool", "", "a a .", "stop=twice"},
	{"ignore_args", "y", "x", "", "A A .", "stop=twice"},
	{"round", "x=1", "x=100", "", "A A .", "stop=twice"},
	{"ignore_result", "[2-9]", "[0-9]", "key: tool, args, result; acts: after-batch", "v v .", "stop=twice"}, // result 1, result 2
	{"ignore_result", "$.next", "$.next_page", "key: tool, result; acts: after-batch", "l l .", "stop=twice"},
	{"ignore_result", "x", "[0-9]", "reset: result-changed; do[0].at: 3", "v v v .", "stop=twice"},
	{"error_chars", "8", "7", "counts: failed; key: tool, error; acts: after-batch", "g g .", "stop=twice"}, // failed 1, failed 2

	{"order", "kept", "any", "record: turn", "ab ba .", "stop=twice"},
	{"match", "streak", "cycle", "", "a b a b .", "stop=twice"},
	{"match", "streak", "window", "memory: 3", "a b a .", "stop=twice"},
	{"ends", "next", "turn", "", "ab ab .", "stop=twice"},
	{"ends", "batch", "next", "", "a a .", "stop=twice"},
	{"ends", "turn", "tool", "", "a b a .", "stop=twice"},
	{"ends", "tool", "never", "", "a A a .", "stop=twice"},
	{"period", "2..2", "3..3", "match: cycle", "a b c a b c .", "stop=twice"},
	{"period", "1..2", "1..3", "match: cycle", "a b c a b c .", "stop=twice"},
	{"period", "2..3", "1..3", "match: cycle", "a a .", "stop=twice"},
	{"memory", "3", "4", "ends: never", "a b c a .", "stop=twice"},
	{"memory", "3", "4", "match: cycle; period: 1..2", "a b a b .", "stop=twice"},
	{"memory", "2", "3", "match: window", "a b a .", "stop=twice"},
	{"full", "true", "false", "memory: 3", "a a .", "stop=twice"},
	{"within", "1.999999999s", "2s", "", "a a .", "stop=twice"}, // a reply and a call later
	{"distinct_args", "3", "2", "key: tool", "A A .", "stop=twice"},
	{"once_per_turn", "true", "false", "", "aa .", "stop=twice"},
	{"acts", "after-batch", "before-call", "", "a a .", "why=vetoed"},
	{"prior_only", "true", "false", "", "a a .", "stop=twice"},

	{"reset", "success", "tool-success", "ends: never", "f a f .", "stop=twice"},
	{"reset", "tool-success", "", "ends: never", "a a .", "stop=twice"},
	{"reset", "success", "result-changed", "ends: never", "a a .", "stop=twice"},
	{"reset", "result-changed", "", "do[0].at: 3", "v v v .", "stop=twice"},
	{"reset", "user-message", "", "scope: session; ends: never", "a . | a .", "stop=twice"},

	{"vetoed", "other", "same", "do[0].act: veto", "a a a .", "put c3 why=vetoed"},
	{"vetoed", "other", "not-recorded", "ends: next; do[0].act: veto", "a a a .", "put c3 why=vetoed"},
	{"vetoed", "other", "", "do[0].act: veto; do[1].at: 3; do[1].act: stop", "a a a .", "stop=twice"},
	{"vetoed", "not-recorded", "same", "do[0].act: veto; do[1].at: 3; do[1].act: stop", "a a a .", "stop=twice"},

	{"do[0].at", "3", "2", "", "a a .", "stop=twice"},
	{"do[0].at", "6", "5", "", "a a a a a .", "stop=twice"},
	{"do[0].at", "3", "2", "do[0].act: nudge", "a a .", "event=nudged"},
	{"do[0].at", "3", "2", "match: cycle", "a b a b .", "stop=twice"},
	{"do[0].at", "4", "3", "match: window; memory: 5", "a b a b a .", "stop=twice"},
	{"do[0].at", "2", "1", "prior_only: true", "a a .", "stop=twice"},
	{"do[0].act", "nudge", "veto", "", "a a .", "why=vetoed"},
	{"do[0].act", "veto", "nudge", "", "a a .", "event=nudged"},
	{"do[0].act", "veto", "ask", "", "a a .", "> ask q1"},
	{"do[0].act", "stop", "final-answer", "", "a a .", "for=final"},
	{"do[0].act", "veto", "stop", "", "a a .", "stop=twice"},
	{"firings", "veto", "veto, stop", "vetoed: same; do[0].act: veto", "a a a .", "stop=twice"},
	{"after_firing", "clear", "keep", "vetoed: same; do[0].act: veto", "a a a .", "put c3 why=vetoed"},
}

func TestBoundaries(t *testing.T) {
	for _, b := range boundaries {
		b.test(t, Off())
	}
	for _, b := range detectorBoundaries {
		cfg := Off()
		cfg.Detectors = []detect.Detector{{Name: "twice", Do: []detect.Rung{{At: 2, Act: detect.Stop}}}}
		b.field = "detectors[0]." + b.field
		b.test(t, cfg)
	}
}

func (b boundary) test(t *testing.T, base Config) {
	t.Run(b.field+" "+b.with, func(t *testing.T) {
		for i, value := range []string{b.without, b.with} {
			want := i == 1
			cfg := base
			cfg.Detectors = slices.Clone(base.Detectors)
			for _, line := range strings.Split(b.rest, "; ") {
				if name, value, ok := strings.Cut(line, ": "); ok {
					b.set(t, &cfg, name, value)
				}
			}
			b.set(t, &cfg, b.field, value)
			trace := playToy(t, cfg, b.script).String()
			if strings.Contains(trace, b.shows) != want {
				t.Errorf("%s %q: the trace shows %q: %v, want %v\n%s", b.field, value, b.shows, !want, want, trace)
			}
		}
	})
}

// set sets a field, which in a detector's row may be named without detectors[0].
func (b boundary) set(t *testing.T, cfg *Config, name, value string) {
	t.Helper()
	if strings.HasPrefix(b.field, "detectors") && name != "scope" && !strings.HasPrefix(name, "detectors") {
		name = "detectors[0]." + name
	}
	if err := setField(cfg, name, value); err != nil {
		t.Fatal(err)
	}
}

// TestEveryFieldHasABoundary keeps the tables whole.
func TestEveryFieldHasABoundary(t *testing.T) {
	have := map[string]bool{}
	for _, b := range boundaries {
		have[b.field] = true
	}
	for _, b := range detectorBoundaries {
		have["detectors[0]."+b.field] = true
	}
	for _, name := range fields(reflect.TypeFor[Config](), "") {
		if !have[name] {
			t.Errorf("%s has no row in the boundaries", name)
		}
	}
}

// fields names every field of a config that holds a value, and the first of each
// list of structs.
func fields(typ reflect.Type, name string) (names []string) {
	switch {
	case typ == reflect.TypeFor[time.Duration](), typ == reflect.TypeFor[detect.Period]():
	case typ.Kind() == reflect.Slice && typ.Elem().Kind() == reflect.Struct:
		return fields(typ.Elem(), name+"[0]")
	case typ.Kind() == reflect.Struct:
		for i := range typ.NumField() {
			tag := typ.Field(i).Tag.Get("yaml")
			names = append(names, fields(typ.Field(i).Type, strings.TrimPrefix(name+"."+tag, "."))...)
		}
		return names
	}
	return []string{name}
}
