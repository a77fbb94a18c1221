package trajectories

import (
	"cmp"
	"encoding/json"

	"github.com/agentbench-go/agentbench/cassettes/trajectories/wire"
	"github.com/agentbench-go/agentbench/loop"
)

// qwenCode is the session log of Qwen Code: the frame of Claude Code's with Gemini's
// parts. A line rewind drops what follows its target. It has no label.
var qwenCode = format{
	name:  "qwen-code",
	looks: `{"uuid": …, "type": "assistant", "message": {"role": "model", "parts": […]}} a line, one run a file`,
	fits: func(keys map[string]json.RawMessage) bool {
		return keys["uuid"] != nil && wire.IsArray(inner(keys, "message")["parts"])
	},
	read:   readQwenCode,
	joined: true,
}

// A qwenLine is a line of the log, which names the line before it.
type qwenLine struct {
	keys     map[string]json.RawMessage
	messages []wire.Message
}

func readQwenCode(raw json.RawMessage) ([]*Trajectory, error) {
	r := &Trajectory{}
	lines := map[string]*qwenLine{}
	var order []string
	err := eachLine(raw, func(keys map[string]json.RawMessage) error {
		id := field(keys, "uuid")
		line := lines[id]
		if line == nil {
			line = &qwenLine{keys: keys}
			lines[id] = line
			order = append(order, id)
		}
		r.Name = cmp.Or(r.Name, field(keys, "sessionId"))
		if kind := field(keys, "type"); kind == "system" || field(keys, "subtype") == "notification" {
			return nil
		}
		r.Model = cmp.Or(r.Model, field(keys, "model"))
		if !wire.IsObject(keys["message"]) {
			return nil
		}
		more, err := wire.LogMessages(keys["message"])
		if status := field(inner(keys, "toolCallResult"), "status"); status == "error" || status == "cancelled" {
			for i := range more {
				more[i].Code = loop.ToolBug
			}
		}
		if usage := keys["usageMetadata"]; len(more) > 0 && usage != nil {
			more[0].TokensIn, more[0].TokensOut = wire.Usage(usage)
		}
		line.messages = append(line.messages, more...)
		return err
	})
	dropped := rewound(lines, order)
	var messages []wire.Message
	for i, id := range order {
		if !dropped[i] {
			messages = append(messages, lines[id].messages...)
		}
	}
	if len(messages) == 0 {
		return nil, cmp.Or[error](err, nothing{missing("message")})
	}
	r.assemble(messages)
	return []*Trajectory{r}, err
}

// rewound returns the places of the lines that a rewind dropped: those between its
// target and itself.
func rewound(lines map[string]*qwenLine, order []string) map[int]bool {
	place := map[string]int{}
	dropped := map[int]bool{}
	for i, id := range order {
		place[id] = i
		if field(lines[id].keys, "subtype") != "rewind" {
			continue
		}
		target, ok := place[field(inner(lines[id].keys, "systemPayload"), "targetUuid")]
		for ; ok && target+1 < i; target++ {
			dropped[target+1] = true
		}
	}
	return dropped
}
