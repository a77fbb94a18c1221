package probe

import (
	"slices"

	"github.com/agentbench-go/agentbench/scenarios"
)

// The scenarios of a probe that names none are those that say the most. Runaways have
// near misses beside them: healthy work that a net which is too tight stops.
var (
	// shortSet are those for which any tool will do.
	shortSet = []string{
		"stuck-loops/same-call-forever", "stuck-loops/reordered-arguments", "stuck-loops/ring-of-four", "stuck-loops/offset-past-the-end",
		"stuck-loops/must-always-call", "limits/always-new-always-ok", "parallel-spam/fan-out-forever", "error-spirals/unknown-tool-forever",
		"error-spirals/broken-json-forever", "error-spirals/rate-limited-forever", "protocol/nothing-but-empty-replies", "protocol/answer-cut-forever",
		"healthy/only-an-answer", "healthy/four-alike-then-another", "healthy/read-the-same-file-later", "healthy/four-checks", "healthy/fifty-files",
		"healthy/two-laps-and-the-answer", "healthy/twelve-files-attached", "protocol/broken-json-once", "protocol/one-blank-reply",
		"recovery/rate-limited-twice", "recovery/connection-lost", "recovery/stream-cut-and-503",
	}
	// shortScripted are more, with the script's own answers.
	shortScripted = []string{
		"error-spirals/missing-file-forever", "error-spirals/another-id-each-time", "stuck-loops/status-never-changes",
		"healthy/paging", "healthy/polls-until-done", "recovery/another-way-after-a-failure",
	}
)

// Short returns the short set of the embedded scenarios: about as many runaways as
// healthy runs.
func Short(all []*scenarios.Scenario, own *Tool) []*scenarios.Scenario {
	var out []*scenarios.Scenario
	names := shortSet
	if own == nil {
		names = append(slices.Clone(names), shortScripted...)
	}
	for _, s := range all {
		if slices.Contains(names, s.ID()) && NotAsked(s, own) == "" {
			out = append(out, s)
		}
	}
	return out
}
