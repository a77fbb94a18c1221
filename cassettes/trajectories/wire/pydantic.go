package wire

import (
	"encoding/json"

	"github.com/agentbench-go/agentbench/loop"
)

// isPydantic reports whether an object is a message of pydantic-ai.
func isPydantic(keys map[string]json.RawMessage) bool {
	kind := String(keys["kind"])
	return (kind == "request" || kind == "response") && IsArray(keys["parts"])
}

// pydanticMessages decodes a request or a response of pydantic-ai. The results are in
// the request that follows the calls. A retry without the name of a tool is about the
// answer and is the user's.
func pydanticMessages(keys map[string]json.RawMessage) (all []Message) {
	reply := Message{Role: Assistant}
	var said texts
	if Given(keys["instructions"]) {
		all = append(all, Message{Role: System, Text: String(keys["instructions"])})
	}
	for _, raw := range list(keys["parts"]) {
		p := keysOf(raw)
		content, id := p["content"], String(p["tool_call_id"])
		switch kind := String(p["part_kind"]); kind {
		case "system-prompt":
			all = append(all, Message{Role: System, Text: Text(content)})
		case "user-prompt":
			all = append(all, Message{Role: User, Text: Text(content)})
		case "tool-return":
			m := Message{Role: Tool, ID: id, Text: Text(content)}
			switch String(p["outcome"]) {
			case "failed":
				m.Code = loop.ToolBug
			case "denied":
				m.Code = loop.Forbidden
			}
			all = append(all, m)
		case "retry-prompt":
			m := Message{Role: User, Text: Text(content)}
			if Given(p["tool_name"]) {
				m.Role, m.ID, m.Code = Tool, id, loop.InvalidInput
			}
			all = append(all, m)
		case "text":
			said.add(Text(content))
		case "tool-call":
			reply.Calls = append(reply.Calls, Call{ID: id, Name: String(p["tool_name"]), Args: String(p["args"])})
		case "thinking", "builtin-tool-call", "builtin-tool-return", "compaction":
		case "file":
			said.add("[file]")
		default:
			reply.Unread = append(reply.Unread, kind)
		}
	}
	if String(keys["kind"]) == "request" {
		if len(reply.Unread) > 0 {
			all = append(all, Message{Role: System, Unread: reply.Unread})
		}
		return all
	}
	reply.Text = said.String()
	reply.Model, reply.TokensIn, reply.TokensOut = usageOf(keys)
	return append(all, reply)
}
