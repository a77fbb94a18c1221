// Package audit checks from a trace alone whether the loop kept its promises.
//
// It shares no code with the machine of package loop. It reads the config, the task,
// the tools and the trace through loop's exported names, and recounts everything else
// by the simplest methods. If the two agree, both are probably right.
//
//	for _, v := range audit.Check(cfg, task, specs, trace) {
//		fmt.Println(v)
//	}
package audit

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/agentbench-go/agentbench/loop"
)

// A Violation says which promise of the loop a trace breaks, and where.
type Violation struct {
	Rule    string        // the rule's name, from the table at [Check]
	Line    int           // 1-based line in the trace's text form
	At      time.Duration // the time of that line
	Message string        // what is wrong
	Want    string        // what should be there; "" if Message says it
	Got     string        // what is there instead
}

// String returns the violation on one line.
func (v Violation) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "line %d (%s): %s: %s", v.Line, v.At, v.Rule, v.Message)
	if v.Want != "" || v.Got != "" {
		fmt.Fprintf(&b, ": want %s, got %s", v.Want, v.Got)
	}
	return b.String()
}

// Check recounts from a trace alone whether the loop kept its promises under a config
// (see the documentation of package loop). It returns every violation in the order of
// the trace's lines, or nil if there is none. It does not judge wording. It accepts
// any trace, also one that breaks off, and one that no machine would produce.
//
// The rules, each with its promise:
//
//	first-input       the first input is started, with the task's text
//	time              time never decreases
//	number            every number is new and next in its sequence, or open
//	as-asked          gates and calls have the tool and arguments that the model asked for, or those of a hook or fallback
//	ignored           inputs whose number is not open are ignored, all others are taken
//	after-halt        after a halt only a user message is taken
//	progress          a run that has not halted waits for something
//	events            every note on a reply, request or result is there, and has a reason
//	results           every call gets one result, in request order, as soon as the batch is final
//	why               a result says why its call was not executed
//	result-code       a result says how its call ended
//	result-size       only a result above history.max_result_chars or contracts.max_payload_bytes is cut, to that size
//	call-ids          call ids are unique and not empty, and the model's own if possible
//	repeated-call     a call that repeats another one (with its id, name and arguments, in one reply or after a broken stream) is not run and has no result
//	dropped-call      a call that contracts.broken_args takes out of its reply is not run and has no result
//	history           chat APIs accept the history (see [CheckHistory])
//	asked-with        to= is the length of the history, choice= the task's tool choice until the run's first call
//	trimming          exactly the messages that must be dropped are dropped
//	compaction        history.compact_at, compact_tokens and compact_on_overflow: the history is compacted when that is due, and only then; after compactions_without_gain in a row the run does not go on
//	empty-reply       an empty reply is dropped, and asked for again model_retry.empty_replies times, as is one that announces calls and holds none
//	cut-reply         a reply that is cut off is asked for again model_retry.cut_replies times; the loop adds no user message without a reason
//	steered           what the user says during a run comes before the run's next request for a reply or a last word
//	goal              an answer in which the critic finds gaps is not taken, any other is; it is asked for again model_retry.gap_replies times
//	executable        no unknown tool is called, and no tool with invalid arguments
//	permission        the gates that tools and hooks require open one after another; nothing runs before its gate allows it; time.permission denies
//	parallel          parallel.max; calls start in request order, and as soon as a place is free
//	turn-limit        limits.turns (as limits.adapt has it) and limits.steps: the run does not go on
//	last-word         limits.at_limit: the model is asked for a last word, or the user, when due; the calls of a last word do not run
//	asked-limit       limits.asked: no call asked for above it runs, and the run does not go on; what sub-runs ask for counts
//	call-limit        limits.calls (as limits.adapt has it): no call above it runs, and the run does not go on
//	calls-per-turn    limits.calls_per_turn: no call above it runs
//	rate              a tool's rate, breaker and pages: no call that they refuse runs
//	sub-runs          limits.depth and spawns: no call above them runs, and the run does not go on
//	token-limit       limits.tokens: above it no call runs, and the run does not go on
//	cost-limit        limits.cost_usd: above it no call runs, and the run does not go on
//	try-limit         limits.tries: no try above it is made, and the run does not go on
//	detector          when a streak reaches a detector's count, no call of its batch runs, and the run does not go on
//	error-limit       errors: at the limit the run does not go on
//	tool-deadline     time.tool, or the tool's own timeout: a try is cancelled exactly when it runs out
//	abandoned         time.grace: a cancelled try is abandoned exactly when it runs out
//	retry             a call is retried, or its tool's fallback called, whenever that is allowed, and only then
//	retry-wait        a call is retried after the wait of the formula
//	model-deadline    time.model, first_token and chunk: a request is cancelled exactly when one runs out
//	model-retry       a request is retried whenever that is allowed, and only then; after the last try the run does not go on
//	model-retry-wait  a request is retried after the wait of the formula, or of the server
//	run-deadline      time.run: after it nothing starts, open requests and tries are cancelled, and the run halts within time.grace
//	cancel            after a cancel: as run-deadline
//	stop              the stop is that of the rule that decided first
//	end-state         the end state is that of the stop
//	outcome           every count of the outcome, and its answer
//	also-stopped      there is a note for every rule that would have stopped the run later
//
// Check accepts some decisions as the trace states them, and checks only that the loop
// follows them:
//
//   - those of detectors, if one of them does more than count identical calls in a
//     row and stop
//   - those of the policy table and its questions
//   - those of a planner's actions other than calls
//   - those of a critic other than [loop.RuleCritic], and those on the results of a turn
//   - which messages a summary replaces, and those of compactions with a planner
//
// Check leaves out the steps of sub-runs, and does not count their lines: see
// [CheckAll].
func Check(cfg loop.Config, task loop.Task, tools []loop.ToolSpec, trace loop.Trace) []Violation {
	found, _ := check(cfg, task, tools, trace.Own(), nil)
	return found
}

// check checks the trace of one session. lines are those of its records, nil if they
// follow each other. rests are those of the sub-runs.
func check(cfg loop.Config, task loop.Task, tools []loop.ToolSpec, trace loop.Trace, lines []int) (found []Violation, rests map[loop.Ref]rest) {
	b := read(cfg, task, tools, trace, lines)
	defer b.release()
	b.recount()
	for _, r := range rules {
		b.rule = r.name
		r.check(b)
	}
	slices.SortStableFunc(b.found, func(v, w Violation) int { return v.Line - w.Line })
	return b.found, b.rests
}

// rules lists the rules in the order of the table at [Check].
var rules = []struct {
	name  string
	check func(*book)
}{
	{"first-input", (*book).checkFirstInput},
	{"time", (*book).checkTime},
	{"number", (*book).checkNumbers},
	{"as-asked", (*book).checkAsked},
	{"ignored", (*book).checkIgnored},
	{"after-halt", (*book).checkAfterHalt},
	{"progress", (*book).checkProgress},
	{"events", (*book).checkEvents},

	{"results", (*book).checkResults},
	{"why", (*book).checkWhy},
	{"result-code", (*book).checkResultCode},
	{"result-size", (*book).checkResultSize},
	{"call-ids", (*book).checkCallIDs},
	{"repeated-call", (*book).checkRepeatedCall},
	{"dropped-call", (*book).checkDroppedCall},
	{"history", (*book).checkHistory},
	{"asked-with", (*book).checkAskedWith},
	{"trimming", (*book).checkTrimming},
	{"compaction", (*book).checkCompaction},

	{"empty-reply", (*book).checkEmptyReply},
	{"cut-reply", (*book).checkCutReply},
	{"steered", (*book).checkSteered},
	{"goal", (*book).checkGoal},
	{"executable", (*book).checkExecutable},
	{"permission", (*book).checkPermission},
	{"parallel", (*book).checkParallel},

	{"turn-limit", (*book).checkTurnLimit},
	{"last-word", (*book).checkLastWord},
	{"asked-limit", (*book).checkAskedLimit},
	{"call-limit", (*book).checkCallLimit},
	{"calls-per-turn", (*book).checkCallsPerTurn},
	{"rate", (*book).checkToolRate},
	{"sub-runs", (*book).checkSubRuns},
	{"token-limit", (*book).checkTokenLimit},
	{"cost-limit", (*book).checkCostLimit},
	{"try-limit", (*book).checkTryLimit},
	{"detector", (*book).checkDetector},
	{"error-limit", (*book).checkErrorLimit},

	{"tool-deadline", (*book).checkToolDeadline},
	{"abandoned", (*book).checkAbandoned},
	{"retry", (*book).checkRetry},
	{"retry-wait", (*book).checkRetryWait},
	{"model-deadline", (*book).checkModelDeadline},
	{"model-retry", (*book).checkModelRetry},
	{"model-retry-wait", (*book).checkModelRetryWait},
	{"run-deadline", (*book).checkRunDeadline},
	{"cancel", (*book).checkCancel},

	{"stop", (*book).checkStop},
	{"end-state", (*book).checkEndState},
	{"outcome", (*book).checkOutcome},
	{"also-stopped", (*book).checkAlsoStopped},
}

// report adds a violation of the current rule.
func (b *book) report(p place, want, got, format string, args ...any) {
	b.found = append(b.found, Violation{Rule: b.rule, Line: p.line, At: p.at,
		Message: fmt.Sprintf(format, args...), Want: want, Got: got})
}
