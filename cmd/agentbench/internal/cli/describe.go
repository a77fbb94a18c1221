package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/scenarios"
)

// describe says in words what a scenario does.
func describe(b *strings.Builder, s *scenarios.Scenario) {
	fmt.Fprintf(b, "%s: %s, meant for %s\n%s\n", s.ID(), s.Label, text.Line(s.Variant.Name), text.Line(s.Description))
	if s.Source != "" {
		fmt.Fprintf(b, "source: %s\n", text.Line(s.Source))
	}
	section(b, "The user", describeUser(&s.Script))
	section(b, "The tools", describeTools(s.Script.Tools))
	if s.Cassette != "" {
		section(b, "The model", []string{"says what is recorded in " + text.Line(s.Cassette)})
	}
	section(b, "The model", describeModel(s.Script.Model))
	section(b, "Faults", describeFaults(s.Script.Faults))
	section(b, "Changes to "+text.Line(s.Variant.Name), changes(s.Variant.Config, s.Config))
	section(b, "Expected", describeExpected(s))
}

func section(b *strings.Builder, title string, lines []string) {
	if len(lines) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s\n", title)
	for _, l := range lines {
		fmt.Fprintf(b, "  %s\n", l)
	}
}

// quote shows a text of a scenario, on one line and cut to what one reads at a
// glance.
func quote(s string) string {
	const most = 120
	if n := utf8.RuneCountInString(s); n > most {
		return text.Quote(s, most) + " (" + text.Count(n, "character") + ")"
	}
	return text.Quote(s, most)
}

func describeUser(s *fakes.Script) []string {
	lines := []string{"asks: " + quote(s.Task)}
	for _, m := range s.User.Messages {
		line := "then, when that is done"
		if m.After > 0 {
			line += " and " + m.After.String() + " later"
		}
		lines = append(lines, line+": "+quote(m.Text))
	}
	for _, p := range s.User.Permissions {
		lines = append(lines, describePermission(&p))
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

func describePermission(p *fakes.PermissionAnswer) string {
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

func describeFaults(faults []fakes.Fault) []string {
	var lines []string
	for _, f := range faults {
		lines = append(lines, f.String())
	}
	return lines
}

// matching writes the arguments that something wants: " with path="a"".
func matching(when map[string]any) string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(when)) {
		value, err := json.Marshal(when[k])
		if err != nil {
			value = []byte("?") // no JSON: it can match nothing
		}
		parts = append(parts, text.Line(k)+"="+text.Cut(text.Line(string(value)), 80))
	}
	if len(parts) == 0 {
		return ""
	}
	return " with " + strings.Join(parts, " and ")
}

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

func describeTools(tools []fakes.Tool) []string {
	var lines []string
	for i := range tools {
		t := &tools[i]
		head := text.Line(t.Name)
		if t.Description != "" {
			head += ": " + text.Cut(text.Line(t.Description), 120)
		}
		lines = append(lines, head)
		latency := t.Latency
		if latency == (fakes.Span{}) {
			latency = fakes.Span{Min: fakes.DefaultToolLatency}
		}
		habits := []string{"answers" + after(latency)}
		switch t.Permission {
		case loop.AskBatch:
			habits = append(habits, "needs permission once a batch")
		case loop.AskCall:
			habits = append(habits, "needs permission for each call")
		}
		switch t.Idempotent {
		case loop.Idempotent:
			habits = append(habits, "may be tried again after it was abandoned")
		case loop.NotIdempotent:
			habits = append(habits, "must not run twice")
		}
		if t.IgnoresCancel {
			habits = append(habits, "goes on when it is cancelled")
		}
		lines = append(lines, "  "+strings.Join(habits, ", "))
		for j := range t.Answers {
			lines = append(lines, "  "+describeAnswer(&t.Answers[j], j == 0))
		}
	}
	return lines
}

func describeAnswer(a *fakes.Answer, first bool) string {
	to := calls(a, first)
	what := ""
	switch {
	case a.Hang:
		what = "never answers"
	case a.Error != loop.None:
		what = "fails with " + failed(a.Error, a.Text)
	default:
		what = quote(a.Result)
		if a.ResultChars > 0 {
			what += ", repeated up to " + text.Count(a.ResultChars, "character")
		}
	}
	line := "to " + to + ": " + what + after(a.Latency)
	var failures []string
	for i, f := range a.Failures {
		how := "fails with " + failed(cmp.Or(f.Error, loop.RetryableServer), f.Text)
		if f.Hang {
			how = "never ends"
		}
		failures = append(failures, fmt.Sprintf("try %d %s%s", i+1, how, after(f.Latency)))
	}
	return line + but(failures)
}

// calls names those that an answer is for.
func calls(a *fakes.Answer, first bool) string {
	switch {
	case a.When != nil:
		return "a call" + matching(a.When) + times(a.Times)
	case a.Times == 0 && first:
		return "every call"
	case a.Times == 0:
		return "every other call"
	case a.Times == 1 && first:
		return "the first call"
	case first:
		return fmt.Sprintf("the first %d calls", a.Times)
	}
	return text.Count(a.Times, "more call")
}

func but(failures []string) string {
	if len(failures) == 0 {
		return ""
	}
	return "; but " + strings.Join(failures, ", ")
}

func failed(code loop.Code, text string) string {
	if text == "" {
		return string(code)
	}
	return string(code) + " " + quote(text)
}

func describeModel(steps []fakes.Step) []string {
	var lines []string
	next := 1
	for i := range steps {
		s := &steps[i]
		when := cmp.Or(conditions[s.When], "when "+string(s.When))
		if s.State != "" {
			when = "in the state " + text.Line(s.State) + times(max(0, s.Repeat))
		} else if s.When == fakes.WhenAlways {
			when = requests(next, s.Repeat)
			next += max(1, s.Repeat)
		} else if s.Repeat != fakes.Forever {
			when += times(max(1, s.Repeat))
		}
		lines = append(lines, when+": "+describeStep(s)+follows(s.Next))
	}
	return lines
}

// follows names the states that may come next, each with its share in percent.
func follows(next []fakes.Transition) string {
	total := 0.0
	for _, t := range next {
		total += float64(t.Weight)
	}
	var parts []string
	for _, t := range next {
		parts = append(parts, fmt.Sprintf("%s (%.3g %%)", text.Line(t.State), 100*float64(t.Weight)/total))
	}
	if len(parts) == 0 {
		return ""
	}
	return "; then " + strings.Join(parts, " or ")
}

var conditions = map[fakes.When]string{
	fakes.WhenDenied:  "right after a denial",
	fakes.WhenVetoed:  "right after a veto",
	fakes.WhenFailed:  "right after a failed call",
	fakes.WhenOK:      "right after calls that all succeeded",
	fakes.WhenCut:     "when told that its reply was cut off",
	fakes.WhenNudged:  "when told that it repeats itself",
	fakes.WhenSummary: "asked for a summary",
	fakes.WhenFinal:   "asked for a last word",
}

// requests names those that a step answers from first on.
func requests(first, repeat int) string {
	switch {
	case repeat == fakes.Forever:
		return fmt.Sprintf("request %d and all after it", first)
	case repeat > 1:
		return fmt.Sprintf("requests %d to %d", first, first+repeat-1)
	}
	return fmt.Sprintf("request %d", first)
}

func describeStep(s *fakes.Step) string {
	var parts []string
	if s.Text != "" {
		parts = append(parts, "says "+quote(s.Text))
	}
	var calls []string
	for _, c := range s.Calls {
		call := text.Line(c.Name) + "(" + text.Cut(text.Line(c.Args), 120) + ")"
		if c.ID != nil {
			call += " with the id " + quote(*c.ID)
		}
		calls = append(calls, call)
	}
	if len(calls) > 0 {
		parts = append(parts, "calls "+strings.Join(calls, ", "))
	}
	line := cmp.Or(strings.Join(parts, " and "), "says nothing")
	switch s.Finish {
	case "":
	case loop.FinishLength:
		line += ", cut off by the length limit"
	default:
		line += ", with the finish reason " + quote(s.Finish)
	}
	line += after(s.Latency)
	if s.Chunks > 0 {
		line += fmt.Sprintf(", streamed in %s", text.Count(s.Chunks, "piece"))
		if s.FirstToken > 0 {
			line += ", the first after " + s.FirstToken.String()
		}
	}
	if s.TokensIn+s.TokensOut > 0 {
		line += fmt.Sprintf(", for %d tokens read and %d written", s.TokensIn, s.TokensOut)
	}
	if s.Cost > 0 {
		line += ", for $" + dollars(float64(s.Cost)/1e9)
	}
	if s.Wire != fakes.WireUsual {
		line += ", on the wire " + string(s.Wire)
	}
	return line + but(modelFailures(s))
}

func modelFailures(s *fakes.Step) []string {
	var failures []string
	for i, f := range s.Failures {
		how := ""
		switch {
		case f.Hangs():
			how = "never ends"
		case f.Status == 0:
			how = "loses the connection"
		default:
			how = fmt.Sprintf("fails with HTTP status %d", f.Status)
		}
		if f.Chunks > 0 {
			how += " after " + text.Count(f.Chunks, "piece")
		}
		if f.Text != "" {
			how += " " + quote(f.Text)
		}
		if f.RetryAfter > 0 {
			how += " (retry after " + f.RetryAfter.String() + ")"
		}
		if f.Wire != fakes.WireUsual {
			how += ", on the wire " + string(f.Wire)
		}
		try := fmt.Sprintf("try %d ", i+1)
		if s.FailForever && i == len(s.Failures)-1 {
			try = fmt.Sprintf("try %d and every one after it ", i+1)
		}
		failures = append(failures, try+how+after(f.Latency))
	}
	return failures
}

func plural(n int, noun string) string {
	if noun == "call try" {
		return tries(n)
	}
	return text.Count(n, noun)
}

func tries(n int) string {
	if n == 1 {
		return "1 try"
	}
	return text.Number(n) + " tries"
}

func dollars(usd float64) string { return strconv.FormatFloat(usd, 'f', -1, 64) }

func virtual(r *scenarios.Result) string {
	return text.Duration(time.Duration(r.VirtualMS)*time.Millisecond) + " of virtual time"
}
