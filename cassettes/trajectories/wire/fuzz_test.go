package wire

import (
	"testing"
	"unicode/utf8"
)

// checkSane asserts what is true of conversations whatever was read: each has an
// answer, only the assistant has calls and never speaks twice in a row, texts are
// valid, and no exchange is left out twice.
func checkSane(t *testing.T, exchanges []Exchange) {
	t.Helper()
	conversations, left := Read(exchanges, nil)
	n, answered := 0, 0
	for _, why := range Reasons() {
		n += left[why]
	}
	if n > len(exchanges) {
		t.Errorf("%d exchanges left out of %d", n, len(exchanges))
	}
	for _, c := range conversations {
		for i, m := range c.Messages {
			if m.Role == Assistant {
				answered++
				if i > 0 && c.Messages[i-1].Role == Assistant && !c.Messages[i].Reply {
					t.Error("two messages of the assistant in a row")
				}
			} else if len(m.Calls) > 0 {
				t.Error("calls that are not the assistant's")
			}
			if !utf8.ValidString(m.Text) || m.TokensIn < 0 || m.TokensOut < 0 {
				t.Errorf("text %q, tokens %d and %d", m.Text, m.TokensIn, m.TokensOut)
			}
		}
	}
	if answered < len(conversations) {
		t.Error("a conversation without an answer")
	}
}

func FuzzSSE(f *testing.F) {
	f.Add([]byte(sse(delta(`"content":"a"`), calls(`{"index":1,"id":"a","function":{"name":"f","arguments":"{"}}`), stop, "[DONE]")))
	f.Add([]byte(sse(`{"type":"message_start","message":{"id":"x"}}`, `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","name":"f"}}`)))
	f.Add([]byte(sse(`{"type":"response.completed","response":{"status":"completed","output":[{"type":"function_call","name":"f"}]}}`)))
	f.Add([]byte(`[{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f"}}]}}]}]`))
	f.Add([]byte("event: x\r\n: c\r\ndata: {\"choices\":\ndata: []}\r\n\r\n"))
	f.Add([]byte("\x1f\x8b\x08"))
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, path := range []string{chatPath, "/v1/responses", "/v1/messages", "/m:generateContent", "/proxy", ""} {
			x := post(path, askHi, string(body))
			if path == "" {
				x = Exchange{Response: body}
			}
			checkSane(t, []Exchange{x, x})
		}
	})
}

func FuzzRequest(f *testing.F) {
	f.Add([]byte(askHi), []byte(`{"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"a"},{"role":"user","content":[{"type":"text"}]}]}`))
	f.Add([]byte(`{"input":"a"}`), []byte(`{"previous_response_id":"r","input":[{"type":"function_call_output","call_id":"a","output":"x"}]}`))
	f.Add([]byte(`{"contents":[{"parts":[{"text":"a"}]}]}`), []byte(`{"contents":[{"role":"model","parts":[{"functionCall":{}}]},{"parts":[{"functionResponse":{"name":"f"}}]}]}`))
	f.Add([]byte(`{"messages":[{"role":"user","content":[{"type":"tool_result","content":[1]}]}]}`), []byte(`{"messages":[{"role":"assistant","content":[{"type":"tool_use","input":1}]}]}`))
	f.Add([]byte("{"), []byte(`{"messages":[{"role":"user","content":[{"type":"tool_use","name":"f"}]}]}`))
	f.Fuzz(func(t *testing.T, first, second []byte) {
		for path, body := range map[string]string{
			chatPath:             sse(delta(`"content":"a"`), stop),
			"/v1/responses":      `{"id":"r","object":"response","status":"completed","output":[]}`,
			"/v1/messages":       `{"type":"message","content":[{"type":"text","text":"a"}],"stop_reason":"end_turn"}`,
			"/m:generateContent": `{"candidates":[{"content":{"parts":[{"text":"a"}]},"finishReason":"STOP"}]}`,
		} {
			checkSane(t, []Exchange{post(path, string(first), body), post(path, string(second), body), post(path, string(first), body)})
		}
	})
}
