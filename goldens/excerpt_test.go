package goldens

import (
	"strings"
	"testing"
)

// The parts that differ, put back between what is the same, are the whole texts.
func TestDiffering(t *testing.T) {
	long := strings.Repeat("a line that is long enough\n", 1000)
	for _, c := range []struct{ a, b, wantA, wantB string }{
		{"", "", "", ""},
		{"a\n", "", "a\n", ""},
		{"a\nb\nc\n", "a\nx\nc\n", "b\n", "x\n"},
		{"ab\nc\n", "ac\nc\n", "ab\n", "ac\n"},
		{"a\nb\n", "a\n", "b\n", ""},
		{"a\na\na\n", "a\na\n", "a\n", ""},
		{"x\nb\n", "yx\nb\n", "x\n", "yx\n"}, // the end x is not a whole line
		{"a\nb", "a\nb\n", "b", "b\n"},
		{long + "x\n" + long, long + "y\n" + long, "x\n", "y\n"},
		{long, long + long, "", long},
	} {
		a, b := differing(c.a, c.b)
		if a.text != c.wantA || b.text != c.wantB {
			t.Errorf("%.40q and %.40q: got %.40q and %.40q, want %.40q and %.40q", c.a, c.b, a.text, b.text, c.wantA, c.wantB)
		}
		before := strings.Join(strings.SplitAfter(c.a, "\n")[:a.after], "")
		if a.after != b.after || !strings.HasPrefix(c.a, before+a.text) || !strings.HasPrefix(c.b, before+b.text) ||
			strings.TrimPrefix(c.a, before+a.text) != strings.TrimPrefix(c.b, before+b.text) {
			t.Errorf("%.40q and %.40q: behind %d lines stand %.40q and %.40q, which does not give the texts", c.a, c.b, a.after, a.text, b.text)
		}
	}
}
