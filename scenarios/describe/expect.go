package describe

import (
	"fmt"
	"strings"

	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/scenarios"
)

// expected says what must be true of the trial, or in a line each of its runs.
func expected(s *scenarios.Scenario) []string {
	finishes := "finishes"
	if s.Label == scenarios.Runaway {
		finishes = "is stopped by a rule"
	}
	if s.Runs == nil {
		return []string{expect(&s.Expect, finishes)}
	}
	var lines []string
	named := true
	for i := range s.Runs {
		e := &s.Runs[i]
		named = named && (e.EndState != "" || e.Stop != "")
		lines = append(lines, fmt.Sprintf("run %d: %s", i+1, expect(e, "")))
	}
	if !named {
		lines = append(lines, "the session "+finishes)
	}
	return lines
}

// expect says what must be true of a session or a run; end is how it ends if e does
// not say so.
func expect(e *scenarios.Expect, end string) string {
	switch {
	case e.EndState != "":
		end = "ends " + string(e.EndState)
	case e.Stop != "":
		end = "ends"
	}
	if e.Stop != "" {
		end += " by the stop " + string(e.Stop)
	}
	var parts []string
	if end != "" {
		parts = []string{end}
	}
	for _, bound := range []struct {
		r    *scenarios.Range
		noun string
	}{{e.Turns, "turn"}, {e.ModelCalls, "model request"}, {e.Calls, "executed call"}, {e.Tries, "try"}, {e.Errors, "failed call"},
		{e.Vetoed, "vetoed call"}, {e.Nudges, "nudge"}, {e.Denied, "denied call"}, {e.Invalid, "invalid call"}, {e.SubRuns, "sub-run"}} {
		if bound.r != nil {
			parts = append(parts, between(*bound.r, bound.noun))
		}
	}
	if t := e.Time; t != nil {
		span := t.Min.String()
		if t.Max != t.Min {
			span += " to " + t.Max.String()
		}
		parts = append(parts, "in "+span)
	}
	for _, stop := range e.SubStops {
		parts = append(parts, "a sub-run that ends by the stop "+text.Line(stop))
	}
	for _, event := range e.Must {
		parts = append(parts, "with the event "+event)
	}
	for _, event := range e.MustNot {
		parts = append(parts, "without the event "+event)
	}
	if len(parts) == 0 {
		return "as it may"
	}
	return strings.Join(parts, ", ")
}

// between writes a number or a range of what is counted.
func between(r scenarios.Range, noun string) string {
	if r.Min == r.Max {
		return text.Count(r.Min, noun)
	}
	return fmt.Sprintf("%d to %s", r.Min, text.Count(r.Max, noun))
}
