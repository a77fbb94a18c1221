package trajectories

import (
	"slices"
	"testing"

	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/loop/detect"
	"github.com/agentbench-go/agentbench/reports"
	"github.com/agentbench-go/agentbench/scenarios"
)

func breakerAt5(ends detect.Ends) loop.Config {
	c := loop.Off()
	c.Detectors = []detect.Detector{{Name: "circuit-breaker", Ends: ends, Do: []detect.Rung{{At: 5, Act: detect.Stop}}}}
	return c
}

// What rules do to real runs, against figures that were counted from the
// trajectories by a script without any loop. A run counts as stopped if the rule
// prevented something recorded: a call, or a later turn. That a call follows
// after the batch that was vetoed is not asked for (with that, the breaker
// would stop 17 failed runs: three have only their answer left).
func TestStopsOfRealRuns(t *testing.T) {
	for _, c := range []struct {
		name, source string
		config       loop.Config
		failed, good reports.GroupReplay
	}{
		// 20 failed and 7 good runs have five identical calls in a row.
		{"breaker, next", "agentdojo", breakerAt5(detect.EndsNext),
			reports.GroupReplay{Runs: 400, Stopped: 20, Calls: 1772, NotRun: 109}, reports.GroupReplay{Runs: 182, Stopped: 7, WentOn: 1, Calls: 622, NotRun: 45}},
		// Run index=104 of the transformers_pi_detector file repeats a batch of two
		// calls in five turns, the fifth of them its last with calls: two more saved.
		{"breaker, turn", "agentdojo", breakerAt5(detect.EndsTurn),
			reports.GroupReplay{Runs: 400, Stopped: 21, Calls: 1772, NotRun: 111}, reports.GroupReplay{Runs: 182, Stopped: 7, WentOn: 1, Calls: 622, NotRun: 45}},
		// 9 sessions have more than ten replies after one user message, 7 failed and
		// 2 good ones; 112 more than ten in all, 79 and 33.
		{"turns, run", "tau-bench", turns(10, loop.ScopeRun),
			reports.GroupReplay{Runs: 116, Stopped: 7, WentOn: 7, Calls: 817, NotRun: 42}, reports.GroupReplay{Runs: 84, Stopped: 2, WentOn: 2, Calls: 347, NotRun: 3}},
		{"turns, session", "tau-bench", turns(10, loop.ScopeSession),
			reports.GroupReplay{Runs: 116, Stopped: 79, WentOn: 70, Calls: 817, NotRun: 316}, reports.GroupReplay{Runs: 84, Stopped: 33, WentOn: 23, Calls: 347, NotRun: 69}},
		{"off", "agentdojo", loop.Off(), reports.GroupReplay{Runs: 400, Calls: 1772}, reports.GroupReplay{Runs: 182, Calls: 622}},
		{"off", "tau-bench", loop.Off(), reports.GroupReplay{Runs: 116, Calls: 817}, reports.GroupReplay{Runs: 84, Calls: 347}},
	} {
		t.Run(c.source+"/"+c.name, func(t *testing.T) {
			trajectories := readReal(t, c.source)
			var fold reports.Fold
			if err := Replay(t.Context(), slices.Values(trajectories), []scenarios.Variant{{Name: c.name, Config: c.config}}, 2, fold.Add); err != nil {
				t.Fatal(err)
			}
			if v := fold.Replay().Variants[0]; v.Failed != c.failed || v.Good != c.good || v.Unlabelled != (reports.GroupReplay{}) {
				t.Errorf("failed %+v, good %+v, unlabelled %+v\nwant   %+v, good %+v", v.Failed, v.Good, v.Unlabelled, c.failed, c.good)
			}
		})
	}
}
