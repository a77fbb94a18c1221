package reports

import (
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/scenarios"
)

// Marker is the first line of a report in Markdown, by which a bot that comments
// on pull requests finds the comment that it wrote before.
const Marker = "<!-- agentbench report -->"

// A Markdown report is kept short, since a comment or a summary has its limits:
// so many troubles, differences and findings of a trial are shown.
const (
	markdownTroubles    = 50
	markdownDifferences = 50
	markdownFindings    = 5
	markdownReason      = 300
)

// WriteMarkdown writes a report as Markdown (GitHub's), for a comment on a pull
// request or a step summary.
func WriteMarkdown(w io.Writer, r *Report) error {
	m := &markdown{}
	m.line(Marker)
	m.line("## agentbench: " + r.headline())
	for _, warning := range r.Warnings {
		m.line("> [!WARNING]\n> " + markdownStart(warning))
	}
	if r.Gate != nil {
		m.gate(r.Gate)
	}
	m.troubles(r)
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

// headline is the report in one line.
func (r *Report) headline() string {
	if r.Gate == nil && r.Verdict == scenarios.Unjudged {
		return r.Line()
	}
	return string(r.Verdict) + ", " + r.Line()
}

type markdown struct{ b strings.Builder }

// line writes a block, with an empty line behind it.
func (m *markdown) line(s string) { m.b.WriteString(s + "\n\n") }

func (m *markdown) table(s section) {
	if len(s.rows) == 0 {
		return
	}
	m.line("### " + MarkdownText(s.title))
	m.rows(s)
}

// folded writes a table that is closed at first.
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

func (m *markdown) gate(g *Gate) {
	s := section{title: "Gate", left: 4, head: []string{"rule", "verdict", "measured", "wanted", "see more"}}
	for _, rule := range g.Rules {
		s.rows = append(s.rows, []string{rule.Name, rule.words(), rule.Measured, rule.Wanted, rule.See})
	}
	m.table(s)
}

func (m *markdown) troubles(r *Report) {
	if len(r.Findings) == 0 {
		return
	}
	m.line("### " + text.Count(len(r.Findings), "trial") + " failed or could not be judged")
	for _, t := range r.Findings[:min(markdownTroubles, len(r.Findings))] {
		fmt.Fprintf(&m.b, "- **%s** %s under %s, seed %d: %s\n", MarkdownText(string(t.Verdict)), MarkdownText(t.Scenario), MarkdownText(t.Variant), t.Seed, MarkdownText(t.Ending))
		for _, line := range reasons(t.Findings[:min(markdownFindings, len(t.Findings))]) {
			fmt.Fprintf(&m.b, "  - %s\n", markdownStart(text.Cut(line, markdownReason)))
		}
		if t.Command != "" {
			fmt.Fprintf(&m.b, "  - %s\n", MarkdownCode(t.Command))
		}
	}
	if more := len(r.Findings) - markdownTroubles; more > 0 {
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

// markdownEscapes makes marks of Markdown and HTML plain text. What GitHub would
// turn into a mention, a reference or a link is broken by a space of no width.
var markdownEscapes = strings.NewReplacer(
	`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "~", `\~`, "#", "#\u200b", "|", `\|`, "!", `\!`, "$", `\$`,
	"&", "&amp;", "<", "&lt;", ">", "&gt;", "@", "@\u200b", "://", ":\u200b//", "www.", "www\u200b.",
)

// MarkdownText makes foreign text plain text on one line of Markdown: nothing in
// it is a mark, a tag, a link or a mention.
func MarkdownText(s string) string { return markdownEscapes.Replace(text.Line(s)) }

// startMark is what makes a list, a heading or a line of what begins with it (see
// CommonMark, sections 4.1, 4.3 and 5.2); the mark that is escaped is its last
// character.
var startMark = regexp.MustCompile(`^(?:[-+=]|[0-9]{1,9}[.)])`)

// markdownStart is MarkdownText for a text that begins a line.
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
