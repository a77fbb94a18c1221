package serve

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/loop"
)

// at is a step that answers at once.
func at(s fakes.Step) fakes.Step {
	s.Latency = fakes.Instantly()
	return s
}

func call(name, args string) fakes.StepCall { return fakes.StepCall{Name: name, Args: args} }

// serveSteps returns a server of one scenario, test/one.
func serveSteps(t *testing.T, steps ...fakes.Step) *Server {
	t.Helper()
	s, err := New([]Scenario{{"test/one", &fakes.Script{Model: steps}}}, Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// post sends a request to a server and returns the response.
func post(s *Server, path, body string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest("POST", "http://localhost"+path, strings.NewReader(body)))
	return w
}

// said sends a server a history and returns its answer.
func said(t *testing.T, s *Server, c client, stream bool, history ...loop.Message) answer {
	t.Helper()
	w := post(s, c.path, c.json(history, stream))
	kind := map[bool]string{false: "application/json", true: "text/event-stream; charset=utf-8"}[stream]
	if got := w.Header().Get("Content-Type"); w.Code != 200 || got != kind {
		t.Fatalf("%d %s: %s", w.Code, got, w.Body)
	}
	if stream {
		return c.events(t, parseEvents(t, w.Body.String()))
	}
	return c.read(t, w.Body.Bytes())
}

// each runs a test for each API, streamed and not.
func each(t *testing.T, f func(t *testing.T, c client, stream bool)) {
	for name, c := range clients {
		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/stream=%v", name, stream), func(t *testing.T) { f(t, c, stream) })
		}
	}
}

var hi = loop.Message{Role: loop.User, Text: "Hi"}

func TestReplies(t *testing.T) {
	none := ""
	three := []loop.AskedCall{{ID: "call_1_1", Name: "read", Args: `{"path":"a"}`}, {ID: "call_1_2", Name: "read", Args: `{"path":"ü€😀"}`}, {ID: "call_1_3", Name: "list", Args: `{}`}}
	tests := []struct {
		name string
		step fakes.Step
		want answer
	}{
		{"a text", fakes.Step{Text: "Good \"morning\".\nÜber 😀", TokensIn: 12, TokensOut: 7},
			answer{Text: "Good \"morning\".\nÜber 😀", Finish: loop.FinishStop, In: 12, Out: 7}},
		{"one call", fakes.Step{Calls: []fakes.StepCall{call("read", `{"path":"a"}`)}}, answer{Calls: three[:1], Finish: loop.FinishToolCalls}},
		{"three parallel calls", fakes.Step{Calls: []fakes.StepCall{call("read", `{"path":"a"}`), call("read", `{"path":"ü€😀"}`), call("list", `{}`)}},
			answer{Calls: three, Finish: loop.FinishToolCalls}},
		{"a text beside calls", fakes.Step{Text: "I look.", Calls: []fakes.StepCall{call("read", `{"path":"a"}`), call("read", `{"path":"ü€😀"}`)}},
			answer{Text: "I look.", Calls: three[:2], Finish: loop.FinishToolCalls}},
		{"a text cut off", fakes.Step{Text: "I w", Finish: loop.FinishLength}, answer{Text: "I w", Finish: loop.FinishLength}},
		{"in one piece", fakes.Step{Text: "abc", Chunks: 1}, answer{Text: "abc", Finish: loop.FinishStop}},
		{"in more pieces than letters", fakes.Step{Text: "abc", Chunks: 7}, answer{Text: "abc", Finish: loop.FinishStop}},
		{"calls in many pieces", fakes.Step{Calls: []fakes.StepCall{call("read", `{"path":"a"}`), call("read", `{"path":"ü€😀"}`)}, Chunks: 30},
			answer{Calls: three[:2], Finish: loop.FinishToolCalls}},
		{"no JSON", fakes.Step{Calls: []fakes.StepCall{call("read", `{"path":`)}}, answer{Calls: []loop.AskedCall{{ID: "call_1_1", Name: "read", Args: `{"path":`}}, Finish: loop.FinishToolCalls}},
		{"no id", fakes.Step{Calls: []fakes.StepCall{{Name: "read", ID: &none, Args: `{"a":1}`}}}, answer{Calls: []loop.AskedCall{{Name: "read", Args: `{"a":1}`}}, Finish: loop.FinishToolCalls}},
		{"mixed calls", fakes.Step{Wire: fakes.WireShuffledIndex, Calls: []fakes.StepCall{call("read", `{"path":"a"}`), call("read", `{"path":"ü€😀"}`), call("list", `{}`)}},
			answer{Calls: three, Finish: loop.FinishToolCalls}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.step.TokensIn == 0 {
				tt.step.TokensIn, tt.step.TokensOut, tt.want.In, tt.want.Out = 5, 6, 5, 6
			}
			each(t, func(t *testing.T, c client, stream bool) {
				got, want := said(t, serveSteps(t, at(tt.step)), c, stream, hi), tt.want
				want.Ended = stream
				if got.Finish == "" && want.Finish == loop.FinishToolCalls {
					want.Finish = "" // Responses do not have it
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

// Usage that the script does not have is estimated: a token for four characters of
// the request, and for four of the reply.
func TestEstimatedUsage(t *testing.T) {
	step := at(fakes.Step{Text: "Zoë ☀", Calls: []fakes.StepCall{call("read", `{"a":1}`)}}) // 5 + 4 + 7 characters
	each(t, func(t *testing.T, c client, stream bool) {
		in := int64(len(c.json([]loop.Message{hi}, stream))+3) / 4 // it is ASCII
		if got := said(t, serveSteps(t, step), c, stream, hi); got.In != in || got.Out != 4 {
			t.Errorf("%d in, %d out, want %d, 4", got.In, got.Out, in)
		}
		s := serveSteps(t, step)
		s.exact = true
		if got := said(t, s, c, stream, hi); got.In != 0 || got.Out != 0 {
			t.Errorf("exactly: %d in, %d out", got.In, got.Out)
		}
	})
}

// Each answer has an id, and a 429 says that nothing is left.
func TestResponseHeaders(t *testing.T) {
	step := at(fakes.Step{Text: "a", Failures: []fakes.ModelFailure{{Status: 429, RetryAfter: 2 * sec, Latency: fakes.Instantly()}}})
	for name, want := range map[string][4]string{
		"chat":      {"X-Request-Id", "X-Ratelimit-Limit-Requests", "X-Ratelimit-Remaining-Tokens", "X-Ratelimit-Reset-Requests"},
		"responses": {"X-Request-Id", "X-Ratelimit-Limit-Requests", "X-Ratelimit-Remaining-Tokens", "X-Ratelimit-Reset-Requests"},
		"messages":  {"Request-Id", "Anthropic-Ratelimit-Requests-Limit", "Anthropic-Ratelimit-Tokens-Remaining", "Anthropic-Ratelimit-Requests-Reset"},
	} {
		c := clients[name]
		s := serveSteps(t, step)
		body := c.json([]loop.Message{hi}, false)
		h := post(s, c.path, body).Header()
		if h.Get(want[0]) != "req_1" || h.Get(want[1]) == "" || h.Get(want[2]) != "0" || h.Get(want[3]) == "" {
			t.Errorf("%s: a 429 has %v", name, h)
		}
		if name == "chat" && h.Get(want[3]) != "2s" {
			t.Errorf("the limit is reset in %s", h.Get(want[3]))
		}
		if h := post(s, c.path, body).Header(); h.Get(want[0]) != "req_2" || h.Get(want[1]) != "" {
			t.Errorf("%s: a reply has %v", name, h)
		}
		if h := post(s, c.path, "{").Header(); h.Get(want[0]) != "req_3" {
			t.Errorf("%s: a refusal has %v", name, h)
		}
		if got := post(s, c.path, "{").Body.String(); name == "messages" && !strings.HasSuffix(got, `,"request_id":"req_4"}`) {
			t.Errorf("a refusal says %s", got)
		}
	}
}

// The bytes on the wire, from the vendors' references. HEAD and the like are short
// for the beginning that all chunks of a stream share.
func TestWireText(t *testing.T) {
	chunk := func(delta, finish, usage string) string {
		return `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":946684800,"model":"any","choices":[{"index":0,"delta":{` + delta + `},"logprobs":null,"finish_reason":` + finish + `}]` + usage + "}\n\n"
	}
	named := func(name, fields string) string {
		return "event: " + name + "\ndata: {\"type\":\"" + name + `"` + fields + "}\n\n"
	}
	calls := []fakes.StepCall{call("f", `{"a":1}`), call("g", `{"b":2}`)}
	const rest = `"parallel_tool_calls":true,"previous_response_id":null,"reasoning":{"effort":null,"summary":null},"store":false,"temperature":1,"text":{"format":{"type":"text"}},"tool_choice":"auto","tools":[],"top_p":1,"truncation":"disabled",`
	response := func(status, output, usage string) string {
		return `,"response":{"id":"resp_1","object":"response","created_at":946684800,"status":"` + status + `","error":null,"incomplete_details":null,"instructions":null,"max_output_tokens":null,"model":"any","output":[` + output + `],` + rest + `"usage":` + usage + `,"user":null,"metadata":{}}`
	}
	const item = `{"id":"fc_1_0_call_1_1","type":"function_call","status":"completed","call_id":"call_1_1","name":"f","arguments":"{\"a\":1}"}`
	tests := []struct {
		name, path, body string
		step             fakes.Step
		want             string
	}{
		{"a chat's text", "/v1/chat/completions", `{"model":"any","messages":[],"stream":true,"stream_options":{"include_usage":true}}`,
			fakes.Step{Text: "abc", TokensIn: 9, TokensOut: 3},
			chunk(`"role":"assistant","content":"","refusal":null`, "null", `,"usage":null`) +
				chunk(`"content":"a"`, "null", `,"usage":null`) + chunk(`"content":"b"`, "null", `,"usage":null`) + chunk(`"content":"c"`, "null", `,"usage":null`) +
				chunk(``, `"stop"`, `,"usage":null`) +
				`data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":946684800,"model":"any","choices":[],"usage":{"prompt_tokens":9,"completion_tokens":3,"total_tokens":12}}` + "\n\n" +
				"data: [DONE]\n\n"},
		// 7 characters in 3 pieces: 2, 2 and 3.
		{"a chat's calls", "/v1/chat/completions", `{"model":"any","messages":[],"stream":true}`, fakes.Step{Calls: calls},
			chunk(`"role":"assistant","content":null,"refusal":null`, "null", "") +
				chunk(`"tool_calls":[{"index":0,"id":"call_1_1","type":"function","function":{"name":"f","arguments":""}}]`, "null", "") +
				chunk(`"tool_calls":[{"index":0,"function":{"arguments":"{\""}}]`, "null", "") +
				chunk(`"tool_calls":[{"index":0,"function":{"arguments":"a\""}}]`, "null", "") +
				chunk(`"tool_calls":[{"index":0,"function":{"arguments":":1}"}}]`, "null", "") +
				chunk(`"tool_calls":[{"index":1,"id":"call_1_2","type":"function","function":{"name":"g","arguments":""}}]`, "null", "") +
				chunk(`"tool_calls":[{"index":1,"function":{"arguments":"{\""}}]`, "null", "") +
				chunk(`"tool_calls":[{"index":1,"function":{"arguments":"b\""}}]`, "null", "") +
				chunk(`"tool_calls":[{"index":1,"function":{"arguments":":2}"}}]`, "null", "") +
				chunk(``, `"tool_calls"`, "") + "data: [DONE]\n\n"},
		{"a chat", "/v1/chat/completions", `{"model":"any","messages":[]}`, fakes.Step{Calls: calls[:1], TokensIn: 9, TokensOut: 3},
			`{"id":"chatcmpl-1","object":"chat.completion","created":946684800,"model":"any","choices":[{"index":0,"message":{"role":"assistant","content":null,"refusal":null,` +
				`"tool_calls":[{"id":"call_1_1","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}}]},"logprobs":null,"finish_reason":"tool_calls"}],` +
				`"usage":{"prompt_tokens":9,"completion_tokens":3,"total_tokens":12}}`},
		{"a message's stream", "/v1/messages", `{"model":"any","max_tokens":9,"messages":[],"stream":true}`, fakes.Step{Text: "ab", Calls: calls[:1], TokensIn: 9, TokensOut: 3},
			named("message_start", `,"message":{"id":"msg_1","type":"message","role":"assistant","model":"any","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":9,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":1}}`) +
				named("content_block_start", `,"index":0,"content_block":{"type":"text","text":""}`) +
				named("content_block_delta", `,"index":0,"delta":{"type":"text_delta","text":"a"}`) +
				named("content_block_delta", `,"index":0,"delta":{"type":"text_delta","text":"b"}`) +
				named("content_block_stop", `,"index":0`) +
				named("content_block_start", `,"index":1,"content_block":{"type":"tool_use","id":"call_1_1","name":"f","input":{}}`) +
				named("content_block_delta", `,"index":1,"delta":{"type":"input_json_delta","partial_json":"{\""}`) +
				named("content_block_delta", `,"index":1,"delta":{"type":"input_json_delta","partial_json":"a\""}`) +
				named("content_block_delta", `,"index":1,"delta":{"type":"input_json_delta","partial_json":":1}"}`) +
				named("content_block_stop", `,"index":1`) +
				named("message_delta", `,"delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":3}`) +
				named("message_stop", ``)},
		{"a message", "/v1/messages", `{"model":"any","max_tokens":9,"messages":[]}`, fakes.Step{Text: "ab", Calls: calls[:1], TokensIn: 9, TokensOut: 3},
			`{"id":"msg_1","type":"message","role":"assistant","model":"any","content":[{"type":"text","text":"ab"},{"type":"tool_use","id":"call_1_1","name":"f","input":{"a":1}}],` +
				`"stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":9,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":3}}`},
		{"a response's stream", "/v1/responses", `{"model":"any","input":"Hi","stream":true}`, fakes.Step{Calls: calls[:1], TokensIn: 9, TokensOut: 3},
			named("response.created", `,"sequence_number":0`+response("in_progress", "", "null")) +
				named("response.in_progress", `,"sequence_number":1`+response("in_progress", "", "null")) +
				named("response.output_item.added", `,"sequence_number":2,"output_index":0,"item":{"id":"fc_1_0_call_1_1","type":"function_call","status":"in_progress","call_id":"call_1_1","name":"f","arguments":""}`) +
				named("response.function_call_arguments.delta", `,"sequence_number":3,"item_id":"fc_1_0_call_1_1","output_index":0,"delta":"{\""`) +
				named("response.function_call_arguments.delta", `,"sequence_number":4,"item_id":"fc_1_0_call_1_1","output_index":0,"delta":"a\""`) +
				named("response.function_call_arguments.delta", `,"sequence_number":5,"item_id":"fc_1_0_call_1_1","output_index":0,"delta":":1}"`) +
				named("response.function_call_arguments.done", `,"sequence_number":6,"item_id":"fc_1_0_call_1_1","output_index":0,"name":"f","arguments":"{\"a\":1}"`) +
				named("response.output_item.done", `,"sequence_number":7,"output_index":0,"item":`+item) +
				named("response.completed", `,"sequence_number":8`+response("completed", item, `{"input_tokens":9,"input_tokens_details":{"cached_tokens":0},"output_tokens":3,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":12}`))},
		{"a response", "/v1/responses", `{"model":"any","input":"Hi"}`, fakes.Step{Text: "ab", TokensIn: 9, TokensOut: 3},
			strings.TrimPrefix(response("completed", `{"id":"msg_1","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","text":"ab","annotations":[],"logprobs":[]}]}`,
				`{"input_tokens":9,"input_tokens_details":{"cached_tokens":0},"output_tokens":3,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":12}`), `,"response":`)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // which begins on 1 January 2000
				if diff := cmp.Diff(tt.want, post(serveSteps(t, at(tt.step)), tt.path, offering(tt.body)).Body.String()); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

// The text of a response's stream comes as an item with one part.
func TestResponseTextEvents(t *testing.T) {
	w := post(serveSteps(t, at(fakes.Step{Text: "abc"})), "/v1/responses", `{"model":"any","input":"Hi","stream":true}`)
	var names []string
	for _, e := range parseEvents(t, w.Body.String()) {
		names = append(names, strings.TrimPrefix(e.name, "response."))
	}
	want := "created in_progress output_item.added content_part.added output_text.delta output_text.delta output_text.delta output_text.done content_part.done output_item.done completed"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// offering adds tools to the body of a request.
func offering(body string) string {
	return strings.TrimSuffix(body, "}") + `,"tools":[{"type":"function","name":"f"},{"type":"function","name":"g"}]}`
}

// All calls of a garbled stream have the same index, so a client that goes by the
// index sees one call.
func TestSameIndex(t *testing.T) {
	s := serveSteps(t, at(fakes.Step{Wire: fakes.WireSameIndex, Calls: []fakes.StepCall{call("f", `{"a":1}`), call("g", `{"b":2}`)}}))
	got := said(t, s, clients["chat"], true, hi)
	want := []loop.AskedCall{{ID: "call_1_1call_1_2", Name: "fg", Args: `{"a":1}{"b":2}`}}
	if diff := cmp.Diff(want, got.Calls); diff != "" {
		t.Error(diff)
	}
	// A reply that is not streamed has no index.
	if got := said(t, s, clients["chat"], false, hi); len(got.Calls) != 2 {
		t.Errorf("got %+v", got)
	}
	for _, path := range []string{"/v1/messages", "/v1/responses"} {
		body := post(s, path, clients[strings.TrimPrefix(path, "/v1/")].json([]loop.Message{hi}, true)).Body.String()
		if strings.Contains(body, `index":1`) {
			t.Errorf("%s has a second index:\n%s", path, body)
		}
	}
}

// Mixed calls come piece by piece, the last one first.
func TestShuffledIndex(t *testing.T) {
	s := serveSteps(t, at(fakes.Step{Wire: fakes.WireShuffledIndex, Calls: []fakes.StepCall{call("f", `{"a":1}`), call("g", `{"b":2}`)}}))
	w := post(s, "/v1/chat/completions", clients["chat"].json([]loop.Message{hi}, true))
	var order []string
	for _, e := range parseEvents(t, w.Body.String()) {
		if _, after, ok := strings.Cut(e.data, `"tool_calls":[{"index":`); ok {
			order = append(order, after[:1])
		}
	}
	if got := strings.Join(order, ""); got != "10101010" { // a beginning and three pieces of each
		t.Errorf("the calls come in the order %s", got)
	}
}
