package reports

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/agentbench-go/agentbench/scenarios"
	"github.com/google/go-cmp/cmp"
	junit "github.com/joshdk/go-junit"
)

// journal is a results file of serve: whole, but for its end, which is added.
func journal(t *testing.T, lines ...string) string {
	t.Helper()
	var b strings.Builder
	w, err := scenarios.NewResultWriter(&b, scenarios.Header{Type: "header", Schema: scenarios.ResultsSchema, Kind: KindServe, Judged: scenarios.JudgedNone})
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range lines {
		if err := w.Line(rawLine(line)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.End(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

type rawLine string

func (l rawLine) MarshalJSON() ([]byte, error) { return []byte(l), nil }

func TestGateOfServe(t *testing.T) {
	const (
		request = `{"type":"request","n":1,"scenario":"a/b"}`
		good    = `{"type":"served","scenario":"a/b","requests":3,"executed":2,"faults":{"status-429":2}}`
		total   = `{"type":"served","requests":3,"executed":2,"faults":{"status-429":2}}`
	)
	for _, tt := range []struct {
		why    string
		lines  []string
		gate   scenarios.Verdict
		rule   string
		rules  scenarios.Verdict
		text   string
		report scenarios.Verdict
	}{
		{"all is well", []string{request, good, total}, scenarios.Pass, "faults fired", scenarios.Pass, "2 came, 0 never did", scenarios.Pass},
		{"its own history is not judged", []string{good}, scenarios.Pass, "history", scenarios.Unjudged, "", scenarios.Pass},
		{"there are no trials", []string{good}, scenarios.Pass, "trials", scenarios.Unjudged, "", scenarios.Pass},
		{"a problem fails", []string{good, `{"type":"served","scenario":"a/c","requests":4,"problems":1}`}, scenarios.Fail, "protocol", scenarios.Fail, "1 of 7 requests broke it: a/c", scenarios.Fail},
		{"a failure that never came", []string{`{"type":"served","scenario":"a/c","requests":4,"never_fired":["the failure of model[1]"]}`}, scenarios.Inconclusive, "faults fired",
			scenarios.Inconclusive, "0 came, 1 never did: the failure of model[1] of a/c", scenarios.Inconclusive},
		{"no step answers", []string{`{"type":"served","scenario":"a/c","requests":4,"refused":2}`}, scenarios.Inconclusive, "requests answered", scenarios.Inconclusive, "4 requests and 0 executions: 2 refused, 0 with", scenarios.Inconclusive},
		{"a tool that is not offered", []string{`{"type":"served","scenario":"a/c","requests":4,"undeclared":4}`}, scenarios.Inconclusive, "requests answered", scenarios.Inconclusive,
			"0 refused, 4 with a call of a tool that was not offered: a/c", scenarios.Inconclusive},
		{"nothing was asked", nil, scenarios.Inconclusive, "requests answered", scenarios.Inconclusive, "0 requests", scenarios.Unjudged},
		{"what came in one of two journals has come", []string{good, `{"type":"served","scenario":"a/b","requests":1,"never_fired":["the failure of model[0]"]}`}, scenarios.Pass, "faults fired",
			scenarios.Pass, "2 came, 0 never did", scenarios.Pass},
	} {
		t.Run(tt.why, func(t *testing.T) {
			f := &Fold{}
			if err := f.Read(strings.NewReader(journal(t, tt.lines...)), "served.jsonl"); err != nil {
				t.Fatal(err)
			}
			g := DefaultLimits().Judge(f, nil, []string{"served.jsonl"})
			if rule := ruleOf(t, g, tt.rule); g.Verdict != tt.gate || rule.Verdict != tt.rules || !strings.Contains(rule.Measured, tt.text) {
				t.Errorf("the gate says %s, its rule %+v", g.Verdict, rule)
			}
			r, err := f.Report()
			if err != nil || r.Verdict != tt.report {
				t.Errorf("the report says %s, %v", r.Verdict, err)
			}
		})
	}
}

// Reports for other programs have what keeps a served scenario from passing: of which no
// file is known, so that SARIF has it as notifications. Whoever follows them from one report
// to the next goes by the rule and the scenario, and not by the numbers.
func TestServedExports(t *testing.T) {
	exports := func(lines ...string) (notes, issues, prints []string) {
		f := &Fold{}
		if err := f.Read(strings.NewReader(journal(t, lines...)), "served.jsonl"); err != nil {
			t.Fatal(err)
		}
		r, err := f.Report()
		if err != nil {
			t.Fatal(err)
		}
		var log sarifLog
		if err := json.Unmarshal([]byte(export(t, func(b *bytes.Buffer) error { return WriteSARIF(b, r) })), &log); err != nil {
			t.Fatal(err)
		}
		if n := len(log.Runs[0].Results); n > 0 {
			t.Errorf("%d results have no place", n)
		}
		for _, n := range log.Runs[0].Invocations[0].Notifications {
			if n.Rule == nil || log.Runs[0].Tool.Driver.Rules[n.Rule.Index].ID != n.Rule.ID {
				t.Fatalf("a notification without its rule: %+v", n)
			}
			notes = append(notes, n.Level+" "+n.Rule.ID+": "+n.Message.Text)
		}
		var all []qualityIssue
		if err := json.Unmarshal([]byte(export(t, func(b *bytes.Buffer) error { return WriteCodeQuality(b, r) })), &all); err != nil {
			t.Fatal(err)
		}
		for _, i := range all {
			issues = append(issues, i.Severity+" "+i.Check+" "+i.Location.Path+": "+i.Description)
			prints = append(prints, i.Fingerprint)
		}
		return notes, issues, prints
	}
	const bad = `{"type":"served","scenario":"a/c","requests":4,"problems":%d,"refused":2,"never_fired":["the failure of model[1]"]}`
	notes, issues, prints := exports(`{"type":"served","scenario":"a/b","requests":3}`, fmt.Sprintf(bad, 1), `{"type":"served","scenario":"a/d","requests":3,"undeclared":3}`)
	broke, dry, never := "a/c, served: 1 request broke the protocol", "a/c, served: 2 requests could not be answered", "a/c, served: the failure of model[1] never came"
	tool := "a/d, served: 3 requests did not offer a tool that the script calls"
	want := []string{"error protocol: " + broke, "error not-answered: " + dry, "error not-fired: " + never, "warning not-answered: " + tool}
	if diff := cmp.Diff(want, notes); diff != "" {
		t.Error(diff)
	}
	want = []string{"critical protocol agentbench.yaml: " + broke, "critical not-answered agentbench.yaml: " + dry, "critical not-fired agentbench.yaml: " + never, "minor not-answered agentbench.yaml: " + tool}
	if diff := cmp.Diff(want, issues); diff != "" {
		t.Error(diff)
	}
	if _, _, again := exports(fmt.Sprintf(bad, 3)); !slices.Equal(again, prints[:3]) {
		t.Errorf("the fingerprints are %q, and %q later", prints[:3], again)
	}
}

// The gate of other results has nothing to say of journals.
func TestGateWithoutJournal(t *testing.T) {
	g := DefaultLimits().Judge(suite(t, scenarios.Healthy, 1, 0), nil, nil)
	for _, name := range []string{"protocol", "requests answered", "faults fired"} {
		if r := ruleOf(t, g, name); r.Verdict != scenarios.Unjudged {
			t.Errorf("%+v", r)
		}
	}
}

func TestServedLinesThatCannotBe(t *testing.T) {
	for _, line := range []string{`{"type":"served","scenario":"a/b","requests":-1}`, `{"type":"served","scenario":"a/b","requests":1,"problems":2}`,
		`{"type":"served","scenario":"a/b","requests":1,"executed":1,"refused":3}`, `{"type":"served","scenario":"a/b","requests":1,"faults":{"hang":-1}}`} {
		if err := new(Fold).Read(strings.NewReader(journal(t, line)), "served.jsonl"); err == nil || !strings.HasPrefix(err.Error(), "served.jsonl:2: ") {
			t.Errorf("%s: %v", line, err)
		}
	}
}

// A report on journals names each scenario, in a table and as a testcase, and a merge
// keeps their lines.
func TestReportOfServe(t *testing.T) {
	f := &Fold{Keep: true}
	in := journal(t, `{"type":"served","scenario":"a/bad","requests":4,"executed":0,"refused":0,"problems":1,"undeclared":0}`,
		`{"type":"served","scenario":"a/good","requests":2,"executed":0,"refused":0,"problems":0,"faults":{"hang":1},"undeclared":0}`,
		`{"type":"served","scenario":"a/late","requests":1,"executed":0,"refused":0,"problems":0,"never_fired":["the failure of model[1]"],"undeclared":0}`)
	if err := f.Read(strings.NewReader(in), "served.jsonl"); err != nil {
		t.Fatal(err)
	}
	r, err := f.Report()
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := (Terminal{}).Write(&b, r); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"What clients of serve did\n", " a/bad     fail          1 request broke the protocol               4           0             0\n",
		" a/good    pass          —                                          2           0             1\n", "the failure of model[1] never came", "3 scenarios served\n"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in\n%s", want, b.String())
		}
	}
	b.Reset()
	if err := WriteJUnit(&b, r); err != nil {
		t.Fatal(err)
	}
	suites, err := junit.Ingest([]byte(b.String()))
	if err != nil || len(suites) != 1 || suites[0].Totals.Tests != 3 || suites[0].Totals.Failed != 1 || suites[0].Totals.Error != 1 {
		t.Errorf("%v\n%s", err, b.String())
	}
	b.Reset()
	if err := WriteResults(&b, r); err != nil {
		t.Fatal(err)
	}
	again := &Fold{}
	if err := again.Read(strings.NewReader(b.String()), "whole.jsonl"); err != nil {
		t.Fatal(err)
	}
	if r, err := again.Report(); err != nil || len(r.Served) != 3 || r.Verdict != scenarios.Fail || len(r.Incomplete) > 0 {
		t.Errorf("%v %+v", err, r)
	}
}
