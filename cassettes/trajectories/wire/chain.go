package wire

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
)

// Read joins the exchanges of one file into conversations, in the order in which they
// begin. It counts the exchanges that belong to none by their reason.
func Read(exchanges []Exchange) ([]*Conversation, map[Reason]int) {
	s := session{left: map[Reason]int{}, responses: map[string]place{}, stored: map[string]place{}, waiting: map[string]asked{}}
	for i := range exchanges {
		if why := s.add(&exchanges[i]); why != None {
			s.left[why]++
		}
	}
	var all []*Conversation
	for _, t := range s.threads {
		if t.replies > 0 {
			t.Messages = append(t.Messages, t.tail...)
			all = append(all, &t.Conversation)
		}
	}
	return all, s.left
}

// Limits of a session: the messages of all conversations, since each branch is a
// copy, and the latest conversations that a request is compared with.
const (
	maxMessages = 1_000_000
	remembered  = 100
)

// A session is the state of Read.
type session struct {
	threads   []*thread
	responses map[string]place // the end of each response of the Responses API, by its id
	stored    map[string]place // the end of each stored conversation, by its id
	waiting   map[string]asked // requests whose answer is fetched later, by its id
	left      map[Reason]int
	messages  int // of all threads
}

// A thread is a conversation that grows.
type thread struct {
	Conversation
	keys    []key
	tail    []Message // of the last request, while it has no answer
	replies int
}

// A place is the place in a thread after n messages.
type place struct {
	thread *thread
	n      int
}

// An asked request continues its place with new messages.
type asked struct {
	request *request
	at      place
	news    []Message
}

// A key is what is compared of a message.
type key struct {
	role        Role
	text, calls string
	ids         []string // of the calls that have one
}

func keyOf(m *Message) key {
	k := key{role: m.Role, text: strings.Join(strings.Fields(m.Text), " ")}
	var calls strings.Builder
	for _, c := range m.Calls {
		args := c.Args
		var value any
		if json.Unmarshal([]byte(args), &value) == nil {
			canonical, _ := json.Marshal(value)
			args = string(canonical)
		}
		calls.WriteString(c.Name + "(" + args + ")\n")
		if c.ID != "" {
			k.ids = append(k.ids, c.ID)
		}
	}
	k.calls = calls.String()
	return k
}

// repeats reports whether a message of a history repeats one that was said before:
// it says the same, or its calls are among that one's by their ids, since agents
// rewrite arguments and leave out calls that they do not execute. It may also go on
// after the text: agents without tool calls write the result below it.
func (k key) repeats(said key) bool {
	if k.role != said.role {
		return false
	}
	if len(k.ids) > 0 && k.among(said.ids) {
		return true
	}
	return k.calls == said.calls && (k.text == said.text || k.role == Assistant && said.text != "" && strings.HasPrefix(k.text, said.text))
}

func (k key) among(ids []string) bool {
	const most = 1000
	if len(ids) > most || len(k.ids) > len(ids) {
		return false
	}
	for _, id := range k.ids {
		if !slices.Contains(ids, id) {
			return false
		}
	}
	return true
}

func (s *session) add(x *Exchange) Reason {
	d := decode(x)
	switch {
	case d.route.fetch:
		return s.fetched(d)
	case d.request == nil:
		return d.reason
	}
	a, ok := s.place(d.request)
	if !ok {
		return TooMany
	}
	switch {
	case d.reason != None:
		s.unanswered(a)
		return d.reason
	case d.reply.pending:
		s.unanswered(a)
		s.waiting[d.reply.id] = a
		return None
	}
	return s.answer(a, d.reply)
}

// fetched takes the answer to an earlier request.
func (s *session) fetched(d decoded) Reason {
	if d.reason != None {
		return d.reason
	}
	a, ok := s.waiting[d.reply.id]
	if !ok || d.reply.pending {
		return Again
	}
	delete(s.waiting, d.reply.id)
	return s.answer(a, d.reply)
}

// place returns where a request continues, and false if there are too many messages.
func (s *session) place(r *request) (asked, bool) {
	a := asked{request: r, news: r.messages}
	if p, ok := s.responses[r.previous]; ok && r.previous != "" {
		a.at = p
	} else if p, ok := s.stored[r.conversation]; ok && r.conversation != "" {
		a.at = p
	} else {
		a.at, a.news = s.history(r.messages)
	}
	s.messages += len(a.news) + 1
	if a.at.thread == nil {
		a.at.thread = &thread{}
		s.threads = append(s.threads, a.at.thread)
	} else if a.at.n < len(a.at.thread.Messages) {
		s.messages += a.at.n
		if s.messages <= maxMessages {
			a.at = s.branch(a.at)
		}
	}
	return a, s.messages <= maxMessages
}

// branch begins a thread with a copy of another one up to a place.
func (s *session) branch(p place) place {
	t := &thread{Conversation: p.thread.Conversation, keys: slices.Clone(p.thread.keys[:p.n])}
	t.Messages = slices.Clone(p.thread.Messages[:p.n])
	s.threads = append(s.threads, t)
	return place{t, p.n}
}

// history returns the end of the longest thread that the messages begin with, and
// the messages after it.
func (s *session) history(messages []Message) (place, []Message) {
	keys := make([]key, len(messages))
	for i := range messages {
		keys[i] = keyOf(&messages[i])
	}
	var best *thread
	for _, t := range s.threads[max(0, len(s.threads)-remembered):] {
		if t.begins(keys) && (best == nil || len(t.keys) >= len(best.keys)) {
			best = t
		}
	}
	if best == nil {
		return place{}, messages
	}
	best.rename(messages, keys)
	return place{best, len(best.keys)}, messages[len(best.keys):]
}

// rename takes over the ids of a history that repeats the thread, since an agent may
// give calls other ids than the model, and its results have those.
func (t *thread) rename(history []Message, keys []key) {
	for i := range t.Messages {
		m := &t.Messages[i]
		m.ID = history[i].ID
		if k := keys[i]; k.among(t.keys[i].ids) || len(k.ids) != len(m.Calls) {
			continue
		}
		m.Calls = slices.Clone(m.Calls) // branches may share them
		t.keys[i].ids = nil
		for j := range m.Calls {
			m.Calls[j].ID = history[i].Calls[j].ID
			t.keys[i].ids = append(t.keys[i].ids, m.Calls[j].ID)
		}
	}
}

func (t *thread) begins(keys []key) bool {
	if len(t.keys) == 0 || len(t.keys) > len(keys) {
		return false
	}
	for i, said := range t.keys {
		if !keys[i].repeats(said) {
			return false
		}
	}
	return true
}

// unanswered keeps the new messages until they are sent again.
func (s *session) unanswered(a asked) { a.at.thread.tail = a.news }

// answer adds an exchange to its thread.
func (s *session) answer(a asked, r *reply) Reason {
	if a.at.n < len(a.at.thread.Messages) { // it went on before the answer came
		s.messages += a.at.n
		if s.messages > maxMessages {
			return TooMany
		}
		a.at = s.branch(a.at)
	}
	t := a.at.thread
	t.tail = nil
	t.replies++
	t.Model = cmp.Or(t.Model, r.model, a.request.model)
	t.System = cmp.Or(t.System, a.request.system.String())
	t.say(a.news...)
	t.say(Message{Role: Assistant, Text: r.text, Calls: r.calls, TokensIn: r.in, TokensOut: r.out})
	t.keys = t.keys[:min(len(t.keys), max(0, a.at.n-1))]
	for i := len(t.keys); i < len(t.Messages); i++ {
		t.keys = append(t.keys, keyOf(&t.Messages[i]))
	}
	here := place{t, len(t.Messages)}
	if r.id != "" {
		s.responses[r.id] = here
	}
	if id := a.request.conversation; id != "" {
		s.stored[id] = here
	}
	return None
}

// say adds messages. Assistant messages in a row become one, unless it grows too
// large.
func (t *thread) say(messages ...Message) {
	const mostText, mostCalls = 16 << 10, 100
	for _, m := range messages {
		if n := len(t.Messages); n > 0 && m.Role == Assistant && t.Messages[n-1].Role == Assistant {
			last := &t.Messages[n-1]
			if len(last.Text) < mostText && len(last.Calls) < mostCalls {
				last.Text = both(last.Text, m.Text)
				last.Calls = slices.Concat(last.Calls, m.Calls)
				last.TokensIn += m.TokensIn
				last.TokensOut += m.TokensOut
				continue
			}
		}
		t.Messages = append(t.Messages, m)
	}
}

// both joins two texts line by line.
func both(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "\n" + b
}
