package trajectories

import (
	"encoding/json"
	"slices"

	"github.com/agentbench-go/agentbench/cassettes/trajectories/wire"
	"github.com/agentbench-go/agentbench/loop"
)

// A traceReader makes messages of the spans of one trace, which come in the
// order of their beginning.
type traceReader struct {
	messages []wire.Message
	users    int             // messages of the user so far
	turn     int             // where the last reply is in messages, if said
	said     bool            // there was a reply
	results  []wire.Message  // of the last reply's calls
	answered map[string]bool // ids of calls that have a span of their own
}

// An otlpMessage is a message in the attributes of a span.
type otlpMessage struct {
	Role  string            `json:"role"`
	Parts []json.RawMessage `json:"parts"`
}

// An otlpPart is a part of a message.
type otlpPart struct {
	Type      string          `json:"type"`
	Content   json.RawMessage `json:"content"`
	ID        json.RawMessage `json:"id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	Result    json.RawMessage `json:"result"`
	Response  json.RawMessage `json:"response"`
}

// attribute reads messages or parts from an attribute: JSON in a text, or a
// structure. What is of another shape says nothing.
func attribute[T any](s *otlpSpan, key string) (v T) {
	if text := s.text(key); text != "" {
		if json.Unmarshal([]byte(text), &v) != nil {
			var none T
			return none
		}
	}
	return v
}

// flush ends the last reply's results.
func (t *traceReader) flush() {
	t.messages = append(t.messages, t.results...)
	t.results = nil
}

// chat takes a try of a model request. Its input tells the user's messages and
// the results that no span has told.
func (t *traceReader) chat(s *otlpSpan) {
	input := attribute[[]otlpMessage](s, "gen_ai.input.messages")
	output := attribute[[]otlpMessage](s, "gen_ai.output.messages")
	if !t.said {
		t.system(attribute[[]json.RawMessage](s, "gen_ai.system_instructions"))
	}
	t.input(input)
	if s.attrs["error.type"] != nil {
		return
	}
	t.flush()
	t.begin()
	reply := wire.Message{Role: wire.Assistant}
	for _, m := range output {
		addParts(&reply, m.Parts)
	}
	t.say(reply)
}

func (t *traceReader) say(m wire.Message) {
	t.turn, t.said = len(t.messages), true
	t.messages = append(t.messages, m)
}

// begin makes sure that there is a message of the user before the first reply.
func (t *traceReader) begin() {
	if t.users == 0 {
		t.users++
		t.messages = append(t.messages, wire.Message{Role: wire.User})
	}
}

func (t *traceReader) system(parts []json.RawMessage) {
	m := wire.Message{Role: wire.System}
	addParts(&m, parts)
	if m.Text != "" {
		t.messages = append(t.messages, m)
	}
}

// input takes what a request says that was not said before.
func (t *traceReader) input(messages []otlpMessage) {
	users := 0
	for _, said := range messages {
		var m wire.Message
		switch said.Role {
		case "system", "developer":
			if !t.said {
				t.system(said.Parts)
			}
			continue
		case "user":
			if users++; users > t.users {
				t.flush()
				m.Role = wire.User
				addParts(&m, said.Parts)
				t.messages = append(t.messages, m)
				t.users = users
			}
		}
		t.responses(said.Parts)
	}
}

// responses takes results from the history of a request.
func (t *traceReader) responses(parts []json.RawMessage) {
	for _, raw := range parts {
		var p otlpPart
		if json.Unmarshal(raw, &p) != nil || p.Type != "tool_call_response" {
			continue
		}
		id, text := wire.String(p.ID), p.Response
		if text == nil {
			text = p.Result
		}
		for i := range t.results { // a span without its content
			if r := &t.results[i]; r.ID == id && r.Text == "" {
				r.Text = wire.Text(text)
			}
		}
		if t.said && id != "" && !t.answered[id] {
			t.answered[id] = true
			t.results = append(t.results, wire.Message{Role: wire.Tool, ID: id, Text: wire.Text(text)})
		}
	}
}

// addParts adds the texts and calls of parts to a message.
func addParts(m *wire.Message, parts []json.RawMessage) {
	for _, raw := range parts {
		var p otlpPart
		if json.Unmarshal(raw, &p) != nil {
			continue
		}
		switch p.Type {
		case "text":
			if m.Text != "" {
				m.Text += "\n"
			}
			m.Text += wire.Text(p.Content)
		case "tool_call":
			m.Calls = append(m.Calls, wire.Call{ID: wire.String(p.ID), Name: p.Name, Args: wire.String(p.Arguments)})
		}
	}
}

// tool takes a call that was executed: one of the last reply's, or, where that
// does not tell, a further one.
func (t *traceReader) tool(s *otlpSpan) {
	if !t.said {
		t.begin()
		t.say(wire.Message{Role: wire.Assistant})
	}
	reply := &t.messages[t.turn]
	id := s.text("gen_ai.tool.call.id")
	known := slices.ContainsFunc(reply.Calls, func(c wire.Call) bool { return id != "" && c.ID == id })
	if !known {
		reply.Calls = append(reply.Calls, wire.Call{ID: id, Name: s.text("gen_ai.tool.name"), Args: s.text("gen_ai.tool.call.arguments")})
	}
	t.answered[id] = true
	t.results = append(t.results, wire.Message{Role: wire.Tool, ID: id, Text: s.text("gen_ai.tool.call.result"), Code: spanCode(s)})
}

// spanCode gives the code of a call: error.type where it is one, and a tool's
// bug for any other error.
func spanCode(s *otlpSpan) loop.Code {
	code := loop.Code(s.text("error.type"))
	if code == loop.None || slices.Contains(loop.Codes(), code) || code == loop.Cancelled {
		return code
	}
	return loop.ToolBug
}

func (t *traceReader) end() []wire.Message {
	t.flush()
	return t.messages
}
