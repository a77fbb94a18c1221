package reports

import (
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"html"
	"io"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/agentbench-go/agentbench/goldens"
	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/scenarios"
	junit "github.com/joshdk/go-junit"
	nethtml "golang.org/x/net/html"
)

// hostile is a report in which a text stands wherever foreign text can.
func hostile(t *testing.T, s string) *Report {
	failed := endedIn("loops/"+s, s, scenarios.Runaway, 7, loop.Ceiling, 1000)
	failed.Verdict, failed.Suite, failed.File, failed.Line, failed.Stop, failed.Golden = scenarios.Fail, s, s+".yaml", 3, loop.Stop(s), s
	failed.Findings = []scenarios.Finding{
		{Rule: s, Message: s, Want: s, Got: s, At: s},
		{Rule: "golden", Message: "differs", Diff: &goldens.Edits{Edit: []goldens.Edit{{Out: true, Line: 1, Text: s}, {Line: 2, Text: s}}}},
	}
	failed.Codes = map[string]int{s: 2}
	failed.Trace = loop.Trace{
		{In: loop.Input{Kind: loop.Started, Text: s}, Effects: []loop.Effect{{Kind: loop.AskModel, Ref: loop.Ref{Kind: loop.RefModel, N: 1, Try: 1}}}},
		{In: loop.Input{Kind: loop.ModelReply, Ref: loop.Ref{Kind: loop.RefModel, N: 1, Try: 1}, Text: s, Calls: []loop.AskedCall{{ID: s, Name: s, Args: s}}}},
	}.String()
	dark := endedIn("loops/dark", s, scenarios.Healthy, 1, "", 0)
	dark.Verdict, dark.Stop = scenarios.Inconclusive, ""
	dark.Findings = []scenarios.Finding{{Rule: "ran-dry", Message: s}}
	good := endedIn("other/fine", "v", scenarios.Healthy, 1, loop.Done, 2)
	good.Verdict, good.Trace = scenarios.Pass, s
	r := folded(t, &Fold{Keep: true, Repeat: func(*scenarios.Result) string { return "agentbench explain '" + s + "'" }}, failed, dark, good)
	r.Warnings = append(r.Warnings, s)
	return r
}

// corpus adds what formats trip over.
func corpus(f *testing.F) {
	for _, s := range []string{"", "plain", evil, "</script><script>alert(1)</script>", `"><img src=x onerror=alert(1)>`, "]]>&amp;&#0;", "a|b\\|c\\", "```\n# x\n- y",
		"=cmd|'/c calc'!A1", "+1", "\t=1", "@x", "-2+3", "x\r\n::set-output name=a::b", "\u202e\u2066\u200b\ufeff", "\x1b]0;x\x07\u009b31m", "\xff\xfe\x00", "javascript:alert(1)", "{{.}}", "日本語 👩‍👧",
		"<!-- x --", "--><b>", "a\u2028b\u2029c", "\ufffe\uffff", "![x](http://a.b)", "&lt;b&gt;", "1. a", "=== ", "'", "$(id)"} {
		f.Add(s)
	}
}

// longest bounds a text: longer ones only slow the search down.
const longest = 1 << 12

func fuzzed(f *testing.F, check func(t *testing.T, s string)) {
	corpus(f)
	f.Fuzz(func(t *testing.T, s string) {
		if len(s) <= longest {
			check(t, s)
		}
	})
}

func exported(t *testing.T, s string, write func(io.Writer, *Report) error) string {
	t.Helper()
	var b strings.Builder
	if err := write(&b, hostile(t, s)); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// steers reports whether a text holds what a terminal or a reader's eye obeys.
func steers(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool {
		return r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r) && r != '\u200b')
	})
}

// What a terminal is given has no control characters, and foreign text begins no
// line of its own.
func FuzzTerminal(f *testing.F) {
	fuzzed(f, func(t *testing.T, s string) {
		line := text.Line(s)
		if steers(line) || strings.Contains(line, "\n") || text.Line(line) != line {
			t.Errorf("%q became %q", s, line)
		}
		if text := exported(t, s, Terminal{}.Write); steers(text) {
			t.Errorf("%q made %q", s, text)
		}
		if got := text.Lines(s); steers(got) || strings.Count(got, "\n") > strings.Count(s, "\n")+1 {
			t.Errorf("%q became the lines %q", s, got)
		}
	})
}

// plainText reads what Markdown shows of a text: marks that are escaped, and
// entities. An unescaped mark of a tag, a cell or code is an error.
func plainText(t *testing.T, s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' && i+1 < len(s) && strings.IndexByte("\\`*_[]~#|!$", s[i+1]) >= 0:
			i++
			b.WriteByte(s[i])
		case c == '&':
			end := strings.IndexByte(s[i:], ';')
			if end < 0 {
				t.Errorf("an & that is none in %q", s)
				return ""
			}
			b.WriteString(html.UnescapeString(s[i : i+end+1]))
			i += end
		case strings.IndexByte("\\`*_[]~|<>", c) >= 0:
			t.Errorf("the mark %q in %q is not escaped", c, s)
		default:
			b.WriteByte(c)
		}
	}
	return strings.ReplaceAll(b.String(), "\u200b", "")
}

// Markdown: what it shows of a text is the text; a row keeps its cells; and no
// tag gets through but those of the report itself.
func FuzzMarkdown(f *testing.F) {
	fuzzed(f, func(t *testing.T, s string) {
		if got := plainText(t, MarkdownText(s)); got != text.Line(s) {
			t.Errorf("%q shows as %q", s, got)
		}
		code := MarkdownCode(s)
		fence := code[:strings.IndexByte(code, ' ')]
		if inner := strings.TrimSuffix(strings.TrimPrefix(code, fence+" "), " "+fence); inner != text.Line(s) || strings.Contains(inner, fence) {
			t.Errorf("%q as code is %q", s, code)
		}
		text := exported(t, s, WriteMarkdown)
		cells := 0
		for line := range strings.Lines(text) {
			if !strings.HasPrefix(line, "|") {
				cells = 0
				continue
			}
			n := strings.Count(strings.NewReplacer(`\\`, "", `\|`, "").Replace(line), "|")
			if cells > 0 && n != cells {
				t.Errorf("a row of %d marks below one of %d: %q", n, cells, line)
			}
			cells = n
		}
		own := strings.NewReplacer(Marker, "", "<details><summary>", "", "</summary>", "", "</details>", "")
		for line := range strings.Lines(own.Replace(text)) {
			if outside := line; !strings.Contains(line, "` ") && strings.ContainsAny(outside, "<") {
				t.Errorf("a tag gets through: %q", line)
			}
		}
		if steers(text) {
			t.Errorf("control characters get through: %q", text)
		}
	})
}

// JUnit: XML that encoding/xml and a reader of JUnit take, with a testcase a
// trial whose names are the trial's.
func FuzzJUnit(f *testing.F) {
	fuzzed(f, func(t *testing.T, s string) {
		written := exported(t, s, WriteJUnit)
		var back junitSuites
		if err := xml.Unmarshal([]byte(written), &back); err != nil {
			t.Fatalf("%v\n%s", err, written)
		}
		var classes []string
		for _, suite := range back.Suites {
			for _, c := range suite.Cases {
				classes = append(classes, c.Class)
			}
		}
		want := []string{"loops/dark", text.Line("loops/" + s), "other/fine"}
		slices.Sort(classes)
		slices.Sort(want)
		if !slices.Equal(classes, want) {
			t.Errorf("testcases %q, want %q", classes, want)
		}
		suites, err := junit.Ingest([]byte(written))
		if err != nil {
			t.Fatal(err)
		}
		tests := 0
		for _, suite := range suites {
			tests += suite.Totals.Tests
		}
		if tests != 3 {
			t.Errorf("a reader finds %d tests, want 3", tests)
		}
	})
}

// tags lists the elements of a page with the names of their attributes.
func tags(t *testing.T, page string) (all map[string]bool, scripts int) {
	t.Helper()
	all = map[string]bool{}
	elements(t, page, func(n *nethtml.Node) {
		all[n.Data] = true
		if n.Data == "script" {
			scripts++
		}
		for _, a := range n.Attr {
			all[n.Data+" "+a.Key] = true
			if (a.Key == "href" || a.Key == "src") && !strings.HasPrefix(a.Val, "#") && !strings.HasPrefix(a.Val, "data:") {
				t.Errorf("%s leads to %q", n.Data, a.Val)
			}
			if a.Key == "style" {
				t.Logf("style of %s: %q", n.Data, a.Val)
			}
		}
	})
	return all, scripts
}

// HTML: whatever the text is, the page has no element and no attribute that it
// does not have with a harmless one, and no script more.
func FuzzHTML(f *testing.F) {
	var known map[string]bool
	var scripts int
	fuzzed(f, func(t *testing.T, s string) {
		if known == nil {
			known, scripts = tags(t, exported(t, "a harmless text", WriteHTML))
			more, _ := tags(t, exported(t, "", WriteHTML))
			for tag := range more {
				known[tag] = true
			}
		}
		page := exported(t, s, WriteHTML)
		got, n := tags(t, page)
		for tag := range got {
			if !known[tag] {
				t.Errorf("%q brings %s onto the page", s, tag)
			}
		}
		if n != scripts {
			t.Errorf("%d scripts, want %d", n, scripts)
		}
	})
}

// CSV: encoding/csv reads the values that were written, and none is a formula.
func FuzzCSV(f *testing.F) {
	fuzzed(f, func(t *testing.T, s string) {
		rows, err := csv.NewReader(strings.NewReader(exported(t, s, WriteCSV))).ReadAll()
		if err != nil || len(rows) != 4 {
			t.Fatalf("%d rows, want a head and 3; %v", len(rows), err)
		}
		for _, row := range rows[1:] {
			for i, cell := range row {
				if cell != "" && strings.IndexByte("=+-@\t\r", cell[0]) >= 0 || steers(cell) {
					t.Errorf("the cell %s is %q", rows[0][i], cell)
				}
			}
			if row[0] == "loops/dark" || row[0] == "other/fine" {
				continue
			}
			variant := row[slices.Index(rows[0], "variant")]
			if row[0] != text.Line("loops/"+s) || strings.TrimPrefix(variant, "'") != strings.TrimPrefix(text.Line(s), "'") {
				t.Errorf("%q was written as %q and %q", s, row[0], variant)
			}
		}
	})
}

// SARIF: valid JSON of the right form, with a result a finding, each of a rule
// that is listed.
func FuzzSARIF(f *testing.F) {
	fuzzed(f, func(t *testing.T, s string) {
		var log sarifLog
		doc := exported(t, s, WriteSARIF)
		for _, json := range []string{doc, exported(t, s, WriteJSON), exported(t, s, WriteResults), exported(t, s, WriteCodeQuality)} {
			if steers(json) {
				t.Errorf("control characters get through: %q", json)
			}
		}
		d := json.NewDecoder(strings.NewReader(doc))
		d.DisallowUnknownFields()
		if err := d.Decode(&log); err != nil {
			t.Fatal(err)
		}
		run := log.Runs[0]
		named := 0
		for _, n := range run.Invocations[0].Notifications {
			if n.Rule != nil {
				named++
			}
		}
		if len(run.Results) != 2 || named != 1 {
			t.Errorf("%d results and %d findings without a place, want 2 and 1", len(run.Results), named)
		}
		for _, r := range run.Results {
			if r.RuleIndex < 0 || r.RuleIndex >= len(run.Tool.Driver.Rules) || run.Tool.Driver.Rules[r.RuleIndex].ID != r.RuleID || steers(r.Message.Text) {
				t.Errorf("the result %+v of %d rules", r, len(run.Tool.Driver.Rules))
			}
		}
	})
}

// Annotations: each is one command of its own on one line, and a text begins
// none.
func FuzzAnnotations(f *testing.F) {
	fuzzed(f, func(t *testing.T, s string) {
		n := 0
		for line := range strings.Lines(exported(t, s, WriteAnnotations)) {
			n++
			if !strings.HasPrefix(line, "::error ") && !strings.HasPrefix(line, "::warning ") && !strings.HasPrefix(line, "::notice ") && !strings.HasPrefix(line, "::warning::") {
				t.Errorf("a line that is not an annotation: %q", line)
			}
			if steers(line) {
				t.Errorf("control characters in %q", line)
			}
		}
		if n == 0 || n > 20 {
			t.Errorf("%d annotations", n)
		}
	})
}
