package serve

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"unicode/utf16"
	"unicode/utf8"
)

// A value is a value of a valid JSON text, so its methods need no checks. The nil
// value is a missing one.
type value []byte

// parse checks a JSON text and returns its value.
func parse(text []byte) (value, error) {
	if json.Valid(text) {
		return bytes.TrimSpace(text), nil
	}
	var v any
	err := json.Unmarshal(text, &v)
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return nil, fmt.Errorf("the body is not JSON: at byte %d: %w", syntax.Offset, err)
	}
	return nil, errors.New("the body is not JSON")
}

// is reports whether the value begins like a string ("), an object ({), an
// array ([), true (t), false (f) or null (n).
func (v value) is(first byte) bool { return len(v) > 0 && v[0] == first }

// null reports whether the value is null or missing.
func (v value) null() bool { return len(v) == 0 || v[0] == 'n' }

// kind returns the type of the value, for errors.
func (v value) kind() string {
	switch {
	case len(v) == 0:
		return "nothing"
	case v[0] == '"':
		return "a string"
	case v[0] == '{':
		return "an object"
	case v[0] == '[':
		return "an array"
	case v[0] == 't', v[0] == 'f':
		return "a boolean"
	case v[0] == 'n':
		return "null"
	}
	return "a number"
}

// fields yields the fields of an object, with the raw text of their names between
// the quotes. It yields nothing for any other value.
func (v value) fields() iter.Seq2[[]byte, value] {
	return func(yield func([]byte, value) bool) {
		if !v.is('{') {
			return
		}
		for i := v.next(1); v[i] != '}'; i = v.next(i) {
			end := v.end(i)
			name := v[i+1 : end-1]
			i = v.next(end)
			end = v.end(i)
			if !yield(name, v[i:end]) {
				return
			}
			i = end
		}
	}
}

// items yields the entries of an array. It yields nothing for any other value.
func (v value) items() iter.Seq[value] {
	return func(yield func(value) bool) {
		if !v.is('[') {
			return
		}
		for i := v.next(1); v[i] != ']'; i = v.next(i) {
			end := v.end(i)
			if !yield(v[i:end]) {
				return
			}
			i = end
		}
	}
}

// empty reports whether an array has no entries.
func (v value) empty() bool {
	for range v.items() {
		return false
	}
	return true
}

// field returns the last field with that name of an object, or nil if there is
// none.
func (v value) field(name string) (found value) {
	for n, f := range v.fields() {
		if string(n) == name {
			found = f
		}
	}
	return found
}

// next returns the offset of the next token from i on: it skips white space, commas
// and colons.
func (v value) next(i int) int {
	for {
		switch v[i] {
		case ' ', '\t', '\n', '\r', ',', ':':
			i++
		default:
			return i
		}
	}
}

// end returns the offset after the value that begins at i.
func (v value) end(i int) int {
	switch v[i] {
	case '"':
		return v.quote(i) + 1
	case '{', '[':
		for depth := 0; ; i++ {
			switch v[i] {
			case '"':
				i = v.quote(i)
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return i + 1
				}
			}
		}
	}
	for i < len(v) {
		switch v[i] {
		case ' ', '\t', '\n', '\r', ',', ']', '}':
			return i
		}
		i++
	}
	return i
}

// quote returns the offset of the closing quote of the string that begins at i.
func (v value) quote(i int) int {
	for begin := i + 1; ; {
		i += 1 + bytes.IndexByte(v[i+1:], '"')
		k := i
		for k > begin && v[k-1] == '\\' {
			k--
		}
		if (i-k)%2 == 0 {
			return i
		}
	}
}

// text returns the text of a string, and "" for any other value.
func (v value) text() string {
	if !v.is('"') {
		return ""
	}
	v = v[1 : len(v)-1]
	i := bytes.IndexByte(v, '\\')
	if i < 0 {
		return string(v)
	}
	out := make([]byte, 0, len(v))
	for ; i >= 0; i = bytes.IndexByte(v, '\\') {
		out = append(out, v[:i]...)
		n := 2
		switch c := v[i+1]; c {
		case 'n':
			out = append(out, '\n')
		case 't':
			out = append(out, '\t')
		case 'r':
			out = append(out, '\r')
		case 'b':
			out = append(out, '\b')
		case 'f':
			out = append(out, '\f')
		case 'u':
			var r rune
			r, n = unit(v[i:])
			out = utf8.AppendRune(out, r)
		default:
			out = append(out, c)
		}
		v = v[i+n:]
	}
	return string(append(out, v...))
}

// unit reads the escape \uXXXX, or the two escapes of a surrogate pair. It returns
// the character and the number of bytes read. Half a pair becomes U+FFFD.
func unit(v []byte) (rune, int) {
	r := hex(v[2:6])
	if !utf16.IsSurrogate(r) {
		return r, 6
	}
	if len(v) >= 12 && v[6] == '\\' && v[7] == 'u' {
		if both := utf16.DecodeRune(r, hex(v[8:12])); both != utf8.RuneError {
			return both, 12
		}
	}
	return utf8.RuneError, 6
}

func hex(digits []byte) (r rune) {
	for _, c := range digits {
		r <<= 4
		switch {
		case c <= '9':
			r |= rune(c - '0')
		default:
			r |= rune(c|0x20-'a') + 10
		}
	}
	return r
}

// appendText writes a text as a JSON string. Each byte that is not UTF-8 becomes
// U+FFFD.
func appendText(b []byte, s string) []byte {
	const digits = "0123456789abcdef"
	b = append(b, '"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && n == 1 {
				b = append(append(b, s[from:i]...), `\ufffd`...)
				from = i + n
			}
			i += n
			continue
		}
		i++
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		b = append(b, s[from:i-1]...)
		from = i
		switch c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\n':
			b = append(b, '\\', 'n')
		case '\t':
			b = append(b, '\\', 't')
		default:
			b = append(b, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
		}
	}
	return append(append(b, s[from:]...), '"')
}
