package trajectories

import (
	"cmp"
	"slices"

	"github.com/agentbench-go/agentbench/cassettes/trajectories/wire"
	"github.com/agentbench-go/agentbench/loop"
)

// A spanKind says what a span of a trace stands for.
type spanKind uint8

const (
	otherSpan spanKind = iota // an agent, a chain, an HTTP request
	modelSpan                 // a request to a model
	toolSpan                  // a call that was executed
)

// A span is a step of a traced run, whatever the tracer: of OpenTelemetry, Langfuse,
// LangSmith or MLflow.
type span struct {
	id, parent string
	at, end    uint64 // ns or any other unit, the same in a trace
	kind       spanKind
	code       loop.Code // None = it did not fail

	// Of a model request, what it held and what came back, if that was recorded.
	model         string
	system        string
	input, output []wire.Message
	in, out       int64 // tokens

	// Of a call.
	call     wire.Call
	result   string
	answered bool // its result was recorded, which may be empty
}

// readTrace returns the runs in the spans of a trace: the agent's, and those of agents
// that it called as tools. Of spans within spans that both are model requests, the
// inner ones count, since the outer ones repeat them.
func readTrace(name string, spans []*span) (all []*Trajectory) {
	slices.SortStableFunc(spans, func(a, b *span) int { return cmp.Compare(a.at, b.at) })
	byID := map[string]*span{}
	for _, s := range spans {
		byID[s.id] = s
	}
	outer, toolOf := map[*span]bool{}, map[*span]*span{}
	for _, s := range spans {
		if s.kind == otherSpan {
			continue
		}
		tool := s.above(byID, toolSpan)
		if s.kind == toolSpan && tool != nil && tool.call.Name == s.call.Name && (s.call.ID == "" || s.call.ID == tool.call.ID) {
			outer[s] = true // two instrumentations of one call
			continue
		}
		toolOf[s] = tool
		if model := s.above(byID, modelSpan); s.kind == modelSpan && model != nil {
			outer[model] = true
		}
	}
	groups := map[*span]*traceReader{}
	var order []*span
	for _, s := range spans {
		if s.kind == otherSpan || outer[s] {
			continue
		}
		tool := toolOf[s]
		for tool != nil && outer[tool] {
			tool = toolOf[tool]
		}
		if groups[tool] == nil {
			groups[tool] = &traceReader{answered: map[string]bool{}}
			order = append(order, tool)
		}
		groups[tool].add(s)
	}
	for _, tool := range order {
		r := &Trajectory{Name: name, Model: groups[tool].model}
		if tool != nil {
			r.Name += ",tool=" + cmp.Or(tool.call.Name, tool.id)
		}
		r.assemble(groups[tool].all())
		all = append(all, r)
	}
	return all
}

// above returns the nearest span of a kind around a span, nil for none.
func (s *span) above(byID map[string]*span, kind spanKind) *span {
	const deepest = 1000 // parents may form a circle
	for n, at := 0, byID[s.parent]; at != nil && n < deepest; n, at = n+1, byID[at.parent] {
		if at.kind == kind && at != s {
			return at
		}
	}
	return nil
}

// A traceReader turns the spans of one run into messages. The spans come in the order
// of their start.
type traceReader struct {
	model    string
	messages []wire.Message
	users    int // user messages so far
	said     bool
	open     []openSpan      // calls that no span has executed yet
	results  []wire.Message  // of the calls since the last reply
	answered map[string]bool // ids of calls with a result
	busy     uint64          // the end of the tools that run, without a model's span
	modelled bool            // the run has spans of model requests
}

// An openSpan is a call of a reply, by its place.
type openSpan struct{ message, call int }

func (t *traceReader) add(s *span) {
	if s.kind == modelSpan {
		t.chat(s)
	} else {
		t.tool(s)
	}
}

func (t *traceReader) all() []wire.Message {
	t.flush()
	return t.messages
}

// flush adds the results of the last calls to the messages.
func (t *traceReader) flush() {
	t.messages = append(t.messages, t.results...)
	t.results = nil
}

// chat takes a model request. What it held has the user's messages, and the results of
// calls without a span of their own. A request that failed is a try and not a turn.
func (t *traceReader) chat(s *span) {
	t.modelled = true
	t.model = cmp.Or(t.model, s.model)
	if !t.said && len(t.messages) == 0 && s.system != "" {
		t.messages = append(t.messages, wire.Message{Role: wire.System, Text: s.system})
	}
	t.input(s.input)
	if s.code != loop.None {
		return
	}
	t.flush()
	t.begin()
	reply := wire.Message{Role: wire.Assistant, TokensIn: s.in, TokensOut: s.out}
	for _, m := range s.output {
		if m.Role == wire.Assistant {
			reply.Text = joined(reply.Text, m.Text)
			reply.Calls = append(reply.Calls, m.Calls...)
		}
		reply.Unread = append(reply.Unread, m.Unread...)
	}
	t.say(reply)
}

func joined(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "\n" + b
}

func (t *traceReader) say(m wire.Message) {
	for i := range m.Calls {
		t.open = append(t.open, openSpan{len(t.messages), i})
	}
	t.said = true
	t.messages = append(t.messages, m)
}

// begin adds an empty user message before the first reply if there is none.
func (t *traceReader) begin() {
	if t.users == 0 {
		t.users++
		t.messages = append(t.messages, wire.Message{Role: wire.User})
	}
}

// input takes the messages of a request that are new: all of the first one, and later
// on user messages, and results of calls without a span.
func (t *traceReader) input(messages []wire.Message) {
	if !t.said {
		users := 0
		for _, m := range messages {
			users += btoi(m.Role == wire.User)
		}
		if users > t.users { // a failed request may have said it before
			t.messages = slices.DeleteFunc(t.messages, func(m wire.Message) bool { return m.Role != wire.System })
			seen := len(t.messages) > 0
			for _, m := range messages {
				switch m.Role {
				case wire.System:
					if seen {
						continue
					}
				case wire.Tool:
					t.answered[m.ID] = true
				}
				t.messages = append(t.messages, m)
			}
			t.users = users
		}
		return
	}
	users := 0
	for _, m := range messages {
		switch m.Role {
		case wire.User:
			if users++; users > t.users {
				t.flush()
				t.messages = append(t.messages, m)
				t.users = users
			}
		case wire.Tool:
			t.late(m)
		}
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// late takes a result from the history of a request.
func (t *traceReader) late(m wire.Message) {
	for i := range t.results { // a span without its content
		if r := &t.results[i]; r.ID == m.ID && m.ID != "" && r.Text == "" {
			r.Text = m.Text
		}
	}
	if m.ID == "" || t.answered[m.ID] {
		return
	}
	for i, o := range t.open {
		if t.messages[o.message].Calls[o.call].ID == m.ID {
			t.open = slices.Delete(t.open, i, i+1)
			t.answered[m.ID] = true
			t.results = append(t.results, m)
			return
		}
	}
}

// tool takes an executed call: the one with its id, else the first one with its name
// and arguments, else with its name. If no reply has it, it is added to the last one.
func (t *traceReader) tool(s *span) {
	if !t.said || !t.modelled && s.at >= t.busy {
		t.flush()
		t.begin()
		t.say(wire.Message{Role: wire.Assistant})
	}
	t.busy = max(t.busy, s.end)
	i := t.matching(&s.call)
	if i < 0 {
		last := len(t.messages) - 1
		for t.messages[last].Role != wire.Assistant {
			last--
		}
		t.messages[last].Calls = append(t.messages[last].Calls, s.call)
		t.open = append(t.open, openSpan{last, len(t.messages[last].Calls) - 1})
		i = len(t.open) - 1
	}
	call := &t.messages[t.open[i].message].Calls[t.open[i].call]
	call.Args = cmp.Or(call.Args, s.call.Args)
	call.ID = cmp.Or(call.ID, s.call.ID)
	t.open = slices.Delete(t.open, i, i+1)
	t.answered[call.ID] = true
	t.results = append(t.results, wire.Message{Role: wire.Tool, ID: call.ID, Text: s.result, Code: s.code})
}

func (t *traceReader) matching(c *wire.Call) int {
	find := func(fits func(*wire.Call) bool) int {
		return slices.IndexFunc(t.open, func(o openSpan) bool { return fits(&t.messages[o.message].Calls[o.call]) })
	}
	if c.ID != "" {
		if i := find(func(o *wire.Call) bool { return o.ID == c.ID }); i >= 0 {
			return i
		}
		return find(func(o *wire.Call) bool { return o.ID == "" && o.Name == c.Name })
	}
	args, _ := canonicalArgs(c.Args)
	i := find(func(o *wire.Call) bool {
		said, _ := canonicalArgs(o.Args)
		return o.Name == c.Name && said == args
	})
	if i < 0 {
		i = find(func(o *wire.Call) bool { return o.Name == c.Name })
	}
	return i
}
