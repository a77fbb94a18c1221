package wire

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/agentbench-go/agentbench/internal/rawjson"
)

// responses is OpenAI's Responses API.
var responses = api{history: "input", request: responsesRequest, said: responsesSaid, reply: responsesReply}

// An item is an element of a response's output or a request's input.
type item struct {
	Type      string          `json:"type"`
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"`
	CallID    string          `json:"call_id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	Input     string          `json:"input"`
	Action    json.RawMessage `json:"action"`
	Operation json.RawMessage `json:"operation"`
	Output    json.RawMessage `json:"output"`
	Tools     json.RawMessage `json:"tools"`
}

// call returns the call that the item asks of the client, nil for none. Calls that
// the server makes itself have no call_id.
func (i *item) call() *Call {
	switch {
	case i.Type == "function_call":
		return &Call{ID: i.CallID, Name: i.Name, Args: String(i.Arguments)}
	case i.Type == "custom_tool_call":
		return &Call{ID: i.CallID, Name: i.Name, Args: asInput(i.Input)}
	case i.CallID != "" && strings.HasSuffix(i.Type, "_call"):
		return &Call{ID: i.CallID, Name: strings.TrimSuffix(i.Type, "_call"), Args: cmp.Or(String(i.Action), String(i.Operation), String(i.Arguments))}
	}
	return nil
}

// message returns the message of an item in a request, if it has one.
func (i *item) message() (m Message, ok bool) {
	if c := i.call(); c != nil {
		return Message{Role: Assistant, Calls: []Call{*c}}, true
	}
	switch {
	case strings.HasSuffix(i.Type, "_call_output"), i.Type == "tool_search_output" && i.CallID != "":
		return Message{Role: Tool, ID: i.CallID, Text: i.result()}, true
	case i.Type != "" && i.Type != "message":
		return m, false // reasoning, references and what the server did
	case i.Role == "assistant":
		m.Role = Assistant
	}
	m.Text = Text(i.Content)
	return m, true
}

func responsesRequest(body json.RawMessage) (*request, json.RawMessage, bool) {
	var r struct {
		Model        json.RawMessage `json:"model"`
		Instructions json.RawMessage `json:"instructions"`
		Input        json.RawMessage `json:"input"`
		Previous     json.RawMessage `json:"previous_response_id"`
		Conversation json.RawMessage `json:"conversation"`
	}
	if rawjson.Unmarshal(body, &r) != nil {
		return nil, nil, false
	}
	req := &request{model: String(r.Model), previous: String(r.Previous), conversation: idOf(r.Conversation)}
	req.system.add(Text(r.Instructions))
	if IsArray(r.Input) {
		return req, r.Input, true
	}
	if Given(r.Input) {
		req.messages = []Message{{Role: User, Text: Text(r.Input)}}
	}
	return req, nil, true
}

func responsesSaid(raw json.RawMessage) (one said, ok bool) {
	var i item
	if rawjson.Unmarshal(raw, &i) != nil {
		return one, false
	}
	if i.Role == "system" || i.Role == "developer" {
		one.system = Text(i.Content)
	} else if m, ok := i.message(); ok {
		one.messages = []Message{m}
	}
	return one, true
}

// idOf returns an id, which may be a field of an object.
func idOf(raw json.RawMessage) string {
	if IsObject(raw) {
		raw = keysOf(raw)["id"]
	}
	return String(raw)
}

type response struct {
	ID     string          `json:"id"`
	Model  json.RawMessage `json:"model"`
	Status string          `json:"status"`
	Output []item          `json:"output"`
	Usage  *struct {
		In  int64 `json:"input_tokens"`
		Out int64 `json:"output_tokens"`
	} `json:"usage"`
	Error json.RawMessage `json:"error"`
}

// A responsesPayload is a whole response, or an event of a streamed one.
type responsesPayload struct {
	response
	Type     string          `json:"type"`
	Response *response       `json:"response"`
	Index    int             `json:"output_index"`
	Item     *item           `json:"item"`
	Delta    json.RawMessage `json:"delta"`
}

func responsesReply(payloads []json.RawMessage) (*reply, Reason) {
	r := &reply{}
	var last response      // the latest state of the response
	done := map[int]item{} // complete items by their place
	var said strings.Builder
	for _, raw := range payloads {
		var p responsesPayload
		if rawjson.Unmarshal(raw, &p) != nil {
			return nil, Unreadable
		}
		switch {
		case p.Type == "error" || Given(p.Error):
			return nil, ErrorAnswer
		case p.Type == "":
			last = p.response
		case p.Response != nil:
			last = *p.Response
		case p.Type == "response.output_item.done" && p.Item != nil:
			done[p.Index] = *p.Item
		case p.Type == "response.output_text.delta":
			said.WriteString(String(p.Delta))
		}
	}
	if Given(last.Error) || last.Status == "failed" || last.Status == "cancelled" {
		return nil, ErrorAnswer
	}
	r.id, r.model = last.ID, String(last.Model)
	if last.Usage != nil {
		r.in, r.out = tokens(last.Usage.In), tokens(last.Usage.Out)
	}
	streamed := len(payloads) > 1
	switch last.Status {
	case "queued", "in_progress":
		r.pending = !streamed
	default:
		r.finish = last.Status
	}
	items := last.Output
	if len(items) == 0 {
		items = inOrder(done)
	}
	var whole texts
	for _, i := range items {
		if c := i.call(); c != nil {
			r.calls = append(r.calls, *c)
		} else if i.Type == "message" {
			whole.add(Text(i.Content))
		}
	}
	r.text = whole.String()
	if r.text == "" && len(items) == 0 {
		r.text = said.String() // the stream broke off within the text
	}
	return r, None
}

func inOrder[T any](byPlace map[int]T) (all []T) {
	var places []int
	for i := range byPlace {
		places = append(places, i)
	}
	slices.Sort(places)
	for _, i := range places {
		all = append(all, byPlace[i])
	}
	return all
}
