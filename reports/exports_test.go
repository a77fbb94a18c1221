package reports

import (
	"bytes"
	"encoding/csv"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/scenarios"
	"github.com/google/go-cmp/cmp"
)

// evil is a text that every format would trip over.
const evil = "x\x1b[31m\x00\x07|`<script>alert(1)</script>*_[a](http://e.example)@you\u202eyou ]]> &\r\n::error::x,%y\xff"

// troubled is a report of a trial that failed with an evil finding, one that
// could not be judged, one that passed and one that was not to be judged.
func troubled(t *testing.T) *Report {
	failed := endedIn("loops/"+evil, "v"+evil, scenarios.Runaway, 7, loop.Ceiling, 1000)
	failed.Verdict, failed.File, failed.Line, failed.VirtualMS = scenarios.Fail, "dir/a b,c:d.yaml", 3, 1500
	failed.Stop = loop.Stop(evil)
	failed.Findings = []scenarios.Finding{{Rule: "label", Message: "not caught " + evil, Want: "w", Got: "g"}, {Rule: "calls", Message: "calls: want 3, got 1000", Want: "3", Got: "1000"}}
	failed.Trace = "   0.000s started text=\"" + evil + "\"\n"
	dark := endedIn("loops/dark", "v", scenarios.Healthy, 1, "", 0)
	dark.Verdict, dark.Stop = scenarios.Inconclusive, ""
	dark.Findings = []scenarios.Finding{{Rule: "ran-dry", Message: "the script ran dry"}}
	passed := endedIn("other/fine", "v", scenarios.Healthy, 1, loop.Done, 2)
	passed.Verdict, passed.VirtualMS = scenarios.Pass, 250
	seen := endedIn("other/seen", "v", scenarios.Healthy, 1, loop.Done, 2)
	for _, r := range []*scenarios.Result{failed, dark, passed, seen} {
		r.Suite = ""
	}
	return folded(t, &Fold{Keep: true, Repeat: func(r *scenarios.Result) string { return "agentbench explain '" + r.Scenario + "'" }}, failed, dark, passed, seen)
}

// Code and escaped text are not marks of Markdown.
var (
	regexpCode    = regexp.MustCompile("`+ .*? `+\n")
	regexpEscaped = regexp.MustCompile(`\\.`)
)

func export(t *testing.T, write func(*bytes.Buffer) error) string {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestMarkdown(t *testing.T) {
	r := troubled(t)
	r.Warnings = append(r.Warnings, evil)
	text := export(t, func(b *bytes.Buffer) error { return WriteMarkdown(b, r) })
	if !strings.HasPrefix(text, Marker+"\n## agentbench: fail, 4 scenarios under 2 variants in 4 trials\n") {
		t.Errorf("the page begins %.200s", text)
	}
	outside := regexpEscaped.ReplaceAllString(regexpCode.ReplaceAllString(text, ""), "")
	for _, bad := range []string{"<script", "](", "@you", "://", "\x1b", "\x00", "\u202e", "_", "`"} {
		if strings.Contains(outside, bad) {
			t.Errorf("%q is on the page as it came:\n%s", bad, outside)
		}
	}
	rows := 0
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "|") {
			continue
		}
		rows++
		// The tables have 7 (rates), 5 (suites), 9 (curves), 6 (spent) and 8 (tools)
		// columns: a row has one mark more.
		if n := strings.Count(strings.ReplaceAll(line, `\|`, ""), "|"); !slices.Contains([]int{6, 8, 9, 10, 7}, n) {
			t.Errorf("%d marks in the row %s", n, line)
		}
	}
	if rows < 10 {
		t.Errorf("%d rows:\n%s", rows, text)
	}
	if want := "- **fail** loops/x\\\\x1b\\[31m\\\\x00\\\\a\\|\\`&lt;script&gt;"; !strings.Contains(text, want) {
		t.Errorf("there is no %s in\n%s", want, text)
	}
}

func TestCSV(t *testing.T) {
	r := troubled(t)
	r.Results[0].Findings = append(r.Results[0].Findings, scenarios.Finding{Message: "second"})
	formula := endedIn("=cmd|'/c calc'!A1", "+v", scenarios.Healthy, 1, loop.Done, 2)
	r.Results = append(r.Results, formula)
	rows, err := csv.NewReader(strings.NewReader(export(t, func(b *bytes.Buffer) error { return WriteCSV(b, r) }))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	at := func(row int, column string) string { return rows[row][slices.Index(rows[0], column)] }
	if len(rows) != 6 {
		t.Fatalf("%d rows, want a head and 5", len(rows))
	}
	for _, c := range []struct {
		row          int
		column, want string
	}{
		{1, "scenario", "loops/dark"}, {1, "suite", "loops"}, {1, "verdict", "inconclusive"}, {1, "findings", "the script ran dry; second"},
		{2, "seed", "7"}, {2, "calls", "1000"}, {2, "end_state", "CEILING"}, {2, "virtual_ms", "1500"},
		{3, "findings", ""}, {5, "scenario", "'=cmd|'/c calc'!A1"}, {5, "variant", "'+v"},
	} {
		if got := at(c.row, c.column); got != c.want {
			t.Errorf("row %d, %s: %q, want %q", c.row, c.column, got, c.want)
		}
	}
}

func TestAnnotations(t *testing.T) {
	r := troubled(t)
	r.Gate = &Gate{Rules: []Rule{{Name: "pass rate", Verdict: scenarios.Fail, Measured: "1 of 2", Wanted: "100 %"}, {Name: "removed", Verdict: scenarios.Pass, Warning: true, Measured: "1 scenario"}, {Name: "audit", Verdict: scenarios.Pass}}}
	text := export(t, func(b *bytes.Buffer) error { return WriteAnnotations(b, r) })
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if len(lines) != 4 {
		t.Fatalf("%d lines, want 4:\n%s", len(lines), text)
	}
	for i, want := range []string{
		"::error title=gate%3A pass rate::1 of 2 (wanted 100 %25)",
		"::warning title=gate%3A removed::1 scenario (wanted )",
		"::warning title=loops/dark under v%2C seed 1::the script ran dry%0Arepeat: agentbench explain 'loops/dark'",
		"::error file=dir/a b%2Cc%3Ad.yaml,line=3,title=loops/x\\x1b[31m\\x00\\a|`<script>",
	} {
		if !strings.HasPrefix(lines[i], want) {
			t.Errorf("line %d is %s\nwant %s", i+1, lines[i], want)
		}
	}
	passed := *r
	passed.Gate = &Gate{Verdict: scenarios.Pass}
	if text := export(t, func(b *bytes.Buffer) error { return WriteAnnotations(b, &passed) }); strings.Count(text, "::warning ") != 2 || strings.Contains(text, "::error ") {
		t.Errorf("what a gate lets pass is a warning, not\n%s", text)
	}
	for range 30 {
		r.Findings = append(r.Findings, r.Findings[1])
	}
	if n := strings.Count(export(t, func(b *bytes.Buffer) error { return WriteAnnotations(b, r) }), "::error "); n != 10 {
		t.Errorf("%d errors, want 10: GitHub shows no more", n)
	}
}

// The results of a report are a results file that leads to the same report.
func TestResultsRoundTrip(t *testing.T) {
	r := troubled(t)
	text := export(t, func(b *bytes.Buffer) error { return WriteResults(b, r) })
	f := &Fold{Keep: true, Repeat: func(r *scenarios.Result) string { return "agentbench explain '" + r.Scenario + "'" }}
	if err := f.Read(strings.NewReader(text), "x.jsonl"); err != nil {
		t.Fatal(err)
	}
	again := folded(t, f)
	lines := func(s string) string { return s[:strings.Index(s, `{"type":"end"`)] }
	if got := export(t, func(b *bytes.Buffer) error { return WriteResults(b, again) }); lines(got) != lines(strings.ReplaceAll(text, `\ufffd`, "\ufffd")) {
		t.Errorf("got\n%s\nwant\n%s", got, text)
	}
	one, two := export(t, func(b *bytes.Buffer) error { return WriteJSON(b, r) }), export(t, func(b *bytes.Buffer) error { return WriteJSON(b, again) })
	// A byte that is not UTF-8 becomes U+FFFD on the way.
	if one = strings.NewReplacer(`\ufffd`, "\ufffd", `\\xff`, "\ufffd").Replace(one); one != two {
		t.Error(cmp.Diff(one, two))
	}
}

// The lines of fuzz results are picked out of any file.
func TestFuzzLines(t *testing.T) {
	text := `{"type":"header","schema":"agentbench.results/v1","kind":"fuzz"}
{"type":"fuzz","kind":"storm","runs":100,"survived":97,"recoverable":40,"done":39}
{"type":"fuzz","kind":"flaky","runs":50,"survived":50,"recoverable":10,"done":10}`
	f := &Fold{}
	if err := f.Read(strings.NewReader(text), "fuzz.jsonl"); err != nil {
		t.Fatal(err)
	}
	want := []Fuzz{{"storm", 100, 97, 40, 39}, {"flaky", 50, 50, 10, 10}}
	if diff := cmp.Diff(want, folded(t, f).Fuzz); diff != "" {
		t.Error(diff)
	}
	err := (&Fold{}).Read(strings.NewReader(strings.Replace(text, `"survived":97`, `"survived":101`, 1)), "fuzz.jsonl")
	if err == nil || !strings.HasPrefix(err.Error(), "fuzz.jsonl:2: of 100 runs 101 cannot have survived") {
		t.Errorf("got %v", err)
	}
}

// What the results lack is said by each form in its own way, and is never a pass.
func TestIncompleteIsSaid(t *testing.T) {
	const lacks = "the results are incomplete: they hold 1 of 2 trials"
	f := &Fold{Keep: true}
	f.Header(&scenarios.Header{Trials: 2})
	passed := endedIn("s/fine", "v", scenarios.Healthy, 1, loop.Done, 2)
	passed.Verdict = scenarios.Pass
	r := folded(t, f, passed)
	if r.Verdict != scenarios.Inconclusive || !slices.Equal(r.Incomplete, []string{lacks}) || !slices.Contains(r.Warnings, lacks) {
		t.Errorf("%s, incomplete %q, warnings %q", r.Verdict, r.Incomplete, r.Warnings)
	}
	for form, c := range map[string]struct {
		write func(*bytes.Buffer) error
		want  string
	}{
		"JSON":        {func(b *bytes.Buffer) error { return WriteJSON(b, r) }, `"verdict": "inconclusive"`},
		"Markdown":    {func(b *bytes.Buffer) error { return WriteMarkdown(b, r) }, "## agentbench: incomplete results, inconclusive, 1 scenario"},
		"HTML":        {func(b *bytes.Buffer) error { return WriteHTML(b, r) }, "<h1>Incomplete results</h1>"},
		"JUnit":       {func(b *bytes.Buffer) error { return WriteJUnit(b, r) }, `<error message="` + lacks + `" type="incomplete">`},
		"SARIF":       {func(b *bytes.Buffer) error { return WriteSARIF(b, r) }, `"executionSuccessful": false`},
		"CSV":         {func(b *bytes.Buffer) error { return WriteCSV(b, r) }, "\nincomplete,,,,,inconclusive,"},
		"SVG":         {func(b *bytes.Buffer) error { return WriteSVG(b, r) }, ">" + lacks + "</text>"},
		"annotations": {func(b *bytes.Buffer) error { return WriteAnnotations(b, r) }, "::warning title=incomplete::" + lacks},
		"terminal":    {func(b *bytes.Buffer) error { return Terminal{}.Write(b, r) }, "warning: " + lacks},
	} {
		if text := export(t, c.write); !strings.Contains(text, c.want) {
			t.Errorf("%s has no %q:\n%.2000s", form, c.want, text)
		}
	}
	failed := endedIn("s/bad", "v", scenarios.Healthy, 1, loop.ErrorLimit, 2)
	failed.Verdict = scenarios.Fail
	more := &Fold{}
	more.Header(&scenarios.Header{Trials: 3})
	if r := folded(t, more, failed); r.Verdict != scenarios.Fail {
		t.Errorf("a fail stays one: %s", r.Verdict)
	}
}

// Recorded runs that could not be read are missing from every figure of a replay.
func TestSkippedRunsAreSaid(t *testing.T) {
	f := &Fold{}
	f.Header(&scenarios.Header{Kind: KindReplay, Skipped: 3})
	r := folded(t, f, endedIn("a.json/1", "v", scenarios.Healthy, 0, loop.Done, 1))
	const want = "recorded runs, or their labels, are missing: 3 problems when they were read"
	if !slices.Equal(r.Warnings, []string{want}) {
		t.Errorf("warnings %q", r.Warnings)
	}
	if text := export(t, func(b *bytes.Buffer) error { return WriteSARIF(b, r) }); !strings.Contains(text, `"level": "warning",
              "message": {
                "text": "`+want) {
		t.Errorf("SARIF:\n%s", text)
	}
}
