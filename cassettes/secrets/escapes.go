package secrets

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// opened undoes the escapes of a text: those of JSON strings, and those of URLs
// if percent is set. Everything else stays.
func opened(text string, percent bool) string {
	i := special(text, 0, percent)
	if i == len(text) {
		return text
	}
	looked.Add(int64(len(text)))
	out := make([]byte, 0, len(text))
	for at := 0; at < len(text); {
		out = append(out, text[at:i]...)
		at = i
		if at < len(text) {
			var width int
			out, width = unit(out, text, at)
			at += width
			i = special(text, at, percent)
		}
	}
	return string(out)
}

// closed maps spans of the opened text to spans of the text. They are sorted and
// do not overlap. An escape that belongs to a span in part is in it as a whole.
func closed(text string, spans []span, percent bool) []span {
	looked.Add(int64(len(text)))
	c := cursor{text: text, percent: percent}
	for i := range spans {
		spans[i].start = c.to(spans[i].start, false)
		spans[i].end = c.to(spans[i].end, true)
	}
	return spans
}

// A cursor walks through a text and its opened text. It is at a run of bytes without
// an escape, or at an escape.
type cursor struct {
	text    string
	percent bool
	in, out int // its place in the text and in the opened text
	width   int // the length of the run or escape in the text
	length  int // and in the opened text
	escape  bool
	buffer  [8]byte
}

// to returns the place in the text of a place in the opened text. Places must not
// decrease from one use to the next. Within an escape it is the escape's end if
// end is set, else its start.
func (c *cursor) to(place int, end bool) int {
	for place > c.out+c.length {
		c.in, c.out = c.in+c.width, c.out+c.length
		next := special(c.text, c.in, c.percent)
		c.width, c.length, c.escape = next-c.in, next-c.in, false
		if c.width == 0 {
			var u []byte
			u, c.width = unit(c.buffer[:0], c.text, c.in)
			c.length, c.escape = len(u), true
		}
	}
	switch at := place - c.out; {
	case !c.escape:
		return c.in + at
	case at == c.length || at > 0 && end:
		return c.in + c.width
	default:
		return c.in
	}
}

// special returns the next place where an escape may begin.
func special(text string, from int, percent bool) int {
	var i int
	if percent {
		i = strings.IndexAny(text[from:], `\%`)
	} else {
		i = strings.IndexByte(text[from:], '\\')
	}
	if i < 0 {
		return len(text)
	}
	return from + i
}

// unit appends the character of the escape at i, and returns the escape's width.
func unit(out []byte, text string, i int) ([]byte, int) {
	rest := text[i:]
	if rest[0] == '%' {
		if len(rest) >= 3 {
			if b, err := strconv.ParseUint(rest[1:3], 16, 8); err == nil {
				return append(out, byte(b)), 3
			}
		}
		return append(out, '%'), 1
	}
	if len(rest) < 2 {
		return append(out, '\\'), 1
	}
	if j := strings.IndexByte(`"\/'bfnrt`, rest[1]); j >= 0 {
		return append(out, "\"\\/'\b\f\n\r\t"[j]), 2
	}
	r, ok := hex4(rest)
	if !ok {
		return append(out, '\\'), 1
	}
	if utf16.IsSurrogate(r) {
		if second, ok := hex4(rest[6:]); ok {
			if both := utf16.DecodeRune(r, second); both != utf8.RuneError {
				return utf8.AppendRune(out, both), 12
			}
		}
		r = utf8.RuneError
	}
	return utf8.AppendRune(out, r), 6
}

// hex4 reads \u12ab.
func hex4(s string) (rune, bool) {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(s[2:6], 16, 32)
	return rune(n), err == nil
}

// formed undoes the + that a form writes for a space. Every place stays where it
// is. A + may be a space in a run of characters that forms consist of, unless a /
// touches the run: base64 and paths are not forms. If the run has %XX in it, the +
// surely is a space.
func formed(text string, surely bool) string {
	if !strings.Contains(text, "+") {
		return text
	}
	looked.Add(int64(len(text)))
	out := []byte(text)
	for i := 0; i < len(text); i++ {
		start, sure := i, false
		for i < len(text) && isForm(text[i]) {
			sure = sure || text[i] == '%' && i+2 < len(text) && isHex(text[i+1]) && isHex(text[i+2])
			i++
		}
		if start > 0 && text[start-1] == '/' || i < len(text) && text[i] == '/' || surely && !sure {
			continue
		}
		for j := start + 1; j < i-1; j++ {
			if text[j] == '+' {
				out[j] = ' '
			}
		}
	}
	return string(out)
}

func isForm(c byte) bool { return isWord(c) || strings.IndexByte("+%.*~&=-", c) >= 0 }

func isHex(c byte) bool { return isDigit(c) || 'a' <= lower(c) && lower(c) <= 'f' }
