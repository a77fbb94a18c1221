package trajectories

import (
	"cmp"
	"encoding/json"

	"github.com/agentbench-go/agentbench/cassettes/trajectories/wire"
	"github.com/agentbench-go/agentbench/loop"
)

// kimi is the wire log of Kimi CLI: JSON Lines of the protocol 1.4, whose events are in
// context.append_loop_event, or 1.1, whose events are in message. It has no label.
var kimi = format{
	name:  "kimi",
	looks: `{"type": "context.append_loop_event", "event": {"type": "tool.call", …}} a line, or {"message": {"type": "ToolCall", …}}`,
	fits: func(keys map[string]json.RawMessage) bool {
		switch kind := field(keys, "type"); {
		case kind == "metadata" && keys["protocol_version"] != nil, kind == "context.append_loop_event", kind == "context.append_message":
			return true
		}
		message := objectOf(keys["message"])
		return keys["timestamp"] != nil && message["type"] != nil && message["payload"] != nil
	},
	read:   readKimi,
	joined: true,
}

func readKimi(raw json.RawMessage) ([]*Trajectory, error) {
	var log lineLog
	run := log.run("")
	err := eachLine(raw, func(line map[string]json.RawMessage) error {
		event := objectOf(line["event"])
		switch field(line, "type") {
		case "context.append_message":
			return run.add(line["message"])
		case "config.update":
			if said := field(line, "systemPrompt"); said != "" && len(run.messages) == 0 {
				run.say(wire.Message{Role: wire.System, Text: said})
			}
		case "llm.request":
			run.traj.Model = cmp.Or(run.traj.Model, field(line, "model"))
		case "context.append_loop_event":
			run.kimiEvent(event)
		case "":
			message := objectOf(line["message"])
			run.kimiMessage(field(message, "type"), objectOf(message["payload"]))
		}
		return nil
	})
	return log.end(), err
}

// kimiEvent takes an event of the protocol 1.4.
func (r *lineRun) kimiEvent(event map[string]json.RawMessage) {
	id := field(event, "toolCallId")
	switch field(event, "type") {
	case "content.part":
		r.kimiText(objectOf(event["part"]))
	case "tool.call":
		r.say(wire.Message{Role: wire.Assistant, Calls: []wire.Call{{ID: id, Name: field(event, "name"), Args: wire.String(event["args"])}}})
	case "tool.result":
		r.kimiResult(id, objectOf(event["result"]), "isError")
	case "step.end":
		usage := objectOf(event["usage"])
		for i := len(r.messages) - 1; i >= 0 && usage != nil; i-- {
			if m := &r.messages[i]; m.Role == wire.Assistant && m.TokensIn+m.TokensOut == 0 {
				in, out := wire.Usage(event["usage"])
				for _, part := range []string{"inputOther", "inputCacheRead", "inputCacheCreation"} {
					more, _ := wire.Usage(json.RawMessage(`{"input":` + cmp.Or(field(usage, part), "0") + `}`))
					in += more
				}
				m.TokensIn, m.TokensOut = in, out
				return
			}
		}
	}
}

// kimiMessage takes an event of the protocol 1.1.
func (r *lineRun) kimiMessage(kind string, payload map[string]json.RawMessage) {
	switch kind {
	case "TurnBegin":
		r.say(wire.Message{Role: wire.User, Text: wire.Text(payload["user_input"])})
	case "ContentPart":
		r.kimiText(payload)
	case "ToolCall":
		function := objectOf(payload["function"])
		r.say(wire.Message{Role: wire.Assistant, Calls: []wire.Call{{ID: field(payload, "id"), Name: field(function, "name"), Args: wire.String(function["arguments"])}}})
	case "ToolCallPart": // a call may come in pieces
		if n := len(r.messages); n > 0 && len(r.messages[n-1].Calls) > 0 {
			r.messages[n-1].Calls[0].Args += field(payload, "arguments_part")
		}
	case "ToolResult":
		result := objectOf(payload["return_value"])
		if result == nil {
			result = objectOf(payload["result"])
		}
		r.kimiResult(field(payload, "tool_call_id"), result, "is_error")
	}
}

func (r *lineRun) kimiText(part map[string]json.RawMessage) {
	if field(part, "type") == "text" {
		r.say(wire.Message{Role: wire.Assistant, Text: field(part, "text")})
	}
}

func (r *lineRun) kimiResult(id string, result map[string]json.RawMessage, failed string) {
	m := wire.Message{Role: wire.Tool, ID: id, Text: cmp.Or(wire.Text(result["output"]), field(result, "message"))}
	if string(result[failed]) == "true" {
		m.Code = loop.ToolBug
	}
	r.say(m)
}
