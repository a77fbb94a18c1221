package serve

import (
	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/loop"
)

// Seen is one request as [Options.Observe] is told of it: its entry in the journal,
// and what was said. The slices are not changed afterwards and may be kept.
type Seen struct {
	// Entry is the entry so far. It is Open when the answer begins, and no longer
	// when it has ended.
	Entry *Entry
	// Tools are the names of the tools that the request declares, in its order, and
	// Scripted those of the script's tools that are among them, by the names of the
	// script: see [Options.ServerName].
	Tools, Scripted []string
	// History is the request's history without system messages. Each call has its
	// number in the conversation, each result the Ref of its call, zero if the
	// history does not hold the call.
	History []loop.Message
	// Text is that of the reply, or the reason if the reply Failed: if it does not
	// reach the client whole.
	Text   string
	Failed bool
	// Calls are those of the reply with their numbers and the names of the script, none
	// if it Failed.
	Calls []loop.Call
	// TokensIn and TokensOut are the usage that the reply tells.
	TokensIn, TokensOut int64
}

// saw keeps what the observer is told of a reply.
func (x *exchange) saw(said *fakes.Said, r *reply, calls []loop.Call) {
	s := &x.seen
	s.Text, s.TokensIn, s.TokensOut = r.text, r.in, r.out
	if !complete(said) {
		s.Text, s.Failed = reasonOf(said.Failure, said.Reason), true
		return
	}
	s.Calls = calls
}

// complete reports whether a reply reaches the client whole.
func complete(said *fakes.Said) bool {
	return said.Failure == nil || said.Failure.Wire == fakes.WireNoFinish
}
