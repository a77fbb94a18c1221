package serve

import (
	"slices"
	"strings"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/loop"
)

// maxDropped limits how many replies that the client dropped are followed.
const maxDropped = 5_000

// A spot is the place of a request in a script. It follows from the history in the
// request alone.
type spot struct {
	*scene
	model fakes.Model  // with the seed
	desk  *fakes.Desk  // nil = the script has no tools to offer
	told  map[int]bool // the calls whose results are known from the desk
	// history is that of the request in the form of the script's own: one message
	// for each reply, and after it the results in the order of its calls, without what
	// the client put round them.
	history []loop.Message
	at      int // the index in history of the last reply, -1 = there is none
	course  fakes.Course
	before  fakes.Before
	cut     bool // the reply before was cut off
	n       int  // the number of the request
	step    int  // the index of the step that answers it, -1 = there is none
	asked   int  // the number of calls in earlier replies
	base    int  // the number of calls before the last reply
	dropped int  // replies that were followed without a message
	final   bool // the request asks for a last word
	forced  bool // the request forces the model to call a tool
	void    bool // a reply comes without its calls if the arguments of one are broken
}

// find follows the history through the script, and sets the number of each message
// and call.
func (sc *scene) find(q *question, seed uint64, desk *fakes.Desk) *spot {
	s := &spot{scene: sc, model: sc.model.Seeded(seed), desk: desk, at: -1, history: make([]loop.Message, 0, len(q.history)), void: q.void}
	users := 0
	for i := range q.history {
		switch m := &q.history[i]; m.Role {
		case loop.User:
			users++
			m.Ref = loop.Ref{Kind: loop.RefMessage, N: users}
			s.history = append(s.history, *m)
		case loop.ToolRole:
			s.result(m)
		case loop.Assistant:
			s.reply(m)
		}
	}
	// A client that called tools before and offers none now wants a last word.
	s.final = !q.tools && s.asked > 0
	s.forced = q.tools && q.choice != "" && q.choice != "auto"
	s.next()
	return s
}

// result adds a result. Clients write the results of a batch in the order in which
// the calls ended.
func (s *spot) result(m *loop.Message) {
	i := len(s.history)
	if k := s.called(m.CallID); k >= 0 {
		m.Ref = loop.Ref{Kind: loop.RefCall, N: s.history[s.at].Calls[k].N}
		for i-1 > s.at && s.history[i-1].Role == loop.ToolRole && s.called(s.history[i-1].CallID) > k {
			i--
		}
	}
	s.history = slices.Insert(s.history, i, *m)
	text, failed := plain(m.Text)
	s.history[i].Text, s.history[i].Failed = text, m.Failed || failed
	s.tell(&s.history[i])
}

// tell puts what the desk told the agent in place of what the agent made of it. A call
// that the agent ended without an answer failed, if the agent executes its calls at
// the desk at all.
func (s *spot) tell(m *loop.Message) {
	if s.desk == nil || m.Ref.N == 0 {
		return
	}
	said, answered, used := s.desk.Told(m.Ref.N)
	switch {
	case answered:
		if s.told == nil {
			s.told = map[int]bool{}
		}
		s.told[m.Ref.N] = true
		m.Text, m.Failed = said.Text, said.Code.Failed()
		if _, marked := cutError(m.Text); m.Failed && !marked {
			m.Text = "Error: " + m.Text
		}
	case used:
		m.Failed = true
	}
}

// called returns the index of the call with an id in the last reply, or -1.
func (s *spot) called(id string) int {
	if s.at < 0 {
		return -1
	}
	return slices.IndexFunc(s.history[s.at].Calls, func(c loop.Call) bool { return c.ID == id })
}

// reply advances to the request that a message of the assistant answered, and adds
// the message. The ids of calls say which request that was; a message without them
// answered the next one, unless the client wrote it itself, before the first reply.
// Some clients write the calls of one reply as several messages.
func (s *spot) reply(m *loop.Message) {
	n := s.requestOf(m.Calls)
	more := n > 0 && n == s.n
	switch {
	case n > 0 && !more:
		s.goTo(n)
	case n == 0 && !s.follow(m):
		s.history = append(s.history, *m)
		return
	}
	if !more {
		s.base = s.asked
	}
	m.Ref = loop.Ref{Kind: loop.RefModel, N: s.n}
	for i := range m.Calls {
		s.asked++
		if _, k := s.model.IDPlace(m.Calls[i].ID); k > 0 {
			s.asked = s.base + k
		}
		m.Calls[i].N = s.asked
	}
	for i := range m.Calls {
		s.asked = max(s.asked, m.Calls[i].N)
	}
	if more && s.at >= 0 && !slices.ContainsFunc(s.history[s.at+1:], notResult) {
		whole := &s.history[s.at]
		whole.Calls = slices.Concat(whole.Calls, m.Calls)
		whole.Text = strings.TrimSpace(whole.Text + "\n" + m.Text)
		return
	}
	s.at = len(s.history)
	s.history = append(s.history, *m)
}

func notResult(m loop.Message) bool { return m.Role != loop.ToolRole }

// requestOf returns the number of the request whose reply asked for these calls, as
// far as the fresh ids among them show it, else 0.
func (s *spot) requestOf(calls []loop.Call) (n int) {
	for i := range calls {
		of, _ := s.model.IDPlace(calls[i].ID)
		n = max(n, of)
	}
	return n
}

// follow advances to the next request and reports whether the message may be its
// reply. It skips steps whose empty replies left no message.
func (s *spot) follow(m *loop.Message) bool {
	first := s.n == 0
	s.next()
	said := len(m.Calls) > 0 || !blank(m.Text)
	for range maxSilent {
		if !said || !s.silent() {
			break
		}
		s.next()
	}
	if first && said && !s.says(m) {
		s.begin()
		return false
	}
	return true
}

// says reports whether a message is the reply of the step, as far as this can be
// told: clients may trim texts, and give calls ids of their own.
func (s *spot) says(m *loop.Message) bool {
	if s.step < 0 || s.struck {
		return true
	}
	said, _ := s.say(1)
	a, b := strings.TrimSpace(m.Text), strings.TrimSpace(said.Text)
	if a != "" && b != "" && (strings.Contains(a, b) || strings.Contains(b, a)) {
		return true
	}
	return len(m.Calls) > 0 && slices.EqualFunc(m.Calls, said.Calls, func(a loop.Call, b loop.AskedCall) bool { return a.Name == b.Name || s.renamed })
}

// begin goes back to the beginning of the script.
func (s *spot) begin() {
	s.course, s.n, s.step, s.asked, s.cut = fakes.Course{}, 0, 0, 0, false
}

// goTo advances to request n. It follows the steps whose replies are missing in the
// history: empty ones, and those that the client dropped.
func (s *spot) goTo(n int) {
	if n <= s.n {
		s.begin()
	}
	history := s.history
	defer func() { s.history = history }()
	for s.n < n-1 && s.dropped < maxDropped {
		s.dropped++
		s.next()
		if s.step < 0 {
			break
		}
		if !s.silent() {
			s.asked += len(s.script.Model[s.step].Calls)
			s.history = nil // what the next dropped request followed is unknown
		}
	}
	s.n = n - 1
	s.next()
}

// next advances to the next request, which has the history s.history.
func (s *spot) next() {
	if s.n++; s.n > 1 {
		s.cut = s.step >= 0 && s.script.Model[s.step].Finish == loop.FinishLength
	}
	if s.conditional {
		s.before = look(s.history, s.told)
		s.before.Cut = s.cut
		// Earlier requests are gone: those of a client that still forces the model did
		// too, and where it does not, the script's choice held until the first call.
		s.before.Forced = s.forced || s.asked == 0 && s.script.ToolChoice.Use != ""
		if s.final {
			s.before.For = loop.ForFinal
		}
	}
	s.step = s.model.Next(&s.course, s.before)
}
