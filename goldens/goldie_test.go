package goldens_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/goldens"
	"github.com/agentbench-go/agentbench/loop"
	"github.com/sebdah/goldie/v2"
)

// How a Go test checks a golden: goldie finds the file, and this package says
// what is equal. The files are those of `agentbench golden`.
func TestWithGoldie(t *testing.T) {
	script := fakes.Script{
		Task:  "Summarise notes.txt",
		Tools: []fakes.Tool{{ToolSpec: loop.ToolSpec{Name: "read_file"}, Answers: []fakes.Answer{{Result: "the same text"}}}},
		Model: []fakes.Step{{Repeat: fakes.Forever, Text: "I will look.", Calls: []fakes.StepCall{{Name: "read_file", Args: `{"path":"notes.txt"}`}}}},
	}
	var trace loop.Trace
	if _, err := fakes.NewWorld(&script, 1).Run(context.Background(), loop.Default(), &trace); err != nil {
		t.Fatal(err)
	}
	now := goldens.Golden{Scenario: "loops/same", Variant: "hpd-agent", Seed: 1, Trace: trace.String()}

	g := goldie.New(t, goldie.WithFixtureDir(filepath.Join("testdata", "goldens")), goldie.WithNameSuffix(".golden"),
		goldie.WithEqualFn(goldens.Equal), goldie.WithDiffFn(goldens.Diff))
	const name = "loops/same.hpd-agent"
	if os.Getenv("UPDATE") != "" { // GOLDIE_UPDATE=1, or the flag -update, do the same
		if err := g.Update(t, name, now.Format()); err != nil {
			t.Fatal(err)
		}
	}
	g.Assert(t, name, now.Format())

	stored, err := goldens.Dir(filepath.Join("testdata", "goldens")).Read(name + ".golden")
	if err != nil || stored.Compare(trace) != nil {
		t.Errorf("agentbench golden would not find it so: %v", err)
	}
}

// Equal goes by the expected golden's mode and allowances; Diff says why not.
func TestEqual(t *testing.T) {
	file := func(mode goldens.Mode, seed uint64, text string, allow ...string) string {
		g := goldens.Golden{Scenario: "a/b", Variant: "c", Seed: seed, Terms: goldens.Terms{Mode: mode},
			Trace: fmt.Sprintf("   0.000s started text=%s\n          > halt stop=done end=DONE\n", text)}
		for _, difference := range allow {
			a, err := goldens.ParseAllowance(difference + ": a test")
			if err != nil {
				t.Fatal(err)
			}
			g.Allow = append(g.Allow, a)
		}
		return string(g.Format())
	}
	for _, c := range []struct{ what, actual, expected, diff string }{
		{"the same", file("", 1, "x"), file("", 1, "x"), ""},
		{"another text", file("", 1, "x"), file("", 1, "y"), "line 7: the trace differs\n  expected     0.000s started text=y\n  got          0.000s started text=x\n"},
		{"allowed by expected", file("", 1, "x"), file("", 1, "y", "field started.text"), ""},
		{"allowed by actual", file("", 1, "x", "field started.text"), file("", 1, "y"), "line 7: the trace differs\n  expected     0.000s started text=y\n  got          0.000s started text=x\n"},
		{"the mode of expected", file("", 1, "x"), file(goldens.Actions, 1, "y"), ""},
		{"another seed", file("", 2, "x"), file("", 1, "x"), "the golden is that of another trial\n"},
		{"no golden", file("", 1, "x"), "x", "the golden is broken: line 1: is no golden: it begins with \"x\"; the first line is # agentbench golden v1\n"},
		{"no trial", "x", file("", 1, "x"), "what is compared is no golden: line 1: is no golden: it begins with \"x\"; the first line is # agentbench golden v1\n"},
		{"no trace", file("", 1, "\x00"), file("", 1, "x"), "line 7: the trace is broken at column 24: expected a value: bare, in back quotes or Go-quoted\n" +
			"  expected     0.000s started text=x\n  got          0.000s started text=\\x00\n"},
	} {
		if got := goldens.Diff(c.actual, c.expected); got != c.diff {
			t.Errorf("%s: got\n%s\nwant\n%s", c.what, got, c.diff)
		}
		if got := goldens.Equal([]byte(c.actual), []byte(c.expected)); got != (c.diff == "") {
			t.Errorf("%s: Equal gives %v", c.what, got)
		}
	}
}
