package secrets

import (
	"strings"
	"testing"
)

func TestOpened(t *testing.T) {
	for in, want := range map[string]string{
		`plain`:                       "plain",
		`a\n\t\"\\\/b`:                "a\n\t\"\\/b",
		`\u0041\u00e9\ud83d\ude00`:    "Aé😀",
		`\ud83d \ude00x \ud83d\u0041`: "\ufffd \ufffdx \ufffdA",
		`\x \u12 \u12g4 \`:            `\x \u12 \u12g4 \`,
		"%41%e2%82%ac %4 %zz %":       "A€ %4 %zz %",
	} {
		if got := opened(in, true); got != want {
			t.Errorf("%q opens to %q, not %q", in, got, want)
		}
	}
	if got := opened(`%41\u0042`, false); got != "%41B" {
		t.Errorf("without percent it opens to %q", got)
	}
}

// A span of the opened text is what its span of the text opens to, for every
// place in it that no character goes across.
func TestClosed(t *testing.T) {
	in := `a\u0040b%40\ud83d\ude00\\n%e2%82%acé\"` + "\n" + `\u00e9z`
	out := opened(in, true)
	for start := range out {
		for end := range out {
			if end <= start {
				continue
			}
			s := closed(in, []span{{start: start, end: end}}, true)[0]
			if got := opened(in[s.start:s.end], true); got != out[start:end] {
				t.Errorf("%q is %q in the text, which opens to %q", out[start:end], in[s.start:s.end], got)
			}
		}
	}
	// All at once, one after the other: each is its own part.
	var spans []span
	last := 0
	for i := range out {
		if i > 0 {
			spans = append(spans, span{start: last, end: i})
			last = i
		}
	}
	var b strings.Builder
	for _, s := range closed(in, spans, true) {
		b.WriteString(in[s.start:s.end])
	}
	if got := b.String() + in[len(b.String()):]; got != in || b.Len() != len(in)-1 {
		t.Errorf("the spans are %q of %q", b.String(), in)
	}
}
