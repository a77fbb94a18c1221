package watch

import (
	"container/list"
	"slices"
	"time"

	"github.com/agentbench-go/agentbench/cassettes/trajectories/wire"
)

// A linker joins turns into conversations as they come.
//
// A request repeats the messages before it. The replies of a scope form trees: each
// is a node, whose parent is the reply that its request went on from. A conversation
// is the way from a root to its tip, and grows at the tip.
type linker struct {
	scopes map[string]*scope
	begun  int // conversations
	nodes  int // so far
	begin  func(*conversation)
	keyOf  func(*wire.Message) wire.Key
}

// A scope holds what may belong together: the requests with one key of the API, one
// header X-Agentbench-Conversation and one value of the header that names runs.
type scope struct {
	name      string
	entries   entries
	byID      map[string][]*node // nodes by the ids of their calls, oldest first
	responses map[string]*node   // by the id of the response
	stored    map[string]*node   // the newest node of each conversation that the API keeps
	waiting   map[string]*asked  // requests whose answer is fetched later, by the id of the response
	tips      list.List          // of *conversation, oldest first
	summaries summaries
}

// A node is a request and its reply.
type node struct {
	of       *conversation
	number   int // in the order in which nodes begin
	parent   *node
	anew     bool       // an entry: its request has all of history, not only what is new
	asked    []wire.Key // what its request says after the parent's reply; of an entry, everything
	news     []wire.Message
	reply    wire.Message
	said     wire.Key // of the reply
	children []*node
	replies  int // on the way from the root, itself included
	// When the conversation began, when the request came and when the reply had ended.
	start, began, ended time.Time

	response, stored string  // the ids by which its scope has it, "" = none
	tries            []*node // the latest equal requests before it, oldest first
}

// A conversation is one run, or several runs over one history.
type conversation struct {
	number int
	name   string
	scope  *scope
	place  *list.Element // among the tips of its scope
	model  string
	system string
	nodes  []*node // that are its own, oldest first
	tip    *node
	tail   []wire.Message // of the newest request, while it has no answer
	tailed time.Time      // when that request came
	ended  bool           // it is forgotten
	from   *node          // the reply that it branches off; nil = it stands alone

	tries     int // requests that were sent again although they had been answered
	shortened int // times that the agent shortened or rewrote its history

	kept // what is done with it
}

// An asked request has found its place.
type asked struct {
	turn  *wire.Turn
	keys  []wire.Key // of its messages
	place place
	scope *scope
	began time.Time
}

// A place says where a request continues.
type place struct {
	at    *node // nil = at the beginning
	pos   int   // messages of the request that repeat what was said
	again *node // the node of an equal request, nil = there was none
	anew  bool  // the request does not repeat the history
	drop  bool  // the reply of at was a summary, which is not part of the run
}

// compared limits how many entries and tips a request is compared with, and remembered
// how many equal requests are remembered, of which the agent may go on from any.
const (
	compared   = 2000
	remembered = 16
)

func newLinker(begin func(*conversation)) *linker {
	return &linker{scopes: map[string]*scope{}, begin: begin, keyOf: wire.KeyOf}
}

func (l *linker) scope(name string) *scope {
	s := l.scopes[name]
	if s == nil {
		s = &scope{name: name, entries: entries{byFirst: map[uint64][]*node{}}, byID: map[string][]*node{}, responses: map[string]*node{},
			stored: map[string]*node{}, waiting: map[string]*asked{}, summaries: summaries{}}
		l.scopes[name] = s
	}
	return s
}

// add takes a turn, with the keys of its messages, and returns the conversation that it
// belongs to, nil for none: an answer that was fetched before, or a request without an
// answer that no conversation has begun with.
func (l *linker) add(in string, t *wire.Turn, keys []wire.Key, began, ended time.Time) *conversation {
	s := l.scope(in)
	if t.Fetched {
		a := s.waiting[t.ID]
		if a == nil || t.Pending || t.Reply == nil {
			return nil
		}
		delete(s.waiting, t.ID)
		return l.answer(a, t, ended)
	}
	a := &asked{turn: t, began: began, keys: keys, scope: s}
	a.place = s.place(t, a.keys)
	switch {
	case t.Pending:
		s.waiting[t.ID] = a
	case t.Reply != nil:
		return l.answer(a, t, ended)
	}
	return a.unanswered()
}

// unanswered keeps what is new in a request without an answer, such as the results of
// the last calls, until it is sent again.
func (a *asked) unanswered() *conversation {
	at := a.place.at
	if at == nil || at.of.tip != at || at.of.ended {
		return nil
	}
	at.of.tail, at.of.tailed = slices.Clone(a.turn.Messages[a.place.pos:]), a.began
	return at.of
}

// answer adds the node of a request and its reply.
func (l *linker) answer(a *asked, t *wire.Turn, ended time.Time) *conversation {
	p, s := a.place, a.scope
	l.nodes++
	n := &node{number: l.nodes, start: a.began, began: a.began, ended: ended, parent: p.at, anew: p.anew || p.at == nil, reply: *t.Reply, said: l.keyOf(t.Reply), replies: 1}
	n.asked, n.news = slices.Clone(a.keys[p.pos:]), slices.Clone(a.turn.Messages[p.pos:])
	if n.anew {
		n.asked = a.keys
		s.entries.add(n)
	}
	switch {
	case p.again != nil:
		n.news = p.again.news
		n.tries = append(slices.Clone(p.again.tries), p.again)
		if len(n.tries) > remembered {
			s.forgetTry(n.tries[0])
			n.tries = n.tries[1:]
		}
	case p.drop:
		n.parent = p.at.parent
		n.news = slices.Concat(withoutUser(p.at.news), n.news)
	}
	if n.parent != nil {
		n.replies, n.start = n.parent.replies+1, n.parent.start
		n.parent.children = append(n.parent.children, n)
	}
	c := l.conversation(a, n)
	n.of, c.tip, c.tail = c, n, nil
	c.nodes = append(c.nodes, n)
	if c.model == "" {
		c.model = t.Model
	}
	if c.system == "" {
		c.system = a.turn.System
	}
	if p.anew && p.again == nil {
		c.shortened++
	}
	for _, id := range n.said.IDs() {
		s.byID[id] = append(s.byID[id], n)
	}
	if n.response = t.ID; t.ID != "" {
		s.responses[t.ID] = n
	}
	if n.stored = a.turn.Stored; n.stored != "" {
		s.stored[n.stored] = n
	}
	s.summaries.add(n)
	return c
}

// conversation returns the conversation of a new node: the one that it goes on with,
// or a new one.
func (l *linker) conversation(a *asked, n *node) *conversation {
	p := a.place
	if p.again != nil && p.again == p.again.of.tip && !p.again.of.ended {
		p.again.of.tries++
		return p.again.of
	}
	if p.at != nil && p.again == nil {
		switch c := p.at.of; {
		case c.ended:
		case c.tip == p.at:
			return c
		case c.tip.parent == p.at.parent && len(c.tip.children) == 0:
			return c // the agent goes on from an answer that it had asked for again
		case len(p.at.children) == 0 || len(p.at.children) == 1 && p.at.children[0] == n:
			// Both answers to an equal request are gone on with: they are two runs.
			c.tries = max(0, c.tries-1)
			own := l.newConversation(a, p.at.parent)
			c.nodes = slices.DeleteFunc(c.nodes, func(n *node) bool { return n == p.at })
			p.at.of, own.nodes = own, append(own.nodes, p.at)
			return own
		}
	}
	return l.newConversation(a, p.at)
}

func (l *linker) newConversation(a *asked, from *node) *conversation {
	l.begun++
	c := &conversation{number: l.begun, scope: a.scope, from: from}
	c.place = a.scope.tips.PushBack(c)
	l.begin(c)
	return c
}

// forget ends a conversation: what goes on with it later begins a new one. What other
// conversations have branched off is kept for them.
func (l *linker) forget(c *conversation) {
	s := c.scope
	c.ended = true
	for _, n := range slices.Backward(c.nodes) {
		s.release(n)
	}
	s.tips.Remove(c.place)
	if s.tips.Len()+len(s.waiting) == 0 {
		delete(l.scopes, s.name)
	}
}

// release forgets a node of a conversation that has ended, and those before it, as far as
// nothing follows them.
func (s *scope) release(n *node) {
	for n != nil && n.of.ended && len(n.children) == 0 {
		s.forget(n)
		if n.parent != nil {
			n.parent.children = slices.DeleteFunc(n.parent.children, func(other *node) bool { return other == n })
		}
		n = n.parent
	}
}

// forget forgets a node.
func (s *scope) forget(n *node) {
	is := func(other *node) bool { return other == n }
	s.entries.forget(n)
	s.summaries.forget(n)
	for _, id := range n.said.IDs() {
		if s.byID[id] = slices.DeleteFunc(s.byID[id], is); len(s.byID[id]) == 0 {
			delete(s.byID, id)
		}
	}
	if s.responses[n.response] == n {
		delete(s.responses, n.response)
	}
	if s.stored[n.stored] == n {
		delete(s.stored, n.stored)
	}
}

// forgetTry forgets one of very many equal requests, unless the agent has gone on from
// it.
func (s *scope) forgetTry(n *node) {
	if len(n.children) > 0 || n.of.tip == n {
		return
	}
	s.forget(n)
	is := func(other *node) bool { return other == n }
	n.of.nodes = slices.DeleteFunc(n.of.nodes, is)
	if n.parent != nil {
		n.parent.children = slices.DeleteFunc(n.parent.children, is)
	}
}

// log returns the messages of a conversation, in order, with their times.
func (c *conversation) log() []wire.Message {
	all := c.tip.log()
	return appendAt(all, c.tailed.Sub(c.tip.start), c.tail...)
}

func appendAt(all []wire.Message, at time.Duration, messages ...wire.Message) []wire.Message {
	for _, m := range messages {
		m.At = max(0, at)
		all = append(all, m)
	}
	return all
}

// log returns the messages from the root to a node.
func (n *node) log() []wire.Message {
	var way []*node
	for ; n != nil; n = n.parent {
		way = append(way, n)
	}
	var all []wire.Message
	for _, n := range slices.Backward(way) {
		all = append(all, n.messages()...)
	}
	return all
}

// messages returns what is new in a node's request, and its reply, with their times.
func (n *node) messages() []wire.Message {
	all := make([]wire.Message, 0, len(n.news)+1)
	return appendAt(appendAt(all, n.began.Sub(n.start), n.news...), n.ended.Sub(n.start), n.reply)
}

func (n *node) root() *node {
	for n.parent != nil {
		n = n.parent
	}
	return n
}

// withoutUser returns the messages of everybody but the user.
func withoutUser(messages []wire.Message) []wire.Message {
	return slices.DeleteFunc(slices.Clone(messages), func(m wire.Message) bool { return m.Role == wire.User })
}

// place returns where a request continues.
func (s *scope) place(t *wire.Turn, keys []wire.Key) place {
	if at := s.responses[t.Previous]; at != nil && t.Previous != "" {
		return place{at: at, again: equalTo(at.children, keys)}
	}
	if at := s.stored[t.Stored]; at != nil && t.Stored != "" {
		return place{at: at, again: equalTo(at.children, keys)}
	}
	p := s.longest(keys)
	if p.at != nil && p.at == p.at.of.tip || p.again != nil {
		return p
	}
	if p.at != nil && !answered(keys[p.pos:]) {
		return p // a branch off an earlier reply
	}
	if at, pos := s.rewritten(keys); at != nil && at != p.at {
		return place{at: at, pos: pos, anew: true, again: equalTo(at.children, keys)}
	}
	if p.at != nil {
		return p
	}
	if at, pos := s.summaries.in(t, keys); at != nil {
		return place{at: at, pos: pos, anew: true, drop: true}
	}
	return place{}
}

// answered reports whether the assistant speaks in some messages.
func answered(keys []wire.Key) bool {
	return slices.ContainsFunc(keys, func(k wire.Key) bool { return k.Role() == wire.Assistant })
}

// equalTo returns the newest of the nodes whose request said the same, nil for none.
func equalTo(nodes []*node, keys []wire.Key) *node {
	for _, n := range slices.Backward(nodes) {
		if slices.EqualFunc(n.asked, keys, wire.Key.Same) {
			return n
		}
	}
	return nil
}

// longest returns the place after the longest way that the request repeats. Of several
// it prefers the one whose calls have the same ids.
func (s *scope) longest(keys []wire.Key) (best place) {
	least := 0 // renamed replies of the best way
	for entry := range s.entries.like(keys) {
		if !begins(keys, entry.asked) {
			continue
		}
		at, pos, renamed := entry.reached(keys)
		switch {
		case at != nil && (best.at == nil || pos > best.pos || pos == best.pos && renamed < least):
			best, least = place{at: at, pos: pos}, renamed
		case best.at == nil && best.again == nil && len(keys) == len(entry.asked) && slices.EqualFunc(keys, entry.asked, wire.Key.Same):
			best = place{again: entry, at: entry.parent, anew: entry.parent != nil}
		}
	}
	if best.at != nil && best.again == nil {
		best.again = equalTo(best.at.children, keys[best.pos:])
	}
	return best
}

// reached returns the last node below an entry, or itself, up to whose reply the request
// repeats everything, the messages that do so, and how many of the replies have other
// ids; nil for none.
func (n *node) reached(keys []wire.Key) (last *node, pos, renamed int) {
	next := []*node{n}
	for len(next) > 0 {
		var found *node
		same := false
		for _, c := range slices.Backward(next) {
			end := pos + len(c.asked)
			if c.anew && c != n || end >= len(keys) || !begins(keys[pos:], c.asked) || !keys[end].Repeats(c.said) {
				continue
			}
			if same = keys[end].Same(c.said); same || found == nil {
				found = c
			}
			if same {
				break
			}
		}
		if found == nil {
			break
		}
		if !same {
			renamed++
		}
		last, next, pos = found, found.children, pos+len(found.asked)+1
	}
	return last, pos, renamed
}

func begins(keys, with []wire.Key) bool {
	if len(keys) < len(with) {
		return false
	}
	for i := range with {
		if !keys[i].Repeats(with[i]) {
			return false
		}
	}
	return true
}

// rewritten returns the node that a request with a shortened or rewritten history goes
// on from, and the place after its reply: the node of the last assistant message, by
// the ids of its calls. Without ids the message must be the newest of a conversation
// that begins with the same message. Of several nodes it takes the one before which
// most is the same.
func (s *scope) rewritten(keys []wire.Key) (best *node, pos int) {
	last := len(keys) - 1
	for last >= 0 && keys[last].Role() != wire.Assistant {
		last--
	}
	if last < 0 {
		return nil, 0
	}
	said := keys[last]
	var nodes []*node
	if ids := said.IDs(); len(ids) > 0 {
		nodes = s.byID[ids[0]]
	} else {
		for e := s.tips.Front(); e != nil; e = e.Next() {
			if tip := e.Value.(*conversation).tip; len(tip.first()) > 0 && keys[0].Same(tip.first()[0]) {
				nodes = append(nodes, tip)
			}
		}
	}
	most := -1
	for _, n := range slices.Backward(nodes[max(0, len(nodes)-compared):]) {
		if said.Repeats(n.said) {
			if same := n.sameBefore(keys[:last]); same > most {
				best, most = n, same
			}
		}
	}
	return best, last + 1
}

// first returns what the first request on the way to a node said.
func (n *node) first() []wire.Key { return n.root().asked }

// sameBefore counts the replies before a node that a history repeats at its end, and
// one for an equal first message.
func (n *node) sameBefore(keys []wire.Key) (same int) {
	if first := n.first(); len(first) > 0 && len(keys) > 0 && keys[0].Same(first[0]) {
		same++
	}
	for _, k := range slices.Backward(keys) {
		if k.Role() != wire.Assistant {
			continue
		}
		if n = n.parent; n == nil || !k.Repeats(n.said) {
			break
		}
		same++
	}
	return same
}
