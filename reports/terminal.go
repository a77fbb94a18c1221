package reports

import (
	"fmt"
	"io"
	"strings"

	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/scenarios"
)

// A Terminal writes reports for a terminal.
type Terminal struct {
	Colour Colour
	// Max is how many differing scenarios are shown; 0 = all. Hint says how to see the
	// others.
	Max  int
	Hint string
}

// Write writes the tables of a report, the comparison of each variant with the
// reference, and the scenarios that the variants treat differently.
func (t Terminal) Write(w io.Writer, r *Report) error {
	var b strings.Builder
	for _, line := range r.Warnings {
		fmt.Fprintf(&b, "%s %s\n", t.Colour.Bad("warning:"), text.Line(line))
	}
	if len(r.Warnings) > 0 {
		b.WriteByte('\n')
	}
	for _, s := range append(r.sections(), r.comparisonTable()) {
		if len(s.rows) == 0 {
			continue
		}
		fmt.Fprintf(&b, "%s\n", s.title)
		if err := Table(like(w, &b), s.left, s.head, s.rows, nil); err != nil {
			return err
		}
		b.WriteByte('\n')
	}
	t.differences(&b, r)
	b.WriteString(r.Line() + "\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// comparisonTable returns the table that compares each variant with the reference.
func (r *Report) comparisonTable() section {
	s := section{left: 2, head: []string{"variant", "verdict"}}
	for _, c := range r.Comparisons {
		if len(c.Pairs) == 0 {
			continue
		}
		s.rows = append(s.rows, []string{text.Line(c.Variant), c.Verdict})
	}
	s.title = "Compared with " + text.Line(r.Reference) + " (p: exact sign test on scenarios"
	if len(s.rows) > 1 {
		s.title += ", corrected for " + text.Count(len(s.rows), "comparison")
	}
	s.title += ")"
	return s
}

// differences writes the scenarios that the variants treat differently.
func (t Terminal) differences(b *strings.Builder, r *Report) {
	if len(r.Variants) < 2 {
		return
	}
	if len(r.Differences) == 0 {
		b.WriteString("No scenario differs between the variants.\n\n")
		return
	}
	verb := "scenarios differ"
	if len(r.Differences) == 1 {
		verb = "scenario differs"
	}
	fmt.Fprintf(b, "%s %s between the variants, the worst first\n", text.Number(len(r.Differences)), verb)
	shown := r.Differences
	if t.Max > 0 {
		shown = shown[:min(t.Max, len(shown))]
	}
	for i := range shown {
		d := &shown[i]
		fmt.Fprintf(b, "  %s: %s\n", text.Line(d.Scenario), d.words(r.replay()))
		if d.Command != "" {
			fmt.Fprintf(b, "    %s\n", t.Colour.Dim(text.Line(d.Command)))
		}
	}
	if more := len(r.Differences) - len(shown); more > 0 {
		fmt.Fprintf(b, "  %s: %s\n", text.Count(more, "more scenario"), t.Hint)
	}
	b.WriteByte('\n')
}

// words says which variants get a scenario wrong, such as: a healthy run,
// stopped by 2 of 20: cline, roo-code (12 of 50 trials).
func (d *Difference) words(replay bool) string {
	verb := "stopped"
	if d.Label == scenarios.Runaway {
		verb = "not " + verb
	}
	switch d.Metric {
	case Caught:
		verb = "not caught"
	case Harmed:
		verb = "harmed"
	}
	var wrong []string
	for _, c := range d.Cells {
		if !c.Bad {
			continue
		}
		name := text.Line(c.Variant)
		if share := c.Share; share > 0 && share < 1 {
			if d.Label == scenarios.Runaway {
				share = 1 - share
			}
			name += fmt.Sprintf(" (%s of %s)", Amount(share*float64(c.Trials)), text.Count(c.Trials, "trial"))
		}
		wrong = append(wrong, name)
	}
	article := "a"
	if d.Label == "" {
		article = "an"
	}
	return fmt.Sprintf("%s %s, %s by %d of %d: %s", article, runsOf(d.Label, replay), verb, len(wrong), len(d.Cells), someOf(wrong))
}

// Line returns what was counted in one line: 179 scenarios under 2 variants in 358
// trials.
func (r *Report) Line() string {
	if len(r.Served) > 0 {
		return text.Count(len(r.Served), "scenario") + " served"
	}
	noun := "scenario"
	if r.replay() {
		noun = "recorded run"
	}
	return fmt.Sprintf("%s under %s in %s", text.Count(r.Scenarios, noun), text.Count(len(r.Variants), "variant"), text.Count(r.Trials, "trial"))
}
