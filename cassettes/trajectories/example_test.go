package trajectories_test

import (
	"context"
	"fmt"
	"slices"

	"github.com/agentbench-go/agentbench/cassettes/trajectories"
	"github.com/agentbench-go/agentbench/scenarios"
)

// What the preset hpd-agent would have done to the runs in a file.
func ExampleReplay() {
	runs, problems := trajectories.Read("testdata/tau-bench.json", "") // "" = the format shows in the file
	for _, p := range problems {
		fmt.Println(p)
	}
	v, err := scenarios.LoadVariant("hpd-agent")
	if err != nil {
		fmt.Println(err)
		return
	}
	err = trajectories.Replay(context.Background(), slices.Values(runs), []scenarios.Variant{v}, 0, func(r *scenarios.Result) error {
		fmt.Println(r.Scenario, r.Label, r.EndState, r.Calls, "calls,", r.Saved, "saved")
		return nil
	})
	if err != nil {
		fmt.Println(err)
	}
	// The runs make 3 calls and 1 call. No rule stops them. The label healthy means that
	// the agent succeeded.

	// Output:
	// testdata/tau-bench.json/task=0,trial=2 healthy DONE 3 calls, 0 saved
	// testdata/tau-bench.json/task=1,trial=0 runaway RECORDING_ENDED 1 calls, 0 saved
}
