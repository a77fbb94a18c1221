package trajectories

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/agentbench-go/agentbench/cassettes/trajectories/wire"
	"github.com/agentbench-go/agentbench/internal/text"
)

// maxMessages bounds the messages of one record.
const maxMessages = 100_000

// readMessages decodes an array of messages of the OpenAI chat API, as the API or
// as agents write them. Its errors name the message.
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

// brokenParts are the parts of a record that could not be read. Each becomes a
// problem of its own.
type brokenParts []brokenPart

type brokenPart struct {
	what  string // such as line
	n, of int    // from 1
	err   error
}

func (b *brokenParts) add(what string, i, of int, err error) {
	*b = append(*b, brokenPart{what, i + 1, of, err})
}

// orNil returns the parts as an error, nil if there are none.
func (b brokenParts) orNil() error {
	if len(b) == 0 {
		return nil
	}
	return b
}

func (b brokenParts) Error() string { return text.Count(len(b), "broken part") }

// wrongType says in plain words that a field has the wrong type.
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
