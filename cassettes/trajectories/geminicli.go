package trajectories

import (
	"cmp"
	"encoding/json"
	"strconv"

	"github.com/agentbench-go/agentbench/cassettes/trajectories/wire"
	"github.com/agentbench-go/agentbench/loop"
)

// geminiCLI is a session of Gemini CLI: a JSON document, or since 0.40 JSON Lines in
// which a line $set rewrites messages. A call and its result are one entry. It has no
// label.
var geminiCLI = format{
	name:  "gemini-cli",
	looks: `{"sessionId": …, "messages": [{"type": "gemini", "toolCalls": […]}, …]}, or a message a line`,
	fits: func(keys map[string]json.RawMessage) bool {
		if keys["projectHash"] != nil && keys["sessionId"] != nil {
			return true
		}
		list := listOf(keys["messages"])
		return keys["sessionId"] != nil && len(list) > 0 && wire.ShapeOf(list[0]) == wire.NoShape && objectOf(list[0])["type"] != nil
	},
	read:   readGeminiCLI,
	joined: true,
}

func readGeminiCLI(raw json.RawMessage) ([]*Trajectory, error) {
	r := &Trajectory{}
	byID := map[string]map[string]json.RawMessage{}
	var order []string
	add := func(message map[string]json.RawMessage) {
		id := field(message, "id")
		if id == "" || byID[id] == nil {
			id = cmp.Or(id, "message "+strconv.Itoa(len(order)))
			order = append(order, id)
		}
		byID[id] = message
	}
	err := eachLine(raw, func(line map[string]json.RawMessage) error {
		r.Name = cmp.Or(r.Name, field(line, "sessionId"))
		set := objectOf(line["$set"])
		for _, list := range []json.RawMessage{line["messages"], set["messages"]} {
			for _, one := range listOf(list) {
				add(objectOf(one))
			}
		}
		if line["type"] != nil && line["messages"] == nil {
			add(line)
		}
		return tooMany("messages", len(order))
	})
	var messages []wire.Message
	for _, id := range order {
		messages = append(messages, geminiCLIMessages(byID[id])...)
	}
	if len(messages) == 0 {
		return nil, cmp.Or[error](err, nothing{missing("message")})
	}
	r.assemble(messages)
	r.Messages = len(order)
	return []*Trajectory{r}, err
}

// geminiCLIMessages decodes an entry. Entries of other types, such as info, are what
// the program said to the user.
func geminiCLIMessages(keys map[string]json.RawMessage) []wire.Message {
	content := keys["content"]
	if content == nil {
		content = keys["parts"]
	}
	switch field(keys, "type") {
	case "user":
		return []wire.Message{{Role: wire.User, Text: wire.Text(content)}}
	case "gemini", "model":
	default:
		return nil
	}
	m := wire.Message{Role: wire.Assistant, Text: wire.Text(content), Model: field(keys, "model")}
	m.TokensIn, m.TokensOut = wire.Usage(keys["tokens"])
	var results []wire.Message
	for _, one := range listOf(keys["toolCalls"]) {
		call := objectOf(one)
		id := field(call, "id")
		m.Calls = append(m.Calls, wire.Call{ID: id, Name: field(call, "name"), Args: wire.String(call["args"])})
		result := wire.Message{Role: wire.Tool, ID: id}
		switch field(call, "status") {
		case "error":
			result.Code = loop.ToolBug
		case "cancelled":
			result.Code = loop.Cancelled
		case "success":
		default: // it still runs or waits
			continue
		}
		for _, part := range listOf(call["result"]) {
			response := inner(objectOf(part), "functionResponse", "response")
			text := wire.String(inner(objectOf(part), "functionResponse")["response"])
			result.Text = joined(result.Text, cmp.Or(field(response, "output"), field(response, "error"), text))
		}
		result.Text = cmp.Or(result.Text, wire.Text(call["resultDisplay"]))
		results = append(results, result)
	}
	return append([]wire.Message{m}, results...)
}
