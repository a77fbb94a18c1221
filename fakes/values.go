package fakes

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/loop"
)

// A template is a parsed text with ${…} values.
type template struct {
	text  string // the whole text, if parts is nil
	parts []part
}

type partKind uint8

const (
	literal partKind = iota
	turnValue
	callValue
	seedValue
	randValue
	pickValue
	resultValue
)

type part struct {
	kind  partKind
	text  string   // literal: the text; else the value as written, without ${ and }
	words []string // pick: the choices; result: the path to the field, empty = the whole text
	low   int64    // rand: the lowest number; result: the call's number, 0 = the last result
	count uint64   // rand: the number of possible values
}

// random reports whether the template's text depends on the seed.
func (t *template) random() bool {
	for i := range t.parts {
		switch t.parts[i].kind {
		case seedValue, randValue, pickValue:
			return true
		}
	}
	return false
}

// parse reads a text. args is set for the arguments of a call, which may use
// results.
func parse(text string, args bool) (template, error) {
	t := template{text: text}
	values := strings.Count(text, "${")
	if values == 0 {
		return t, nil
	}
	t.parts = make([]part, 0, 2*values+1)
	say := func(s string) {
		if s != "" {
			t.parts = append(t.parts, part{kind: literal, text: s})
		}
	}
	for {
		before, rest, found := strings.Cut(text, "${")
		if !found {
			say(text)
			return t, nil
		}
		if plain, escaped := strings.CutSuffix(before, "$"); escaped {
			say(plain + "${")
			text = rest
			continue
		}
		inner, after, closed := strings.Cut(rest, "}")
		if !closed {
			return t, fmt.Errorf("${ without }: %.40q (a plain ${ is written $${)", "${"+rest)
		}
		p, err := parsePart(inner, args)
		if err != nil {
			return t, fmt.Errorf("${%s}: %w", clip(inner), err)
		}
		say(before)
		t.parts = append(t.parts, p)
		text = after
	}
}

func parsePart(inner string, args bool) (part, error) {
	name, arg, _ := strings.Cut(inner, ":")
	p := part{text: inner}
	switch {
	case inner == "turn":
		p.kind = turnValue
	case inner == "call":
		p.kind = callValue
	case inner == "seed":
		p.kind = seedValue
	case name == "rand":
		return p, p.readRange(arg)
	case name == "pick":
		p.kind, p.words = pickValue, strings.Split(arg, "|")
		if arg == "" {
			return p, errors.New("nothing to pick from; write ${pick:red|green}")
		}
	case name == "result" && args:
		return p, p.readResult(arg)
	case name == "result":
		return p, errors.New("only the arguments of a call can use a result")
	default:
		return p, errors.New("no such value; there are turn, call, seed, rand:1..6, pick:red|green and, in arguments, result:c3.id")
	}
	return p, nil
}

func (p *part) readRange(arg string) error {
	from, to, _ := strings.Cut(arg, "..")
	low, errLow := strconv.ParseInt(from, 10, 64)
	high, errHigh := strconv.ParseInt(to, 10, 64)
	if errLow != nil || errHigh != nil {
		return errors.New("not a range of whole numbers; write ${rand:1..6}")
	}
	if low > high || uint64(high)-uint64(low) == 1<<64-1 {
		return errors.New("a range goes from the lower to the higher number")
	}
	p.kind, p.low, p.count = randValue, low, uint64(high)-uint64(low)+1
	return nil
}

func (p *part) readResult(arg string) error {
	path := strings.Split(arg, ".")
	if path[0] != "last" {
		n, err := strconv.Atoi(strings.TrimPrefix(path[0], "c"))
		if err != nil || n < 1 || path[0][0] != 'c' {
			return errors.New("no such result; write ${result:c3.id} for call 3, ${result:last.id} for the last")
		}
		p.low = int64(n)
	}
	p.kind, p.words = resultValue, path[1:]
	return nil
}

// vars supplies the values of a template.
type vars struct {
	turn, call int
	seed       uint64
	key        key            // of the thing that the text belongs to
	history    []loop.Message // for results
}

// append appends the template's text to b. It fails only if a result is missing.
func (t *template) append(b []byte, v *vars) ([]byte, error) {
	if t.parts == nil {
		return append(b, t.text...), nil
	}
	for i := range t.parts {
		p := &t.parts[i]
		switch p.kind {
		case literal:
			b = append(b, p.text...)
		case turnValue:
			b = strconv.AppendInt(b, int64(v.turn), 10)
		case callValue:
			b = strconv.AppendInt(b, int64(v.call), 10)
		case seedValue:
			b = strconv.AppendUint(b, v.seed, 10)
		case randValue:
			b = strconv.AppendInt(b, p.low+int64(v.key.of(i).below(p.count)), 10)
		case pickValue:
			b = append(b, p.words[v.key.of(i).below(uint64(len(p.words)))]...)
		case resultValue:
			field, err := p.find(v.history)
			if err != nil {
				return b, fmt.Errorf("no value for ${%s}: %w", clip(p.text), err)
			}
			b = append(b, field...)
		}
	}
	return b, nil
}

// find returns the value of a result in the history. It writes a string in the
// form that it has between the quotes of a JSON string, and any other value as
// JSON, so that no result can break out of the arguments that quote it.
func (p *part) find(history []loop.Message) ([]byte, error) {
	m := findResult(history, int(p.low))
	switch {
	case m == nil && p.low == 0:
		return nil, errors.New("there is no result yet")
	case m == nil:
		return nil, fmt.Errorf("the history has no result of call c%d", p.low)
	case len(p.words) == 0:
		return unquoted(m.Text), nil
	}
	value, err := decode(m.Text)
	if err != nil {
		return nil, fmt.Errorf("the result of call %v is not JSON: %s", m.Ref, clip(m.Text))
	}
	for _, name := range p.words {
		next, ok := member(value, name)
		if !ok {
			return nil, fmt.Errorf("the result of call %v has no %s there: %s", m.Ref, quoted(name), clip(m.Text))
		}
		value = next
	}
	if s, ok := value.(string); ok {
		return unquoted(s), nil
	}
	return encode(value), nil
}

// findResult returns the result of call n, or the last one for n = 0, or nil if
// the history has none.
func findResult(history []loop.Message, n int) *loop.Message {
	for i := len(history) - 1; i >= 0; i-- {
		if m := &history[i]; m.Role == loop.ToolRole && (n == 0 || m.Ref.N == n) {
			return m
		}
	}
	return nil
}

// member returns a field of an object, or an entry of an array by its index.
func member(value any, name string) (any, bool) {
	switch v := value.(type) {
	case map[string]any:
		next, ok := v[name]
		return next, ok
	case []any:
		if i, err := strconv.Atoi(name); err == nil && i >= 0 && i < len(v) {
			return v[i], true
		}
	}
	return nil, false
}

// decode reads one JSON value and keeps its numbers as written.
func decode(text string) (any, error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var value any
	if err := d.Decode(&value); err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("text after the value")
	}
	return value, nil
}

// encode returns the JSON of a value from decode.
func encode(value any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		return nil // a decoded value can always be written
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// unquoted returns s in the form that it has between the quotes of a JSON string.
func unquoted(s string) []byte {
	quoted := encode(s)
	return quoted[1 : len(quoted)-1]
}

// quoted returns a text for an error: in quotes, at most shownChars long.
func quoted(s string) string { return text.Quote(s, shownChars) }

// clip returns a text for an error: on one line, without quotes, at most
// shownChars long.
func clip(s string) string { return text.Clip(text.Line(s), shownChars) }

// shownChars is the number of characters of a text that an error shows.
const shownChars = 80

// runes returns the number of bytes in the first n characters of s.
func runes(s string, n int) int {
	for i := range s {
		if n == 0 {
			return i
		}
		n--
	}
	return len(s)
}

// pad repeats text, or "x" if it is empty, up to that number of characters.
func pad(text string, chars int) string {
	if chars <= 0 {
		return text
	}
	have := utf8.RuneCountInString(text)
	if have >= chars {
		return text
	}
	if have == 0 {
		text, have = "x", 1
	}
	return strings.Repeat(text, chars/have) + text[:runes(text, chars%have)]
}
