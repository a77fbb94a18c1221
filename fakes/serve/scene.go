package serve

import (
	"fmt"
	"math"
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
	struck      bool // by faults of the script
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
	final   bool // the request asks for a last word
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
	// Who has called tools and may not any more is to come to an end.
	s.final = !q.tools && s.asked > 0
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
	s.catchUp(s.askedBefore(m.Calls))
	s.next()
	said := len(m.Calls) > 0 || !blank(m.Text)
	for range maxSilent {
		if !said || !s.silent() {
			break
		}
		s.next()
	}
	m.Ref = loop.Ref{Kind: loop.RefModel, N: s.n}
	for i := range m.Calls {
		s.asked++
		m.Calls[i].N = s.asked
	}
}

// askedBefore gives how many calls were asked for before some, as far as fresh
// ids among them tell: a client may have dropped the replies that did.
func (s *spot) askedBefore(calls []loop.Call) int {
	before := math.MaxInt
	for i := range calls {
		if n := s.model.CallNumber(calls[i].ID); n > 0 {
			before = min(before, n-1-i)
		}
	}
	if before == math.MaxInt {
		return 0
	}
	return before
}

// catchUp passes over the steps that asked for calls which are not in the
// history.
func (s *spot) catchUp(asked int) {
	history := s.history
	defer func() { s.history = history }()
	s.history = nil // what they came right after is not known any more
	for dropped := 0; s.asked < asked && dropped < maxDropped; dropped++ {
		s.next()
		if s.step < 0 {
			break
		}
		s.asked += len(s.script.Model[s.step].Calls)
	}
	s.asked = max(s.asked, asked)
}

// next goes on to the next request, which is asked with the history.
func (s *spot) next() {
	if s.n++; s.n > 1 {
		s.cut = s.step >= 0 && s.script.Model[s.step].Finish == loop.FinishLength
	}
	if s.conditional {
		s.before = look(s.history)
		s.before.Cut = s.cut
		if s.final {
			s.before.For = loop.ForFinal
		}
	}
	s.step = s.model.Next(&s.course, s.before)
}

// silent reports whether the step says nothing, so that its reply leaves no
// message in a history.
func (s *spot) silent() bool {
	if s.step < 0 {
		return false
	}
	if step := &s.script.Model[s.step]; !s.struck {
		return len(step.Calls) == 0 && blank(step.Text)
	}
	for try := range maxSilent {
		if said, _ := s.say(try + 1); said.Failure == nil {
			return silent(&said)
		}
	}
	return false
}

func silent(said *fakes.Said) bool {
	return said.Failure == nil && len(said.Calls) == 0 && blank(said.Text)
}

func blank(text string) bool { return strings.TrimSpace(text) == "" }

// counted reports whether it matters how often the request was made before.
func (s *spot) counted() bool {
	return s.struck || s.step >= 0 && len(s.script.Model[s.step].Failures) > 0 || s.silent()
}

// say gives what is said to a try.
func (s *spot) say(try int) (fakes.Said, error) {
	return s.model.Say(s.step, fakes.Request{Ref: loop.Ref{Kind: loop.RefModel, N: s.n, Try: try}, Calls: s.asked, History: s.history})
}

// answer gives what is said to the request, of which the same was asked so many
// times before, and which try it is: each failure was a try, and after a reply
// that said nothing came the next request.
func (s *spot) answer(earlier int) (said fakes.Said, try int, err error) {
	for try = 1; s.step >= 0; try++ {
		said, err = s.say(try)
		if earlier == 0 || err != nil || said.Failure == nil && !silent(&said) {
			break
		}
		earlier--
		if said.Failure == nil {
			s.next()
			try = 0
		}
	}
	return said, try, err
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
func (sc *scene) plain() int {
	n := 0
	for i := range sc.script.Model {
		if step := &sc.script.Model[i]; step.When == fakes.WhenAlways {
			n += max(1, step.Repeat)
		}
	}
	return n
}

// stepName is the step as errors and the journal have it.
func stepName(i int) string { return fmt.Sprintf("model[%d]", i) }
