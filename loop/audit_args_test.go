package loop

import (
	"strings"
	"testing"
)

// TestAuditIsObject: what the audit takes as an object is what the machine
// takes, by the rules at canon: a key that stands twice is an error, and so is
// what lies deeper than 1,000 levels, the outermost object counted.
func TestAuditIsObject(t *testing.T) {
	nested := func(levels int) string {
		return strings.Repeat(`{"a":`, levels-1) + "{}" + strings.Repeat("}", levels-1)
	}
	for _, c := range []struct {
		text string
		want bool
	}{
		{`{}`, true},
		{` { "a" : [ {"b":1}, {"b":2} ] } `, true},
		{`{"a":{"b":1},"b":{"a":1}}`, true},
		{`{"a":1,"a":1}`, false},
		{`{"a":1,"\u0061":2}`, false},
		{`{"x":[{"a":1,"b":2,"a":3}]}`, false},
		{`[]`, false},
		{`{} {}`, false},
		{`{"a":`, false},
		{"", false},
		{nested(1000), true},
		{nested(1001), false},
	} {
		if got := auditIsObject(c.text); got != c.want {
			t.Errorf("auditIsObject(%.40q): got %v, want %v", c.text, got, c.want)
		}
		var m canon
		if _, err := m.object(c.text); c.text != "" && (err == nil) != c.want {
			t.Errorf("the machine reads %.40q as an object: %v, want %v", c.text, err == nil, c.want)
		}
	}
}
