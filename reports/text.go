package reports

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Line makes foreign text fit for one line of a terminal: white space of any
// kind becomes a single space, and what could steer the terminal or turn the
// reading direction round (control and escape characters, bidirectional and
// other format characters) is left out. Bytes that are no UTF-8 become U+FFFD.
func Line(s string) string {
	if plain(s) {
		return s
	}
	return strings.Join(strings.Fields(strings.Map(visible, s)), " ")
}

// Lines is [Line] for a text that keeps its line breaks and its spaces.
func Lines(s string) string {
	var b strings.Builder
	for line := range strings.Lines(s) {
		b.WriteString(strings.Map(visible, strings.TrimRight(line, "\r\n")))
		b.WriteByte('\n')
	}
	return b.String()
}

// visible keeps what can be seen, and turns white space into spaces.
func visible(r rune) rune {
	switch {
	case unicode.IsSpace(r):
		return ' '
	case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Cs):
		return -1
	}
	return r
}

// plain reports whether Line would change nothing.
func plain(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] >= 0x7f || s[i] == ' ' && (i == 0 || i == len(s)-1 || s[i-1] == ' ') {
			return false
		}
	}
	return true
}

// Cut shortens a text to n characters, and says how many it left out.
func Cut(s string, n int) string {
	total := utf8.RuneCountInString(s)
	if total <= n {
		return s
	}
	kept := 0
	for i := range s {
		if kept == n {
			return s[:i] + "… (" + Count(total-n, "more character") + ")"
		}
		kept++
	}
	return s
}

// Duration writes a time as a person says it, in two units at most: 250ms,
// 10.8s, 4m12s, 3h07m, 2d04h. What is cut off is rounded down.
func Duration(d time.Duration) string {
	switch {
	case d < 0:
		return "-" + Duration(-d)
	case d < time.Second:
		return strconv.FormatInt(d.Milliseconds(), 10) + "ms"
	case d < time.Minute:
		return strconv.FormatFloat(float64(d.Milliseconds()/100)/10, 'f', -1, 64) + "s"
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", d/time.Minute, d%time.Minute/time.Second)
	case d < 24*time.Hour:
		return fmt.Sprintf("%dh%02dm", d/time.Hour, d%time.Hour/time.Minute)
	}
	return fmt.Sprintf("%dd%02dh", d/(24*time.Hour), d%(24*time.Hour)/time.Hour)
}

// Number writes 120000 as 120,000.
func Number(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Count writes a number and what is counted: 1 file, 2 files.
func Count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return Number(n) + " " + noun
}

// Colour says whether colours may be written.
type Colour bool

func (c Colour) paint(code, s string) string {
	if !c || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

// Good, Bad and Dim paint a text green, red and grey.
func (c Colour) Good(s string) string { return c.paint("32", s) }

// Bad paints a text red.
func (c Colour) Bad(s string) string { return c.paint("31", s) }

// Dim paints a text grey.
func (c Colour) Dim(s string) string { return c.paint("2", s) }
