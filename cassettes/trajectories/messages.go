package trajectories

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/agentbench-go/agentbench/cassettes/trajectories/wire"
	"github.com/agentbench-go/agentbench/internal/text"
)

// maxMessages bounds the messages of one record.
const maxMessages = 100_000

// readMessages decodes a field with messages of the OpenAI chat API, as the API or as
// agents write them. Its errors name the field or the message.
func readMessages(field string, raw json.RawMessage) ([]wire.Message, error) {
	items, err := readArray(field, raw)
	if err != nil {
		return nil, err
	}
	messages := make([]wire.Message, len(items))
	for i, item := range items {
		m, err := wire.ChatMessage(item)
		if err != nil {
			return nil, inMessage(i, len(items), err)
		}
		messages[i] = m
	}
	return messages, nil
}

// inMessage says in which message an error is.
func inMessage(i, of int, err error) error {
	return fmt.Errorf("message %d of %d: %w", i+1, of, wrongType(err))
}

// readArray returns the elements of an array, maxMessages at most.
func readArray(field string, raw json.RawMessage) (items []json.RawMessage, err error) {
	if items = listOf(raw); items == nil {
		return nil, fmt.Errorf("%s must be an array", field)
	}
	return items, tooMany(field, len(items))
}

// tooMany returns an error if there are more of something than of messages in a
// record.
func tooMany(what string, n int) error {
	if n > maxMessages {
		return fmt.Errorf("too many %s: the limit is %d", what, maxMessages)
	}
	return nil
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

// wrongType says in plain words which field has the wrong type.
func wrongType(err error) error {
	var t *json.UnmarshalTypeError
	if !errors.As(err, &t) {
		return err
	}
	want := "an object"
	switch t.Type.Kind() {
	case reflect.String:
		want = "a string"
	case reflect.Bool:
		want = "true or false"
	case reflect.Slice:
		want = "an array"
	case reflect.Int, reflect.Int64:
		want = "a whole number"
	case reflect.Float64:
		want = "a number"
	}
	got := typeWords[t.Value]
	if number, ok := strings.CutPrefix(t.Value, "number "); ok {
		got = text.Clip(number, 40)
	}
	return fmt.Errorf("%s must be %s, not %s", cmp.Or(t.Field, "it"), want, got)
}

// typeWords name the types of JSON in the words of encoding/json.
var typeWords = map[string]string{"string": "a string", "number": "a number", "bool": "true or false", "array": "an array", "object": "an object"}
