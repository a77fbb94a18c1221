package describe

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/loop/detect"
)

// detectors says in one line each what the detectors of a config do.
func detectors(all []detect.Detector) []string {
	if len(all) == 0 {
		return []string{"no detectors"}
	}
	var lines []string
	for i := range all {
		lines = append(lines, "detector "+text.Line(detector(&all[i])))
	}
	return lines
}

// detector says what a detector counts, when it looks and what it does. It leaves out
// the defaults.
func detector(d *detect.Detector) string {
	parts := []string{
		fmt.Sprintf("%s: %s with the same %s", d.Name, recordsOf(d), keyOf(d)),
		matchOf(d),
	}
	add := func(when bool, format string, args ...any) {
		if when {
			parts = append(parts, fmt.Sprintf(format, args...))
		}
	}
	add(d.Within > 0, "each within %s of the one before", text.Duration(d.Within))
	add(d.DistinctArgs > 0, "with at least %d different arguments", d.DistinctArgs)
	add(d.OncePerTurn, "once a turn at most")
	add(d.PriorOnly, "the earlier ones alone")
	add(d.Full, "silent until there are %d", d.Memory)
	add(d.Acts == detect.AfterBatch, "looks after the batch")
	for _, r := range d.Reset {
		anew := "starts anew at " + cmp.Or(resetWords[r], string(r))
		if r == detect.OnResultChange {
			anew += inBrackets(ignoredOf(d))
		}
		parts = append(parts, anew)
	}
	add(d.VetoedAs() == detect.AsSame, "a vetoed call counts as well")
	add(d.VetoedAs() == detect.NotRecorded, "a vetoed call is not there")
	parts = append(parts, rungsOf(d))
	add(d.AfterFiring == detect.Clear, "then the count starts anew")
	return strings.Join(append(parts, undescribed(d)...), "; ")
}

// described lists the keys of a detector that detector has words for.
var described = []string{"name", "record", "tools", "counts", "key", "ignore_args", "error_chars", "order", "match", "ends", "period", "memory",
	"round", "ignore_result", "full", "within", "distinct_args", "once_per_turn", "acts", "prior_only", "reset", "vetoed", "do", "firings", "after_firing"}

// undescribed shows the other keys as they are in a variant, so that a description is
// complete even if detector has no words for a new key.
func undescribed(d *detect.Detector) []string {
	var out []string
	v := reflect.ValueOf(d).Elem()
	for i := range v.NumField() {
		if key := v.Type().Field(i).Tag.Get("yaml"); !v.Field(i).IsZero() && !slices.Contains(described, key) {
			out = append(out, fmt.Sprintf("%s: %v", key, v.Field(i)))
		}
	}
	return out
}

var resetWords = map[detect.Reset]string{
	detect.OnSuccess:      "any success",
	detect.OnToolSuccess:  "a success of the tool",
	detect.OnResultChange: "another result of the call",
	detect.OnUserMessage:  "a user message",
}

// recordsOf says what is counted.
func recordsOf(d *detect.Detector) string {
	what := map[detect.Unit]string{detect.PerTurn: "turns", detect.PerReply: "replies"}[d.Record]
	if what == "" {
		what = "calls"
	}
	var classes []string
	for _, c := range d.Counts {
		if c != detect.All {
			classes = append(classes, string(c))
		}
	}
	if len(classes) > 0 {
		what = text.AnyOf(classes) + " " + what
	}
	if len(d.Tools.Only) > 0 {
		what += " of " + text.AnyOf(d.Tools.Only)
	}
	if len(d.Tools.Except) > 0 {
		what += " but those of " + text.AnyOf(d.Tools.Except)
	}
	return what
}

var partWords = map[detect.Part]string{
	detect.Tool: "tool", detect.Args: "arguments", detect.RawArgs: "arguments as written",
	detect.Result: "result", detect.Error: "error", detect.Text: "text",
}

// keyOf says what makes two records the same.
func keyOf(d *detect.Detector) string {
	key := d.Key
	if len(key) == 0 {
		key = []detect.Part{detect.Tool, detect.Args}
	}
	var names []string
	for _, p := range key {
		name := cmp.Or(partWords[p], string(p))
		switch {
		case p == detect.Args:
			name += inBrackets(argsOf(d))
		case p == detect.Result:
			name += inBrackets(ignoredOf(d))
		case p == detect.Error:
			var cut []string
			if d.ErrorChars > 0 {
				cut = []string{"its first " + text.Count(d.ErrorChars, "character")}
			}
			name += inBrackets(append(ignoredOf(d), cut...))
		}
		names = append(names, name)
	}
	same := names[0]
	if n := len(names) - 1; n > 0 {
		same = strings.Join(names[:n], ", ") + " and " + names[n]
	}
	if d.Order == detect.AnyOrder {
		same += " in any order"
	}
	return same
}

// argsOf says which arguments are left out or rounded.
func argsOf(d *detect.Detector) (parts []string) {
	if len(d.IgnoreArgs) > 0 {
		parts = append(parts, "without "+strings.Join(d.IgnoreArgs, ", "))
	}
	for _, name := range slices.Sorted(maps.Keys(d.Round)) {
		parts = append(parts, fmt.Sprintf("%s cut to a multiple of %d", name, d.Round[name]))
	}
	return parts
}

// ignoredOf says what is left out of results.
func ignoredOf(d *detect.Detector) []string {
	if len(d.IgnoreResult) == 0 {
		return nil
	}
	return []string{"without " + strings.Join(d.IgnoreResult, ", ")}
}

func inBrackets(parts []string) string {
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, "; ") + ")"
}

// matchOf says how records are counted.
func matchOf(d *detect.Detector) string {
	how := ""
	switch d.Match {
	case detect.Cycle:
		from, to := d.Period.Min, d.Period.Max
		if to == 0 {
			from, to = 2, 2
		}
		how = fmt.Sprintf("laps of a cycle of %d", from)
		if to > from {
			how += fmt.Sprintf(" to %d", to)
		}
	case detect.Window:
		how = "in a row or not"
	default:
		how = "in a streak, which " + endsOf(d.Ends) + " ends"
	}
	if d.Memory > 0 {
		how += fmt.Sprintf(", among the last %d", d.Memory)
	}
	return how
}

func endsOf(e detect.Ends) string {
	switch e {
	case detect.EndsNext:
		return "the next one with another key"
	case detect.EndsTool:
		return "another one of the tool"
	case detect.EndsBatch:
		return "the next one with another key, or the end of the batch,"
	case detect.EndsNever:
		return "nothing"
	case detect.EndsTurn, "":
		return "a turn without one"
	}
	return string(e)
}

// rungsOf says at which count it does what.
func rungsOf(d *detect.Detector) string {
	var rungs []string
	for _, r := range d.Do {
		act := string(r.Act)
		if len(d.Firings) > 0 {
			acts := make([]string, len(d.Firings))
			for i, a := range d.Firings {
				acts[i] = string(a)
			}
			act = strings.Join(acts, ", then ")
		}
		rungs = append(rungs, fmt.Sprintf("at %d %s", r.At, act))
	}
	return strings.Join(rungs, ", ")
}
