package trajectories

import (
	"encoding/json"

	"github.com/agentbench-go/agentbench/cassettes/trajectories/wire"
)

// cursor is the transcript of Cursor's agent: JSON Lines with a role and a message of
// Anthropic's blocks, whose calls have no ids and mostly no results. It has no label.
var cursor = format{
	name:  "cursor",
	looks: `{"role": "assistant", "message": {"content": [blocks]}} a line, one run a file`,
	fits: func(keys map[string]json.RawMessage) bool {
		return wire.IsString(keys["role"]) && wire.IsObject(keys["message"]) && keys["content"] == nil
	},
	read:   readCursor,
	joined: true,
}

func readCursor(raw json.RawMessage) ([]*Trajectory, error) {
	var log lineLog
	err := eachLine(raw, func(line map[string]json.RawMessage) error {
		message := inner(line, "message")
		if message == nil || line["role"] == nil { // the end of a turn
			return nil
		}
		message["role"] = line["role"]
		whole, _ := json.Marshal(message)
		return log.run("").add(whole)
	})
	return log.end(), err
}
