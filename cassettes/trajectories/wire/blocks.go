package wire

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/agentbench-go/agentbench/internal/rawjson"
	"github.com/agentbench-go/agentbench/loop"
)

// A part is what one block of a message's content holds: a text, calls with or
// without their results, results, or nothing that a run needs.
type part struct {
	text    string
	said    bool // it has a text
	calls   []Call
	results []Message
	unread  string // the kind of a block that is not known, "" = known
}

// Blocks without a call or a result of the agent: what the model thought, what only
// the server did, and marks.
var silentBlocks = []string{
	"thinking", "redacted_thinking", "redactedThinking", "reasoning", "reasoning_text", "summary_text", "thought", "think", "encrypted_content",
	"server_tool_use", "mcp_tool_use", "mcp_tool_result", "tool_reference", "container_upload", "compaction", "fallback",
	"builtin-tool-call", "builtin-tool-return", "tool-approval-request", "tool-approval-response", "tool-output-denied",
	"step-start", "source", "source-url", "source-document", "system-notification", "systemNotification",
	"actionRequired", "toolConfirmationRequest", "frontendToolRequest", "executable_code", "code_execution_result",
}

// Blocks that a person sees and that stand as their kind in brackets.
var mediaBlocks = []string{
	"image", "image_url", "input_image", "file", "input_file", "audio", "input_audio", "video", "video_url", "document", "media", "file_data",
	"image-url", "image-data", "file-url", "file-data", "search_result", "resource", "resource_link", "binary", "blob", "uri", "computer_screenshot",
}

// readBlock decodes a block of any API. calls says that the speaker may call tools:
// calls of others stand as their kind.
func readBlock(raw json.RawMessage, role Role) part {
	if !IsObject(raw) {
		return part{text: String(raw), said: true}
	}
	keys := keysOf(raw)
	kind := String(keys["type"])
	if kind == "" {
		return untypedBlock(raw, keys)
	}
	switch kind {
	case "text", "input_text", "output_text", "markdown", "refusal":
		text, ok := partText(raw)
		return part{text: text, said: ok}
	case "tool_use", "tool_result":
		return anthropicPart(raw, kind)
	case "tool-call", "tool-result", "tool-invocation", "dynamic-tool":
		return vercelPart(keys, kind, role)
	case "toolCall": // pi and OpenClaw
		return oneCall(keys["id"], keys["name"], keys["arguments"])
	case "toolRequest", "toolResponse":
		return goosePart(keys, kind)
	case "tool_call", "tool_call_response": // the GenAI conventions of OpenTelemetry
		return genAIPart(keys, kind)
	case "function_call", "custom_tool_call":
		var i item
		if rawjson.Unmarshal(raw, &i) == nil {
			return part{calls: []Call{*i.call()}}
		}
	case "invalid_tool_call":
		return oneCall(keys["id"], keys["name"], keys["args"])
	}
	switch {
	case strings.HasPrefix(kind, "tool-") && keys["toolCallId"] != nil:
		return vercelPart(keys, kind, role)
	case slices.Contains(silentBlocks, kind), strings.HasPrefix(kind, "data-"), strings.HasSuffix(kind, "_tool_result"):
		return part{}
	case slices.Contains(mediaBlocks, kind):
		text, ok := partText(raw)
		return part{text: text, said: ok}
	}
	text, ok := partText(raw)
	return part{text: text, said: ok, unread: kind}
}

// untypedBlock decodes a block that goes by its keys: Bedrock's and Gemini's.
func untypedBlock(raw json.RawMessage, keys map[string]json.RawMessage) part {
	switch {
	case keys["toolUse"] != nil, keys["toolResult"] != nil:
		return bedrockPart(keys)
	case keys["functionCall"] != nil, keys["function_call"] != nil, keys["functionResponse"] != nil, keys["function_response"] != nil:
		p := readGeminiPart(keys)
		var out part
		if p.call != nil {
			out.calls = []Call{*p.call}
		}
		if p.result != nil {
			out.results = []Message{*p.result}
		}
		return out
	case Given(keys["thought"]):
		return part{}
	case keys["text"] != nil:
		return part{text: String(keys["text"]), said: true}
	}
	for _, silent := range []string{"reasoningContent", "cachePoint", "executableCode", "codeExecutionResult", "executable_code", "code_execution_result", "citationsContent",
		"serverToolUse", "thoughtSignature", "thought_signature"} {
		if keys[silent] != nil {
			return part{}
		}
	}
	for _, media := range []string{"image", "document", "video", "audio", "inlineData", "fileData", "inline_data", "file_data", "guardContent"} {
		if keys[media] != nil {
			return part{text: "[" + media + "]", said: true}
		}
	}
	unread := ""
	for key := range keys {
		if len(keys) == 1 && carriesCalls(key) {
			unread = key
		}
	}
	return part{text: compact(raw), said: true, unread: unread}
}

func anthropicPart(raw json.RawMessage, kind string) part {
	var b block
	if rawjson.Unmarshal(raw, &b) != nil {
		return part{text: compact(raw), said: true, unread: kind}
	}
	if kind == "tool_use" {
		return part{calls: []Call{b.call()}}
	}
	return part{results: []Message{b.result()}}
}

// oneCall returns a part with a call.
func oneCall(id, name, args json.RawMessage) part {
	return part{calls: []Call{{ID: String(id), Name: String(name), Args: String(args)}}}
}

// vercelPart decodes a part of the AI SDK: of a ModelMessage, or of a UIMessage, where
// a call and its result are one part.
func vercelPart(keys map[string]json.RawMessage, kind string, role Role) part {
	if IsObject(keys["toolInvocation"]) { // UIMessage of the AI SDK 4
		keys = keysOf(keys["toolInvocation"])
	}
	id := String(keys["toolCallId"])
	if string(keys["providerExecuted"]) == "true" || kind == "tool-result" && role == Assistant {
		return part{} // by the server
	}
	name := String(keys["toolName"])
	if name == "" {
		name = strings.TrimPrefix(kind, "tool-")
	}
	call := Call{ID: id, Name: name, Args: String(either(keys, "input", "args"))}
	if call.Args == "" {
		call.Args = String(keys["rawInput"]) // which the schema refused
	}
	output := keys["output"]
	if kind == "tool-result" {
		return part{results: []Message{vercelResult(id, either(keys, "output", "result"), keys["isError"])}}
	}
	p := part{calls: []Call{call}}
	switch String(keys["state"]) {
	case "output-available":
		p.results = []Message{{Role: Tool, ID: id, Text: Text(output)}}
	case "output-error":
		p.results = []Message{{Role: Tool, ID: id, Text: String(keys["errorText"]), Code: loop.ToolBug}}
	case "output-denied":
		p.results = []Message{{Role: Tool, ID: id, Text: String(keysOf(keys["approval"])["reason"]), Code: loop.Forbidden}}
	case "result":
		p.results = []Message{{Role: Tool, ID: id, Text: Text(keys["result"])}}
	}
	return p
}

// vercelResult decodes the output of a tool-result: a typed value, or any value.
func vercelResult(id string, output, isError json.RawMessage) Message {
	m := Message{Role: Tool, ID: id}
	typed := keysOf(output)
	kind := String(typed["type"])
	switch kind {
	case "text", "json", "error-text", "error-json", "content":
		m.Text = Text(typed["value"])
	case "execution-denied":
		m.Text, m.Code = String(typed["reason"]), loop.Forbidden
	default:
		m.Text = Text(output)
	}
	if strings.HasPrefix(kind, "error-") || Given(isError) {
		m.Code = loop.ToolBug
	}
	return m
}

// goosePart decodes a request or a response of goose, which may have failed before the
// tool ran.
func goosePart(keys map[string]json.RawMessage, kind string) part {
	if kind == "toolRequest" {
		call := keysOf(keys["toolCall"])
		value := keysOf(call["value"])
		if value == nil { // a call that could not be parsed
			return oneCall(keys["id"], nil, call["error"])
		}
		return oneCall(keys["id"], value["name"], value["arguments"])
	}
	result := keysOf(keys["toolResult"])
	m := Message{Role: Tool, ID: String(keys["id"])}
	switch value := keysOf(result["value"]); {
	case String(result["status"]) == "error":
		m.Text, m.Code = Text(result["error"]), loop.ToolBug
	case value["content"] != nil:
		m.Text = Text(value["content"])
		if Given(value["isError"]) {
			m.Code = loop.ToolBug
		}
	default:
		m.Text = Text(result["value"])
	}
	return part{results: []Message{m}}
}

func genAIPart(keys map[string]json.RawMessage, kind string) part {
	if kind == "tool_call" {
		args := keys["arguments"]
		if args == nil {
			args = keys["args"]
		}
		return oneCall(keys["id"], keys["name"], args)
	}
	return part{results: []Message{{Role: Tool, ID: String(keys["id"]), Text: Text(either(keys, "response", "result"))}}}
}

// carriesCalls reports whether the name of a field or a block speaks of calls or
// results.
func carriesCalls(name string) bool {
	name = strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(name))
	if !strings.Contains(name, "tool") && !strings.Contains(name, "function") {
		return false
	}
	for _, word := range []string{"call", "use", "request", "result", "response", "return", "output", "invocation"} {
		if strings.Contains(name, word) {
			return true
		}
	}
	return false
}
