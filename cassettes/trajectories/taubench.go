package trajectories

import (
	"encoding/json"
	"fmt"

	"github.com/agentbench-go/agentbench/cassettes/trajectories/wire"
	"github.com/agentbench-go/agentbench/internal/rawjson"
)

// tauBench is the output of the benchmark tau-bench: one JSON array of runs, each
// with its OpenAI chat messages in traj and its reward, 1 for success. Errors are
// not marked: only the text of a result shows them.
var tauBench = format{
	name:  "tau-bench",
	looks: `[{"traj": [messages], "reward": 1}, …]`,
	fits:  func(keys map[string]json.RawMessage) bool { return wire.IsArray(keys["traj"]) },
	read:  single(readTauBench),
}

func readTauBench(raw json.RawMessage) (*Trajectory, error) {
	var run struct {
		TaskID json.RawMessage `json:"task_id"`
		Trial  json.RawMessage `json:"trial"`
		Reward json.RawMessage `json:"reward"`
		Traj   json.RawMessage `json:"traj"`
	}
	if err := rawjson.Unmarshal(raw, &run); err != nil {
		return nil, wrongType(err)
	}
	messages, err := readMessages("traj", run.Traj)
	if err != nil {
		return nil, err
	}
	r := &Trajectory{Name: fmt.Sprintf("task=%s,trial=%s", wire.String(run.TaskID), wire.String(run.Trial))}
	if wire.Given(run.TaskID) {
		r.Task = "tau-bench/" + wire.String(run.TaskID)
	}
	r.assemble(messages)
	return r, r.reward("reward", run.Reward)
}
