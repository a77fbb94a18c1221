// Package rawjson takes valid JSON apart without copying it and without checking it
// again.
//
// A reader of recorded runs checks a record once, with [json.Valid], and then looks into
// it many times: for its format, its messages, their blocks. [json.Unmarshal] would check
// and copy the rest of the record each time.
//
// Every function returns what json.Unmarshal would for valid JSON without white space
// around it. For anything else it returns something, or nothing, and does not panic.
package rawjson

import (
	"bytes"
	"encoding/json"
	"iter"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Object returns the fields of an object, nil for anything else. Of fields with the same
// name the last counts. The values share the memory of raw.
func Object(raw []byte) map[string]json.RawMessage {
	if len(raw) == 0 || raw[0] != '{' {
		return nil
	}
	fields := map[string]json.RawMessage{}
	for name, value := range members(raw) {
		fields[name] = value
	}
	return fields
}

// members yields the names and the values of an object.
func members(raw []byte) iter.Seq2[string, json.RawMessage] {
	return func(yield func(string, json.RawMessage) bool) {
		eachMember(raw, func(name string, from, to int) bool { return yield(name, raw[from:to:to]) })
	}
}

// eachMember visits the members of an object: the name of each, and where its value
// begins and ends.
func eachMember(raw []byte, visit func(name string, from, to int) bool) {
	for i := space(raw, 1); i < len(raw) && raw[i] == '"'; i = space(raw, i+1) {
		end := endOfString(raw, i)
		name, ok := String(raw[i:end])
		if i = space(raw, end); !ok || i == len(raw) || raw[i] != ':' {
			return
		}
		i = space(raw, i+1)
		if end = endOf(raw, i); end == i || !visit(name, i, end) {
			return
		}
		if i = space(raw, end); i == len(raw) || raw[i] != ',' {
			return
		}
	}
}

// Place returns where the value of a field of an object begins, and whether the object
// has exactly one field that [json.Unmarshal] takes for it: of that name, in any case.
func Place(raw []byte, name string) (at int, ok bool) {
	if len(raw) == 0 || raw[0] != '{' {
		return 0, false
	}
	n := 0
	eachMember(raw, func(other string, from, _ int) bool {
		if strings.EqualFold(other, name) {
			n++
			at = from
		}
		return true
	})
	return at, n == 1
}

// Next returns where the element of an array begins and ends that comes first at or
// behind i: behind the bracket of the array, or behind an element. Without one, from is
// where the array ends, and to is 0. ok is false if raw is cut off there or has something
// else.
func Next(raw []byte, i int, first bool) (from, to int, ok bool) {
	i = space(raw, i)
	switch {
	case i == len(raw):
		return i, 0, false
	case raw[i] == ']':
		return i, 0, true
	case !first && raw[i] != ',':
		return i, 0, false
	case !first:
		i = space(raw, i+1)
	}
	to = endOf(raw, i)
	return i, to, to > i
}

// Array returns the elements of an array, nil for anything else. They share the memory
// of raw.
func Array(raw []byte) []json.RawMessage {
	if len(raw) == 0 || raw[0] != '[' {
		return nil
	}
	items := []json.RawMessage{}
	for _, item := range Elements(raw) {
		items = append(items, item)
	}
	return items
}

// Elements yields the elements of an array and where each begins in raw, none for
// anything else.
func Elements(raw []byte) iter.Seq2[int, json.RawMessage] {
	return func(yield func(int, json.RawMessage) bool) {
		if len(raw) == 0 || raw[0] != '[' {
			return
		}
		for i := space(raw, 1); i < len(raw); i = space(raw, i+1) {
			end := endOf(raw, i)
			if end == i || !yield(i, raw[i:end:end]) {
				return
			}
			if i = space(raw, end); i == len(raw) || raw[i] != ',' {
				return
			}
		}
	}
}

// String returns the text of a string, and whether raw is one.
func String(raw []byte) (string, bool) {
	if len(raw) < 2 || raw[0] != '"' || raw[len(raw)-1] != '"' {
		return "", false
	}
	s := raw[1 : len(raw)-1]
	if !utf8.Valid(s) {
		var text string
		err := json.Unmarshal(raw, &text)
		return text, err == nil
	}
	if bytes.IndexByte(s, '\\') < 0 {
		return string(s), true
	}
	return unescaped(s)
}

// escapes are the characters that a backslash and another character stand for.
var escapes = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// unescaped returns a text for what is written between its quotes.
func unescaped(s []byte) (string, bool) {
	text := make([]byte, 0, len(s))
	for {
		at := bytes.IndexByte(s, '\\')
		if at < 0 {
			return string(append(text, s...)), true
		}
		text, s = append(text, s[:at]...), s[at:]
		switch {
		case len(s) > 1 && escapes[s[1]] != 0:
			text, s = append(text, escapes[s[1]]), s[2:]
		default:
			r, ok := unit(s)
			if !ok {
				return "", false
			}
			s = s[6:]
			if utf16.IsSurrogate(r) {
				low, _ := unit(s)
				if r = utf16.DecodeRune(r, low); r != utf8.RuneError {
					s = s[6:]
				}
			}
			text = utf8.AppendRune(text, r)
		}
	}
}

// unit returns the number in an escape such as \u00e9 at the beginning of s.
func unit(s []byte) (r rune, ok bool) {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return 0, false
	}
	for _, c := range s[2:6] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

// Depth returns how deep the brackets of JSON are nested.
func Depth(raw []byte) int {
	depth, deepest := 0, 0
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case '"':
			i = endOfString(raw, i) - 1
		case '{', '[':
			depth++
			deepest = max(deepest, depth)
		case '}', ']':
			depth--
		}
	}
	return deepest
}

// space returns where the white space that begins at i ends.
func space(raw []byte, i int) int {
	for i < len(raw) && (raw[i] == ' ' || raw[i] == '\n' || raw[i] == '\t' || raw[i] == '\r') {
		i++
	}
	return i
}

// endOf returns where the value that begins at i ends; i itself where there is none.
func endOf(raw []byte, i int) int {
	depth := 0
	for ; i < len(raw); i++ {
		switch raw[i] {
		case '"':
			i = endOfString(raw, i) - 1
			if depth == 0 {
				return i + 1
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
			if depth < 0 {
				return i
			}
		case ',', ' ', '\n', '\t', '\r':
			if depth == 0 {
				return i
			}
		}
	}
	return i
}

// endOfString returns where the string ends whose first quote is at i: behind its last
// quote, or where raw ends.
func endOfString(raw []byte, i int) int {
	for from := i + 1; ; {
		at := bytes.IndexByte(raw[from:], '"')
		if at < 0 {
			return len(raw)
		}
		from += at + 1
		back := from - 2 // of the quote, over the backslashes before it
		for back > i && raw[back] == '\\' {
			back--
		}
		if (from-2-back)%2 == 0 {
			return from
		}
	}
}
