package drive

import (
	"context"
	"fmt"

	"github.com/agentbench-go/agentbench/loop"
)

// A Word is an answer of a person in a recorded session.
type Word struct {
	To   string `json:"to"` // what the person was asked: next, question or permission
	Text string `json:"text,omitempty"`
	Yes  bool   `json:"yes,omitempty"` // there is a next message; go on; allowed
}

// The values of Word.To.
const (
	toNext       = "next"
	toQuestion   = "question"
	toPermission = "permission"
)

// noting returns people like p, and adds their answers to words.
func noting(p loop.LiveOptions, words *[]Word) loop.LiveOptions {
	note := func(to, text string, yes bool) {
		*words = append(*words, Word{To: to, Text: text, Yes: yes})
	}
	var out loop.LiveOptions
	if p.FollowUp != nil {
		out.FollowUp = func(ctx context.Context, last loop.Outcome) (string, bool) {
			text, ok := p.FollowUp(ctx, last)
			note(toNext, text, ok)
			return text, ok
		}
	}
	if p.Ask != nil {
		out.Ask = func(ctx context.Context, question string) (string, bool) {
			text, goOn := p.Ask(ctx, question)
			note(toQuestion, text, goOn)
			return text, goOn
		}
	}
	if p.Approve != nil {
		out.Approve = func(ctx context.Context, tool, args string) (bool, string) {
			allow, reason := p.Approve(ctx, tool, args)
			note(toPermission, reason, allow)
			return allow, reason
		}
	}
	return out
}

// repeating returns people who give the recorded answers, in order. Asked anything
// that the recording does not have, they decline and report it to lost.
func repeating(words []Word, lost func(error)) loop.LiveOptions {
	if len(words) == 0 {
		return loop.LiveOptions{}
	}
	next := func(to string) Word {
		if len(words) == 0 || words[0].To != to {
			lost(fmt.Errorf("the user was asked something that was not recorded: %s", to))
			return Word{}
		}
		w := words[0]
		words = words[1:]
		return w
	}
	return loop.LiveOptions{
		FollowUp: func(context.Context, loop.Outcome) (string, bool) {
			w := next(toNext)
			return w.Text, w.Yes
		},
		Ask: func(context.Context, string) (string, bool) {
			w := next(toQuestion)
			return w.Text, w.Yes
		},
		Approve: func(context.Context, string, string) (bool, string) {
			w := next(toPermission)
			return w.Yes, w.Text
		},
	}
}
