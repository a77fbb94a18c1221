package wire

import (
	"cmp"
	"encoding/json"
	"errors"
	"strings"

	"github.com/agentbench-go/agentbench/loop"
)

// langChainTypes are the types of LangChain's messages and the names of their classes.
var langChainTypes = map[string]Role{
	"human": User, "HumanMessage": User, "HumanMessageChunk": User,
	"ai": Assistant, "AIMessage": Assistant, "AIMessageChunk": Assistant,
	"tool": Tool, "ToolMessage": Tool, "ToolMessageChunk": Tool, "function": Tool, "FunctionMessage": Tool,
	"system": System, "SystemMessage": System, "SystemMessageChunk": System, "developer": System,
	"chat": User, "ChatMessage": User,
}

// langChainForm returns the type and the fields of a message of LangChain in one of
// its three forms: flat, {type, data}, and the dump of a constructor.
func langChainForm(keys map[string]json.RawMessage) (kind string, fields map[string]json.RawMessage) {
	kind = String(keys["type"])
	switch {
	case kind == "constructor" && IsObject(keys["kwargs"]):
		ids := list(keys["id"])
		if len(ids) == 0 {
			return "", nil
		}
		return String(ids[len(ids)-1]), keysOf(keys["kwargs"])
	case IsObject(keys["data"]):
		return kind, keysOf(keys["data"])
	}
	return kind, keys
}

func isLangChain(keys map[string]json.RawMessage) bool {
	kind, fields := langChainForm(keys)
	_, known := langChainTypes[kind]
	return known && (fields["content"] != nil || fields["tool_calls"] != nil) && fields["role"] == nil || known && kind == "chat" && fields["content"] != nil
}

func langChainMessages(keys map[string]json.RawMessage) ([]Message, error) {
	kind, fields := langChainForm(keys)
	m := Message{Role: langChainTypes[kind], Unread: unreadFields(fields)}
	if strings.EqualFold(strings.TrimSuffix(kind, "Message"), "chat") {
		m.Role, _ = logRole(String(fields["role"]))
	}
	switch m.Role {
	case Tool:
		m.ID, m.Text = String(fields["tool_call_id"]), Text(fields["content"])
		if String(fields["status"]) == "error" {
			m.Code = loop.ToolBug
		}
		return []Message{m}, nil
	case Assistant:
		m.Model, m.TokensIn, m.TokensOut = usageOf(fields)
	}
	calls := fields["tool_calls"]
	if len(list(calls)) == 0 {
		calls = keysOf(fields["additional_kwargs"])["tool_calls"] // the same calls in OpenAI's form
	}
	for _, raw := range append(list(calls), list(fields["invalid_tool_calls"])...) {
		var c chatCall
		if json.Unmarshal(raw, &c) != nil {
			return nil, errors.New("a call must be an object with a name and args")
		}
		call, _ := c.call()
		m.Calls = append(m.Calls, call)
	}
	if !IsArray(fields["content"]) {
		m.Text = cmp.Or(Text(fields["content"]), m.Text)
		return []Message{m}, nil
	}
	out := withBlocks(m, fields["content"])
	if len(out) == 0 { // thoughts alone
		out = []Message{m}
	}
	return out, nil
}
