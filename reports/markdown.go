package reports

import (
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/scenarios"
)

// Marker is the first line of a report in Markdown. A bot that comments on pull
// requests finds its earlier comment by it.
const Marker = "<!-- agentbench report -->"

// A Markdown report is kept short, since comments and summaries are limited in size. It
// shows at most this many trials with findings, differences, findings of a trial, and
// characters of a finding.
const (
	markdownTrials      = 50
	markdownDifferences = 50
	markdownFindings    = 5
	markdownReason      = 300
)

// WriteMarkdown writes a report as Markdown (GitHub's), for a comment on a pull
// request or a step summary.
func WriteMarkdown(w io.Writer, r *Report) error {
	m := &markdown{}
	m.b.WriteString(Marker + "\n## agentbench: " + r.headline() + "\n")
	m.changes(r.Gate)
	for _, warning := range r.Warnings {
		m.line("> [!WARNING]\n> " + markdownStart(warning))
	}
	if r.Gate != nil {
		m.gate(r.Gate)
	}
	m.findings(r)
	m.table(r.comparisonTable())
	for _, s := range r.sections() {
		m.table(s)
	}
	m.differences(r)
	m.suites(r)
	m.folded(r.toolTable())
	_, err := io.WriteString(w, m.b.String())
	return err
}

// headline returns the verdict, if there is one, what changed, and [Report.Line]. It says first that
// results are incomplete.
func (r *Report) headline() string {
	words := r.Line()
	switch {
	case r.Gate != nil:
		words = string(r.Verdict) + r.Gate.counted() + ", " + words
	case r.Verdict != scenarios.Unjudged:
		words = string(r.Verdict) + ", " + words
	}
	if len(r.Incomplete) > 0 {
		words = "incomplete results, " + words
	}
	return words
}

type markdown struct{ b strings.Builder }

// line writes a block, followed by an empty line.
func (m *markdown) line(s string) { m.b.WriteString(s + "\n\n") }

func (m *markdown) table(s section) {
	if len(s.rows) == 0 {
		return
	}
	m.line("### " + MarkdownText(s.title))
	m.rows(s)
}

// folded writes a table that readers must open.
func (m *markdown) folded(s section) {
	if len(s.rows) == 0 {
		return
	}
	m.line("<details><summary>" + MarkdownText(s.title) + "</summary>")
	m.rows(s)
	m.line("</details>")
}

func (m *markdown) rows(s section) {
	m.row(s.head)
	marks := make([]string, len(s.head))
	for i := range marks {
		marks[i] = "---:"
		if i < s.left {
			marks[i] = "---"
		}
	}
	m.b.WriteString("| " + strings.Join(marks, " | ") + " |\n")
	for _, row := range s.rows {
		m.row(row)
	}
	m.b.WriteByte('\n')
}

func (m *markdown) row(cells []string) {
	m.b.WriteByte('|')
	for _, c := range cells {
		m.b.WriteString(" " + MarkdownText(c) + " |")
	}
	m.b.WriteByte('\n')
}

// changes writes what changed since the baseline, right below the headline.
func (m *markdown) changes(g *Gate) {
	if g != nil {
		for _, c := range g.told() {
			line := "- **" + c.what + "** " + MarkdownText(c.words)
			if c.command != "" {
				line += ": " + MarkdownCode(c.command)
			}
			m.b.WriteString(line + "\n")
		}
	}
	m.b.WriteByte('\n')
}

func (m *markdown) gate(g *Gate) {
	s := section{title: "Gate", left: 4, head: []string{"rule", "verdict", "measured", "wanted", "see more"}}
	for _, rule := range g.Rules {
		s.rows = append(s.rows, []string{rule.Name, rule.words(), rule.Measured, rule.Wanted, rule.See})
	}
	m.table(s)
}

func (m *markdown) findings(r *Report) {
	if len(r.Findings) == 0 {
		return
	}
	m.line("### " + text.Count(len(r.Findings), "trial") + " failed or could not be judged")
	for _, t := range r.Findings[:min(markdownTrials, len(r.Findings))] {
		fmt.Fprintf(&m.b, "- **%s** %s under %s, seed %d: %s\n", MarkdownText(string(t.Verdict)), MarkdownText(t.Scenario), MarkdownText(t.Variant), t.Seed, MarkdownText(t.Ending))
		for _, line := range reasons(t.Findings[:min(markdownFindings, len(t.Findings))]) {
			fmt.Fprintf(&m.b, "  - %s\n", markdownStart(text.Cut(line, markdownReason)))
		}
		if t.Command != "" {
			fmt.Fprintf(&m.b, "  - %s\n", MarkdownCode(t.Command))
		}
	}
	if more := len(r.Findings) - markdownTrials; more > 0 {
		fmt.Fprintf(&m.b, "- %s\n", text.Count(more, "more trial"))
	}
	m.b.WriteByte('\n')
}

func (m *markdown) differences(r *Report) {
	if len(r.Differences) == 0 {
		return
	}
	m.line("### " + text.Count(len(r.Differences), "scenario") + " that the variants treat differently, the worst first")
	for i := range r.Differences[:min(markdownDifferences, len(r.Differences))] {
		d := &r.Differences[i]
		fmt.Fprintf(&m.b, "- %s: %s", markdownStart(d.Scenario), MarkdownText(d.words(r.replay())))
		if d.Command != "" {
			fmt.Fprintf(&m.b, "  \n  %s", MarkdownCode(d.Command))
		}
		m.b.WriteByte('\n')
	}
	if more := len(r.Differences) - markdownDifferences; more > 0 {
		fmt.Fprintf(&m.b, "- %s\n", text.Count(more, "more scenario"))
	}
	m.b.WriteByte('\n')
}

func (m *markdown) suites(r *Report) {
	if r.Verdict == scenarios.Unjudged {
		return
	}
	s := section{title: "Suites", left: 1, head: []string{"suite", "scenarios", "passed", "failed", "inconclusive"}}
	for _, suite := range r.Suites {
		s.rows = append(s.rows, []string{text.Line(suite.Suite), text.Number(suite.Scenarios), text.Number(suite.Passed), text.Number(suite.Failed), text.Number(suite.Inconclusive)})
	}
	m.folded(s)
}

// markdownEscapes turns the marks of Markdown and HTML into plain text. It breaks
// mentions, references and links of GitHub with a zero-width space.
var markdownEscapes = strings.NewReplacer(
	`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "~", `\~`, "#", "#\u200b", "|", `\|`, "!", `\!`, "$", `\$`,
	"&", "&amp;", "<", "&lt;", ">", "&gt;", "@", "@\u200b", "://", ":\u200b//", "www.", "www\u200b.",
)

// MarkdownText returns foreign text as plain text on one line of Markdown, without
// marks, tags, links or mentions.
func MarkdownText(s string) string { return markdownEscapes.Replace(text.Line(s)) }

// startMark matches a beginning that makes a line a list item, a heading or a rule (see
// CommonMark, sections 4.1, 4.3 and 5.2). Escaping its last character prevents that.
var startMark = regexp.MustCompile(`^(?:[-+=]|[0-9]{1,9}[.)])`)

// markdownStart is like MarkdownText, for a text at the beginning of a line.
func markdownStart(s string) string {
	text := MarkdownText(s)
	if at := startMark.FindStringIndex(text); at != nil {
		return text[:at[1]-1] + `\` + text[at[1]-1:]
	}
	return text
}

// MarkdownCode writes foreign text as code.
func MarkdownCode(s string) string {
	s = text.Line(s)
	fence := "`"
	for strings.Contains(s, fence) {
		fence += "`"
	}
	return fence + " " + s + " " + fence
}
