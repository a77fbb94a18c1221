package trajectories

import (
	"cmp"
	"encoding/json"

	"github.com/agentbench-go/agentbench/cassettes/trajectories/wire"
)

// openAIChat is a plain conversation with the OpenAI chat API, one a file or one a
// line: an array of messages, or an object with such an array in messages and,
// optionally, name (or id), model, and label or success.
var openAIChat = format{
	name:  "openai-chat",
	looks: `[{"role": …, "content": …}, …] or {"messages": [messages]}, one a file or one a line`,
	fits:  func(keys map[string]json.RawMessage) bool { return wire.IsArray(keys["messages"]) },
	read:  single(readOpenAIChat),
}

func readOpenAIChat(raw json.RawMessage) (*Trajectory, error) {
	if wire.IsArray(raw) {
		messages, err := readMessages("messages", raw)
		if err != nil {
			return nil, err
		}
		r := &Trajectory{}
		r.assemble(messages)
		return r, nil
	}
	var chat struct {
		Name, ID, Model, Label, Success json.RawMessage
		Messages                        json.RawMessage
	}
	if err := json.Unmarshal(raw, &chat); err != nil {
		return nil, wrongType(err)
	}
	r := &Trajectory{Name: wire.String(chat.Name), Model: wire.String(chat.Model)}
	if r.Name == "" {
		r.Name = wire.String(chat.ID)
	}
	messages, err := readMessages("messages", chat.Messages)
	if err != nil {
		return nil, err
	}
	r.assemble(messages)
	return r, cmp.Or(r.said("success", chat.Success), r.said("label", chat.Label))
}
