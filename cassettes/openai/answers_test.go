package openai

import (
	"bufio"
	"io"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbench-go/agentbench/loop"
)

// A reply that is read in spite of the form it comes in.
func TestUsableAnswers(t *testing.T) {
	call := func(index, id, name, args string) string {
		return `{"choices":[{"index":0,"delta":{"tool_calls":[{"index":` + index + `,"id":"` + id + `","function":{"name":"` + name + `","arguments":"` + args + `"}}]}}]}`
	}
	const ends = `{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`
	asked := func(calls ...loop.AskedCall) loop.Reply { return loop.Reply{Calls: calls, Finish: "tool_calls"} }
	item := `{"type":"message","content":[{"type":"output_text","text":"Sunny."}]}`
	for _, test := range []struct {
		name string
		way  way
		body string
		want loop.Reply
	}{
		{"a refusal", chat, `{"choices":[{"message":{"content":null,"refusal":"No."},"finish_reason":"stop"}]}`, loop.Reply{Text: "No.", Finish: "stop"}},
		{"a refusal", chatStream, events(`{"choices":[{"index":0,"delta":{"refusal":"N"}}]}`, `{"choices":[{"index":0,"delta":{"refusal":"o."},"finish_reason":"stop"}]}`, "[DONE]"), loop.Reply{Text: "No.", Finish: "stop"}},
		{"a refusal", responsesWhole, `{"status":"completed","output":[{"type":"message","content":[{"type":"refusal","refusal":"No."}]}]}`, loop.Reply{Text: "No.", Finish: "stop"}},
		{"another content type", chat, `{"choices":[{"message":{"content":"x"},"finish_reason":"stop"}]}`, loop.Reply{Text: "x", Finish: "stop"}},
		{"a message beside the choices", chat, `{"message":"cached","choices":[{"message":{"content":"x"},"finish_reason":"stop"}]}`, loop.Reply{Text: "x", Finish: "stop"}},
		{"an empty reply", chat, `{"choices":[{"message":{"content":""},"finish_reason":"stop"}]}`, loop.Reply{Finish: "stop"}},
		{"a second choice", chat, `{"choices":[{"message":{"content":"a"},"finish_reason":"stop"},{"message":{"content":"b"},"finish_reason":"length"}]}`, loop.Reply{Text: "a", Finish: "stop"}},
		{"a second choice", chatStream, events(`{"choices":[{"index":1,"delta":{"content":"b"},"finish_reason":"length"},{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}]}`), loop.Reply{Text: "a", Finish: "stop"}},
		{"no [DONE]", chatStream, events(`{"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}]}`), loop.Reply{Text: "a", Finish: "stop"}},
		{"comments and CRLF", chatStream, ": hi\r\n\r\ndata: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}]}\r\n\r\ndata: [DONE]\r\n\r\n", loop.Reply{Text: "a", Finish: "stop"}},
		{"usage below nothing", chat, `{"choices":[{"message":{"content":"x"},"finish_reason":"stop"}],"usage":{"prompt_tokens":-5,"completion_tokens":2}}`, loop.Reply{Text: "x", Finish: "stop", TokensOut: 2, Cost: 20_000}},
		{"usage of another type", chat, `{"choices":[{"message":{"content":"x"},"finish_reason":"stop"}],"usage":[1]}`, loop.Reply{Text: "x", Finish: "stop"}},
		// 2^40 × 2,500 nano-dollars.
		{"usage without end", chat, `{"choices":[{"message":{"content":"x"},"finish_reason":"stop"}],"usage":{"prompt_tokens":9000000000000000000}}`, loop.Reply{Text: "x", Finish: "stop", TokensIn: 1 << 40, Cost: 2_500 << 40}},
		{"arguments as an object", chat, `{"choices":[{"message":{"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":{"n": 9007199254740993}}}]},"finish_reason":"tool_calls"}]}`, asked(loop.AskedCall{ID: "a", Name: "f", Args: `{"n": 9007199254740993}`})},
		{"arguments that are not there", chat, `{"choices":[{"message":{"tool_calls":[{"id":"a","type":"function","function":{"name":"f"}}]},"finish_reason":"tool_calls"}]}`, asked(loop.AskedCall{ID: "a", Name: "f"})},
		{"a call without a type", chat, `{"choices":[{"message":{"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`, asked(loop.AskedCall{ID: "a", Name: "f", Args: "{}"})},

		{"indexes with gaps", chatStream, events(call("7", "b", "g", "{}"), call("-2", "a", "f", "{}"), call("9000000000000", "c", "h", "{}"), ends),
			asked(loop.AskedCall{ID: "a", Name: "f", Args: "{}"}, loop.AskedCall{ID: "b", Name: "g", Args: "{}"}, loop.AskedCall{ID: "c", Name: "h", Args: "{}"})},
		{"pieces in turns", chatStream, events(call("1", "b", "g", `{\"x\":`), call("0", "a", "f", "{"), call("1", "", "", "1}"), call("0", "", "", "}"), ends),
			asked(loop.AskedCall{ID: "a", Name: "f", Args: "{}"}, loop.AskedCall{ID: "b", Name: "g", Args: `{"x":1}`})},
		{"id and name with each piece", chatStream, events(call("0", "a", "f", "{"), call("0", "a", "f", "}"), ends), asked(loop.AskedCall{ID: "a", Name: "f", Args: "{}"})},
		{"one index for two calls", chatStream, events(call("0", "a", "f", "{}"), call("0", "b", "f", "{"), call("0", "", "", "}"), ends),
			asked(loop.AskedCall{ID: "a", Name: "f", Args: "{}"}, loop.AskedCall{ID: "b", Name: "f", Args: "{}"})},
		{"one index for two calls without ids", chatStream, events(call("0", "", "f", "{}"), call("0", "", "f", "{}"), ends),
			asked(loop.AskedCall{Name: "f", Args: "{}"}, loop.AskedCall{Name: "f", Args: "{}"})},
		{"the id after the name", chatStream, events(call("0", "", "f", ""), call("0", "a", "", "{}"), ends), asked(loop.AskedCall{ID: "a", Name: "f", Args: "{}"})},
		{"the name in pieces", chatStream, events(call("0", "a", "get_", ""), call("0", "", "weather", ""), call("0", "", "", "{}"), ends), asked(loop.AskedCall{ID: "a", Name: "get_weather", Args: "{}"})},
		{"no index", chatStream, events(`{"choices":[{"index":0,"delta":{"tool_calls":[{"id":"a","function":{"name":"f","arguments":{"n":1}}}]}}]}`, ends), asked(loop.AskedCall{ID: "a", Name: "f", Args: `{"n":1}`})},

		{"two messages, reasoning, and a search", responsesWhole, `{"status":"completed","output":[{"type":"reasoning","summary":[]},` + item + `,{"type":"web_search_call","id":"w"},` + item + `]}`, loop.Reply{Text: "Sunny.\nSunny.", Finish: "stop"}},
		{"too many tokens", responsesWhole, `{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[` + item + `]}`, loop.Reply{Text: "Sunny.", Finish: "length"}},
		{"another reason", responsesWhole, `{"status":"incomplete","incomplete_details":{"reason":"content_filter"},"output":[]}`, loop.Reply{Finish: "content_filter"}},
		{"no reason", responsesWhole, `{"status":"incomplete","output":[]}`, loop.Reply{Finish: "incomplete"}},
		{"a call", responsesWhole, `{"status":"completed","output":[{"type":"function_call","call_id":"a","name":"f","arguments":"{}"}],"usage":{"input_tokens":3,"output_tokens":1}}`,
			loop.Reply{Calls: []loop.AskedCall{{ID: "a", Name: "f", Args: "{}"}}, Finish: "tool_calls", TokensIn: 3, TokensOut: 1, Cost: 3*2_500 + 10_000}},
		{"the items in the stream only", responsesStream, typed(`{"type":"response.output_item.done","output_index":0,"item":`+item+`}`, `{"type":"response.completed","response":{"status":"completed","output":[]}}`), loop.Reply{Text: "Sunny.", Finish: "stop"}},
		{"more than the end", responsesStream, typed(`{"type":"response.completed","response":{"status":"completed","output":[`+item+`]}}`, `{"type":"error","message":"late"}`), loop.Reply{Text: "Sunny.", Finish: "stop"}},
		{"an event of tomorrow", responsesStream, typed(`{"type":"response.smell.delta","delta":{"a":1}}`, `{"type":"keepalive"}`, `{"type":"response.completed","response":{"status":"completed","output":[`+item+`]}}`), loop.Reply{Text: "Sunny.", Finish: "stop"}},
	} {
		t.Run(test.name+"/"+test.way.String(), func(t *testing.T) {
			got, _, err := reply(t, answering(t, test.way, answer(200, "application/octet-stream", test.body)))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// Which pieces the loop hears of: not what is sent before the model begins.
func TestPieces(t *testing.T) {
	for _, test := range []struct {
		name string
		way  way
		body string
		want []string
	}{
		{"chat", chatStream, events(`{"choices":[],"prompt_filter_results":[]}`, `{"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}`, `{"choices":[{"index":0,"delta":{"content":"It"}}]}`,
			`{"choices":[{"index":0,"delta":{"reasoning_content":"hm"}}]}`, `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`, `{"choices":[],"usage":{"prompt_tokens":1}}`, "[DONE]"),
			[]string{"", "It", "", ""}},
		{"responses", responsesStream, typed(`{"type":"response.created","response":{}}`, `{"type":"response.in_progress","response":{}}`, `{"type":"response.output_item.added","item":{"type":"function_call"}}`,
			`{"type":"response.reasoning_summary_text.delta","delta":"hm"}`, `{"type":"response.function_call_arguments.delta","delta":"{}"}`, `{"type":"response.output_text.delta","delta":"It"}`, `{"type":"response.refusal.delta","delta":"No"}`,
			`{"type":"response.output_text.done","text":"It"}`, `{"type":"response.completed","response":{"status":"completed","output":[]}}`),
			[]string{"", "", "", "It", "No"}},
	} {
		_, pieces, err := reply(t, answering(t, test.way, answer(200, asEvents, test.body)))
		if diff := cmp.Diff(test.want, pieces); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got)\n%s", test.name, err, diff)
		}
	}
}

// A piece is delivered when it arrives, not when the stream has ended.
func TestPiecesComeAsTheyAre(t *testing.T) {
	heard := make(chan string)
	m := answering(t, chatStream, func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", asEvents)
		out := bufio.NewWriter(w)
		for _, piece := range []string{"a", "b"} {
			out.WriteString(events(`{"choices":[{"index":0,"delta":{"content":"` + piece + `"}}]}`))
			out.Flush()
			http.NewResponseController(w).Flush()
			if got := <-heard; got != piece { // the stream goes on when it was heard
				t.Errorf("heard %q, want %q", got, piece)
			}
		}
		io.WriteString(w, events(`{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`))
	})
	r, err := m.Reply(t.Context(), hello(), func(text string) {
		if text != "" {
			heard <- text
		}
	})
	if err != nil || r.Text != "ab" {
		t.Errorf("%+v, %v", r, err)
	}
}
