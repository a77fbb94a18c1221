package serve

import (
	"fmt"
	"strings"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/loop"
)

// How many replies may have left no message: in a row because they said nothing,
// and because the client dropped them.
const (
	maxSilent  = 8
	maxDropped = 5_000
)

// A scene is a scenario that is served.
type scene struct {
	name        string
	script      *fakes.Script
	model       *fakes.Model
	conditional bool // some step has a When
}

// A spot is where in a script a request stands: that follows from the history
// that it brings, and from nothing else.
type spot struct {
	*scene
	model   fakes.Model // with the seed
	history []loop.Message
	course  fakes.Course
	before  fakes.Before
	cut     bool // the reply before was cut off
	n       int  // the number of the request
	step    int  // the index of the step that answers it, -1 = there is none
	asked   int  // calls asked for before it
}

// find goes through the script as the history says that it was gone through,
// and gives each message and call its number.
func (sc *scene) find(q *question, seed uint64) *spot {
	s := &spot{scene: sc, model: sc.model.Seeded(seed)}
	var last []loop.Call
	users := 0
	for i := range q.history {
		s.history = q.history[:i]
		switch m := &q.history[i]; m.Role {
		case loop.User:
			users++
			m.Ref = loop.Ref{Kind: loop.RefMessage, N: users}
		case loop.ToolRole:
			m.Ref = numbered(last, m.CallID)
		case loop.Assistant:
			s.replied(m)
			last = m.Calls
		}
	}
	s.history = q.history
	s.next()
	return s
}

// numbered is the number of the call with an id, none if there is no such call.
func numbered(calls []loop.Call, id string) loop.Ref {
	for i := range calls {
		if calls[i].ID == id {
			return loop.Ref{Kind: loop.RefCall, N: calls[i].N}
		}
	}
	return loop.Ref{}
}

// replied goes on to the request that a message of the assistant answered.
func (s *spot) replied(m *loop.Message) {
	s.catchUp(m.Calls)
	s.next()
	silent := len(m.Calls) == 0 && strings.TrimSpace(m.Text) == ""
	for range maxSilent {
		if silent || !s.silent() {
			break
		}
		s.next()
	}
	m.Ref = loop.Ref{Kind: loop.RefModel, N: s.n}
	for i := range m.Calls {
		s.asked = max(s.asked+1, s.model.CallNumber(m.Calls[i].ID))
		m.Calls[i].N = s.asked
	}
}

// catchUp passes over replies that the client has dropped from its history: the
// fresh ids of those that are left tell how many calls were asked for before.
func (s *spot) catchUp(calls []loop.Call) {
	if len(calls) == 0 {
		return
	}
	first, history := s.model.CallNumber(calls[0].ID), s.history
	defer func() { s.history = history }()
	s.history = nil // what they came right after is not known any more
	for dropped := 0; s.asked < first-1 && dropped < maxDropped; dropped++ {
		s.next()
		if s.step < 0 {
			return
		}
		s.asked += len(s.script.Model[s.step].Calls)
	}
}

// next goes on to the next request, which is asked with the history.
func (s *spot) next() {
	if s.n++; s.n > 1 {
		s.cut = s.step >= 0 && s.script.Model[s.step].Finish == loop.FinishLength
	}
	if s.conditional {
		s.before = look(s.history)
		s.before.Cut = s.cut
	}
	s.step = s.model.Next(&s.course, s.before)
}

// silent reports whether the step says nothing, so that its reply leaves no
// message in a history.
func (s *spot) silent() bool {
	if s.step < 0 {
		return false
	}
	step := &s.script.Model[s.step]
	return len(step.Calls) == 0 && strings.TrimSpace(step.Text) == ""
}

// counted reports whether it matters how often the request was made before.
func (s *spot) counted() bool {
	return s.step >= 0 && len(s.script.Model[s.step].Failures) > 0 || s.silent()
}

// try finds out which try the request is, of which the same was asked so many
// times before: each failure was one, and so was each reply that said nothing,
// after which comes the next request.
func (s *spot) try(earlier int) int {
	for s.step >= 0 {
		step := &s.script.Model[s.step]
		failures := len(step.Failures)
		if earlier < failures || failures > 0 && step.FailForever {
			return earlier + 1
		}
		earlier -= failures
		if earlier == 0 || !s.silent() {
			return failures + 1
		}
		earlier--
		s.next()
	}
	return 1
}

// look tells what the end of a history shows.
func look(history []loop.Message) fakes.Before {
	var b fakes.Before
	i := len(history) - 1
	for ; i >= 0 && history[i].Role == loop.User; i-- {
		b.Nudged = b.Nudged || nudged(history[i].Text)
	}
	for ; i >= 0 && history[i].Role == loop.ToolRole; i-- {
		m := &history[i]
		b.Results = true
		b.Denied = b.Denied || denied(m.Text)
		b.Vetoed = b.Vetoed || vetoed(m.Text)
		b.Failed = b.Failed || m.Failed || failedText(m.Text)
	}
	return b
}

// missed says why no step answers the request.
func (s *spot) missed() string {
	last := -1
	var conditions []string
	for i := range s.script.Model {
		if step := &s.script.Model[i]; step.When == fakes.WhenAlways {
			last = i
		} else {
			conditions = append(conditions, fmt.Sprintf("%s (when: %s)", stepName(i), step.When))
		}
	}
	text := fmt.Sprintf("no model step for request %d: ", s.n)
	if last >= 0 {
		text += fmt.Sprintf("the last one, %s, answers none after request %d", stepName(last), s.plain())
	} else {
		text += "all steps have a condition"
	}
	if len(conditions) > 0 {
		text += "; the condition does not hold, or is used up, of " + strings.Join(conditions, ", ")
	}
	return text
}

// plain is how many requests the steps without a condition answer.
func (s *scene) plain() int {
	n := 0
	for i := range s.script.Model {
		if step := &s.script.Model[i]; step.When == fakes.WhenAlways {
			n += max(1, step.Repeat)
		}
	}
	return n
}

// stepName is the step as errors and the journal have it.
func stepName(i int) string { return fmt.Sprintf("model[%d]", i) }
