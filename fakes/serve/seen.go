package serve

import (
	"iter"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/loop"
)

// Seen is one request as [Options.Observe] is told of it: its entry in the journal,
// and what was said. The slices are not changed afterwards and may be kept.
type Seen struct {
	// Entry is the entry so far. It is Open when the answer begins, and no longer
	// when it has ended.
	Entry *Entry
	// Tools are the names of the tools that the request declares, in its order.
	Tools []string
	// History is the request's history without system messages. Each call has its
	// number in the conversation, each result the Ref of its call, zero if the
	// history does not hold the call.
	History []loop.Message
	// Text is that of the reply, or the reason if the reply Failed: if it does not
	// reach the client whole.
	Text   string
	Failed bool
	// Calls are those of the reply with their numbers, none if it Failed.
	Calls []loop.Call
	// TokensIn and TokensOut are the usage that the reply tells.
	TokensIn, TokensOut int64
}

// saw keeps what the observer is told of a reply.
func (x *exchange) saw(said *fakes.Said, r *reply, asked int) {
	s := &x.seen
	s.Text, s.TokensIn, s.TokensOut = r.text, r.in, r.out
	if f := said.Failure; f != nil && f.Wire != fakes.WireNoFinish {
		s.Text, s.Failed = reasonOf(f, said.Reason), true
		return
	}
	for i, c := range r.calls {
		s.Calls = append(s.Calls, loop.Call{N: asked + i + 1, ID: c.ID, Name: c.Name, Args: c.Args})
	}
}

// names returns the names of the tools that a request declares.
func (q *question) names() (names []string) {
	for v := range declared(q.declared) {
		names = append(names, v.text())
	}
	return names
}

// declared yields the names of the functions in a list of tools. A tool of Chat
// Completions holds a function, a namespace of Responses
// and a tool of Gemini hold several.
func declared(tools value) iter.Seq[value] {
	return func(yield func(value) bool) {
		for tool := range tools.items() {
			inner := tool.field("tools")
			if inner == nil {
				inner = either(tool, "functionDeclarations", "function_declarations")
			}
			if inner.is('[') {
				for name := range declared(inner) {
					if !yield(name) {
						return
					}
				}
				continue
			}
			name := tool.field("name")
			if f := tool.field("function"); f.is('{') {
				name = f.field("name")
			}
			if name.is('"') && !yield(name) {
				return
			}
		}
	}
}
