package serve

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/loop"
)

// A request beside the agent's loop gets no call, and is in none of its numbers.
func TestAsides(t *testing.T) {
	f := []fakes.StepCall{call("f", "{}")}
	end := []loop.Message{hi, replied("", "call_1_1"), result("call_1_1", "fine"), replied("bye"), user("What next?")}
	each(t, func(t *testing.T, c client, stream bool) {
		s := serveSteps(t, at(fakes.Step{Calls: f}), at(fakes.Step{Text: "bye"}))
		for _, history := range [][]loop.Message{{user("Give this a title.")}, end} {
			body := c.body(history, stream)
			delete(body, "tools")
			text, err := json.Marshal(body)
			if err != nil {
				t.Fatal(err)
			}
			w := post(s, c.path, string(text))
			a := answer{}
			if w.Code == 200 && stream {
				a = c.events(t, parseEvents(t, w.Body.String()))
			} else if w.Code == 200 {
				a = c.read(t, w.Body.Bytes())
			}
			if a.Text != asideText || len(a.Calls) > 0 {
				t.Errorf("%d %s", w.Code, w.Body)
			}
		}
		post(s, c.path, c.json([]loop.Message{hi}, stream))
		if w := post(s, c.path, c.json(end, stream)); w.Code != 422 {
			t.Errorf("the loop asks after the script's end: %d %s", w.Code, w.Body)
		}
		j := s.Journal()
		if total := j.Total; total.Asides != 2 || total.Requests != 2 || total.Refused != 1 || total.Furthest != 1 || !j.Entries[0].Aside || j.Entries[2].Aside {
			t.Errorf("the journal has %+v, %+v", total, j.Entries)
		}
	})
}

// An aside that wants JSON gets what its schema allows and what says nothing. The first
// is what gemini-cli asks after 30 turns, to know whether it loops.
func TestAsidesInJSON(t *testing.T) {
	schema := `{"type":"object","required":["why","sure"],"properties":{"why":{"type":"string"},"sure":{"type":"number"}}}`
	for _, tt := range []struct{ path, more, want string }{
		{geminiWhole, `"generationConfig":{"responseMimeType":"application/json","responseJsonSchema":` + schema + `}`, `{"why":"","sure":0}`},
		{geminiWhole, `"generationConfig":{"responseMimeType":"application/json","responseSchema":{"type":"OBJECT","properties":{"n":{"type":"INTEGER","minimum":3}}}}`, `{"n":3}`},
		{"/v1/chat/completions", `"response_format":{"type":"json_schema","json_schema":{"name":"x","schema":` + schema + `}}`, `{"why":"","sure":0}`},
		{"/v1/chat/completions", `"response_format":{"type":"json_object"}`, `{}`},
		{"/v1/chat/completions", `"response_format":{"type":"text"}`, asideText},
		{"/v1/responses", `"text":{"format":{"type":"json_schema","name":"x","schema":{"type":"object","properties":{"a":{"type":["boolean","null"]},"b":{"enum":["x","y"]},"c":{"const":7},"d":{"type":"array"},
			"e":{"anyOf":[{"type":"null"},{"type":"string"}]}}}}}`, `{"a":false,"b":"x","c":7,"d":[],"e":null}`},
		{"/v1/messages", `"max_tokens":9,"output_config":{"format":{"type":"json_schema","schema":` + schema + `}}`, `{"why":"","sure":0}`},
	} {
		s := serveSteps(t, at(fakes.Step{Calls: []fakes.StepCall{call("f", "{}")}}))
		body := `{"model":"any","messages":[{"role":"user","content":"Hi"}],` + tt.more + `}`
		switch {
		case tt.path == geminiWhole:
			body = `{"contents":[{"role":"user","parts":[{"text":"Hi"}]}],` + tt.more + `}`
		case tt.path == "/v1/responses":
			body = `{"model":"any","input":"Hi",` + tt.more + `}`
		}
		w := post(s, tt.path, body)
		got := ""
		switch {
		case w.Code != 200:
		case tt.path == geminiWhole:
			got = decode[geminiReply](t, w.Body.String()).Candidates[0].Content.Parts[0].Text
		default:
			got = clients[strings.Split(tt.path, "/")[2]].read(t, w.Body.Bytes()).Text
		}
		if got != tt.want {
			t.Errorf("%s with %s: %s, want %s (%d %s)", tt.path, tt.more, got, tt.want, w.Code, w.Body)
		}
	}
	deep := strings.Repeat(`{"properties":{"a":`, 5000) + "{}" + strings.Repeat("}}", 5000)
	if got := neutral(value(`{"text":{"format":{"type":"json_schema","schema":` + deep + `}}}`)); len(got) > 100 || !json.Valid([]byte(got)) {
		t.Errorf("a deep schema gets %.200s", got)
	}
}

// A call of a tool that the agent does not offer is told.
func TestUndeclared(t *testing.T) {
	each(t, func(t *testing.T, c client, stream bool) {
		s := serveSteps(t, at(fakes.Step{Calls: []fakes.StepCall{call("f", "{}"), call("charge", "{}"), call("charge", "{}"), call("rea", "{}")}}))
		post(s, c.path, c.json([]loop.Message{hi}, stream))
		j := s.Journal()
		if got := j.Entries[0].Undeclared; !slices.Equal(got, []string{"charge", "rea"}) || j.Total.Undeclared != 1 {
			t.Errorf("undeclared %q, %+v", got, j.Total)
		}
	})
}
