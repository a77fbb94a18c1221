package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbench-go/agentbench/cassettes/endpoint"
	"github.com/agentbench-go/agentbench/loop"
)

// caught sends one request and returns its parts.
func caught(t *testing.T, s endpoint.Settings, req loop.ModelRequest) (header http.Header, url, body string) {
	t.Helper()
	m := connect(t, s, roundTripper(func(r *http.Request) (*http.Response, error) {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		header, url, body = r.Header, r.URL.String(), string(b)
		return nil, errors.New("caught")
	}))
	if _, err := m.Reply(t.Context(), req, func(string) {}); err == nil || !strings.HasSuffix(err.Error(), ": caught") {
		t.Fatal(err)
	}
	return header, url, body
}

// conversation holds all that a history can.
func conversation() loop.ModelRequest {
	return loop.ModelRequest{
		For: loop.ForReply, System: "Be <brief> & kind.",
		History: []loop.Message{
			{Role: loop.User, Text: "Look."},
			{Role: loop.Assistant, Text: "I will.", Calls: []loop.Call{{ID: "a", Name: "look", Args: `{"at": 1}`}, {ID: "b", Name: "ask"}}},
			{Role: loop.ToolRole, CallID: "a", Text: "seen"},
			{Role: loop.ToolRole, CallID: "b", Text: "", Failed: true},
			{Role: loop.User, Text: "Of the loop's own."},
			{Role: loop.Assistant, Calls: []loop.Call{{ID: "c", Name: "look", Args: "{broken"}}},
			{Role: loop.ToolRole, CallID: "c", Text: "no"},
			{Role: loop.Assistant, Text: "Done."},
		},
		Tools: []loop.ToolSpec{
			{Name: "look", Description: "Look at a place.", Input: `{"type":"object","properties":{"at":{"type":"integer","maximum":9007199254740993}},"required":["at"]}`},
			{Name: "ask"},
		},
	}
}

const (
	chatHead = `{"messages":[{"content":"Be <brief> & kind.","role":"system"},{"content":"Look.","role":"user"},` +
		`{"content":"I will.","tool_calls":[{"id":"a","function":{"arguments":"{\"at\": 1}","name":"look"},"type":"function"},{"id":"b","function":{"arguments":"{}","name":"ask"},"type":"function"}],"role":"assistant"},` +
		`{"content":"seen","tool_call_id":"a","role":"tool"},{"content":"","tool_call_id":"b","role":"tool"},{"content":"Of the loop's own.","role":"user"},` +
		`{"tool_calls":[{"id":"c","function":{"arguments":"{\"INVALID_JSON\":\"{broken\"}","name":"look"},"type":"function"}],"role":"assistant"},` +
		`{"content":"no","tool_call_id":"c","role":"tool"},{"content":"Done.","role":"assistant"}],"model":"m","max_completion_tokens":8192`
	chatTools = `"tools":[{"function":{"name":"look","description":"Look at a place.","parameters":{"properties":{"at":{"type":"integer","maximum":9007199254740993}},"required":["at"],"type":"object"}},"type":"function"},` +
		`{"function":{"name":"ask","parameters":{"properties":{},"type":"object"}},"type":"function"}]`
	responsesHead = `{"instructions":"Be <brief> & kind.","max_output_tokens":8192,"store":false`
	responsesBody = `"input":[{"content":"Look.","role":"user"},{"content":"I will.","role":"assistant"},` +
		`{"arguments":"{\"at\": 1}","call_id":"a","name":"look","type":"function_call"},{"arguments":"{}","call_id":"b","name":"ask","type":"function_call"},` +
		`{"output":"seen","call_id":"a","type":"function_call_output"},{"output":"","call_id":"b","type":"function_call_output"},{"content":"Of the loop's own.","role":"user"},` +
		`{"arguments":"{\"INVALID_JSON\":\"{broken\"}","call_id":"c","name":"look","type":"function_call"},{"output":"no","call_id":"c","type":"function_call_output"},{"content":"Done.","role":"assistant"}],"model":"m",` +
		`"tools":[{"strict":false,"parameters":{"properties":{"at":{"type":"integer","maximum":9007199254740993}},"required":["at"],"type":"object"},"name":"look","description":"Look at a place.","type":"function"},` +
		`{"strict":false,"parameters":{"properties":{},"type":"object"},"name":"ask","type":"function"}]`
)

// What is sent back is an object, whatever the model wrote.
func TestArgumentsAreMended(t *testing.T) {
	for args, want := range map[string]string{
		"": "{}", " \n": "{}", `{"at": 1}`: `{"at": 1}`, ` {"at": 1} `: `{"at": 1}`, `{"at":`: `{"INVALID_JSON":"{\"at\":"}`,
		`[1]`: `{"INVALID_JSON":"[1]"}`, `null`: `{"INVALID_JSON":"null"}`, `look at "it"`: `{"INVALID_JSON":"look at \"it\""}`,
		"{} {}": `{"INVALID_JSON":"{} {}"}`, "a\xffb": `{"INVALID_JSON":"a\ufffdb"}`,
	} {
		if got := arguments(args); got != want {
			t.Errorf("arguments %q are sent as %s, want %s", args, got, want)
		}
	}
}

// The body of a request, to the byte: cassettes are matched by it.
func TestBody(t *testing.T) {
	zero := 0.0
	for _, test := range []struct {
		name string
		way  way
		temp *float64
		want string
	}{
		{"chat", ways[0], nil, chatHead + "," + chatTools + "}"},
		{"chat streamed, temperature 0", ways[1], &zero, chatHead + `,"temperature":0,"stream_options":{"include_usage":true},` + chatTools + `,"stream":true}`},
		{"responses", ways[2], nil, responsesHead + "," + responsesBody + "}"},
		{"chat, choice required", ways[0], nil, chatHead + `,"tool_choice":"required",` + chatTools + "}"},
		{"chat, choice look", ways[0], nil, chatHead + `,"tool_choice":{"function":{"name":"look"},"type":"function"},` + chatTools + "}"},
		{"responses, choice required", ways[2], nil, responsesHead + "," + strings.Replace(responsesBody, `"model":"m",`, `"model":"m","tool_choice":"required",`, 1) + "}"},
		{"responses, choice look", ways[2], nil, responsesHead + "," + strings.Replace(responsesBody, `"model":"m",`, `"model":"m","tool_choice":{"name":"look","type":"function"},`, 1) + "}"},
		{"chat, JSON mode", ways[0], nil, chatHead + `,"response_format":{"type":"json_object"},` + chatTools + "}"},
		{"responses, JSON mode", ways[2], nil, responsesHead + "," + strings.Replace(responsesBody, `"model":"m",`, `"model":"m","text":{"format":{"type":"json_object"}},`, 1) + "}"},
		{"responses streamed, temperature 0", ways[3], &zero, responsesHead + `,"temperature":0,` + responsesBody + `,"stream":true}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := test.way.settings("http://h")
			s.Temperature = test.temp
			for range 3 {
				req := conversation()
				req.JSON = strings.HasSuffix(test.name, "JSON mode")
				_, req.Choice, _ = strings.Cut(test.name, " choice ")
				_, url, body := caught(t, s, req)
				if diff := cmp.Diff(test.want, strings.TrimSuffix(body, "\n")); diff != "" {
					t.Fatalf("(-want +got)\n%s", diff)
				}
				if end := map[endpoint.API]string{endpoint.APIChat: "http://h/v1/chat/completions", endpoint.APIResponses: "http://h/v1/responses"}[test.way.api]; url != end {
					t.Errorf("sent to %s, want %s", url, end)
				}
			}
		})
	}
}

// Without tools nothing about tools is sent, whatever the request is for.
func TestBodyWithoutTools(t *testing.T) {
	for _, w := range ways {
		for _, purpose := range []loop.Purpose{loop.ForReply, loop.ForFinal, loop.ForSummary} {
			_, _, body := caught(t, w.settings("http://h"), loop.ModelRequest{For: purpose, History: []loop.Message{{Role: loop.User, Text: "Hello"}}})
			if strings.Contains(body, "tool") || strings.Contains(body, "system") || strings.Contains(body, "instructions") || strings.Contains(body, "temperature") {
				t.Errorf("%v for %s sends %s", w, purpose, body)
			}
		}
	}
}

// The settings are all that a request is made from: the library's own variables
// count for nothing.
func TestEnvironmentIsNotRead(t *testing.T) {
	for name, value := range map[string]string{
		"OPENAI_BASE_URL": "http://elsewhere/v1", "OPENAI_API_KEY": "sk-other", "OPENAI_ADMIN_KEY": "sk-admin", "OPENAI_ORG_ID": "org-1",
		"OPENAI_PROJECT_ID": "proj-1", "OPENAI_WEBHOOK_SECRET": "whsec", "OPENAI_CUSTOM_HEADERS": "X-Custom: 1\nAuthorization: Bearer sk-third",
	} {
		t.Setenv(name, value)
	}
	for _, w := range ways {
		for key, want := range map[string]string{secret: "Bearer " + secret, "": ""} {
			s := w.settings("http://h")
			s.Key = endpoint.NewKey(key)
			header, url, _ := caught(t, s, hello())
			if got := header.Get("Authorization"); got != want || !strings.HasPrefix(url, "http://h/v1/") {
				t.Errorf("%v: sent to %s with %q, want %q", w, url, got, want)
			}
			if header.Get("X-Custom")+header.Get("Openai-Organization")+header.Get("Openai-Project") != "" {
				t.Errorf("%v: the environment is in the header %v", w, header)
			}
		}
	}
}

// The answer is asked for once, whatever it says of retries.
func TestNoRetries(t *testing.T) {
	for _, w := range ways {
		for _, status := range []int{408, 409, 429, 500, 503} {
			requests := 0
			m := connect(t, w.settings("http://h"), roundTripper(func(*http.Request) (*http.Response, error) {
				requests++
				return &http.Response{StatusCode: status, Header: http.Header{"X-Should-Retry": {"true"}, "Retry-After-Ms": {"1"}}, Body: io.NopCloser(strings.NewReader("{}"))}, nil
			}))
			if _, _, err := reply(t, m); err == nil || requests != 1 {
				t.Errorf("%v: %d requests, and %v", w, requests, err)
			}
		}
	}
}

// A tool's schema that is not an object cannot be sent.
func TestSchemaThatIsNone(t *testing.T) {
	for _, schema := range []string{"true", "[]", "{", "null", `"object"`} {
		req := hello()
		req.Tools[0].Input = schema
		for _, w := range ways {
			m := connect(t, w.settings("http://h"), roundTripper(func(*http.Request) (*http.Response, error) {
				t.Errorf("%s was sent", schema)
				return nil, errors.New("sent")
			}))
			r, err := m.Reply(t.Context(), req, func(string) {})
			failed(t, r, err, 0, "the request was not sent: the schema of the tool look is not a JSON object")
		}
	}
}

// Settings that are wrong make no model.
func TestNewChecksSettings(t *testing.T) {
	_, err := New(endpoint.Settings{BaseURL: "http://h/v1"}, nil)
	var p *endpoint.Problem
	if !errors.As(err, &p) {
		t.Errorf("%v is not a Problem", err)
	}
	if m, err := New(ways[0].settings("http://h"), nil); m == nil || err != nil {
		t.Errorf("%v, %v", m, err)
	}
}

// A model is asked by many at once, and what one hears is its own.
func TestManyAtOnce(t *testing.T) {
	echo := roundTripper(func(r *http.Request) (*http.Response, error) {
		var body struct{ Messages []struct{ Content string } }
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			return nil, err
		}
		text := `{"choices":[{"message":{"content":"` + body.Messages[0].Content + `"},"finish_reason":"stop"}]}`
		return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {asJSON}}, Body: io.NopCloser(bytes.NewReader([]byte(text)))}, nil
	})
	m := connect(t, ways[0].settings("http://h"), echo)
	done := make(chan string)
	const n = 20
	for i := range n {
		go func() {
			want := strings.Repeat("x", i+1)
			r, err := m.Reply(context.Background(), loop.ModelRequest{History: []loop.Message{{Role: loop.User, Text: want}}}, func(string) {})
			if err != nil || r.Text != want {
				done <- r.Text + " instead of " + want
				return
			}
			done <- ""
		}()
	}
	for range n {
		if wrong := <-done; wrong != "" {
			t.Error(wrong)
		}
	}
}
