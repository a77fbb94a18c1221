package goldens

import (
	"encoding/json"
	"strconv"
	"strings"
)

// A jsonPath leads to values in a JSON document. Each step is a key, an index, or any
// of both.
type jsonPath []step

type step struct {
	key   string
	index int
	kind  stepKind
}

type stepKind uint8

const (
	byKey stepKind = iota
	byIndex
	byAny
)

const maxSteps = 32

func isNameByte(b byte) bool {
	return 'A' <= b && b <= 'Z' || 'a' <= b && b <= 'z' || isDigit(b) || b == '_'
}

// path parses a path.
func (s *scanner) path() jsonPath {
	if s.err == nil && !s.after("$") {
		s.fail("such as $.query or $.items[0]", "a path begins with $, not with %s", shown(s.rest))
	}
	var p jsonPath
	for s.err == nil {
		switch {
		case len(p) == maxSteps:
			s.fail("", "the path has more than %d steps", maxSteps)
		case s.after("."):
			key := s.run(isNameByte)
			if key == "" {
				s.fail(`other keys are written ["so"]`, "expected a key of letters, digits and _ before %s", shown(s.rest))
			}
			p = append(p, step{key: key})
		case s.after("["):
			p = append(p, s.bracket())
		default:
			return p
		}
	}
	return nil
}

// bracket parses a step in brackets, after the opening one.
func (s *scanner) bracket() (st step) {
	switch {
	case s.after("*"):
		st.kind = byAny
	case strings.HasPrefix(s.rest, `"`):
		st.key = s.quoted("a key")
	default:
		var err error
		digits := s.run(isDigit)
		if st.index, err = strconv.Atoi(digits); err != nil {
			s.fail("", `expected an index, * or a quoted key before %s`, shown(digits+s.rest))
		}
		st.kind = byIndex
	}
	if s.err == nil && !s.after("]") {
		s.fail("", "expected ] before %s", shown(s.rest))
	}
	return st
}

func (p jsonPath) String() string {
	var b strings.Builder
	b.WriteByte('$')
	for _, st := range p {
		switch {
		case st.kind == byAny:
			b.WriteString("[*]")
		case st.kind == byIndex:
			b.WriteString("[" + strconv.Itoa(st.index) + "]")
		case strings.ContainsFunc(st.key, func(c rune) bool { return c >= 0x80 || !isNameByte(byte(c)) }):
			b.WriteString("[" + strconv.Quote(st.key) + "]")
		default:
			b.WriteString("." + st.key)
		}
	}
	return b.String()
}

// removed marks a value for removal.
type removed struct{}

// remove removes the values that the path leads to from the document, in place, and
// reports whether there were any. A whole document, and an element of a list, become
// null.
func (p jsonPath) remove(doc any) (any, bool) {
	if len(p) == 0 {
		return nil, true
	}
	found := false
	at := func(v any) any {
		if len(p) == 1 {
			found = true
			return removed{}
		}
		v, ok := p[1:].remove(v)
		found = found || ok
		return v
	}
	switch d := doc.(type) {
	case map[string]any:
		for key, v := range d {
			if !p[0].takesKey(key) {
				continue
			}
			if d[key] = at(v); d[key] == any(removed{}) {
				delete(d, key)
			}
		}
	case []any:
		for i, v := range d {
			if !p[0].takesIndex(i) {
				continue
			}
			if d[i] = at(v); d[i] == any(removed{}) {
				d[i] = nil
			}
		}
	}
	return doc, found
}

func (st step) takesKey(key string) bool {
	return st.kind == byAny || st.kind == byKey && st.key == key
}

func (st step) takesIndex(i int) bool { return st.kind == byAny || st.kind == byIndex && st.index == i }

// pair replaces each value in b that the path leads to by the result of f, if the path
// leads to a value in a too.
func (p jsonPath) pair(a, b any, f func(a, b any) any) any {
	if len(p) == 0 {
		return f(a, b)
	}
	switch b := b.(type) {
	case map[string]any:
		a, _ := a.(map[string]any)
		for key, v := range b {
			if other, both := a[key]; both && p[0].takesKey(key) {
				b[key] = p[1:].pair(other, v, f)
			}
		}
	case []any:
		a, _ := a.([]any)
		for i, v := range b {
			if i < len(a) && p[0].takesIndex(i) {
				b[i] = p[1:].pair(a[i], v, f)
			}
		}
	}
	return b
}

// parseJSON parses a JSON document and keeps its numbers as they are written. ok is
// false if the text is not JSON.
func parseJSON(text string) (doc any, ok bool) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if d.Decode(&doc) != nil {
		return nil, false
	}
	return doc, !d.More()
}

// writeJSON writes a document from [parseJSON], with sorted keys.
func writeJSON(doc any) string {
	b, err := json.Marshal(doc)
	if err != nil {
		return "" // cannot happen: the document was parsed from JSON
	}
	return string(b)
}

// jsonNumber returns the value of a number, and whether it is one.
func jsonNumber(v any) (float64, bool) {
	n, ok := v.(json.Number)
	if !ok {
		return 0, false
	}
	f, err := n.Float64()
	return f, err == nil
}
