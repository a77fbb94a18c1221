// Package audit checks from a trace alone whether the loop kept its promises.
//
// It shares no code with the machine of package loop: it knows the config, the
// task, the tools and the trace as any importer of loop does, and recounts the
// rest by its own, plainest methods. Where the two agree, both are probably
// right.
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
	Want    string        // what should stand there, "" where Message says it
	Got     string        // what stands there instead
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

// Check recounts from a trace alone, by the plainest method, whether the loop
// kept its promises (see the documentation of package loop) under a config. It
// returns every violation in the order of the trace's lines; nil if there is
// none. It shares no code with [loop.Machine] and judges no wording. It takes any
// trace: one that breaks off, and one that no machine would produce.
//
// The rules, each with what it holds the trace to:
//
//	first-input       the first input is started, with the task's text
//	time              time never decreases
//	number            every number is new and next in its sequence, or open
//	as-asked          gates and calls carry what the model asked for, or a hook or a fallback made of it
//	ignored           inputs whose number is not open change nothing, all others are taken
//	after-halt        after a halt nothing but a user message is taken
//	progress          a run that has not halted waits for something
//	events            the notes on replies, requests and results are there, and no others
//	results           every call gets one result, in request order, as soon as the batch is final
//	why               a result says why its call was not executed
//	result-code       a result says how its call ended
//	result-size       a result above history.max_result_chars or contracts.max_payload_bytes is cut to that size, no other is
//	call-ids          call ids are unique and not empty, and the model's own where they can be
//	history           the history is one that chat APIs take (see [CheckHistory])
//	asked-with        to= is the length of the history
//	trimming          the messages that are dropped are those that have to be
//	empty-reply       an empty reply is dropped, and asked for again model_retry.empty_replies times
//	cut-reply         the same for a reply that is cut off; the loop says nothing uncalled for
//	executable        no unknown tool is called, and none with arguments that are not valid
//	permission        gates open as tools and hooks ask for, one after another; nothing runs before its gate allows it
//	parallel          parallel.max; calls start in request order, and as soon as a place is free
//	turn-limit        limits.turns and limits.steps: the run does not go on
//	last-word         limits.at_limit: the last word or the user is asked for where it is due; the calls of a last word do not run
//	call-limit        limits.calls: no call above it runs, the run does not go on
//	calls-per-turn    limits.calls_per_turn: no call above it runs
//	rate              a tool's rate, breaker and pages: no call that it refuses runs
//	sub-runs          limits.depth and spawns: no call above them runs, the run does not go on
//	token-limit       limits.tokens: above it no call runs, the run does not go on
//	cost-limit        limits.cost_usd: the same
//	try-limit         limits.tries: no try above it is made, the run does not go on
//	detector          a streak at or above a detector's count runs no call of its batch, the run does not go on
//	error-limit       errors: the run does not go on
//	tool-deadline     time.tool, or the tool's own: a try is cancelled exactly when it is over
//	abandoned         time.grace: a cancelled try is abandoned exactly when it is over
//	retry             a try is made again, or the tool's fallback called, if it may be, and never otherwise
//	retry-wait        a try is made again after the wait of the formula
//	model-deadline    time.model, first_token and chunk: a request is given up exactly when one is over
//	model-retry       a request is made again if it may be, never otherwise; after the last the run does not go on
//	model-retry-wait  a request is made again after the wait of the formula, or the server's
//	run-deadline      time.run: then nothing starts, what runs is cancelled, and the run halts within time.grace
//	cancel            a cancel: the same
//	stop              the stop is the rule's that decided first
//	end-state         the end state is that of the stop
//	outcome           every count of the outcome, and its answer
//	also-stopped      the notes on rules that would have stopped the run later
//
// Check accepts some decisions as the trace states them, and only recounts that
// the loop then follows them: those of detectors, where one of them does more than
// count identical calls in a row and stop; of the policy table and its questions;
// of a planner's actions other than calls; of the critic; and which messages a
// summary replaces, and whether the loop asks for one.
func Check(cfg loop.Config, task loop.Task, tools []loop.ToolSpec, trace loop.Trace) []Violation {
	b := read(cfg, task, tools, trace)
	defer b.release()
	b.recount()
	for _, r := range rules {
		b.rule = r.name
		r.check(b)
	}
	slices.SortStableFunc(b.found, func(v, w Violation) int { return v.Line - w.Line })
	return b.found
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
	{"history", (*book).checkHistory},
	{"asked-with", (*book).checkAskedWith},
	{"trimming", (*book).checkTrimming},

	{"empty-reply", (*book).checkEmptyReply},
	{"cut-reply", (*book).checkCutReply},
	{"executable", (*book).checkExecutable},
	{"permission", (*book).checkPermission},
	{"parallel", (*book).checkParallel},

	{"turn-limit", (*book).checkTurnLimit},
	{"last-word", (*book).checkLastWord},
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

func (b *book) report(p place, want, got, format string, args ...any) {
	b.found = append(b.found, Violation{Rule: b.rule, Line: p.line, At: p.at,
		Message: fmt.Sprintf(format, args...), Want: want, Got: got})
}
