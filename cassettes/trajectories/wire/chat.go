package wire

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/agentbench-go/agentbench/internal/rawjson"
	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/loop"
)

// chat is OpenAI's Chat Completions, which many servers implement.
var chat = api{history: "messages", request: chatRequest, said: chatSaid, reply: chatReply}

// A chatMessage is a message of a request, of an answer or of a log, or a piece
// of a streamed one.
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

	// Logs may add to a result why it failed, and to an answer its tokens. In tau2,
	// whose messages have a requestor, the id of a result is that of its call.
	Error     json.RawMessage `json:"error"`
	Requestor json.RawMessage `json:"requestor"`
	ID        json.RawMessage `json:"id"`
	Usage     json.RawMessage `json:"usage"`
	// Recordings of agentbench watch have the seconds since the conversation began.
	At json.RawMessage `json:"at"`
}

// A chatCall is a call, or a piece of a streamed one. In logs its function may also
// be a bare name beside args, or the name and the arguments are in the call itself.
type chatCall struct {
	Index    *int            `json:"index"`
	ID       json.RawMessage `json:"id"`
	Type     string          `json:"type"`
	Function *chatFunction   `json:"function"`
	Args     json.RawMessage `json:"args"`

	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`

	Custom *struct {
		Name  string `json:"name"`
		Input string `json:"input"`
	} `json:"custom"`
}

type chatFunction struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// UnmarshalJSON also takes a bare name.
func (f *chatFunction) UnmarshalJSON(raw []byte) error {
	type object chatFunction
	var into any = &f.Name
	if IsObject(raw) {
		into = (*object)(f)
	}
	if rawjson.Unmarshal(raw, into) == nil {
		return nil
	}
	return errors.New("the function of a call must be a name, or an object with a name and arguments")
}

// call returns the call, and whether it names a function.
func (c *chatCall) call() (call Call, ok bool) {
	call = Call{ID: String(c.ID), Name: c.Name, Args: String(c.Arguments)}
	switch {
	case c.Custom != nil && (c.Function == nil || c.Type == "custom"): // some servers write both, one of them empty
		call.Name, call.Args = c.Custom.Name, asInput(c.Custom.Input)
	case c.Function != nil:
		call.Name, call.Args = c.Function.Name, String(c.Function.Arguments)
		if c.Function.Arguments == nil {
			call.Args = String(c.Arguments)
		}
		if c.Args != nil {
			call.Args = String(c.Args)
		}
	default:
		if c.Args != nil {
			call.Args = String(c.Args)
		}
		return call, call.Name != ""
	}
	return call, true
}

// asInput returns the arguments of a call of a custom tool, whose input is a text.
func asInput(input string) string {
	raw, _ := json.Marshal(map[string]string{"input": input})
	return string(raw)
}

var chatRoles = map[string]Role{"system": System, "developer": System, "user": User, "assistant": Assistant, "tool": Tool, "function": Tool}

// message returns a whole message. An unknown role counts as the user's.
func (m *chatMessage) message() Message {
	out := Message{Role: chatRoles[m.Role], Text: m.text(), Calls: m.calls(), ID: String(m.ToolCallID)}
	if out.Role == Tool && out.ID == "" && Given(m.Requestor) {
		out.ID = String(m.ID)
	}
	var u chatUsage
	if out.Role == Assistant && IsObject(m.Usage) && json.Unmarshal(m.Usage, &u) == nil {
		out.TokensIn, out.TokensOut = u.Prompt, u.Completion
	}
	out.At, out.Timed = secondsIn(m.At)
	if Given(m.Error) {
		// The log says that the tool failed, but not how. Such a result often has no
		// other content.
		out.Code = loop.ToolBug
		out.Text = cmp.Or(out.Text, Text(m.Error))
	}
	return out
}

// secondsIn reads a number of seconds, at most a hundred years.
func secondsIn(raw json.RawMessage) (at time.Duration, ok bool) {
	const most = 100 * 365 * 24 * 60 * 60
	var seconds float64
	if len(raw) == 0 || json.Unmarshal(raw, &seconds) != nil || !(seconds >= 0 && seconds <= most) || string(raw) == "null" {
		return 0, false
	}
	return time.Duration(math.Round(seconds*1000)) * time.Millisecond, true
}

func (m *chatMessage) text() string {
	t := cmp.Or(Text(m.Content), Text(m.Refusal))
	if t == "" && m.Audio != nil {
		t = m.Audio.Transcript
	}
	return t
}

// calls returns the calls of a whole message.
func (m *chatMessage) calls() (calls []Call) {
	for i := range m.ToolCalls {
		c, _ := m.ToolCalls[i].call()
		calls = append(calls, c)
	}
	if f := m.FunctionCall; f != nil && (f.Name != "" || len(calls) == 0 && Given(f.Arguments)) {
		calls = append(calls, Call{Name: f.Name, Args: String(f.Arguments)})
	}
	return calls
}

// ChatMessage decodes a message of the Chat Completions API in a log, also with what
// agents add to the API: an error, or a call whose function is a bare name beside
// args. It returns an error for an unknown role and for a call without a function.
func ChatMessage(raw json.RawMessage) (Message, error) {
	var m chatMessage
	if err := rawjson.Unmarshal(raw, &m); err != nil {
		return Message{}, err
	}
	if _, known := chatRoles[m.Role]; m.Role == "" {
		return Message{}, errors.New("it has no role")
	} else if !known {
		return Message{}, fmt.Errorf("unknown role %s (want system, developer, user, assistant or tool)", text.Quote(m.Role, 40))
	}
	for i := range m.ToolCalls {
		if _, ok := m.ToolCalls[i].call(); !ok {
			return Message{}, fmt.Errorf("call %d: it has no function with a name and arguments", i+1)
		}
	}
	return m.message(), nil
}

// ChatCompletion decodes a whole answer of the Chat Completions API. ok is false if
// body is not one.
func ChatCompletion(body json.RawMessage) (m Message, model string, ok bool) {
	r, why := chatReply([]json.RawMessage{body})
	if why != None {
		return m, "", false
	}
	return Message{Role: Assistant, Text: r.text, Calls: r.calls, TokensIn: r.in, TokensOut: r.out}, r.model, true
}

func chatRequest(body json.RawMessage) (*request, json.RawMessage, bool) {
	var r struct {
		Model    json.RawMessage `json:"model"`
		Messages json.RawMessage `json:"messages"`
	}
	if rawjson.Unmarshal(body, &r) != nil || !IsArray(r.Messages) {
		return nil, nil, false
	}
	return &request{model: String(r.Model)}, r.Messages, true
}

func chatSaid(raw json.RawMessage) (said, bool) {
	var m chatMessage
	if rawjson.Unmarshal(raw, &m) != nil {
		return said{}, false
	}
	one := m.message()
	if one.Role == System {
		return said{system: one.Text}, true
	}
	return said{messages: []Message{one}}, true
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
		if rawjson.Unmarshal(raw, &p) != nil {
			return nil, Unreadable
		}
		if Given(p.Error) {
			return nil, ErrorAnswer
		}
		r.id, r.model = cmp.Or(r.id, String(p.ID)), cmp.Or(r.model, String(p.Model))
		for _, u := range []*chatUsage{p.Usage, p.usageOfGroq()} {
			if u != nil {
				r.in, r.out = tokens(u.Prompt), tokens(u.Completion)
			}
		}
		for _, c := range p.Choices {
			if Given(c.Error) {
				return nil, ErrorAnswer
			}
			if c.Index != 0 {
				continue
			}
			if m := c.Message; m != nil && c.Delta == nil { // a stream may have the text so far beside the piece
				said.WriteString(m.text())
				r.calls = append(r.calls, m.calls()...)
			}
			if m := c.Delta; m != nil {
				said.WriteString(m.text())
				calls.addAll(m)
			}
			r.finish = cmp.Or(String(c.Finish), r.finish)
		}
	}
	r.text, r.calls = said.String(), append(r.calls, calls.calls()...)
	return r, None
}

func (p *chatPayload) usageOfGroq() *chatUsage {
	if p.Groq == nil {
		return nil
	}
	return p.Groq.Usage
}

// tokens bounds an untrusted count.
func tokens(n int64) int64 { return min(max(n, 0), 1<<40) }

// pieces assembles calls from the pieces in a stream.
type pieces struct{ list []*piece }

type piece struct {
	index    *int
	id, name string
	args     strings.Builder
}

// addAll adds the pieces of calls in a delta.
func (p *pieces) addAll(delta *chatMessage) {
	for i := range delta.ToolCalls {
		c, _ := delta.ToolCalls[i].call()
		p.add(delta.ToolCalls[i].Index, c)
	}
	if f := delta.FunctionCall; f != nil {
		p.add(nil, Call{Name: f.Name, Args: String(f.Arguments)})
	}
}

// add adds a piece to the call with its index or id, else to the last call. Some
// servers give several calls one index; another id is another call.
func (p *pieces) add(index *int, more Call) {
	c := p.find(index, more.ID)
	if c == nil {
		c = &piece{index: index}
		p.list = append(p.list, c)
	}
	c.id, c.name = cmp.Or(c.id, more.ID), cmp.Or(c.name, more.Name)
	c.args.WriteString(more.Args)
}

func (p *pieces) find(index *int, id string) *piece {
	const most = 1000 // calls that may still grow
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

// calls returns the calls, in the order of their indexes if all have one.
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
