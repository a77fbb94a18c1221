package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/agentbench-go/agentbench/internal/text"
)

var toolCallTag = regexp.MustCompile(`(?s)<tool_call>\s*(.*?)\s*</tool_call>`)

// shareGPTMessages decodes a line of a ShareGPT conversation, {from, value}. A call is
// JSON in a line of its own, or in tags within the model's text. There are no ids.
func shareGPTMessages(keys map[string]json.RawMessage) ([]Message, error) {
	from, value := String(keys["from"]), String(keys["value"])
	switch from {
	case "human", "user":
		return []Message{{Role: User, Text: value}}, nil
	case "system":
		return []Message{{Role: System, Text: value}}, nil
	case "observation", "tool", "tool_response", "function_response":
		value = strings.NewReplacer("<tool_response>", "", "</tool_response>", "").Replace(value)
		return []Message{{Role: Tool, Text: strings.TrimSpace(value)}}, nil
	case "function_call", "tool_call":
		calls := callsIn(value)
		if len(calls) == 0 {
			return nil, errors.New(`value must be the JSON of a call, such as {"name": …, "arguments": …}`)
		}
		return []Message{{Role: Assistant, Calls: calls}}, nil
	case "gpt", "assistant", "model", "bot", "chatgpt":
		m := Message{Role: Assistant}
		for _, tag := range toolCallTag.FindAllStringSubmatch(value, -1) {
			m.Calls = append(m.Calls, callsIn(tag[1])...)
		}
		m.Text = value
		if len(m.Calls) > 0 {
			m.Text = strings.TrimSpace(toolCallTag.ReplaceAllString(value, ""))
		}
		return []Message{m}, nil
	}
	return nil, fmt.Errorf("unknown speaker %s in from (want human, gpt, function_call, observation or system)", text.Quote(from, 40))
}

// callsIn returns the calls in JSON: one, or a list. A text that is not JSON is a call
// of which only the text is known.
func callsIn(written string) (calls []Call) {
	raw := json.RawMessage(strings.TrimSpace(written))
	if !json.Valid(raw) {
		return []Call{{Args: written}}
	}
	items := list(raw)
	if !IsArray(raw) {
		items = []json.RawMessage{raw}
	}
	for _, one := range items {
		var c chatCall
		if !IsObject(one) || json.Unmarshal(one, &c) != nil {
			continue
		}
		if call, ok := c.call(); ok {
			calls = append(calls, call)
		}
	}
	return calls
}
