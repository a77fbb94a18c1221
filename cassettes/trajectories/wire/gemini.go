package wire

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/agentbench-go/agentbench/internal/rawjson"
	"github.com/agentbench-go/agentbench/loop"
)

// gemini is Google's generateContent and streamGenerateContent.
var gemini = api{history: "contents", request: geminiRequest, said: geminiSaid, reply: geminiReply}

type geminiContent struct {
	Role  string                       `json:"role"`
	Parts []map[string]json.RawMessage `json:"parts"`
}

type geminiFunction struct {
	ID       string          `json:"id"`
	Name     string          `json:"name"`
	Args     json.RawMessage `json:"args"`
	Response json.RawMessage `json:"response"`
}

// A geminiPart is one part: a text, a call, a result or something else.
type geminiPart struct {
	text    string
	call    *Call
	result  *Message
	thought bool
}

func readGeminiPart(part map[string]json.RawMessage) (p geminiPart) {
	p.thought = Given(part["thought"])
	var f geminiFunction
	switch call, result := either(part, "functionCall", "function_call"), either(part, "functionResponse", "function_response"); {
	case IsObject(call):
		json.Unmarshal(call, &f) // a broken call has no name
		p.call = &Call{ID: f.ID, Name: f.Name, Args: String(f.Args)}
	case IsObject(result):
		json.Unmarshal(result, &f)
		p.result = &Message{Role: Tool, ID: f.ID, Text: String(f.Response)}
		if Given(keysOf(f.Response)["error"]) {
			p.result.Code = loop.ToolBug
		}
	case part["text"] != nil:
		p.text = String(part["text"])
	default:
		for _, kind := range []string{"inlineData", "fileData", "inline_data", "file_data"} {
			if part[kind] != nil {
				p.text = "[" + kind + "]"
			}
		}
	}
	return p
}

func either(part map[string]json.RawMessage, a, b string) json.RawMessage {
	if part[a] != nil {
		return part[a]
	}
	return part[b]
}

func geminiRequest(body json.RawMessage) (*request, json.RawMessage, bool) {
	var r struct {
		System    *geminiContent  `json:"systemInstruction"`
		SystemToo *geminiContent  `json:"system_instruction"`
		Contents  json.RawMessage `json:"contents"`
	}
	if rawjson.Unmarshal(body, &r) != nil || !IsArray(r.Contents) {
		return nil, nil, false
	}
	req := &request{}
	for _, s := range []*geminiContent{r.System, r.SystemToo} {
		if s != nil {
			for _, part := range s.Parts {
				req.system.add(readGeminiPart(part).text)
			}
		}
	}
	return req, r.Contents, true
}

func geminiSaid(raw json.RawMessage) (said, bool) {
	var c geminiContent
	if rawjson.Unmarshal(raw, &c) != nil {
		return said{}, false
	}
	return said{messages: c.messages()}, true
}

// messages returns the results in a content and then its texts as one message.
func (c *geminiContent) messages() (messages []Message) {
	if c.Role == "model" {
		m := Message{Role: Assistant}
		m.Text, m.Calls = c.said()
		return []Message{m}
	}
	var said texts
	for _, part := range c.Parts {
		p := readGeminiPart(part)
		if p.result != nil {
			messages = append(messages, *p.result)
		} else {
			said.add(p.text)
		}
	}
	if len(said) > 0 || len(messages) == 0 {
		messages = append(messages, Message{Role: User, Text: said.String()})
	}
	return messages
}

// said returns the text of the model, which comes in pieces, and its calls.
func (c *geminiContent) said() (string, []Call) {
	var said strings.Builder
	var calls []Call
	for _, part := range c.Parts {
		p := readGeminiPart(part)
		if p.call != nil {
			calls = append(calls, *p.call)
		} else if !p.thought {
			said.WriteString(p.text)
		}
	}
	return said.String(), calls
}

func geminiReply(payloads []json.RawMessage) (*reply, Reason) {
	r := &reply{}
	var said strings.Builder
	for _, raw := range payloads {
		var p struct {
			ID         string `json:"responseId"`
			Model      string `json:"modelVersion"`
			Candidates []struct {
				Index   int             `json:"index"`
				Content geminiContent   `json:"content"`
				Finish  json.RawMessage `json:"finishReason"` // a word, or its number
			} `json:"candidates"`
			Feedback struct {
				Blocked json.RawMessage `json:"blockReason"`
			} `json:"promptFeedback"`
			Usage *struct {
				Prompt     int64 `json:"promptTokenCount"`
				ToolUse    int64 `json:"toolUsePromptTokenCount"` // what the server's own tools found
				Candidates int64 `json:"candidatesTokenCount"`
				Thoughts   int64 `json:"thoughtsTokenCount"`
			} `json:"usageMetadata"`
			Error json.RawMessage `json:"error"`
		}
		if rawjson.Unmarshal(raw, &p) != nil {
			return nil, Unreadable
		}
		if Given(p.Error) {
			return nil, ErrorAnswer
		}
		r.id, r.model = cmp.Or(r.id, p.ID), cmp.Or(r.model, p.Model)
		r.finish = cmp.Or(enum(p.Feedback.Blocked), r.finish)
		if u := p.Usage; u != nil {
			r.in, r.out = tokens(u.Prompt)+tokens(u.ToolUse), tokens(u.Candidates)+tokens(u.Thoughts)
		}
		for _, c := range p.Candidates {
			if c.Index != 0 {
				continue
			}
			t, calls := c.Content.said()
			said.WriteString(t)
			r.calls = append(r.calls, calls...)
			r.finish = cmp.Or(enum(c.Finish), r.finish)
		}
	}
	r.text = said.String()
	return r, None
}

// enum returns the word of an enumeration, or its number, "" for none: 0 means
// unspecified.
func enum(raw json.RawMessage) string {
	if word := String(raw); word != "0" {
		return word
	}
	return ""
}
