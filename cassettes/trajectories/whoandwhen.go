package trajectories

import (
	"encoding/json"
	"errors"

	"github.com/agentbench-go/agentbench/cassettes/trajectories/wire"
)

// whoAndWhen is the data set Who&When: what the agents of a team said to each other. No
// call is recorded, so there is nothing that a limit could be asked about.
var whoAndWhen = format{
	name:  "who-and-when",
	looks: `{"history": [{"content": …, "role": …}, …], "mistake_agent": …}`,
	fits: func(keys map[string]json.RawMessage) bool {
		return wire.IsArray(keys["history"]) && (keys["mistake_agent"] != nil || keys["mistake_step"] != nil)
	},
	read: func(json.RawMessage) ([]*Trajectory, error) {
		return nil, nothing{errors.New("its agents talk to each other, and no call is recorded")}
	},
}

// nothing says why a record holds nothing to replay, which is not an error.
type nothing struct{ error }
