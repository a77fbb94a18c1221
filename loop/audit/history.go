package audit

import (
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/agentbench-go/agentbench/loop"
)

// CheckHistory returns the problems for which chat APIs would refuse a history, in the
// order of the messages, or nil if there are none. Exactly one tool message must answer
// each call of an assistant message, directly after it and in request order, under an
// id that is not empty and used once. There must be no other tool messages, and no
// assistant message without text and calls. User messages may be anywhere else.
func CheckHistory(h []loop.Message) []string {
	messages := make([]*loop.Message, len(h))
	for i := range h {
		messages[i] = &h[i]
	}
	c := historyCheck{ids: map[string]bool{}}
	return c.check(messages)
}

// A historyCheck checks a history that grows, without reading a message twice.
type historyCheck struct {
	n        int // the number of the message, from 1
	ref      loop.Ref
	open     []loop.Call     // calls without a result so far
	ids      map[string]bool // nil if ids are known to be unique
	problems []string
}

// check reads the new messages, and returns the problems in them and those of a
// history that ends here.
func (c *historyCheck) check(h []*loop.Message) []string {
	for _, m := range h[c.n:] {
		c.n, c.ref = c.n+1, m.Ref
		c.message(m)
	}
	end := *c
	end.n, end.ref = c.n+1, loop.Ref{}
	end.unanswered()
	c.problems = nil
	return end.problems
}

func (c *historyCheck) add(format string, args ...any) {
	where := fmt.Sprintf("message %d (%s): ", c.n, c.ref)
	if c.ref == (loop.Ref{}) {
		where = fmt.Sprintf("message %d: ", c.n)
	}
	c.problems = append(c.problems, where+fmt.Sprintf(format, args...))
}

func (c *historyCheck) message(m *loop.Message) {
	if m.Role == loop.ToolRole {
		c.result(m)
		return
	}
	c.unanswered()
	switch {
	case m.CallID != "":
		c.add("only a tool message answers a call id, here %q", m.CallID)
	case m.Role == loop.Assistant:
		c.assistant(m)
	case m.Role != loop.User:
		c.add("role %d does not exist", m.Role)
	case len(m.Calls) > 0:
		c.add("a user message has calls")
	}
}

func (c *historyCheck) assistant(m *loop.Message) {
	if len(m.Calls) == 0 && strings.TrimSpace(m.Text) == "" {
		c.add("an assistant message has neither text nor calls")
	}
	for _, call := range m.Calls {
		switch {
		case call.ID == "":
			c.add("call c%d has no id", call.N)
		case c.ids[call.ID]:
			c.add("the id %q of call c%d was used before", call.ID, call.N)
		}
		if c.ids != nil {
			c.ids[call.ID] = true
		}
	}
	c.open = m.Calls
}

func (c *historyCheck) result(m *loop.Message) {
	if len(m.Calls) > 0 {
		c.add("a tool message has calls")
	}
	switch i := slices.IndexFunc(c.open, func(call loop.Call) bool { return call.ID == m.CallID }); {
	case i < 0:
		c.add("a result for the call id %q, which is not asked for right before it or has its result", m.CallID)
	case i == 0:
		c.open = c.open[1:]
	default:
		c.add("the result for the call id %q comes before that for %q", m.CallID, c.open[0].ID)
		c.open = slices.Concat(c.open[:i], c.open[i+1:])
	}
}

func (c *historyCheck) unanswered() {
	for _, call := range c.open {
		c.add("no result for the call id %q before it", call.ID)
	}
	c.open = nil
}

// rebuild calls visit for each item of a run, with the history before the item takes
// effect.
func (b *book) rebuild(visit func(it *item, h []*loop.Message)) {
	h := b.history[:0]
	for i := range b.items {
		if it := &b.items[i]; it.run != nil {
			visit(it, h)
			h = b.apply(it, h)
		}
	}
	b.history = h
}

func (b *book) apply(it *item, h []*loop.Message) []*loop.Message {
	if it.eff != nil && it.eff.Kind == loop.Drop {
		if i := changes(it.eff, h); i < len(h) {
			return slices.Delete(h, i, i+1)
		}
		return h
	}
	m := b.message(it)
	switch {
	case m == nil:
		return h
	case it.eff != nil:
		return slices.Insert(h, changes(it.eff, h), m)
	}
	return append(h, m)
}

// message returns the message that an item adds to the history, or nil.
func (b *book) message(it *item) *loop.Message {
	if it.msg != nil {
		return it.msg
	}
	switch {
	case it.in != nil && it.user > 0:
		it.msg = b.newMessage(loop.Ref{Kind: loop.RefMessage, N: it.user}, loop.User, it.in.Text)
	case it.in != nil && it.in.Kind == loop.ModelReply:
		if r := b.reply(it.line); r != nil {
			it.msg = b.newMessage(r.ref, loop.Assistant, r.in.Text)
			from := len(b.named)
			for _, c := range r.calls {
				b.named = append(b.named, loop.Call{N: c.n, ID: c.id, Name: c.name, Args: c.asked.Args})
			}
			it.msg.Calls = b.named[from:len(b.named):len(b.named)]
		}
	case it.in != nil || it.eff.Kind != loop.Put:
	case it.eff.Ref.Kind == loop.RefMessage:
		it.msg = b.newMessage(it.eff.Ref, loop.User, it.eff.Text)
	default:
		it.msg = b.newMessage(it.eff.Ref, loop.ToolRole, it.eff.Text)
		if c := b.call(it.eff.Ref); c != nil {
			it.msg.CallID = c.id
		}
	}
	return it.msg
}

// changes returns the index of the first message that a put or drop moves or
// removes, or the history's length if there is none.
func changes(e *loop.Effect, h []*loop.Message) int {
	switch {
	case e.Kind == loop.Put && e.Ref.Kind == loop.RefMessage && e.To > 0:
		return min(len(h), e.To-1)
	case e.Kind == loop.Drop:
		is := func(m *loop.Message) bool { return m.Ref == whole(e.Ref) }
		if last := len(h) - 1; last >= 0 && is(h[last]) {
			return last
		}
		if i := slices.IndexFunc(h, is); i >= 0 {
			return i
		}
	}
	return len(h)
}

// reply returns the reply that was taken at a line, or nil.
func (b *book) reply(line int) *reply {
	i, ok := slices.BinarySearchFunc(b.replies, line, func(r *reply, line int) int { return r.line - line })
	if !ok {
		return nil
	}
	return b.replies[i]
}

func (b *book) newMessage(ref loop.Ref, role loop.Role, text string) *loop.Message {
	m := b.messages.new()
	m.Ref, m.Role, m.Text = ref, role, text
	return m
}

func (b *book) checkHistory() {
	begin := func() (c historyCheck) {
		if !b.distinct {
			c.ids = map[string]bool{}
		}
		return c
	}
	c := begin()
	seen := map[string]bool{}
	b.rebuild(func(it *item, h []*loop.Message) {
		if it.eff == nil {
			return
		}
		switch it.eff.Kind {
		case loop.Put, loop.Drop:
			if changes(it.eff, h) < c.n {
				c = begin() // a message that it has read has changed
			}
		case loop.AskModel, loop.Halt:
			if it.eff.Kind == loop.AskModel && it.eff.For != loop.ForSummary && it.eff.To != len(h) {
				b.lengths = append(b.lengths, historyLength{it, len(h)})
			}
			for _, problem := range c.check(h) {
				_, what, _ := strings.Cut(problem, ": ")
				if !seen[what] {
					b.report(it.place, "", "", "%s", problem)
				}
				seen[what] = true
			}
		}
	})
}

// A historyLength is the length of the history at a request whose to= differs.
type historyLength struct {
	ask    *item
	length int
}

// checkAskedWith reports the lengths that [book.checkHistory] found.
func (b *book) checkAskedWith() {
	for _, l := range b.lengths {
		b.report(l.ask.place, "to="+strconv.Itoa(l.length), "to="+strconv.Itoa(l.ask.eff.To), "the history has another length")
	}
	for _, r := range b.runs {
		b.checkChoices(r)
	}
}

// checkChoices compares what the model is forced to call with the task's tool choice.
func (b *book) checkChoices(r *run) {
	called := len(b.trace) // the record of the first reply with calls
	for _, reply := range r.replies {
		if reply.sort == batchReply {
			called = reply.rec
			break
		}
	}
	for i := range b.itemsOf(r) {
		it := &b.itemsOf(r)[i]
		if it.eff == nil || it.eff.Kind != loop.AskModel {
			continue
		}
		want := b.task.ToolChoice.Use
		if it.eff.For != loop.ForReply || b.task.Planner == loop.PlannerJSON || len(b.tools) == 0 || it.rec >= called && !b.task.ToolChoice.Hold {
			want = ""
		}
		if it.eff.Choice != want {
			b.report(it.place, "choice="+strconv.Quote(want), "choice="+strconv.Quote(it.eff.Choice), "the model is asked with another tool choice")
		}
	}
}

func (b *book) checkCallIDs() {
	used := make(map[string]bool, len(b.calls))
	b.distinct = true
	for _, c := range b.calls {
		if c.repeats != nil || c.dropped {
			continue // the history does not have it
		}
		b.distinct = b.distinct && c.id != "" && !used[c.id]
		usable := c.asked.ID != "" && !used[c.asked.ID]
		switch {
		case c.id == "":
			b.report(c.reply.place, "a new id", "none", "call c%d has no id", c.n)
		case used[c.id]:
			b.report(c.reply.place, "a new id", strconv.Quote(c.id), "the id of call c%d was used before", c.n)
		case usable && c.id != c.asked.ID:
			b.report(c.reply.place, strconv.Quote(c.asked.ID), strconv.Quote(c.id),
				"call c%d could have kept its id", c.n)
		}
		used[c.id] = true
	}
}

// checkResults reports results that are missing, put twice, out of order, too early
// or too late.
func (b *book) checkResults() {
	for _, r := range b.replies {
		if r.sort == batchReply {
			b.checkPuts(r)
		}
	}
}

func (b *book) checkPuts(r *reply) {
	span := b.hooked(r, b.batchFinal(r))
	var last *call
	next := b.nextAfter(r)
	for _, c := range r.calls {
		switch {
		case len(c.puts) == 0 && next.found():
			b.report(next, "a result for every call", "none", "call c%d has no result", c.n)
			continue
		case len(c.puts) == 0:
			if span.ok && span.hi < len(b.trace) {
				b.report(b.input(span.hi), "a result for every call", "none", "the batch is final and call c%d has no result", c.n)
			}
			continue
		case len(c.puts) > 1:
			b.report(c.puts[1].place, "one result", "another", "call c%d has its result", c.n)
		}
		switch put := c.puts[0]; {
		case last != nil && put.line < last.puts[0].line:
			b.report(put.place, "request order", "before that of c"+strconv.Itoa(last.n),
				"the result of call c%d is out of order", c.n)
		case !span.ok || put.rec < span.lo:
			b.report(put.place, "once the batch is final", "earlier", "the result of call c%d is early", c.n)
		case put.rec > span.hi:
			b.report(put.place, "as soon as the batch is final", "later", "the result of call c%d is late", c.n)
		case next.found() && put.line > next.line:
			b.report(put.place, "before the next request", "after it", "the result of call c%d is late", c.n)
		}
		last = c
	}
}

// nextAfter returns the first new request or the halt after a reply.
func (b *book) nextAfter(r *reply) place {
	requests := r.run.requests
	next := sort.Search(len(requests), func(i int) bool { return requests[i].tries[0].asked.line > r.line })
	if next < len(requests) {
		return requests[next].tries[0].asked
	}
	return r.run.halt
}
