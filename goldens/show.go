package goldens

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agentbench-go/agentbench/internal/text"
)

// A Difference is the first place where a trace differs from its golden, and the edits
// between them. Its lines are shortened and escaped.
type Difference struct {
	File      string // the golden's file
	Line      int    // of the golden's file
	TraceLine int    // of the trace's text
	Problem   string // how the trace differs there
	Want, Got string // the line of the golden and the line of the trace; "" = none
	Edits     *Edits // all differences; nil if they are too many, or one of the texts is not a trace

	tooMany bool // more than maxEdits lines differ
}

// Edits are the shortest edit that turns a golden into a trace.
type Edits struct {
	Edit []Edit `json:"edit"`           // its first lines
	More int    `json:"more,omitempty"` // number of lines left out
}

// An Edit takes a line out of the golden, or puts a line of the trace in.
type Edit struct {
	Out  bool   `json:"out,omitempty"`
	Line int    `json:"line"` // of the golden's file if Out, else of the trace's text
	Text string `json:"text"` // shortened and escaped
}

const (
	mostEdits = 12  // lines of an edit that are shown
	lineChars = 160 // of a line
	headChars = 48  // of its beginning, if the difference is far from it
)

// String describes the difference in a few lines: the place and the problem, the two
// lines, and the edit if it has more lines than those two. It ends with a newline.
func (d *Difference) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", d.Message())
	known := 0
	if d.Want != "" {
		fmt.Fprintf(&b, "  expected  %s\n", d.Want)
		known++
	}
	if d.Got != "" {
		fmt.Fprintf(&b, "  got       %s\n", d.Got)
		known++
	}
	switch {
	case d.tooMany:
		fmt.Fprintf(&b, "  more than %d lines differ\n", maxEdits)
	case d.Edits != nil && len(d.Edits.Edit) > known:
		d.Edits.write(&b)
	}
	return b.String()
}

// Message returns FILE:LINE: and the problem.
func (d *Difference) Message() string { return place(d.File, d.Line) + d.Problem }

func (e *Edits) write(b *strings.Builder) {
	fmt.Fprintf(b, "  the shortest edit, - a line of the golden, + a line of the trace:\n")
	for _, e := range e.Edit {
		sign := "+"
		if e.Out {
			sign = "-"
		}
		fmt.Fprintf(b, "  %s %4d  %s\n", sign, e.Line, e.Text)
	}
	if e.More > 0 {
		fmt.Fprintf(b, "    … and %d more\n", e.More)
	}
}

// shownEdits returns the first mostEdits edits, shortened and escaped.
func shownEdits(all []Edit) *Edits {
	raw := all[:min(len(all), mostEdits)]
	e := &Edits{Edit: slices.Clone(raw), More: len(all) - len(raw)}
	for i := range raw {
		other := "" // the line that replaces it or that it replaces, so that both show the difference
		if i+1 < len(raw) && raw[i].Out && !raw[i+1].Out {
			other = raw[i+1].Text
		} else if i > 0 && !raw[i].Out && raw[i-1].Out {
			other = raw[i-1].Text
		}
		e.Edit[i].Text, _ = windows(raw[i].Text, other)
	}
	return e
}

// windows shortens two lines to their beginning and the part around the first
// difference. If one of them is empty, it shows the beginning of the other.
func windows(a, b string) (string, string) {
	from := 0
	if a != "" && b != "" {
		for from < len(a) && from < len(b) && a[from] == b[from] {
			from++
		}
	}
	return window(a, from), window(b, from)
}

// window shortens a line that differs from another at the byte at.
func window(line string, at int) string {
	const before = 40
	if at <= lineChars-before || len(line) <= lineChars {
		return text.Clip(line, lineChars)
	}
	head, tail := runeStart(line, headChars), runeStart(line, at-before)
	return text.Escape(line[:head]) + " … " + text.Clip(line[tail:], lineChars)
}

// runeStart returns the index of the first byte of the character that the byte i
// belongs to.
func runeStart(s string, i int) int {
	for i > 0 && !utf8.RuneStart(s[i]) {
		i--
	}
	return i
}

// shown quotes a text in a message, cut to 60 characters.
func shown(s string) string { return text.Quote(s, 60) }
