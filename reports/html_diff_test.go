package reports

import (
	"strings"
	"testing"

	"github.com/agentbench-go/agentbench/goldens"
	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/scenarios"
	"golang.org/x/net/html"
)

// mismatched is a trial that leaves its golden in one line of which it says
// much else.
func mismatched() *scenarios.Result {
	r := endedIn("s/differs", "v", scenarios.Healthy, 1, loop.Done, 1)
	r.Verdict, r.Golden, r.Trace = scenarios.Fail, scenarios.GoldenMismatch, "   0.000s started text=hi\n"
	r.Findings = []scenarios.Finding{{Rule: "golden", Message: "goldens/s/differs.golden:9: the text differs", At: "line 4", Want: "text=<b>one</b>", Got: "text=two",
		Diff: &goldens.Edits{Edit: []goldens.Edit{{Out: true, Line: 9, Text: "text=<b>one</b>"}, {Line: 4, Text: "text=two"}, {Line: 5, Text: "\x1b[31mmore"}}, More: 3}}}
	return r
}

// diffs returns the text of all diffs of a page by the id of what holds them.
func diffs(t *testing.T, page string) map[string]string {
	t.Helper()
	out := map[string]string{}
	elements(t, page, func(n *html.Node) {
		for _, a := range n.Attr {
			if n.Data != "div" || a.Key != "class" || a.Val != "diff" {
				continue
			}
			for p := n.Parent; p != nil; p = p.Parent {
				for _, id := range p.Attr {
					if id.Key == "id" {
						out[id.Val] = content(n)
						return
					}
				}
			}
		}
	})
	return out
}

// The view of a trace shows where it left its golden: the two lines, and each
// line of the edit with a sign and a word, not by colour alone.
func TestHTMLShowsTheDiffOfAGolden(t *testing.T) {
	found := diffs(t, pageOf(t, folded(t, &Fold{Keep: true}, mismatched())))
	text := strings.Join(strings.Fields(found["trace-1"]), " ")
	for _, want := range []string{"goldens/s/differs.golden:9: the text differs", "− expected text=<b>one</b>", "+ got text=two",
		"− golden 9 text=<b>one</b>", "+ trace 4 text=two", "+ trace 5 ", "3 more lines are left out"} {
		if !strings.Contains(text, want) {
			t.Errorf("the diff lacks %q:\n%s", want, text)
		}
	}
	if strings.ContainsRune(text, '\x1b') {
		t.Error("the diff holds an escape character")
	}
}

// If the trace was not kept, the diff is shown with the failure.
func TestHTMLShowsTheDiffWithoutATrace(t *testing.T) {
	r := mismatched()
	r.Trace = ""
	if found := diffs(t, pageOf(t, folded(t, &Fold{Keep: true}, r))); !strings.Contains(found["findings"], "text=two") {
		t.Errorf("no diff at the failure: %v", found)
	}
}

// Whatever a results file says, a diff is no longer than a page can bear.
func TestHTMLDiffIsCapped(t *testing.T) {
	r := mismatched()
	d := &goldens.Edits{Edit: make([]goldens.Edit, 100), More: -5}
	for i := range d.Edit {
		d.Edit[i].Text = strings.Repeat("x", 10_000)
	}
	r.Findings[0].Diff = d
	view := newDiff(r.Findings)
	if len(view.Edit) != diffLines || len(view.Edit[0].Text) > diffChars+40 || view.More != "60 more lines are left out" {
		t.Errorf("%d lines, the first of %d bytes, %q", len(view.Edit), len(view.Edit[0].Text), view.More)
	}
}

// A page holds traces up to a bound, those of failed trials first, and says how
// many it leaves out. 5,000,000 bytes hold 76 of 64 KiB.
func TestHTMLTracesAreCapped(t *testing.T) {
	long := strings.Repeat("   0.000s tick\n", (traceHead+traceTail)/15+1)
	f := &Fold{Keep: true}
	for seed := range uint64(100) {
		r := endedIn("s/a", "v", scenarios.Healthy, seed+1, loop.Done, 1)
		r.Verdict, r.Trace = scenarios.Pass, long
		if seed == 99 {
			r.Verdict = scenarios.Fail
		}
		if err := f.Add(r); err != nil {
			t.Fatal(err)
		}
	}
	r, err := f.Report()
	if err != nil {
		t.Fatal(err)
	}
	v := newTrials(r)
	if len(v.Traces) != 76 || v.traces[trialKey{"s/a", "v", 100}] != 76 || v.traces[trialKey{"s/a", "v", 76}] != 0 {
		t.Errorf("%d traces, that of the failed trial is number %d", len(v.Traces), v.traces[trialKey{"s/a", "v", 100}])
	}
	if want := "The page holds 76 traces; 24 more are left out"; !strings.HasPrefix(v.Left, want) {
		t.Errorf("%q does not begin with %q", v.Left, want)
	}
}
