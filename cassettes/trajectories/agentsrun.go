package trajectories

import (
	"encoding/json"

	"github.com/agentbench-go/agentbench/cassettes/trajectories/wire"
)

// agentsRun is the state of a run of the OpenAI Agents SDK, as RunState.to_json writes
// it. The same item may stand in it several times and is read once.
var agentsRun = format{
	name:  "openai-agents-run",
	looks: `{"original_input": …, "generated_items": [{"raw_item": …}, …], "model_responses": […]}`,
	fits: func(keys map[string]json.RawMessage) bool {
		return keys["original_input"] != nil && (keys["generated_items"] != nil || keys["model_responses"] != nil)
	},
	read: single(func(raw json.RawMessage) (*Trajectory, error) {
		items, ok := wire.RunItems(raw)
		if !ok {
			return nil, missing("original_input and generated_items")
		}
		list, _ := json.Marshal(items)
		r := &Trajectory{}
		return r, r.readLog("items", list, nil)
	}),
}
