package serve

import (
	"fmt"
	"math"
	"strings"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/loop"
)

// Limits on the replies without a message in the history.
const (
	maxSilent  = 8     // empty replies in a row
	maxDropped = 5_000 // replies that the client dropped
)

// A scene is a served scenario.
type scene struct {
	name        string
	script      *fakes.Script
	model       *fakes.Model
	conditional bool // some step has a When
	struck      bool // the script has faults
}

// A spot is the place of a request in a script. It follows from the history in the
// request alone.
type spot struct {
	*scene
	model   fakes.Model // with the seed
	history []loop.Message
	course  fakes.Course
	before  fakes.Before
	cut     bool // the reply before was cut off
	n       int  // the number of the request
	step    int  // the index of the step that answers it, -1 = there is none
	asked   int  // the number of calls in earlier replies
	final   bool // the request asks for a last word
}

// find follows the history through the script, and sets the number of each message
// and call.
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
	// A client that called tools before and offers none now wants a last word.
	s.final = !q.tools && s.asked > 0
	s.next()
	return s
}

// numbered returns the ref of the call with an id, or the zero Ref if there is no
// such call.
func numbered(calls []loop.Call, id string) loop.Ref {
	for i := range calls {
		if calls[i].ID == id {
			return loop.Ref{Kind: loop.RefCall, N: calls[i].N}
		}
	}
	return loop.Ref{}
}

// replied advances to the request that a message of the assistant answered.
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

// askedBefore returns the number of calls before these, as far as the fresh ids
// among them show it, else 0. The client may have dropped the earlier calls.
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

// catchUp skips the steps whose calls are missing in the history, until the number
// of calls is that of asked.
func (s *spot) catchUp(asked int) {
	history := s.history
	defer func() { s.history = history }()
	s.history = nil // what the dropped requests followed is unknown
	for dropped := 0; s.asked < asked && dropped < maxDropped; dropped++ {
		s.next()
		if s.step < 0 {
			break
		}
		s.asked += len(s.script.Model[s.step].Calls)
	}
	s.asked = max(s.asked, asked)
}

// next advances to the next request, which has the history s.history.
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

// silent reports whether the reply of the step is empty, so that it leaves no
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

// counted reports whether the answer depends on how often the request was sent
// before.
func (s *spot) counted() bool {
	return s.struck || s.step >= 0 && len(s.script.Model[s.step].Failures) > 0 || s.silent()
}

// say returns the answer to a try of the request.
func (s *spot) say(try int) (fakes.Said, error) {
	return s.model.Say(s.step, fakes.Request{Ref: loop.Ref{Kind: loop.RefModel, N: s.n, Try: try}, Calls: s.asked, History: s.history})
}

// answer returns the answer to the request and the number of its try, if the same
// request was sent that often earlier. Each failure was one try of it; each empty
// reply led to the next request.
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

// look reads the end of a history: the last batch of results and the messages
// after it.
func look(history []loop.Message) fakes.Before {
	var b fakes.Before
	i := len(history) - 1
	for ; i >= 0 && history[i].Role == loop.User; i-- {
		b.Nudged = b.Nudged || nudged(history[i].Text)
	}
	for ; i >= 0 && history[i].Role == loop.ToolRole; i-- {
		m := &history[i]
		if !b.Results {
			b.Results, b.Result = true, m.Text
		}
		b.Denied = b.Denied || denied(m.Text)
		b.Vetoed = b.Vetoed || vetoed(m.Text)
		b.Failed = b.Failed || m.Failed || failedText(m.Text)
	}
	return b
}

// missed returns why no step answers the request.
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
		text += fmt.Sprintf("the last one, %s, answers no request after %d", stepName(last), s.plain())
	} else {
		text += "all steps have a condition"
	}
	if len(conditions) > 0 {
		text += "; these do not hold or are used up: " + strings.Join(conditions, ", ")
	}
	return text
}

// plain returns how many requests the steps without a condition answer.
func (sc *scene) plain() int {
	n := 0
	for i := range sc.script.Model {
		if step := &sc.script.Model[i]; step.When == fakes.WhenAlways {
			n += max(1, step.Repeat)
		}
	}
	return n
}

// stepName returns the name of a step in errors and in the journal.
func stepName(i int) string { return fmt.Sprintf("model[%d]", i) }
