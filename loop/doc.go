// Package loop is a reference agent loop with its safety mechanisms, as a
// value. A [Machine] takes one [Input] (the model replied, a tool returned, a
// tick) and returns the [Effect]s it wants (ask the model, call a tool, cancel,
// halt). It never blocks, reads no clock, starts no goroutine and draws no
// global randomness, so that every timeout, retry, late answer and ordering is
// an ordinary input that a test can write down. A [World] carries effects out;
// [Run] drives a machine in one.
//
// # Words
//
// session: a conversation, one or more runs over one history. run: the work on
// one user message, from the message to its stop. turn: one model reply and the
// calls it asks for. call: one tool request. try: one attempt at a call. batch:
// the calls of one turn. stop: why a run ended. end state: the coarse class of
// a stop. world: whatever answers the loop. script: what a fake world will say.
// scenario: one script, its label and what must be true of the trace. suite: a
// folder of scenarios. variant: one named safety config. trial: the run of one
// scenario × variant × seed. trace: all that went into the loop and came out,
// in order. golden: a stored trace. cassette: recorded HTTP traffic.
// trajectory: a run that some other agent recorded. runaway, healthy: the
// label, should be stopped or should finish.
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
// One line an input or effect. Inputs start with the time in seconds, right
// aligned to nine columns, with three to nine decimals; effects with >. Then
// come a word, the number of what it is about, and key=value in a fixed order,
// zero values left out. A value stands bare if it matches
// [A-Za-z0-9_-][A-Za-z0-9_.-]*, in back quotes if it is printable ASCII with a
// double quote and without back quote and backslash, and Go-quoted otherwise.
// A model input leaves #1 out. Money is in nano-dollars.
//
// Durations are in exact seconds (5s, 10.8s). [ParseTrace] reads canonical text
// and nothing else. (The example stands two columns to the left of the real
// thing.)
//
// # The history
//
// It is what the model is asked with, and can be rebuilt from a trace: started
// and message append a user message (u1, u2 …), and so does an answer that
// allows with text; a reply that was open appends an assistant message (m1 …); put appends
// a result (c1 …) or a user message of the loop's own (u…), or with to=N puts
// it at place N; drop removes a message. Every call has exactly one result,
// right after its reply, in request order, under a unique id. An assistant
// message without text and calls is dropped at once. With [PlannerJSON] the
// call of a reply stands in its text: see [ParseAction].
//
// # What a step does, in this order (decision D20)
//
//  1. What is due at an instant comes before that instant's input: the run
//     deadline, then the model's timers, then the calls' in request order. So a
//     timeout wins a tie.
//  2. Cancel and run deadline. An open model request is cancelled and the run
//     halts. An open gate or question is forgotten. Calls that have not started
//     get a result (not-started), running ones are cancelled and have
//     time.grace to end: a result that still succeeds counts, any other ends
//     the call as Cancelled, as does the end of the grace (event abandoned). A
//     call that was waiting for a retry ends with its last error.
//  3. Model retry. A failure with a status in model_retry.statuses is tried
//     again after the backoff, or after Retry-After if the server named one; a
//     wait above model_retry.max_wait, or one that would not end before the run
//     deadline, fails at once (event gave-up). Timeouts (first token, chunk,
//     whole request) and broken streams count as 5xx. Spent, or not retryable:
//     stop model-deadline after a timeout, model-failed after anything else.
//     So what follows a first-token timeout is a second try of the same
//     request, if model_retry.max allows one, and the stop model-deadline if
//     not.
//  4. Reply validity. A reply without calls and with nothing but white space is
//     dropped (event empty-reply) and asked for again; one more in a row than
//     model_retry.empty_replies is the stop empty-reply. A reply without calls
//     that was cut off by the length limit (event cut-reply) is kept if it has
//     text, followed by a user message that says so, and asked for again; the
//     same bound, stop truncated-reply. Neither is a turn. A cut reply with
//     calls is a turn; if the arguments of any of them are broken it counts to
//     the same bound, and at the bound its calls are refused. A planner's reply
//     that is no action (event bad-action) is told so and asked for again, as an
//     empty one. Anything else ends the row. Each of these replies counts to 6.
//  5. A reply without calls is the answer: stop done. (A planner's action stop:
//     stopped-by-model.)
//  6. Token, cost and step limits: above the limit all calls of the reply are
//     refused. A step limit also stops a run whose answer came with the last
//     step.
//  7. Unknown tools, arguments that are no JSON object, or that break the tool's
//     schema (contracts.input, after repair): not executed. Arguments "" mean
//     {}; white space round a name is cut (event trimmed-name). Missing, empty
//     and used ids are replaced (event replaced-id).
//  8. Detectors that act before the call, over the whole batch before any of it
//     runs. They see every call, also those of 6 and 7, with the model's own
//     arguments. A stop or last word vetoes every call of the batch that is not
//     blocked already, a veto or question the one call (or the batch, where
//     the detector looks at turns). Of several detectors at one call the
//     strongest act is done; others that would have stopped the run are noted.
//  9. Call limits, one call after another in request order, over the calls that
//     nothing has blocked: calls_per_turn, calls, depth and spawns, pages, the
//     tool's breaker, the tool's rate. A call that passes takes a place.
//  10. Hook before a call, then its permission, one gate after another in
//     request order.
//  11. Execution, up to parallel.max at once, the rest in request order as
//     places come free; a call that waits for a retry keeps its place. A try
//     above limits.tries is not made: stop try-limit, once the batch is final.
//     A result is checked against the tool's schema (contracts.output). After a
//     failed try: retry, then the tool's fallback (policy.fallbacks), then the
//     end of the call.
//  12. When the batch's last result is final: hooks after the calls, then in
//     request order each result goes into the history, and what
//     policy.on_failure and ask_missing say of it is noted for later; then the
//     error limit; then budgets that a sub-run used up; then detectors that
//     act after the batch; then the critic; then the step limit. A call that
//     nothing executed because the run was stopping (not-started) is no
//     failure.
//  13. The end of the run if a stop is decided, after a last word where one is
//     due (limits.at_limit, act final-answer); else the question to the user,
//     if one is pending; else the turn limit, instead of the next request; else
//     hints for the model, compaction, trimming, and the next request.
//
// The rule that decides first is the stop; a later one of the same run is noted
// (event also-stopped). A stop that is decided while calls still run lets the
// batch end; a deadline or cancel meanwhile only shortens that.
//
// A try that times out (time.tool, or the tool's own) is cancelled; it ends as
// Timeout when the tool acknowledges, whatever it then says, or after
// time.grace (event abandoned). Only then may a retry start. A retry waits for
// the backoff from the end of the try before. After the last try the call's
// error text is "Error after N attempts: …" if N > 1.
//
// What the user says meanwhile (input steer, event steered) is a hint for the
// model like those of the loop: it enters the history with the next request.
//
// After a halt the machine accepts only a user message, which starts the next
// run on the same history; any input whose number is not open changes nothing
// (event ignored).
package loop
