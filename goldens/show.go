package goldens

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agentbench-go/agentbench/internal/text"
)

// A Difference says where a trace first differs from its golden, and by which
// edits. Its lines are shortened and escaped.
type Difference struct {
	File      string // that of the golden
	Line      int    // of the golden's file
	TraceLine int    // of the trace's text
	Problem   string // what is wrong there
	Want, Got string // the line of the golden, and that of the trace; "" = none
	Edits     *Edits // all that differs; nil if it is too much, or one of the texts is not that of a trace

	tooMany bool // lines differ
}

// Edits are the shortest edit that turns a golden into a trace.
type Edits struct {
	Edit []Edit `json:"edit"`           // its first lines
	More int    `json:"more,omitempty"` // lines that are left out
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
	headChars = 48  // its beginning, where what differs is far behind
)

// String describes the difference in a few lines: where and what, the two lines,
// and the edit if it is more than those two. It ends with a newline.
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

// Message returns FILE:LINE: and what is wrong there.
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

// shownEdits returns the first of some lines, shortened and escaped.
func shownEdits(all []Edit) *Edits {
	raw := all[:min(len(all), mostEdits)]
	e := &Edits{Edit: slices.Clone(raw), More: len(all) - len(raw)}
	for i := range raw {
		other := "" // the line that took its place, so that both show what differs
		if i+1 < len(raw) && raw[i].Out && !raw[i+1].Out {
			other = raw[i+1].Text
		} else if i > 0 && !raw[i].Out && raw[i-1].Out {
			other = raw[i-1].Text
		}
		e.Edit[i].Text, _ = windows(raw[i].Text, other)
	}
	return e
}

// windows shortens two lines to their beginning and what stands round the first
// difference. Of a line without another, the beginning is shown.
func windows(a, b string) (string, string) {
	from := 0
	if a != "" && b != "" {
		for from < len(a) && from < len(b) && a[from] == b[from] {
			from++
		}
	}
	return window(a, from), window(b, from)
}

// window shows a line of which the byte at differs from another.
func window(line string, at int) string {
	const before = 40
	if at <= lineChars-before || len(line) <= lineChars {
		return text.Clip(line, lineChars)
	}
	head, tail := runeStart(line, headChars), runeStart(line, at-before)
	return text.Escape(line[:head]) + " … " + text.Clip(line[tail:], lineChars)
}

// runeStart is the begin of the character that a byte belongs to.
func runeStart(s string, i int) int {
	for i > 0 && !utf8.RuneStart(s[i]) {
		i--
	}
	return i
}

// shown quotes a text in a message, cut to what one takes in at a glance.
func shown(s string) string { return text.Quote(s, 60) }
