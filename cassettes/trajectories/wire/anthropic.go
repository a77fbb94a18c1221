package wire

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/agentbench-go/agentbench/internal/rawjson"
	"github.com/agentbench-go/agentbench/loop"
)

// anthropic is Anthropic's Messages API.
var anthropic = api{history: "messages", request: anthropicRequest, said: anthropicSaid, reply: anthropicReply}

// A block is a part of a message's content.
type block struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	Content   json.RawMessage `json:"content"`
	IsError   bool            `json:"is_error"`
}

func anthropicRequest(body json.RawMessage) (*request, json.RawMessage, bool) {
	var r struct {
		Model    json.RawMessage `json:"model"`
		System   json.RawMessage `json:"system"`
		Messages json.RawMessage `json:"messages"`
		Thread   json.RawMessage `json:"thread"` // the API keeps the messages before
	}
	if rawjson.Unmarshal(body, &r) != nil || !IsArray(r.Messages) {
		return nil, nil, false
	}
	req := &request{model: String(r.Model), previous: String(keysOf(r.Thread)["previous_message_id"])}
	req.system.add(Text(r.System))
	return req, r.Messages, true
}

func anthropicSaid(raw json.RawMessage) (said, bool) {
	var m struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	}
	if rawjson.Unmarshal(raw, &m) != nil {
		return said{}, false
	}
	return said{messages: AnthropicMessages(m.Role, m.Content)}, true
}

// AnthropicMessages decodes a message of the Anthropic API: first the results in its
// content, each as a message, and then its texts and calls as one message. A role other
// than assistant is the user's.
func AnthropicMessages(role string, content json.RawMessage) []Message {
	m := Message{Role: User}
	if role == "assistant" {
		m.Role = Assistant
	}
	if !IsArray(content) {
		m.Text = Text(content)
		return []Message{m}
	}
	return withBlocks(m, content)
}

func (b *block) call() Call { return Call{ID: b.ID, Name: b.Name, Args: String(b.Input)} }

func (b *block) result() Message {
	m := Message{Role: Tool, ID: b.ToolUseID, Text: Text(b.Content)}
	if b.IsError {
		m.Code = loop.ToolBug
	}
	return m
}

type anthropicUsage struct {
	In        *int64 `json:"input_tokens"`
	CacheMade *int64 `json:"cache_creation_input_tokens"`
	CacheRead *int64 `json:"cache_read_input_tokens"`
	Out       *int64 `json:"output_tokens"`
}

// addTo overwrites the counts in sum that u has: the end of a stream has totals.
func (u *anthropicUsage) addTo(sum *anthropicUsage) {
	for _, f := range []struct{ from, to **int64 }{
		{&u.In, &sum.In}, {&u.CacheMade, &sum.CacheMade}, {&u.CacheRead, &sum.CacheRead}, {&u.Out, &sum.Out},
	} {
		if *f.from != nil {
			*f.to = *f.from
		}
	}
}

type anthropicMessage struct {
	ID      string          `json:"id"`
	Model   json.RawMessage `json:"model"`
	Content []block         `json:"content"`
	Stop    string          `json:"stop_reason"`
	Usage   anthropicUsage  `json:"usage"`
}

// An anthropicPayload is a whole message, or an event of a streamed one.
type anthropicPayload struct {
	anthropicMessage
	Type    string            `json:"type"`
	Message *anthropicMessage `json:"message"`
	Index   int               `json:"index"`
	Block   *block            `json:"content_block"`
	Delta   struct {
		Text  string `json:"text"`
		Input string `json:"partial_json"`
		Stop  string `json:"stop_reason"`
	} `json:"delta"`
}

// A streamedBlock is a block that grows with the stream.
type streamedBlock struct {
	block
	text, input strings.Builder
}

func anthropicReply(payloads []json.RawMessage) (*reply, Reason) {
	var whole anthropicMessage
	streamed := map[int]*streamedBlock{}
	for _, raw := range payloads {
		var p anthropicPayload
		if Given(keysOf(raw)["error"]) {
			return nil, ErrorAnswer
		}
		if rawjson.Unmarshal(raw, &p) != nil {
			return nil, Unreadable
		}
		switch {
		case p.Type == "message":
			whole = p.anthropicMessage
		case p.Type == "message_start" && p.Message != nil:
			whole = *p.Message
		case p.Type == "content_block_start" && p.Block != nil:
			streamed[p.Index] = &streamedBlock{block: *p.Block}
		case p.Type == "content_block_delta" && streamed[p.Index] != nil:
			streamed[p.Index].text.WriteString(p.Delta.Text)
			streamed[p.Index].input.WriteString(p.Delta.Input)
		case p.Type == "message_delta":
			whole.Stop = cmp.Or(p.Delta.Stop, whole.Stop)
			p.Usage.addTo(&whole.Usage)
		}
	}
	for _, b := range inOrder(streamed) {
		whole.Content = append(whole.Content, b.whole())
	}
	return whole.reply(), None
}

func (b *streamedBlock) whole() block {
	b.Text += b.text.String()
	if b.input.Len() > 0 {
		b.Input, _ = json.Marshal(b.input.String()) // as a text, since it may be cut off
	}
	return b.block
}

func (m *anthropicMessage) reply() *reply {
	r := &reply{id: m.ID, model: String(m.Model), finish: m.Stop}
	var said texts
	for _, b := range m.Content {
		switch b.Type {
		case "text":
			said.add(b.Text)
		case "tool_use":
			r.calls = append(r.calls, b.call())
		}
	}
	r.text = said.String()
	for _, n := range []*int64{m.Usage.In, m.Usage.CacheMade, m.Usage.CacheRead} {
		if n != nil {
			r.in += tokens(*n)
		}
	}
	if m.Usage.Out != nil {
		r.out = tokens(*m.Usage.Out)
	}
	return r
}
