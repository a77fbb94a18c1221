package trajectories

import (
	"encoding/json"

	"github.com/agentbench-go/agentbench/cassettes/trajectories/wire"
)

// droid is the session log of Factory's Droid: JSON Lines, of which those of the type
// message hold a message with Anthropic's blocks. It has no label.
var droid = format{
	name:  "droid",
	looks: `{"type": "session_start", "id": …} and {"type": "message", "message": {…}} a line, one run a file`,
	fits: func(keys map[string]json.RawMessage) bool {
		return field(keys, "type") == "session_start" && keys["id"] != nil
	},
	read:   func(raw json.RawMessage) ([]*Trajectory, error) { return readTypedMessages(raw, "session_start") },
	joined: true,
}

// pi is the session log of pi and OpenClaw: the same frame with toolCall blocks and
// results that are messages of the role toolResult.
var pi = format{
	name:  "pi",
	looks: `{"type": "session", "id": …} and {"type": "message", "message": {…}} a line, one run a file`,
	fits: func(keys map[string]json.RawMessage) bool {
		return field(keys, "type") == "session" && keys["id"] != nil && keys["cwd"] != nil ||
			field(keys, "type") == "message" && wire.IsObject(keys["message"]) && keys["parentId"] != nil
	},
	read:   func(raw json.RawMessage) ([]*Trajectory, error) { return readTypedMessages(raw, "session") },
	joined: true,
}

// readTypedMessages reads the messages in lines of the type message. The line of the
// type head has the id of the session.
func readTypedMessages(raw json.RawMessage, head string) ([]*Trajectory, error) {
	var log lineLog
	name := ""
	err := eachLine(raw, func(line map[string]json.RawMessage) error {
		switch field(line, "type") {
		case head:
			name = field(line, "id")
		case "message":
			if line["message"] == nil {
				return missing("message")
			}
			return log.run("").add(line["message"])
		}
		return nil
	})
	all := log.end()
	for _, r := range all {
		r.Name = name
	}
	return all, err
}
