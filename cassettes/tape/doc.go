// Package tape records the HTTP traffic of a conversation with a model in a
// cassette, and plays it without a network.
//
//	transport, err := tape.Begin("refund.cassette.yaml", tape.Once, http.DefaultTransport, redactor)
//	…
//	client := &http.Client{Transport: transport}
//	… // the conversation
//	err = transport.Save(transport.Head()) // if transport.Recorded() > 0
//
// A cassette is a file of go-vcr (version 1) between two comments of ours:
//
//	# agentbench: {"format":"agentbench.cassette/v1", …}
//	---
//	version: 1
//	interactions:
//	- request: …
//	# agentbench: interactions=2 sha256=…
//
// The first line is the head: one line that the caller writes and reads back. The
// last line has the number of interactions and the checksum of all bytes before it,
// so Open refuses a file that was cut, merged or changed by hand. go-vcr reads both
// as comments.
//
// A cassette has one conversation: its requests, in order. A request is answered by
// the first interaction that was not played yet and has the same method, path, query
// and body. Bodies are compared after redaction, and JSON bodies in canonical form.
// Playing never waits and never uses the network.
//
// Two headers of a response are ours. X-Agentbench-Events has the milliseconds at
// which the events of a stream, or the body, arrived: 320x1 350x2 means one event at
// 320 and two at 350. X-Agentbench-Failure says why a body broke off, or why there
// was no response at all (then the status is 599).
package tape
