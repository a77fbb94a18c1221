package reports

import (
	"fmt"
	"strings"
	"testing"

	"github.com/agentbench-go/agentbench/scenarios"
)

// flaky is a healthy scenario whose model goes in circles in 3 trials of 10.
const flaky = `name: NAME
description: a model that goes in circles now and then
label: healthy
task: Work.
tools: [{name: t, description: T, answers: [{result: ok}]}]
model:
  - {state: a, calls: [{t: {n: "${turn}"}}], next: {ok: 0.7, bad: 0.3}}
  - {state: ok, text: Done., next: {ok: 1}}
  - {state: bad, calls: [{t: {n: 0}}], next: {bad: 1}}
`

// Of gates between two runs of one loop, with other seeds, at most 5 of 100 fail: here
// 200 pairs of runs of ten copies of a flaky scenario, with one seed and with five each.
func TestGateOfFlakyCopies(t *testing.T) {
	if testing.Short() {
		t.Skip("it plays 24,000 trials")
	}
	var copies []*scenarios.Scenario
	for i := range 10 {
		name := fmt.Sprintf("flaky-%d", i)
		s, err := scenarios.Parse(name+".yaml", strings.Replace(flaky, "NAME", name, 1))
		if err != nil {
			t.Fatal(err)
		}
		copies = append(copies, s)
	}
	run := func(seed uint64, seeds int) (f *Fold, failed int) {
		f = &Fold{}
		err := scenarios.Run(t.Context(), scenarios.Options{Scenarios: copies, Seed: seed, Seeds: seeds}, func(r *scenarios.Result) error {
			if r.Verdict == scenarios.Fail {
				failed++
			}
			return f.Add(r)
		})
		if err != nil {
			t.Fatal(err)
		}
		return f, failed
	}
	for _, seeds := range []int{1, 5} {
		fails, failed := 0, 0
		for pair := range 200 {
			base, _ := run(uint64(1+2*pair*seeds), seeds)
			now, n := run(uint64(1+(2*pair+1)*seeds), seeds)
			failed += n
			if DefaultLimits().Judge(now, base, nil).Verdict == scenarios.Fail {
				fails++
			}
		}
		if fails > 10 {
			t.Errorf("%d of 200 gates between equal loops fail with %d seeds, want at most 10", fails, seeds)
		}
		// 200·10·seeds trials that fail by chance 3/10: four standard errors, √(n·.21).
		if n, off := float64(2000*seeds), float64(failed)-float64(600*seeds); off*off > 16*n*.21 {
			t.Errorf("%d of %g trials fail, want about 3 of 10", failed, n)
		}
	}
}
