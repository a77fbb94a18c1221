package serve

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/agentbench-go/agentbench/loop"
)

// A client is a client of an API for tests: it sends histories and reads replies. It
// is written from the vendors' documents and shares no code with the server.
type client struct {
	path string
	body func(history []loop.Message, stream bool) map[string]any
	// read reads a reply that is not streamed, events one that is.
	read   func(t *testing.T, body []byte) answer
	events func(t *testing.T, events []event) answer
}

// An answer is a reply as a client understands it.
type answer struct {
	Text    string
	Calls   []loop.AskedCall
	Finish  string // "" = the API does not have it
	In, Out int64
	Ended   bool // the stream has its last event
}

// An event is one of a stream.
type event struct{ name, data string }

// parseEvents reads an event stream as browsers do: events end with an empty
// line, and one that does not is dropped.
func parseEvents(t *testing.T, text string) (events []event) {
	t.Helper()
	var e event
	for line := range strings.Lines(text) {
		whole := strings.HasSuffix(line, "\n")
		line = strings.TrimSuffix(line, "\n")
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case !whole:
		case line == "":
			if e.data != "" {
				events = append(events, e)
			}
			e = event{}
		case name == "event":
			e.name = value
		case name == "data":
			e.data += value
		case name != "":
			t.Errorf("a line that is not a field: %q", line)
		}
	}
	return events
}

func decode[T any](t *testing.T, text string) (v T) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return v
}

var clients = map[string]client{
	"chat":      {"/v1/chat/completions", chatBody, readChat, readChatEvents},
	"responses": {"/v1/responses", responsesBody, readResponse, readResponseEvents},
	"messages":  {"/v1/messages", messagesBody, readMessage, readMessageEvents},
}

type object = map[string]any

// offer declares the tools that the scripts of the tests call, each inside a field of
// that name if there is one.
func offer(inside string) (tools []object) {
	for _, name := range []string{"f", "g", "h", "read", "list"} {
		tool := object{"name": name}
		if inside != "" {
			tool = object{inside: tool}
		}
		tool["type"] = "function"
		tools = append(tools, tool)
	}
	return tools
}

func chatBody(history []loop.Message, stream bool) object {
	list := []object{{"role": "system", "content": "Work."}}
	for _, m := range history {
		switch m.Role {
		case loop.User:
			list = append(list, object{"role": "user", "content": m.Text})
		case loop.ToolRole:
			list = append(list, object{"role": "tool", "tool_call_id": m.CallID, "content": []object{{"type": "text", "text": m.Text}}})
		case loop.Assistant:
			out := object{"role": "assistant", "content": m.Text}
			var calls []object
			for _, c := range m.Calls {
				calls = append(calls, object{"id": c.ID, "type": "function", "function": object{"name": c.Name, "arguments": c.Args}})
			}
			if calls != nil {
				out["tool_calls"] = calls
			}
			list = append(list, out)
		}
	}
	return object{"model": "any", "messages": list, "stream": stream, "stream_options": object{"include_usage": stream}, "tools": offer("function")}
}

type chatUsageFields struct {
	Prompt     int64 `json:"prompt_tokens"`
	Completion int64 `json:"completion_tokens"`
}

type chatCallFields struct {
	Index    int
	ID       string
	Function struct{ Name, Arguments string }
}

func readChat(t *testing.T, body []byte) answer {
	v := decode[struct {
		Choices []struct {
			Message struct {
				Content   *string
				ToolCalls []chatCallFields `json:"tool_calls"`
			}
			Finish string `json:"finish_reason"`
		}
		Usage chatUsageFields
	}](t, string(body))
	c := v.Choices[0]
	a := answer{Finish: c.Finish, In: v.Usage.Prompt, Out: v.Usage.Completion}
	if c.Message.Content != nil {
		a.Text = *c.Message.Content
	}
	for _, call := range c.Message.ToolCalls {
		a.Calls = append(a.Calls, loop.AskedCall{ID: call.ID, Name: call.Function.Name, Args: call.Function.Arguments})
	}
	return a
}

// readChatEvents puts calls together by their index, as clients do.
func readChatEvents(t *testing.T, events []event) (a answer) {
	for _, e := range events {
		if e.data == "[DONE]" {
			a.Ended = true
			continue
		}
		v := decode[struct {
			Choices []struct {
				Delta struct {
					Content   string
					ToolCalls []chatCallFields `json:"tool_calls"`
				}
				Finish string `json:"finish_reason"`
			}
			Usage *chatUsageFields
		}](t, e.data)
		if v.Usage != nil {
			a.In, a.Out = v.Usage.Prompt, v.Usage.Completion
		}
		for _, c := range v.Choices {
			a.Text += c.Delta.Content
			a.Finish += c.Finish
			for _, call := range c.Delta.ToolCalls {
				for len(a.Calls) <= call.Index {
					a.Calls = append(a.Calls, loop.AskedCall{})
				}
				into := &a.Calls[call.Index]
				into.ID += call.ID
				into.Name += call.Function.Name
				into.Args += call.Function.Arguments
			}
		}
	}
	return a
}

func responsesBody(history []loop.Message, stream bool) object {
	list := []object{}
	for _, m := range history {
		switch m.Role {
		case loop.User:
			list = append(list, object{"role": "user", "content": []object{{"type": "input_text", "text": m.Text}}})
		case loop.ToolRole:
			list = append(list, object{"type": "function_call_output", "call_id": m.CallID, "output": m.Text})
		case loop.Assistant:
			if m.Text != "" || len(m.Calls) == 0 {
				list = append(list, object{"type": "message", "role": "assistant", "content": []object{{"type": "output_text", "text": m.Text}}})
			}
			for _, c := range m.Calls {
				list = append(list, object{"type": "function_call", "call_id": c.ID, "name": c.Name, "arguments": c.Args})
			}
		}
	}
	return object{"model": "any", "input": list, "stream": stream, "store": false, "tools": offer("")}
}

type responseFields struct {
	Status     string
	Incomplete *struct{ Reason string } `json:"incomplete_details"`
	Output     []struct {
		ID, Type, Name, Arguments string
		CallID                    string `json:"call_id"`
		Content                   []struct{ Type, Text string }
	}
	Usage struct {
		In  int64 `json:"input_tokens"`
		Out int64 `json:"output_tokens"`
	}
}

// answer returns the reply. The API has no finish reason for a reply with calls.
func (v *responseFields) answer(t *testing.T) answer {
	a := answer{In: v.Usage.In, Out: v.Usage.Out}
	for _, item := range v.Output {
		switch item.Type {
		case "message":
			for _, part := range item.Content {
				a.Text += part.Text
			}
		case "function_call":
			a.Calls = append(a.Calls, loop.AskedCall{ID: item.CallID, Name: item.Name, Args: item.Arguments})
		default:
			t.Errorf("an item of type %s", item.Type)
		}
	}
	switch {
	case v.Status == "incomplete" && v.Incomplete.Reason == "max_output_tokens":
		a.Finish = loop.FinishLength
	case v.Status != "completed":
		a.Finish = v.Status
	case len(a.Calls) == 0:
		a.Finish = loop.FinishStop
	}
	return a
}

func readResponse(t *testing.T, body []byte) answer {
	v := decode[responseFields](t, string(body))
	return v.answer(t)
}

// readResponseEvents returns the last event's response, which must equal the sum of
// the deltas.
func readResponseEvents(t *testing.T, events []event) (a answer) {
	text, args := "", map[string]string{}
	for i, e := range events {
		v := decode[struct {
			Type     string
			Sequence int `json:"sequence_number"`
			Item     string
			ItemID   string `json:"item_id"`
			Delta    string
			Response responseFields
		}](t, strings.Replace(e.data, `"item":{`, `"whole_item":{`, 1))
		if v.Type != e.name || v.Sequence != i {
			t.Errorf("event %d is %s number %d, named %s", i, v.Type, v.Sequence, e.name)
		}
		switch e.name {
		case "response.output_text.delta":
			text += v.Delta
		case "response.function_call_arguments.delta":
			args[v.ItemID] += v.Delta
		case "response.completed", "response.incomplete":
			a = v.Response.answer(t)
			a.Ended = true
			for _, item := range v.Response.Output {
				if item.Type == "function_call" && args[item.ID] != item.Arguments {
					t.Errorf("the pieces of %s say %q, the whole %q", item.ID, args[item.ID], item.Arguments)
				}
			}
		}
	}
	if !a.Ended {
		return answer{Text: text}
	}
	if text != a.Text {
		t.Errorf("the pieces say %q, the whole %q", text, a.Text)
	}
	return a
}

func messagesBody(history []loop.Message, stream bool) object {
	list := []object{}
	for i, m := range history {
		switch m.Role {
		case loop.User:
			list = append(list, object{"role": "user", "content": m.Text})
		case loop.ToolRole: // the results of a batch are in one message
			block := object{"type": "tool_result", "tool_use_id": m.CallID, "content": m.Text, "is_error": m.Failed}
			if history[i-1].Role == loop.ToolRole {
				last := list[len(list)-1]
				last["content"] = append(last["content"].([]object), block)
			} else {
				list = append(list, object{"role": "user", "content": []object{block}})
			}
		case loop.Assistant:
			blocks := []object{}
			if m.Text != "" {
				blocks = append(blocks, object{"type": "text", "text": m.Text})
			}
			for _, c := range m.Calls {
				input := any(c.Args)
				if json.Valid([]byte(c.Args)) {
					input = json.RawMessage(c.Args)
				}
				blocks = append(blocks, object{"type": "tool_use", "id": c.ID, "name": c.Name, "input": input})
			}
			list = append(list, object{"role": "assistant", "content": blocks})
		}
	}
	return object{"model": "any", "max_tokens": 100, "messages": list, "stream": stream, "tools": offer("")}
}

type blockFields struct {
	Type, Text, ID, Name string
	Input                json.RawMessage
}

type messageFields struct {
	Content []blockFields
	Stop    string `json:"stop_reason"`
	Usage   struct {
		In  int64 `json:"input_tokens"`
		Out int64 `json:"output_tokens"`
	}
}

func (v *messageFields) answer() answer {
	finish, known := map[string]string{"end_turn": loop.FinishStop, "tool_use": loop.FinishToolCalls, "max_tokens": loop.FinishLength}[v.Stop]
	if !known {
		finish = v.Stop
	}
	a := answer{Finish: finish, In: v.Usage.In, Out: v.Usage.Out}
	for _, b := range v.Content {
		if b.Type == "text" {
			a.Text += b.Text
			continue
		}
		args := string(b.Input)
		if strings.HasPrefix(args, `"`) {
			json.Unmarshal(b.Input, &args)
		}
		a.Calls = append(a.Calls, loop.AskedCall{ID: b.ID, Name: b.Name, Args: args})
	}
	return a
}

func readMessage(t *testing.T, body []byte) answer {
	v := decode[messageFields](t, string(body))
	return v.answer()
}

// readMessageEvents puts the blocks together by their index.
func readMessageEvents(t *testing.T, events []event) answer {
	var m messageFields
	ended := false
	pieces := map[int]string{}
	for _, e := range events {
		v := decode[struct {
			Type    string
			Index   int
			Message messageFields
			Block   blockFields `json:"content_block"`
			Delta   struct {
				Type, Text string
				Partial    string `json:"partial_json"`
				Stop       string `json:"stop_reason"`
			}
			Usage struct {
				Out int64 `json:"output_tokens"`
			}
		}](t, e.data)
		if v.Type != e.name {
			t.Errorf("an event %s is named %s", v.Type, e.name)
		}
		switch e.name {
		case "message_start":
			m = v.Message
		case "content_block_start":
			for len(m.Content) <= v.Index {
				m.Content = append(m.Content, blockFields{})
			}
			m.Content[v.Index] = v.Block
		case "content_block_delta":
			m.Content[v.Index].Text += v.Delta.Text
			pieces[v.Index] += v.Delta.Partial
		case "message_delta":
			m.Stop, m.Usage.Out = v.Delta.Stop, v.Usage.Out
		case "message_stop":
			ended = true
		}
	}
	a := m.answer()
	for i, next := 0, 0; i < len(m.Content); i++ {
		if m.Content[i].Type == "tool_use" {
			a.Calls[next].Args = pieces[i]
			next++
		}
	}
	a.Ended = ended
	return a
}

// body writes the body of a request.
func (c client) json(history []loop.Message, stream bool) string {
	b, err := json.Marshal(c.body(history, stream))
	if err != nil {
		panic(fmt.Sprint(err))
	}
	return string(b)
}
