package reports

import (
	"context"
	"slices"
	"testing"

	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/scenarios"
)

// What a rate takes for caught or stopped is what a trial is judged by: under
// another variant than its own a trial has a finding on its label exactly where
// it counts against the variant. Presets with nudges and vetoes are among them.
func TestRatesAgreeWithVerdicts(t *testing.T) {
	all, err := scenarios.Load()
	if err != nil {
		t.Fatal(err)
	}
	chosen, err := scenarios.Select(all, []string{"healthy", "limits", "recovery", "stuck-loops"}, "")
	if err != nil {
		t.Fatal(err)
	}
	o := scenarios.Options{Scenarios: chosen, Seed: 1}
	for _, name := range []string{"goose", "microbot", "framework-spec", "gemini-cli-2026"} {
		v, err := scenarios.LoadVariant(name)
		if err != nil {
			t.Fatal(err)
		}
		o.Variants = append(o.Variants, v)
	}
	own := map[string]string{}
	for _, s := range all {
		own[s.ID()] = s.Variant.Name
	}
	caught, interfered := 0, 0
	err = scenarios.Run(context.Background(), o, func(r *scenarios.Result) error {
		if unclear(r) || own[r.Scenario] == r.Variant || r.EndState == loop.WasCancelled {
			return nil
		}
		against := slices.ContainsFunc(r.Findings, func(f scenarios.Finding) bool { return f.Rule == "label" })
		// A healthy run that nothing stopped, and that went on to the ceiling, was
		// judged as one that did not finish; no variant stopped it.
		if r.Label == scenarios.Healthy && !wasStopped(r) && r.EndState != loop.Done && r.EndState != loop.ClarifyNeeded {
			against = false
		}
		// A healthy run that was interfered with passes its label, and speaks against the
		// variant all the same.
		if r.Interfered() {
			interfered++
			against = true
		}
		if isBad(r) != against {
			t.Errorf("%s under %s: ended %s, %d nudges, %d vetoed: counted against it %t, judged %t", r.Scenario, r.Variant, Ending(r), r.Nudges, r.Vetoed, isBad(r), against)
		}
		if r.Label == scenarios.Runaway && wasCaught(r) {
			caught++
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if caught < 30 || interfered < 5 {
		t.Errorf("%d caught, %d interfered with: this test sees too little", caught, interfered)
	}
}
