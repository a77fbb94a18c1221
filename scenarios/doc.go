// Package scenarios holds the scenario language, the embedded suites and safety
// presets, and runs and judges them. [Load] reads files into [Scenario]s. [Run] plays
// each one under each [Variant] and seed, and passes on the [Result]s.
package scenarios
