package trajectories

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/agentbench-go/agentbench/cassettes/trajectories/wire"
	"github.com/agentbench-go/agentbench/internal/rawjson"
)

// tau2 is the output of the benchmark tau2-bench: one JSON object with the
// simulations of an agent, each with its messages and its reward, 1 for success.
// Results say whether they are errors. The simulated user may call tools, too.
var tau2 = format{
	name:  "tau2",
	looks: `{"info": …, "simulations": [{"messages": [messages], "reward_info": {"reward": 1}}, …]}`,
	fits: func(keys map[string]json.RawMessage) bool {
		return wire.IsArray(keys["simulations"]) && wire.IsObject(keys["info"])
	},
	read: readTau2,
}

type tau2Simulation struct {
	TaskID     json.RawMessage `json:"task_id"`
	Trial      json.RawMessage `json:"trial"`
	Messages   json.RawMessage `json:"messages"`
	RewardInfo *struct {
		Reward json.RawMessage `json:"reward"`
	} `json:"reward_info"`
}

func readTau2(raw json.RawMessage) (all []*Trajectory, _ error) {
	var file struct {
		Info struct {
			Agent struct {
				LLM json.RawMessage `json:"llm"`
			} `json:"agent_info"`
		} `json:"info"`
		Simulations []json.RawMessage `json:"simulations"`
	}
	if err := rawjson.Unmarshal(raw, &file); err != nil {
		return nil, wrongType(err)
	}
	if file.Simulations == nil {
		return nil, errors.New("simulations must be an array")
	}
	var broken brokenParts
	for i, raw := range file.Simulations {
		r, err := readTau2Simulation(raw)
		if err != nil {
			broken.add("simulation", i, len(file.Simulations), err)
		}
		if r == nil {
			continue
		}
		r.Model = wire.String(file.Info.Agent.LLM)
		all = append(all, r)
	}
	return all, broken.orNil()
}

func readTau2Simulation(raw json.RawMessage) (*Trajectory, error) {
	var run tau2Simulation
	if err := rawjson.Unmarshal(raw, &run); err != nil {
		return nil, wrongType(err)
	}
	messages, err := readMessages("messages", run.Messages)
	if err != nil {
		return nil, err
	}
	r := &Trajectory{Name: fmt.Sprintf("task=%s,trial=%s", wire.String(run.TaskID), wire.String(run.Trial))}
	if wire.Given(run.TaskID) {
		r.Task = "tau2/" + wire.String(run.TaskID)
	}
	r.assemble(messages)
	if run.RewardInfo == nil {
		return r, nil
	}
	return r, r.reward("reward_info.reward", run.RewardInfo.Reward)
}
