package wire

import (
	"bytes"
	order "container/list"
	"encoding/json"
	"hash/maphash"
	"slices"

	"github.com/agentbench-go/agentbench/internal/rawjson"
)

// A Memory decodes exchanges as [Decode] does, and remembers the requests. An agent
// repeats its whole history in each request: of a request whose bytes begin as those of
// an earlier one do, only what follows is decoded.
//
// It does not matter how an agent edits its history: what has changed, and all that
// follows it, is decoded again. A Memory keeps no bodies, only hashes of them, and the
// decoded messages. It is for one goroutine.
type Memory struct {
	most  int
	seed  maphash.Seed
	heads []*head // newest first
	args  canonical
	known order.List // of *known, newest first
}

// Limits of a memory: the beginnings of requests that it knows, the ends that it knows
// of each, the bytes of one of them, and the elements by which it finds a history again
// and the histories that begin with the same.
const (
	maxHeads = 32
	maxTails = 8
	maxEdge  = 256 << 10
	depth    = 6
	alike    = 4
)

// A head is what the requests of an agent begin with, up to the first element of the
// history, and a tail what they end with, from the last bracket of the history on.
type head struct {
	api    *api
	raw    []byte
	tails  []*tail // newest first
	begins map[uint64][]*known
}

type tail struct {
	raw     []byte
	request request // without the messages
}

// A known history is one that a request had.
type known struct {
	head     *head
	elements []element
	messages []Message // the assistant's in a row are one
	keys     []Key     // of the messages
	given    int       // messages that somebody has, so that they do not change
	systems  texts
	tail     *tail
	system   string         // of the tail and the systems
	begins   []uint64       // where its head has it
	place    *order.Element // in the list of the memory, nil = it is not there
}

// An element ends at a place in a history, with the brackets of which it begins.
type element struct {
	end      int
	sum      uint64 // hash of the bytes since the element before
	messages int    // so far
	systems  int    // so far
	more     bool   // the next element goes on with its last message
}

// NewMemory returns a memory of at most so many histories.
func NewMemory(most int) *Memory { return &Memory{most: most, seed: maphash.MakeSeed()} }

// Decode returns what [Decode] returns, and the keys of the messages. The messages and
// the keys must not be changed.
func (m *Memory) Decode(x *Exchange) (*Turn, []Key, Reason) {
	d := decode(x, nil, m)
	if d.request == nil || d.route.fetch && d.reply == nil {
		return nil, nil, d.reason
	}
	if k := d.request.known; k != nil {
		n := len(k.messages)
		t, why := d.turn(k.system, k.messages[:n:n])
		return t, k.keys[:n:n], why
	}
	messages := join(d.request.messages, Assistant)
	t, why := d.turn(d.request.system.String(), messages)
	return t, keysFor(messages, &m.args), why
}

// KeyOf returns what [KeyOf] returns.
func (m *Memory) KeyOf(message *Message) Key { return Key{keyOf(message, &m.args)} }

func keysFor(messages []Message, args *canonical) []Key {
	keys := make([]Key, len(messages))
	for i := range messages {
		keys[i] = Key{keyOf(&messages[i], args)}
	}
	return keys
}

// asked decodes a request, or returns nil for one that only [api.asked] can decode, or
// say what is wrong with.
func (m *Memory) asked(a *api, body []byte) *request {
	h := m.head(a, body)
	if h == nil {
		return nil
	}
	history := body[len(h.raw):]
	k, n := m.find(h, history)
	end := 0
	if n > 0 {
		end = k.elements[n-1].end
	}
	start := end
	news, ends := make([]said, 0, 4), make([]int, 0, 4) // as a turn brings
	for {
		from, to, ok := rawjson.Next(history, end, n+len(news) == 0)
		if !ok {
			return nil
		}
		if to == 0 {
			end = from
			break
		}
		if !json.Valid(history[from:to]) {
			return nil
		}
		one, ok := a.said(history[from:to])
		if !ok {
			return nil
		}
		news, ends, end = append(news, one), append(ends, to), to
	}
	t := h.tail(history[end:])
	if t == nil {
		return nil
	}
	k = k.first(h, n)
	if k.add(news, &m.args); len(news) > 0 || k.tail != t {
		k.tail, k.system = t, slices.Concat(t.request.system, k.systems).String()
	}
	for i, e := range k.elements[n:] {
		e.end, e.sum = ends[i], maphash.Bytes(m.seed, history[start:ends[i]])
		k.elements[n+i], start = e, e.end
	}
	m.remember(k)
	r := t.request
	r.known = k
	return &r
}

// head returns the head of a request, nil for a request that has none.
func (m *Memory) head(a *api, body []byte) *head {
	for i, h := range m.heads {
		if h.api == a && bytes.HasPrefix(body, h.raw) {
			copy(m.heads[1:i+1], m.heads)
			m.heads[0] = h
			return h
		}
	}
	at, ok := rawjson.Place(body, a.history)
	if !ok || body[at] != '[' || at > maxEdge {
		return nil
	}
	h := &head{api: a, raw: bytes.Clone(body[:at+1]), begins: map[uint64][]*known{}}
	m.heads = slices.Insert(m.heads, 0, h)
	if len(m.heads) > maxHeads {
		for _, k := range m.heads[maxHeads].all() {
			m.forget(k)
		}
		m.heads = m.heads[:maxHeads]
	}
	return h
}

// all returns the histories of a head.
func (h *head) all() (all []*known) {
	for _, some := range h.begins {
		for _, k := range some {
			if !slices.Contains(all, k) {
				all = append(all, k)
			}
		}
	}
	return all
}

// tail returns the tail of a request, nil for one that cannot be decoded.
func (h *head) tail(raw []byte) *tail {
	for i, t := range h.tails {
		if bytes.Equal(t.raw, raw) {
			copy(h.tails[1:i+1], h.tails)
			h.tails[0] = t
			return t
		}
	}
	rest := slices.Concat(h.raw, raw)
	if !json.Valid(rest) {
		return nil
	}
	if at, once := rawjson.Place(rest, h.api.history); !once || at != len(h.raw)-1 {
		return nil
	}
	r, history, ok := h.api.request(rest)
	if !ok || history == nil {
		return nil
	}
	t := &tail{bytes.Clone(raw), *r}
	if len(raw) <= maxEdge {
		h.tails = slices.Insert(h.tails, 0, t)
		h.tails = h.tails[:min(len(h.tails), maxTails)]
	}
	return t
}

// find returns the known history that repeats the most of a history, and how many of its
// elements do.
func (m *Memory) find(h *head, history []byte) (best *known, n int) {
	var begins [depth]uint64
	sum, deep, end := uint64(0), 0, 0
	for deep < depth {
		_, to, ok := rawjson.Next(history, end, deep == 0)
		if !ok || to == 0 {
			break
		}
		sum = beginning(sum, maphash.Bytes(m.seed, history[end:to]))
		begins[deep], end = sum, to
		deep++
	}
	for deep--; deep >= 0 && best == nil; deep-- {
		for _, k := range h.begins[begins[deep]] {
			if same := m.same(k, history); same > n {
				best, n = k, same
			}
		}
	}
	// An element that the next one goes on with has a message that is not its own.
	for n > 0 && n < len(best.elements) && best.elements[n-1].more {
		n--
	}
	return best, n
}

// beginning returns the hash of the elements up to one, from the hash of those before it
// and its own.
func beginning(before, sum uint64) uint64 { return (before ^ sum) * 0x9e3779b97f4a7c15 }

// same returns how many elements of a known history another one begins with.
func (m *Memory) same(k *known, history []byte) int {
	start := 0
	for i, e := range k.elements {
		if e.end > len(history) || maphash.Bytes(m.seed, history[start:e.end]) != e.sum {
			return i
		}
		start = e.end
	}
	return len(k.elements)
}

// first returns the first n elements of a known history, to which others can be added.
func (k *known) first(h *head, n int) *known {
	switch {
	case n == 0:
		return &known{head: h}
	case n == len(k.elements):
		return k
	}
	last := k.elements[n-1]
	return &known{head: h, given: last.messages, elements: slices.Clone(k.elements[:n]), systems: k.systems[:last.systems:last.systems],
		messages: k.messages[:last.messages:last.messages], keys: k.keys[:last.messages:last.messages]}
}

// add adds elements, whose ends are not set.
func (k *known) add(news []said, args *canonical) {
	count, role := len(k.messages), User
	if count > 0 {
		role = k.messages[count-1].Role
	}
	all := make([]Message, 0, len(news))
	for _, one := range news {
		for _, said := range one.messages {
			if said.Role == Assistant && role == Assistant {
				for i := len(k.elements) - 1; i >= 0 && k.elements[i].messages == count && !k.elements[i].more; i-- {
					k.elements[i].more = true
				}
			} else {
				count++
			}
			role = said.Role
		}
		k.systems.add(one.system)
		all = append(all, one.messages...)
		k.elements = append(k.elements, element{messages: count, systems: len(k.systems)})
	}
	all = join(all, Assistant)
	if last := len(k.messages) - 1; last >= 0 && len(all) > 0 && all[0].Role == Assistant && k.messages[last].Role == Assistant {
		if last < k.given {
			k.messages, k.keys = slices.Clone(k.messages), slices.Clone(k.keys)
		}
		k.messages[last] = joined(k.messages[last], all[0])
		k.keys[last] = Key{keyOf(&k.messages[last], args)}
		all = all[1:]
	}
	k.messages = append(k.messages, all...)
	k.keys = append(k.keys, keysFor(all, args)...)
	k.given = len(k.messages)
}

// joined returns two messages in a row as one.
func joined(m, next Message) Message {
	said := texts{}
	said.add(m.Text)
	said.add(next.Text)
	m.Text, m.Calls = said.String(), slices.Concat(m.Calls, next.Calls)
	return m
}

// remember notes that a history is in use, and forgets the one that rested longest if
// there are too many.
func (m *Memory) remember(k *known) {
	if len(k.elements) == 0 {
		return
	}
	if k.place == nil {
		k.place = m.known.PushFront(k)
	}
	m.known.MoveToFront(k.place)
	for n := len(k.begins); n < depth && n < len(k.elements); n++ {
		sum := uint64(0)
		if n > 0 {
			sum = k.begins[n-1]
		}
		sum = beginning(sum, k.elements[n].sum)
		k.begins = append(k.begins, sum)
		some := append(k.head.begins[sum], k)
		if k.head.begins[sum] = some; len(some) > alike {
			oldest := some[0]
			k.head.begins[sum] = slices.Delete(some, 0, 1)
			if oldest.begins[len(oldest.begins)-1] == sum {
				m.forget(oldest)
			}
		}
	}
	if m.known.Len() > m.most {
		m.forget(m.known.Back().Value.(*known))
	}
}

// forget forgets a history.
func (m *Memory) forget(k *known) {
	if k.place == nil {
		return
	}
	m.known.Remove(k.place)
	k.place = nil
	for _, sum := range k.begins {
		some := slices.DeleteFunc(k.head.begins[sum], func(other *known) bool { return other == k })
		if k.head.begins[sum] = some; len(some) == 0 {
			delete(k.head.begins, sum)
		}
	}
}
