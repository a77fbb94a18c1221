package wire

import (
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"net/url"
	"strings"

	"github.com/agentbench-go/agentbench/internal/rawjson"
	"github.com/agentbench-go/agentbench/loop"
)

// bedrock is the Converse API of Amazon Bedrock. A stream is binary: see [frames].
var bedrock = api{history: "messages", request: bedrockRequest, said: bedrockSaid, reply: bedrockReply}

type bedrockToolUse struct {
	ID    string          `json:"toolUseId"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
}

type bedrockToolResult struct {
	ID      string                       `json:"toolUseId"`
	Content []map[string]json.RawMessage `json:"content"`
	Status  string                       `json:"status"`
}

// bedrockPart decodes a block with a toolUse or a toolResult.
func bedrockPart(keys map[string]json.RawMessage) part {
	if raw := keys["toolUse"]; raw != nil {
		var use bedrockToolUse
		if json.Unmarshal(raw, &use) != nil {
			return part{unread: "toolUse"}
		}
		return part{calls: []Call{{ID: use.ID, Name: use.Name, Args: String(use.Input)}}}
	}
	var result bedrockToolResult
	if json.Unmarshal(keys["toolResult"], &result) != nil {
		return part{unread: "toolResult"}
	}
	var said texts
	for _, block := range result.Content {
		switch {
		case block["text"] != nil:
			said.add(String(block["text"]))
		case block["json"] != nil:
			said.add(String(block["json"]))
		default:
			for kind := range block {
				said.add("[" + kind + "]")
			}
		}
	}
	m := Message{Role: Tool, ID: result.ID, Text: said.String()}
	if result.Status == "error" {
		m.Code = loop.ToolBug
	}
	return part{results: []Message{m}}
}

func bedrockRequest(body json.RawMessage) (*request, json.RawMessage, bool) {
	var r struct {
		System   json.RawMessage `json:"system"`
		Messages json.RawMessage `json:"messages"`
	}
	if rawjson.Unmarshal(body, &r) != nil || !IsArray(r.Messages) {
		return nil, nil, false
	}
	req := &request{}
	for _, block := range list(r.System) {
		req.system.add(readBlock(block, System).text)
	}
	return req, r.Messages, true
}

func bedrockSaid(raw json.RawMessage) (said, bool) {
	messages, err := LogMessages(raw)
	return said{messages: messages}, err == nil
}

// bedrockReply decodes an answer of Converse or the events of ConverseStream, each in
// an object with its kind as the key.
func bedrockReply(payloads []json.RawMessage) (*reply, Reason) {
	r := &reply{}
	streamed := map[int]*streamedBlock{}
	var said texts
	for _, raw := range payloads {
		var p struct {
			Output struct {
				Message json.RawMessage `json:"message"`
			} `json:"output"`
			Stop  string `json:"stopReason"`
			Usage struct {
				In         int64 `json:"inputTokens"`
				Out        int64 `json:"outputTokens"`
				CacheRead  int64 `json:"cacheReadInputTokens"`
				CacheWrite int64 `json:"cacheWriteInputTokens"`
			} `json:"usage"`
			Message string `json:"message"` // of an error

			Start struct {
				Index int `json:"contentBlockIndex"`
				Start struct {
					ToolUse *bedrockToolUse `json:"toolUse"`
				} `json:"start"`
			} `json:"contentBlockStart"`
			Delta *struct {
				Index int `json:"contentBlockIndex"`
				Delta struct {
					Text    string `json:"text"`
					ToolUse struct {
						Input string `json:"input"`
					} `json:"toolUse"`
				} `json:"delta"`
			} `json:"contentBlockDelta"`
			End struct {
				Stop string `json:"stopReason"`
			} `json:"messageStop"`
			Metadata struct {
				Usage struct {
					In  int64 `json:"inputTokens"`
					Out int64 `json:"outputTokens"`
				} `json:"usage"`
			} `json:"metadata"`
		}
		if rawjson.Unmarshal(raw, &p) != nil {
			return nil, Unreadable
		}
		if p.Message != "" {
			return nil, ErrorAnswer
		}
		if p.Output.Message != nil {
			messages, err := LogMessages(p.Output.Message)
			if err != nil {
				return nil, Unreadable
			}
			for _, m := range messages {
				said.add(m.Text)
				r.calls = append(r.calls, m.Calls...)
			}
		}
		if use := p.Start.Start.ToolUse; use != nil {
			streamed[p.Start.Index] = &streamedBlock{block: block{Type: "tool_use", ID: use.ID, Name: use.Name}}
		}
		if d := p.Delta; d != nil {
			b := streamed[d.Index]
			if b == nil {
				b = &streamedBlock{block: block{Type: "text"}}
				streamed[d.Index] = b
			}
			b.text.WriteString(d.Delta.Text)
			b.input.WriteString(d.Delta.ToolUse.Input)
		}
		r.finish = cmp.Or(p.Stop, p.End.Stop, r.finish)
		r.in += tokens(p.Usage.In) + tokens(p.Usage.CacheRead) + tokens(p.Usage.CacheWrite) + tokens(p.Metadata.Usage.In)
		r.out += tokens(p.Usage.Out) + tokens(p.Metadata.Usage.Out)
	}
	for _, b := range inOrder(streamed) {
		whole := b.whole()
		if whole.Type == "tool_use" {
			r.calls = append(r.calls, whole.call())
		} else {
			said.add(whole.Text)
		}
	}
	r.text = said.String()
	return r, None
}

// bedrockModel returns the model that a path such as /model/ID/converse names.
func bedrockModel(path string) string {
	_, rest, _ := strings.Cut(path, "/model/")
	id, _, _ := strings.Cut(rest, "/")
	if name, err := url.PathUnescape(id); err == nil {
		return name
	}
	return id
}

// frames returns the events of Amazon's binary event stream, each as an object with
// its kind as the key, and false for what is not such a stream. An event of a model
// behind InvokeModel is its own JSON.
//
// A frame has its length, the length of its headers and a checksum, each in four
// bytes, then the headers, the payload, and a checksum of four bytes.
func frames(body []byte) (all []json.RawMessage, ok bool) {
	for len(body) > 0 {
		if len(body) < 16 {
			return all, false
		}
		size, head := int(binary.BigEndian.Uint32(body)), int(binary.BigEndian.Uint32(body[4:]))
		if size < 16 || size > len(body) || head < 0 || head > size-16 {
			return all, false
		}
		payload := body[12+head : size-4]
		if !json.Valid(payload) {
			return all, false
		}
		var inner struct {
			Bytes string `json:"bytes"`
		}
		json.Unmarshal(payload, &inner) // any other shape has no bytes
		if data, err := base64.StdEncoding.DecodeString(inner.Bytes); err == nil && len(data) > 0 && json.Valid(data) {
			all = append(all, data)
		} else {
			one, _ := json.Marshal(map[string]json.RawMessage{eventType(body[12 : 12+head]): payload})
			all = append(all, one)
		}
		body = body[size:]
	}
	return all, len(all) > 0
}

// eventType returns the kind of an event from the headers of its frame. A header has
// the length of its name in a byte, the name, the type 7 of a text, the length of the
// text in two bytes, and the text.
func eventType(headers []byte) string {
	for len(headers) > 0 {
		n := int(headers[0])
		if len(headers) < 1+n+3 || headers[1+n] != 7 {
			return ""
		}
		name := string(headers[1 : 1+n])
		m := int(binary.BigEndian.Uint16(headers[1+n+1:]))
		if headers = headers[1+n+3:]; len(headers) < m {
			return ""
		}
		if name == ":event-type" || name == ":exception-type" {
			return string(headers[:m])
		}
		headers = headers[m:]
	}
	return ""
}
