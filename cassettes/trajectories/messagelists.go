package trajectories

import (
	"cmp"
	"encoding/json"
	"iter"

	"github.com/agentbench-go/agentbench/cassettes/trajectories/wire"
	"github.com/agentbench-go/agentbench/internal/rawjson"
)

// These formats are the messages of an API or a framework, one run a file or one a
// line: an array of them, or an object with such an array and, optionally, name (or
// id), model, a system prompt, and label or success. They differ in their blocks only,
// which package wire decodes, whatever the mixture: a format is named for the first
// message that is not text alone.
var (
	anthropicMessages = listFormat(wire.AnthropicShape, `[{"role": "assistant", "content": [{"type": "tool_use", …}]}, …] or {"messages": […]}`)
	bedrockMessages   = listFormat(wire.BedrockShape, `[{"role": "assistant", "content": [{"toolUse": {…}}]}, …] or {"messages": […]}`)
	responsesItems    = listFormat(wire.ItemShape, `[{"type": "function_call", "call_id": …}, …] or {"items": […]}`)
	langChain         = listFormat(wire.LangChainShape, `[{"type": "ai", "tool_calls": […]}, …] or {"messages": […]}`)
	pydanticAI        = listFormat(wire.PydanticShape, `[{"kind": "response", "parts": [{"part_kind": "tool-call", …}]}, …]`)
	vercelMessages    = listFormat(wire.VercelShape, `[{"role": "assistant", "content" or "parts": [{"type": "tool-call" or "tool-NAME", …}]}, …]`)
	geminiContents    = listFormat(wire.GeminiShape, `[{"role": "model", "parts": [{"functionCall": {…}}]}, …] or {"contents": […]}`)
	genAIMessages     = listFormat(wire.GenAIShape, `[{"role": "assistant", "parts": [{"type": "tool_call", …}]}, …]`)
	gooseMessages     = listFormat(wire.GooseShape, `[{"role": "assistant", "content": [{"type": "toolRequest", …}]}, …]`)
	piMessages        = listFormat(wire.PiShape, `[{"role": "assistant", "content": [{"type": "toolCall", …}]}, …]`)
	shareGPT          = listFormat(wire.ShareGPTShape, `{"conversations": [{"from": "function_call", "value": …}, …]}`)
)

func listFormat(shape wire.Shape, looks string) format {
	return format{name: string(shape), looks: looks, read: readMessageList} // formatOf goes by the shape
}

// messageFormat returns the format of messages with a shape, nil for none.
func messageFormat(shape wire.Shape) *format {
	if shape == wire.NoShape {
		return nil
	}
	return named(string(shape))
}

// strange is how many elements at the beginning of an array of messages may be something
// else.
const strange = 3

// shapeOfList returns the shape of an array of messages: of the first one that is not
// text alone, as far as the first hundred tell.
func shapeOfList(messages iter.Seq2[int, json.RawMessage]) (shape wire.Shape) {
	const most = 100
	n := -1
	for _, one := range messages {
		if n++; n == most {
			break
		}
		switch found := wire.ShapeOf(one); {
		case found == wire.NoShape && shape == wire.NoShape && n >= strange:
			return wire.NoShape
		case found != wire.NoShape && found != wire.ChatShape:
			return found
		default:
			shape = cmp.Or(shape, found)
		}
	}
	return shape
}

// listFields are the fields that hold the messages of a run.
var listFields = []string{"messages", "items", "contents", "conversations", "conversation", "input", "history"}

// listIn returns the messages in an object and their shape, [wire.NoShape] if there are
// none.
func listIn(keys map[string]json.RawMessage) (list json.RawMessage, shape wire.Shape) {
	for _, field := range listFields {
		if list = keys[field]; !wire.IsArray(list) {
			continue
		}
		if shape = shapeOfList(rawjson.Elements(list)); shape != wire.NoShape {
			return list, shape
		}
	}
	return nil, wire.NoShape
}

// readMessageList reads a run from an array of messages or an object with one.
func readMessageList(raw json.RawMessage) ([]*Trajectory, error) {
	r := &Trajectory{}
	if wire.IsArray(raw) {
		return []*Trajectory{r}, r.readLog("messages", raw, nil)
	}
	keys, err := asObject(raw)
	if err != nil {
		return nil, wrongType(err)
	}
	list, _ := listIn(keys)
	if list == nil {
		list = keys["messages"]
	}
	r.Name = cmp.Or(wire.String(keys["name"]), wire.String(keys["id"]), wire.String(keys["session_id"]), wire.String(keys["sessionId"]))
	if wire.IsString(keys["model"]) {
		r.Model = wire.String(keys["model"])
	}
	var system []wire.Message
	for _, field := range []string{"system", "system_prompt", "systemPrompt", "instructions", "systemInstruction", "system_instruction"} {
		if said := wire.SystemText(keys[field]); said != "" {
			system = append(system, wire.Message{Role: wire.System, Text: said})
		}
	}
	if err := r.readLog("messages", list, system); err != nil {
		return nil, err
	}
	r.branch(keys, list)
	return []*Trajectory{r}, r.saidIn(keys)
}

// branch reads how many of the messages, without the system's, belong to another run, as
// recordings of agentbench watch say it.
func (r *Trajectory) branch(keys map[string]json.RawMessage, list json.RawMessage) {
	var shared int
	if !wire.IsString(keys["branch_of"]) || json.Unmarshal(keys["shared_messages"], &shared) != nil {
		return
	}
	items, err := readArray("messages", list)
	if err != nil {
		return // which readLog has told
	}
	var before []wire.Message
	for _, item := range items {
		more, _ := wire.LogMessages(item)
		for _, m := range more {
			if shared > 0 {
				before = append(before, m)
			}
			if m.Role != wire.System {
				shared--
			}
		}
	}
	beginning := &Trajectory{}
	beginning.assemble(before)
	r.Shared = min(beginning.turns(), r.turns())
}

// readLog decodes the messages of a field, of any API, behind those that are given.
func (r *Trajectory) readLog(field string, raw json.RawMessage, messages []wire.Message) error {
	items, err := readArray(field, raw)
	if err != nil {
		return err
	}
	system := map[string]bool{}
	for i, item := range items {
		more, err := wire.LogMessages(item)
		if err != nil {
			return inMessage(i, len(items), err)
		}
		for _, m := range more {
			if m.Role == wire.System && m.Text != "" {
				if system[m.Text] { // some frameworks repeat it with each request
					continue
				}
				system[m.Text] = true
			}
			messages = append(messages, m)
		}
	}
	r.assemble(messages)
	r.Messages = len(items)
	return nil
}
