package trajectories

import (
	"encoding/json"
	"strings"

	"github.com/agentbench-go/agentbench/cassettes/trajectories/wire"
	"github.com/agentbench-go/agentbench/internal/rawjson"
	"github.com/agentbench-go/agentbench/loop"
)

// sweAgent is the .traj file of SWE-agent: a JSON object a run, with its steps in
// trajectory, an action and an observation each, and its messages in history. The
// steps are read as calls of bash, since history lacks the last observation; a run
// without steps is read from history, with its OpenAI calls. Demonstrations in
// history are part of the system prompt. It has no label. Errors are not marked:
// they are guessed from how an observation begins.
var sweAgent = format{
	name:  "swe-agent",
	looks: `{"history": [messages], "trajectory": [{"action": …, "observation": …}, …]}`,
	ends:  []string{".traj"},
	fits: func(keys map[string]json.RawMessage) bool {
		return wire.IsArray(keys["history"]) && (wire.IsArray(keys["trajectory"]) || firstHas(keys["history"], "role"))
	},
	read: single(readSWEAgent),
}

// firstHas reports whether the first element of an array is an object with the key.
func firstHas(array json.RawMessage, key string) bool {
	for _, first := range rawjson.Elements(array) {
		return objectOf(first)[key] != nil
	}
	return false
}

// A sweStep is a step of the trajectory.
type sweStep struct {
	Thought     string          `json:"thought"`
	Action      string          `json:"action"`
	Observation json.RawMessage `json:"observation"`
}

func readSWEAgent(raw json.RawMessage) (*Trajectory, error) {
	var run struct {
		History    json.RawMessage `json:"history"`
		Trajectory []sweStep       `json:"trajectory"`
	}
	if err := rawjson.Unmarshal(raw, &run); err != nil {
		return nil, wrongType(err)
	}
	if err := tooMany("steps", len(run.Trajectory)); err != nil {
		return nil, err
	}
	messages, err := readHistory(run.History)
	if err != nil {
		return nil, err
	}
	r, said := &Trajectory{}, len(messages)
	if len(run.Trajectory) > 0 {
		messages = append(beforeReply(messages), stepMessages(run.Trajectory)...)
	}
	r.assemble(messages)
	r.Messages = said
	return r, nil
}

// readHistory decodes messages whose results name their calls in a list and some of
// which belong to a demonstration.
func readHistory(raw json.RawMessage) ([]wire.Message, error) {
	messages, err := readMessages("history", raw)
	if err != nil {
		return nil, err
	}
	var more []struct {
		IsDemo bool     `json:"is_demo"`
		IDs    []string `json:"tool_call_ids"`
	}
	if err := rawjson.Unmarshal(raw, &more); err != nil {
		return nil, wrongType(err)
	}
	for i := range messages {
		m := &messages[i]
		if more[i].IsDemo {
			m.Role, m.Calls = wire.System, nil
		}
		if m.Role == wire.Tool && m.ID == "" && len(more[i].IDs) > 0 {
			m.ID = more[i].IDs[0]
		}
	}
	return messages, nil
}

// beforeReply returns the messages before the first one of the assistant.
func beforeReply(messages []wire.Message) []wire.Message {
	for i := range messages {
		if messages[i].Role == wire.Assistant {
			return messages[:i:i]
		}
	}
	return messages
}

func stepMessages(steps []sweStep) (messages []wire.Message) {
	for _, s := range steps {
		messages = append(messages, wire.Message{Role: wire.Assistant, Text: s.Thought, Calls: []wire.Call{bash(s.Action)}})
		if s.Observation != nil {
			said := wire.Text(s.Observation)
			messages = append(messages, wire.Message{Role: wire.Tool, Text: said, Code: sweCode(said)})
		}
	}
	return messages
}

// sweCode guesses from how an observation begins whether the command failed.
func sweCode(text string) loop.Code {
	text = strings.TrimSpace(text)
	switch {
	case strings.HasPrefix(text, "EXECUTION TIMED OUT"):
		return loop.Timeout
	case strings.HasPrefix(text, "Your proposed edit has introduced new syntax error"):
		return loop.InvalidInput
	case strings.HasPrefix(text, "Traceback (most recent call last)"):
		return loop.ToolBug
	}
	return loop.None
}
