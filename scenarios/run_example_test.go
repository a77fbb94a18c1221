package scenarios_test

import (
	"context"
	"fmt"

	"github.com/agentbench-go/agentbench/scenarios"
)

// A scenario is played under two variants, and each trial is judged by the label.
// scenarios.Load reads files instead, and the embedded suites if no path is named.
func ExampleRun() {
	scenario, err := scenarios.Parse("my-suite/reads-forever.yaml", `
name: reads-forever
description: the model reads the same file again and again
label: runaway
task: Summarise notes.txt
tools: [{name: read_file, answers: [{result: the same text}]}]
model: [{calls: [{read_file: {path: notes.txt}}], repeat: forever}]
`)
	if err != nil {
		fmt.Println(err)
		return
	}
	var variants []scenarios.Variant
	for _, name := range []string{"hpd-agent", "none"} { // presets, or paths of YAML files
		v, err := scenarios.LoadVariant(name)
		if err != nil {
			fmt.Println(err)
			return
		}
		variants = append(variants, v)
	}
	o := scenarios.Options{Scenarios: []*scenarios.Scenario{scenario}, Variants: variants, Seed: 1}
	err = scenarios.Run(context.Background(), o, func(r *scenarios.Result) error {
		fmt.Println(r.Scenario, "under", r.Variant, r.Verdict, r.Stop, r.Calls)
		return nil
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output:
	// my-suite/reads-forever under hpd-agent pass circuit-breaker 4
	// my-suite/reads-forever under none fail ceiling 1000
}
