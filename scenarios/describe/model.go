package describe

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/loop"
)

// Model says what the model replies to which request.
func Model(steps []fakes.Step) []string {
	var lines []string
	next := 1
	for i := range steps {
		s := &steps[i]
		when := cmp.Or(conditions[s.When], "when "+string(s.When))
		if s.When == fakes.WhenResult {
			when = "right after " + result(&s.Result)
		}
		if s.State != "" {
			when = "in the state " + text.Line(s.State) + times(max(0, s.Repeat))
		} else if s.When == fakes.WhenAlways {
			when = requests(next, s.Repeat)
			next += max(1, s.Repeat)
		} else if s.Repeat != fakes.Forever {
			when += times(max(1, s.Repeat))
		}
		if s.Optional {
			when += ", if at all"
		}
		lines = append(lines, when+": "+step(s)+follows(s.Next))
	}
	return lines
}

// result names the results that fulfil a condition.
func result(r *fakes.ResultIs) string {
	switch {
	case r.Contains != "":
		return "a result with " + text.Quote(r.Contains, 60)
	case r.Matches != "":
		return "a result that matches " + text.Quote(r.Matches, 60)
	}
	is, _ := json.Marshal(r.Is) // a loaded script has only values of JSON
	return "a result whose " + text.Line(r.Path) + " is " + text.Clip(text.Line(string(is)), 60)
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
	fakes.WhenForced:  "forced to call a tool",
	fakes.WhenSummary: "asked for a summary",
	fakes.WhenFinal:   "asked for a last word",
}

// requests names the requests that a step answers, from first on.
func requests(first, repeat int) string {
	switch {
	case repeat == fakes.Forever:
		return fmt.Sprintf("request %d and all after it", first)
	case repeat > 1:
		return fmt.Sprintf("requests %d to %d", first, first+repeat-1)
	}
	return fmt.Sprintf("request %d", first)
}

// step says what a reply holds, what it costs, and how it fails before it comes.
func step(s *fakes.Step) string {
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
		line += ", for " + text.Dollars(float64(s.Cost)/1e9)
	}
	if s.Wire != fakes.WireUsual {
		line += ", on the wire " + string(s.Wire)
	}
	return line + but(modelFailures(s))
}

// modelFailures says how each try of a request fails.
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
