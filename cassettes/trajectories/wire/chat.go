package wire

import (
	"encoding/json"
	"slices"
	"strings"
)

// chat is OpenAI's Chat Completions, which many servers speak.
var chat = api{request: chatRequest, reply: chatReply}

type chatMessage struct {
	Role         string          `json:"role"`
	Content      json.RawMessage `json:"content"`
	Refusal      json.RawMessage `json:"refusal"`
	ToolCalls    []chatCall      `json:"tool_calls"`
	FunctionCall *chatFunction   `json:"function_call"` // the form before tool_calls
	ToolCallID   json.RawMessage `json:"tool_call_id"`
	Audio        *struct {
		Transcript string `json:"transcript"`
	} `json:"audio"`
}

// A chatCall is a call, or a piece of one.
type chatCall struct {
	Index    *int            `json:"index"`
	ID       json.RawMessage `json:"id"`
	Function chatFunction    `json:"function"`
	Custom   *struct {
		Name  string `json:"name"`
		Input string `json:"input"`
	} `json:"custom"`
}

type chatFunction struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

func (m *chatMessage) text() string {
	t := first(text(m.Content), text(m.Refusal))
	if t == "" && m.Audio != nil {
		t = m.Audio.Transcript
	}
	return t
}

// addTo gives the pieces of calls in the message to those that are there.
func (m *chatMessage) addTo(calls *pieces, whole bool) {
	for _, c := range m.ToolCalls {
		if whole {
			c.Index = nil
		}
		name, args := c.Function.Name, arguments(c.Function.Arguments)
		if c.Custom != nil {
			name, args = c.Custom.Name, asInput(c.Custom.Input)
		}
		calls.add(c.Index, scalar(c.ID), name, args, whole)
	}
	if f := m.FunctionCall; f != nil {
		calls.add(nil, "", f.Name, arguments(f.Arguments), whole)
	}
}

// asInput makes arguments of a custom tool's input, which is a text.
func asInput(input string) string {
	raw, _ := json.Marshal(map[string]string{"input": input})
	return string(raw)
}

func chatRequest(body json.RawMessage) (*request, bool) {
	var r struct {
		Model    json.RawMessage `json:"model"`
		Messages []chatMessage   `json:"messages"`
	}
	if json.Unmarshal(body, &r) != nil || r.Messages == nil {
		return nil, false
	}
	req := &request{model: scalar(r.Model)}
	for _, m := range r.Messages {
		switch m.Role {
		case "system", "developer":
			req.system.add(m.text())
		case "assistant":
			var calls pieces
			m.addTo(&calls, true)
			req.messages = append(req.messages, Message{Role: Assistant, Text: m.text(), Calls: calls.calls()})
		case "tool", "function":
			req.messages = append(req.messages, Message{Role: Tool, Text: m.text(), ID: scalar(m.ToolCallID)})
		default:
			req.messages = append(req.messages, Message{Role: User, Text: m.text()})
		}
	}
	return req, true
}

type chatUsage struct {
	Prompt     int64 `json:"prompt_tokens"`
	Completion int64 `json:"completion_tokens"`
}

// A chatPayload is a whole completion or a chunk of one.
type chatPayload struct {
	ID      json.RawMessage `json:"id"`
	Model   json.RawMessage `json:"model"`
	Choices []struct {
		Index   int             `json:"index"`
		Message *chatMessage    `json:"message"`
		Delta   *chatMessage    `json:"delta"`
		Finish  json.RawMessage `json:"finish_reason"`
		Error   json.RawMessage `json:"error"`
	} `json:"choices"`
	Usage *chatUsage `json:"usage"`
	Groq  *struct {
		Usage *chatUsage `json:"usage"`
	} `json:"x_groq"`
	Error json.RawMessage `json:"error"`
}

func chatReply(payloads []json.RawMessage) (*reply, Reason) {
	r := &reply{}
	var said strings.Builder
	var calls pieces
	for _, raw := range payloads {
		var p chatPayload
		if json.Unmarshal(raw, &p) != nil {
			return nil, Unreadable
		}
		if given(p.Error) {
			return nil, ErrorAnswer
		}
		r.id, r.model = first(r.id, scalar(p.ID)), first(r.model, scalar(p.Model))
		for _, u := range []*chatUsage{p.Usage, p.usageOfGroq()} {
			if u != nil {
				r.in, r.out = tokens(u.Prompt), tokens(u.Completion)
			}
		}
		for _, c := range p.Choices {
			if given(c.Error) {
				return nil, ErrorAnswer
			}
			if c.Index != 0 {
				continue
			}
			if c.Message != nil {
				said.WriteString(c.Message.text())
				c.Message.addTo(&calls, true)
			}
			if c.Delta != nil {
				said.WriteString(c.Delta.text())
				c.Delta.addTo(&calls, false)
			}
			r.finish = first(scalar(c.Finish), r.finish)
		}
	}
	r.text, r.calls = said.String(), calls.calls()
	return r, None
}

func (p *chatPayload) usageOfGroq() *chatUsage {
	if p.Groq == nil {
		return nil
	}
	return p.Groq.Usage
}

// tokens bounds a count that a stranger wrote.
func tokens(n int64) int64 { return min(max(n, 0), 1<<40) }

// pieces puts calls together from their pieces.
type pieces struct{ list []*piece }

type piece struct {
	index    *int
	id, name string
	args     strings.Builder
}

// add takes a piece: of the call with its index, or its id, or of the last one.
// Some servers give several calls one index; another id is another call.
func (p *pieces) add(index *int, id, name, args string, whole bool) {
	var c *piece
	if !whole {
		c = p.find(index, id)
	}
	if c == nil {
		c = &piece{index: index}
		p.list = append(p.list, c)
	}
	c.id, c.name = first(c.id, id), first(c.name, name)
	c.args.WriteString(args)
}

func (p *pieces) find(index *int, id string) *piece {
	const most = 1000 // calls that still grow
	for _, c := range slices.Backward(p.list[max(0, len(p.list)-most):]) {
		switch {
		case id != "" && c.id != "" && id != c.id:
		case index != nil && c.index != nil && *index != *c.index:
		default:
			return c
		}
	}
	return nil
}

// calls gives the calls in the order of their indexes, if all have one.
func (p *pieces) calls() []Call {
	noIndex := func(c *piece) bool { return c.index == nil }
	if !slices.ContainsFunc(p.list, noIndex) {
		slices.SortStableFunc(p.list, func(a, b *piece) int { return *a.index - *b.index })
	}
	var calls []Call
	for _, c := range p.list {
		calls = append(calls, Call{ID: c.id, Name: c.name, Args: c.args.String()})
	}
	return calls
}
