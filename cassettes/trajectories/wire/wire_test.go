package wire

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// sketch writes conversations and what was left out, one message a line.
func sketch(conversations []*Conversation, left map[Reason]int) string {
	var b strings.Builder
	for _, c := range conversations {
		fmt.Fprintf(&b, "conversation %q %q\n", c.Model, c.System)
		for _, m := range c.Messages {
			switch m.Role {
			case User:
				fmt.Fprintf(&b, "  user %q", m.Text)
			case Assistant:
				fmt.Fprintf(&b, "  assistant %q", m.Text)
			case Tool:
				fmt.Fprintf(&b, "  result %q %q", m.ID, m.Text)
			}
			for _, call := range m.Calls {
				fmt.Fprintf(&b, " %s:%s(%s)", call.ID, call.Name, call.Args)
			}
			if m.Code != "" {
				b.WriteString(" failed")
			}
			if m.TokensIn+m.TokensOut > 0 {
				fmt.Fprintf(&b, " %d+%d", m.TokensIn, m.TokensOut)
			}
			b.WriteByte('\n')
		}
	}
	for _, why := range Reasons() {
		if n := left[why]; n > 0 {
			fmt.Fprintf(&b, "left out: %s %d\n", why, n)
		}
	}
	return b.String()
}

func check(t *testing.T, want string, exchanges ...Exchange) {
	t.Helper()
	if diff := cmp.Diff(strings.TrimLeft(want, "\n"), sketch(Read(exchanges, nil))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func post(path, request, response string) Exchange {
	return Exchange{Method: "POST", URL: "https://api.example.com" + path, Status: 200, Request: []byte(request), Response: []byte(response)}
}

// sse makes a stream of server-sent events.
func sse(data ...string) string { return "data: " + strings.Join(data, "\n\ndata: ") + "\n\n" }

const (
	chatPath = "/v1/chat/completions"
	askHi    = `{"model":"m","messages":[{"role":"user","content":"hi"}]}`
)

func delta(inner string) string {
	return `{"id":"c","model":"m-1","choices":[{"index":0,"delta":{` + inner + `}}]}`
}

func calls(inner string) string { return delta(`"tool_calls":[` + inner + `]`) }

const stop = `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`

func TestChatStreams(t *testing.T) {
	for name, c := range map[string]struct{ body, want string }{
		"text in pieces, usage in the last chunk": {
			sse(delta(`"role":"assistant","content":""`), delta(`"content":"he"`), delta(`"content":"llo"`), stop,
				`{"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":2}}`, "[DONE]"),
			`  assistant "hello" 7+2` + "\n"},
		"no [DONE], no blank lines": {
			"data: " + delta(`"content":"a"`) + "\ndata: " + delta(`"content":"b"`) + "\ndata: " + stop,
			`  assistant "ab"` + "\n"},
		"comments, ids and carriage returns": {
			": hello\r\n\r\nid: 1\r\nretry: 5\r\ndata: " + delta(`"content":"a"`) + "\r\n\r\n: ping\r\n\r\ndata:" + stop + "\r\n\r\n",
			`  assistant "a"` + "\n"},
		"one event over two lines": {
			"data: {\"choices\":[{\"index\":0,\ndata: \"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}]}\n\n",
			`  assistant "a"` + "\n"},
		"two calls in turns, arguments in pieces, indexes with a gap and backwards": {
			sse(calls(`{"index":7,"id":"b","function":{"name":"g","arguments":""}}`),
				calls(`{"index":2,"id":"a","function":{"name":"f","arguments":"{\"x\""}}`),
				calls(`{"index":7,"function":{"arguments":"{}"}},{"index":2,"function":{"arguments":":1}"}}`), stop),
			`  assistant "" a:f({"x":1}) b:g({})` + "\n"},
		"every call has index 0, and an id of its own": {
			sse(calls(`{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}`),
				calls(`{"index":0,"id":"b","function":{"name":"f","arguments":"{\"x\":2}"}}`), stop),
			`  assistant "" a:f({}) b:f({"x":2})` + "\n"},
		"no index; the pieces follow their call": {
			sse(calls(`{"id":"a","function":{"name":"f","arguments":"{"}}`), calls(`{"function":{"arguments":"}"}}`), stop),
			`  assistant "" a:f({})` + "\n"},
		"an empty id is none": {
			sse(calls(`{"index":0,"id":"a","function":{"name":"f","arguments":"{"}}`), calls(`{"index":0,"id":"","function":{"arguments":"}"}}`), stop),
			`  assistant "" a:f({})` + "\n"},
		"the form before tool_calls": {
			sse(delta(`"function_call":{"name":"f","arguments":"{"}`), delta(`"function_call":{"arguments":"}"}`), stop),
			`  assistant "" :f({})` + "\n"},
		"usage of groq": {
			sse(delta(`"content":"a"`), `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"x_groq":{"usage":{"prompt_tokens":3,"completion_tokens":1}}}`),
			`  assistant "a" 3+1` + "\n"},
		"the second choice does not count": {
			sse(delta(`"content":"a"`), `{"choices":[{"index":1,"delta":{"content":"b"}}]}`, stop),
			`  assistant "a"` + "\n"},
		"it breaks off": { // the agent has seen what arrived
			"data: " + delta(`"content":"a"`) + "\n\ndata: {\"choices\":[{\"del",
			`  assistant "a"` + "\n"},
		"an answer of nothing": {sse(stop), `  assistant ""` + "\n"},
	} {
		t.Run(name, func(t *testing.T) {
			model := "m-1"
			if !strings.Contains(c.body, "m-1") {
				model = "m"
			}
			check(t, fmt.Sprintf("conversation %q \"\"\n  user \"hi\"\n", model)+c.want, post(chatPath, askHi, c.body))
		})
	}
}

func TestNoAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		body string
		want Reason
	}{
		"an error event within the stream":  {sse(delta(`"content":"a"`), `{"error":{"message":"overloaded"}}`), ErrorAnswer},
		"an error in the choice":            {sse(`{"choices":[{"index":0,"delta":{},"error":{"code":502}}]}`), ErrorAnswer},
		"an empty body":                     {"", NoAnswer},
		"only [DONE]":                       {"data: [DONE]\n\n", NoAnswer},
		"a stream that says nothing":        {sse(`{"choices":[]}`), NoAnswer},
		"a page of HTML":                    {"<html>busy</html>", Unreadable},
		"JSON that breaks off":              {`{"choices":[{"index":0,"mess`, Unreadable},
		"choices of the wrong type":         {`{"choices":"none"}`, Unreadable},
		"compressed with something unknown": {"\x8b\x03\x80\x01\xff\xfe", Unreadable},
	} {
		t.Run(name, func(t *testing.T) {
			check(t, fmt.Sprintf("left out: %s 1\n", c.want), post(chatPath, askHi, c.body))
		})
	}
}

func TestChatHistory(t *testing.T) {
	check(t, `
conversation "m" "be kind\nand brief"
  user "hi\n[image_url]"
  result "z" "too early"
  assistant "" a:f({}) :g({"y":1})
  result "a" "one\ntwo"
  assistant "done" 5+1
`, post("/openai/deployments/x/chat/completions?api-version=1", `{"messages":[
	{"role":"system","content":"be kind"},
	{"role":"user","content":[{"type":"text","text":"hi"},{"type":"image_url","image_url":{"url":"u"}}]},
	{"role":"tool","tool_call_id":"z","content":"too early"},
	{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}},{"function":{"name":"g","arguments":{"y": 1}}}]},
	{"role":"tool","tool_call_id":"a","content":[{"type":"text","text":"one"},{"type":"text","text":"two"}]},
	{"role":"developer","content":"and brief"}]}`,
		`{"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"done"},"finish_reason":"stop"}],"usage":{"prompt_tokens":5,"completion_tokens":1}}`))
}

func TestResponses(t *testing.T) {
	const output = `"output":[{"type":"reasoning","summary":[]},{"type":"web_search_call","id":"w","action":{"q":"x"}},
		{"type":"message","role":"assistant","content":[{"type":"output_text","text":"let me see"}]},
		{"type":"function_call","call_id":"a","name":"f","arguments":"{\"x\":1}"},
		{"type":"custom_tool_call","call_id":"b","name":"g","input":"ls"},
		{"type":"shell_call","call_id":"c","action":{"commands":["ls"]}}],
		"usage":{"input_tokens":9,"output_tokens":4}`
	said := `  assistant "let me see" a:f({"x":1}) b:g({"input":"ls"}) c:shell({"commands":["ls"]}) 9+4` + "\n"
	ask := `{"model":"m","instructions":"be kind","input":"hi"}`
	head := "conversation \"m-1\" \"be kind\"\n  user \"hi\"\n"
	whole := strings.ReplaceAll(`{"id":"r1","object":"response","model":"m-1","status":"completed",`+output+`}`, "\n", "")
	t.Run("whole", func(t *testing.T) { check(t, head+said, post("/v1/responses", ask, whole)) })
	t.Run("streamed", func(t *testing.T) {
		check(t, head+said, post("/v1/responses", ask, sse(`{"type":"response.created","response":{"id":"r1","model":"m-1","status":"in_progress","output":[]}}`,
			`{"type":"response.output_text.delta","output_index":0,"delta":"let me see"}`, `{"type":"response.completed","response":`+whole+`}`)))
	})
	t.Run("cut", func(t *testing.T) { // the items that were complete
		check(t, head+"  assistant \"\" a:f({})\n", post("/v1/responses", ask, sse(`{"type":"response.created","response":{"id":"r1","model":"m-1","status":"in_progress","output":[]}}`,
			`{"type":"response.output_item.done","output_index":1,"item":{"type":"function_call","call_id":"a","name":"f","arguments":"{}"}}`)))
	})
	t.Run("failed", func(t *testing.T) {
		check(t, "left out: error answer 1\n", post("/v1/responses", ask, sse(`{"type":"response.failed","response":{"id":"r1","status":"failed","error":{"code":"server_error"}}}`)))
	})
	t.Run("previous_response_id, and a branch", func(t *testing.T) {
		second := post("/v1/responses", `{"previous_response_id":"r1","input":[{"type":"function_call_output","call_id":"a","output":"one"},
			{"type":"function_call_output","call_id":"b","output":[{"type":"input_text","text":"two"}]},{"type":"shell_call_output","call_id":"c","output":"three"}]}`,
			`{"id":"r2","object":"response","status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"done"}]}]}`)
		other := post("/v1/responses", `{"previous_response_id":"r1","input":"never mind"}`,
			`{"id":"r3","object":"response","status":"completed","output":[{"type":"message","content":[{"type":"refusal","refusal":"fine"}]}]}`)
		check(t, head+said+"  result \"a\" \"one\"\n  result \"b\" \"two\"\n  result \"c\" \"three\"\n  assistant \"done\"\n"+
			head+said+"  user \"never mind\"\n  assistant \"fine\"\n",
			post("/v1/responses", ask, whole), second, other)
	})
	t.Run("a stored conversation", func(t *testing.T) {
		answer := func(text string) string {
			return `{"object":"response","status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"` + text + `"}]}]}`
		}
		check(t, "conversation \"\" \"\"\n  user \"a\"\n  assistant \"1\"\n  user \"b\"\n  assistant \"2\"\nleft out: stored objects of the API 1\n",
			post("/v1/conversations", `{}`, `{"id":"conv"}`),
			post("/v1/responses", `{"conversation":"conv","input":"a"}`, answer("1")),
			post("/v1/responses", `{"conversation":{"id":"conv"},"input":"b"}`, answer("2")))
	})
	t.Run("an answer that is fetched later", func(t *testing.T) {
		get := func(body string) Exchange {
			return Exchange{Method: "GET", URL: "https://api.example.com/v1/responses/r1", Status: 200, Response: []byte(body)}
		}
		queued := `{"id":"r1","object":"response","status":"queued","output":[]}`
		check(t, head+said+"left out: an answer fetched again 2\n",
			post("/v1/responses", ask, queued), get(queued), get(whole), get(whole))
	})
}

func TestAnthropic(t *testing.T) {
	ask := `{"model":"m","system":[{"type":"text","text":"be kind"}],"messages":[
		{"role":"user","content":"hi"},
		{"role":"assistant","content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"wait"},{"type":"tool_use","id":"a","name":"f","input":{"x": 1}},{"type":"tool_use","id":"b","name":"g","input":{}}]},
		{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"one"},{"type":"image","source":{}}]},
			{"type":"tool_result","tool_use_id":"b","is_error":true,"content":"no"},{"type":"text","text":"go on"},{"type":"text","text":"please"}]}]}`
	head := `conversation "m-1" "be kind"
  user "hi"
  assistant "wait" a:f({"x":1}) b:g({})
  result "a" "one\n[image]"
  result "b" "no" failed
  user "go on\nplease"
`
	t.Run("whole", func(t *testing.T) {
		// Read: 3 fresh, 10 from the cache, 20 into it.
		check(t, head+"  assistant \"now\" c:f({\"x\":2}) 33+6\n", post("/v1/messages", ask,
			`{"id":"x","type":"message","role":"assistant","model":"m-1","content":[{"type":"text","text":"now"},{"type":"server_tool_use","id":"s","name":"web_search","input":{}},
			{"type":"tool_use","id":"c","name":"f","input":{"x":2}}],"stop_reason":"tool_use","usage":{"input_tokens":3,"cache_read_input_tokens":10,"cache_creation_input_tokens":20,"output_tokens":6}}`))
	})
	t.Run("streamed", func(t *testing.T) {
		check(t, head+"  assistant \"now\" c:f({\"x\":2}) d:g({}) 23+9\n", post("/v1/messages", ask, strings.ReplaceAll(sse(
			`{"type":"message_start","message":{"id":"x","type":"message","model":"m-1","content":[],"usage":{"input_tokens":3,"output_tokens":1}}}`,
			`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`, `{"type":"ping"}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"no"}}`, `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"w"}}`,
			`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"c","name":"f","input":{}}}`,
			`{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"d","name":"g","input":{}}}`,
			`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"x\""}}`,
			`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":":2}"}}`,
			`{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"cache_creation_input_tokens":20,"output_tokens":9}}`, `{"type":"message_stop"}`),
			"data: ", "event: any\ndata: ")))
	})
	t.Run("an error event", func(t *testing.T) {
		check(t, "left out: error answer 1\n", post("/v1/messages", ask, sse(`{"type":"message_start","message":{"id":"x"}}`, `{"type":"error","error":{"type":"overloaded_error"}}`)))
	})
}

func TestGemini(t *testing.T) {
	ask := `{"systemInstruction":{"parts":[{"text":"be kind"}]},"contents":[
		{"role":"user","parts":[{"text":"hi"},{"inlineData":{"mimeType":"image/png","data":""}}]},
		{"role":"model","parts":[{"text":"hm","thought":true},{"functionCall":{"name":"f","args":{"x":1}}},{"functionCall":{"id":"b","name":"g"}}]},
		{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"y":2}}},{"functionResponse":{"id":"b","name":"g","response":{"error":"no"}}}]}]}`
	head := `conversation "gemini-x" "be kind"
  user "hi\n[inlineData]"
  assistant "" :f({"x":1}) b:g()
  result "" "{\"y\":2}"
  result "b" "{\"error\":\"no\"}" failed
`
	part := func(inner, rest string) string {
		return `{"candidates":[{"content":{"role":"model","parts":[` + inner + `]}` + rest + `}],"usageMetadata":{"promptTokenCount":8,"candidatesTokenCount":2,"thoughtsTokenCount":5}}`
	}
	all := []string{part(`{"text":"a "}`, ""), part(`{"text":"hm","thought":true},{"text":"b"}`, ""), part(`{"functionCall":{"name":"f","args":{}}}`, `,"finishReason":"STOP"`)}
	want := head + "  assistant \"a b\" :f({}) 8+7\n" // 2 written, 5 thought
	path := "/v1beta/models/gemini-x:streamGenerateContent"
	t.Run("server-sent events", func(t *testing.T) { check(t, want, post(path+"?alt=sse", ask, sse(all...))) })
	t.Run("an array", func(t *testing.T) { check(t, want, post(path, ask, "["+strings.Join(all, ",\r\n")+"]\n")) })
	t.Run("blocked", func(t *testing.T) {
		check(t, head+"  assistant \"\"\n", post(path, ask, `{"promptFeedback":{"blockReason":"SAFETY"}}`))
	})
	t.Run("an error in the array", func(t *testing.T) {
		check(t, "left out: error answer 1\n", post(path, ask, `[{"error":{"code":503}}]`))
	})
}

func TestChains(t *testing.T) {
	said := func(text string) string {
		return fmt.Sprintf(`{"choices":[{"index":0,"message":{"role":"assistant","content":%q},"finish_reason":"stop"}]}`, text)
	}
	ask := func(messages string) string { return `{"model":"m","messages":[` + messages + `]}` }
	const (
		u1   = `{"role":"user","content":"one"}`
		u2   = `,{"role":"user","content":"two"}`
		a1   = `,{"role":"assistant","content":" 1\n"}`
		call = `{"choices":[{"index":0,"message":{"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{\"x\": 1, \"y\": 2}"}}]},"finish_reason":"tool_calls"}]}`
	)
	failed := func(x Exchange, status int) Exchange {
		x.Status, x.Response = status, []byte(`{"error":{"message":"no"}}`)
		return x
	}
	first, second := post(chatPath, ask(u1), said("1")), post(chatPath, ask(u1+a1+u2), said("2"))
	for name, c := range map[string]struct {
		exchanges []Exchange
		want      string
	}{
		"a history, with other white space": {[]Exchange{first, second},
			"conversation \"m\" \"\"\n  user \"one\"\n  assistant \"1\"\n  user \"two\"\n  assistant \"2\"\n"},
		"two at once": {[]Exchange{first, post(chatPath, ask(`{"role":"user","content":"other"}`), said("x")), second},
			"conversation \"m\" \"\"\n  user \"one\"\n  assistant \"1\"\n  user \"two\"\n  assistant \"2\"\nconversation \"m\" \"\"\n  user \"other\"\n  assistant \"x\"\n"},
		"a failed try is no turn": {[]Exchange{failed(first, 429), failed(first, 500), first, failed(second, 429), second},
			"conversation \"m\" \"\"\n  user \"one\"\n  assistant \"1\"\n  user \"two\"\n  assistant \"2\"\nleft out: error answer 3\n"},
		"it ends with a failure": {[]Exchange{first, failed(second, 500)},
			"conversation \"m\" \"\"\n  user \"one\"\n  assistant \"1\"\n  user \"two\"\nleft out: error answer 1\n"},
		"the same twice": {[]Exchange{first, first},
			"conversation \"m\" \"\"\n  user \"one\"\n  assistant \"1\"\nconversation \"m\" \"\"\n  user \"one\"\n  assistant \"1\"\n"},
		"the history was changed": {[]Exchange{first, post(chatPath, ask(u1+`,{"role":"assistant","content":"9"}`+u2), said("2"))},
			"conversation \"m\" \"\"\n  user \"one\"\n  assistant \"1\"\nconversation \"m\" \"\"\n  user \"one\"\n  assistant \"9\"\n  user \"two\"\n  assistant \"2\"\n"},
		"a result below the text": {[]Exchange{first, post(chatPath, ask(u1+`,{"role":"assistant","content":"1\nObservation: 7"}`+u2), said("2"))},
			"conversation \"m\" \"\"\n  user \"one\"\n  assistant \"1\"\n  user \"two\"\n  assistant \"2\"\n"},
		"arguments written anew, and another id": {[]Exchange{post(chatPath, ask(u1), call), post(chatPath,
			ask(u1+`,{"role":"assistant","tool_calls":[{"id":"z","function":{"name":"f","arguments":"{\"y\":2,\"x\":1}"}}]},{"role":"tool","tool_call_id":"z","content":"7"}`), said("2"))},
			"conversation \"m\" \"\"\n  user \"one\"\n  assistant \"\" z:f({\"x\": 1, \"y\": 2})\n  result \"z\" \"7\"\n  assistant \"2\"\n"},
		"other arguments, the same id": {[]Exchange{post(chatPath, ask(u1), call), post(chatPath,
			ask(u1+`,{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"f","arguments":"x"}}]},{"role":"tool","tool_call_id":"a","content":"7"}`), said("2"))},
			"conversation \"m\" \"\"\n  user \"one\"\n  assistant \"\" a:f({\"x\": 1, \"y\": 2})\n  result \"a\" \"7\"\n  assistant \"2\"\n"},
		"answers alone": {[]Exchange{{Response: []byte(said("1"))}, {Response: []byte(said("1"))}},
			"conversation \"\" \"\"\n  user \"\"\n  assistant \"1\"\nconversation \"\" \"\"\n  user \"\"\n  assistant \"1\"\n"},
	} {
		t.Run(name, func(t *testing.T) { check(t, c.want, c.exchanges...) })
	}
}

// Branches are copies, so their number is bounded: 1,001 messages, and then branches
// of as many messages and two more each.
func TestTooMany(t *testing.T) {
	var input strings.Builder
	for range 1000 {
		input.WriteString(`{"role":"user","content":"x"},`)
	}
	answer := func(id string) string {
		return `{"id":"` + id + `","object":"response","status":"completed","output":[]}`
	}
	all := []Exchange{post("/v1/responses", `{"input":[`+strings.TrimSuffix(input.String(), ",")+`]}`, answer("r"))}
	all = append(all, post("/v1/responses", `{"previous_response_id":"r","input":"go"}`, answer("s")))
	for range 2000 {
		all = append(all, post("/v1/responses", `{"previous_response_id":"r","input":"go"}`, answer("s")))
	}
	conversations, left := Read(all, nil)
	// 1,001 + 2 of the first, then 1,001 + 2 for each branch: 997 times 1,003 is
	// 999,991.
	if len(conversations) != 997 || left[TooMany] != 2001-997 {
		t.Errorf("%d conversations and %d left out, want 997 and 1004", len(conversations), left[TooMany])
	}
}

func TestReasons(t *testing.T) {
	for _, c := range []struct {
		method, url, request, response string
		want                           Reason
	}{
		{"POST", "/v1/embeddings", `{"input":"x"}`, `{"object":"list"}`, Embeddings},
		{"POST", "/models/e:batchEmbedContents", `{}`, `{}`, Embeddings},
		{"POST", "/custom", `{"input":"x","model":"e"}`, `{"object":"list","data":[{"embedding":[1]}]}`, Embeddings},
		{"POST", "/v1/images/generations", `{}`, `{}`, Images},
		{"POST", "/v1/audio/speech", `{}`, "\xff\xf3", Audio},
		{"GET", "/v1/models", ``, `{"data":[]}`, Models},
		{"GET", "/v1/models/gpt", ``, `{}`, Models},
		{"POST", "/v1/messages/count_tokens", `{"messages":[]}`, `{"input_tokens":3}`, Tokens},
		{"POST", "/models/g:countTokens", `{}`, `{}`, Tokens},
		{"POST", "/v1/messages/batches", `{}`, `{}`, Batch},
		{"GET", "/v1/batches/b", ``, `{}`, Batch},
		{"POST", "/v1/moderations", `{}`, `{}`, Moderation},
		{"POST", "/v1/completions", `{"prompt":"x"}`, `{"choices":[{"text":"y"}]}`, Completion},
		{"POST", "/custom", `{"prompt":"x"}`, `{"object":"text_completion","choices":[{"text":"y"}]}`, Completion},
		{"POST", "/v1/files", ``, `{}`, Stored},
		{"DELETE", "/v1/responses/r", ``, `{}`, Stored},
		{"POST", "/v1/responses/compact", `{"input":"a"}`, `{}`, Compaction},
		{"GET", "https://example.com/", ``, "<html>", NotLLM},
		{"POST", "/mcp", `{"jsonrpc":"2.0","method":"tools/list"}`, `data: {"jsonrpc":"2.0"}`, NotLLM},
		{"POST", "/login", `user=x`, `ok`, NotLLM},
		{"POST", "/v1/chat/completions", `{"messages":"none"}`, `{"choices":[]}`, Unreadable},
		{"POST", "/v1/chat/completions", `{"messages":[`, `{"choices":[]}`, Unreadable},
		{"", "", "", `{"error":{"message":"no"}}`, ErrorAnswer},
	} {
		check(t, fmt.Sprintf("left out: %s 1\n", c.want), Exchange{Method: c.method, URL: c.url, Status: 200, Request: []byte(c.request), Response: []byte(c.response)})
	}
}

// A server with paths of its own is recognised by the shape of its answers.
func TestByShape(t *testing.T) {
	check(t, "conversation \"m\" \"\"\n  user \"hi\"\n  assistant \"a\"\n",
		post("/proxy", askHi, `{"object":"chat.completion","choices":[{"index":0,"message":{"content":"a"}}]}`))
	check(t, "conversation \"m\" \"\"\n  user \"hi\"\n  assistant \"a\"\n",
		post("/proxy", askHi, `{"type":"message","content":[{"type":"text","text":"a"}],"stop_reason":"end_turn"}`))
}

func TestCompressedBodies(t *testing.T) {
	body := sse(delta(`"content":"a"`), stop)
	raw, _ := flate.NewWriter(nil, 9)
	for name, w := range map[string]interface {
		io.WriteCloser
		Reset(io.Writer)
	}{"gzip": gzip.NewWriter(nil), "zlib": zlib.NewWriter(nil), "deflate": raw} {
		var b bytes.Buffer
		w.Reset(&b)
		io.WriteString(w, body)
		w.Close()
		want := "conversation \"m-1\" \"\"\n  user \"hi\"\n  assistant \"a\"\n"
		t.Run(name, func(t *testing.T) { check(t, want, post(chatPath, askHi, b.String())) })
		t.Run(name+" that breaks off", func(t *testing.T) {
			check(t, "left out: unreadable body 1\n", post(chatPath, askHi, b.String()[:b.Len()/2]))
		})
	}
}

// A body of 64 MiB and a byte, which compresses to 65 KB, is refused.
func TestInflatedSize(t *testing.T) {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	chunk := bytes.Repeat([]byte{' '}, 1<<20)
	for range 64 {
		w.Write(chunk)
	}
	w.Write([]byte{' '})
	w.Close()
	check(t, "left out: unreadable body 1\n", post(chatPath, askHi, b.String()))
}
