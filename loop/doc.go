// Package loop is a reference agent loop with its safety mechanisms, as a
// value. A [Machine] takes one [Input] (the model replied, a tool returned, a
// tick) and returns the [Effect]s it wants (ask the model, call a tool, cancel,
// halt). It never blocks, reads no clock, starts no goroutine and draws no
// global randomness, so a test can write down every timeout, retry, late answer
// and ordering as an ordinary input. A [World] carries out the effects; [Run]
// drives a machine in one. [RunLive] does all of this with a real model and real
// tools:
//
//	out, err := loop.RunLive(ctx, loop.Default(), loop.Task{Text: "How is the weather in Oslo?"}, model, tools, loop.LiveOptions{})
//	fmt.Println(out.Stop, out.Turns, out.Answer)
//
// # Words
//
// The whole module uses these words, each for one thing.
//
// The loop:
//   - session: a conversation, which is one or more runs over one history.
//   - run: the work on one user message, from the message to its stop.
//   - turn: one model reply and the calls it asks for.
//   - call: one tool request.
//   - try: one attempt at a call.
//   - batch: the calls of one turn.
//   - stop: why a run ended.
//   - end state: the coarse class of a stop.
//   - refused: said of a call that a detector vetoed or a limit turned down. In a
//     trace these are two words, vetoed and refused (see [Why]).
//   - world: whatever answers the loop.
//   - trace: all inputs and effects of the loop, in order.
//   - violation: a broken promise of the loop, found by the audit or by fuzzing.
//     An audit rule is one such promise.
//
// Tests of the loop:
//   - script: what a fake world will say. One plays a script.
//   - scenario: one script, its label, and what must be true of the trace.
//   - label: runaway (the run should be stopped) or healthy (it should finish).
//   - suite: a folder of scenarios.
//   - variant: one named safety config. A preset is an embedded variant.
//   - trial: the run of one scenario × variant × seed.
//   - finding: what speaks against a trial.
//   - verdict: the word pass, fail, inconclusive or unjudged.
//   - interfered with: said of a healthy run that ended well and had calls
//     refused.
//   - harmed: said of a healthy run that was stopped or interfered with.
//   - golden: a stored trace. An allowance lets new traces differ from it.
//   - gate rule: a condition on a whole report.
//   - fault: an event that is planned for a world. A failure is one entry of a
//     script, and an attack is a kind of fuzz case.
//
// Recordings:
//   - cassette: HTTP traffic that this module recorded. A pattern of the redactor
//     finds secrets in it.
//   - trajectory: a run that some other agent recorded. One replays a trajectory,
//     and resumes a session.
//   - shape: a recorded run without its content.
//   - task: what several recorded runs were all asked to do.
//   - corpus: a named set of recorded runs.
//   - foreign agent: any agent except the reference loop.
//   - aside: a request of a foreign agent beside its loop, for a title or a
//     summary.
//
// Inputs that are wrong:
//   - mistake: in a user's file.
//   - problem: in other people's data, or in how they speak a protocol.
//
// # States
//
// A machine is always in one of six states. In the four in the middle a run is
// under way.
//
//	state        what is open                       what ends it
//	fresh        nothing: no message has come       started
//	asking       a model request, or its backoff    the reply, or the last failure
//	gating       a gate: a permission or a hook     its answer
//	executing    the tries of a batch               the last result of the batch
//	questioning  a question to the user             its answer
//	halted       nothing: the run has ended         a user message, which starts the next run
//
// A run usually goes from asking to executing and back, once a turn. With hooks or
// permissions it passes gating before and after executing. It goes to questioning
// if the user must decide. A reply without calls, a stop, a cancel or the run
// deadline leads to halted. A machine takes an input that answers what is open, and
// ignores any other (event ignored).
//
// # A trace
//
//	 0.000s started text="Summarise notes.txt"
//	        > ask m1#1 for=reply to=1
//	 1.000s reply m1 text="I will look." call=c_1:read_file(`{"path":"notes.txt"}`) finish=tool_calls in=812 out=33
//	        > call c1#1 name=read_file args=`{"path":"notes.txt"}`
//	31.000s tick
//	        > cancel c1#1 text=timeout
//	31.000s result c1#1 code=Cancelled text=cancelled
//	32.000s tick
//	        > call c1#2 name=read_file args=`{"path":"notes.txt"}`
//	32.050s result c1#2 ok text="the same text"
//	        > put c1 text="the same text"
//	        > ask m2#1 for=reply to=3
//
// The run begins with the user's message, and the machine asks the model. The
// reply asks for a call, c1, whose first try hangs. At 31 s time.tool, which is
// 30 s, runs out: the machine cancels the try, and the tool ends it at once. A
// retry is left (retry.max is 3), so the machine waits for the backoff of 1 s and
// starts the second try at 32 s. That one succeeds. Its result goes into the
// history, and the machine asks the model again, with three messages: the user's,
// the reply, and the result.
//
// Each input or effect is one line. An input begins with the time in seconds,
// right aligned to nine columns, with three to nine decimals; an effect begins
// with >. Then come a word, the number of the thing that it is about, and key=value
// pairs in a fixed order. Zero values are left out. A value is bare if it matches
// [A-Za-z0-9_-][A-Za-z0-9_.-]*, in back quotes if it is printable ASCII with a
// double quote and without back quote and backslash, and Go-quoted otherwise.
// Model inputs leave out #1. Money is in nano-dollars, durations are in exact
// seconds (5s, 10.8s). [ParseTrace] reads only this form. (The lines above are
// indented by two columns less than in a real trace.)
//
// # The history
//
// The history is the list of messages that the model is asked with. A trace is
// enough to rebuild it:
//   - started and message append a user message (u1, u2 …). So does the answer to
//     a question if it allows and has a text.
//   - A reply to an open request appends an assistant message (m1 …), without the
//     calls that repeat another one or were dropped (events repeated-call and
//     dropped-call).
//   - put appends a result (c1 …) or a user message of the loop's own (u…). With
//     to=N it inserts the message at place N.
//   - drop removes a message.
//
// Every call has exactly one result, right after its reply, in request order, under
// a unique id. An assistant message without text and calls is dropped at once. With
// [PlannerJSON] the call of a reply is in its text, see [ParseAction].
//
// # The order of a step
//
//  1. Timers that are due at an instant come before an input at that instant:
//     first the run deadline, then the model's timers, then those of calls in
//     request order. So a timeout wins a tie.
//  2. Cancel and run deadline. The machine cancels an open model request and
//     halts. It forgets an open gate or question. Calls that have not started get
//     a result (not-started). Running tries are cancelled and have time.grace to
//     end: a result that still succeeds counts, and any other ends the call as
//     Cancelled, as does the end of time.grace (event abandoned). A call that
//     waits for a retry ends with its last error.
//  3. Model retry. A failure with a status in model_retry.statuses is retried
//     after the backoff, or after Retry-After if the server sent one. The request
//     fails at once if that wait is above model_retry.max_wait or would not end
//     before the run deadline (event gave-up). Timeouts (first token, chunk, whole
//     request) and broken streams count as 5xx. So after a first-token timeout
//     comes a second try of the same request, if model_retry.max allows one. If
//     no retry is allowed or left, the run stops with model-deadline after a
//     timeout and with model-failed after any other failure.
//  4. Unusable replies. A reply without calls and without text other than white
//     space is dropped (event empty-reply). A reply without calls that the length
//     limit cut off is kept if it has text, and a user message that says so
//     follows it (event cut-reply). A reply with text that ends as one with calls
//     does (finish tool_calls) and holds none is kept, and a user message that says
//     so follows it (event empty-reply); with a planner it is an action as any
//     other. A planner's reply that is not an action is
//     kept, and a user message that says why follows it (event bad-action). After
//     each of them the model is asked again, and none is a turn. More than
//     model_retry.cut_replies of them in a row stop the run with truncated-reply
//     if the last one was cut off, and more than model_retry.empty_replies with
//     empty-reply if it was not. So is an answer in which the critic finds gaps (event
//     gaps): more than model_retry.gap_replies stop the run with unmet-goal. A cut reply
//     with calls is a turn; it counts as unusable only if the arguments of a call
//     are broken, and its calls are refused if it is one too many. Any other reply
//     ends the row. The tokens and cost of all of them count for check 6.
//  5. A reply without calls is the answer: stop done. A planner's action stop
//     leads to stopped-by-model.
//  6. Token, cost and step limits. Above a limit all calls of the reply are
//     refused. A step limit also stops a run whose answer came with the last step.
//  7. Unknown tools and invalid arguments. Such calls are not executed. Arguments
//     are invalid if they are not a JSON object, or break the tool's schema after
//     repair (contracts.input). Empty arguments mean {}. White space around a name
//     is cut (event trimmed-name), and a missing, empty or used id is replaced
//     (event replaced-id). With contracts.broken_args drop a call whose arguments
//     are not a JSON object is taken out of its reply before all other checks
//     (event dropped-call); it takes a number, and the rest of the reply is judged
//     as if the model had not asked for it. And a call with the id, the name and the arguments of
//     another call of its reply is that call: it takes a number, and nothing else
//     happens to it (event repeated-call). So is, after a broken stream of the
//     request, one that repeats a call of the turn before; a reply of which nothing
//     else is left counts as an empty one.
//  8. Detectors that act before a call, over the whole batch before any of it
//     runs. They see every call, also those of 6 and 7, with the model's own
//     arguments. A stop or final answer vetoes every call of the batch that is not
//     blocked yet. A veto or question vetoes one call, or the batch if the
//     detector records turns. If several detectors act at one call, the strongest
//     act is done; others that would have stopped the run are noted.
//  9. Call limits, one call after another in request order: asked, which counts
//     every call; then, without blocked calls, calls_per_turn, calls, depth and
//     spawns, pages, the tool's breaker, the tool's rate. A call that passes counts.
//  10. The hook before a call, then its permission, one gate after another in
//     request order. A permission that nobody answers within time.permission is a
//     denial (event unanswered).
//  11. Execution, up to parallel.max calls at once. The others start in request
//     order as calls end; a call that waits for a retry keeps its place. Before
//     each start come limits.tries, tokens, cost_usd, and at a first try calls and
//     spawns, with what the sub-runs of the batch have used so far. A try above one
//     of them is not made, what runs may end, and the run stops when the batch is
//     final. A result is checked against the tool's schema
//     (contracts.output). After a failed try comes a retry, then the tool's
//     fallback (policy.fallbacks), then the end of the call.
//  12. The end of the batch, when its last result is final. First come the hooks
//     after the calls. Then each result goes into the history in request order,
//     and policy.on_failure and ask_missing are applied to it. Then come the error
//     limit, budgets that sub-runs used up, detectors that act after the batch,
//     the critic, and the step limit. A call that was not-started because the run
//     was stopping is not a failure.
//  13. What comes next. If a stop is decided the run ends, after a last reply if
//     one is due (limits.at_limit, act final-answer). Otherwise the user is asked
//     if a question is pending. Otherwise the turn limit is checked. Otherwise
//     come hints for the model, compaction, trimming, and the next request.
//
// The rule that decides first is the stop. A later one of the same run is noted
// (event also-stopped). If a stop is decided while calls run, the batch still ends
// as usual; a deadline or cancel in the meantime only shortens that.
//
// A try that runs out of time (time.tool, or the tool's own timeout) is cancelled.
// It ends as Timeout when the tool returns, whatever the result, or after
// time.grace (event abandoned). Only then may a retry start, after the backoff. If
// there was more than one try, the error text of the call is "Error after N
// attempts: …".
//
// A text of the user during a run (input steer, event steered) is a hint for the
// model like those of the loop: it enters the history with the next request.
//
// # Safety mechanisms
//
// Each mechanism stops one failure. It keeps one counter, which is reset at some
// point, and there is healthy work at which it must not fire. "Each run" below
// means each user message under scope: run; under scope: session such a counter
// goes on over the session.
//
// Detectors ([github.com/agentbench-go/agentbench/loop/detect]), the circuit
// breaker among them:
//   - Stops: a model that repeats itself: the same call, the same cycle of calls,
//     the same error or the same text.
//   - Counts: records with the same key, such as calls with the same tool and
//     arguments. Each detector counts for itself.
//   - Resets: at a turn without the key (or what ends and reset say), and each
//     run.
//   - Must not fire: on fifty reads of fifty files. With reset: [result-changed]
//     also not on polling whose result changes.
//
// Error limit ([Errors]):
//   - Stops: a run whose calls all fail, however different they are.
//   - Counts: failing turns in a row. A call counts once, however many tries it
//     took.
//   - Resets: at a turn with calls that is not failing, and each run.
//   - Must not fire: on failures with a success between them, or on one failure
//     in a batch of many (batch: all).
//
// Retry of calls ([Retry]):
//   - Stops: a transient failure of a tool from costing the model a turn.
//   - Counts: tries of one call.
//   - Resets: with each call, and when its fallback takes over. A tool may have a
//     policy of its own.
//   - Must not fire: on an error that a retry cannot mend, such as NotFound, on
//     an abandoned try or a lost connection of a tool that is not [Idempotent], or
//     on a try of a [NotIdempotent] tool that may have taken effect.
//
// Try timeout (time.tool) and time.grace:
//   - Stops: a tool that hangs, and one that ignores its cancel.
//   - Counts: the time since the try began, then the time since the cancel.
//   - Resets: with each try.
//   - Must not fire: on a slow tool within its own [ToolSpec] Timeout, or on the
//     wait for a permission.
//
// Model timeouts (time.first_token, time.chunk, time.model):
//   - Stop: a model that does not answer, or whose stream stalls.
//   - Count: the time since the try began, or for time.chunk since the last delta.
//   - Reset: with each try; time.chunk also with each delta.
//   - Must not fire: first_token and chunk on a long reply that keeps streaming.
//
// Permission timeout (time.permission):
//   - Stops: a call that nobody is there to allow from holding the run.
//   - Counts: the time since the permission was asked for.
//   - Resets: with each permission.
//   - Must not fire: on a hook, a question to the user, or an answer that comes in
//     time.
//
// Run deadline (time.run):
//   - Stops: a run that takes too long as a whole.
//   - Counts: the time since the user's message, with pause_for_user without the
//     time that gates and questions are open.
//   - Resets: with each user message, whatever the scope.
//   - Must not fire: on a long session of short runs.
//
// Model retry ([ModelRetry]):
//   - Stops: a transient failure of the model's server from ending the run.
//   - Counts: tries of one model request.
//   - Resets: with each request.
//   - Must not fire: on a status that is not listed, such as 401, or if the server
//     asks for a longer wait than max_wait.
//
// Unusable replies (model_retry.empty_replies, cut_replies, gap_replies):
//   - Stops: a model that keeps replying with nothing, with cut-off text, with
//     announced calls that are not there, with answers that break a [Constraint], or as
//     a planner without an action.
//   - Counts: unusable replies in a row.
//   - Resets: at any usable reply, and with each user message, whatever the scope.
//   - Must not fire: on single empty replies with calls between them.
//
// Turn and step limit (limits.turns, limits.steps):
//   - Stop: work that is new each time and never ends.
//   - Count: replies; or replies and batches of which a call ran, was unknown or had
//     invalid arguments.
//   - Reset: each run, and when the user says to go on (at_limit: ask).
//   - Must not fire: limits.turns on a run whose answer is reply N.
//
// Adaptive limits ([Adapt]):
//   - Stop: a run of which most calls fail, before its limits on turns and calls.
//   - Count: calls that ended, and those of them that failed.
//   - Reset: each run.
//   - Must not fire: on a run whose share of failed calls is at most errors, or that
//     is below floor.
//
// Call limits (limits.asked, limits.calls, limits.calls_per_turn, limits.tries):
//   - Stop: a model that asks for too many calls, at once or in all, and retries
//     that pile up over many calls.
//   - Count: all calls that the model asks for; calls that passed check 9, and calls
//     of sub-runs; those of one reply; tries.
//   - Reset: all but calls_per_turn each run, asked and calls also when the user says
//     to go on; calls_per_turn with each reply.
//   - Must not fire: on exactly N calls; limits.calls on calls that were blocked
//     before check 9.
//
// Token and cost limit (limits.tokens, limits.cost_usd):
//   - Stop: a run that costs too much.
//   - Count: tokens read and written, and the cost, of all replies and of all sub-runs
//     that have ended.
//   - Reset: each run.
//   - Must not fire: on a sum of exactly the limit, or on a reply that is already
//     the answer.
//
// Sub-run limits (limits.depth, limits.spawns):
//   - Stop: agents that start agents without end.
//   - Count: depth has no counter, it compares [Task].Depth; spawns counts calls of
//     tools with [ToolSpec] SubRun that passed check 9, and the sub-runs that those
//     started.
//   - Reset: spawns each run.
//   - Must not fire: on a session at the largest depth that calls ordinary tools.
//
// Page limit (contracts.page_limit):
//   - Stops: a model that reads page after page of one answer.
//   - Counts: the page to which each token of a tool's results leads.
//   - Resets: at a call without a token, which reads page 1.
//   - Must not fire: on many different queries of one page each.
//
// Tool breaker and rate ([ToolBreaker], [Rate]):
//   - Stop: calls of a tool that is down, or that allows only so many calls.
//   - Count: failed calls of the tool in a row; calls within the last Per.
//   - Reset: at a call that succeeds; as calls leave the window. The scope does not
//     matter.
//   - Must not fire: on failures of other tools, or on cancelled calls.
//
// Compaction thrash (history.compactions_without_gain):
//   - Stops: a history that is compacted again and again and stays too long.
//   - Counts: compactions in a row without gain: they free less than min_gain, leave
//     the history above its bound, are needed again within thrash_turns turns, or
//     bring no summary.
//   - Resets: at a compaction that frees enough for longer, and each run.
//   - Must not fire: on a long run whose compactions each free enough.
//
// The other bounds keep no counter. history.max_messages and compaction bound the
// history, and keep a reply together with its results. max_result_chars and
// max_payload_bytes cut single results. contracts.repair bounds the repairs of one
// text, and parallel.max the calls that run at once. limits.near only warns the
// model, once a run.
package loop
