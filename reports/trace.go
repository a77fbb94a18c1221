package reports

import (
	"slices"
	"strings"

	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/scenarios"
)

// keptTrace returns the trace of a result for people, with a line where the middle was
// left out of the file.
func keptTrace(r *scenarios.Result) string {
	trace := text.Lines(strings.TrimSuffix(r.Trace, "\n") + "\n")
	if r.TraceCut == nil {
		return trace
	}
	lines := slices.Collect(strings.Lines(trace))
	at := min(max(0, r.TraceCut.Line-1), len(lines))
	cut := "… " + text.Count(r.TraceCut.Steps, "step") + " not kept: the command that repeats the trial shows all\n"
	return strings.Join(slices.Insert(lines, at, cut), "")
}

// middleOut leaves the middle out of a text of more than so many lines (0 = any number),
// and says how many lines, and with what all are shown.
func middleOut(s string, most int, hint string) string {
	lines := slices.Collect(strings.Lines(s))
	if most == 0 || len(lines) <= most {
		return s
	}
	head := most / 2
	tail := most - head
	return strings.Join(lines[:head], "") + "… " + text.Count(len(lines)-most, "line") + " left out; " + hint + "\n" + strings.Join(lines[len(lines)-tail:], "")
}
