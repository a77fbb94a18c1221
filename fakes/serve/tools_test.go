package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/loop"
)

// toolScript has a tool for each code of a failed call, named after it, and others.
func toolScript() *fakes.Script {
	s := &fakes.Script{Tools: []fakes.Tool{
		{ToolSpec: loop.ToolSpec{Name: "read", Description: "Reads a file.", Input: `{"type":"object","properties":{"path":{"type":"string"}}}`},
			Answers: []fakes.Answer{{When: map[string]any{"path": "a"}, Result: "call ${call}: A", Latency: fakes.Span{Min: 3 * sec, Max: 3 * sec}}}},
		{ToolSpec: loop.ToolSpec{Name: "a/b c"}, Answers: []fakes.Answer{{Result: "escaped"}}},
		{ToolSpec: loop.ToolSpec{Name: "hangs"}, Answers: []fakes.Answer{{Result: "at last", Failures: []fakes.Failure{{Hang: true}}}}},
		{ToolSpec: loop.ToolSpec{Name: "ask"}, Session: &fakes.Session{}},
	}}
	for _, code := range loop.Codes()[1:] {
		s.Tools = append(s.Tools, fakes.Tool{ToolSpec: loop.ToolSpec{Name: string(code)}, Answers: []fakes.Answer{{Error: code, Text: "why", Latency: fakes.Span{Min: sec, Max: sec}}}})
	}
	return s
}

// onTools serves a script in a bubble of virtual time, in process.
func onTools(t *testing.T, s *fakes.Script, o Options, f func(t *testing.T, server *Server, client *http.Client)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		server, err := New([]Scenario{{"mine/tools", s}}, o)
		if err != nil {
			t.Fatal(err)
		}
		f(t, server, &http.Client{Transport: Transport(server)})
	})
}

// An executed tool is what a client sees of an execution.
type executedTool struct {
	Status     int
	Text, Code string
	After      time.Duration
	Retry      string
}

func execute(t *testing.T, client *http.Client, path, args string, patience time.Duration) (executedTool, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, "POST", "http://localhost"+path, strings.NewReader(args))
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	resp, err := client.Do(r)
	if err != nil {
		return executedTool{After: time.Since(began)}, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return executedTool{resp.StatusCode, string(body), resp.Header.Get("X-Agentbench-Code"), time.Since(began), resp.Header.Get("Retry-After")}, err
}

func TestToolList(t *testing.T) {
	s := toolScript()
	s.Tools = s.Tools[:4]
	server, err := New([]Scenario{{"mine/tools", s}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/tools", "/tools/", "/run/mine/tools/7/tools"} {
		w := send(server, "GET", "http://localhost"+path, "")
		want := `{"tools":[{"name":"read","description":"Reads a file.","inputSchema":{"type":"object","properties":{"path":{"type":"string"}}}},` +
			`{"name":"a/b c","description":"","inputSchema":{"type":"object"}},{"name":"hangs","description":"","inputSchema":{"type":"object"}}]}`
		if w.Code != 200 || w.Body.String() != want || w.Header().Get("Content-Type") != "application/json" {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}

// The statuses are those of the table in docs/serve.md.
func TestToolAnswers(t *testing.T) {
	onTools(t, toolScript(), Options{}, func(t *testing.T, server *Server, client *http.Client) {
		for _, tt := range []struct {
			path, args string
			want       executedTool
		}{
			{"/tools/read", `{"path":"a"}`, executedTool{200, "call 1: A", "", 3 * sec, ""}},
			{"/tools/read", `{"path":"a"}`, executedTool{200, "call 2: A", "", 3 * sec, ""}},
			{"/run/mine/tools/9/tools/read", ` {"more": [1, {}], "path":"a"} `, executedTool{200, "call 1: A", "", 3 * sec, ""}},
			{"/tools/a%2Fb%20c", "", executedTool{200, "escaped", "", sec / 5, ""}},
			{"/tools/InvalidInput", "{}", executedTool{400, "why", "InvalidInput", sec, ""}},
			{"/tools/Unauthorized", "{}", executedTool{401, "why", "Unauthorized", sec, ""}},
			{"/tools/Forbidden", "{}", executedTool{403, "why", "Forbidden", sec, ""}},
			{"/tools/NotFound", "{}", executedTool{404, "why", "NotFound", sec, ""}},
			{"/tools/RateLimited", "{}", executedTool{429, "why", "RateLimited", sec, "1"}},
			{"/tools/ToolBug", "{}", executedTool{500, "why", "ToolBug", sec, ""}},
			{"/tools/OutputSchemaMismatch", "{}", executedTool{500, "why", "OutputSchemaMismatch", sec, ""}},
			{"/tools/RetryableServer", "{}", executedTool{503, "why", "RetryableServer", sec, ""}},
			{"/tools/Timeout", "{}", executedTool{504, "why", "Timeout", sec, ""}},
			{"/tools/NoResults", "{}", executedTool{200, "why", "NoResults", sec, ""}},
		} {
			got, err := execute(t, client, tt.path, tt.args, time.Hour)
			if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
				t.Errorf("%s: %v %s", tt.path, err, diff)
			}
		}
		for _, lost := range []string{"ConnectionLost", "NotSent"} {
			if got, err := execute(t, client, "/tools/"+lost, "{}", time.Hour); !errors.Is(err, io.EOF) || got.After != sec {
				t.Errorf("%s: %v after %v", lost, err, got.After)
			}
		}
		if got, err := execute(t, client, "/tools/hangs", "{}", time.Hour); !errors.Is(err, context.DeadlineExceeded) || got.After != time.Hour {
			t.Errorf("a hang: %v after %v", err, got.After)
		}
		synctest.Wait()
		if got, err := execute(t, client, "/tools/hangs", "{}", time.Hour); err != nil || got.Text != "at last" {
			t.Errorf("the second try: %v %+v", err, got)
		}
		if _, err := execute(t, client, "/tools/read", `{"path":"a"}`, sec); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a client that leaves early: %v", err)
		}
		synctest.Wait()
		var last *Entry
		for _, e := range server.Journal().Entries {
			if e.Type != "call" || e.Open || e.Gone != (e.Fault == "hang" || e.AtMS == 3_621_400) {
				t.Errorf("%+v", e)
			}
			last = &e
		}
		if want := (Entry{Type: "call", N: 19, AtMS: last.AtMS, TookMS: 1000, Scenario: "mine/tools", Call: "c17#1", Tool: "read", Gone: true}); fmt.Sprint(*last) != fmt.Sprint(want) {
			t.Errorf("got  %+v\nwant %+v", *last, want)
		}
		if total := server.Journal().Total; total.Executed != 19 || total.Requests != 0 || total.Refused != 0 {
			t.Errorf("%+v", total)
		}
	})
}

// The server's clock divides the waits of tools too.
func TestToolSpeed(t *testing.T) {
	onTools(t, toolScript(), Options{Speed: 3}, func(t *testing.T, _ *Server, client *http.Client) {
		if got, err := execute(t, client, "/tools/read", `{"path":"a"}`, time.Hour); err != nil || got.After != sec {
			t.Errorf("%v after %v", err, got.After)
		}
	})
}

func TestToolsRefuse(t *testing.T) {
	server, err := New([]Scenario{{"mine/tools", toolScript()}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		method, path, body string
		status             int
		problem            string
	}{
		{"POST", "/tools/read", `{"path"`, 400, "the arguments are not JSON"},
		{"POST", "/tools/read", `["a"]`, 400, "the arguments must be a JSON object, not an array"},
		{"POST", "/tools/read", `{"path":"b"}`, 422, `no answer of tool read fits call c1#1 with {"path":"b"} (it has 1)`},
		{"POST", "/tools/read", strings.Repeat(" ", maxBody+1), 413, "the body has more than 16777216 bytes"},
		{"POST", "/tools/read", strings.Repeat(`{"a":`, 100_000), 400, "the arguments are not JSON"},
		{"POST", "/tools/write", `{}`, 404, `there is no tool "write": the scenario has read, a/b c, hangs`},
		{"POST", "/tools/ask", `{}`, 404, `there is no tool "ask"`},
		{"POST", "/tools/../read", `{}`, 404, `there is no tool "../read"`},
		{"POST", "/tools/%2e%2e%2f%2e%2e%2fetc%2fpasswd", `{}`, 404, `there is no tool "../../etc/passwd"`},
		{"POST", "/tools/read%00%1b[2J", `{}`, 404, `there is no tool "read`},
		{"POST", "/tools/" + strings.Repeat("x", 5000), `{}`, 404, `there is no tool "xxx`},
		{"POST", "/tools/read/", `{"path":"a"}`, 404, `there is no tool "read/"`},
		{"POST", "/tools", `{}`, 405, "GET /tools lists the tools, POST /tools/NAME calls one"},
		{"GET", "/tools/read", ``, 405, "there is no GET /tools/read"},
		{"DELETE", "/tools/read", ``, 405, "there is no DELETE"},
		{"GET", "/toolsx", ``, 404, "there is no /toolsx"},
		{"GET", "/run/mine/other/1/tools", ``, 404, `scenario "mine/other" is not served`},
		{"GET", "/run/mine/tools/x/tools", ``, 404, "the seed in the path must be a whole number"},
		{"GET", "/mcp", ``, 404, "there is no /mcp"},
	} {
		w := send(server, tt.method, "http://localhost"+tt.path, tt.body)
		var said struct{ Error struct{ Message string } }
		err := json.Unmarshal(w.Body.Bytes(), &said)
		if w.Code != tt.status || err != nil || !strings.Contains(said.Error.Message, "agentbench: "+tt.problem) && !strings.Contains(said.Error.Message, tt.problem) ||
			w.Header().Get("X-Agentbench-Code") != "" || w.Body.Len() > 1000 || strings.ContainsAny(said.Error.Message, "\x00\x1b") {
			t.Errorf("%s %.40s %.40s: %d %.300s", tt.method, tt.path, tt.body, w.Code, w.Body)
		}
	}
	if total := server.Journal().Total; total.Executed != 5 || total.Refused != 5 || total.Astray != 14 {
		t.Errorf("%+v", total)
	}
	r := httptest.NewRequest("POST", "http://localhost/tools/read", strings.NewReader("{}"))
	r.Header.Set("Origin", "https://elsewhere.example")
	w := httptest.NewRecorder()
	if server.ServeHTTP(w, r); w.Code != 403 {
		t.Errorf("a web page from elsewhere: %d", w.Code)
	}
	two, err := New([]Scenario{{"mine/a", toolScript()}, {"mine/b", toolScript()}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if w := send(two, "GET", "http://localhost/tools", ""); w.Code != 404 || !strings.Contains(w.Body.String(), "/run/SUITE/SCENARIO/SEED/tools") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// A conversation whose client hides what its tools said: placeholders and conditions
// go by what the front has answered. A call that it never answered has failed.
func TestToolsTellTheModel(t *testing.T) {
	s := &fakes.Script{
		Tools: []fakes.Tool{{ToolSpec: loop.ToolSpec{Name: "f"}, Answers: []fakes.Answer{
			{When: map[string]any{"n": 1}, Times: 1, Result: `{"next":"b-${call}"}`},
			{When: map[string]any{"n": 2}, Error: loop.NotFound, Text: "no such thing"},
			{When: map[string]any{"n": 3}, Hang: true},
			{Result: "fine"}}}},
		Model: []fakes.Step{
			{Calls: []fakes.StepCall{call("f", `{"n":1}`)}},
			{Calls: []fakes.StepCall{call("f", `{"n":2,"after":"${result:c1.next}"}`)}},
			{When: fakes.WhenResult, Result: fakes.ResultIs{Matches: "^Error: no such thing$"}, Calls: []fakes.StepCall{call("f", `{"n":3}`)}},
			{When: fakes.WhenFailed, Repeat: 1, Calls: []fakes.StepCall{call("f", `{"n":4}`)}},
			{When: fakes.WhenResult, Result: fakes.ResultIs{Matches: "^fine$"}, Text: "It is fine."},
			{Text: "The client was believed.", Repeat: fakes.Forever},
		},
	}
	onTools(t, s, Options{Seed: 5}, func(t *testing.T, server *Server, client *http.Client) {
		c := clients["chat"]
		history := []loop.Message{hi}
		var got []string
		for range 6 {
			w := post(server, "/v1/chat/completions", c.json(history, false))
			a := c.read(t, w.Body.Bytes())
			if len(a.Calls) == 0 {
				got = append(got, a.Text)
				break
			}
			history = append(history, replied("", a.Calls[0].ID))
			last := &history[len(history)-1].Calls[0]
			last.Name, last.Args = "f", a.Calls[0].Args
			said, err := execute(t, client, "/run/mine/tools/5/tools/f", a.Calls[0].Args, time.Minute)
			got = append(got, fmt.Sprintf("%s: %d %s %v", a.Calls[0].Args, said.Status, said.Text, err != nil))
			history = append(history, result(a.Calls[0].ID, "the tool has spoken"))
			synctest.Wait()
		}
		want := []string{`{"n":1}: 200 {"next":"b-1"} false`, `{"n":2,"after":"b-1"}: 404 no such thing false`, `{"n":3}: 0  true`, `{"n":4}: 200 fine false`, "It is fine."}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		calls := 0
		for _, e := range server.Journal().Entries {
			if e.Type == "call" {
				calls++
				if want := fmt.Sprintf("c%d#1", calls); e.Call != want {
					t.Errorf("execution %d is %s", calls, e.Call)
				}
			}
		}
		// The same conversation again: nothing is known of the first one.
		post(server, "/v1/chat/completions", c.json([]loop.Message{hi}, false))
		if said, _ := execute(t, client, "/tools/f", `{"n":1}`, time.Minute); said.Text != `{"next":"b-1"}` {
			t.Errorf("the second conversation: %+v", said)
		}
	})
	// A client with tools of its own is believed.
	server, err := New([]Scenario{{"mine/tools", s}}, Options{Speed: 1e6})
	if err != nil {
		t.Fatal(err)
	}
	reply := replied("", "call_1_1")
	reply.Calls[0].Name, reply.Calls[0].Args = "f", `{"n":1}`
	if a := said(t, server, clients["chat"], false, hi, reply, result("call_1_1", `{"next":"mine"}`)); len(a.Calls) != 1 || a.Calls[0].Args != `{"n":2,"after":"mine"}` {
		t.Errorf("%+v", a)
	}
}
