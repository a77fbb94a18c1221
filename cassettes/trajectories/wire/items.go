package wire

import (
	"encoding/json"
	"slices"
	"strings"
)

// silentItems are items of the Responses API that are not calls of the client: what the
// model thought, references, and what the server did with its own tools.
var silentItems = []string{
	"reasoning", "item_reference", "compaction", "context_compaction", "ghost_snapshot", "web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call",
	"mcp_call", "mcp_list_tools", "mcp_approval_request", "mcp_approval_response", "program", "program_output", "agent_message", "other",
}

// isItem reports whether an object of this type is an item of the Responses API.
func isItem(kind string, keys map[string]json.RawMessage) bool {
	switch {
	case kind == "message":
		return keys["role"] != nil
	case kind == "function_call", kind == "reasoning" && (keys["summary"] != nil || keys["encrypted_content"] != nil):
		return true
	case strings.HasSuffix(kind, "_call"), strings.HasSuffix(kind, "_call_output"), strings.HasSuffix(kind, "_output") && keys["call_id"] != nil:
		return true
	}
	return slices.Contains(silentItems, kind) && keys["id"] != nil
}

// itemMessages decodes an item of the Responses API.
func itemMessages(raw json.RawMessage, kind string) ([]Message, error) {
	var i item
	if err := json.Unmarshal(raw, &i); err != nil {
		return nil, err
	}
	if c := i.call(); c != nil {
		return []Message{{Role: Assistant, Calls: []Call{*c}}}, nil
	}
	switch {
	case i.CallID != "" && strings.HasSuffix(kind, "_output") && kind != "program_output":
		return []Message{{Role: Tool, ID: i.CallID, Text: i.result()}}, nil
	case slices.Contains(silentItems, kind):
		return nil, nil
	}
	return []Message{{Role: System, Unread: []string{kind}}}, nil
}

// result returns the text of an output: a text, a part, a list of parts, or what a
// search for tools found.
func (i *item) result() string {
	switch {
	case IsObject(i.Output):
		if text, ok := partText(i.Output); ok && keysOf(i.Output)["type"] != nil {
			return text
		}
	case i.Output == nil && i.Tools != nil:
		return String(i.Tools)
	}
	return Text(i.Output)
}

// RunItems returns the items of a state of a run of the OpenAI Agents SDK, each once
// though they stand in several places, or false if state is not one.
func RunItems(state json.RawMessage) (items []json.RawMessage, ok bool) {
	keys := keysOf(state)
	if keys["original_input"] == nil || keys["generated_items"] == nil && keys["model_responses"] == nil {
		return nil, false
	}
	if input := keys["original_input"]; IsArray(input) {
		items = append(items, list(input)...)
	} else if Given(input) {
		user, _ := json.Marshal(map[string]json.RawMessage{"role": json.RawMessage(`"user"`), "content": input})
		items = append(items, user)
	}
	seen := map[string]bool{}
	add := func(raw json.RawMessage) {
		item := keysOf(raw)
		if name := String(item["type"]) + " " + String(either(item, "call_id", "id")); item != nil && !seen[name] {
			seen[name] = len(name) > 1+len(String(item["type"]))
			items = append(items, raw)
		}
	}
	for _, one := range list(keys["generated_items"]) {
		add(keysOf(one)["raw_item"])
	}
	for _, response := range list(keys["model_responses"]) {
		for _, one := range list(keysOf(response)["output"]) {
			add(one)
		}
	}
	return items, true
}
