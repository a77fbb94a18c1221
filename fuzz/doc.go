// Package fuzz makes worlds at random, plays them to the loop, and checks what
// must hold whatever a world does. A case that breaks a promise is made as small
// as it can be, and written down as a scenario.
//
// [Number] gives a case of a seed, and always the same one; [Gen] gives the
// generator behind it for properties of one's own; [Run] makes a campaign of
// them, [Check] judges one, [Shrink] makes it smaller.
//
// # Cases
//
// A case is a script (package fakes), a config, and the rest of the task. Its
// [Attacks] say what kinds of trouble it makes. Its runs are short: a ceiling of
// 40 requests, 120 calls and a day of virtual time ends what nothing stops. Two
// cases of three use only the mechanisms that every loop has; the others use
// everything, contracts, policies, compaction, hooks, planners, sub-runs and
// fallbacks too. About two cases of five are recoverable: whatever goes wrong in
// them, their config has the means against it, so that a right loop must come to
// its end.
//
// # Invariants
//
// no-panic: nothing panics, neither the loop nor the world nor a check.
//
// ends: the session comes to its end by itself. Every run halts, and the world
// never runs dry while the loop still waits.
//
// end-state: every run ends by a stop that there is, in the end state that
// belongs to it, and its answer is marked incomplete unless it is done.
//
// history: at every request the history is one that a chat API takes. Every call
// has one result, right after its reply and in request order, under an id that
// is used once; no assistant message is empty; and the model is asked with as
// many messages as the trace says. This looks at the messages themselves, not
// at the trace.
//
// one-result: every call that was asked for has exactly one result by the time
// its run has ended, and results come in request order.
//
// after-stop: after a halt nothing happens until the next user message, and once
// a cancel or the run deadline has come no request, call, gate or question
// begins.
//
// blocked: what was denied, vetoed, refused or of no tool was not executed, and
// no result tells another story than the tries do.
//
// bounds: no run goes beyond the time, turns, calls, calls a turn, tries, tokens
// and cost of its config, no call beyond its retries and no request beyond its
// own, by plain sums over the trace.
//
// payloads: no result in the history shows more characters or bytes than the
// config allows.
//
// breaker: every detector that does no more than count identical calls in a row
// and stop the run trips exactly where a plain model of it says so: then none of
// the batch runs and no turn follows, and it never stops a run otherwise.
//
// error-limit: the same for the limit on failing turns in a row.
//
// audit: the loop's own audit ([audit.Check]) finds nothing in the trace, the
// justification of every stop included.
//
// round-trip: the text of the trace can be read, and the trace that it gives has
// the same text.
//
// same-trace: the same case played again gives the same trace.
//
// resumed: a session that breaks off after any step (the seed says which) and is
// resumed from its trace by a fresh machine in a fresh world goes on as the
// unbroken one did. A case with a call open that must not run twice is left out.
//
// recovers: in a recoverable world every run ends as DONE.
//
// # Relations
//
// These compare the case with one that was changed in a way whose effect is
// known.
//
// parallel-sequential: with zero latencies, no hang and no retry, a batch that
// runs in parallel gives the same requests and results as one that runs one call
// after another.
//
// limit-raised: a limit, deadline or count that was not reached, raised, changes
// nothing. Left out are configs that tell the model how much is left.
//
// time-scaled: all durations of config and world multiplied, without jitter,
// give the same steps at multiplied times. Texts in which times stand are not
// compared.
//
// completion-order: where the calls of a batch end in reverse order, at the same
// instants and before any deadline, the results and the next request are the
// same.
//
// stricter: with a stricter limit on turns, calls, tokens or time, at which the
// run simply stops, the trace is the same up to that stop.
//
// unused-tool: a tool more, where no unknown tool is asked for, changes nothing.
//
// key-order: with the keys of the arguments in another order the runs stop by
// the same rules after as many calls, unless a detector looks at the raw text.
package fuzz
