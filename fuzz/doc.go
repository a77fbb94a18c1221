// Package fuzz generates random worlds, plays them to the loop, and checks the
// promises that the loop must keep in any world. It shrinks a case that breaks a
// promise, and saves it as a scenario.
//
// [Number] returns the case with a number of a campaign, always the same one. [Gen]
// is the generator behind it, for tests with properties of their own. [Run]
// generates and checks a campaign of cases, [Check] checks one case, and [Shrink]
// makes one smaller.
//
// # Cases
//
// A case is a script (package fakes), a config, and the rest of the task. Its
// [Attacks] say how its world is hostile. Its runs are short: a ceiling of 40
// requests, 120 calls and a day of virtual time ends a session that nothing else
// stops. Two cases of three use only the mechanisms that every loop has. The others
// also use contracts, policies, compaction, hooks, planners, sub-runs and
// fallbacks. About two cases of five are recoverable: their config can handle every
// failure in them, so a correct loop must end DONE.
//
// # Invariants
//
// no-panic: nothing panics: not the loop, the world, nor a check.
//
// ends: the session ends by itself. Every run halts, and the world never runs dry
// while the loop still waits.
//
// end-state: every run ends by a known stop, with the end state of that stop, and
// its answer is marked incomplete unless it is done.
//
// history: at every request, a chat API accepts the history. Every call has one
// result, right after its reply and in request order, under an id that is used
// once; no assistant message is empty; and the model is asked with the number of
// messages in the trace. If the config keeps the first message and no user writes a
// blank one, the history also keeps the stricter rules of Anthropic's API, also in a
// request for a summary: the user's message is the first, no two replies follow each
// other, and none of the user's is blank. This checks the messages themselves, not the
// trace.
//
// one-result: every call has exactly one result when its run ends, and results come
// in request order.
//
// after-stop: after a halt nothing happens until the next user message. After a
// cancel or the run deadline, no request, call, gate or question begins.
//
// blocked: denied, vetoed, refused and unknown calls never execute, and every result
// matches its tries.
//
// at-most-once: for one decision of the model, nothing runs again once a tool with
// idempotent: false may have taken effect. It counts the effects of each call. A call
// that has the id, name and arguments of another one of its reply, or after a broken
// stream of the turn before, does not run at all.
//
// bounds: no run exceeds the time, turns, calls, calls per turn, tries, sub-runs, tokens
// and cost of its config, no call its retries, and no request its own. What already runs
// may pass a limit when its usage comes; then nothing else starts. Plain sums over the
// trace check it.
//
// payloads: no result in the history shows more characters or bytes than the config
// allows.
//
// breaker: every detector that only counts identical calls in a row and stops the
// run trips exactly when a plain model of it trips. Then no call of the batch runs
// and no turn follows. It stops a run at no other time.
//
// error-limit: the limit on failing turns in a row trips exactly when its plain
// model trips.
//
// audit: the loop's own audit ([audit.Check]) finds no violation in the trace,
// including its check that every stop was justified.
//
// round-trip: the text of the trace parses, and the parsed trace has the same text.
//
// same-trace: the case, played again, has the same trace.
//
// resumed: a session is cut off after a step (the seed says which), and a fresh
// machine in a fresh world resumes it from its trace. It continues like the session
// that was not cut off. A call that was running then and must not run twice does not
// run again; what follows is then not compared.
//
// recovers: in a recoverable world every run ends as DONE.
//
// # Relations
//
// These compare the case with a changed one, where the effect of the change is
// known.
//
// parallel-sequential: with zero latencies, no hang and no retry, a parallel batch
// has the same requests and results as one that runs call after call.
//
// limit-raised: raising a limit, deadline or count that was not reached changes
// nothing. Configs that show the model how much is left are left out.
//
// time-scaled: multiplying all durations of the config and the world, without
// jitter, keeps the steps and multiplies their times. Texts that contain times are
// not compared.
//
// completion-order: if the calls of a batch end in reverse order, at the same
// instants and before any deadline, the results and the next request are the same.
//
// stricter: with a stricter limit on turns, calls, tokens or time that stops the
// run, the trace is the same up to that stop.
//
// unused-tool: an additional tool changes nothing, unless the model calls an unknown
// tool, or the tokens of a request matter (history.compact_tokens, a window).
//
// key-order: with the keys of the arguments in another order, the runs end by the
// same stops after the same number of calls, unless a detector compares the raw
// text.
package fuzz
