package goldens

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/loop"
)

// A Golden is a stored trace, and the terms on which another trace may differ from it.
type Golden struct {
	// File is the path from which it was read, for messages; "" = it was not read from
	// a file. Format does not write it.
	File     string
	Scenario string // its full name, suite/name
	Variant  string
	Seed     uint64
	Terms
	// Trace is the text of the trace. It is parsed only when needed, so it may be
	// broken or not canonical.
	Trace string
}

// Terms say how a trace may differ from a golden. The golden holds them, and its
// scenario can set them too. The zero value allows no difference.
type Terms struct {
	Mode  Mode        // "" = Strict
	Allow []Allowance // may be nil
}

// Equal reports whether two terms are equal, with their reasons.
func (t Terms) Equal(other Terms) bool {
	return cmp.Or(t.Mode, Strict) == cmp.Or(other.Mode, Strict) &&
		slices.EqualFunc(t.Allow, other.Allow, func(a, b Allowance) bool { return a.String() == b.String() })
}

// A Mode says which parts of a trace must be equal to the golden.
type Mode string

// The modes. An action is an executed call, with its tool and arguments, or the end of
// a run, with its stop and end state. Retries, times, ids and results are not part of
// actions.
const (
	Strict    Mode = "strict"    // every line
	Actions   Mode = "actions"   // the actions, in order
	Unordered Mode = "unordered" // every line; the calls of one batch may be asked and answered in any order
	Subset    Mode = "subset"    // the trace makes no call that is not in the golden, in its order; some may be missing
	Superset  Mode = "superset"  // the trace makes every call of the golden, in its order; it may make more
)

// Off is the mode of a scenario that has no golden. A golden never has it.
const Off Mode = "off"

// Modes returns the modes of goldens.
func Modes() []Mode { return []Mode{Strict, Actions, Unordered, Subset, Superset} }

// A SyntaxError is an error in the text of a golden.
type SyntaxError struct {
	File    string // "" = none
	Line    int    // from 1; 0 if the error concerns the whole file
	Problem string
	Hint    string // how to correct it, "" = no hint
}

// Error returns file:line: problem, followed by the hint.
func (e *SyntaxError) Error() string {
	return place(e.File, e.Line) + e.Problem + trailing(e.Hint)
}

// place returns the file:line: that begins a message.
func place(file string, line int) string {
	switch {
	case line == 0 && file == "":
		return ""
	case line == 0:
		return text.Escape(file) + ": "
	case file == "":
		return fmt.Sprintf("line %d: ", line)
	}
	return fmt.Sprintf("%s:%d: ", text.Escape(file), line)
}

func trailing(hint string) string {
	if hint == "" {
		return ""
	}
	return "; " + hint
}

const (
	magic    = "# agentbench golden v1"
	maxBytes = 4 << 20 // of a golden's text
)

// MaxAllow is how many allowances a golden can have.
const MaxAllow = 100

// fields are the lines of the header, in order. Allow lines follow them.
var fields = []string{"scenario", "variant", "seed", "mode"}

// Parse parses the header of a golden, and takes its trace unparsed. It accepts only
// what [Golden.Format] writes. file is for messages. The error is a [SyntaxError].
func Parse(file string, data []byte) (*Golden, error) {
	p := parser{golden: &Golden{File: file}, rest: string(data)}
	if err := p.parse(len(data)); err != nil {
		return nil, err
	}
	return p.golden, nil
}

type parser struct {
	golden *Golden
	rest   string
	line   int  // number of the line that was read last
	ended  bool // that line had no newline
}

func (p *parser) fail(hint, format string, args ...any) error {
	return &SyntaxError{File: p.golden.File, Line: p.line, Problem: fmt.Sprintf(format, args...), Hint: hint}
}

func (p *parser) parse(size int) error {
	if size > maxBytes {
		return p.fail("", "a golden has at most %d bytes", maxBytes)
	}
	first := p.next()
	if strings.HasSuffix(first, "\r") {
		return p.fail("check it out with LF: *.golden text eol=lf in .gitattributes", "the lines end with CR LF")
	}
	if first != magic {
		return p.fail("the first line must be "+magic, "is not a golden: it begins with %s", shown(first))
	}
	for _, name := range fields {
		if err := p.field(name); err != nil {
			return err
		}
	}
	for line := p.next(); line != ""; line = p.next() {
		if err := p.allowance(line); err != nil {
			return err
		}
	}
	if p.ended {
		return p.fail("", "the file ends before the empty line after the header")
	}
	p.golden.Trace = p.rest
	return nil
}

// next returns the next line, "" at the end.
func (p *parser) next() string {
	p.line++
	line, rest, whole := strings.Cut(p.rest, "\n")
	p.rest, p.ended = rest, !whole
	return line
}

// field parses the next line of the header.
func (p *parser) field(name string) (err error) {
	line := p.next()
	value, ok := strings.CutPrefix(line, "# "+name+": ")
	if !ok || value == "" {
		return p.fail("the header is "+strings.Join(fields, ", ")+", then any number of allow, then an empty line",
			"expected # %s:, not %s", name, shown(line))
	}
	g := p.golden
	switch name {
	case "scenario":
		g.Scenario = value
		if _, _, err := split(value); err != nil {
			return p.fail("such as stuck-loops/same-call-forever", "%v", err)
		}
	case "variant":
		g.Variant = value
		if err := checkName("variant", value); err != nil {
			return p.fail("such as hpd-agent", "%v", err)
		}
	case "seed":
		g.Seed, err = strconv.ParseUint(value, 10, 64)
		if err != nil || strconv.FormatUint(g.Seed, 10) != value {
			return p.fail("such as 1", "the seed must be a whole number from 0 on, not %s", shown(value))
		}
	case "mode":
		g.Mode = Mode(value)
		if !slices.Contains(Modes(), g.Mode) {
			return p.fail("the modes are "+list(Modes()), "there is no mode %s", shown(value))
		}
	}
	return nil
}

func (p *parser) allowance(line string) error {
	text, ok := strings.CutPrefix(line, "# allow: ")
	if !ok {
		return p.fail("an empty line separates the header from the trace", "expected # allow: or an empty line, not %s", shown(line))
	}
	if len(p.golden.Allow) == MaxAllow {
		return p.fail("", "more than %d allowances", MaxAllow)
	}
	a, err := ParseAllowance(text)
	if wrong := (*AllowanceError)(nil); errors.As(err, &wrong) {
		return p.fail(wrong.Hint, "%s", wrong.Problem)
	}
	p.golden.Allow = append(p.golden.Allow, a)
	return nil
}

// Format returns the text of the golden.
func (g *Golden) Format() []byte {
	return append(g.header(nil), g.Trace...)
}

// header appends the header, and the empty line after it.
func (g *Golden) header(b []byte) []byte {
	b = fmt.Appendf(b, "%s\n# scenario: %s\n# variant: %s\n# seed: %d\n# mode: %s\n", magic, g.Scenario, g.Variant, g.Seed, cmp.Or(g.Mode, Strict))
	for _, a := range g.Allow {
		b = fmt.Appendf(b, "# allow: %s\n", a)
	}
	return append(b, '\n')
}

// headerLines returns the number of lines before the trace.
func (g *Golden) headerLines() int { return 1 + len(fields) + len(g.Allow) + 1 }

// same reports whether the text of a trace is equal to the golden's. It never builds
// the whole text.
func (g *Golden) same(trace loop.Trace) bool {
	rest := g.Trace
	var b []byte
	for i := range trace {
		b = trace[i].AppendText(b[:0])
		if len(b) > len(rest) || string(b) != rest[:len(b)] {
			return false
		}
		rest = rest[len(b):]
	}
	return rest == ""
}

// list writes words as a, b, c.
func list[T ~string](words []T) string {
	texts := make([]string, len(words))
	for i, w := range words {
		texts[i] = string(w)
	}
	return strings.Join(texts, ", ")
}
