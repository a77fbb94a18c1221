package trajectories

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/agentbench-go/agentbench/loop"
)

// claudeCode is a session as Claude Code keeps it: JSON Lines, a message of the
// Anthropic API a line, or such lines in an array loglines. Results stand in
// user messages and mark errors. Lines of another kind and those of side chains
// (a sub-agent's) are left out. There is no label.
var claudeCode = format{
	name:  "claude-code",
	looks: `{"type": "user", "message": {"role": …, "content": …}, "timestamp": …} a line, one run a file`,
	fits: func(keys map[string]json.RawMessage) bool {
		kind := scalar(keys["type"])
		return (kind == "user" || kind == "assistant") && isObject(keys["message"]) || isArray(keys["loglines"]) || keys["leafUuid"] != nil
	},
	read:   single(readClaudeCode),
	joined: true,
}

type claudeLine struct {
	Type      string
	Sidechain bool              `json:"isSidechain"`
	SessionID json.RawMessage   `json:"sessionId"`
	Message   json.RawMessage   `json:"message"`
	Loglines  []json.RawMessage `json:"loglines"`
}

// A claudeMessage is a message of the Anthropic API.
type claudeMessage struct {
	Model   string          `json:"model"`
	Content json.RawMessage `json:"content"`
}

// A claudeBlock is a part of a message's content.
type claudeBlock struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	Content   json.RawMessage `json:"content"`
	IsError   bool            `json:"is_error"`
}

func readClaudeCode(raw json.RawMessage) (*Trajectory, error) {
	var items []json.RawMessage
	if err := json.Unmarshal(raw, &items); err != nil {
		return nil, wrongType(err)
	}
	if len(items) > maxMessages {
		return nil, fmt.Errorf("it has %d lines, and the limit is %d", len(items), maxMessages)
	}
	r := &Trajectory{}
	var messages []message
	var err error
	for i := 0; i < len(items); i++ {
		var line claudeLine
		if bad := json.Unmarshal(items[i], &line); bad != nil {
			err = errors.Join(err, fmt.Errorf("line %d of %d: %w", i+1, len(items), wrongType(bad)))
			continue
		}
		items = append(items, line.Loglines...)
		if len(items) > maxMessages {
			return nil, fmt.Errorf("it has more than %d lines", maxMessages)
		}
		if line.Sidechain || line.Type != "user" && line.Type != "assistant" {
			continue
		}
		var said claudeMessage
		if bad := json.Unmarshal(line.Message, &said); bad != nil {
			err = errors.Join(err, fmt.Errorf("line %d of %d: its message: %w", i+1, len(items), wrongType(bad)))
			continue
		}
		r.Model = firstOf(r.Model, said.Model)
		r.Name = firstOf(r.Name, scalar(line.SessionID))
		messages = append(messages, said.messages(line.Type)...)
	}
	r.assemble(messages)
	return r, err
}

// messages gives the results of a message of the user's or the assistant's, and
// then what is said beside them.
func (c *claudeMessage) messages(of string) (messages []message) {
	m := message{role: assistant}
	if of == "user" {
		m.role = user
	}
	var blocks []json.RawMessage
	if json.Unmarshal(c.Content, &blocks) != nil {
		m.text = plainText(c.Content)
		return []message{m}
	}
	said := false
	for _, raw := range blocks {
		var b claudeBlock
		if !isObject(raw) || json.Unmarshal(raw, &b) != nil {
			b = claudeBlock{Type: "text", Text: partText(raw)}
		}
		switch b.Type {
		case "thinking", "redacted_thinking":
		case "tool_use":
			m.calls = append(m.calls, &Call{ID: b.ID, Name: b.Name, Args: arguments(b.Input)})
			said = true
		case "tool_result":
			result := message{role: tool, id: b.ToolUseID, text: plainText(b.Content)}
			if b.IsError {
				result.code = loop.ToolBug
			}
			messages = append(messages, result)
		default:
			if m.text != "" {
				m.text += "\n"
			}
			m.text += firstOf(b.Text, partText(raw))
			said = true
		}
	}
	if said {
		messages = append(messages, m)
	}
	return messages
}
