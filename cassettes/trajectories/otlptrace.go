package trajectories

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/agentbench-go/agentbench/cassettes/trajectories/wire"
	"github.com/agentbench-go/agentbench/loop"
)

// A traceReader turns the spans of one trace into messages. The spans come in the
// order of their start.
type traceReader struct {
	messages []wire.Message
	users    int             // user messages so far
	turn     int             // index of the last reply in messages, if said
	said     bool            // there was a reply
	results  []wire.Message  // of the last reply's calls
	answered map[string]bool // ids of calls with a result
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

// attribute decodes messages or parts from an attribute, which is JSON in a text or
// a structure. An attribute of another shape is ignored.
func attribute[T any](s *otlpSpan, key string) (v T) {
	if text := s.text(key); text != "" {
		if json.Unmarshal([]byte(text), &v) != nil {
			var none T
			return none
		}
	}
	return v
}

// flush adds the results of the last reply's calls to the messages.
func (t *traceReader) flush() {
	t.messages = append(t.messages, t.results...)
	t.results = nil
}

// chat takes a model request. Its input has the user's messages, and the results of
// calls that have no span of their own.
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
	var parts []json.RawMessage
	for _, m := range output {
		parts = append(parts, m.Parts...)
	}
	addParts(&reply, parts)
	t.say(reply)
}

func (t *traceReader) say(m wire.Message) {
	t.turn, t.said = len(t.messages), true
	t.messages = append(t.messages, m)
}

// begin adds an empty user message before the first reply if there is none.
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

// input takes the messages of a request that are new.
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

// responses takes the new results in a message of a request.
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

// addParts adds the texts and calls in parts to a message.
func addParts(m *wire.Message, parts []json.RawMessage) {
	var said []string
	for _, raw := range parts {
		var p otlpPart
		if json.Unmarshal(raw, &p) != nil {
			continue
		}
		switch p.Type {
		case "text":
			if t := wire.Text(p.Content); t != "" {
				said = append(said, t)
			}
		case "tool_call":
			m.Calls = append(m.Calls, wire.Call{ID: wire.String(p.ID), Name: p.Name, Args: wire.String(p.Arguments)})
		}
	}
	m.Text = strings.Join(said, "\n")
}

// tool takes an executed call. If the last reply does not have it, it is added
// there.
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

// spanCode returns the code of a call: its error.type if that is one of the loop's
// codes, ToolBug for any other error.
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
