// Package scenarios holds the scenario language, the embedded suites and
// safety presets, and what runs and judges them: [Load] reads files into
// [Scenario]s, [Run] plays each under each [Variant] and seed and yields
// [Result]s.
package scenarios
