package trajectories

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/agentbench-go/agentbench/cassettes/trajectories/wire"
)

// unfolded returns what a tracer wrote as JSON, as the text of JSON, or as the text of
// that.
func unfolded(raw json.RawMessage) json.RawMessage {
	for range 2 {
		said := bytes.TrimSpace([]byte(wire.String(raw)))
		if !wire.IsString(raw) || !json.Valid(said) || len(said) == 0 || said[0] != '{' && said[0] != '[' && said[0] != '"' {
			return raw
		}
		raw = said
	}
	return raw
}

// messagesOf returns the messages in the input or the output of a model request, as
// some framework gave it to a tracer: a message, a list of them, an answer of an API,
// or a text. What has no role is said by role.
func messagesOf(raw json.RawMessage, role string) []wire.Message {
	const deepest = 6
	return valueMessages(unfolded(raw), role, deepest)
}

// valueFields are the fields of a value in which its messages are, from the outside in.
var valueFields = []string{"messages", "generations", "choices", "message", "output", "input", "contents", "candidates", "content_blocks", "prompt", "text", "value"}

func valueMessages(raw json.RawMessage, role string, deep int) (all []wire.Message) {
	switch {
	case deep == 0:
		return nil
	case wire.IsArray(raw):
		for _, one := range listOf(raw) {
			all = append(all, valueMessages(one, role, deep-1)...)
		}
		return all
	case wire.IsString(raw):
		if said := wire.String(raw); said != "" {
			m := wire.Message{Text: said}
			if role == "assistant" {
				m.Role = wire.Assistant
			}
			return []wire.Message{m}
		}
		return nil
	}
	keys := objectOf(raw)
	switch {
	case keys == nil:
		return nil
	case wire.ShapeOf(raw) != wire.NoShape:
		more, err := wire.LogMessages(raw)
		if err != nil {
			return []wire.Message{{Role: wire.System, Unread: []string{"a message of another shape"}}}
		}
		return more
	case keys["role"] == nil && (keys["tool_calls"] != nil || wire.IsArray(keys["content"]) || wire.IsString(keys["content"])) && keys["type"] == nil:
		keys["role"], _ = json.Marshal(role)
		whole, _ := json.Marshal(keys)
		more, err := wire.LogMessages(whole)
		if err == nil {
			return more
		}
	}
	for _, name := range valueFields {
		if keys[name] == nil {
			continue
		}
		if all = valueMessages(unfolded(keys[name]), role, deep-1); len(all) > 0 {
			return all
		}
	}
	return nil
}

// executed fills in a call that a tracer recorded as a step of its own.
func (s *span) executed(name string, input, output json.RawMessage, failure string) {
	s.kind = toolSpan
	for _, prefix := range []string{"running tool: ", "execute_tool "} {
		name = strings.TrimPrefix(name, prefix)
	}
	s.call.Name, s.call.Args = name, wire.String(unfolded(input))
	s.result, s.answered = wire.Text(unfolded(output)), output != nil
	if s.result == "" {
		s.result = failure
	}
}
