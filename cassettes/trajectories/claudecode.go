package trajectories

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/agentbench-go/agentbench/cassettes/trajectories/wire"
	"github.com/agentbench-go/agentbench/internal/rawjson"
)

// claudeCode is the session log of Claude Code: JSON Lines with a message of the
// Anthropic API a line, or such lines in an array loglines. Results are parts of
// user messages and mark errors. Lines of other kinds and of side chains, which
// are a sub-agent's, are left out; a file with nothing but a side chain is the run of
// that sub-agent. It has no label.
var claudeCode = format{
	name:  "claude-code",
	looks: `{"type": "user", "message": {"role": …, "content": …}, "timestamp": …} a line, one run a file`,
	fits: func(keys map[string]json.RawMessage) bool {
		kind := wire.String(keys["type"])
		return (kind == "user" || kind == "assistant") && wire.IsObject(keys["message"]) || wire.IsArray(keys["loglines"]) || keys["leafUuid"] != nil ||
			kind == "file-history-snapshot" || kind == "queue-operation"
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

func readClaudeCode(raw json.RawMessage) (*Trajectory, error) {
	items, err := readArray("lines", raw)
	if err != nil {
		return nil, err
	}
	r := &Trajectory{}
	var messages, aside []wire.Message
	var broken brokenParts
	last := "" // id of the assistant's message whose tokens are counted
	for i := 0; i < len(items); i++ {
		var line claudeLine
		if bad := rawjson.Unmarshal(items[i], &line); bad != nil {
			broken.add("line", i, len(items), wrongType(bad))
			continue
		}
		items = append(items, line.Loglines...)
		if err := tooMany("lines", len(items)); err != nil {
			return nil, err
		}
		if line.Type != "user" && line.Type != "assistant" {
			continue
		}
		var said struct {
			Model   string          `json:"model"`
			Content json.RawMessage `json:"content"`
			Usage   json.RawMessage `json:"usage"`
			ID      string          `json:"id"`
		}
		if bad := rawjson.Unmarshal(line.Message, &said); bad != nil {
			broken.add("line", i, len(items), fmt.Errorf("message: %w", wrongType(bad)))
			continue
		}
		r.Model = cmp.Or(r.Model, said.Model)
		r.Name = cmp.Or(r.Name, wire.String(line.SessionID))
		more := wire.AnthropicMessages(line.Type, said.Content)
		if line.Type == "assistant" && len(more) > 0 && (said.ID == "" || said.ID != last) {
			more[0].TokensIn, more[0].TokensOut = wire.Usage(said.Usage) // each line of a message repeats it
			last = said.ID
		}
		if line.Sidechain {
			aside = append(aside, more...)
		} else {
			messages = append(messages, more...)
		}
	}
	if len(messages) == 0 {
		messages = aside
	}
	r.assemble(messages)
	return r, broken.orNil()
}
