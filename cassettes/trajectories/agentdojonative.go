package trajectories

import (
	"cmp"
	"encoding/json"

	"github.com/agentbench-go/agentbench/cassettes/trajectories/wire"
	"github.com/agentbench-go/agentbench/internal/rawjson"
)

// agentDojoNative is the benchmark AgentDojo's own log: a JSON object a run, whose
// contents are lists of parts, whose calls name their function in a string and
// whose errors have a field of their own. utility says whether the user's task was
// solved, whatever became of an injected attack.
var agentDojoNative = format{
	name:  "agentdojo-native",
	looks: `{"suite_name": …, "pipeline_name": …, "messages": [messages], "evaluation": {"utility": true}}`,
	fits: func(keys map[string]json.RawMessage) bool {
		return wire.IsArray(keys["messages"]) && keys["suite_name"] != nil && keys["pipeline_name"] != nil
	},
	read: single(readAgentDojoNative),
}

func readAgentDojoNative(raw json.RawMessage) (*Trajectory, error) {
	var run struct {
		RunID      json.RawMessage `json:"run_id"`
		Pipeline   json.RawMessage `json:"pipeline_name"`
		Messages   json.RawMessage `json:"messages"`
		Utility    json.RawMessage `json:"utility"`
		Evaluation struct {
			Utility json.RawMessage `json:"utility"`
		} `json:"evaluation"`
	}
	if err := rawjson.Unmarshal(raw, &run); err != nil {
		return nil, wrongType(err)
	}
	messages, err := readMessages("messages", run.Messages)
	if err != nil {
		return nil, err
	}
	r := &Trajectory{Name: wire.String(run.RunID), Model: wire.String(run.Pipeline)}
	r.assemble(messages)
	return r, cmp.Or(r.said("utility", run.Utility), r.said("evaluation.utility", run.Evaluation.Utility))
}
