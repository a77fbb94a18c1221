package goldens

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A Rule names a difference between two traces. [ParseRule] makes it; the zero
// value is no rule.
type Rule struct {
	kind    ruleKind
	line    string   // of field and text: a line's word or *; of added and missing: a word or note.EVENT
	key     string   // of field and text
	tool    string   // of argument; "" = any tool
	path    jsonPath // of argument
	within  amount   // of field and argument
	pattern *regexp.Regexp
}

type ruleKind string

const (
	fieldRule    ruleKind = "field"
	argumentRule ruleKind = "argument"
	textRule     ruleKind = "text"
	addedRule    ruleKind = "added"
	missingRule  ruleKind = "missing"
	retriesRule  ruleKind = "retries"
)

// forms shows what rules look like, for hints.
var forms = []struct {
	kind ruleKind
	form string
}{
	{fieldRule, "field LINE.KEY [within AMOUNT]"},
	{argumentRule, "argument TOOL PATH [within AMOUNT]"},
	{textRule, "text LINE.KEY REGEXP"},
	{addedRule, "added LINE"},
	{missingRule, "missing LINE"},
	{retriesRule, "retries"},
}

// ParseRule reads a rule, and takes nothing but what [Rule.String] writes. The
// rules are
//
//	field LINE.KEY               what stands behind KEY in such lines
//	field LINE.KEY within 5      the same, where the numbers differ by 5 at most
//	argument TOOL PATH           what stands at PATH in the arguments of TOOL
//	argument TOOL PATH within 1% the same, where the numbers differ by 1 % of the golden's at most
//	text LINE.KEY REGEXP         every part of the text behind KEY that REGEXP matches
//	added LINE                   lines of that kind that the golden does not have
//	missing LINE                 lines of that kind that only the golden has
//	retries                      how often a call or a request was tried before its last try, and all times
//
// LINE is the word of a line of a trace (started, reply, call, put, halt …) or *
// for all; of added and missing also note.EVENT, such as note.limit-near. KEY is
// what stands before = in a line (text, args, in, cost, elapsed …), and besides
// time, the time of inputs, and id, the ids of the calls of a reply. TOOL is a
// tool's name, or * for all. PATH begins with $: $.query, $.items[0].price,
// $.items[*], $["odd key"]. AMOUNT is a number, seconds for times (0.5s), or a
// percentage. REGEXP is a regular expression of Go, quoted as a Go string. The
// error is a [RuleError].
func ParseRule(text string) (Rule, error) {
	r, rest, err := parseRule(text)
	if err == nil && rest != "" {
		err = ruleError("", "the rule ends before %s", shown(rest))
	}
	return r, err
}

// parseRule reads the rule that a text begins with.
func parseRule(text string) (r Rule, rest string, err error) {
	if len(text) > maxRule {
		return r, "", ruleError("", "the rule has more than %d bytes", maxRule)
	}
	s := scanner{rest: text}
	r = s.rule()
	if s.err == nil && r.String() != text[:len(text)-len(s.rest)] {
		s.fail("write it as "+r.String(), "the rule %s is not in its canonical form", shown(text[:len(text)-len(s.rest)]))
	}
	return r, s.rest, s.err
}

// maxRule bounds a line of the header.
const maxRule = 2000

// A scanner reads a rule. After the first error it reads nothing.
type scanner struct {
	rest string
	err  error
}

func (s *scanner) fail(hint, format string, args ...any) {
	if s.err == nil {
		s.err = ruleError(hint, format, args...)
	}
	s.rest = ""
}

// run reads what is made of the characters that ok takes.
func (s *scanner) run(ok func(byte) bool) string {
	n := 0
	for n < len(s.rest) && ok(s.rest[n]) {
		n++
	}
	read := s.rest[:n]
	s.rest = s.rest[n:]
	return read
}

// after reads a text if it comes next.
func (s *scanner) after(text string) bool {
	rest, ok := strings.CutPrefix(s.rest, text)
	if ok {
		s.rest = rest
	}
	return ok
}

// space reads the space before what is expected next.
func (s *scanner) space(what string) {
	if s.err == nil && !s.after(" ") {
		s.fail("", "expected a space and %s before %s", what, shown(s.rest))
	}
}

func isLower(b byte) bool { return 'a' <= b && b <= 'z' || b == '_' || b == '-' }

func isDigit(b byte) bool { return '0' <= b && b <= '9' }

func (s *scanner) rule() (r Rule) {
	word := ruleKind(s.run(isLower))
	known := slices.IndexFunc(forms, func(f struct {
		kind ruleKind
		form string
	}) bool {
		return f.kind == word
	})
	if known < 0 {
		var all []string
		for _, f := range forms {
			all = append(all, f.form)
		}
		s.fail("the rules are "+strings.Join(all, ", "), "there is no rule %s", shown(string(word)+s.rest))
		return r
	}
	switch r.kind = word; r.kind {
	case fieldRule:
		s.field(&r)
		s.within(&r)
	case argumentRule:
		s.space("a tool")
		r.tool = s.tool()
		s.space("a path")
		r.path = s.path()
		s.within(&r)
	case textRule:
		s.field(&r)
		if !isTextKey(r.key) {
			s.fail("the texts are "+list(textKeys()), "what stands behind %s is no text", r.key)
		}
		s.space("a regular expression")
		r.pattern = s.regexp()
	case addedRule, missingRule:
		s.space("a line")
		r.line = s.lineKind()
	}
	return r
}

// field reads LINE.KEY.
func (s *scanner) field(r *Rule) {
	s.space("a field")
	if r.line = "*"; !s.after("*") {
		r.line = s.word()
	}
	if s.err == nil && !s.after(".") {
		s.fail("such as reply.text", "expected a dot and a key before %s", shown(s.rest))
	}
	r.key = s.run(isLower)
	if s.err == nil && keys[r.key] == nil {
		s.fail("the keys are "+list(keyNames()), "there is no key %s", shown(r.key))
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

// lineKind reads a word or note.EVENT.
func (s *scanner) lineKind() string {
	word := s.word()
	if word != "note" || !s.after(".") {
		return word
	}
	event := s.run(isLower)
	if event == "" {
		s.fail("such as note.nudged", "expected an event behind note.")
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
		s.fail("* stands for any tool", "expected the name of a tool before %s", shown(s.rest))
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
		s.fail("", "the regular expression %s matches nothing at all", shown(text))
		return nil
	}
	return pattern
}

// within reads a tolerance, if there is one.
func (s *scanner) within(r *Rule) {
	if s.err != nil || !s.after(" within ") {
		return
	}
	number := s.run(func(b byte) bool { return isDigit(b) || b == '.' })
	n, err := strconv.ParseFloat(number, 64)
	if err != nil || n <= 0 {
		s.fail("such as 5, 0.5s or 10%", "expected an amount above 0 before %s", shown(number+s.rest))
		return
	}
	r.within = amount{n: n}
	for _, unit := range []string{"s", "%"} {
		if s.after(unit) {
			r.within.unit = unit
		}
	}
	switch isTime := isTimeKey(r.key); {
	case r.kind == fieldRule && !isNumberKey(r.key):
		s.fail("the numbers are "+list(numberKeys()), "what stands behind %s is no number", r.key)
	case isTime && r.within.unit == "":
		s.fail("such as 0.5s or 10%", "%s is a time: the amount needs a unit", r.key)
	case !isTime && r.within.unit == "s":
		s.fail("such as 5 or 10%", "an amount of seconds is for times only")
	}
}

// An amount is a tolerance: a number, of seconds if the unit is s, or with the
// unit % a share of what the golden has. The zero value is any difference.
type amount struct {
	n    float64
	unit string
}

func (a amount) String() string { return strconv.FormatFloat(a.n, 'f', -1, 64) + a.unit }

// covers reports whether a difference from want is small enough. Seconds are
// those of want and got as well.
func (a amount) covers(want, got float64) bool {
	most := a.n
	if a.unit == "%" {
		most = a.n / 100 * max(want, -want)
	}
	return max(want-got, got-want) <= most
}

// String gives the text of the rule; "" for the zero value.
func (r Rule) String() string {
	out := string(r.kind)
	switch r.kind {
	case fieldRule:
		out += " " + r.line + "." + r.key
	case argumentRule:
		out += " " + toolWord(r.tool) + " " + r.path.String()
	case textRule:
		out += " " + r.line + "." + r.key
		if r.pattern != nil {
			out += " " + quote(r.pattern.String())
		}
	case addedRule, missingRule:
		out += " " + r.line
	}
	if r.tolerates() {
		out += " within " + r.within.String()
	}
	return out
}

func toolWord(name string) string {
	switch {
	case name == "":
		return "*"
	case strings.ContainsFunc(name, func(c rune) bool { return c >= 0x80 || !isBare(byte(c)) }):
		return quote(name)
	}
	return name
}

// quote writes a Go string, in back quotes where that saves escapes.
func quote(s string) string {
	if strings.ContainsAny(s, `"\`) && strconv.CanBackquote(s) {
		return "`" + s + "`"
	}
	return strconv.Quote(s)
}
