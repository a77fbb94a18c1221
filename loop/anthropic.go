package loop

import "strings"

// CheckAnthropicHistory tells what is wrong with a history by the rules of the
// Anthropic Messages API beside those of [CheckHistory], in the order of the
// messages; nil if nothing is. There the results of a reply and the user
// messages after them are one message of the user's, so: the first message is
// the user's; replies alternate with it; results come first in it, which
// CheckHistory sees to; and no text in it is blank, but for results.
//
// The loop keeps these rules where the history keeps its first message
// (history.keep_first), no user writes a blank message, and no run that broke
// off left a reply last.
func CheckAnthropicHistory(h []Message) []string {
	problems := CheckHistory(h)
	c := historyCheck{}
	for i, m := range h {
		c.n, c.ref = i+1, m.Ref
		switch {
		case i == 0 && m.Role != User:
			c.add("the first message must be the user's")
		case i > 0 && m.Role == Assistant && h[i-1].Role == Assistant:
			c.add("two replies in a row")
		case m.Role == User && strings.TrimSpace(m.Text) == "":
			c.add("a blank text")
		}
	}
	return append(problems, c.problems...)
}
