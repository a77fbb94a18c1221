package reports

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/scenarios"
)

// failingTimes returns a fold of n trials that fail, and one that passes.
func failingTimes(t *testing.T, n int) *Fold {
	f := foldOf(t, sure("s/fine", scenarios.Healthy, loop.Done, scenarios.Pass))
	for i := range n {
		r := sure(fmt.Sprintf("s/%02d", i), scenarios.Runaway, loop.Ceiling, scenarios.Fail)
		r.Findings = []scenarios.Finding{{Rule: "label", Message: "the runaway was not caught"}}
		fill(t, f, r)
	}
	return f
}

// gated is the report of results with the verdict of a gate.
func gated(t *testing.T, l Limits, now, base *Fold) *Report {
	r, err := now.Report()
	if err != nil {
		t.Fatal(err)
	}
	r.Gate = l.Judge(now, base, []string{"results.jsonl"})
	r.Verdict = r.Gate.Verdict
	return r
}

// The words outside what readers must open.
func unfolded(page string) string {
	return regexp.MustCompile(`(?s)<details>.*?</details>`).ReplaceAllString(page, "")
}

// A summary begins with the verdict, what the gate found and what failed, each with the
// command that shows more. Nothing else is seen before it is opened.
func TestMarkdownSaysWhatFailedFirst(t *testing.T) {
	page := export(t, func(b *bytes.Buffer) error {
		return WriteMarkdown(b, gated(t, DefaultLimits(), failingTimes(t, 12), nil))
	})
	var list strings.Builder
	for i := range 10 {
		fmt.Fprintf(&list, "- **fail** s/%02d under v, seed 1: CEILING (x)\n  - the runaway was not caught\n  - ` agentbench run s/%02d `\n", i, i)
	}
	want := Marker + `
## agentbench: fail, 13 scenarios under 1 variant in 13 trials

- **fail** pass rate: 1 of 13 scenarios passed (8 %); wanted: at least 100 %  
  ` + "` agentbench run s/00 `" + `

### 12 trials failed or could not be judged

` + list.String() + "\n"
	if !strings.HasPrefix(page, want) {
		t.Errorf("the page begins\n%.2000s\nwant\n%s", page, want)
	}
	if seen := strings.TrimPrefix(unfolded(page), want); strings.TrimSpace(seen) != "" {
		t.Errorf("more is seen at once:\n%s", seen)
	}
	for _, folded := range []string{"More trials that failed or could not be judged", "All rules of the gate", "How many were stopped, with 95 % intervals", "Suites", "Tools"} {
		if strings.Count(page, "<details><summary>"+folded) != 1 {
			t.Errorf("%q is not folded once", folded)
		}
	}
	if strings.Count(page, "<details>") != strings.Count(page, "</details>") || !strings.Contains(page, "- **fail** s/11 ") {
		t.Error("the fold of the other trials is not whole")
	}
}

// Failures that a gate lets pass are nobody's first concern.
func TestMarkdownFoldsWhatIsTolerated(t *testing.T) {
	page := export(t, func(b *bytes.Buffer) error {
		return WriteMarkdown(b, gated(t, DefaultLimits(), failingTimes(t, 2), failingTimes(t, 2)))
	})
	if want := Marker + "\n## agentbench: pass, 3 scenarios under 1 variant in 3 trials\n"; strings.TrimSpace(unfolded(page)) != strings.TrimSpace(want) {
		t.Errorf("seen at once is\n%s\nwant\n%s", unfolded(page), want)
	}
	if !strings.Contains(page, "<details><summary>2 trials failed or could not be judged, and the gate lets them pass</summary>\n\n- **fail** s/00 ") {
		t.Errorf("they are not folded:\n%s", page)
	}
}

// The page of a gate marks the rules that a reader must look at, and has them first.
func TestHTMLMarksFailedRules(t *testing.T) {
	limits := DefaultLimits()
	limits.MinTrials = 99
	page := pageOf(t, gated(t, limits, failingTimes(t, 2), nil))
	rows := regexp.MustCompile(`<tr( class="[a-z]+")?><th scope="row">([a-z ]+)</th><td>([a-z ]+)</td>`).FindAllStringSubmatch(page, -1)
	var got []string
	for _, row := range rows[:4] {
		got = append(got, row[1]+" "+row[2]+" "+row[3])
	}
	if want := ` class="inconclusive" trials inconclusive, class="fail" pass rate fail, audit pass, history pass`; strings.Join(got, ",") != want {
		t.Errorf("the first rules are %q, want %q", got, want)
	}
}

// However long names, findings and commands are, the page fits into a comment on GitHub,
// which has at most 65,536 characters, and counts what it leaves out.
func TestMarkdownFitsIntoAComment(t *testing.T) {
	f := &Fold{Repeat: func(r *scenarios.Result) string { return "agentbench explain " + strings.Repeat("p", 800) }}
	for i := range 80 {
		for _, variant := range []string{"a", "b"} {
			r := sure(fmt.Sprintf("s/%02d%s", i, strings.Repeat("n", 90)), scenarios.Healthy, loop.Done, scenarios.Pass)
			if r.Variant = variant; variant == "a" {
				r.EndState, r.Verdict = loop.ErrorLimit, scenarios.Fail
				r.Findings = slices.Repeat([]scenarios.Finding{{Rule: "label", Message: strings.Repeat("m", 900)}}, 6)
			}
			fill(t, f, r)
		}
	}
	page := export(t, func(b *bytes.Buffer) error { return WriteMarkdown(b, gated(t, DefaultLimits(), f, nil)) })
	if n := utf8.RuneCountInString(page); n > 65536 || n < 20000 {
		t.Errorf("the page has %d characters", n)
	}
	listed := strings.Count(page, "\n- **fail** s/")
	if listed < 11 || !strings.Contains(page, fmt.Sprintf("\n- %d more trials\n", 80-listed)) {
		t.Errorf("%d trials are listed, and the others are not counted", listed)
	}
}
