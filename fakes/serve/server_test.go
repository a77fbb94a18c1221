package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/internal/wiretest"
	"github.com/agentbench-go/agentbench/loop"
)

// many serves test/one to test/seven, each of which answers with its name.
func many(t *testing.T) *Server {
	t.Helper()
	var list []Scenario
	for _, name := range []string{"one", "two", "three", "four", "five", "six", "seven"} {
		list = append(list, Scenario{"test/" + name, &fakes.Script{Model: []fakes.Step{at(fakes.Step{Text: name + " ${seed}"})}}})
	}
	s, err := New(list, Options{Seed: 5})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func send(s *Server, method, url, body string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest(method, url, strings.NewReader(body)))
	return w
}

func TestScenariosByPathAndModel(t *testing.T) {
	s := many(t)
	tests := []struct{ path, model, want string }{
		{"/run/test/two/7/v1/chat/completions", "gpt-5", "two 7"},
		{"/run/test/two/18446744073709551615/v1/chat/completions", "test/one", "two 18446744073709551615"},
		{"/v1/chat/completions", "test/three", "three 5"},
	}
	for _, tt := range tests {
		w := post(s, tt.path, fmt.Sprintf(`{"model":%q,"messages":[]}`, tt.model))
		if got := readChat(t, w.Body.Bytes()).Text; got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.path, got, tt.want)
		}
	}
}

// Each refusal says what is wrong and where, in the form of the API, and that
// clients should not retry.
func TestRefusals(t *testing.T) {
	s := many(t)
	const chatPath, ask = "/run/test/one/1/v1/chat/completions", `{"model":"m","messages":[%s]}`
	tests := []struct {
		method, url, body string
		status            int
		code, want        string
	}{
		{"GET", "/v1", "", 404, "unknown_path", "there is no /v1: use " + endpoints},
		{"POST", "/chat/completions", "{}", 404, "unknown_path", "there is no POST /chat/completions: use " + endpoints},
		{"DELETE", "/v1/models", "", 404, "unknown_path", "there is no DELETE /v1/models: use " + endpoints},
		{"GET", "/v1/responses", "", 405, "method_not_allowed", "/v1/responses takes POST, not GET"},
		{"GET", "/run/test/one", "", 404, "unknown_scenario", "the path of a scenario is /run/SUITE/SCENARIO/SEED/v1/…"},
		{"POST", "/run/test/eight/1/v1/responses", "", 404, "unknown_scenario",
			`scenario "test/eight" is not served: use test/one, test/two, test/three, test/four, test/five and 2 more (GET /v1/models lists them)`},
		{"POST", "/run/test/one/x/v1/responses", "", 404, "unknown_scenario", `the seed in the path must be a whole number of 0 or more, not "x"`},
		{"POST", "/v1/chat/completions", fmt.Sprintf(ask, ""), 404, "unknown_scenario",
			`scenario "m" is not served: use test/one, test/two, test/three, test/four, test/five and 2 more (GET /v1/models lists them): ask under /run/SUITE/SCENARIO/SEED/v1, or name the scenario as the model`},
		{"POST", chatPath, "", 400, "bad_request", "the body is not JSON: at byte 0: unexpected end of JSON input"},
		{"POST", chatPath, "[]", 400, "bad_request", "the body must be a JSON object, not an array"},
		{"POST", chatPath, "{}", 400, "bad_request", "model: is missing"},
		{"POST", chatPath, `{"model":3}`, 400, "bad_request", "model: must be a string, not a number"},
		{"POST", chatPath, `{"model":"m"}`, 400, "bad_request", "messages: must be an array, not nothing"},
		{"POST", chatPath, `{"model":"m","messages":[],"n":2}`, 400, "bad_request", "n: must be 1: a script has one choice"},
		{"POST", chatPath, fmt.Sprintf(ask, "{},5"), 400, "bad_request", `messages[0].role: must be system, developer, user, assistant or tool, not ""`},
		{"POST", chatPath, fmt.Sprintf(ask, `{"role":"user"},5`), 400, "bad_request", "messages[1]: must be an object, not a number"},
		{"POST", chatPath, fmt.Sprintf(ask, `{"role":"user","content":{}}`), 400, "bad_request", "messages[0].content: must be a string or an array of parts, not an object"},
		{"POST", chatPath, fmt.Sprintf(ask, `{"role":"user","content":[true]}`), 400, "bad_request", "messages[0].content: must be an array of parts, each an object, not a boolean"},
		{"POST", chatPath, fmt.Sprintf(ask, `{"role":"assistant","tool_calls":{}}`), 400, "bad_request", "messages[0].tool_calls: must be an array, not an object"},
		{"POST", chatPath, fmt.Sprintf(ask, `{"role":"user"},{"role":"assistant","content":"one 1"}`), 422, "script_ran_dry",
			"no model step for request 2: the last one, model[0], answers no request after 1"},
		{"POST", "/run/test/one/1/v1/responses", `{"model":"m","input":[],"previous_response_id":"resp_1"}`, 400, "bad_request",
			"previous_response_id: this server keeps no conversations: send the whole input with each request (store: false)"},
		{"POST", "/run/test/one/1/v1/responses", `{"model":"m","input":[{"type":"item_reference","id":"rs_1"}]}`, 400, "bad_request",
			`input[0].id: no item of this server has the id "rs_1"`},
		{"POST", "/run/test/one/1/v1/responses", `{"model":"m","input":[{"role":"robot"}]}`, 400, "bad_request",
			`input[0].role: must be system, developer, user or assistant, not "robot"`},
		{"POST", "/run/test/one/1/v1/messages", `{"model":"m","messages":[{"role":"tool"}]}`, 400, "bad_request",
			`messages[0].role: must be user or assistant, not "tool"`},
	}
	const astray = 7 // those with a path or a method that is not served
	for _, tt := range tests {
		w := send(s, tt.method, "http://127.0.0.1:8080"+tt.url, tt.body)
		var body struct {
			Error struct{ Message, Code string }
		}
		if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil {
			t.Errorf("%s %s: %v in %s", tt.method, tt.url, err, w.Body)
		}
		if strings.Contains(tt.url, "/messages") {
			body.Error.Code = tt.code // which Anthropic's errors do not have
		}
		if w.Code != tt.status || body.Error.Code != tt.code || body.Error.Message != "agentbench: "+tt.want || w.Header().Get("X-Should-Retry") != "false" {
			t.Errorf("%s %s %s\ngot  %d %+v\nwant %d %s %s", tt.method, tt.url, tt.body, w.Code, body.Error, tt.status, tt.code, tt.want)
		}
	}
	named := 0 // those of the tests that are refused although their path has a scenario
	for _, tt := range tests {
		if strings.HasPrefix(tt.url, "/run/test/one/1/") && tt.status == 400 {
			named++
		}
	}
	if one := s.Journal().Scenarios["test/one"]; one == nil || one.Refused < named || one.Astray != 0 {
		t.Errorf("the journal has %+v of the scenario, want at least %d refused", one, named)
	}
	if j := s.Journal(); j.Total.Refused != len(tests)-astray || j.Total.Requests != j.Total.Refused || j.Total.Astray != astray || j.Entries[0].Error == "" {
		t.Errorf("the journal has %+v", j.Total)
	}
}

// A request that wants the server to keep the conversation is refused so that
// Anthropic's client sends its messages itself.
func TestThreads(t *testing.T) {
	s := serveSteps(t, at(fakes.Step{Text: "ok"}))
	for _, thread := range []string{`{"type":"create"}`, `{"type":"continue","previous_message_id":"msg_1"}`} {
		w := post(s, "/v1/messages", `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"Hi"}],"thread":`+thread+`}`)
		body := decode[struct {
			Type  string
			Error struct {
				Type, Message string
				Details       struct {
					Code        string `json:"error_code"`
					Unsupported []string
				}
			}
		}](t, w.Body.String())
		if e := body.Error; w.Code != 400 || body.Type != "error" || e.Type != "invalid_request_error" || e.Details.Code != "thread_unsupported_request" || len(e.Details.Unsupported) != 1 || e.Details.Unsupported[0] != "thread" {
			t.Errorf("%s: %d %s", thread, w.Code, w.Body)
		}
	}
	if w := post(s, "/v1/messages", `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"Hi"}],"thread":null}`); w.Code != 200 {
		t.Errorf("without a thread: %d %s", w.Code, w.Body)
	}
}

// The error of a request that no step answers lists the steps and why they do not.
func TestMissed(t *testing.T) {
	tests := []struct {
		steps []fakes.Step
		want  string
	}{
		{[]fakes.Step{{Text: "a", Repeat: 2}, {When: fakes.WhenDenied}, {Text: "b"}, {When: fakes.WhenOK}},
			"no model step for request 4: the last one, model[2], answers no request after 3; these do not hold or are used up: model[1] (when: denied), model[3] (when: ok)"},
		{[]fakes.Step{{When: fakes.WhenFailed}}, "no model step for request 4: all steps have a condition; these do not hold or are used up: model[0] (when: failed)"},
	}
	for _, tt := range tests {
		s := serveSteps(t, tt.steps...)
		w := post(s, "/v1/chat/completions", clients["chat"].json([]loop.Message{hi, replied("a"), replied("b"), replied("c")}, false))
		if body := decode[struct{ Error struct{ Message string } }](t, w.Body.String()); w.Code != 422 || body.Error.Message != "agentbench: "+tt.want {
			t.Errorf("got  %d %s\nwant %s", w.Code, body.Error.Message, tt.want)
		}
	}
}

func TestModelsAndHealth(t *testing.T) {
	s, err := New([]Scenario{{"a/b", &fakes.Script{Model: []fakes.Step{{}}}}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"object":"list","data":[{"id":"a/b","object":"model","created":0,"owned_by":"agentbench","type":"model","display_name":"a/b","created_at":"1970-01-01T00:00:00Z"}],"has_more":false}`
	for _, path := range []string{"/v1/models", "/run/a/b/1/v1/models"} {
		if w := send(s, "GET", "http://localhost"+path, ""); w.Code != 200 || w.Body.String() != want {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	if w := send(s, "HEAD", "http://localhost/", ""); w.Code != 200 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := send(s, "GET", "http://localhost/health", ""); w.Code != 200 || w.Body.String() != `{"status":"ok"}` {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if n := len(s.Journal().Entries); n != 0 {
		t.Errorf("%d entries of requests that are not for a model", n)
	}
}

func TestNew(t *testing.T) {
	bad := &fakes.Script{Model: []fakes.Step{{Text: "${x}"}}}
	good := &fakes.Script{Model: []fakes.Step{{}}}
	_, err := New([]Scenario{{"a/bad", bad}, {"a/good", good}, {"a/good", good}}, Options{})
	if err == nil || !strings.Contains(err.Error(), "a/bad: model[0].text: ") || !strings.Contains(err.Error(), "there are two scenarios a/good") {
		t.Errorf("got %v", err)
	}
}

// The journal lists requests, planned failures and the client's problems, and no
// text of the conversation.
func TestJournal(t *testing.T) {
	var observed []Entry
	script := &fakes.Script{Model: []fakes.Step{
		at(fakes.Step{Text: "secret", Failures: []fakes.ModelFailure{{Status: 429, Latency: fakes.Instantly()}}}),
		at(fakes.Step{Calls: []fakes.StepCall{call("f", "{}"), call("f", "{}")}}),
		at(fakes.Step{Wire: fakes.WireShuffledIndex, Calls: []fakes.StepCall{call("f", "{}"), call("f", "{}")}}),
	}}
	s, err := New([]Scenario{{"test/one", script}}, Options{Seed: 4, Observe: func(seen *Seen) {
		if !seen.Entry.Open {
			observed = append(observed, *seen.Entry)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	c := clients["chat"]
	post(s, c.path, c.json([]loop.Message{hi}, false))
	post(s, c.path, c.json([]loop.Message{hi}, false))
	post(s, c.path, c.json([]loop.Message{hi, replied("secret"), result("q", "secret")}, false))
	post(s, "/run/test/one/9"+c.path, c.json([]loop.Message{hi, replied("secret", "a", "a"), result("a", "secret"), replied(""), user("secret")}, true))
	post(s, "/nowhere", "secret")
	var j Journal
	if err := json.Unmarshal(send(s, "GET", "http://localhost/__agentbench/journal", "").Body.Bytes(), &j); err != nil {
		t.Fatal(err)
	}
	wantTotal := Tally{Requests: 4, Problems: 2, Astray: 1, Faults: map[string]int{"status-429": 1, "shuffled-index": 1}, Furthest: 3}
	one := wantTotal
	one.Astray = 0
	want := &Journal{Schema: "agentbench.journal/v1", Speed: 1, Total: wantTotal, Scenarios: map[string]*Tally{"test/one": &one}, Entries: []Entry{
		{N: 1, Seed: 4, Request: 1, Try: 1, Step: "model[0]", Messages: 1, Status: 429, Fault: "status-429"},
		{N: 2, Seed: 4, Request: 1, Try: 2, Step: "model[0]", Messages: 1, Status: 200, Finish: "stop"},
		{N: 3, Seed: 4, Request: 2, Try: 1, Step: "model[1]", Messages: 3, Status: 200, Finish: "tool_calls", Calls: 2,
			Problems: []string{`message 3: a result for the call id "q", which is not asked for right before it or has its result`}},
		{N: 4, Seed: 9, Request: 3, Try: 1, Step: "model[2]", Messages: 5, Status: 200, Finish: "tool_calls", Calls: 2, Stream: true, Fault: "shuffled-index",
			Path: "/run/test/one/9/v1/chat/completions",
			Problems: []string{`message 2 (m1): the id "a" of call c2 was used before`, `message 4 (m2): no result for the call id "a" before it`,
				`message 4 (m2): an assistant message has neither text nor calls`}},
		{N: 5, Status: 404, Path: "/nowhere", Astray: true, Error: "there is no POST /nowhere: use " + endpoints},
	}}
	for i := range want.Entries {
		e := &want.Entries[i]
		e.Type = "request"
		if e.Error == "" {
			e.API, e.Scenario = "chat", "test/one"
		}
		if e.Path == "" {
			e.Path = c.path
		}
	}
	times := cmpopts.IgnoreFields(Entry{}, "AtMS", "TookMS")
	if diff := cmp.Diff(want, &j, times); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(want.Entries, observed, times); diff != "" {
		t.Error(diff)
	}
	if text, _ := json.Marshal(j); bytes.Contains(text, []byte("secret")) {
		t.Errorf("the journal contains text of the conversation: %s", text)
	}
}

// The journal keeps the newest entries and counts all.
func TestJournalIsBounded(t *testing.T) {
	s, err := New([]Scenario{{"test/one", &fakes.Script{Model: []fakes.Step{at(fakes.Step{Text: "a"})}}}}, Options{Entries: 3})
	if err != nil {
		t.Fatal(err)
	}
	for range 7 {
		post(s, "/v1/responses", `{"model":"m","input":"Hi"}`)
	}
	j := s.Journal()
	if len(j.Entries) != 3 || j.Left != 4 || j.Entries[0].N != 5 || j.Entries[2].N != 7 || j.Total.Requests != 7 {
		t.Errorf("got %+v", j)
	}
}

// A client that goes away is noticed, and an answer that is open shows.
func TestJournalWhileAnAnswerIsOpen(t *testing.T) {
	inVirtualTime(t, Options{}, func(t *testing.T, s *Server, client *http.Client) {
		done := make(chan wiretest.Seen)
		go func() {
			done <- wiretest.Ask(t, client, "/v1/chat/completions", clients["chat"].json([]loop.Message{hi}, true), 3*sec)
		}()
		time.Sleep(sec)
		if e := s.Journal().Entries[0]; !e.Open || e.Gone || e.Fault != "stall" {
			t.Errorf("while it is open: %+v", e)
		}
		<-done
		time.Sleep(sec)
		if e := s.Journal().Entries[0]; e.Open || !e.Gone || e.TookMS != 3000 || e.Status != 200 {
			t.Errorf("when the client is gone: %+v", e)
		}
	}, fakes.Step{Text: "abc", Failures: []fakes.ModelFailure{{Hang: true, Chunks: 1, Latency: fakes.Span{Min: sec}}}})
}

// The limits of a request.
func TestBounds(t *testing.T) {
	s := serveSteps(t, at(fakes.Step{Text: "a", Repeat: fakes.Forever}))
	message, assistant := `{"role":"user","content":"a"}`, `{"role":"assistant","tool_calls":[%s]}`
	list := func(one string, n int) string { return strings.TrimSuffix(strings.Repeat(one+",", n), ",") }
	ask := func(messages string) string { return `{"model":"m","messages":[` + messages + `]}` }
	tests := []struct {
		name, body string
		status     int
		want       string
	}{
		{"as many messages as may be", ask(list(message, maxMessages)), 200, ""},
		{"one more", ask(list(message, maxMessages+1)), 400, "messages[12000]: there are more than 12000 messages and calls"},
		{"as many calls as may be", ask(fmt.Sprintf(assistant, list(`{}`, maxCalls))), 200, ""},
		{"one call more", ask(fmt.Sprintf(assistant, list(`{}`, maxCalls+1))), 400, "messages[0].tool_calls: there are more than 1000 calls in a message"},
		{"deep", ask(strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000)), 400, "exceeded max depth"},
		{"a large body", ask(`{"role":"user","content":"` + strings.Repeat("a", maxBody-100) + `"}`), 200, ""},
		{"one too large", ask(`{"role":"user","content":"` + strings.Repeat("a", maxBody) + `"}`), 413, "the body has more than 16777216 bytes"},
	}
	for _, tt := range tests {
		for _, known := range []bool{true, false} {
			r := httptest.NewRequest("POST", "http://localhost/v1/chat/completions", strings.NewReader(tt.body))
			if !known {
				r.ContentLength = -1
			}
			w := httptest.NewRecorder()
			s.ServeHTTP(w, r)
			if w.Code != tt.status || !strings.Contains(w.Body.String(), tt.want) {
				t.Errorf("%s: %d %.200s", tt.name, w.Code, w.Body)
			}
		}
	}
	s.atOnce.Store(maxAtOnce)
	if w := post(s, "/v1/chat/completions", ask(message)); w.Code != 503 {
		t.Errorf("with too many at once: %d %s", w.Code, w.Body)
	}
}

// The server does not wait forever for a body that does not come.
func TestSlowBody(t *testing.T) {
	inVirtualTime(t, Options{}, func(t *testing.T, s *Server, client *http.Client) {
		body, never := io.Pipe()
		r, err := http.NewRequest("POST", "http://localhost/v1/messages", body)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		resp, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusRequestTimeout || time.Since(began) != bodyTime {
			t.Errorf("%s after %v", resp.Status, time.Since(began))
		}
		never.Close()
	}, fakes.Step{})
}

// Every request gets an answer in JSON or an event stream, and none causes a panic.
func FuzzRequests(f *testing.F) {
	for path := range apis {
		for _, body := range []string{"", "{}", `{"model":"m"}`, `{"model":"m","messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"text":"x"}],"is_error":true}]}],"stream":true}`,
			`{"model":"m","messages":[{"role":"assistant","content":null,"tool_calls":[{"id":"call_99_1","function":{"name":"f","arguments":"{"}}]},{"role":"tool","tool_call_id":"call_99_1","content":"Error: {"}]}`,
			`{"model":"m","input":[{"type":"function_call","call_id":"call_3_1"},{"type":"item_reference","id":"fc_1_0_"},{"type":"function_call_output","call_id":"\ud83d"},{"role":"assistant","content":"a"}],"stream":true}`,
			`{"model":"m","messages":[{"role":"assistant","content":[{"type":"tool_use","id":"call_18446744073709551616","input":[]}]}]}`} {
			f.Add(path, body)
		}
	}
	script := &fakes.Script{Model: []fakes.Step{
		at(fakes.Step{Text: "${turn} ${call}", Calls: []fakes.StepCall{call("f", `{"a":1}`)}, Chunks: 2}),
		at(fakes.Step{When: fakes.WhenFailed, Calls: []fakes.StepCall{call("g", `{"a":"${result:last.a}"}`)}, Repeat: fakes.Forever}),
		at(fakes.Step{When: fakes.WhenDenied, Text: "no", Finish: "length"}),
		at(fakes.Step{}),
		at(fakes.Step{Text: "last", Failures: []fakes.ModelFailure{{Status: 500, Latency: fakes.Instantly()}, {Wire: fakes.WireCutEvent, Chunks: 1, Latency: fakes.Instantly()}}, Repeat: fakes.Forever}),
	}}
	s, err := New([]Scenario{{"test/one", script}}, Options{})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(geminiStream, `{"contents":[{"role":"model","parts":[{"functionCall":{"name":"f","args":[]}}]},{"parts":[{"functionResponse":{"name":"f","response":{"content":[{"text":"a"}]}}}]}]}`)
	f.Fuzz(func(t *testing.T, path, body string) {
		if apis[path] == nil && path != geminiStream {
			path = "/v1/chat/completions"
		}
		w := post(s, path, body)
		switch kind := w.Header().Get("Content-Type"); {
		case kind == "text/event-stream; charset=utf-8":
			parseEvents(t, w.Body.String())
		case kind != "application/json", !json.Valid(w.Body.Bytes()) && s.Journal().Entries[len(s.Journal().Entries)-1].Fault == "":
			t.Errorf("%d %s: %s", w.Code, kind, w.Body)
		}
	})
}

// A thousand conversations at once, distinguished by their texts: each gets its
// own failure, its own calls and its own answer.
func TestManyConversations(t *testing.T) {
	const conversations, turns = 1000, 3
	script := &fakes.Script{Model: []fakes.Step{
		at(fakes.Step{Repeat: turns - 1, Calls: []fakes.StepCall{call("f", `{"turn":${turn}}`), call("g", "{}")}, Failures: []fakes.ModelFailure{{Status: 429, Latency: fakes.Instantly()}}}),
		at(fakes.Step{Text: "done in ${turn}", Chunks: 4}),
	}}
	s, err := New([]Scenario{{"test/one", script}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- s.Serve(ctx, l) }()
	transport := &http.Transport{MaxIdleConnsPerHost: 64, MaxConnsPerHost: 64}
	client := &http.Client{Transport: transport}
	var all sync.WaitGroup
	for i := range conversations {
		all.Go(func() {
			if err := converse(t, client, "http://"+l.Addr().String(), i, turns); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	transport.CloseIdleConnections()
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	want := Tally{Requests: conversations * (2*turns - 1), Faults: map[string]int{"status-429": conversations * (turns - 1)}, Furthest: turns}
	if diff := cmp.Diff(want, s.Journal().Total); diff != "" {
		t.Error(diff)
	}
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	if m.HeapAlloc > 64<<20 {
		t.Errorf("%d MiB are kept", m.HeapAlloc>>20)
	}
}

// converse has one conversation over an API of its choice.
func converse(t *testing.T, client *http.Client, url string, i, turns int) error {
	names := []string{"chat", "responses", "messages"}
	c, stream := clients[names[i%3]], i%2 == 0
	history := []loop.Message{user(fmt.Sprint("conversation ", i))}
	for turn := 1; turn <= turns; turn++ {
		for try := 1; ; try++ {
			resp, err := client.Post(url+c.path, "application/json", strings.NewReader(c.json(history, stream)))
			if err != nil {
				return err
			}
			body, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if err != nil {
				return err
			}
			if first := try == 1 && turn < turns; first != (resp.StatusCode == 429) {
				return fmt.Errorf("conversation %d, turn %d, try %d: %s", i, turn, try, resp.Status)
			}
			if resp.StatusCode == 429 {
				continue
			}
			a := answer{}
			if stream {
				a = c.events(t, parseEvents(t, string(body)))
			} else {
				a = c.read(t, body)
			}
			if turn == turns {
				if a.Text != fmt.Sprint("done in ", turns) {
					return errors.New(a.Text)
				}
				return nil
			}
			if len(a.Calls) != 2 || a.Calls[0].Args != fmt.Sprintf(`{"turn":%d}`, turn) || a.Calls[1].ID != fmt.Sprintf("call_%d_2", turn) {
				return fmt.Errorf("conversation %d, turn %d: %+v", i, turn, a)
			}
			reply := replied(a.Text)
			for _, asked := range a.Calls {
				reply.Calls = append(reply.Calls, loop.Call{ID: asked.ID, Name: asked.Name, Args: asked.Args})
			}
			history = append(history, reply, result(a.Calls[0].ID, "fine"), result(a.Calls[1].ID, "fine"))
			break
		}
	}
	return nil
}
