package goldens

import (
	"strings"
	"testing"

	"github.com/agentbench-go/agentbench/loop"
)

// nested is a session with a sub-run whose call has two tries.
const nested = `   0.000s started text=go
          > ask m1#1 for=reply to=1
   1.000s reply m1 call=a:help("{}")
          > call c1#1 name=help args="{}"
   1.000s   c1#1/ started text="{}"
            > c1#1/ ask m1#1 for=reply to=1
   2.000s   c1#1/ reply m1 call=b:look("{}")
            > c1#1/ call c1#1 name=look args="{}"
   3.000s   c1#1/ result c1#1 ok text=one
            > c1#1/ put c1 text=one
            > c1#1/ halt stop=done end=DONE
   3.000s result c1#1 ok text=found
          > put c1 text=found
          > halt stop=done end=DONE
`

// Lines of sub-runs are compared as others, and allowances know their words.
func TestCompareSubRuns(t *testing.T) {
	for _, c := range []struct {
		name, old, new, allow string
		line                  int // of the difference in the golden's trace; 0 = none
	}{
		{"the same", "go", "go", "", 0},
		{"an effect of a sub-run", "put c1 text=one", "put c1 text=two", "", 10},
		{"an input of a sub-run", "ok text=one", "ok text=two", "", 9},
		{"an effect that is allowed to differ", "put c1 text=one", "put c1 text=two", "field put.text: it may", 0},
		{"the same line in another session", "            > c1#1/ ask m1#1", "            > c1#1/ ask m1#2", "", 6},
	} {
		head := header
		head = strings.Replace(head, "subset", "strict", 1)
		if c.allow != "" {
			head += "# allow: " + c.allow + "\n"
		}
		g, err := Parse("x.golden", []byte(head+"\n"+nested))
		if err != nil {
			t.Fatal(err)
		}
		trace, err := loop.ParseTrace(strings.Replace(nested, c.old, c.new, 1))
		if err != nil {
			t.Fatal(err)
		}
		d := g.Compare(trace)
		switch {
		case c.line == 0 && d != nil:
			t.Errorf("%s: %v", c.name, d)
		case c.line != 0 && (d == nil || d.TraceLine != c.line):
			t.Errorf("%s: got %v, want line %d", c.name, d, c.line)
		case d != nil && (d.Edits == nil || len(d.Edits.Edit) != 2):
			t.Errorf("%s: the edits are %+v", c.name, d.Edits)
		}
	}
}

// With allow: retries the sub-run of the last try stands for those of all.
func TestRetriesOfSubRuns(t *testing.T) {
	twice := strings.Replace(nested, "   1.000s   c1#1/ started", `   1.000s   c1#1/ started text="{}"
            > c1#1/ ask m1#1 for=reply to=1
   1.100s tick
          > cancel c1#1 text=timeout
   1.100s   c1#1/ cancel
            > c1#1/ cancel m1#1
            > c1#1/ halt stop=cancelled end=CANCELLED
   1.100s result c1#1 code=Cancelled
          > call c1#2 name=help args="{}"
   1.000s   c1#2/ started`, 1)
	first, rest, _ := strings.Cut(twice, "c1#2/ started")
	rest = strings.ReplaceAll(strings.ReplaceAll(rest, "c1#1/ ", "c1#2/ "), "3.000s result c1#1", "3.000s result c1#2")
	trace, err := loop.ParseTrace(first + "c1#2/ started" + rest)
	if err != nil {
		t.Fatal(err)
	}
	g, err := Parse("x.golden", []byte(strings.Replace(header, "subset", "strict", 1)+"# allow: retries: the tool is slow at times\n\n"+nested))
	if err != nil {
		t.Fatal(err)
	}
	if d := g.Compare(trace); d != nil {
		t.Errorf("%v", d)
	}
}
