package audit

import (
	"strings"

	"github.com/agentbench-go/agentbench/loop"
)

// CheckAnthropicHistory returns the problems of [CheckHistory], and after them those
// that the Anthropic Messages API adds, in the order of the messages; nil if there are
// none. There the results of a reply and the user messages after them are one message
// of the user's, so: the first message is the user's, replies alternate with it, results
// come first in it (which CheckHistory checks), and no text in it is blank, except a
// result.
//
// The loop keeps these rules in each request, where the history keeps its first message
// (history.keep_first) and no user writes a blank message.
func CheckAnthropicHistory(h []loop.Message) []string {
	c := historyCheck{}
	for i := range h {
		m := &h[i]
		c.n, c.ref = i+1, m.Ref
		switch {
		case i == 0 && m.Role != loop.User:
			c.add("the first message must be the user's")
		case i > 0 && m.Role == loop.Assistant && h[i-1].Role == loop.Assistant:
			c.add("two replies in a row")
		case m.Role == loop.User && strings.TrimSpace(m.Text) == "":
			c.add("a user message has no text")
		}
	}
	return append(CheckHistory(h), c.problems...)
}
