package serve

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/agentbench-go/agentbench/fakes"
)

// A client that compacts its conversation gets what the user said and one item for the
// rest, in the form of the API (object response.compaction), and can go on with them.
func TestCompact(t *testing.T) {
	s := serveSteps(t, at(fakes.Step{Calls: []fakes.StepCall{call("f", "{}")}}), at(fakes.Step{Text: "bye"}))
	const said = `{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]}`
	w := post(s, compactPath, `{"model":"m","instructions":"Be kind.","input":[`+said+`,{"role":"developer","content":"rules"},
		{"type":"function_call","call_id":"call_1_1","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"call_1_1","output":"fine"}]}`)
	var got struct {
		Object string
		Output []json.RawMessage
		Usage  struct {
			In    int64 `json:"input_tokens"`
			Out   int64 `json:"output_tokens"`
			Total int64 `json:"total_tokens"`
		}
	}
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != 200 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	if got.Object != "response.compaction" || len(got.Output) != 2 || string(got.Output[0]) != said || string(got.Output[1]) != `{"id":"cmp_1","type":"compaction","encrypted_content":"OK."}` {
		t.Errorf("got %s", w.Body)
	}
	if u := got.Usage; u.In == 0 || u.Out != 1 || u.Total != u.In+u.Out { // "OK." has three characters, and a token is four
		t.Errorf("usage %+v", u)
	}
	items, err := json.Marshal(got.Output)
	if err != nil {
		t.Fatal(err)
	}
	if w := post(s, "/v1/responses", `{"model":"m","tools":[{"type":"function","name":"f"}],"input":`+string(items)+`}`); w.Code != 200 || !strings.Contains(w.Body.String(), `"function_call"`) {
		t.Errorf("the client does not go on: %d %s", w.Code, w.Body)
	}
	if w := post(s, compactPath, `{"model":"m","input":"hi \"you\""}`); !strings.Contains(w.Body.String(), `"output":[{"type":"message","role":"user","content":[{"type":"input_text","text":"hi \"you\""}]},{"id":"cmp_1"`) {
		t.Errorf("an input that is a text: %s", w.Body)
	}
	for _, body := range []string{`{`, `{"model":"m"}`, `{"model":"m","previous_response_id":"r","input":"hi"}`} {
		if w := post(s, compactPath, body); w.Code != 400 {
			t.Errorf("%s: %d %s", body, w.Code, w.Body)
		}
	}
	if total := s.Journal().Total; total.Asides != 2 || total.Requests != 4 || total.Refused != 3 {
		t.Errorf("the journal has %+v", total)
	}
}
