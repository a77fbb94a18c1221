package goldens

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// An Allowance is a difference that is fine, and why.
type Allowance struct {
	Rule   Rule
	Reason string
}

// String gives RULE: REASON, which [ParseAllowance] reads.
func (a Allowance) String() string { return a.Rule.String() + ": " + a.Reason }

// A RuleError says what is wrong with an allowance or its rule.
type RuleError struct {
	Problem string
	Hint    string // how to mend it, "" = no idea
}

// Error gives the problem, and the hint behind it.
func (e *RuleError) Error() string { return e.Problem + trailing(e.Hint) }

func ruleError(hint, format string, args ...any) error {
	return &RuleError{Problem: fmt.Sprintf(format, args...), Hint: hint}
}

// maxReason is how long a reason may be, in characters.
const maxReason = 300

// ParseAllowance reads RULE: REASON, and takes nothing but what
// [Allowance.String] writes. An allowance without a reason is an error: in a
// year nobody knows what it was for. The error is a [RuleError].
func ParseAllowance(text string) (Allowance, error) {
	rule, rest, err := parseRule(text)
	if err != nil {
		return Allowance{}, err
	}
	reason, ok := strings.CutPrefix(rest, ": ")
	switch {
	case rest == "" || rest == ":" || rest == ": ":
		return Allowance{}, ruleError("behind the rule comes why, such as "+rule.String()+": the clock is real", "the rule has no reason")
	case !ok:
		return Allowance{}, ruleError("behind the rule come a colon, a space and the reason", "the rule ends before %s", shown(rest))
	case reason != strings.TrimSpace(reason):
		return Allowance{}, ruleError("", "the reason begins or ends with white space")
	case utf8.RuneCountInString(reason) > maxReason:
		return Allowance{}, ruleError("", "the reason has more than %d characters", maxReason)
	case strings.ContainsFunc(reason, hidden):
		return Allowance{}, ruleError("", "the reason holds a character that cannot be printed: %s", shown(reason))
	}
	return Allowance{Rule: rule, Reason: reason}, nil
}

// hidden reports whether a character may not stand in a header.
func hidden(r rune) bool { return r == utf8.RuneError || !unicode.IsPrint(r) }
