package goldens

import (
	"errors"
	"strings"
	"testing"
)

const walk = `   0.000s started text=go
          > ask m1#1 for=reply to=1
   2.000s reply m1 call=call_1:search(` + "`" + `{"q":"b","limit":10}` + "`" + `) finish=tool_calls in=100 out=20
          > call c1#1 name=search args=` + "`" + `{"q":"b","limit":10}` + "`" + `
   2.200s result c1#1 ok text="took 12ms"
          > put c1 text="took 12ms"
          > ask m2#1 for=reply to=3
   4.200s reply m2 text=done finish=stop in=120 out=5
          > halt stop=done end=DONE reason="The model answered." answer=done turns=2 model_calls=2 asked=1 calls=1 tries=1 in=220 out=25 elapsed=4.2s
`

const header = `# agentbench golden v1
# scenario: loops/walk
# variant: hpd-agent
# seed: 18446744073709551615
# mode: subset
`

func TestRoundTrip(t *testing.T) {
	for _, text := range []string{
		header + "\n" + walk,
		header + "\n", // a trace of no records
		header + "# allow: retries: the network is real\n# allow: field *.time within 0.5s: so are clocks\n\n" + walk,
		strings.Replace(header, "loops/walk", "my suite/walk.v2-α", 1) + "\n" + walk,
	} {
		g, err := Parse("x.golden", []byte(text))
		if err != nil {
			t.Errorf("%v\n%s", err, text)
			continue
		}
		if got := string(g.Format()); got != text {
			t.Errorf("prints back as\n%s\nwant\n%s", got, text)
		}
	}
	g, _ := Parse("x.golden", []byte(header+"# allow: retries: so it is\n\n"+walk))
	if g.File != "x.golden" || g.Scenario != "loops/walk" || g.Variant != "hpd-agent" || g.Seed != 1<<64-1 || g.Mode != Subset ||
		len(g.Allow) != 1 || g.Allow[0].Reason != "so it is" || g.Trace != walk {
		t.Errorf("got %+v", g)
	}
	if got := string((&Golden{Scenario: "a/b", Variant: "c"}).Format()); !strings.Contains(got, "# seed: 0\n# mode: strict\n\n") {
		t.Errorf("the zero mode is strict; got %s", got)
	}
}

// The error of a broken golden names the line, and how to mend it.
func TestBrokenHeaders(t *testing.T) {
	whole := header + "\n" + walk
	edited := func(old, new string) string { return strings.Replace(whole, old, new, 1) }
	for _, c := range []struct{ text, want string }{
		{"", `x:1: is not a golden: it begins with ""; the first line must be # agentbench golden v1`},
		{"# agentbench golden v2\n", `x:1: is not a golden: it begins with "# agentbench golden v2"; the first line must be # agentbench golden v1`},
		{"\x1b]0;evil\a\n", `x:1: is not a golden: it begins with "\x1b]0;evil\a"; the first line must be # agentbench golden v1`},
		{strings.ReplaceAll(whole, "\n", "\r\n"), "x:1: the lines end with CR LF; check it out with LF: *.golden text eol=lf in .gitattributes"},
		{edited("# variant: hpd-agent\n", ""), `x:3: expected # variant:, not "# seed: 18446744073709551615"; the header is scenario, variant, seed, mode, then any number of allow, then an empty line`},
		{edited("loops/walk", "walk"), `x:2: the scenario must be suite/name, not "walk"; such as stuck-loops/same-call-forever`},
		{edited("loops/walk", "../walk"), `x:2: the suite's name ".." is empty, or begins or ends with a dot or a space; such as stuck-loops/same-call-forever`},
		{edited("loops/walk", "/"), `x:2: the suite's name "" is empty, or begins or ends with a dot or a space; such as stuck-loops/same-call-forever`},
		{edited("loops/walk", "a/b/c"), `x:2: the scenario's name "b/c" holds a character that is not allowed in a file's name; such as stuck-loops/same-call-forever`},
		{edited("hpd-agent", `a\b`), `x:3: the variant's name "a\\b" holds a character that is not allowed in a file's name; such as hpd-agent`},
		{edited("hpd-agent", strings.Repeat("v", 201)), `x:3: the variant's name "` + strings.Repeat("v", 60) + `…" has more than 200 characters; such as hpd-agent`},
		{edited("18446744073709551615", "18446744073709551616"), `x:4: the seed must be a whole number from 0 on, not "18446744073709551616"; such as 1`},
		{edited("18446744073709551615", "01"), `x:4: the seed must be a whole number from 0 on, not "01"; such as 1`},
		{edited("subset", "loose"), `x:5: there is no mode "loose"; the modes are strict, actions, unordered, subset, superset`},
		{header, "x:6: the file ends before the empty line after the header"},
		{strings.TrimSuffix(header, "\n"), "x:6: the file ends before the empty line after the header"},
		{header + "# allow: retries: x", "x:7: the file ends before the empty line after the header"},
		{edited("\n\n", "\nhello\n"), `x:6: expected # allow: or an empty line, not "hello"; an empty line separates the header from the trace`},
		{edited("\n\n", "\n# allow: retries\n\n"), `x:6: the allowance has no reason; add the reason, such as retries: the clock is real`},
		{edited("\n\n", "\n# allow: retries: why not\n# allow: retry: b\n\n"), `x:7: there is no allowance "retry: b"; the allowances are field LINE.KEY [within AMOUNT], argument TOOL PATH [within AMOUNT], text LINE.KEY REGEXP, added LINE, missing LINE, retries`},
		{edited("\n\n", "\n"+strings.Repeat("# allow: retries: x\n", 101)+"\n"), `x:106: more than 100 allowances`},
		{strings.Repeat("x", maxBytes+1), "x: a golden has at most 4194304 bytes"},
	} {
		_, err := Parse("x", []byte(c.text))
		var syntax *SyntaxError
		if !errors.As(err, &syntax) || err.Error() != c.want {
			t.Errorf("got  %v\nwant %s", err, c.want)
		}
	}
}

// A golden that is none stays one to the reader: Parse takes nothing that Format
// would not write, and never panics.
func FuzzParse(f *testing.F) {
	f.Add([]byte(header + "\n" + walk))
	f.Add([]byte(header + "# allow: argument * $.items[*][\"odd key\"] within 1.5%: rounding\n# allow: text put.text `[0-9]+\"`: times\n\n"))
	f.Add([]byte(header + "# allow: added note.nudged: told earlier\n# allow: field reply.id: drawn\n\n" + walk))
	f.Fuzz(func(t *testing.T, data []byte) {
		g, err := Parse("x", data)
		if err != nil {
			if strings.ContainsAny(err.Error(), "\n\r\x1b\x00") {
				t.Errorf("a message with control characters: %q", err)
			}
			return
		}
		if got := g.Format(); string(got) != string(data) {
			t.Errorf("%q prints back as %q", data, got)
		}
	})
}
