package describe

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/loop"
)

// Tools says how each tool answers.
func Tools(tools []fakes.Tool) []string {
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
		if t.Session != nil {
			habits[0] = "runs a session of its own"
		}
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
		if t.Waits {
			habits = append(habits, "waits, so that repeating it is no loop")
		}
		if t.IgnoresCancel {
			habits = append(habits, "goes on when it is cancelled")
		}
		lines = append(lines, "  "+strings.Join(habits, ", "))
		for j := range t.Answers {
			lines = append(lines, "  "+answer(&t.Answers[j], j == 0))
		}
		if t.Session != nil {
			lines = append(lines, session(t.Session)...)
		}
	}
	return lines
}

// session says what a sub-run does, indented below its tool.
func session(x *fakes.Session) []string {
	lines := []string{"its task: the arguments of the call"}
	if x.Task != "" {
		lines[0] = "its task: " + quote(x.Task)
	}
	if x.Config != nil {
		lines = append(lines, "with a config of its own")
	}
	for _, line := range Tools(x.Tools) {
		if !strings.HasPrefix(line, " ") {
			line = "its tool " + line
		}
		lines = append(lines, line)
	}
	if len(x.Shared) > 0 {
		var names []string
		for _, name := range x.Shared {
			names = append(names, text.Line(name))
		}
		lines = append(lines, "it can also call "+strings.Join(names, ", "))
	}
	for _, line := range Model(x.Model) {
		lines = append(lines, "its model: "+line)
	}
	for i := range lines {
		lines[i] = "    " + lines[i]
	}
	return lines
}

// answer says to which calls a tool gives an answer, and what it is. first is
// true for the first answer of the tool.
func answer(a *fakes.Answer, first bool) string {
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
	line := "to " + to + ": " + what + after(a.Latency) + overMCP(a.Wire)
	var failures []string
	for i, f := range a.Failures {
		how := "fails with " + failed(cmp.Or(f.Error, loop.RetryableServer), f.Text)
		if f.Hang {
			how = "never ends"
		}
		failures = append(failures, fmt.Sprintf("try %d %s%s", i+1, how, after(f.Latency)+overMCP(f.Wire)))
	}
	return line + but(failures)
}

// overMCP says the form of an answer on the wire.
func overMCP(w fakes.Wire) string {
	if w == fakes.WireUsual {
		return ""
	}
	return ", over MCP as " + string(w)
}

// calls names the calls that get an answer.
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

// failed writes the code of a failure and its message.
func failed(code loop.Code, message string) string {
	if message == "" {
		return string(code)
	}
	return string(code) + " " + quote(message)
}
