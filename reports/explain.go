package reports

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/scenarios"
	"github.com/agentbench-go/agentbench/scenarios/describe"
)

// ExplainEnd writes how a trial that has just run ended, and its trace: at most so many
// lines, 0 = all.
func ExplainEnd(b *strings.Builder, r *scenarios.Result, trace loop.Trace, paint Colour, most int) {
	fmt.Fprintf(b, "\nUnder %s, seed %d\n", text.Line(r.Variant), r.Seed)
	for _, out := range halts(trace) {
		fmt.Fprintf(b, "  %s (%s): %s\n", out.End, text.Line(string(out.Stop)), text.Line(out.Reason))
	}
	fmt.Fprintf(b, "  %s\n", counts(r))
	word := string(r.Verdict)
	if r.Verdict == scenarios.Pass {
		word = paint.Good(word)
	} else {
		word = paint.Bad(word)
	}
	fmt.Fprintf(b, "  verdict: %s\n", word)
	if len(r.Findings) > 0 {
		for _, reason := range Reasons(r) {
			fmt.Fprintf(b, "  - %s\n", reason)
		}
	}
	for _, note := range r.Notes {
		fmt.Fprintf(b, "  note: %s\n", text.Line(note))
	}
	fmt.Fprintf(b, "\nThe trace\n%s", middleOut(text.Lines(trace.String()), most, allLines))
}

// ExplainReplay writes what a variant would have done to a recorded run: how it ended,
// the trace up to there, and the recorded calls that did not run. Of trace and calls it
// writes at most so many lines each, 0 = all.
func ExplainReplay(b *strings.Builder, r *scenarios.Result, trace loop.Trace, notRun []string, paint Colour, most int) {
	fmt.Fprintf(b, "\nUnder %s\n", text.Line(r.Variant))
	for _, out := range halts(trace) {
		fmt.Fprintf(b, "  %s (%s): %s\n", out.End, text.Line(string(out.Stop)), text.Line(out.Reason))
	}
	fmt.Fprintf(b, "  %s\n", counts(r))
	switch {
	case r.Verdict == scenarios.Inconclusive:
		for _, reason := range Reasons(r) {
			fmt.Fprintf(b, "  - %s\n", reason)
		}
	case wasStopped(r):
		went := "nothing new follows"
		if r.WentOn {
			went = "it went on to a call that it had not made before"
		}
		fmt.Fprintf(b, "  %s: %s did not run, and %s\n", paint.Bad("stopped"), text.Count(r.Saved, "recorded call"), went)
	case r.Saved > 0:
		fmt.Fprintf(b, "  %s: %s did not run, and the run went on\n", paint.Bad("refused"), text.Count(r.Saved, "recorded call"))
	default:
		fmt.Fprintf(b, "  %s: every recorded call ran\n", paint.Good("not stopped"))
	}
	for _, rule := range r.NotJudged {
		fmt.Fprintf(b, "  not judged: %s, which a shape does not hold\n", text.Line(rule))
	}
	fmt.Fprintf(b, "\nThe trace\n%s", middleOut(text.Lines(trace.String()), most, allLines))
	if len(notRun) > 0 {
		fmt.Fprintf(b, "\nRecorded, and not run\n%s", middleOut(text.Lines(strings.Join(notRun, "\n")), most, allLines))
	}
}

// allLines is the hint where lines are left out.
const allLines = "--verbose shows all"

// halts returns the outcomes of the runs that ended, in order, without those of
// sub-runs.
func halts(trace loop.Trace) []*loop.Outcome {
	var outs []*loop.Outcome
	for i := range trace {
		if trace[i].Path != "" {
			continue
		}
		for j := range trace[i].Effects {
			if e := &trace[i].Effects[j]; e.Kind == loop.Halt {
				outs = append(outs, e.Outcome)
			}
		}
	}
	return outs
}

// counts says what a trial used. It leaves out zeros of rarer counts.
func counts(r *scenarios.Result) string {
	parts := []string{
		text.Count(r.Turns, "turn"),
		text.Count(r.ModelCalls, "model request"),
		fmt.Sprintf("%s asked for", text.Count(r.Asked, "call")),
		fmt.Sprintf("%s executed in %s", text.Number(r.Calls), text.Count(r.Tries, "try")),
	}
	for _, c := range []struct {
		n    int
		what string
	}{{r.Errors, "failed"}, {r.Vetoed, "vetoed"}, {r.Denied, "denied"}, {r.Invalid, "invalid"}} {
		if c.n > 0 {
			parts = append(parts, text.Number(c.n)+" "+c.what)
		}
	}
	if r.Nudges > 0 {
		parts = append(parts, text.Count(r.Nudges, "nudge"))
	}
	if r.SubRuns > 0 {
		var ends []string
		for _, stop := range slices.Sorted(maps.Keys(r.SubStops)) {
			ends = append(ends, fmt.Sprintf("%s %s", text.Number(r.SubStops[stop]), text.Line(stop)))
		}
		parts = append(parts, text.Count(r.SubRuns, "sub-run")+" ("+strings.Join(ends, ", ")+")")
	}
	if r.TokensIn+r.TokensOut > 0 {
		parts = append(parts, fmt.Sprintf("%d tokens read, %d written", r.TokensIn, r.TokensOut))
	}
	if r.CostUSD > 0 {
		parts = append(parts, text.Dollars(r.CostUSD))
	}
	return strings.Join(append(parts, text.Duration(time.Duration(r.VirtualMS)*time.Millisecond)+" of virtual time"), ", ")
}

// Explain writes why a trial ended as it did, from its result alone. source says
// in one line where the result comes from. Of the trace it writes at most so many lines,
// 0 = all.
func (f *Fold) Explain(b *strings.Builder, r *scenarios.Result, source string, paint Colour, most int) {
	fmt.Fprintf(b, "%s: ", text.Line(r.Scenario))
	if r.Label != "" {
		fmt.Fprintf(b, "%s, ", r.Label)
	}
	fmt.Fprintf(b, "under %s, seed %d\nfrom %s\n", text.Line(r.Variant), r.Seed, source)
	trace, _ := loop.ParseTrace(r.Trace) // a broken trace has no halts
	describe.Section(b, "Why it ended", endings(r, halts(trace)))
	describe.Section(b, "What it used", used(r))
	describe.Section(b, "Faults", lines(f.Faults()))
	describe.Section(b, "Verdict", judgement(r, paint))
	describe.Section(b, "The golden", goldenLines(r))
	if r.Trace == "" {
		b.WriteString("\nThe trace was not kept\n")
	} else {
		fmt.Fprintf(b, "\nThe trace\n%s", middleOut(keptTrace(r), most, allLines))
	}
	fmt.Fprintf(b, "\nrepeat: %s\n", text.Line(f.Repeat(r)))
}

// endings says how each run ended, or without a trace how the session ended.
func endings(r *scenarios.Result, runs []*loop.Outcome) []string {
	var out []string
	for _, o := range runs {
		out = append(out, fmt.Sprintf("%s (%s): %s", o.End, text.Line(string(o.Stop)), text.Line(o.Reason)))
	}
	if len(out) > 0 {
		return out
	}
	if r.EndState == "" && r.Stop == "" {
		return []string{"the session broke off before a run ended"}
	}
	line := Ending(r)
	if r.Why != "" { // of a foreign agent
		return []string{line + ": " + text.Line(r.Why)}
	}
	if why := r.Stop.Means(); why != "" {
		line += ": " + why
	} else if r.EndState == loop.LoopDetected {
		line += ": the detector of this name found that the model repeats itself"
	}
	return []string{line}
}

// used says what a trial used, and with which codes its calls failed.
func used(r *scenarios.Result) []string {
	out := []string{counts(r)}
	var failed []string
	for _, code := range slices.Sorted(maps.Keys(r.Codes)) {
		if !noError(code) && r.Codes[code] > 0 {
			failed = append(failed, text.Number(r.Codes[code])+" "+text.Line(code))
		}
	}
	if len(failed) > 0 {
		out = append(out, "calls that failed: "+strings.Join(failed, ", "))
	}
	if r.Saved > 0 {
		out = append(out, text.Count(r.Saved, "recorded call")+" not executed")
	}
	if r.WentOn {
		out = append(out, "the recorded run goes on after that")
	}
	return out
}

// judgement returns the verdict and the findings.
func judgement(r *scenarios.Result, paint Colour) []string {
	word := text.Line(string(r.Verdict))
	switch r.Verdict {
	case scenarios.Pass:
		word = paint.Good(word)
	case scenarios.Fail, scenarios.Inconclusive:
		word = paint.Bad(word)
	case "":
		word = "none"
	}
	out := []string{word}
	if len(r.Findings) > 0 {
		for _, why := range Reasons(r) {
			out = append(out, "- "+why)
		}
	}
	for _, note := range r.Notes {
		out = append(out, "note: "+text.Line(note))
	}
	return out
}

// goldenLines says whether the trace matched its golden, and how it differs.
func goldenLines(r *scenarios.Result) []string {
	if r.Golden == "" || r.Golden == scenarios.GoldenOff {
		return nil
	}
	out := []string{text.Line(r.Golden)}
	for _, f := range r.Findings {
		if f.Diff == nil {
			continue
		}
		for _, e := range f.Diff.Edit {
			sign := "+"
			if e.Out {
				sign = "-"
			}
			out = append(out, fmt.Sprintf("%s %4d  %s", sign, e.Line, text.Line(e.Text)))
		}
		if f.Diff.More > 0 {
			out = append(out, fmt.Sprintf("… %s left out", text.Count(f.Diff.More, "line")))
		}
	}
	return out
}

// lines returns the [text.Line] of each text.
func lines(texts []string) []string {
	var out []string
	for _, t := range texts {
		out = append(out, text.Line(t))
	}
	return out
}
