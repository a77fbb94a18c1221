// Package tape keeps the traffic of a conversation with a model in a cassette,
// and plays it again with the network denied.
//
// A cassette is a file of go-vcr's (version 1), between two comments of ours:
//
//	# agentbench: {"format":"agentbench.cassette/v1", …}
//	---
//	version: 1
//	interactions:
//	- request: …
//	# agentbench: interactions=2 sha256=…
//
// The first line is the head: what the recorder of the session wants to know
// again. The last one is the number of interactions and the checksum of all bytes
// before it, so that a file that was cut, merged or changed by hand is refused.
// go-vcr takes both for comments.
//
// One cassette holds one conversation: its requests, in their order. A request is
// answered by the first interaction that was not played yet and has the same
// method, path, query and body; bodies are compared redacted and, where they are
// JSON, in canonical form. Nothing is waited for, and nothing is ever asked of
// the network. What is told of time is in two headers of the response that are
// ours: X-Agentbench-Events says at which millisecond each event of a stream (or
// the body) had come, as 320x1 350x2, one event at 320 and two at 350;
// X-Agentbench-Failure says why a body broke off, or why there was no response
// at all (then the status is 599).
package tape
