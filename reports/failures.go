package reports

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/scenarios"
)

// excerptLines is how many lines of a trace a failure shows, up to the halt. Each line
// is cut to excerptChars, and each finding to reasonChars.
const (
	excerptLines = 6
	excerptChars = 160
	reasonChars  = 500
)

// Failures folds results into one block for each trial that failed or was inconclusive:
// the findings, the end of the trace, and the command that repeats the trial.
type Failures struct {
	// Max is how many blocks are kept; 0 = all. Others are only counted, and Hint says
	// how to see them.
	Max  int
	Hint string
	// Repeat returns the command that repeats a trial.
	Repeat func(*scenarios.Result) string

	kept    []failure
	dropped int
}

type failure struct {
	verdict scenarios.Verdict
	title   string
	reasons []string
	excerpt []string
	repeat  string
}

// Add adds one result.
func (f *Failures) Add(r *scenarios.Result) {
	if r.Verdict != scenarios.Fail && r.Verdict != scenarios.Inconclusive {
		return
	}
	if f.Max > 0 && len(f.kept) == f.Max {
		f.dropped++
		return
	}
	r = r.Redacted()
	f.kept = append(f.kept, failure{
		verdict: r.Verdict,
		title:   fmt.Sprintf("%s under %s, seed %d", text.Line(r.Scenario), text.Line(r.Variant), r.Seed),
		reasons: Reasons(r),
		excerpt: excerpt(r.Trace),
		repeat:  f.Repeat(r),
	})
}

// Reasons returns a line for each finding of a result. It adds the wanted and actual
// values if the finding's message lacks them.
func Reasons(r *scenarios.Result) []string {
	if len(r.Findings) == 0 {
		return []string{"ended " + Ending(r)}
	}
	return reasons(r.Findings)
}

func reasons(findings []scenarios.Finding) []string {
	var lines []string
	for _, f := range findings {
		line := text.Line(f.Message)
		if line == "" {
			line = text.Line(f.Rule)
		}
		want, got, at := text.Line(f.Want), text.Line(f.Got), text.Line(f.At)
		if !strings.Contains(line, want) || !strings.Contains(line, got) {
			line += fmt.Sprintf(" (want %s, got %s)", cmp.Or(want, "nothing"), cmp.Or(got, "nothing"))
		}
		if at != "" {
			line += " at " + at
		}
		lines = append(lines, text.Cut(line, reasonChars))
	}
	return lines
}

// Ending returns the end state of a result and its stop.
func Ending(r *scenarios.Result) string {
	end, stop := text.Line(string(r.EndState)), text.Line(string(r.Stop))
	switch {
	case end == "" && stop == "":
		return "without a stop"
	case stop == "" || strings.EqualFold(end, stop):
		return end
	}
	return end + " (" + stop + ")"
}

// excerpt returns the last lines of a trace up to its last halt, or up to its end if it
// has no halt.
func excerpt(trace string) []string {
	if trace == "" {
		return nil
	}
	lines := strings.Split(strings.TrimRight(trace, "\n"), "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		if strings.HasPrefix(strings.TrimLeft(lines[i], " "), "> halt") {
			lines = lines[:i+1]
			break
		}
	}
	more := len(lines) > excerptLines
	if more {
		lines = lines[len(lines)-excerptLines:]
	}
	out := make([]string, 0, excerptLines+1)
	if more {
		out = append(out, "…")
	}
	for _, l := range lines {
		out = append(out, text.Cut(strings.TrimSuffix(text.Lines(l), "\n"), excerptChars))
	}
	return out
}

// Write writes the blocks, each after an empty line.
func (f *Failures) Write(w io.Writer, colour Colour) error {
	var b strings.Builder
	for i := range f.kept {
		f.kept[i].write(&b, colour)
	}
	if f.dropped > 0 {
		fmt.Fprintf(&b, "\n%s not shown: %s\n", text.Count(f.dropped, "more failure"), f.Hint)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (f *failure) write(b *strings.Builder, colour Colour) {
	fmt.Fprintf(b, "\n%s %s\n", colour.Bad(strings.ToUpper(string(f.verdict))), f.title)
	for _, r := range f.reasons {
		fmt.Fprintf(b, "  %s\n", r)
	}
	for _, l := range f.excerpt {
		fmt.Fprintf(b, "  %s %s\n", colour.Dim("|"), l)
	}
	fmt.Fprintf(b, "  repeat: %s\n", text.Line(f.repeat))
}
