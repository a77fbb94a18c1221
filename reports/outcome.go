package reports

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/reports/stats"
	"github.com/agentbench-go/agentbench/scenarios"
)

// ended maps the end states that are not a stop by the loop to their cause for a
// survival curve. A run that finished can no longer be stopped; the others are
// censored.
var ended = map[loop.EndState]int{
	loop.Done:           finished,
	loop.ClarifyNeeded:  finished,
	loop.Ceiling:        stats.Censored,
	loop.RecordingEnded: stats.Censored,
	loop.Hung:           stats.Censored,
	loop.WasCancelled:   stats.Censored,
}

// finished is the cause of runs that finished, which competes with being stopped.
const finished = stats.Event + 1

// stops are the end states that are a stop by the loop, or by a foreign agent.
var stops = []loop.EndState{loop.BudgetExceeded, loop.LoopDetected, loop.ErrorLimit, loop.UnrecoverableToolContract, loop.ModelFailed, loop.StoppedByAgent}

// checkEndState refuses a word that is not an end state. The empty word means a session
// that broke off.
func checkEndState(s loop.EndState) error {
	if _, ok := ended[s]; ok || s == "" || slices.Contains(stops, s) {
		return nil
	}
	words := make([]string, 0, len(ended)+len(stops))
	for _, e := range stops {
		words = append(words, string(e))
	}
	for e := range ended {
		words = append(words, string(e))
	}
	slices.Sort(words)
	return fmt.Errorf("end_state must be one of %s, not %q", strings.Join(words, ", "), text.Cut(text.Line(string(s)), 40))
}

// checkCounts refuses negative counts.
func checkCounts(r *scenarios.Result) error {
	for _, c := range []struct {
		key   string
		value float64
	}{
		{"asked", float64(r.Asked)}, {"calls", float64(r.Calls)}, {"tries", float64(r.Tries)}, {"schema_ok", float64(r.SchemaOK)},
		{"repairs", float64(r.Repairs)}, {"repairs_ok", float64(r.RepairsOK)}, {"virtual_ms", float64(r.VirtualMS)},
		{"sub_runs", float64(r.SubRuns)}, {"sub_nudges", float64(r.SubNudges)}, {"tokens_in", float64(r.TokensIn)}, {"tokens_out", float64(r.TokensOut)}, {"cost_usd", r.CostUSD},
	} {
		if c.value < 0 {
			return fmt.Errorf("%s must be 0 or more, not %g", c.key, c.value)
		}
	}
	return nil
}

// wasStopped reports whether the loop stopped the run.
func wasStopped(r *scenarios.Result) bool { return slices.Contains(stops, r.EndState) }

// wasCaught reports whether a runaway was stopped, or finished after a nudge, a veto or a
// last word, or after a rule had stopped a sub-run.
func wasCaught(r *scenarios.Result) bool {
	return wasStopped(r) || ended[r.EndState] == finished && (r.Nudges+r.Vetoed+r.Refused+r.SubNudges > 0 || r.LastWord || subStopped(r))
}

// subStopped reports whether a rule stopped a sub-run.
func subStopped(r *scenarios.Result) bool {
	for stop, n := range r.SubStops {
		if n > 0 && slices.Contains(stops, loop.Stop(stop).EndState()) {
			return true
		}
	}
	return false
}

// wasHarmed reports whether a healthy run was stopped or interfered with.
func wasHarmed(r *scenarios.Result) bool {
	return r.Label == scenarios.Healthy && wasStopped(r) || r.Interfered()
}

// harm returns when and how a trial ended for the curve of harm, whose event is the stop
// or the first refused call.
func harm(r *scenarios.Result) end {
	e := end{asked(r), cause(r)}
	if r.Label == scenarios.Healthy && r.Refused > r.RefusedOwn && r.EndState != loop.WasCancelled {
		e = end{min(e.asked, r.RefusedAt), stats.Event}
	}
	return e
}

// cause returns the cause of a trial's end, for a survival curve.
func cause(r *scenarios.Result) int {
	if wasStopped(r) {
		return stats.Event
	}
	return ended[r.EndState]
}

// unclear reports whether a trial could not be judged. A healthy run that was interfered
// with is judged although its script ran dry or a fault never fired, since the refused
// call may be the reason. To leave it out would flatter the variant that refused it.
func unclear(r *scenarios.Result) bool {
	if r.Verdict != scenarios.Inconclusive && r.EndState != "" {
		return false
	}
	other := func(f scenarios.Finding) bool { return f.Rule != "ran-dry" && f.Rule != "not-fired" }
	return !r.Interfered() || len(r.Findings) == 0 || slices.ContainsFunc(r.Findings, other)
}

// asked returns how many calls a run asked for. Results that other programs write may
// have only the number of executed calls.
func asked(r *scenarios.Result) int { return cmp.Or(r.Asked, r.Calls) }

// worse returns the worse of two verdicts: fail beats inconclusive, which beats pass,
// which beats unjudged.
func worse(a, b scenarios.Verdict) scenarios.Verdict {
	if rank(b) > rank(a) {
		return b
	}
	return a
}

func rank(v scenarios.Verdict) int {
	return slices.Index([]scenarios.Verdict{"", scenarios.Unjudged, scenarios.Pass, scenarios.Inconclusive, scenarios.Fail}, v)
}

// labels are the labels in the order of reports.
var labels = []scenarios.Label{scenarios.Healthy, scenarios.Runaway, ""}

// suiteOf returns the suite of a result. If the result does not name it, that is the
// first part of its scenario's name.
func suiteOf(r *scenarios.Result) string {
	before, _, found := strings.Cut(r.Scenario, "/")
	if !found {
		before = ""
	}
	return cmp.Or(r.Suite, before)
}
