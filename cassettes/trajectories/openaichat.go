package trajectories

import (
	"encoding/json"
	"errors"
	"fmt"
)

// openAIChat is a plain conversation with the OpenAI chat API: an array of
// messages, or an object with such an array in messages and, if one likes, its
// name (or id), model and label, success or failure. One document a file, or
// one conversation a line.
var openAIChat = format{
	name:  "openai-chat",
	looks: `[{"role": …, "content": …}, …] or {"messages": [messages]}, one a file or one a line`,
	fits:  func(keys map[string]json.RawMessage) bool { return isArray(keys["messages"]) },
	read:  single(readOpenAIChat),
}

func readOpenAIChat(raw json.RawMessage) (*Trajectory, error) {
	if isArray(raw) {
		messages, err := readMessages(raw)
		if err != nil {
			return nil, err
		}
		r := &Trajectory{}
		r.assemble(messages)
		return r, nil
	}
	var chat struct {
		Name, ID, Model, Label json.RawMessage
		Messages               json.RawMessage
	}
	if err := json.Unmarshal(raw, &chat); err != nil {
		return nil, wrongType(err)
	}
	if !isArray(chat.Messages) {
		return nil, errors.New("it has no array messages")
	}
	r := &Trajectory{Name: scalar(chat.Name), Model: scalar(chat.Model), Label: Label(scalar(chat.Label))}
	if r.Name == "" {
		r.Name = scalar(chat.ID)
	}
	switch r.Label {
	case Unlabelled, Success, Failure:
	default:
		return nil, fmt.Errorf("its label is %s (want success or failure)", quote(string(r.Label)))
	}
	messages, err := readMessages(chat.Messages)
	if err != nil {
		return nil, err
	}
	r.assemble(messages)
	return r, nil
}
