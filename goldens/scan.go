package goldens

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// scanAllowance parses the allowance that a text begins with, and returns the rest of
// the text.
func scanAllowance(text string) (a Allowance, rest string, err error) {
	if len(text) > maxAllowance {
		return a, "", allowanceError("", "the allowance has more than %d bytes", maxAllowance)
	}
	s := scanner{rest: text}
	a = s.allowance()
	read := text[:len(text)-len(s.rest)]
	if s.err == nil && a.Difference() != read {
		s.fail("write it as "+a.Difference(), "the allowance %s is not in its canonical form", shown(read))
	}
	return a, s.rest, s.err
}

// A scanner parses an allowance. After the first error it reads nothing more.
type scanner struct {
	rest string
	err  error
}

func (s *scanner) fail(hint, format string, args ...any) {
	if s.err == nil {
		s.err = allowanceError(hint, format, args...)
	}
	s.rest = ""
}

// run reads the characters for which ok is true.
func (s *scanner) run(ok func(byte) bool) string {
	n := 0
	for n < len(s.rest) && ok(s.rest[n]) {
		n++
	}
	read := s.rest[:n]
	s.rest = s.rest[n:]
	return read
}

// after reads a text if it comes next, and reports whether it did.
func (s *scanner) after(text string) bool {
	rest, ok := strings.CutPrefix(s.rest, text)
	if ok {
		s.rest = rest
	}
	return ok
}

// space reads the space before the next part, which what names.
func (s *scanner) space(what string) {
	if s.err == nil && !s.after(" ") {
		s.fail("", "expected a space and %s before %s", what, shown(s.rest))
	}
}

func isLower(b byte) bool { return 'a' <= b && b <= 'z' || b == '_' || b == '-' }

func isDigit(b byte) bool { return '0' <= b && b <= '9' }

func (s *scanner) allowance() (a Allowance) {
	word := allowanceKind(s.run(isLower))
	known := slices.IndexFunc(forms, func(f struct {
		kind allowanceKind
		form string
	}) bool {
		return f.kind == word
	})
	if known < 0 {
		var all []string
		for _, f := range forms {
			all = append(all, f.form)
		}
		s.fail("the allowances are "+strings.Join(all, ", "), "there is no allowance %s", shown(string(word)+s.rest))
		return a
	}
	switch a.kind = word; a.kind {
	case allowField:
		s.field(&a)
		s.within(&a)
	case allowArgument:
		s.space("a tool")
		a.tool = s.tool()
		s.space("a path")
		a.path = s.path()
		s.within(&a)
	case allowText:
		s.field(&a)
		if !isTextKey(a.key) {
			s.fail("the texts are "+list(textKeys()), "the value of %s is not a text", a.key)
		}
		s.space("a regular expression")
		a.pattern = s.regexp()
	case allowAdded, allowMissing:
		s.space("a line")
		a.line = s.lineKind()
	}
	return a
}

// field reads LINE.KEY.
func (s *scanner) field(a *Allowance) {
	s.space("a field")
	if a.line = "*"; !s.after("*") {
		a.line = s.word()
	}
	if s.err == nil && !s.after(".") {
		s.fail("such as reply.text", "expected a dot and a key before %s", shown(s.rest))
	}
	a.key = s.run(isLower)
	if s.err == nil && keys[a.key] == nil {
		s.fail("the keys are "+list(keyNames()), "there is no key %s", shown(a.key))
	}
}

// word reads the word of a line.
func (s *scanner) word() string {
	word := s.run(isLower)
	if s.err == nil && !slices.Contains(lineWords, word) {
		s.fail("the lines of a trace are "+list(lineWords), "no line of a trace begins with %s", shown(word+s.rest))
	}
	return word
}

// lineKind reads a word, or note.EVENT.
func (s *scanner) lineKind() string {
	word := s.word()
	if word != "note" || !s.after(".") {
		return word
	}
	event := s.run(isLower)
	if event == "" {
		s.fail("such as note.nudged", "expected an event after note.")
	}
	return "note." + event
}

// tool reads a tool's name, "" for any.
func (s *scanner) tool() string {
	if s.after("*") {
		return ""
	}
	if strings.HasPrefix(s.rest, `"`) || strings.HasPrefix(s.rest, "`") {
		return s.quoted("the name of a tool")
	}
	name := s.run(isBare)
	if name == "" {
		s.fail("write * for any tool", "expected the name of a tool before %s", shown(s.rest))
	}
	return name
}

func isBare(b byte) bool {
	return 'A' <= b && b <= 'Z' || 'a' <= b && b <= 'z' || isDigit(b) || b == '_' || b == '-' || b == '.'
}

// quoted reads a Go string.
func (s *scanner) quoted(what string) string {
	if s.err != nil {
		return ""
	}
	literal, err := strconv.QuotedPrefix(s.rest)
	text, err2 := strconv.Unquote(literal)
	if err != nil || err2 != nil || strings.HasPrefix(literal, "'") {
		s.fail("", "expected %s as a Go string before %s", what, shown(s.rest))
		return ""
	}
	if text == "" {
		s.fail("", "%s is empty", what)
		return ""
	}
	s.rest = s.rest[len(literal):]
	return text
}

func (s *scanner) regexp() *regexp.Regexp {
	text := s.quoted("a regular expression")
	if s.err != nil {
		return nil
	}
	pattern, err := regexp.Compile(text)
	switch {
	case err != nil:
		s.fail("", "the regular expression %s is broken: %s", shown(text), strings.TrimPrefix(err.Error(), "error parsing regexp: "))
		return nil
	case pattern.MatchString(""):
		s.fail("", "the regular expression %s matches the empty text", shown(text))
		return nil
	}
	return pattern
}

// within reads a tolerance, if there is one.
func (s *scanner) within(a *Allowance) {
	if s.err != nil || !s.after(" within ") {
		return
	}
	number := s.run(func(b byte) bool { return isDigit(b) || b == '.' })
	n, err := strconv.ParseFloat(number, 64)
	if err != nil || n <= 0 {
		s.fail("such as 5, 0.5s or 10%", "expected an amount above 0 before %s", shown(number+s.rest))
		return
	}
	a.within = amount{n: n}
	for _, unit := range []string{"s", "%"} {
		if s.after(unit) {
			a.within.unit = unit
		}
	}
	switch isTime := isTimeKey(a.key); {
	case a.kind == allowField && !isNumberKey(a.key):
		s.fail("the numbers are "+list(numberKeys()), "the value of %s is not a number", a.key)
	case isTime && a.within.unit == "":
		s.fail("such as 0.5s or 10%", "%s is a time: the amount needs a unit", a.key)
	case !isTime && a.within.unit == "s":
		s.fail("such as 5 or 10%", "an amount of seconds is for times only")
	}
}
