// Package serve answers for a model over HTTP, by script: OpenAI's Chat
// Completions and Responses, and Anthropic's Messages, streamed and not. An
// agent in any language, with any SDK, can so be driven by the scripts that
// drive the reference loop.
//
// # What answers a request
//
// A request brings its conversation along, and that alone tells where in the
// script it stands: nothing is kept of a conversation. The number of the request
// is one more than that of the assistant's messages before it. The conditions
// ([fakes.When]) look at the results at the history's end: a result that begins
// with "Error", or is a JSON object with an error, is a failed one (as is
// Anthropic's is_error); denials, vetoes and nudges are known by the words of
// package loop, denials by those of some SDKs as well. A reply that was cut off is
// known by the step that gave it, and a request for a last word by this: calls
// were made, and no tools are offered any more. What asks for a summary cannot be
// told from other requests. System messages count for nothing.
//
// Three things leave no trace in a history, and are dealt with as follows.
//
//   - A reply that said nothing. Where a step says nothing but the history has a
//     message with something in its place, the step is passed over.
//   - Messages that a client dropped. The ids call_1, call_2 … of calls tell how
//     many calls were asked for before the ones that are left; steps are passed
//     over until that many were. Which replies without calls were dropped cannot
//     be known.
//   - Tries. The k-th time that a request comes with the same scenario, seed, API
//     and body is its k-th try, until it is answered; then it begins anew. Who has
//     several conversations that say the same at once gives each a seed, an API
//     key or a header X-Agentbench-Conversation of its own, for those count as
//     well. The newest 8,192 to 16,384 requests are remembered, of steps that
//     have failures or say nothing.
//
// Tools are the client's to run: what the script says of them is not served. Nor
// are the user's messages and cancels.
//
// # Faults
//
// A failure of the script is what its words say, on the wire: a status (with
// Retry-After in seconds, and Retry-After-Ms where that says more), a hang before
// the header, a lost connection. With chunks it comes after as many pieces: a
// stream stalls, breaks off, or has an error event; an answer that is not
// streamed breaks off in its middle, and a status comes without pieces. What else
// there is, is a [fakes.Wire]. The pieces are those of the text, or of the calls'
// arguments in a reply without text. Where a step has no chunks, all pieces come
// at its latency, three for a text and three for each call.
//
// A whole message of Anthropic's cannot hold arguments that are no JSON; they come
// as a JSON string there.
package serve
