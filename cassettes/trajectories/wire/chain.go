package wire

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// Read joins the exchanges of one file into conversations, in the order in which they
// begin. It counts the exchanges that belong to none by their reason.
func Read(exchanges []Exchange, with Decoders) ([]*Conversation, map[Reason]int) {
	s := session{with: with, left: map[Reason]int{}, responses: map[string]place{}, stored: map[string]place{}, waiting: map[string]asked{}}
	for i := range exchanges {
		if why := s.add(&exchanges[i]); why != None {
			s.left[why]++
		}
	}
	var all []*Conversation
	for _, t := range s.threads {
		if t.replies > 0 {
			t.Messages = append(acted(t.Messages, t.more), t.tail...)
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
	with      Decoders
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
	tail    []Message      // of the last request, while it has no answer
	more    map[int]string // what the agent wrote below the answer with this place before it sent it again
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

func keyOf(m *Message, args *canonical) key {
	k := key{role: m.Role, text: spaced(m.Text)}
	for _, c := range m.Calls {
		k.calls += c.Name + "(" + args.of(c.Args) + ")\n"
		if c.ID != "" {
			k.ids = append(k.ids, c.ID)
		}
	}
	return k
}

// canonical remembers arguments as values are written, for as many bytes as fit; nil
// remembers none.
type canonical struct {
	known map[string]string
	size  int
}

// of returns arguments as their value is written, and what is not JSON as it is.
func (c *canonical) of(args string) string {
	if c != nil {
		if found, ok := c.known[args]; ok {
			return found
		}
	}
	written := args
	var value any
	if json.Unmarshal([]byte(args), &value) == nil {
		raw, _ := json.Marshal(value)
		written = string(raw)
	}
	if c != nil {
		const most, each = 4 << 20, 100 // bytes, and those of an entry besides
		if c.size += each + len(args) + len(written); c.known == nil || c.size > most {
			c.known, c.size = map[string]string{}, each+len(args)+len(written)
		}
		c.known[args] = written
	}
	return written
}

// spaced returns a text in which every white space is one space, without any at the
// ends. It does not copy a text that is like that.
func spaced(text string) string {
	last := byte(' ')
	for i := range len(text) {
		c := text[i]
		if c >= utf8.RuneSelf {
			return strings.Join(strings.Fields(text), " ")
		}
		if c < ' ' || c == ' ' && last == ' ' {
			return spacedASCII(text)
		}
		last = c
	}
	return strings.TrimSuffix(text, " ")
}

// spacedASCII is spaced of a text with white space to change, which is likely ASCII.
func spacedASCII(text string) string {
	out := make([]byte, 0, len(text))
	for i := range len(text) {
		switch c := text[i]; {
		case c >= utf8.RuneSelf:
			return strings.Join(strings.Fields(text), " ")
		case c == ' ' || '\t' <= c && c <= '\r':
			if len(out) > 0 && out[len(out)-1] != ' ' {
				out = append(out, ' ')
			}
		default:
			out = append(out, c)
		}
	}
	return string(bytes.TrimSuffix(out, []byte(" ")))
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

// plus returns the key of two messages in a row as one.
func (k key) plus(next key) key {
	k.text = strings.TrimSpace(k.text + " " + next.text)
	k.calls += next.calls
	k.ids = slices.Concat(k.ids, next.ids)
	return k
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
	d := decode(x, s.with, nil)
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
	t := &thread{Conversation: p.thread.Conversation, keys: slices.Clone(p.thread.keys[:p.n]), more: maps.Clone(p.thread.more)}
	t.Messages = slices.Clone(p.thread.Messages[:p.n])
	s.threads = append(s.threads, t)
	return place{t, p.n}
}

// history returns the end of the longest thread that the messages begin with, and
// the messages after it.
func (s *session) history(messages []Message) (place, []Message) {
	keys := make([]key, len(messages))
	for i := range messages {
		keys[i] = keyOf(&messages[i], nil)
	}
	var best *thread
	var match repetition
	for _, t := range s.threads[max(0, len(s.threads)-remembered):] {
		if m, ok := t.begins(keys); ok && (best == nil || len(t.keys) >= len(best.keys)) {
			best, match = t, m
		}
	}
	if best == nil {
		return place{}, messages
	}
	best.rename(messages, match)
	if last := len(best.keys) - 1; match.more != "" {
		best.more = maps.Clone(best.more) // branches may share it
		if best.more == nil {
			best.more = map[int]string{}
		}
		best.more[last] = match.more
	}
	return place{best, len(best.keys)}, messages[match.used:]
}

// A repetition says how a history repeats a thread.
type repetition struct {
	spans [][2]int // the messages of the history that each message of the thread stands in
	used  int      // messages of the history
	more  string   // what follows the text of the last message in the same message
}

// begins reports whether a history begins with the thread. Several messages of the
// assistant in a row may repeat one answer, and one may repeat several answers, with
// what the agent wrote between them.
func (t *thread) begins(keys []key) (r repetition, ok bool) {
	if len(t.keys) == 0 {
		return r, false
	}
	for _, said := range t.keys {
		if at := strings.Index(r.more, said.text); said.role == Assistant && said.calls == "" && said.text != "" && at >= 0 {
			r.more = r.more[at+len(said.text):]
			r.spans = append(r.spans, [2]int{r.used, r.used})
			continue
		}
		n, k := longest(keys[r.used:], said)
		if n == 0 {
			return r, false
		}
		r.spans = append(r.spans, [2]int{r.used, r.used + n})
		r.used += n
		r.more = ""
		if said.role == Assistant && said.calls == "" && k.calls == "" {
			r.more = k.text[len(said.text):]
		}
	}
	r.more = strings.TrimSpace(r.more)
	return r, true
}

// longest returns how many messages, the assistant's in a row, repeat what was said,
// and their key as one message.
func longest(keys []key, said key) (n int, best key) {
	const most = 1000
	var k key
	for i := 0; i < len(keys) && i < most; i++ {
		if i == 0 {
			k = keys[0]
		} else if keys[i].role != Assistant || k.role != Assistant {
			break
		} else {
			k = k.plus(keys[i])
		}
		if k.repeats(said) {
			n, best = i+1, k
		} else if n > 0 || k.role != said.role {
			break
		}
	}
	return n, best
}

// rename takes over the ids of a history that repeats the thread, since an agent may
// give calls other ids than the model, and its results have those.
func (t *thread) rename(history []Message, r repetition) {
	for i := range t.Messages {
		m := &t.Messages[i]
		span := history[r.spans[i][0]:r.spans[i][1]]
		if len(span) == 0 {
			continue
		}
		m.ID = span[0].ID
		var calls []Call
		var ids []string
		for _, said := range span {
			for _, c := range said.Calls {
				calls = append(calls, c)
				if c.ID != "" {
					ids = append(ids, c.ID)
				}
			}
		}
		if (key{ids: ids}).among(t.keys[i].ids) || len(ids) != len(m.Calls) {
			continue
		}
		m.Calls = slices.Clone(m.Calls) // branches may share them
		t.keys[i].ids = nil
		for j := range m.Calls {
			m.Calls[j].ID = calls[j].ID
			t.keys[i].ids = append(t.keys[i].ids, m.Calls[j].ID)
		}
	}
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
	t.Messages = append(t.Messages, join(a.news, Assistant)...)
	t.Messages = append(t.Messages, Message{Role: Assistant, Text: r.text, Calls: r.calls, TokensIn: r.in, TokensOut: r.out, Reply: true})
	for i := len(t.keys); i < len(t.Messages); i++ {
		t.keys = append(t.keys, keyOf(&t.Messages[i], nil))
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

// Acted returns the messages of a conversation, in which each answer but the last one
// before somebody else speaks has a call. Agents without tool calls read what to do
// from the text, write its result below the text and ask again: see [actionIn].
func Acted(messages []Message) []Message { return acted(messages, nil) }

// acted is Acted with the results below some answers, by the answer's place.
func acted(messages []Message, results map[int]string) []Message {
	var all []Message
	for i, m := range messages {
		goesOn := i+1 < len(messages) && messages[i+1].Role == Assistant
		if !m.Reply || len(m.Calls) > 0 || !goesOn {
			all = append(all, m)
			continue
		}
		m.Calls = []Call{actionIn(m.Text)}
		all = append(all, m)
		if result, ok := results[i]; ok {
			all = append(all, Message{Role: Tool, Text: result})
		}
	}
	return all
}

// action matches an action in the text of an answer, as ReAct prompts ask for it.
var action = regexp.MustCompile(`(?m)^[ \t*]*Action:[ \t*]*([^\n]+?)[ \t*]*(?:\n[ \t*]*Action Input:[ \t*]*((?s:.+)))?$`)

// actionIn returns the action that a text ends with as a call, or else a call named
// continue: the agent went on without one.
func actionIn(said string) Call {
	found := action.FindAllStringSubmatch(said, -1)
	if len(found) == 0 {
		return Call{Name: "continue"}
	}
	last := found[len(found)-1]
	args, _, _ := strings.Cut(last[2], "\nObservation:")
	return Call{Name: last[1], Args: strings.TrimSpace(args)}
}
