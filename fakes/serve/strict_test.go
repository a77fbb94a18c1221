package serve

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/internal/wiretest"
	"github.com/agentbench-go/agentbench/loop"
)

// What a real API refuses is a problem, and refused if the server is strict.
func TestProblemsOfRequests(t *testing.T) {
	const chatPath, user = "/v1/chat/completions", `"messages":[{"role":"user","content":"Hi"}]`
	tests := []struct {
		path, body, want string
		refused          bool
	}{
		{chatPath, `{"model":"m",` + user + `}`, "", false},
		{chatPath, `{"model":"m",` + user + `,"tools":[]}`, "tools: is an empty array: leave it out", true},
		{chatPath, `{"model":"m",` + user + `,"tool_choice":"auto"}`, "tool_choice: is only allowed with tools", true},
		{chatPath, `{"model":"m",` + user + `,"tool_choice":"auto","tools":[{"type":"function","function":{"name":"f"}}]}`, "", false},
		{"/v1/responses", `{"model":"m","input":"Hi","tools":[],"tool_choice":"auto"}`, "", false},
		{"/v1/responses", `{"model":"m","input":"Hi","tool_choice":"required"}`, "tool_choice: is only allowed with tools", true},
		{"/v1/messages", `{"model":"m","max_tokens":9,` + user + `}`, "", false},
		{"/v1/messages", `{"model":"m",` + user + `}`, "max_tokens: is missing", true},
		{"/v1/messages", `{"model":"m","max_tokens":9,` + user + `,"tool_choice":{"type":"any"}}`, "tool_choice: is only allowed with tools", true},
		{"/v1/messages", `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":[{"type":"tool_use","id":"call_1_1","name":"f","input":"{"}]},
			{"role":"user","content":[{"type":"tool_result","tool_use_id":"call_1_1","content":"x"}]}]}`, "messages[1].content: the input of a call must be an object, not a string", true},
		{chatPath, `{"model":"m","messages":[{"role":"user","content":"Hi"},{"role":"assistant","tool_calls":[{"id":"call_1_1","function":{"name":"f","arguments":"{"}}]},
			{"role":"tool","tool_call_id":"call_1_1","content":"x"}]}`, "messages[1].tool_calls: the arguments of a call are not JSON: some servers refuse them", false},
		{chatPath, `{"model":"m","messages":[{"role":"user","content":"Hi"},{"role":"assistant","tool_calls":[{"id":"call_1_1","function":{"name":"f","arguments":"{}"}}]}]}`,
			`message 3: no result for the call id "call_1_1" before it`, true},
		{geminiWhole, `{"contents":[{"role":"user","parts":[{"text":"Hi"}]},{"role":"model","parts":[{"functionCall":{"id":"call_1_1","name":"f","args":[]}}]},
			{"role":"user","parts":[{"functionResponse":{"id":"call_1_1","name":"f","response":{"output":"x"}}}]}]}`, "contents[1].parts: the args of a call must be an object, not an array", true},
	}
	for _, tt := range tests {
		for _, strict := range []bool{false, true} {
			s := serveSteps(t, at(fakes.Step{Text: "a", Repeat: fakes.Forever}))
			s.strict = strict
			w := post(s, tt.path, tt.body)
			status := 200
			if strict && tt.refused {
				status = 400
			}
			if got := strings.Join(s.Journal().Entries[0].Problems, "; "); got != tt.want || w.Code != status {
				t.Errorf("%s, strict %v: %d, %q, want %q", tt.body, strict, w.Code, got, tt.want)
			}
			if status == 400 && !strings.Contains(w.Body.String(), "agentbench: ") {
				t.Errorf("%s: %s", tt.body, w.Body)
			}
		}
	}
}

// A client that does not wait as long as Retry-After asks for is told of.
func TestRetryTooEarly(t *testing.T) {
	failing := fakes.Step{Text: "a", Failures: []fakes.ModelFailure{{Status: 429, RetryAfter: 4 * sec, Latency: fakes.Instantly()}}, Repeat: fakes.Forever}
	for pause, want := range map[time.Duration]string{0: "the request comes again after 0s, but Retry-After asked for 2s", 1500 * time.Millisecond: "the request comes again after 1.5s, but Retry-After asked for 2s", 2 * sec: ""} {
		inVirtualTime(t, Options{Speed: 2}, func(t *testing.T, s *Server, client *http.Client) {
			body := clients["chat"].json([]loop.Message{hi}, false)
			for range 2 {
				wiretest.Ask(t, client, "/v1/chat/completions", body, time.Hour)
				time.Sleep(pause)
			}
			j := s.Journal()
			if got := strings.Join(j.Entries[1].Problems, "; "); got != want || len(j.Entries[0].Problems) > 0 {
				t.Errorf("after %v: %q, want %q", pause, got, want)
			}
		}, failing)
	}
}
