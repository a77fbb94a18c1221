package loop

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// systemPrompt returns the system prompt of the next request: the task's own, then
// the constraints, the safety text and the planner's part if the task asks for them.
func (m *Machine) systemPrompt() string {
	if !m.task.SafetyPrompt && m.task.Planner != PlannerJSON && len(m.task.Constraints) == 0 {
		return m.task.System
	}
	parts := []string{m.task.System}
	if len(m.task.Constraints) > 0 {
		var b strings.Builder
		for i := range m.task.Constraints {
			fmt.Fprintf(&b, "- %s\n", m.task.Constraints[i].Text)
		}
		parts = append(parts, promptConstraints+b.String())
	}
	if m.task.SafetyPrompt {
		parts = append(parts, m.safetyPrompt())
	}
	if m.task.Planner == PlannerJSON {
		parts = append(parts, m.plannerPrompt())
	}
	return strings.TrimSpace(strings.Join(parts, "\n\n"))
}

// safetyPrompt returns the safety text with the tools and the limits. It leaves out
// a limit that is off.
func (m *Machine) safetyPrompt() string {
	var b strings.Builder
	b.WriteString(promptSafety)
	b.WriteString("\n## Available Tools\n")
	m.writeTools(&b, false)
	b.WriteString("\n## Execution Limits\n")
	limit := func(format string, n int) {
		if n > 0 {
			fmt.Fprintf(&b, format, n)
		}
	}
	limit("- Maximum iterations per request: %d\n", m.cfg.Limits.Turns)
	limit("- Maximum function calls asked for: %d\n", m.cfg.Limits.Asked)
	limit("- Maximum function calls: %d\n", m.cfg.Limits.Calls)
	if d := m.cfg.Time.Run; d > 0 {
		fmt.Fprintf(&b, "- Request timeout: %ss\n", seconds(d))
	}
	b.WriteString(promptConduct)
	return b.String()
}

// writeTools writes a line for each tool, with schemas also one for its arguments.
func (m *Machine) writeTools(b *strings.Builder, schemas bool) {
	if len(m.names) == 0 {
		b.WriteString("- none\n")
	}
	for _, name := range m.names {
		fmt.Fprintf(b, "- %s", name)
		if d := m.tools[name].Description; d != "" {
			fmt.Fprintf(b, ": %s", capText(d, maxSummary))
		}
		b.WriteByte('\n')
		var schema bytes.Buffer
		if schemas && json.Compact(&schema, []byte(m.tools[name].Input)) == nil {
			fmt.Fprintf(b, "  args: %s\n", schema.Bytes())
		}
	}
}

// The number of past observations and decisions that a planner's prompt shows.
const (
	promptObservations = 5
	promptDecisions    = 20
)

// plannerPrompt returns the planner's part of the system prompt: the actions, what
// to do after a failure, the forms of an action and of an observation, the tools with
// the schemas of their arguments, the budget left, the last observations and the last
// decisions. It takes the place of the API's own list of tools, with which a model
// would answer by calls instead of actions.
func (m *Machine) plannerPrompt() string {
	var b strings.Builder
	fmt.Fprintf(&b, promptPlanner, m.cfg.Retry.Max)
	b.WriteString("\nTools:\n")
	m.writeTools(&b, true)
	b.WriteString("\nBudget left:\n")
	left := func(name string, limit, spent int) {
		if limit > 0 {
			fmt.Fprintf(&b, "- %s: %d of %d\n", name, max(0, limit-spent), limit)
		}
	}
	left("turns", m.adapted(m.cfg.Limits.Turns), m.spent.turns)
	left("calls asked for", m.cfg.Limits.Asked, m.spent.asked)
	left("calls", m.adapted(m.cfg.Limits.Calls), m.spent.calls)
	if m.deadline != never {
		fmt.Fprintf(&b, "- time: %ss of %ss\n", seconds(m.deadline-m.now), seconds(m.cfg.Time.Run))
	}
	writeLast(&b, "\nLast observations:\n", m.observations, promptObservations, Observation.String)
	writeLast(&b, "\nDecisions so far:\n", m.decisions, promptDecisions, func(s string) string { return s })
	return b.String()
}

// writeLast writes a title and the last n of all, or nothing if there are none.
func writeLast[T any](b *strings.Builder, title string, all []T, n int, text func(T) string) {
	if len(all) == 0 {
		return
	}
	b.WriteString(title)
	for _, one := range all[max(0, len(all)-n):] {
		fmt.Fprintf(b, "- %s\n", text(one))
	}
}

// capText cuts a text to n characters and marks the cut.
func capText(text string, n int) string {
	if short, total := cutText(text, n); total > 0 {
		return short + "…"
	}
	return text
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
