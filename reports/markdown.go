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
// shows at most this many trials with findings, the first few of them at once and the
// others where readers open them; differences, findings of a trial, and characters of a
// finding. Lists end where the page has markdownLists bytes, so that with all tables it
// stays below the 65,536 characters of a comment on GitHub.
const (
	markdownLists       = 30_000
	markdownAtOnce      = 10
	markdownTrials      = 50
	markdownDifferences = 50
	markdownFindings    = 5
	markdownReason      = 300
)

// WriteMarkdown writes a report as Markdown (GitHub's), for a comment on a pull
// request or a step summary. What a reader must know comes first: the verdict, what
// changed, the rules of the gate that it broke, and what failed, each with the command
// that repeats it. Of results that are compared, not judged, it is the comparison. All
// other tables are folded.
func WriteMarkdown(w io.Writer, r *Report) error {
	m := &markdown{}
	m.b.WriteString(Marker + "\n## agentbench: " + r.headline() + "\n")
	m.changes(r.Gate)
	m.broken(r.Gate)
	for _, warning := range r.Warnings {
		m.line("> [!WARNING]\n> " + markdownStart(warning))
	}
	m.findings(r)
	show, sections := m.folded, r.sections()
	if r.Verdict == scenarios.Unjudged {
		show = m.table
	}
	show(r.comparisonTable())
	for i, s := range sections {
		if i > 0 {
			show = m.folded
		}
		show(s)
	}
	m.differences(r)
	m.gate(r.Gate)
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

// broken lists the rules of a gate that a reader must look at.
func (m *markdown) broken(g *Gate) {
	if g == nil {
		return
	}
	n := 0
	for i := range g.Rules {
		rule := &g.Rules[i]
		if rule.mark() == "" {
			continue
		}
		n++
		fmt.Fprintf(&m.b, "- **%s** %s: %s", rule.words(), MarkdownText(rule.Name), MarkdownText(rule.Measured))
		if rule.Wanted != "" {
			m.b.WriteString("; wanted: " + MarkdownText(rule.Wanted))
		}
		if rule.See != "" {
			m.b.WriteString("  \n  " + MarkdownCode(rule.See))
		}
		m.b.WriteByte('\n')
	}
	if n > 0 {
		m.b.WriteByte('\n')
	}
}

// gate folds all rules of a gate.
func (m *markdown) gate(g *Gate) {
	if g == nil {
		return
	}
	s := section{title: "All rules of the gate", left: 4, head: []string{"rule", "verdict", "measured", "wanted"}}
	for i := range g.Rules {
		rule := &g.Rules[i]
		s.rows = append(s.rows, []string{rule.Name, rule.words(), rule.Measured, rule.Wanted})
	}
	m.folded(s)
}

// findings lists the trials that failed or could not be judged. Those that a gate lets
// pass are folded.
func (m *markdown) findings(r *Report) {
	if len(r.Findings) == 0 {
		return
	}
	title := text.Count(len(r.Findings), "trial") + " failed or could not be judged"
	shown := r.Findings[:min(markdownTrials, len(r.Findings))]
	atOnce := markdownAtOnce
	if r.Gate != nil && r.Gate.Verdict == scenarios.Pass {
		atOnce = 0
		title += ", and the gate lets them pass"
	} else {
		m.line("### " + title)
		title = "More trials that failed or could not be judged"
	}
	atOnce = min(atOnce, len(shown))
	for i := range shown[:atOnce] {
		m.finding(&shown[i])
	}
	if atOnce > 0 {
		m.b.WriteByte('\n')
	}
	if atOnce == len(shown) {
		return
	}
	m.line("<details><summary>" + title + "</summary>")
	for i := range shown[atOnce:] {
		if m.b.Len() > markdownLists {
			shown = shown[:atOnce+i]
			break
		}
		m.finding(&shown[atOnce+i])
	}
	if more := len(r.Findings) - len(shown); more > 0 {
		fmt.Fprintf(&m.b, "- %s\n", text.Count(more, "more trial"))
	}
	m.line("\n</details>")
}

func (m *markdown) finding(t *TrialFindings) {
	fmt.Fprintf(&m.b, "- **%s** %s: %s\n", MarkdownText(string(t.Verdict)), MarkdownText(t.title()), MarkdownText(t.Ending))
	for _, line := range reasons(t.Findings[:min(markdownFindings, len(t.Findings))]) {
		fmt.Fprintf(&m.b, "  - %s\n", markdownStart(text.Cut(line, markdownReason)))
	}
	if t.Command != "" {
		fmt.Fprintf(&m.b, "  - %s\n", MarkdownCode(t.Command))
	}
}

func (m *markdown) differences(r *Report) {
	if len(r.Differences) == 0 {
		return
	}
	m.line("<details><summary>" + text.Count(len(r.Differences), "scenario") + " that the variants treat differently, the worst first</summary>")
	shown := 0
	for i := range r.Differences[:min(markdownDifferences, len(r.Differences))] {
		if m.b.Len() > markdownLists {
			break
		}
		shown++
		d := &r.Differences[i]
		fmt.Fprintf(&m.b, "- %s: %s", markdownStart(d.Scenario), MarkdownText(d.words(r.replay())))
		if d.Command != "" {
			fmt.Fprintf(&m.b, "  \n  %s", MarkdownCode(d.Command))
		}
		m.b.WriteByte('\n')
	}
	if more := len(r.Differences) - shown; more > 0 {
		fmt.Fprintf(&m.b, "- %s\n", text.Count(more, "more scenario"))
	}
	m.line("\n</details>")
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
