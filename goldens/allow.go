package goldens

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/agentbench-go/agentbench/internal/text"
)

// An Allowance is a difference between a golden and a trace that is accepted, and the
// reason. [ParseAllowance] makes it. The zero value allows nothing.
type Allowance struct {
	Reason string

	kind    allowanceKind
	line    string   // of field and text: a line's word or *; of added and missing: a word or note.EVENT
	key     string   // of field and text
	tool    string   // of argument; "" = any tool
	path    jsonPath // of argument
	within  amount   // of field and argument
	pattern *regexp.Regexp
}

type allowanceKind string

const (
	allowField    allowanceKind = "field"
	allowArgument allowanceKind = "argument"
	allowText     allowanceKind = "text"
	allowAdded    allowanceKind = "added"
	allowMissing  allowanceKind = "missing"
	allowRetries  allowanceKind = "retries"
)

// forms lists the forms of allowances, for hints.
var forms = []struct {
	kind allowanceKind
	form string
}{
	{allowField, "field LINE.KEY [within AMOUNT]"},
	{allowArgument, "argument TOOL PATH [within AMOUNT]"},
	{allowText, "text LINE.KEY REGEXP"},
	{allowAdded, "added LINE"},
	{allowMissing, "missing LINE"},
	{allowRetries, "retries"},
}

// An AllowanceError is an error in the text of an allowance.
type AllowanceError struct {
	Problem string
	Hint    string // how to correct it, "" = no hint
}

// Error returns the problem, followed by the hint.
func (e *AllowanceError) Error() string { return e.Problem + trailing(e.Hint) }

func allowanceError(hint, format string, args ...any) error {
	return &AllowanceError{Problem: fmt.Sprintf(format, args...), Hint: hint}
}

const (
	maxAllowance = 2000 // bytes, with the reason
	maxReason    = 300  // characters
)

// ParseAllowance parses an allowance and its reason, in the form DIFFERENCE: REASON. It
// accepts only what [Allowance.String] writes. The differences are
//
//	field LINE.KEY               the value of KEY in such lines
//	field LINE.KEY within 5      the same, where the numbers differ by 5 at most
//	argument TOOL PATH           the value at PATH in the arguments of TOOL, or whether it is there
//	argument TOOL PATH within 1% the same, where the numbers differ by 1 % of the golden's at most
//	text LINE.KEY REGEXP         every part of the text of KEY that REGEXP matches
//	added LINE                   lines of that kind that the golden does not have
//	missing LINE                 lines of that kind that only the golden has
//	retries                      how often a call or a request was tried before its last try, and all times
//
// LINE is the word of a line of a trace (started, reply, call, put, halt …) or * for
// all. For added and missing it can also be note.EVENT, such as note.limit-near. KEY is
// a key of a line, before the = (text, args, in, cost, elapsed …), or time for the time
// of inputs, or id for the ids of the calls of a reply. TOOL is a tool's name, or * for
// all. PATH begins with $: $.query, $.items[0].price, $.items[*], $["odd key"]. AMOUNT
// is a number, seconds for times (0.5s), or a percentage. REGEXP is a regular
// expression of Go, quoted as a Go string.
//
// An allowance without a reason is an error: in a year nobody would know its purpose.
// The error is an [AllowanceError].
func ParseAllowance(text string) (Allowance, error) {
	a, rest, err := scanAllowance(text)
	if err != nil {
		return Allowance{}, err
	}
	reason, ok := strings.CutPrefix(rest, ": ")
	switch {
	case rest == "" || rest == ":" || rest == ": ":
		return Allowance{}, allowanceError("add the reason, such as "+a.Difference()+": the clock is real", "the allowance has no reason")
	case !ok:
		return Allowance{}, allowanceError("a colon, a space and the reason follow it", "the allowance ends before %s", shown(rest))
	case reason != strings.TrimSpace(reason):
		return Allowance{}, allowanceError("", "the reason begins or ends with white space")
	case utf8.RuneCountInString(reason) > maxReason:
		return Allowance{}, allowanceError("", "the reason has more than %d characters", maxReason)
	case hidden(reason):
		return Allowance{}, allowanceError("", "the reason holds a character that cannot be printed: %s", shown(reason))
	}
	a.Reason = reason
	return a, nil
}

// hidden reports whether a text holds a hidden character, which is not allowed in a
// header.
func hidden(s string) bool { return text.Escape(s) != s }

// String returns DIFFERENCE: REASON, which [ParseAllowance] reads.
func (a Allowance) String() string { return a.Difference() + ": " + a.Reason }

// Difference returns what is allowed, without the reason, such as
// "field reply.in within 5"; "" for the zero value.
func (a Allowance) Difference() string {
	out := string(a.kind)
	switch a.kind {
	case allowField:
		out += " " + a.line + "." + a.key
	case allowArgument:
		out += " " + toolWord(a.tool) + " " + a.path.String()
	case allowText:
		out += " " + a.line + "." + a.key
		if a.pattern != nil {
			out += " " + quote(a.pattern.String())
		}
	case allowAdded, allowMissing:
		out += " " + a.line
	}
	if a.tolerates() {
		out += " within " + a.within.String()
	}
	return out
}

// tolerates reports whether only a difference within an amount is allowed.
func (a *Allowance) tolerates() bool { return a.within.n > 0 }

func toolWord(name string) string {
	switch {
	case name == "":
		return "*"
	case strings.ContainsFunc(name, func(c rune) bool { return c >= 0x80 || !isBare(byte(c)) }):
		return quote(name)
	}
	return name
}

// quote writes a Go string, in back quotes if that saves escapes.
func quote(s string) string {
	if strings.ContainsAny(s, `"\`) && strconv.CanBackquote(s) {
		return "`" + s + "`"
	}
	return strconv.Quote(s)
}

// An amount is a tolerance: a number, a number of seconds if the unit is s, or with the
// unit % a share of the golden's value. The zero value allows any difference.
type amount struct {
	n    float64
	unit string
}

func (a amount) String() string { return strconv.FormatFloat(a.n, 'f', -1, 64) + a.unit }

// covers reports whether got differs from want by at most the amount. Times are in
// seconds.
func (a amount) covers(want, got float64) bool {
	most := a.n
	if a.unit == "%" {
		most = a.n / 100 * max(want, -want)
	}
	return max(want-got, got-want) <= most
}
