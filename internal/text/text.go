// Package text writes text for people: on a terminal, in a log, in a report.
//
// Texts of models, tools, cassettes and trajectories are hostile, so all of them pass
// through this package before somebody reads them. One rule holds everywhere: hidden
// characters, which are invisible or control the display, are written as Go escapes
// them: \x1b, \u202e, \U000e0041, and \xff for a byte that is not UTF-8. Hidden are
// control characters (C0, DEL and C1), marks that change the direction of reading,
// other format characters, everything that Unicode ignores by default or leaves blank,
// private and unassigned code points, and every white space except the plain space.
// U+FE0E and U+FE0F are kept after a visible character, which they display as text or
// as an emoji. So do marks that combine with a character, such as accents, but no more
// of them than a script needs: a hundred would cover the lines above and below.
//
//   - [Line] makes one line of a text: white space becomes single spaces.
//   - [Lines] keeps line breaks and indentation.
//   - [Escape] keeps everything, and shows white space too.
//   - [Quote] is exact: it puts the text in quotes, so that its ends show.
//   - [Clip] and [Cut] escape a text and shorten it, never inside an escape. On
//     one line is Clip(Line(s), n).
//
// Line, Lines and Escape do not change their own results, so they can be applied twice.
// They keep backslashes, so only Quote distinguishes `\x1b` from ESC.
//
// Writers of Markdown and HTML also escape for their format. JSON that people may look
// at passes through [JSON].
package text

import (
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Line returns s as one line. Runs of white space become one space, white space at the
// ends is removed, and hidden characters are escaped.
func Line(s string) string {
	if plain(s) {
		return s
	}
	return escape(strings.Join(strings.Fields(s), " "), "", false)
}

// Lines returns s with its line breaks and its spaces, each line ended by \n. Any
// other white space becomes a space, and hidden characters are escaped.
func Lines(s string) string {
	var b strings.Builder
	for line := range strings.Lines(s) {
		b.WriteString(escape(strings.TrimRight(line, "\r\n"), "", true))
		b.WriteByte('\n')
	}
	return b.String()
}

// Escape returns s with its hidden characters escaped, including tabs, line breaks and
// unusual spaces.
func Escape(s string) string { return escape(s, "", false) }

// Quote returns s in double quotes, as a Go string, cut to n characters between
// them. A cut is marked by … before the closing quote.
func Quote(s string, n int) string {
	const special = `"\`
	s = escape(s, special, false)
	if end, left := cut(s, special, n); left > 0 {
		s = s[:end] + "…"
	}
	return `"` + s + `"`
}

// Clip returns the first n characters of the [Escape] of s, and … if there are
// more.
func Clip(s string, n int) string {
	s = Escape(s)
	if end, left := cut(s, "", n); left > 0 {
		return s[:end] + "…"
	}
	return s
}

// Cut is like [Clip], and appends how many characters it left out.
func Cut(s string, n int) string {
	s = Escape(s)
	if end, left := cut(s, "", n); left > 0 {
		return s[:end] + "… (" + Count(left, "more character") + ")"
	}
	return s
}

// JSON returns a JSON text with its hidden characters written as \uXXXX. The values do
// not change: a byte that is not UTF-8 becomes \ufffd, as decoders read it.
func JSON(doc []byte) []byte {
	var b []byte
	start := 0 // what comes before is in b
	for i := 0; i < len(doc); {
		if doc[i] < 0x7f {
			i++
			continue
		}
		r, size := utf8.DecodeRune(doc[i:])
		if Hidden(r) || size == 1 && r == utf8.RuneError {
			b = append(b, doc[start:i]...)
			if high, low := utf16.EncodeRune(r); high != utf8.RuneError {
				b = appendHex(b, 'u', 4, high)
				r = low
			}
			b = appendHex(b, 'u', 4, r)
			start = i + size
		}
		i += size
	}
	if b == nil {
		return doc
	}
	return append(b, doc[start:]...)
}

// Hidden reports whether a character is invisible or controls the display.
func Hidden(r rune) bool {
	return !unicode.IsPrint(r) || r > unicode.MaxLatin1 && unicode.In(r, ignored...)
}

// ignored holds the printable characters that are invisible. U+2800 is the Braille
// pattern without dots.
var ignored = []*unicode.RangeTable{
	unicode.Other_Default_Ignorable_Code_Point,
	unicode.Variation_Selector,
	{R16: []unicode.Range16{{Lo: 0x2800, Hi: 0x2800, Stride: 1}}, R32: []unicode.Range32{
		{Lo: 0x13441, Hi: 0x13442, Stride: 1}, // blanks of Egyptian hieroglyphs
		{Lo: 0x16fe4, Hi: 0x16fe4, Stride: 1}, // the filler of the Khitan small script
		{Lo: 0x1d159, Hi: 0x1d159, Stride: 1}, // the musical note without a head
	}},
}

// combines reports whether a character is a mark above, below or around the character
// before it.
func combines(r rune) bool { return r > unicode.MaxLatin1 && unicode.In(r, unicode.Mn, unicode.Me) }

// maxMarks is how many marks may combine with one character. Words of no language
// need so many.
const maxMarks = 8

// escape escapes the hidden characters of s, and puts a backslash before each
// one in special. With spaces, white space becomes a space instead.
func escape(s, special string, spaces bool) string {
	seen := false // the character before is visible
	marks := 0    // that combine with it
	start := 0    // what comes before is in b
	var b []byte
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		broken := r == utf8.RuneError && size == 1
		visible := !broken && !Hidden(r)
		if !combines(r) {
			marks = 0
		} else if marks++; !seen || marks > maxMarks {
			visible = false
		}
		switch {
		case visible && (special == "" || !strings.ContainsRune(special, r)), seen && (r == '\ufe0e' || r == '\ufe0f'):
			// stays
		case visible:
			b = append(append(b, s[start:i]...), '\\')
			start = i
		case spaces && unicode.IsSpace(r):
			b = append(append(b, s[start:i]...), ' ')
			start = i + size
		case broken:
			b = appendHex(append(b, s[start:i]...), 'x', 2, rune(s[i]))
			start = i + size
		default:
			b = appendEscape(append(b, s[start:i]...), r)
			start = i + size
		}
		seen = visible && r != ' '
		i += size
	}
	if start == 0 && b == nil {
		return s
	}
	return string(append(b, s[start:]...))
}

// appendEscape appends a character as Go escapes it.
func appendEscape(b []byte, r rune) []byte {
	if at := strings.IndexRune("\a\b\f\n\r\t\v", r); at >= 0 {
		return append(b, '\\', letters[at])
	}
	switch {
	case r < utf8.RuneSelf:
		return appendHex(b, 'x', 2, r)
	case r <= 0xffff:
		return appendHex(b, 'u', 4, r)
	}
	return appendHex(b, 'U', 8, r)
}

const (
	letters = "abfnrtv" // escapes of one letter
	hex     = "0123456789abcdef"
)

func appendHex(b []byte, kind byte, digits int, r rune) []byte {
	b = append(b, '\\', kind)
	for digits--; digits >= 0; digits-- {
		b = append(b, hex[r>>(4*digits)&15])
	}
	return b
}

// cut returns where the first n characters of an escaped text end, or earlier, where an
// escape that would be cut in two begins. left is the number of characters after that.
func cut(s, special string, n int) (end, left int) {
	for chars := 0; end < len(s); {
		size := unit(s[end:], special)
		if chars += utf8.RuneCountInString(s[end : end+size]); chars > n {
			return end, utf8.RuneCountInString(s[end:])
		}
		end += size
	}
	return end, 0
}

// unit returns the length in bytes of the character or escape that s begins with.
func unit(s, special string) int {
	if s[0] != '\\' || len(s) == 1 {
		_, size := utf8.DecodeRuneInString(s)
		return size
	}
	digits := 0
	switch c := s[1]; {
	case strings.IndexByte(letters, c) >= 0, strings.IndexByte(special, c) >= 0:
		return 2
	case c == 'x':
		digits = 2
	case c == 'u':
		digits = 4
	case c == 'U':
		digits = 8
	default:
		return 1
	}
	end := 2 + digits
	if len(s) < end || strings.Trim(s[2:end], hex) != "" {
		return 1
	}
	return end
}

// plain reports whether [Line] would change nothing.
func plain(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] >= 0x7f || s[i] == ' ' && (i == 0 || i == len(s)-1 || s[i-1] == ' ') {
			return false
		}
	}
	return true
}
