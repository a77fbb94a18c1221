package goldens

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Difference says where a trace first differs from its golden, and by which
// edits. Its texts are lines of the golden and of the trace, whole and as they
// are; [Difference.String] shortens and escapes them.
type Difference struct {
	File      string // that of the golden
	Line      int    // of the golden's file
	TraceLine int    // of the trace's text
	Problem   string // what is wrong there
	Want, Got string // the line of the golden, and that of the trace; "" = none
	Edit      []Edit // the shortest that there is, its first lines
	More      int    // lines of the edit that are left out

	whole bool // Edit and More are all that differs
}

// An Edit takes a line out of the golden, or puts a line of the trace in.
type Edit struct {
	Out  bool
	Line int // of the golden's file if Out, else of the trace's text
	Text string
}

const (
	shownEdits = 12  // lines of an edit
	lineChars  = 160 // of a line
	headChars  = 48  // its beginning, where what differs is far behind
)

// String tells the difference in a few lines: where and what, the two lines, and
// the edit if it is more than those two. It ends with a newline.
func (d *Difference) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s%s\n", place(d.File, d.Line), d.Problem)
	want, got := d.Lines()
	if want != "" {
		fmt.Fprintf(&b, "  expected  %s\n", want)
	}
	if got != "" {
		fmt.Fprintf(&b, "  got       %s\n", got)
	}
	d.writeEdit(&b)
	return b.String()
}

// Lines gives what was expected and what came, escaped, and of long lines their
// beginning and what stands round the first difference.
func (d *Difference) Lines() (want, got string) { return windows(d.Want, d.Got) }

// writeEdit writes the edit, unless it is what has been shown already.
func (d *Difference) writeEdit(b *strings.Builder) {
	told := 0
	for _, text := range []string{d.Want, d.Got} {
		if text != "" {
			told++
		}
	}
	switch {
	case d.whole && len(d.Edit) > told:
		fmt.Fprintf(b, "  the shortest edit, - a line of the golden, + a line of the trace:\n")
	case !d.whole && len(d.Edit) > 0:
		fmt.Fprintf(b, "  more than %d lines differ\n", maxEdits)
		return
	default:
		return
	}
	for _, e := range d.shown() {
		sign := "+"
		if e.Out {
			sign = "-"
		}
		fmt.Fprintf(b, "  %s %4d  %s\n", sign, e.Line, e.Text)
	}
	if d.More > 0 {
		fmt.Fprintf(b, "    … and %d more\n", d.More)
	}
}

// Edits gives the edit as [Difference.String] writes it, its lines shortened and
// escaped, and how many are left out; none where more differs than was looked at.
func (d *Difference) Edits() (lines []Edit, more int) {
	if !d.whole {
		return nil, 0
	}
	return d.shown(), d.More
}

func (d *Difference) shown() []Edit {
	lines := slices.Clone(d.Edit)
	for i := range lines {
		other := "" // the line that took its place, so that both show what differs
		if i+1 < len(d.Edit) && d.Edit[i].Out && !d.Edit[i+1].Out {
			other = d.Edit[i+1].Text
		} else if i > 0 && !d.Edit[i].Out && d.Edit[i-1].Out {
			other = d.Edit[i-1].Text
		}
		lines[i].Text, _ = windows(d.Edit[i].Text, other)
	}
	return lines
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
		return cut(escape(line))
	}
	head, tail := runeStart(line, headChars), runeStart(line, at-before)
	return escape(line[:head]) + " … " + cut(escape(line[tail:]))
}

// runeStart is the begin of the character that a byte belongs to.
func runeStart(s string, i int) int {
	for i > 0 && !utf8.RuneStart(s[i]) {
		i--
	}
	return i
}

// cut shortens a text to lineChars characters.
func cut(s string) string {
	n := 0
	for i := range s {
		if n == lineChars {
			return s[:i] + "…"
		}
		n++
	}
	return s
}

// escape writes what could steer a terminal or hide text, and bytes that are no
// UTF-8, as Go escapes them.
func escape(s string) string {
	clean := true
	for _, r := range s {
		clean = clean && !hidden(r)
	}
	if clean {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		if size := utf8.RuneLen(r); r == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD") {
			fmt.Fprintf(&b, `\x%02x`, s[i])
		} else if unicode.IsPrint(r) {
			b.WriteString(s[i : i+size])
		} else {
			quoted := strconv.QuoteRune(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		}
	}
	return b.String()
}

// shown quotes a text in a message, cut to what one takes in at a glance.
func shown(s string) string {
	const most = 60
	if runes := []rune(s[:min(len(s), 4*most)]); len(runes) > most {
		return strconv.Quote(string(runes[:most])) + "…"
	}
	return strconv.Quote(s)
}
