package contract

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// limits are the bounds of a JSON text.
type limits struct {
	bytes int
	depth int // levels of objects and arrays
}

const (
	maxValues = 100_000 // values in a text, estimated from above
	maxNumber = 400     // characters of a number, and its largest exponent
	maxSteps  = 500_000 // steps of a check, about a second at worst
	maxNested = 200_000 // levels of a text times nested schemas that one of its values may be checked against
)

var schemaLimits = limits{bytes: 64 << 10, depth: 100}

// textLimits returns the limits of texts that are checked against the schema doc.
func textLimits(doc any) limits {
	return limits{bytes: 1 << 20, depth: min(1000, maxNested/(schemaLimits.depth+references(doc)))}
}

// references returns the number of references in a schema.
func references(doc any) int {
	n := 0
	switch v := doc.(type) {
	case map[string]any:
		for name, field := range v {
			if strings.HasPrefix(name, "$") && strings.HasSuffix(strings.ToLower(name), "ref") {
				n++
			}
			n += references(field)
		}
	case []any:
		for _, item := range v {
			n += references(item)
		}
	}
	return n
}

// read reads one JSON value and keeps numbers as they are written. The error says
// what is wrong, and where as the number of bytes before it.
func read(text string, l limits) (any, error) {
	if len(text) > l.bytes {
		return nil, fmt.Errorf("%d bytes are more than the %d that can be checked", len(text), l.bytes)
	}
	s := measure(text)
	switch {
	case s.depth > l.depth:
		return nil, fmt.Errorf("nested deeper than %d levels", l.depth)
	case s.values > maxValues:
		return nil, fmt.Errorf("more than %d values, which are too many to be checked", maxValues)
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var value any
	if err := d.Decode(&value); err != nil {
		return nil, notJSON(err, len(text))
	}
	rest := strings.TrimLeft(text[d.InputOffset():], " \t\r\n")
	switch {
	case rest != "":
		return nil, fmt.Errorf("not JSON: something follows the value at position %d", len(text)-len(rest))
	case s.large >= 0:
		return nil, fmt.Errorf("the number at position %d is too large to be checked", s.large)
	case s.members != members(value):
		return nil, errors.New("an object has the same key twice")
	}
	return value, nil
}

func notJSON(err error, length int) error {
	if wrong := new(json.SyntaxError); errors.As(err, &wrong) {
		return fmt.Errorf("not JSON: %w at position %d", err, wrong.Offset-1)
	}
	return fmt.Errorf("not JSON: unexpected end at position %d", length)
}

// measured is the size of a JSON text.
type measured struct {
	depth   int // levels
	values  int // an upper bound
	members int // the members of all objects
	large   int // the offset of the first number that is too large, -1 = none
}

// measure measures a JSON text without decoding it.
func measure(text string) measured {
	s := measured{values: 1, large: -1}
	depth := 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '"':
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			s.values++
			depth++
			s.depth = max(s.depth, depth)
		case '}', ']':
			depth--
		case ',':
			s.values++
		case ':':
			s.members++
		case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
			start := i
			for i+1 < len(text) && strings.IndexByte("+-.0123456789eE", text[i+1]) >= 0 {
				i++
			}
			if s.large < 0 && large(text[start:i+1]) {
				s.large = start
			}
		}
	}
	return s
}

// large reports whether a number is too long or its exponent too large or small.
func large(number string) bool {
	if len(number) > maxNumber {
		return true
	}
	i := strings.IndexAny(number, "eE")
	if i < 0 {
		return false
	}
	exponent, err := strconv.Atoi(number[i+1:])
	return err != nil || exponent > maxNumber || exponent < -maxNumber
}

// members returns the number of members of all objects in a value.
func members(value any) int {
	n := 0
	switch v := value.(type) {
	case map[string]any:
		n = len(v)
		for _, field := range v {
			n += members(field)
		}
	case []any:
		for _, item := range v {
			n += members(item)
		}
	}
	return n
}

// write returns the text of a value that read returned, with sorted keys.
func write(value any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(value) // what was read can be written
	return strings.TrimSuffix(b.String(), "\n")
}
