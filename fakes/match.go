package fakes

import (
	"encoding/json"
	"regexp"
	"strings"
)

// A matcher selects the calls that an answer is for.
type matcher struct {
	when map[string]any // as decode returns it; empty = every call
	left int            // how many more calls it answers
}

// fits reports whether the answer is for a call with these arguments and not used
// up.
func (m *matcher) fits(args *arguments) bool {
	if m.left <= 0 {
		return false
	}
	for name, want := range m.when {
		if got, there := args.field(name); !there || !same(want, got) {
			return false
		}
	}
	return true
}

// A resultIs is a [ResultIs] that is ready for use.
type resultIs struct {
	contains string
	matches  *regexp.Regexp
	path     []string
	is       any // as decode returns it
}

// resultIs reads the condition of a step.
func (r *reader) resultIs(s *Step) (c resultIs) {
	is := &s.Result
	set := 0
	for _, text := range []string{is.Contains, is.Matches, is.Path} {
		if text != "" {
			set++
		}
	}
	switch {
	case s.When != WhenResult && (set > 0 || is.Is != nil):
		r.wrong("when", "has a condition on the result, and is not %s", WhenResult)
		return c
	case s.When != WhenResult:
		return c
	case set != 1:
		r.wrong("when.result", "needs exactly one of contains, matches and path")
		return c
	case is.Path == "" && is.Is != nil:
		r.wrong("when.result.is", "needs a path")
	}
	c.contains = is.Contains
	if is.Matches != "" {
		var err error
		if c.matches, err = regexp.Compile(is.Matches); err != nil {
			r.wrong("when.result.matches", "is not a regular expression: %s", clip(strings.TrimPrefix(err.Error(), "error parsing regexp: ")))
		}
	}
	if is.Path != "" {
		c.path = strings.Split(is.Path, ".")
		text, err := json.Marshal(is.Is)
		if err == nil {
			c.is, err = decode(string(text))
		}
		if err != nil {
			r.wrong("when.result.is", "cannot be written as JSON: %v", err)
		}
	}
	return c
}

// fits reports whether a result is as the condition says.
func (c *resultIs) fits(result string) bool {
	switch {
	case c.contains != "":
		return strings.Contains(result, c.contains)
	case c.matches != nil:
		return c.matches.MatchString(result)
	case c.path == nil:
		return false
	}
	value, err := decode(result)
	for _, name := range c.path {
		ok := err == nil
		if ok {
			value, ok = member(value, name)
		}
		if !ok {
			return false
		}
	}
	return same(c.is, value)
}

// arguments are the arguments of a call, parsed at the first use of one.
type arguments struct {
	text   string
	read   bool
	fields map[string]any
}

func (a *arguments) field(name string) (value any, there bool) {
	if !a.read {
		a.read = true
		if strings.TrimSpace(a.text) != "" {
			value, _ := decode(a.text)
			a.fields, _ = value.(map[string]any)
		}
	}
	value, there = a.fields[name]
	return value, there
}

// same reports whether two decoded JSON values are equal. 1 and 1.0 are the same
// number.
func same(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for name := range a {
			if other, there := b[name]; !there || !same(a[name], other) {
				return false
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for i := range a {
			if !same(a[i], b[i]) {
				return false
			}
		}
		return true
	case json.Number:
		b, ok := b.(json.Number)
		return ok && sameNumber(a, b)
	}
	return a == b
}

func sameNumber(a, b json.Number) bool {
	if a == b {
		return true
	}
	i, errI := a.Int64()
	j, errJ := b.Int64()
	if errI == nil && errJ == nil {
		return i == j
	}
	x, errX := a.Float64()
	y, errY := b.Float64()
	return errX == nil && errY == nil && x == y
}
