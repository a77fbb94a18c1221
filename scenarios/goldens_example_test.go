package scenarios_test

import (
	"context"
	"fmt"

	"github.com/agentbench-go/agentbench/scenarios"
)

// Run compares each trial with its golden, and a trace that differs fails its
// trial.
func ExampleGoldens() {
	all, err := scenarios.Load("../goldens/testdata/stale")
	if err != nil {
		fmt.Println(err)
	}
	o := scenarios.Options{Scenarios: all, Seed: 1, Goldens: &scenarios.Goldens{}}
	err = scenarios.Run(context.Background(), o, func(r *scenarios.Result) error {
		fmt.Println(r.Scenario, r.Verdict, r.Golden)
		for _, f := range r.Findings {
			fmt.Println(f.Message)
		}
		return nil
	})
	if err != nil {
		fmt.Println(err)
	}

	// If the change is meant, the trace becomes the golden: look at what changes,
	// and write it.
	o.Goldens = &scenarios.Goldens{Update: true}
	if err := scenarios.Run(context.Background(), o, func(*scenarios.Result) error { return nil }); err != nil {
		fmt.Println(err)
	}
	changes, same := o.Goldens.Changes()
	for i := range changes {
		fmt.Print(changes[i].String())
	}
	fmt.Println(same, "as before") // and then o.Goldens.Write()
	// Output:
	// loops/same fail mismatch
	// ../goldens/testdata/stale/goldens/loops/same.hpd-agent.golden:25: the trace differs
	// changed  ../goldens/testdata/stale/goldens/loops/same.hpd-agent.golden:25: the trace differs
	//   expected            > call c4#1 name=read_file args=`{"path":"other.txt"}`
	//   got                 > call c4#1 name=read_file args=`{"path":"notes.txt"}`
	// 0 as before
}

// A shelf holds every golden of a folder of scenarios, those that belong to no
// scenario included: a whole check in a Go test.
func ExampleGoldens_Open() {
	g := &scenarios.Goldens{Expected: true}
	shelf, err := g.Open(scenarios.Selection{Paths: []string{"../goldens/testdata/stale"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	checks, brokeOff, err := shelf.Check(context.Background())
	if err != nil {
		fmt.Println(err)
	}
	for _, c := range checks {
		fmt.Println(c.Word, c.Path)
	}
	fmt.Println(len(brokeOff), "broke off,", len(shelf.Orphans), "orphans,", len(shelf.Broken), "broken")
	// Output:
	// mismatch ../goldens/testdata/stale/goldens/loops/same.hpd-agent.golden
	// 0 broke off, 0 orphans, 0 broken
}
