package goldens

import (
	"strings"
	"testing"
)

// An allowance that parses prints back as it stood; the error of any other is one
// line.
func FuzzParseAllowance(f *testing.F) {
	for _, text := range []string{"field *.time", "field halt.elapsed within 0.5s", "field reply.cost within 12.5%", "argument book $.items[0].price within 0.01",
		`argument "two words" $["odd key"].x_1`, `text put.text "took [0-9]+ms"`, "text *.reason `[0-9]+\\.[0-9]+`", "added note.limit-near", "retries", "missing *", "field reply.in within 1e9"} {
		f.Add(text, "because")
	}
	f.Add("argument * $[*]", " \x1b\n")
	f.Fuzz(func(t *testing.T, difference, reason string) {
		text := difference + ": " + reason
		a, err := ParseAllowance(text)
		if err != nil {
			if err.Error() == "" || strings.ContainsAny(err.Error(), "\n\r\x1b\x00") {
				t.Errorf("the error is %q", err)
			}
		} else if got := a.String(); got != text {
			t.Errorf("%q prints back as %q", text, got)
		}
	})
}
