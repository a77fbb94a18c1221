package trajectories

import (
	"cmp"
	"encoding/json"

	"github.com/agentbench-go/agentbench/cassettes/trajectories/wire"
	"github.com/agentbench-go/agentbench/loop"
)

// copilot is the event log of GitHub Copilot CLI: JSON Lines {type, data}. A call is
// asked for in a message, begun in an event of its own, or both. It has no label.
var copilot = format{
	name:  "copilot-cli",
	looks: `{"type": "assistant.message", "data": {"content": …, "toolRequests": […]}} a line, one run a file`,
	fits: func(keys map[string]json.RawMessage) bool {
		switch field(keys, "type") {
		case "session.start", "user.message", "assistant.message", "tool.execution_start", "tool.execution_complete":
			return wire.IsObject(keys["data"])
		}
		return false
	},
	read:   readCopilot,
	joined: true,
}

func readCopilot(raw json.RawMessage) ([]*Trajectory, error) {
	var log lineLog
	run := log.run("")
	asked := map[string]bool{}
	err := eachLine(raw, func(line map[string]json.RawMessage) error {
		data := objectOf(line["data"])
		id := field(data, "toolCallId")
		switch field(line, "type") {
		case "session.start":
			run.traj.Name = cmp.Or(run.traj.Name, field(data, "sessionId"))
			run.traj.Model = cmp.Or(run.traj.Model, field(data, "selectedModel"))
		case "system.message":
			run.say(wire.Message{Role: wire.System, Text: field(data, "content")})
		case "user.message":
			run.say(wire.Message{Role: wire.User, Text: wire.Text(data["content"])})
		case "assistant.message":
			m := wire.Message{Role: wire.Assistant, Text: wire.Text(data["content"]), Model: field(data, "model")}
			m.TokensIn, m.TokensOut = wire.Usage(line["data"])
			for _, one := range listOf(data["toolRequests"]) {
				call := objectOf(one)
				if id := field(call, "toolCallId"); id == "" || !asked[id] {
					asked[id] = true
					m.Calls = append(m.Calls, wire.Call{ID: id, Name: field(call, "name"), Args: wire.String(call["arguments"])})
				}
			}
			run.say(m)
		case "tool.execution_start":
			if !asked[id] {
				asked[id] = true
				run.say(wire.Message{Role: wire.Assistant, Calls: []wire.Call{{ID: id, Name: field(data, "toolName"), Args: wire.String(data["arguments"])}}})
			}
		case "tool.execution_complete":
			result := wire.Message{Role: wire.Tool, ID: id, Text: wire.Text(inner(data, "result")["content"])}
			if string(data["success"]) == "false" {
				result.Code = loop.ToolBug
				result.Text = cmp.Or(field(objectOf(data["error"]), "message"), result.Text, field(data, "error"))
			}
			run.say(result)
		}
		return nil
	})
	return log.end(), err
}
