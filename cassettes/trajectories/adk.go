package trajectories

import (
	"encoding/json"

	"github.com/agentbench-go/agentbench/cassettes/trajectories/wire"
)

// adk is a session of Google's Agent Development Kit: events with a content of Gemini's
// parts each. It has no label.
var adk = format{
	name:  "adk",
	looks: `{"id": …, "events": [{"author": …, "content": {"role": …, "parts": […]}}, …]}`,
	fits: func(keys map[string]json.RawMessage) bool {
		events := listOf(keys["events"])
		return len(events) > 0 && objectOf(events[0])["author"] != nil
	},
	read: single(func(raw json.RawMessage) (*Trajectory, error) {
		session := objectOf(raw)
		var messages []json.RawMessage
		for _, event := range listOf(session["events"]) {
			content := inner(objectOf(event), "content")
			if content == nil {
				continue
			}
			if content["role"] == nil {
				content["role"] = json.RawMessage(`"model"`)
			}
			message, _ := json.Marshal(content)
			messages = append(messages, message)
		}
		list, _ := json.Marshal(messages)
		if messages == nil {
			list = json.RawMessage("[]")
		}
		r := &Trajectory{Name: wire.String(session["id"])}
		return r, r.readLog("events", list, nil)
	}),
}
