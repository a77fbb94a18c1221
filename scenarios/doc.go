// Package scenarios holds the scenario language, the embedded suites and safety
// presets, and runs and judges them. [Load] reads files into [Scenario]s. [Run] plays
// each one under each [Variant] and seed, and passes on the [Result]s.
//
//	all, err := scenarios.Load("my-scenarios") // without a path: the embedded suites
//	…
//	err = scenarios.Run(ctx, scenarios.Options{Scenarios: all, Seed: 1}, func(r *scenarios.Result) error {
//		fmt.Println(r.Scenario, r.Verdict, r.Stop, r.Findings)
//		return nil
//	})
package scenarios
