// Package serve plays the model of a script over HTTP. It serves OpenAI's Chat
// Completions and Responses, Anthropic's Messages and Google's Gemini, streamed and
// not. So the
// scripts that drive the reference loop can drive an agent in any language, with
// any SDK.
//
//	server, err := serve.New([]serve.Scenario{{Name: "mine/busy", Script: script}}, serve.Options{})
//	…
//	err = server.Serve(ctx, listener) // or use the server as an http.Handler
//
// # Which step answers a request
//
// A request carries its whole conversation, and the server finds the step from
// that alone: it keeps no state of the model's side of conversations. The ids of calls say which reply
// they belong to: call_3_2 is the second call of the reply to the third request.
// The number of a request is one more than that of the last reply with such an id
// and the number of assistant messages after it. Messages of the assistant before
// the first reply of the script are the client's own, such as few-shot examples.
// One reply may come back as several messages, and the results of its calls in any
// order. The conditions ([fakes.When]) look at the results at the end of the
// history:
//
//   - A result failed if it begins with "Error", is a JSON object with an error, or
//     has Anthropic's is_error.
//   - Denials, vetoes and nudges have the words of package loop. Denials may also
//     have those of some SDKs.
//   - A reply was cut off if its step says so.
//   - A request asks for a last word if the history has calls, but the request
//     offers no tools.
//   - A request for a summary cannot be recognized: the next step answers it.
//   - A request without tools is an aside if the step has calls, or there is none: it
//     gets a neutral text.
//
// System messages are ignored.
//
// Three things leave no trace in a history:
//
//   - Empty replies. If a step is empty but the history has a message with content
//     in its place, the server skips the step.
//   - Messages that the client dropped. The ids in the remaining calls show how many
//     replies came before. Dropped replies after the last call go unnoticed.
//   - Tries. The k-th request with the same scenario, seed, API and body is the
//     k-th try, until one is answered; then the count begins again. To run
//     identical conversations at once, give each its own seed, API key or header
//     X-Agentbench-Conversation, which all count as part of the request. The server
//     counts only the tries of empty steps, of steps with failures, and of scripts
//     with faults. It remembers the newest 8,192 to 16,384 such requests.
//
// The user's messages and cancels are not served.
//
// # Tools
//
// The client runs tools of its own, or those of the script: GET /tools beside /v1
// lists them, POST /tools/NAME with the arguments as a JSON object answers with the
// text of the result or the status of the scripted failure, after the script's time.
// A [fakes.Desk] decides which call of the model an execution belongs to. It holds one
// conversation for each scenario and seed, which the request with number 1 begins
// anew. If the client executes calls there, conditions and ${result:…} go by what it
// was told, and a call without an answer has failed. Options.MCP offers the same
// tools by another protocol.
//
// # Failures
//
// A failure of the script takes place on the wire: a status (with Retry-After in
// seconds, and Retry-After-Ms if the wait is not a whole number of seconds), a
// hang before the header, or a lost connection. With chunks it follows that number
// of pieces: a stream stalls, breaks off, or sends an error event. An answer that
// is not streamed breaks off in the middle; if it has a status, only the status
// and its error are sent. A [fakes.Wire] is any other failure of the wire.
//
// The pieces are those of the text or, in a reply without text, of the calls'
// arguments. If a step has no chunks, all pieces are sent at its latency: three for
// the text and three for each call.
//
// A message of Anthropic's API that is not streamed cannot hold arguments that are
// not JSON. It holds them as a JSON string.
package serve
