package reports

import "testing"

// What begins a line of Markdown begins no list, heading or rule. The values are
// from CommonMark: a list marker is a bullet, or up to nine digits and a point or
// a bracket (5.2); a row of - or = below a text makes a heading of it (4.3).
func TestMarkdownStart(t *testing.T) {
	for text, want := range map[string]string{
		"===":           `\===`,
		"- a":           `\- a`,
		"---":           `\---`,
		"+ a":           `\+ a`,
		"1. a":          `1\. a`,
		"12) a":         `12\) a`,
		"123456789. a":  `123456789\. a`,
		"1234567890. a": "1234567890. a",
		"a - b":         "a - b",
		"1.5 of 2":      `1\.5 of 2`,
		"* a":           `\* a`,
		"> a":           "&gt; a",
		"":              "",
	} {
		if got := markdownStart(text); got != want {
			t.Errorf("%q is written as %q, want %q", text, got, want)
		}
	}
}
