package goldens

import (
	"errors"
	"strings"
	"testing"
)

// Each form of an allowance prints back as it parses.
func TestAllowancesPrintBack(t *testing.T) {
	for _, text := range []string{
		"field *.time", "field reply.in", "field halt.elapsed within 0.5s", "field reply.in within 5", "field reply.cost within 12.5%", "field reply.id",
		"argument search $", "argument search $.query", "argument * $.at", "argument book $.items[0].price within 0.01", "argument a.b-c $[*][12]",
		`argument "two words" $["odd key"].x_1`, "argument `\"quoted\"` $", `argument "*" $`,
		`text put.text "took [0-9]+ms"`, "text *.reason `[0-9]+\\.[0-9]+`", `text halt.answer "\x1b|\n"`,
		"added tick", "missing note", "added note.limit-near", "retries",
	} {
		a, err := ParseAllowance(text + ": because")
		if err != nil || a.Difference() != text || a.Reason != "because" || a.String() != text+": because" {
			t.Errorf("%s: because is read as %q, error %v", text, a, err)
		}
	}
	if got := (Allowance{}).Difference(); got != "" {
		t.Errorf("the zero allowance prints as %q", got)
	}
}

func TestBrokenAllowances(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", `there is no allowance ""`},
		{"Field reply.in", `there is no allowance "Field reply.in"`},
		{"field", `expected a space and a field before ""`},
		{"field  reply.in", `no line of a trace begins with " reply.in"`},
		{"field replies.in", `no line of a trace begins with "replies.in"`},
		{"field reply", `expected a dot and a key before ""`},
		{"field reply.tokens", `there is no key "tokens"`},
		{"field reply.in within", `the allowance ends before " within"`},
		{"field reply.in within 0", `expected an amount above 0 before "0"`},
		{"field reply.in within -1", `expected an amount above 0 before "-1"`},
		{"field reply.in within 1.2.3", `expected an amount above 0 before "1.2.3"`},
		{"field reply.in within 5s", `an amount of seconds is for times only`},
		{"field reply.in within 05", `the allowance "field reply.in within 05" is not in its canonical form`},
		{"field reply.text within 5", `the value of text is not a number`},
		{"field *.time within 5", `time is a time: the amount needs a unit`},
		{"field *.time within 5m", `time is a time: the amount needs a unit`},
		{"argument", `expected a space and a tool before ""`},
		{"argument search", `expected a space and a path before ""`},
		{"argument search query", `a path begins with $, not with "query"`},
		{"argument search $.", `expected a key of letters, digits and _ before ""`},
		{"argument search $.a-b", `the allowance ends before "-b"`},
		{"argument search $[x]", `expected an index, * or a quoted key before "x]"`},
		{"argument search $[1", `expected ] before ""`},
		{"argument search $[01]", `the allowance "argument search $[01]" is not in its canonical form`},
		{`argument search $["a"]`, `the allowance "argument search $[\"a\"]" is not in its canonical form`},
		{`argument "search" $`, `the allowance "argument \"search\" $" is not in its canonical form`},
		{`argument "search $`, `expected the name of a tool as a Go string before "\"search $"`},
		{`argument "" $`, "the name of a tool is empty"},
		{"argument search $" + strings.Repeat(".a", 33), `the path has more than 32 steps`},
		{"text reply.in \"1\"", "the value of in is not a text"},
		{"text put.text", `expected a space and a regular expression before ""`},
		{"text put.text [0-9]", `expected a regular expression as a Go string before "[0-9]"`},
		{`text put.text "("`, "the regular expression \"(\" is broken: missing closing ): `(`"},
		{`text put.text "x*"`, `the regular expression "x*" matches the empty text`},
		{"text put.text `x`", "the allowance \"text put.text `x`\" is not in its canonical form"},
		{"added", `expected a space and a line before ""`},
		{"added note.", "expected an event after note."},
		{"missing put.text", `the allowance ends before ".text"`},
		{"retries 3", `the allowance ends before " 3"`},
		{"field " + strings.Repeat("a", 2000), "the allowance has more than 2000 bytes"},
	} {
		_, err := ParseAllowance(c.text)
		var wrong *AllowanceError
		if !errors.As(err, &wrong) || wrong.Problem != c.want {
			t.Errorf("%.80s:\ngot  %v\nwant %s", c.text, err, c.want)
		}
	}
}

func TestBrokenReasons(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"retries", "the allowance has no reason; add the reason, such as retries: the clock is real"},
		{"retries: ", "the allowance has no reason; add the reason, such as retries: the clock is real"},
		{"retries because", `the allowance ends before " because"; a colon, a space and the reason follow it`},
		{"retries:because", `the allowance ends before ":because"; a colon, a space and the reason follow it`},
		{"retries:  because", "the reason begins or ends with white space"},
		{"retries: \x1b[31mred", `the reason holds a character that cannot be printed: "\x1b[31mred"`},
		{"retries: " + strings.Repeat("é", 301), "the reason has more than 300 characters"},
		{"field reply.x: y", `there is no key "x"; the keys are ` + list(keyNames())},
	} {
		if _, err := ParseAllowance(c.text); err == nil || err.Error() != c.want {
			t.Errorf("%.80s:\ngot  %v\nwant %s", c.text, err, c.want)
		}
	}
	if _, err := ParseAllowance("retries: " + strings.Repeat("é", 300)); err != nil {
		t.Errorf("300 characters are not too many: %v", err)
	}
}
