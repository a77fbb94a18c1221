package trajectories

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/agentbench-go/agentbench/cassettes/trajectories/wire"
)

// maxMessages bounds the messages of one record.
const maxMessages = 100_000

// readMessages decodes the messages of a record in the form of the OpenAI chat
// API, and as agents that follow it roughly write them. Its errors say which
// message is wrong.
func readMessages(raw json.RawMessage) ([]wire.Message, error) {
	var items []json.RawMessage
	if err := json.Unmarshal(raw, &items); err != nil {
		return nil, errors.New("its messages are no array")
	}
	if len(items) > maxMessages {
		return nil, fmt.Errorf("it has %d messages, and the limit is %d", len(items), maxMessages)
	}
	messages := make([]wire.Message, len(items))
	for i, item := range items {
		m, err := wire.ChatMessage(item)
		if err != nil {
			return nil, fmt.Errorf("message %d of %d: %w", i+1, len(items), wrongType(err))
		}
		messages[i] = m
	}
	return messages, nil
}

// wrongType says in plain words what a field should have been.
func wrongType(err error) error {
	var t *json.UnmarshalTypeError
	if !errors.As(err, &t) {
		return err
	}
	if t.Field == "" {
		return fmt.Errorf("it is a JSON %s, no object", t.Value)
	}
	return fmt.Errorf("%s is a JSON %s", t.Field, t.Value)
}
