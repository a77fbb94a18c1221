package wire

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"testing"
)

// What single servers and client libraries write otherwise.

// The Vertex SDK and generative-ai-go ask for enumerations as numbers, and what the
// server's own tools found counts as read.
func TestGeminiEnumsAsNumbers(t *testing.T) {
	check(t, `
conversation "m" ""
  user "hi"
  assistant "ho" 12+3
`, post("/v1/models/m:generateContent", `{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}`,
		`{"candidates":[{"content":{"role":"model","parts":[{"text":"ho"}]},"finishReason":1}],"promptFeedback":{"blockReason":0},"usageMetadata":{"promptTokenCount":5,"toolUsePromptTokenCount":7,"candidatesTokenCount":3}}`))
}

// Snowflake writes the forms of calls that it does not use, too, empty.
func TestEmptyFormsOfCalls(t *testing.T) {
	check(t, `
conversation "m" ""
  user "hi"
  assistant "" a:f({"x":1})
`, post(chatPath, askHi, `{"choices":[{"index":0,"message":{"role":"assistant","content":"","function_call":{"name":"","arguments":""},
"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{\"x\":1}"},"custom":{"name":"","input":""}}]},"finish_reason":"tool_calls"}]}`))
}

// Perplexity streams the text so far beside each piece.
func TestTextSoFar(t *testing.T) {
	piece := func(soFar, more string) string {
		return fmt.Sprintf(`{"model":"m-1","choices":[{"index":0,"finish_reason":null,"message":{"role":"assistant","content":%q},"delta":{"role":"assistant","content":%q}}]}`, soFar, more)
	}
	check(t, `
conversation "m-1" ""
  user "hi"
  assistant "hello you"
`, post(chatPath, askHi, sse(piece("hello", "hello"), piece("hello you", " you"), stop)))
}

func TestOllama(t *testing.T) {
	check(t, `
conversation "m" ""
  user "hi"
  assistant "hm" :f({"x":1}) 9+4
  result "" "7"
  assistant "seven" 20+2
`, post("/api/chat", `{"model":"m","messages":[{"role":"user","content":"hi"}],"options":{}}`,
		`{"model":"m","message":{"role":"assistant","content":"hm","tool_calls":[{"function":{"name":"f","arguments":{"x":1}}}]},"done":false}`+"\n"+
			`{"model":"m","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","prompt_eval_count":9,"eval_count":4}`+"\n"),
		post("/api/chat", `{"model":"m","messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"hm","tool_calls":[{"function":{"name":"f","arguments":{"x":1}}}]},{"role":"tool","content":"7"}],"options":{}}`,
			`{"model":"m","message":{"role":"assistant","content":"seven"},"done":true,"prompt_eval_count":20,"eval_count":2}`))
}

// frame writes an event as the binary stream has it, without its checksums.
func frame(kind string, payload string) []byte {
	head := append([]byte{11}, ":event-type\x07"...)
	head = binary.BigEndian.AppendUint16(head, uint16(len(kind)))
	head = append(head, kind...)
	b := binary.BigEndian.AppendUint32(nil, uint32(16+len(head)+len(payload)))
	b = binary.BigEndian.AppendUint32(b, uint32(len(head)))
	b = append(b, 0, 0, 0, 0)
	b = append(append(b, head...), payload...)
	return append(b, 0, 0, 0, 0)
}

func TestBedrock(t *testing.T) {
	const ask = `{"system":[{"text":"Be brief."}],"messages":[{"role":"user","content":[{"text":"hi"}]}]}`
	const again = `{"messages":[{"role":"user","content":[{"text":"hi"}]},{"role":"assistant","content":[{"text":"hm"},{"toolUse":{"toolUseId":"a","name":"f","input":{"x":1}}}]},{"role":"user","content":[{"toolResult":{"toolUseId":"a","status":"error","content":[{"json":{"n":1}}]}}]}]}`
	stream := bytes.Join([][]byte{
		frame("messageStart", `{"role":"assistant"}`),
		frame("contentBlockDelta", `{"contentBlockIndex":0,"delta":{"text":"do"}}`),
		frame("contentBlockDelta", `{"contentBlockIndex":0,"delta":{"text":"ne"}}`),
		frame("contentBlockStart", `{"contentBlockIndex":1,"start":{"toolUse":{"toolUseId":"b","name":"g"}}}`),
		frame("contentBlockDelta", `{"contentBlockIndex":1,"delta":{"toolUse":{"input":"{\"y\":"}}}`),
		frame("contentBlockDelta", `{"contentBlockIndex":1,"delta":{"toolUse":{"input":"2}"}}}`),
		frame("messageStop", `{"stopReason":"tool_use"}`),
		frame("metadata", `{"usage":{"inputTokens":30,"outputTokens":5}}`),
	}, nil)
	check(t, `
conversation "vendor.model:0" "Be brief."
  user "hi"
  assistant "hm" a:f({"x":1}) 12+3
  result "a" "{\"n\":1}" failed
  assistant "done" b:g({"y":2}) 30+5
left out: error answer 1
`, post("/model/vendor.model%3A0/converse", ask,
		`{"output":{"message":{"role":"assistant","content":[{"text":"hm"},{"toolUse":{"toolUseId":"a","name":"f","input":{"x":1}}}]}},"stopReason":"tool_use","usage":{"inputTokens":10,"cacheReadInputTokens":2,"outputTokens":3}}`),
		post("/model/vendor.model%3A0/converse-stream", again, string(stream)),
		post("/model/vendor.model%3A0/converse", ask, `{"message":"The security token is invalid."}`))
}

// Behind InvokeModel stands the API of the model's maker, streamed in frames.
func TestInvokeModel(t *testing.T) {
	event := func(json string) []byte {
		return frame("chunk", `{"bytes":"`+base64.StdEncoding.EncodeToString([]byte(json))+`"}`)
	}
	check(t, `
conversation "m-1" ""
  user "hi"
  assistant "ho" 4+2
`, post("/model/vendor.m/invoke-with-response-stream", `{"anthropic_version":"bedrock-2023-05-31","messages":[{"role":"user","content":"hi"}]}`, string(bytes.Join([][]byte{
		event(`{"type":"message_start","message":{"model":"m-1","usage":{"input_tokens":4}}}`),
		event(`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`),
		event(`{"type":"content_block_delta","index":0,"delta":{"text":"ho"}}`),
		event(`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}}`),
	}, nil))))
}

// What the standard library does not decompress is handed to a decoder, or refused by
// name. A recorder may keep the header of a body that it has decompressed.
func TestDecoders(t *testing.T) {
	const answer = `{"choices":[{"index":0,"message":{"content":"ho"},"finish_reason":"stop"}]}`
	cut := func(data []byte, _ int) ([]byte, error) { return data[4:], nil }
	for name, c := range map[string]struct {
		body, encoding string
		with           Decoders
		why            Reason
	}{
		"br":                {"\xff\xfe\xfd\xfc" + answer, "br", Decoders{"br": cut}, None},
		"br, no decoder":    {"\xff\xfe\xfd\xfc" + answer, "br", nil, Compressed},
		"br, decompressed":  {answer, "br", nil, None},
		"zstd":              {"\x28\xb5\x2f\xfd" + answer, "zstd", Decoders{"zstd": cut}, None},
		"zstd, no decoder":  {"\x28\xb5\x2f\xfd" + answer, "", nil, Compressed},
		"zstd, too much":    {"\x28\xb5\x2f\xfd" + answer, "", Decoders{"zstd": func([]byte, int) ([]byte, error) { return nil, errors.New("too large") }}, Unreadable},
		"neither of these":  {"\xff\xfe\xfd\xfc" + answer, "", nil, Unreadable},
		"br of other bytes": {"\xff\xfe\xfd\xfc", "br", Decoders{"br": cut}, NoAnswer},
	} {
		t.Run(name, func(t *testing.T) {
			x := post(chatPath, askHi, c.body)
			x.Encoding = c.encoding
			conversations, left := Read([]Exchange{x}, c.with)
			if c.why == None && (len(conversations) != 1 || conversations[0].Messages[1].Text != "ho") {
				t.Errorf("got %d conversations, left out %v", len(conversations), left)
			}
			if c.why != None && left[c.why] != 1 {
				t.Errorf("left out %v, want %s", left, c.why)
			}
		})
	}
}

// An agent without tool calls may repeat its answers one by one or in one growing
// message; each answer stays a turn.
func TestAnswersInARow(t *testing.T) {
	answer := func(text string) string {
		return fmt.Sprintf(`{"choices":[{"index":0,"message":{"content":%q},"finish_reason":"stop"}]}`, text)
	}
	ask := func(assistant ...string) string {
		messages := `{"role":"user","content":"hi"}`
		for _, a := range assistant {
			messages += fmt.Sprintf(`,{"role":"assistant","content":%q}`, a)
		}
		return `{"model":"m","messages":[` + messages + `]}`
	}
	want := `
conversation "m" ""
  user "hi"
  assistant "one" :continue()
  result "" "Result: 1"
  assistant "two" :continue()
  result "" "Result: 2"
  assistant "three"
`
	for name, history := range map[string][]string{
		"one by one": {"one\nResult: 1", "two\nResult: 2"},
		"growing":    {"one\nResult: 1\ntwo\nResult: 2"},
	} {
		t.Run(name, func(t *testing.T) {
			check(t, want, post(chatPath, ask(), answer("one")), post(chatPath, ask("one\nResult: 1"), answer("two")), post(chatPath, ask(history...), answer("three")))
		})
	}
}
