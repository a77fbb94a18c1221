package reports

import (
	"fmt"
	"io"
	"strings"

	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/scenarios"
)

// maxAnnotations is how many annotations of one level GitHub shows for a step.
const maxAnnotations = 10

// WriteAnnotations writes the findings, the failed rules of a gate, and that results are
// incomplete as commands of GitHub Actions, which shows findings at the scenario's line.
// It writes at most ten errors and ten warnings.
func WriteAnnotations(w io.Writer, r *Report) error {
	left := map[string]int{"error": maxAnnotations, "warning": maxAnnotations}
	var b strings.Builder
	write := func(level, properties, text string) {
		if left[level]--; left[level] >= 0 {
			fmt.Fprintf(&b, "::%s %s::%s\n", level, properties, annotationText(text))
		}
	}
	if len(r.Incomplete) > 0 && r.Gate == nil { // a gate has a rule for it
		write("warning", "title=incomplete", strings.Join(r.Incomplete, "\n"))
	}
	if r.Gate != nil {
		for i := range r.Gate.Rules {
			if rule := &r.Gate.Rules[i]; rule.mark() != "" {
				write(level(rule.Verdict), "title="+annotationProperty("gate: "+rule.Name), rule.Measured+" (wanted "+rule.Wanted+")")
			}
		}
	}
	for i := range r.Findings {
		t := &r.Findings[i]
		text := "ended " + t.Ending
		if len(t.Findings) > 0 {
			text = strings.Join(reasons(t.Findings), "\n")
		}
		if t.Command != "" {
			text += "\nrepeat: " + t.Command
		}
		severity := level(t.Verdict)
		if r.Gate != nil && r.Gate.Verdict == scenarios.Pass {
			severity = "warning" // findings that the gate tolerates are not errors
		}
		write(severity, t.properties(), text)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func level(v scenarios.Verdict) string {
	if v == scenarios.Fail {
		return "error"
	}
	return "warning"
}

// properties returns the place and the title of an annotation.
func (t *TrialFindings) properties() string {
	title := "title=" + annotationProperty(t.title())
	if t.place == "" {
		return title
	}
	return fmt.Sprintf("file=%s,line=%d,%s", annotationProperty(t.place), max(t.Line, 1), title)
}

var (
	annotationEscapes = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	propertyEscapes   = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

func annotationText(s string) string {
	return annotationEscapes.Replace(strings.TrimSuffix(text.Lines(s), "\n"))
}

func annotationProperty(s string) string { return propertyEscapes.Replace(text.Line(s)) }
