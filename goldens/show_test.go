package goldens

import (
	"fmt"
	"strings"
	"testing"

	"github.com/agentbench-go/agentbench/internal/text"
)

func difference(t *testing.T, g *Golden, got string) string {
	t.Helper()
	d := g.Compare(parseTrace(t, got))
	if d == nil {
		t.Fatal("want a difference, got a match")
	}
	return d.String()
}

// What a difference says: the place, the two lines, and an edit only where it
// says more.
func TestDifference(t *testing.T) {
	g := &Golden{File: "goldens/loops/walk.hpd-agent.golden", Trace: walk}
	put := "          > put c1 text=\"took 12ms\"\n"
	for _, c := range []struct{ what, got, want string }{
		{"one line", edited(t, walk, `c1 text="took`, `c1 text="needed`), `
goldens/loops/walk.hpd-agent.golden:12: the trace differs
  expected            > put c1 text="took 12ms"
  got                 > put c1 text="needed 12ms"
`}, {"a line less", edited(t, walk, put, ""), `
goldens/loops/walk.hpd-agent.golden:12: a line is missing from the trace
  expected            > put c1 text="took 12ms"
`}, {"a line more", edited(t, walk, put, put+"          > note event=trimmed\n"), `
goldens/loops/walk.hpd-agent.golden:13: the trace has one line more
  got                 > note event=trimmed
`}, {"two places", edited(t, walk, put, "", "answer=done", "answer=no"), `
goldens/loops/walk.hpd-agent.golden:12: a line is missing from the trace
  expected            > put c1 text="took 12ms"
  the shortest edit, - a line of the golden, + a line of the trace:
  -   12            > put c1 text="took 12ms"
  -   15            > halt stop=done end=DONE reason="The model answered." answer=done turns=2 model_calls=2 asked=1 calls=1 tries=1 in=220 out=25 elapsed=4.2s
  +    8            > halt stop=done end=DONE reason="The model answered." answer=no turns=2 model_calls=2 asked=1 calls=1 tries=1 in=220 out=25 elapsed=4.2s
`}, {"no trace", "", `
goldens/loops/walk.hpd-agent.golden:7: a line is missing from the trace
  expected     0.000s started text=go
  the shortest edit, - a line of the golden, + a line of the trace:
  -    7     0.000s started text=go
  -    8            > ask m1#1 for=reply to=1
  -    9     2.000s reply m1 call=call_1:search(` + "`" + `{"q":"b","limit":10}` + "`" + `) finish=tool_calls in=100 out=20
  -   10            > call c1#1 name=search args=` + "`" + `{"q":"b","limit":10}` + "`" + `
  -   11     2.200s result c1#1 ok text="took 12ms"
  -   12            > put c1 text="took 12ms"
  -   13            > ask m2#1 for=reply to=3
  -   14     4.200s reply m2 text=done finish=stop in=120 out=5
  -   15            > halt stop=done end=DONE reason="The model answered." answer=done turns=2 model_calls=2 asked=1 calls=1 tries=1 in=220 out=25 elapsed=4.2s
`},
	} {
		if got := "\n" + difference(t, g, c.got); got != c.want {
			t.Errorf("%s: got%swant%s", c.what, got, c.want)
		}
	}
}

// Long lines show their beginning and what differs; long edits their first
// lines; what differs altogether its first place.
func TestDifferenceIsShort(t *testing.T) {
	long := strings.Repeat("x", 5000)
	g := &Golden{Trace: edited(t, walk, "c1 text=\"took 12ms\"", "c1 text="+long+"A"+long)}
	got := difference(t, g, edited(t, walk, "c1 text=\"took 12ms\"", "c1 text="+long+"B"+long))
	// Its first 48 characters, 24 of them x, and 160 from 40 before the difference on.
	want := "line 12: the trace differs\n" +
		"  expected            > put c1 text=" + strings.Repeat("x", 24) + " … " + strings.Repeat("x", 40) + "A" + strings.Repeat("x", 119) + "…\n" +
		"  got                 > put c1 text=" + strings.Repeat("x", 24) + " … " + strings.Repeat("x", 40) + "B" + strings.Repeat("x", 119) + "…\n"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}

	var a, b strings.Builder
	for i := range 100 {
		fmt.Fprintf(&a, "%9s tick\n", fmt.Sprintf("%d.000s", i))
		fmt.Fprintf(&b, "%9s tick\n", fmt.Sprintf("%d.500s", i))
	}
	got = difference(t, &Golden{Trace: a.String()}, b.String())
	want = "line 7: the trace differs\n  expected     0.000s tick\n  got          0.500s tick\n  more than 60 lines differ\n"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}

	fifth := len(a.String()) / 5 // 20 lines, 20 out and 20 in
	got = difference(t, &Golden{Trace: a.String()[:fifth]}, b.String()[:fifth])
	if want := "line 7: the trace differs\n"; !strings.HasPrefix(got, want) {
		t.Errorf("got\n%s\nwant the beginning %s", got, want)
	}
	if n := strings.Count(got, "\n"); n != 3+1+12+1 {
		t.Errorf("%d lines, want where, both lines, a heading, 12 lines and how many more:\n%s", n, got)
	}
	if want := "… and 28 more\n"; !strings.HasSuffix(got, want) {
		t.Errorf("got\n%s\nwant the end %s", got, want)
	}
}

// What comes from files and traces cannot steer a terminal.
func TestDifferenceIsEscaped(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"plain é 漢", "plain é 漢"},
		{"\x1b[31mred\u202e\u200b", `\x1b[31mred\u202e\u200b`},
		{"a\r\n\tb\x7f\x00", `a\r\n\tb\x7f\x00`},
		{"\xff\uFFFD", "\\xff\uFFFD"},
	} {
		if got := text.Escape(c.text); got != c.want {
			t.Errorf("%q: got %q, want %q", c.text, got, c.want)
		}
	}
	g := &Golden{File: "\x1b]0;x\a", Trace: "\x1b[2J\u202e\n" + walk}
	got := difference(t, g, walk)
	want := `\x1b]0;x\a:7: the golden is broken at column 1: ` + "expected seconds such as 31.000s, with at most nine decimals\n" +
		"  expected  \\x1b[2J\\u202e\n  got          0.000s started text=go\n"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
