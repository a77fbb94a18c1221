package wire

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/agentbench-go/agentbench/internal/rawjson"
	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/loop"
)

// A Shape names the API whose messages an agent wrote into its log. Its text is the
// name of a format.
type Shape string

// The shapes of messages.
const (
	NoShape        Shape = ""
	ChatShape      Shape = "openai-chat"
	AnthropicShape Shape = "anthropic-messages"
	ItemShape      Shape = "openai-responses-items"
	BedrockShape   Shape = "bedrock-messages"
	LangChainShape Shape = "langchain-messages"
	PydanticShape  Shape = "pydantic-ai-messages"
	VercelShape    Shape = "vercel-messages"
	GeminiShape    Shape = "gemini-contents"
	GenAIShape     Shape = "genai-messages"
	GooseShape     Shape = "goose"
	PiShape        Shape = "pi-messages"
	ShareGPTShape  Shape = "sharegpt"
)

// ShapeOf returns the shape of a message, [NoShape] for what is not a message. A
// message of text alone, which many APIs write alike, is in [ChatShape].
func ShapeOf(raw json.RawMessage) Shape {
	keys := keysOf(raw)
	kind := String(keys["type"])
	switch {
	case keys == nil:
		return NoShape
	case IsString(keys["from"]) && IsString(keys["value"]):
		return ShareGPTShape
	case isPydantic(keys):
		return PydanticShape
	case isLangChain(keys):
		return LangChainShape
	case IsString(keys["role"]) && (IsArray(keys["parts"]) || IsArray(keys["content"])):
		return shapeOfBlocks(keys)
	case IsString(keys["role"]) && (kind == "" || kind == "message"):
		return ChatShape
	case isItem(kind, keys):
		return ItemShape
	}
	return NoShape
}

func shapeOfBlocks(keys map[string]json.RawMessage) Shape {
	blocks := keys["content"]
	shape := ChatShape
	if IsArray(keys["parts"]) {
		blocks, shape = keys["parts"], GeminiShape
	}
	for _, raw := range list(blocks) {
		block := keysOf(raw)
		switch kind := String(block["type"]); {
		case kind == "tool_use" || kind == "tool_result":
			return AnthropicShape
		case kind == "tool-call" || kind == "tool-result" || kind == "dynamic-tool" || kind == "step-start" || kind == "tool-invocation", strings.HasPrefix(kind, "tool-"):
			return VercelShape
		case kind == "tool_call" || kind == "tool_call_response", kind == "text" && IsString(block["content"]) && shape == GeminiShape:
			return GenAIShape
		case kind == "text" && shape == GeminiShape:
			return VercelShape
		case kind == "toolRequest" || kind == "toolResponse":
			return GooseShape
		case kind == "toolCall":
			return PiShape
		case block["toolUse"] != nil || block["toolResult"] != nil:
			return BedrockShape
		case kind == "input_text" || kind == "output_text":
			shape = ItemShape
		case kind == "" && block["text"] != nil && shape == ChatShape:
			shape = BedrockShape
		}
	}
	return shape
}

// LogMessages decodes a message of an agent's log, in the blocks of whatever API: the
// assistant's text and calls, each result as a message of its own. A message may hold
// several turns, or nothing of the run. The error says what is wrong with it.
func LogMessages(raw json.RawMessage) ([]Message, error) {
	keys := keysOf(raw)
	kind := String(keys["type"])
	switch {
	case keys == nil:
		var object struct{}
		if err := json.Unmarshal(raw, &object); err != nil {
			return nil, err
		}
		return nil, errors.New("it must be an object")
	case IsString(keys["from"]) && IsString(keys["value"]):
		return shareGPTMessages(keys)
	case isPydantic(keys):
		return pydanticMessages(keys), nil
	case isLangChain(keys):
		return langChainMessages(keys)
	case keys["role"] != nil && (kind == "" || kind == "message" || !isItem(kind, keys)):
		return roleMessages(raw, keys)
	case isItem(kind, keys):
		return itemMessages(raw, kind)
	case kind != "":
		return []Message{{Role: System, Unread: []string{kind}}}, nil
	}
	return nil, errors.New("it has no role")
}

// logRoles are the roles of [chatRoles] and their names in other APIs.
func logRole(name string) (Role, bool) {
	if r, ok := chatRoles[name]; ok {
		return r, true
	}
	switch name {
	case "model", "ai", "bot", "gpt":
		return Assistant, true
	case "human":
		return User, true
	case "toolResult", "tool_result", "tool_response", "ipython", "observation":
		return Tool, true
	}
	return User, false
}

// roleMessages decodes a message with a role.
func roleMessages(raw json.RawMessage, keys map[string]json.RawMessage) ([]Message, error) {
	blocks := keys["content"]
	if blocks == nil && IsArray(keys["parts"]) {
		blocks = keys["parts"]
	}
	m, err := headOf(raw, keys)
	if err != nil {
		return nil, err
	}
	role, known := logRole(m.Role)
	if m.Role == "" {
		return nil, errors.New("it has no role")
	} else if !known {
		return nil, fmt.Errorf("unknown role %s (want system, developer, user, assistant or tool)", text.Quote(m.Role, 40))
	}
	for i := range m.ToolCalls {
		if _, ok := m.ToolCalls[i].call(); !ok {
			return nil, fmt.Errorf("call %d: it has no function with a name and arguments", i+1)
		}
	}
	said := m.message()
	said.Role = role
	said.Unread = unreadFields(keys)
	if role == Tool && (Given(keys["isError"]) || Given(keys["is_error"]) || String(keys["status"]) == "error") {
		said.Code = loop.ToolBug
	}
	if role == Assistant {
		said.Model, said.TokensIn, said.TokensOut = usageOf(keys)
	}
	if !IsArray(blocks) {
		said.Text = cmp.Or(Text(blocks), said.Text)
		return []Message{said}, nil
	}
	return withBlocks(said, blocks), nil
}

// headOf decodes all of a message but its content.
func headOf(raw json.RawMessage, keys map[string]json.RawMessage) (m chatMessage, err error) {
	if keys["toolCalls"] == nil && keys["toolCallId"] == nil {
		if err = rawjson.Unmarshal(raw, &m); keys["content"] != nil {
			m.Content = nil
		}
		return m, err
	}
	rest := maps.Clone(keys)
	delete(rest, "content")
	for camel, snake := range map[string]string{"toolCalls": "tool_calls", "toolCallId": "tool_call_id"} {
		if rest[snake] == nil && rest[camel] != nil {
			rest[snake] = rest[camel]
		}
	}
	head, _ := json.Marshal(rest) // of valid JSON, which never fails
	return m, json.Unmarshal(head, &m)
}

// withBlocks returns a message with the blocks of its content, and their results as
// messages of their own: those of the assistant after what it said, and all others
// before. Blocks that nobody needs make no message.
func withBlocks(m Message, blocks json.RawMessage) (all []Message) {
	items := list(blocks)
	var said texts
	var results []Message
	given := m.Text // beside the content: a refusal, a transcript, an error
	calls := len(m.Calls) > 0
	m.Text = ""
	spoke := len(items) == 0 || calls || given != ""
	end := func() {
		if m.Role != Assistant {
			all = append(all, results...)
		}
		if spoke {
			m.Text = cmp.Or(said.String(), given)
			all = append(all, m)
		} else if len(m.Unread) > 0 {
			all = append(all, Message{Role: System, Unread: m.Unread})
		}
		if m.Role == Assistant {
			all = append(all, results...)
		}
		next := Message{Role: m.Role, ID: m.ID, Code: m.Code, Model: m.Model}
		if !spoke { // the tokens are those of what comes first
			next.TokensIn, next.TokensOut = m.TokensIn, m.TokensOut
		}
		m = next
		said, results, spoke, given, calls = nil, nil, false, "", false
	}
	for _, raw := range items {
		p := readBlock(raw, m.Role)
		next := m.Role == Assistant && (isStep(raw) || p.text != "" && len(results) > 0)
		if next {
			end()
		}
		if p.unread != "" {
			m.Unread = append(m.Unread, p.unread)
		}
		if m.Role == Assistant && p.said && isMedia(raw) {
			p.said = false
		}
		if p.said {
			said.add(p.text)
			spoke = true
		}
		switch {
		case len(p.calls) == 0:
		case m.Role != Assistant:
			said.add("[" + p.calls[0].Name + "]")
			m.Unread = append(m.Unread, "a call of the "+roleNames[m.Role])
			spoke = true
		case !calls: // a log that has them in a field repeats them here
			m.Calls = append(m.Calls, p.calls...)
			spoke = true
		}
		results = append(results, p.results...)
	}
	end()
	return all
}

var roleNames = map[Role]string{User: "user", Tool: "tool", System: "system"}

func isStep(raw json.RawMessage) bool { return String(keysOf(raw)["type"]) == "step-start" }

func isMedia(raw json.RawMessage) bool {
	return slices.Contains(mediaBlocks, String(keysOf(raw)["type"]))
}

// readFields are the fields of a message that speak of calls or results, and that are
// read or only repeat what is read.
var readFields = []string{"tool_calls", "toolCalls", "function_call", "tool_call_id", "toolCallId", "tool_call_ids", "tool_name", "toolName",
	"tool_call_chunks", "invalid_tool_calls", "toolUseResult", "tool_choice", "toolCallResult"}

// unreadFields returns the fields of a message that speak of calls or results, hold
// some, and are not known.
func unreadFields(keys map[string]json.RawMessage) (unread []string) {
	for key, value := range keys {
		holds := IsObject(value) || IsArray(value)
		if holds && len(value) > 2 && carriesCalls(key) && !slices.Contains(readFields, key) {
			unread = append(unread, key)
		}
	}
	slices.Sort(unread)
	return unread
}

// usageOf returns the model and the tokens of an assistant's message in a log.
func usageOf(keys map[string]json.RawMessage) (model string, in, out int64) {
	meta := keysOf(keys["response_metadata"])
	model = cmp.Or(String(keys["model"]), String(keys["model_name"]), String(meta["model_name"]), String(meta["model"]))
	if IsObject(keys["model"]) {
		model = ""
	}
	for _, raw := range []json.RawMessage{keys["usage"], keys["usage_metadata"], meta["token_usage"], meta["usage"], keysOf(keys["metrics"])["usage"]} {
		if in, out = Usage(raw); in+out > 0 {
			return model, in, out
		}
	}
	return model, 0, 0
}

// Usage returns the tokens that were read and written from a usage object in the words
// of any API. Tokens of a cache are added where the API counts them apart.
func Usage(raw json.RawMessage) (in, out int64) {
	keys := keysOf(raw)
	if len(keys) == 0 {
		return 0, 0
	}
	n := func(names ...string) int64 {
		for _, name := range names {
			var v float64
			if raw := keys[name]; raw != nil && json.Unmarshal(raw, &v) == nil && v > 0 {
				return tokens(int64(min(v, 1<<40)))
			}
		}
		return 0
	}
	in = n("input_tokens", "prompt_tokens", "inputTokens", "promptTokens", "promptTokenCount", "input", "prompt", "request_tokens")
	out = n("output_tokens", "completion_tokens", "outputTokens", "completionTokens", "candidatesTokenCount", "output", "completion", "response_tokens")
	in += n("cache_creation_input_tokens") + n("cache_read_input_tokens") + n("cacheReadInputTokens") + n("cacheWriteInputTokens") + n("cacheRead") + n("cacheWrite")
	return in, out + n("thoughtsTokenCount")
}
