package scenarios

import (
	"fmt"
	"strings"
	"testing"

	"github.com/agentbench-go/agentbench/goldens"
)

// What a file says of its golden.
func TestGoldenKey(t *testing.T) {
	all, err := load(t, valid+"golden:\n  mode: off\n")
	if err != nil {
		t.Fatal(err)
	}
	if g := all[0].Golden; g == nil || g.Mode != goldens.Off || len(g.Allow) > 0 {
		t.Errorf("got %+v", g)
	}
	if all, err = load(t, valid); err != nil || all[0].Golden != nil {
		t.Errorf("without the key: got %+v, error %v", all, err)
	}
	all, err = load(t, valid+"golden:\n  allow:\n    - \"retries: the network is real\"\n    - \"added tick: so is the clock\"\n")
	if err != nil {
		t.Fatal(err)
	}
	g := all[0].Golden
	if g == nil || g.Mode != "" || len(g.Allow) != 2 || g.Allow[0].String() != "retries: the network is real" ||
		g.Allow[1].Difference() != "added tick" || g.Allow[1].Reason != "so is the clock" {
		t.Errorf("got %+v", g)
	}
}

func TestBrokenGoldenKey(t *testing.T) {
	for _, c := range []struct{ key, want string }{
		{"golden: {mode: loose}", `15:16: there is no mode "loose" (there are strict, actions, unordered, subset, superset, off)`},
		{"golden: {allow: retries}", `15:17: allow must be a list, not "retries"`},
		{"golden: {allow: [3]}", `15:18: an entry of allow must be text, not 3`},
		{"golden: strict", `15:9: golden must be a mapping`},
		{"golden: {rules: []}", `15:10: unknown key "rules" in golden`},
		{`golden: {mode: off, allow: ["retries: x"]}`, `15:28: nothing can differ where there is no golden (take out allow, or the mode off)`},
		{`golden: {allow: [retries]}`, `15:18: the allowance has no reason (add the reason, such as retries: the clock is real)`},
		{"golden:\n  allow:\n    - \"retries: x\"\n    - \"field reply.tokens: x\"", `18:7: there is no key "tokens" (the keys are `},
	} {
		got := mistakes(t, valid+c.key+"\n")
		if len(got) != 1 || !strings.HasPrefix(got[0], c.want) {
			t.Errorf("%s:\ngot  %q\nwant %s", c.key, got, c.want)
		}
	}
}

// A wrong allowance is reported with the other mistakes of its file, with the line
// and a caret, in the order of the lines.
func TestBrokenAllowanceAmongOtherMistakes(t *testing.T) {
	text := strings.Replace(valid, "label: healthy", "label: hale", 1) + "golden:\n  allow:\n    - added tick\nnonsense: 1\n"
	_, err := load(t, text)
	ms, ok := err.(Mistakes)
	if !ok || len(ms) != 3 {
		t.Fatalf("want three mistakes, got %v", err)
	}
	// valid has 14 lines: golden is the 15th, its only allowance the 17th.
	want := "s.yaml:17:7: the allowance has no reason\n  17 |     - added tick\n     |       ^\nhint: add the reason, such as added tick: the clock is real"
	if got := ms[1].Error(); !strings.HasSuffix(got, want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if ms[0].Line != 3 || ms[2].Line != 18 {
		t.Errorf("the others are in the lines %d and %d, want 3 and 18", ms[0].Line, ms[2].Line)
	}
}

// A golden holds at most 100 allowances: more could be written and not be read.
func TestTooManyAllowances(t *testing.T) {
	allow := func(n int) string {
		text := valid + "golden:\n  allow:\n"
		for i := range n {
			text += fmt.Sprintf("    - \"retries: reason %d\"\n", i)
		}
		return text
	}
	if _, err := load(t, allow(100)); err != nil {
		t.Errorf("100: %v", err)
	}
	// The golden is line 15, so the 101st allowance line 117.
	if got, want := mistakes(t, allow(102)), "117:7: more than 100 allowances of one golden"; len(got) != 1 || got[0] != want {
		t.Errorf("102: got %q, want %q", got, want)
	}
}
