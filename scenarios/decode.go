package scenarios

import (
	"encoding"
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// A decodable decodes itself from a node. what names the value in messages.
type decodable interface {
	decode(s *source, n ast.Node, what string)
}

// decode decodes a node into v by the yaml tags of its structs. It is strict, and
// reports every mistake. Missing keys leave v unchanged; a list replaces the previous
// one.
func (s *source) decode(n ast.Node, v reflect.Value, what string) {
	if forbidden(n) {
		return
	}
	if d, ok := v.Addr().Interface().(decodable); ok {
		d.decode(s, n, what)
		return
	}
	if u, ok := v.Addr().Interface().(encoding.TextUnmarshaler); ok {
		if n.Type() != ast.StringType && n.Type() != ast.IntegerType {
			s.mismatch(n, what, "a number or a range")
		} else if err := u.UnmarshalText([]byte(n.GetToken().Value)); err != nil {
			s.fail(n, what+": "+err.Error(), "")
		}
		return
	}
	if _, ok := v.Interface().(time.Duration); ok {
		if d, ok := s.duration(n, what); ok {
			v.SetInt(int64(d))
		}
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		s.decodeStruct(n, v, what)
	case reflect.Slice:
		s.decodeList(n, v, what)
	case reflect.Map:
		s.decodeMap(n, v, what)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		s.decode(n, v.Elem(), what)
	case reflect.String:
		if n.Type() == ast.IntegerType && what == statusEntry {
			v.SetString(n.GetToken().Value)
		} else if text, ok := s.text(n, what); ok {
			v.SetString(text)
		}
	case reflect.Bool:
		if b, ok := n.(*ast.BoolNode); ok {
			v.SetBool(b.Value)
		} else {
			s.mismatch(n, what, "true or false")
		}
	case reflect.Int, reflect.Int64:
		if i, ok := s.integer(n, what); ok {
			v.SetInt(i)
		}
	case reflect.Float64:
		if f, ok := s.float(n, what); ok {
			v.SetFloat(f)
		}
	default:
		panic("no way to read a " + v.Type().String())
	}
}

// statusEntry names the only text that may look like a number: an HTTP status, in a
// list that also has classes such as 5xx.
const statusEntry = "an entry of statuses"

// forbidden reports whether checkNode has already refused the node.
func forbidden(n ast.Node) bool {
	switch n.(type) {
	case *ast.AnchorNode, *ast.AliasNode, *ast.TagNode, *ast.DirectiveNode:
		return true
	}
	return false
}

// A plan lists the keys of a struct and their fields.
type plan struct {
	keys   []string // in order
	fields map[string]field
}

type field struct {
	index    []int
	required bool
	min, max *int64
}

var plans sync.Map // reflect.Type → *plan

func planOf(t reflect.Type) *plan {
	if p, ok := plans.Load(t); ok {
		return p.(*plan)
	}
	p := &plan{fields: map[string]field{}}
	p.add(t, nil)
	plans.Store(t, p)
	return p
}

// add adds the fields of a struct. The constraints come from the tag from which the
// JSON Schema is generated.
func (p *plan) add(t reflect.Type, index []int) {
	for i := range t.NumField() {
		f := t.Field(i)
		at := append(index[:len(index):len(index)], i)
		key := f.Tag.Get("yaml")
		if key == ",inline" {
			p.add(f.Type, at)
			continue
		}
		out := field{index: at}
		for _, rule := range strings.Split(f.Tag.Get("jsonschema"), ",") {
			name, value, _ := strings.Cut(rule, "=")
			number, _ := strconv.ParseInt(value, 10, 64)
			switch name {
			case "required":
				out.required = true
			case "minimum":
				out.min = &number
			case "maximum":
				out.max = &number
			}
		}
		p.keys = append(p.keys, key)
		p.fields[key] = out
	}
}

func (s *source) decodeStruct(n ast.Node, v reflect.Value, what string) {
	m, ok := n.(*ast.MappingNode)
	if !ok {
		s.mismatch(n, what, "a mapping")
		return
	}
	p := planOf(v.Type())
	seen := make(map[string]bool, len(m.Values))
	for _, entry := range m.Values {
		key := entry.Key.GetToken().Value
		f, ok := p.fields[key]
		switch {
		case entry.Key.IsMergeKey() || seen[key]: // checkNode has reported it
		case !ok:
			s.fail(entry.Key, fmt.Sprintf("unknown key %s in %s", quoted(key), what), hintWord(key, p.keys))
		default:
			seen[key] = true
			into := v.FieldByIndex(f.index)
			s.decode(entry.Value, into, key)
			s.checkBounds(entry.Value, into, f, key)
		}
	}
	for _, key := range p.keys {
		if p.fields[key].required && !seen[key] {
			s.fail(n, fmt.Sprintf("%s has no %s", what, key), "")
		}
	}
}

// checkBounds reports a number outside its minimum and maximum.
func (s *source) checkBounds(n ast.Node, v reflect.Value, f field, what string) {
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if !v.CanInt() || n.Type() != ast.IntegerType {
		return
	}
	switch got := v.Int(); {
	case f.min != nil && got < *f.min:
		s.fail(n, fmt.Sprintf("%s must be %d or more, not %d", what, *f.min, got), "")
	case f.max != nil && got > *f.max:
		s.fail(n, fmt.Sprintf("%s must be %d or less, not %d", what, *f.max, got), "")
	}
}

func (s *source) decodeList(n ast.Node, v reflect.Value, what string) {
	list, ok := n.(*ast.SequenceNode)
	if !ok {
		s.mismatch(n, what, "a list")
		return
	}
	out := reflect.MakeSlice(v.Type(), len(list.Values), len(list.Values))
	for i, item := range list.Values {
		s.decode(item, out.Index(i), "an entry of "+what)
	}
	v.Set(out)
}

// decodeMap decodes a mapping from texts to whole numbers.
func (s *source) decodeMap(n ast.Node, v reflect.Value, what string) {
	m, ok := n.(*ast.MappingNode)
	if !ok {
		s.mismatch(n, what, "a mapping")
		return
	}
	out := reflect.MakeMap(v.Type())
	for _, entry := range m.Values {
		value := reflect.New(v.Type().Elem()).Elem()
		key := entry.Key.GetToken().Value
		s.decode(entry.Value, value, what+"."+key)
		out.SetMapIndex(reflect.ValueOf(key), value)
	}
	v.Set(out)
}

// mismatch reports a value of the wrong kind.
func (s *source) mismatch(n ast.Node, what, want string) {
	if n.Type() == ast.NullType {
		s.fail(n, what+" has no value", "give it "+want+", or leave the key out")
		return
	}
	hint := ""
	if _, single := n.(ast.ScalarNode); single && want == "a list" {
		hint = "put a list in brackets, such as [" + clip(n.GetToken().Value) + "]"
	}
	s.fail(n, fmt.Sprintf("%s must be %s, not %s", what, want, describe(n)), hint)
}

// describe names the kind of a node, or its value.
func describe(n ast.Node) string {
	switch n := n.(type) {
	case *ast.MappingNode:
		return "a mapping"
	case *ast.SequenceNode:
		return "a list"
	case *ast.NullNode:
		return "nothing"
	case *ast.StringNode:
		return quoted(n.Value)
	case *ast.LiteralNode:
		return quoted(n.Value.Value)
	}
	return clip(n.GetToken().Value)
}

// text decodes a text. Numbers and booleans are not texts: readers of YAML differ on
// values such as 1.10 and yes.
func (s *source) text(n ast.Node, what string) (string, bool) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode:
		return n.Value.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		got := clip(n.GetToken().Value)
		s.fail(n, fmt.Sprintf("%s must be text, not %s", what, got), fmt.Sprintf("put it in quotes: %q", got))
		return "", false
	}
	s.mismatch(n, what, "text")
	return "", false
}

var wholeNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)$`)

// integer decodes a whole number in plain decimal: some readers take 017 for 15, others
// for 17.
func (s *source) integer(n ast.Node, what string) (int64, bool) {
	if i, ok := n.(*ast.IntegerNode); ok && wholeNumber.MatchString(i.Token.Value) {
		if v, err := strconv.ParseInt(i.Token.Value, 10, 64); err == nil {
			return v, true
		}
	}
	if t := n.GetToken(); plain(n) && wholeNumber.MatchString(t.Value) {
		s.fail(n, fmt.Sprintf("%s is too large: %s", what, clip(t.Value)), "")
		return 0, false
	}
	s.mismatch(n, what, "a whole number")
	return 0, false
}

// plain reports whether a node is a scalar without quotes.
func plain(n ast.Node) bool {
	switch n.(type) {
	case *ast.IntegerNode, *ast.StringNode, *ast.FloatNode:
		t := n.GetToken().Type
		return t != token.SingleQuoteType && t != token.DoubleQuoteType
	}
	return false
}

func (s *source) float(n ast.Node, what string) (float64, bool) {
	if plain(n) && jsonNumber.MatchString(n.GetToken().Value) {
		if f, err := strconv.ParseFloat(n.GetToken().Value, 64); err == nil {
			return f, true
		}
	}
	s.mismatch(n, what, "a number")
	return 0, false
}

const durationHint = "durations need a unit, such as 30s, 200ms or 1m30s"

// longest keeps sums of instants and durations from overflowing.
const longest = 10 * 365 * 24 * time.Hour

// duration decodes a time.Duration from 0 to longest.
func (s *source) duration(n ast.Node, what string) (time.Duration, bool) {
	if !plain(n) && n.Type() != ast.StringType {
		s.mismatch(n, what, "a duration such as 30s")
		return 0, false
	}
	d, problem := parseDuration(n.GetToken().Value)
	if problem != "" {
		s.fail(n, what+" "+problem, durationHint)
		return 0, false
	}
	return d, true
}

// parseDuration parses a duration. The problem, "" if there is none, continues a
// sentence that begins with the name of the value.
func parseDuration(text string) (d time.Duration, problem string) {
	d, err := time.ParseDuration(text)
	switch {
	case err != nil:
		return 0, fmt.Sprintf("must be a duration, not %s", quoted(text))
	case d < 0:
		return 0, fmt.Sprintf("must not be negative: %s", text)
	case d > longest:
		return 0, fmt.Sprintf("must be ten years or less, not %s", text)
	}
	return d, ""
}

// find returns the node at a path such as model[2].when, or the last node on the path
// that exists.
func find(n ast.Node, path string) ast.Node {
	n, _ = lookup(n, path)
	return n
}

// lookup is find, and reports whether the whole path exists.
func lookup(n ast.Node, path string) (last ast.Node, whole bool) {
	for _, step := range strings.FieldsFunc(path, func(r rune) bool { return r == '.' || r == '[' || r == ']' }) {
		next := child(n, step)
		if next == nil {
			return n, false
		}
		n = next
	}
	return n, true
}

// child returns the node at a key or an index of a node, or nil.
func child(n ast.Node, step string) ast.Node {
	switch n := n.(type) {
	case *ast.SequenceNode:
		if i, err := strconv.Atoi(step); err == nil && i >= 0 && i < len(n.Values) {
			return n.Values[i]
		}
	case *ast.MappingNode:
		for _, entry := range n.Values {
			if entry.Key.GetToken().Value == step {
				return entry.Value
			}
		}
	}
	return nil
}

// failAt reports a mistake in the value at a path.
func (s *source) failAt(path, problem, hint string) { s.fail(find(s.root, path), problem, hint) }

// reflectValue returns the value that p points to.
func reflectValue(p any) reflect.Value { return reflect.ValueOf(p).Elem() }

// distinct keeps the first mistake at each place: later ones there mostly follow from
// it.
func (s *source) distinct() {
	type place struct{ line, column int }
	seen := map[place]bool{}
	kept := s.mistakes[:0]
	for _, m := range s.mistakes {
		at := place{m.Line, m.Column}
		if m.File != s.file || !seen[at] {
			kept = append(kept, m)
		}
		seen[at] = seen[at] || m.File == s.file
	}
	s.mistakes = kept
}
