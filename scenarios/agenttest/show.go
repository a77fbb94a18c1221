package agenttest

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/scenarios"
)

// The lines of a trace that a failure shows, and how long they may be.
const (
	firstLines = 4
	lastLines  = 4
	lineChars  = 160
)

// Failure says why the trial did not pass: the verdict and its reason, what the scenario
// stands for, the beginning and the end of the trace (all of it with -test.v), and the
// command that repeats it. It is "" for a trial that passed.
func (r *Report) Failure() string {
	if r.Verdict == scenarios.Pass {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: ", r.Verdict)
	for i, f := range r.Findings {
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(text.Line(f.Message))
	}
	fmt.Fprintf(&b, ": %s, %s, %s\n", text.Count(r.Requests, "model request"), text.Count(r.Asked, "call"), text.Exact(r.Observation.End.At))
	if r.scenario.Description != "" {
		fmt.Fprintf(&b, "  %s\n", text.Line(r.scenario.Description))
	}
	if r.Why != "" {
		fmt.Fprintf(&b, "  the agent: %s\n", text.Cut(text.Line(r.Why), 300))
	}
	for _, place := range places(r.stack) {
		fmt.Fprintf(&b, "    at %s\n", text.Line(place))
	}
	for _, line := range excerpt(r.Observed.String()) {
		fmt.Fprintf(&b, "    %s\n", line)
	}
	for _, note := range r.Notes {
		fmt.Fprintf(&b, "  note: %s\n", text.Cut(text.Line(note), 200))
	}
	if r.Repeat != "" {
		fmt.Fprintf(&b, "repeat: %s\n", r.Repeat)
	}
	return b.String()
}

// places returns where a panic came from: the first functions of its stack that are the
// agent's, each with its file and line.
func places(stack string) (out []string) {
	_, below, _ := strings.Cut(stack, "\npanic(")
	lines := strings.Split(below, "\n")
	for i := 2; i+1 < len(lines) && len(out) < 4; i += 2 {
		name, _, _ := strings.Cut(lines[i], "({")
		if j := strings.LastIndex(name, "("); j >= 0 && strings.HasSuffix(name, ")") {
			name = name[:j]
		}
		if strings.HasSuffix(name, "/agenttest.call") {
			break
		}
		if place, _, _ := strings.Cut(strings.TrimSpace(lines[i+1]), " +0x"); !strings.HasPrefix(name, "runtime.") {
			out = append(out, name+" "+place)
		}
	}
	return out
}

// excerpt returns the first and the last lines of a trace.
func excerpt(trace string) []string {
	lines := strings.Split(strings.TrimSuffix(trace, "\n"), "\n")
	if more := len(lines) - firstLines - lastLines; more > 1 && !testing.Verbose() {
		last := lines[len(lines)-lastLines:]
		lines = append(append(lines[:firstLines:firstLines], fmt.Sprintf("… %s; go test -v shows all", text.Count(more, "more line"))), last...)
	}
	for i := range lines {
		lines[i] = text.Clip(text.Line(lines[i]), lineChars)
	}
	return lines
}

// repeat returns the command that repeats a test.
func repeat(name, pkg string) string {
	parts := strings.Split(name, "/")
	for i, part := range parts {
		parts[i] = "^" + regexp.QuoteMeta(part) + "$"
	}
	run := "go test -run '" + strings.ReplaceAll(strings.Join(parts, "/"), "'", `'\''`) + "'"
	return strings.TrimSpace(run + " " + pkg)
}

// testPackage returns the import path of the package whose test this goroutine runs, ""
// = it is not known.
func testPackage() string {
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs)])
	pkg := ""
	for {
		frame, more := frames.Next()
		if frame.Function == "testing.tRunner" {
			return strings.TrimSuffix(pkg, "_test")
		}
		pkg = packageOf(frame.Function)
		if !more {
			return ""
		}
	}
}

// packageOf returns the import path in the name of a function.
func packageOf(function string) string {
	dir, last := path.Split(function)
	name, _, ok := strings.Cut(last, ".")
	if !ok {
		return ""
	}
	return strings.ReplaceAll(dir+name, "%2e", ".")
}

// byID sorts reports by scenario and seed.
func byID(a, b *Report) int {
	return cmp.Or(cmp.Compare(a.Scenario, b.Scenario), cmp.Compare(a.Seed, b.Seed))
}
