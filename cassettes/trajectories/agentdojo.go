package trajectories

import (
	"encoding/json"
	"errors"

	"github.com/agentbench-go/agentbench/cassettes/trajectories/wire"
	"github.com/agentbench-go/agentbench/internal/rawjson"
)

// agentDojo is an export of the benchmark AgentDojo as JSON Lines: a run a line,
// with OpenAI chat messages whose arguments are objects and whose errors have a
// field of their own. metadata.success says whether the user's task was solved,
// whatever became of an injected attack. The first line has metadata only.
var agentDojo = format{
	name:  "agentdojo",
	looks: `{"messages": [messages], "metadata": {"success": true}} a line`,
	fits:  func(keys map[string]json.RawMessage) bool { return isAgentDojo(keys["metadata"]) },
	read:  single(readAgentDojo),
}

// isAgentDojo reports whether metadata is that of a run or of the first line.
func isAgentDojo(raw json.RawMessage) bool {
	var keys map[string]json.RawMessage
	return wire.IsObject(raw) && json.Unmarshal(raw, &keys) == nil && (keys["success"] != nil || keys["benchmark"] != nil)
}

func readAgentDojo(raw json.RawMessage) (*Trajectory, error) {
	var run struct {
		Index    json.RawMessage `json:"index"`
		Messages json.RawMessage `json:"messages"`
		Metadata json.RawMessage `json:"metadata"`
	}
	if err := rawjson.Unmarshal(raw, &run); err != nil {
		return nil, wrongType(err)
	}
	if run.Messages == nil && run.Index == nil && wire.IsObject(run.Metadata) {
		return nil, nil // the first line
	}
	messages, err := readMessages("messages", run.Messages)
	if err != nil {
		return nil, err
	}
	r := &Trajectory{}
	if wire.Given(run.Index) {
		r.Name = "index=" + wire.String(run.Index)
	}
	var metadata struct {
		Model   string
		Success json.RawMessage
	}
	if wire.Given(run.Metadata) && rawjson.Unmarshal(run.Metadata, &metadata) != nil {
		return nil, errors.New(`metadata must be {"model": text, "success": true or false}`)
	}
	r.Model = metadata.Model
	r.assemble(messages)
	return r, r.said("metadata.success", metadata.Success)
}
