package detect

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A leaver leaves parts out of results before they are compared. It remembers what it
// made of results that come again.
type leaver struct {
	paths []path
	exprs []*regexp.Regexp
	seen  map[uint64]uint64 // by the hash of the whole result
	canon Canon
	src   string
	pos   int
	out   []byte
	at    []place
}

// A place is a position in one of the paths: the steps before it lead to the present
// value.
type place struct{ path, step int }

// newLeaver returns nil if there is nothing to leave out.
func newLeaver(d *Detector) *leaver {
	if len(d.IgnoreResult) == 0 {
		return nil
	}
	l := &leaver{}
	for _, entry := range d.IgnoreResult {
		if isPath(entry) {
			p, _ := parsePath(entry) // Validate has checked it
			l.paths = append(l.paths, p)
		} else {
			l.exprs = append(l.exprs, regexp.MustCompile(entry))
		}
	}
	return l
}

// hash returns the hash of the rest of a result. whole is the hash of all of it.
func (l *leaver) hash(text string, whole uint64) uint64 {
	rest, known := l.seen[whole]
	if !known {
		rest = short(l.rest(text))
		if l.seen == nil || len(l.seen) > 1000 {
			l.seen = map[uint64]uint64{}
		}
		l.seen[whole] = rest
	}
	return rest
}

// rest returns a result without what is left out. If there are paths and the result is
// JSON, that is in canonical form.
func (l *leaver) rest(text string) string {
	if len(l.paths) > 0 {
		if canonical, err := l.canon.anyValue(text); err == nil {
			l.src, l.pos, l.out, l.at = string(canonical), 0, l.out[:0], l.at[:0]
			for i := range l.paths {
				l.at = append(l.at, place{i, 0})
			}
			l.value(0, true)
			text = string(l.out)
		}
	}
	for _, expr := range l.exprs {
		text = expr.ReplaceAllString(text, "")
	}
	return text
}

// value reads the value at pos, to which the places from an index on lead, and writes
// it if keep is true.
func (l *leaver) value(from int, keep bool) {
	switch open := l.src[l.pos]; open {
	case '{', '[':
		l.write(1, keep)
		first := len(l.out)
		for i := 0; l.src[l.pos] != '}' && l.src[l.pos] != ']'; i++ {
			if l.src[l.pos] == ',' {
				l.pos++
			}
			name := ""
			if open == '{' {
				name = l.src[l.pos : l.pos+valueEnd(l.src[l.pos:])]
			}
			to := len(l.at)
			stays := !l.advance(from, name, i) && keep
			if stays && len(l.out) > first {
				l.out = append(l.out, ',')
			}
			if name != "" {
				l.write(len(name)+1, stays)
			}
			l.value(to, stays)
			l.at = l.at[:to]
		}
		l.write(1, keep)
	default:
		l.write(valueEnd(l.src[l.pos:]), keep)
	}
}

// write moves on by n bytes, which it writes if keep is true.
func (l *leaver) write(n int, keep bool) {
	if keep {
		l.out = append(l.out, l.src[l.pos:l.pos+n]...)
	}
	l.pos += n
}

// advance adds the places of a member, or of an element if name is "", to those from an
// index on. It reports whether a path ends there.
func (l *leaver) advance(from int, name string, index int) (ends bool) {
	to := len(l.at)
	add := func(p place) {
		if !slices.Contains(l.at[to:], p) {
			l.at = append(l.at, p)
		}
	}
	for _, p := range l.at[from:to] {
		step := &l.paths[p.path][p.step]
		if step.deep {
			add(p)
		}
		if !step.any && (name != step.name || name == "" && index != step.index) {
			continue
		}
		if p.step++; p.step == len(l.paths[p.path]) {
			return true
		}
		add(p)
	}
	return false
}

// A path leads from a JSON value to others below it.
type path []pathStep

// A pathStep leads to a member, an element, or all of either kind.
type pathStep struct {
	name  string // the canonical spelling of a member's name, with quotes; "" = an element
	index int
	any   bool
	deep  bool // at any depth
}

// isPath reports whether an entry is meant as a JSON path. An expression that begins so
// would match nothing.
func isPath(entry string) bool {
	return entry == "$" || strings.HasPrefix(entry, "$.") || strings.HasPrefix(entry, "$[")
}

// parsePath reads a path such as $.items[*].age: .name or ["name"] is a member, [3] an
// element, .* and [*] all of them, and ..name a member at any depth.
func parsePath(text string) (p path, err error) {
	bad := func(rest, what string) (path, error) {
		return nil, fmt.Errorf("%q is not a JSON path: %s at character %d; a path is such as $.items[*].age or $..age", text, what, len(text)-len(rest)+1)
	}
	rest := text[1:]
	for rest != "" {
		var step pathStep
		switch {
		case rest[0] == '.':
			rest = rest[1:]
			if strings.HasPrefix(rest, ".") {
				step.deep, rest = true, rest[1:]
			}
			end := strings.IndexAny(rest+".", ".[")
			if end == 0 {
				return bad(rest, "a name is missing")
			}
			step.any, step.name = rest[:end] == "*", spelled(rest[:end])
			rest = rest[end:]
		case strings.HasPrefix(rest, `["`):
			d := json.NewDecoder(strings.NewReader(rest[1:]))
			var name string
			if d.Decode(&name) != nil || !strings.HasPrefix(rest[1+d.InputOffset():], "]") {
				return bad(rest, "a name in quotes and ] are expected")
			}
			step.name, rest = spelled(name), rest[1+d.InputOffset()+1:]
		case rest[0] == '[':
			inner, after, closed := strings.Cut(rest[1:], "]")
			n, err := strconv.Atoi(inner)
			if !closed || inner != "*" && (err != nil || n < 0) {
				return bad(rest, "a number or * in brackets is expected")
			}
			step.any, step.index, rest = inner == "*", n, after
		default:
			return bad(rest, ". or [ is expected")
		}
		p = append(p, step)
	}
	if len(p) == 0 {
		return nil, fmt.Errorf("%q leaves nothing to compare", text)
	}
	return p, nil
}

// checkIgnored returns what is wrong with an entry of IgnoreResult, "" if nothing is.
func checkIgnored(entry string) string {
	if isPath(entry) {
		if _, err := parsePath(entry); err != nil {
			return err.Error()
		}
		return ""
	}
	if _, err := regexp.Compile(entry); err != nil {
		return fmt.Sprintf("%q is not a regular expression: %s", entry, strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
	if entry == "" {
		return "must be a JSON path or a regular expression, not empty"
	}
	return ""
}
