package wire

import (
	"strings"
	"testing"
)

// FuzzSpaced checks that a text has one space for every white space.
func FuzzSpaced(f *testing.F) {
	for _, text := range []string{"", " ", "a", "a b", " a  b\n", "a\tb\vc\fd\re\x00f\x1f", "a\u00a0b\u0085 c", "a\n\u2028b", "  a b c ", "\xff \xfe"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if got, want := spaced(text), strings.Join(strings.Fields(text), " "); got != want {
			t.Errorf("spaced(%q) = %q, want %q", text, got, want)
		}
	})
}
