package scenarios

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// The line of the design, written and read.
func TestResultLine(t *testing.T) {
	r := &Result{Type: "trial", Scenario: "stuck-loops/same-call-forever", Suite: "stuck-loops", Label: Runaway, Variant: "hpd-agent", Seed: 1,
		EndState: "LOOP_DETECTED", Stop: "circuit-breaker", Turns: 5, ModelCalls: 5, Calls: 4, Tries: 4, Vetoed: 1,
		Codes: map[string]int{"Timeout": 1, "None": 3}, SchemaOK: 4, ToolMS: []Latency{{10.5, 1}, {200, 3}}, VirtualMS: 10800, CostUSD: 0.000000001,
		Verdict: Fail, Findings: []Finding{{Rule: "turns", Message: "a < b & c", Want: "4", Got: "5"}}, Golden: "off", Asked: 5}
	const want = `{"type":"trial","scenario":"stuck-loops/same-call-forever","suite":"stuck-loops","label":"runaway","variant":"hpd-agent","seed":1,` +
		`"end_state":"LOOP_DETECTED","stop":"circuit-breaker","turns":5,"model_calls":5,"calls":4,"tries":4,"errors":0,"vetoed":1,"nudges":0,` +
		`"codes":{"None":3,"Timeout":1},"schema_ok":4,"repairs":0,"repairs_ok":0,"tool_ms":[[10.5,1],[200,3]],` +
		`"virtual_ms":10800,"tokens_in":0,"tokens_out":0,"cost_usd":1e-9,"verdict":"fail",` +
		`"findings":[{"rule":"turns","message":"a < b & c","at":"","want":"4","got":"5"}],"golden":"off","asked":5,"denied":0,"invalid":0,"random":false}` + "\n"
	var b bytes.Buffer
	w, err := NewResultWriter(&b, Header{})
	if err != nil {
		t.Fatal(err)
	}
	b.Reset()
	if err := w.Write(r); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, b.String()); d != "" {
		t.Error(d)
	}
}

// readAll reads a results file.
func readAll(text string) (headers []*Header, all []*Result, err error) {
	_, err = ReadResults(strings.NewReader(text), "r.jsonl",
		func(h *Header) error { headers = append(headers, h); return nil },
		func(r *Result) error { all = append(all, r); return nil })
	return headers, all, err
}

// What the embedded suites give, written and read and written again, is the
// same bytes.
func TestRoundTrip(t *testing.T) {
	all, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	few, err := Select(all, nil, "*/*a*")
	if err != nil || len(few) < 20 {
		t.Fatalf("%d scenarios, %v", len(few), err)
	}
	text := results(t, Options{Scenarios: few, Seed: 1, Keep: KeepAll})
	headers, read, err := readAll(text)
	if err != nil || len(headers) != 1 {
		t.Fatalf("%d headers, %v", len(headers), err)
	}
	var b bytes.Buffer
	w, err := NewResultWriter(&b, *headers[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range read {
		if err := w.Write(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.End(); err != nil {
		t.Fatal(err)
	}
	if b.String() != text {
		t.Error("the second writing differs from the first")
	}
}

const (
	header = `{"type":"header","schema":"agentbench.results/v1"}`
	trial  = `{"type":"trial","scenario":"s/a","label":"runaway","variant":"v","end_state":"DONE","calls":3}`
)

func TestReadResults(t *testing.T) {
	// Unknown keys and lines, empty lines and a second header are fine, the
	// rest defaults to zero.
	text := header + "\n\n" + `{"type":"trial","scenario":"s/a","label":"","variant":"v","end_state":"","calls":0,"later":[1]}` + "\n" +
		`{"type":"fuzz","kind":"x"}` + "\n" + header + "\n" + strings.Replace(trial, `"v"`, `"w"`, 1)
	headers, all, err := readAll(text)
	if err != nil || len(headers) != 2 {
		t.Fatalf("%d headers, %v", len(headers), err)
	}
	want := []*Result{{Type: "trial", Scenario: "s/a", Variant: "v"}, {Type: "trial", Scenario: "s/a", Label: Runaway, Variant: "w", EndState: "DONE", Calls: 3}}
	if d := cmp.Diff(want, all, cmpopts.IgnoreUnexported(Result{})); d != "" {
		t.Error(d)
	}
}

func TestReadResultsMistakes(t *testing.T) {
	without := func(key string) string {
		var m map[string]any
		if err := json.Unmarshal([]byte(trial), &m); err != nil {
			t.Fatal(err)
		}
		delete(m, key)
		b, _ := json.Marshal(m)
		return string(b)
	}
	tests := []struct{ name, text, want string }{
		{"no type", header + "\n" + without("type"), "r.jsonl:2: the line has no type: it is not a line of a results file"},
		{"no scenario", without("scenario"), "r.jsonl:1: the trial has no scenario"},
		{"no label", without("label"), "r.jsonl:1: the trial has no label"},
		{"no variant", without("variant"), "r.jsonl:1: the trial has no variant"},
		{"no end state", without("end_state"), "r.jsonl:1: the trial has no end_state"},
		{"no calls", without("calls"), "r.jsonl:1: the trial has no calls"},
		{"twice", header + "\n" + trial + "\n" + trial, `r.jsonl:3: "s/a" under "v" with seed 0 appears twice, first in line 2`},
		{"no JSON", header + "\n\n{\"type\":", "r.jsonl:3: the line is not JSON: at byte 8: unexpected end of JSON input"},
		{"wrong kind", strings.Replace(trial, "3", `"3"`, 1), "r.jsonl:1: calls cannot be a JSON string"},
		{"not whole", strings.Replace(trial, "{", `{"seed":1.5,`, 1), "r.jsonl:1: seed cannot be a JSON number 1.5"},
		{"no object", "[]", "r.jsonl:1: the line cannot be a JSON array"},
		{"negative calls", strings.Replace(trial, "3", "-3", 1), "r.jsonl:1: calls must be 0 or more, not -3"},
		{"another label", strings.Replace(trial, "runaway", "run", 1), `r.jsonl:1: label must be runaway, healthy or empty, not "run"`},
		{"another schema", strings.Replace(header, "v1", "v9", 1), `r.jsonl:1: the file's schema is "agentbench.results/v9"; this version reads agentbench.results/v2`},
		{"fewer than none", strings.Replace(header, "}", `,"trials":-1}`, 1), "r.jsonl:1: trials must be 0 or more, not -1"},
		{"judged by nobody", strings.Replace(header, "}", `,"judged":"x"}`, 1), `r.jsonl:1: judged must be own, plain, foreign or none, not "x"`},
		{"empty", "\n \n", "r.jsonl: the file is empty, and a results file begins with a header"},
		{"a bucket of three", strings.Replace(trial, `"calls"`, `"tool_ms":[[1,2,3]],"calls"`, 1), "r.jsonl:1: tool_ms: [1,2,3] is not [upper_ms, count]"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, _, err := readAll(tt.text); err == nil || err.Error() != tt.want {
				t.Errorf("got %v\nwant %s", err, tt.want)
			}
		})
	}
}

func TestReadResultsStops(t *testing.T) {
	enough := errors.New("enough")
	_, err := ReadResults(strings.NewReader(header+"\n"+trial), "r.jsonl", func(*Header) error { return nil }, func(*Result) error { return enough })
	if !errors.Is(err, enough) {
		t.Errorf("got %v", err)
	}
}

// failing refuses to be written to.
type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestWriterFails(t *testing.T) {
	if _, err := NewResultWriter(failing{}, Header{}); err == nil {
		t.Error("no error")
	}
}

// Lines that waited for their header make the same file as lines behind one.
func TestAppendedLines(t *testing.T) {
	header := Header{Kind: "replay", Trials: 3}
	results := []*Result{{Type: "trial", Scenario: "a"}, {Type: "trial", Scenario: strings.Repeat("long", 5000)}, {Type: "trial", Scenario: "c"}}
	var want, got, lines bytes.Buffer
	write := func(w *ResultWriter, err error) *ResultWriter {
		for _, r := range results {
			err = errors.Join(err, w.Write(r))
		}
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	direct := write(NewResultWriter(&want, header))
	write(NewResultLines(&lines), nil)
	later, err := NewResultWriter(&got, header)
	if err := errors.Join(err, later.Append(&lines), direct.End(), later.End()); err != nil {
		t.Fatal(err)
	}
	if got.String() != want.String() || !strings.Contains(want.String(), `"type":"end","lines":4,`) {
		t.Errorf("appended:\n%.300s\ndirect:\n%.300s", got.String(), want.String())
	}
}
