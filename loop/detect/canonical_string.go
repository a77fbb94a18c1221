package detect

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// appendUnits appends the UTF-16 units of a string in canonical form.
func appendUnits(dst []uint16, s []byte) []uint16 {
	for len(s) > 0 {
		r, n := utf8.DecodeRune(s)
		if r == '\\' {
			r, n = unescape(s)
		}
		if utf16.IsSurrogate(r) {
			dst = append(dst, uint16(r))
		} else {
			dst = utf16.AppendRune(dst, r)
		}
		s = s[n:]
	}
	return dst
}

// unescape decodes the escape at the start of s, which is in canonical form, and
// returns its character and its length in bytes.
func unescape(s []byte) (r rune, n int) {
	if s[1] != 'u' {
		return rune(shortEscapes[s[1]]), 2
	}
	for _, digit := range s[2:6] {
		r = r<<4 | rune(hexDigits[digit]-1)
	}
	return r, 6
}

// shortEscapes maps the letter after a backslash to the character that the two
// mean. hexDigits maps a digit to its value plus one. Both hold 0 for any other
// byte.
var (
	shortEscapes = [256]byte{'"': '"', '\\': '\\', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}
	hexDigits    = [256]byte{
		'0': 1, '1': 2, '2': 3, '3': 4, '4': 5, '5': 6, '6': 7, '7': 8, '8': 9, '9': 10,
		'a': 11, 'b': 12, 'c': 13, 'd': 14, 'e': 15, 'f': 16,
		'A': 11, 'B': 12, 'C': 13, 'D': 14, 'E': 15, 'F': 16,
	}
)

// The classes of bytes inside a string.
const (
	plainByte = iota
	wideByte  // part of a character outside ASCII
	stopByte  // a quote, a backslash, a control character
)

var stringBytes = func() (class [256]byte) {
	for b := range class {
		switch {
		case b < ' ' || b == '"' || b == '\\':
			class[b] = stopByte
		case b >= utf8.RuneSelf:
			class[b] = wideByte
		}
	}
	return class
}()

// str reads a string. plain reports whether it is ASCII without escapes.
func (c *Canon) str() (plain, ok bool) {
	src, i := c.src, c.pos+1
	copied := c.pos // src is in out up to here
	plain = true
	for i < len(src) {
		switch b := src[i]; {
		case stringBytes[b] == plainByte:
			i++
		case stringBytes[b] == wideByte:
			plain = false
			i++
		case b == '"':
			c.out = append(c.out, src[copied:i+1]...)
			c.pos = i + 1
			return plain, true
		case b != '\\':
			c.pos = i
			return false, c.invalid("in a string")
		case i+1 < len(src) && shortEscapes[src[i+1]] != 0:
			plain = false
			i += 2
		default:
			plain = false
			c.out = append(c.out, src[copied:i]...)
			c.pos = i + 1
			if !c.escape() {
				return false, false
			}
			i, copied = c.pos, c.pos
		}
	}
	c.pos = len(src)
	return false, c.ended()
}

// escape reads what follows a backslash, except the short escapes, which str
// copies: \/ and \u escapes.
func (c *Canon) escape() bool {
	if c.at('/') {
		c.take()
		return true
	}
	if !c.at('u') {
		return c.invalid("after a backslash")
	}
	c.pos++
	r, ok := c.hex4()
	if !ok {
		return false
	}
	if utf16.IsSurrogate(r) && strings.HasPrefix(c.src[c.pos:], `\u`) {
		here := c.pos
		c.pos += len(`\u`)
		low, ok := c.hex4()
		if !ok {
			return false
		}
		if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
			r = pair
		} else {
			c.pos = here
		}
	}
	c.out = appendChar(c.out, r)
	return true
}

// hex4 reads four hexadecimal digits.
func (c *Canon) hex4() (r rune, ok bool) {
	for range 4 {
		if c.pos == len(c.src) || hexDigits[c.src[c.pos]] == 0 {
			return 0, c.invalid(`in a \u escape`)
		}
		r = r<<4 | rune(hexDigits[c.src[c.pos]]-1)
		c.pos++
	}
	return r, true
}

// appendChar appends a character of a string in canonical form.
func appendChar(dst []byte, r rune) []byte {
	const hex = "0123456789abcdef"
	switch {
	case r < utf8.RuneSelf && stringBytes[r] == plainByte, r >= utf8.RuneSelf && !utf16.IsSurrogate(r):
		return utf8.AppendRune(dst, r)
	case utf16.IsSurrogate(r):
		return append(dst, '\\', 'u', hex[r>>12], hex[r>>8&15], hex[r>>4&15], hex[r&15])
	}
	if i := strings.IndexByte("\"\\\b\f\n\r\t", byte(r)); i >= 0 {
		return append(dst, '\\', `"\bfnrt`[i])
	}
	return append(dst, '\\', 'u', '0', '0', hex[r>>4], hex[r&15])
}
