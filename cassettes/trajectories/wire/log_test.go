package wire

import (
	"encoding/json"
	"testing"

	"github.com/agentbench-go/agentbench/loop"
	"github.com/google/go-cmp/cmp"
)

// Messages of the chat API as the API writes them, and as agents write them into
// their logs.
func TestChatMessage(t *testing.T) {
	for _, c := range []struct {
		name, raw string
		want      Message
		problem   string
	}{
		{name: "the system's, by its newer name", raw: `{"role": "developer", "content": "be brief"}`, want: Message{Role: System, Text: "be brief"}},
		{name: "parts, of which one is an image and one a thought",
			raw:  `{"role": "user", "content": [{"type": "text", "text": "look"}, {"type": "image_url", "image_url": {}}, {"type": "thinking", "thinking": "hm"}, {"type": "text", "content": "here"}]}`,
			want: Message{Text: "look\n[image_url]\nhere", Role: User}},
		{name: "a part of no type is its JSON", raw: `{"role": "user", "content": [{"toolResult": {"n": 1}}]}`, want: Message{Role: User, Text: `{"toolResult":{"n":1}}`}},
		{name: "a refusal", raw: `{"role": "assistant", "content": null, "refusal": "no"}`, want: Message{Role: Assistant, Text: "no"}},
		{name: "spoken", raw: `{"role": "assistant", "audio": {"transcript": "hello"}}`, want: Message{Role: Assistant, Text: "hello"}},
		{name: "the API's call", raw: `{"role": "assistant", "tool_calls": [{"id": "a", "type": "function", "function": {"name": "f", "arguments": "{\"x\":1}"}}]}`,
			want: Message{Role: Assistant, Calls: []Call{{ID: "a", Name: "f", Args: `{"x":1}`}}}},
		{name: "arguments as an object", raw: `{"role": "assistant", "tool_calls": [{"id": 7, "function": {"name": "f", "arguments": {"x": 1}}}]}`,
			want: Message{Role: Assistant, Calls: []Call{{ID: "7", Name: "f", Args: `{"x":1}`}}}},
		{name: "a bare name beside args", raw: `{"role": "assistant", "tool_calls": [{"id": "a", "function": "f", "args": {"x": 1}}]}`,
			want: Message{Role: Assistant, Calls: []Call{{ID: "a", Name: "f", Args: `{"x":1}`}}}},
		{name: "name and arguments in the call itself", raw: `{"role": "assistant", "tool_calls": [{"id": "a", "name": "f", "arguments": {"x": 1}}]}`,
			want: Message{Role: Assistant, Calls: []Call{{ID: "a", Name: "f", Args: `{"x":1}`}}}},
		{name: "a custom tool", raw: `{"role": "assistant", "tool_calls": [{"id": "a", "type": "custom", "custom": {"name": "f", "input": "x = 1"}}]}`,
			want: Message{Role: Assistant, Calls: []Call{{ID: "a", Name: "f", Args: `{"input":"x = 1"}`}}}},
		{name: "the form before tool_calls", raw: `{"role": "assistant", "function_call": {"name": "f", "arguments": "{}"}}`,
			want: Message{Role: Assistant, Calls: []Call{{Name: "f", Args: "{}"}}}},
		{name: "a result", raw: `{"role": "tool", "tool_call_id": "a", "content": "42"}`, want: Message{Role: Tool, ID: "a", Text: "42"}},
		{name: "a result whose own id is the call's", raw: `{"role": "tool", "id": "a", "requestor": "assistant", "content": "42"}`, want: Message{Role: Tool, ID: "a", Text: "42"}},
		{name: "a result whose own id is its own", raw: `{"role": "tool", "id": "m1", "content": "42"}`, want: Message{Role: Tool, Text: "42"}},
		{name: "an error and no content", raw: `{"role": "tool", "tool_call_id": "a", "content": "", "error": "KeyError: x"}`,
			want: Message{Role: Tool, ID: "a", Text: "KeyError: x", Code: loop.ToolBug}},
		{name: "no error", raw: `{"role": "tool", "tool_call_id": "a", "content": "42", "error": false}`, want: Message{Role: Tool, ID: "a", Text: "42"}},
		{name: "no role", raw: `{"content": "hi"}`, problem: "it has no role"},
		{name: "another role", raw: `{"role": "owner\u001b[2J"}`, problem: `unknown role "owner\x1b[2J" (want system, developer, user, assistant or tool)`},
		{name: "a call of nothing", raw: `{"role": "assistant", "tool_calls": [{"function": "f"}, {"id": "b"}]}`, problem: "call 2: it has no function with a name and arguments"},
		{name: "a function that is a number", raw: `{"role": "assistant", "tool_calls": [{"function": 5}]}`,
			problem: "the function of a call must be a name, or an object with a name and arguments"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := ChatMessage(json.RawMessage(c.raw))
			problem := ""
			if err != nil {
				problem = err.Error()
			}
			if diff := cmp.Diff(c.want, got); diff != "" || problem != c.problem {
				t.Errorf("problem %q, want %q; message (-want +got):\n%s", problem, c.problem, diff)
			}
		})
	}
}

// Results come before what is said beside them, wherever they stand, so that
// they answer the turn before and not the one that the text begins.
func TestAnthropicMessages(t *testing.T) {
	for _, c := range []struct {
		name, role, content string
		want                []Message
	}{
		{"a text", "user", `"hi"`, []Message{{Text: "hi"}}},
		{"a text behind and before a result", "user",
			`[{"type": "text", "text": "and"}, {"type": "tool_result", "tool_use_id": "a", "content": [{"type": "text", "text": "42"}]}, {"type": "text", "text": "so"}]`,
			[]Message{{Role: Tool, ID: "a", Text: "42"}, {Text: "and\nso"}}},
		{"a result alone that is an error", "user", `[{"type": "tool_result", "tool_use_id": "a", "content": "no", "is_error": true}]`,
			[]Message{{Role: Tool, ID: "a", Text: "no", Code: loop.ToolBug}}},
		{"a call, a thought and a search of the server's", "assistant",
			`[{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "let me see"}, {"type": "server_tool_use", "name": "web_search"}, {"type": "tool_use", "id": "a", "name": "f", "input": {"x": 1}}]`,
			[]Message{{Role: Assistant, Text: "let me see", Calls: []Call{{ID: "a", Name: "f", Args: `{"x":1}`}}}}},
		{"a thought alone", "assistant", `[{"type": "thinking", "thinking": "hm"}]`, nil},
		{"blocks of another shape", "user", `["hi", {"type": "text", "text": 5}]`, []Message{{Text: "hi\n" + `{"type":"text","text":5}`}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, AnthropicMessages(c.role, json.RawMessage(c.content))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
