package fuzz

import (
	"fmt"
	"strings"

	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/scenarios/describe"
)

// Explain writes which invariant a case broke, the command that generates the case
// again, the file where it is saved (unless saved is ""), and the shrunk case with
// its trace.
func (v *Checked) Explain(b *strings.Builder, small *Case, repeat, saved string) {
	fmt.Fprintf(b, "FAIL %s: %s\n", v.Violation.Invariant, text.Line(v.Violation.Problem))
	fmt.Fprintf(b, "  repeat: %s\n", repeat)
	if saved != "" {
		fmt.Fprintf(b, "  saved: %s\n", text.Line(saved))
	}
	now := Check(small)
	fmt.Fprintf(b, "  made small: %v", small.Size())
	if now.Violation != nil && now.Violation.Invariant == v.Violation.Invariant && now.Violation.Problem != v.Violation.Problem {
		fmt.Fprintf(b, ": %s", text.Line(now.Violation.Problem))
	}
	b.WriteByte('\n')
	small.Describe(b)
	fmt.Fprintf(b, "\nThe trace\n%s", text.Lines(traceEnd(small.Trace())))
}

// traceEnd returns the text of a trace, or its last 40 lines.
func traceEnd(t loop.Trace) string {
	const most = 40
	lines := strings.SplitAfter(t.String(), "\n")
	if len(lines) <= most+1 {
		return strings.Join(lines, "")
	}
	return "…\n" + strings.Join(lines[len(lines)-most-1:], "")
}

// AttackNames lists the attacks of a case, or says that it has none.
func (c *Case) AttackNames() string {
	if len(c.Attacks) == 0 {
		return "no attack"
	}
	names := make([]string, len(c.Attacks))
	for i, a := range c.Attacks {
		names[i] = string(a)
	}
	return strings.Join(names, ", ")
}

// Describe writes the parts of a case: the user, the tools, the model, the settings
// of the config, and the parts that a scenario cannot express.
func (c *Case) Describe(b *strings.Builder) {
	describe.Section(b, "The user", describe.User(c.Script))
	describe.Section(b, "The tools", describe.Tools(c.Script.Tools))
	describe.Section(b, "The model", describe.Model(c.Script.Model))
	describe.Section(b, "The hooks", describe.Hooks(&c.Script.Hooks))
	describe.Section(b, "The config", c.Settings())
	describe.Section(b, "Also", c.Unsaid())
}
