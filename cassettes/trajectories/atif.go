package trajectories

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/agentbench-go/agentbench/cassettes/trajectories/wire"
)

// atif is Harbor's Agent Trajectory Interchange Format, which Terminal-Bench and others
// write. A step of the agent is a turn with the results of its calls; the reward lies in
// a file beside it. Errors are not marked.
var atif = format{
	name:  "atif",
	looks: `{"schema_version": "ATIF-v1.7", "agent": {…}, "steps": [{"source": "agent", "tool_calls": […], "observation": {…}}, …]}`,
	fits: func(keys map[string]json.RawMessage) bool {
		return strings.HasPrefix(field(keys, "schema_version"), "ATIF-") && wire.IsArray(keys["steps"])
	},
	read: single(readATIF),
}

func readATIF(raw json.RawMessage) (*Trajectory, error) {
	keys := objectOf(raw)
	steps, err := readArray("steps", keys["steps"])
	if err != nil {
		return nil, err
	}
	r := &Trajectory{Name: cmp.Or(field(keys, "trajectory_id"), field(keys, "session_id")), Model: field(inner(keys, "agent"), "model_name")}
	var messages []wire.Message
	for _, one := range steps {
		step := objectOf(one)
		m := wire.Message{Role: wire.System, Text: wire.Text(step["message"])}
		switch field(step, "source") {
		case "user":
			m.Role = wire.User
		case "agent":
			m.Role = wire.Assistant
			m.Reply = true
			m.Model = field(step, "model_name")
			m.TokensIn, m.TokensOut = wire.Usage(step["metrics"])
		}
		calls := listOf(step["tool_calls"])
		for _, c := range calls {
			call := objectOf(c)
			m.Calls = append(m.Calls, wire.Call{ID: field(call, "tool_call_id"), Name: field(call, "function_name"), Args: wire.String(call["arguments"])})
		}
		messages = append(messages, m)
		for _, o := range listOf(inner(step, "observation")["results"]) {
			result := objectOf(o)
			id := field(result, "source_call_id") // without, the first call waits for it
			if id == "" && len(m.Calls) == 1 {
				id = m.Calls[0].ID
			}
			messages = append(messages, wire.Message{Role: wire.Tool, ID: id, Text: wire.Text(result["content"])})
		}
	}
	r.assemble(messages)
	r.Messages = len(steps)
	return r, nil
}
