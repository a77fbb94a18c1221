package audit

import (
	"regexp"

	"github.com/agentbench-go/agentbench/loop"
)

// This file recounts the constraints of a task.

// turnsBack reports whether the critic finds gaps in a reply that is an answer. The
// trace says so for a planner's stop, and for a critic that is not by rule.
func (b *book) turnsBack(r *reply) bool {
	if b.task.Critic == nil || r.sort != answerReply && r.sort != actionReply {
		return false
	}
	if _, byRule := b.task.Critic.(loop.RuleCritic); !byRule || r.sort == actionReply {
		return b.has(r.rec, func(e *loop.Effect) bool {
			return e.Kind == loop.Note && e.Event == loop.EventGaps && e.Ref == r.ref
		})
	}
	for i := range b.task.Constraints {
		if !b.keeps(r, &b.task.Constraints[i]) {
			return true
		}
	}
	return false
}

// keeps reports whether a constraint holds for an answer.
func (b *book) keeps(answer *reply, c *loop.Constraint) bool {
	found := func(expr, text string) bool {
		re, err := regexp.Compile(expr)
		return err == nil && re.MatchString(text)
	}
	if c.Says != "" && !found(c.Says, answer.in.Text) || c.Omits != "" && found(c.Omits, answer.in.Text) {
		return false
	}
	kept := c.Called == "" || c.After != ""
	for _, r := range answer.run.replies {
		ran, done := false, false
		for _, call := range r.calls {
			if len(call.puts) == 0 || len(call.tries) == 0 {
				continue
			}
			ran = ran || call.name == c.After
			done = done || call.name == c.Called && b.errorKind(call, call.puts[0].eff) == "" && found(c.With, call.asked.Args)
		}
		switch { // a call of After makes another one needed, also in its own turn
		case ran && c.Called != "" && c.After != "":
			kept = false
		case done:
			kept = true
		}
	}
	return kept
}

// checkGoal checks that a run goes on after an answer with gaps only once the model is
// told, and not too often.
func (b *book) checkGoal() {
	for _, r := range b.replies {
		if r.sort == gapReply && b.has(r.rec, asksModel) && !b.has(r.rec, speaks) {
			b.report(r.place, "a user message that names the gaps", "none", "the critic found gaps in the answer %s", r.ref)
		}
	}
	b.goesOn(loop.StopUnmetGoal)
}
