// Package describe says in English what a scenario and its parts do, and how a config
// differs from another, a line for each thing. Texts of scenarios, tools and models
// pass through [text.Line] or [text.Quote].
package describe

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/scenarios"
)

// Scenario writes what a scenario does: the user, the tools, the model, faults,
// what it changes in the variant that it is meant for, and what it expects.
func Scenario(b *strings.Builder, s *scenarios.Scenario) {
	fmt.Fprintf(b, "%s: %s, meant for %s\n%s\n", text.Line(s.ID()), s.Label, text.Line(s.Variant.Name), text.Line(s.Description))
	if s.Source != "" {
		fmt.Fprintf(b, "source: %s\n", text.Line(s.Source))
	}
	if s.HeldBack {
		b.WriteString("held back: no setting is chosen by looking at it\n")
	}
	Section(b, "The user", User(&s.Script))
	Section(b, "The answer must keep", constraints(s.Script.Constraints))
	Section(b, "The tools", Tools(s.Script.Tools))
	if s.Cassette != "" {
		Section(b, "The model", []string{"says what is recorded in " + text.Line(s.Cassette)})
	}
	Section(b, "The model", window(s.Script.Window, Model(s.Script.Model)))
	Section(b, "The hooks", Hooks(&s.Script.Hooks))
	Section(b, "Faults", faults(s.Script.Faults))
	Section(b, "Changes to "+text.Line(s.Variant.Name), Changes(s.Variant.Config, s.Config))
	Section(b, "Expected", expected(s))
}

// Section writes a title and a line for each of lines, or nothing without lines.
func Section(b *strings.Builder, title string, lines []string) {
	if len(lines) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s\n", title)
	for _, l := range lines {
		fmt.Fprintf(b, "  %s\n", l)
	}
}

// quote quotes a text of a scenario, and says how long it is if it is cut.
func quote(s string) string {
	const most = 120
	if n := utf8.RuneCountInString(s); n > most {
		return text.Quote(s, most) + " (" + text.Count(n, "character") + ")"
	}
	return text.Quote(s, most)
}

// User says what the user asks, when they answer and when they give up.
func User(s *fakes.Script) []string {
	lines := []string{"asks: " + quote(s.Task)}
	for _, m := range s.User.Messages {
		line := "then, when that is done"
		switch {
		case m.At > 0:
			line = "at " + m.At.String() + ", if a run is under way"
		case m.AfterAny:
			line = "then, however that ends"
		}
		if m.Wait > 0 {
			line += " and " + m.Wait.String() + " later"
		}
		lines = append(lines, line+": "+quote(m.Text))
	}
	for _, p := range s.User.Permissions {
		lines = append(lines, permission(&p))
	}
	switch c := s.User.Cancel; {
	case c == nil:
	case c.Call > 0:
		lines = append(lines, fmt.Sprintf("gives up as soon as call %d has started", c.Call))
	default:
		lines = append(lines, "gives up at "+c.At.String())
	}
	return lines
}

// permission says how the user answers a request for permission.
func permission(p *fakes.PermissionAnswer) string {
	line := "asked about " + cmp.Or(text.Line(p.Tool), "any tool") + matching(p.When) + times(p.Times) + ": "
	switch {
	case p.Hang:
		return line + "never answers"
	case p.Deny:
		line += "denies"
	default:
		line += "allows"
	}
	if p.Text != "" {
		line += ", saying " + quote(p.Text)
	}
	return line + after(p.After)
}

// Hooks says what the host does before and after calls.
func Hooks(h *fakes.Hooks) []string {
	var lines []string
	for _, b := range h.BeforeCall {
		line := "before a call of " + cmp.Or(text.Line(b.Tool), "any tool") + matching(b.When) + times(b.Times) + ": "
		switch {
		case b.Args != "":
			line += "changes the arguments to " + quote(b.Args)
		case b.End != "":
			line += "ends the run, saying " + quote(b.End)
		default:
			line += "vetoes it, saying " + quote(b.Veto)
		}
		lines = append(lines, line)
	}
	for _, a := range h.AfterCall {
		lines = append(lines, "after a call of "+cmp.Or(text.Line(a.Tool), "any tool")+times(a.Times)+": changes the result to "+quote(a.Result))
	}
	return lines
}

func faults(faults []fakes.Fault) []string {
	var lines []string
	for _, f := range faults {
		lines = append(lines, f.String())
	}
	return lines
}

// matching writes the arguments that a call must have: " with path="a"".
func matching(when map[string]any) string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(when)) {
		value, err := json.Marshal(when[k])
		if err != nil {
			value = []byte("?") // not JSON: it matches nothing
		}
		parts = append(parts, text.Line(k)+"="+text.Cut(text.Line(string(value)), 80))
	}
	if len(parts) == 0 {
		return ""
	}
	return " with " + strings.Join(parts, " and ")
}

// times writes how often something happens, "" for zero.
func times(n int) string {
	switch n {
	case 0:
		return ""
	case 1:
		return " (once)"
	}
	return fmt.Sprintf(" (%d times)", n)
}

// after writes a latency: " after 1s to 2s", "" for the zero Span.
func after(s fakes.Span) string {
	switch {
	case s == fakes.Span{}:
		return ""
	case s.Max > s.Min:
		return " after " + s.Min.String() + " to " + s.Max.String()
	}
	return " after " + s.Min.String()
}

// but writes the failures that come before a success.
func but(failures []string) string {
	if len(failures) == 0 {
		return ""
	}
	return "; but " + strings.Join(failures, ", ")
}

// window adds the context window of the model to what it says.
func window(tokens int, model []string) []string {
	if tokens == 0 {
		return model
	}
	return append([]string{"refuses requests of more than " + text.Number(tokens) + " tokens, with status 400"}, model...)
}

// constraints says what each constraint asks of an answer.
func constraints(all []loop.Constraint) (lines []string) {
	for _, c := range all {
		var rules []string
		if c.Called != "" {
			rule := text.Line(c.Called) + " has succeeded"
			if c.With != "" {
				rule += " with arguments that match " + quote(c.With)
			}
			if c.After != "" {
				rule += " since the last call of " + text.Line(c.After)
			}
			rules = append(rules, rule)
		}
		if c.Says != "" {
			rules = append(rules, "it matches "+quote(c.Says))
		}
		if c.Omits != "" {
			rules = append(rules, "it does not match "+quote(c.Omits))
		}
		lines = append(lines, quote(c.Text)+": "+strings.Join(rules, ", and "))
	}
	return lines
}
