package trajectories

import (
	"encoding/json"
	"slices"

	"github.com/agentbench-go/agentbench/cassettes/trajectories/wire"
)

// openAIChat is a plain conversation with the OpenAI chat API, one a file or one a
// line: an array of messages, or an object with such an array in messages and,
// optionally, name (or id), model, and label or success. Messages with the blocks of
// another API have a format of their own and are read alike.
var openAIChat = format{
	name:  "openai-chat",
	looks: `[{"role": …, "content": …}, …] or {"messages": [messages]}, one a file or one a line`,
	fits: func(keys map[string]json.RawMessage) bool {
		return wire.IsArray(keys["messages"]) || len(listsIn(keys)) > 0
	},
	read: readChats,
}

func readChats(raw json.RawMessage) ([]*Trajectory, error) {
	keys := objectOf(raw)
	if keys == nil || wire.IsArray(keys["messages"]) {
		return readMessageList(raw)
	}
	var all []*Trajectory
	for _, name := range listsIn(keys) {
		more, err := readMessageList(keys[name])
		if err != nil {
			return all, err
		}
		more[0].Name = name
		all = append(all, more...)
	}
	if all == nil {
		return readMessageList(raw)
	}
	return all, nil
}

// listsIn returns the sorted names of the runs in an object that holds nothing but
// objects with messages.
func listsIn(keys map[string]json.RawMessage) (names []string) {
	for name, raw := range keys {
		inner := objectOf(raw)
		if inner == nil {
			return nil
		}
		if list, _ := listIn(inner); list == nil {
			return nil
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
