package trajectories

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/agentbench-go/agentbench/loop"
)

// maxMessages bounds the messages of one record.
const maxMessages = 100_000

// A wireMessage is a chat message as the OpenAI API writes it, and as agents
// that follow it roughly do. What varies is kept raw.
type wireMessage struct {
	Role         string          `json:"role"`
	Content      json.RawMessage `json:"content"`
	Refusal      json.RawMessage `json:"refusal"`
	ToolCalls    []wireCall      `json:"tool_calls"`
	FunctionCall *wireFunction   `json:"function_call"` // the form before tool_calls
	ToolCallID   json.RawMessage `json:"tool_call_id"`
	// In tau2 a result's own id is that of its call.
	ID        json.RawMessage `json:"id"`
	Requestor json.RawMessage `json:"requestor"`
	Error     json.RawMessage `json:"error"`
}

// A wireCall has its function as an object, or as a bare name beside args, or
// it is such an object itself.
type wireCall struct {
	ID       json.RawMessage `json:"id"`
	Function json.RawMessage `json:"function"`
	Args     json.RawMessage `json:"args"`
	wireFunction
}

type wireFunction struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// readMessages decodes the messages of a record. Its errors say which message
// is wrong.
func readMessages(raw json.RawMessage) ([]message, error) {
	var items []json.RawMessage
	if err := json.Unmarshal(raw, &items); err != nil {
		return nil, errors.New("its messages are no array")
	}
	if len(items) > maxMessages {
		return nil, fmt.Errorf("it has %d messages, and the limit is %d", len(items), maxMessages)
	}
	messages := make([]message, len(items))
	for i, item := range items {
		m, err := readMessage(item)
		if err != nil {
			return nil, fmt.Errorf("message %d of %d: %w", i+1, len(items), err)
		}
		messages[i] = m
	}
	return messages, nil
}

func readMessage(raw json.RawMessage) (message, error) {
	var w wireMessage
	if err := json.Unmarshal(raw, &w); err != nil {
		return message{}, wrongType(err)
	}
	m := message{text: plainText(w.Content), id: scalar(w.ToolCallID)}
	switch w.Role {
	case "system", "developer":
		m.role = system
	case "user":
		m.role = user
	case "assistant":
		m.role = assistant
		if m.text == "" {
			m.text = plainText(w.Refusal)
		}
	case "tool", "function":
		m.role = tool
		if given(w.Requestor) && m.id == "" {
			m.id = scalar(w.ID)
		}
	case "":
		return m, errors.New("it has no role")
	default:
		return m, fmt.Errorf("unknown role %s (want system, developer, user, assistant or tool)", quote(w.Role))
	}
	if given(w.Error) {
		// The source says that the tool failed, but not how: an exception of the
		// tool's own. Such a result often has no other content.
		m.code = loop.ToolBug
		if m.text == "" {
			m.text = plainText(w.Error)
		}
	}
	for i, c := range w.ToolCalls {
		call, err := c.read()
		if err != nil {
			return m, fmt.Errorf("call %d: %w", i+1, err)
		}
		m.calls = append(m.calls, call)
	}
	if f := w.FunctionCall; f != nil {
		m.calls = append(m.calls, &Call{Name: f.Name, Args: arguments(f.Arguments)})
	}
	return m, nil
}

func (w *wireCall) read() (*Call, error) {
	c := &Call{ID: scalar(w.ID)}
	if json.Unmarshal(w.Function, &c.Name) == nil && c.Name != "" {
		c.Args = arguments(w.Args)
		return c, nil
	}
	f := w.wireFunction
	if f.Name != "" && !given(w.Function) {
		c.Name, c.Args = f.Name, arguments(f.Arguments)
		return c, nil
	}
	if !isObject(w.Function) || json.Unmarshal(w.Function, &f) != nil {
		return nil, errors.New("it has no function with a name and arguments")
	}
	c.Name, c.Args = f.Name, arguments(f.Arguments)
	return c, nil
}

// arguments gives a call's arguments as the text that a model writes on the
// wire: the string itself where they are one, else their JSON.
func arguments(raw json.RawMessage) string {
	var s string
	if !given(raw) || json.Unmarshal(raw, &s) == nil {
		return s
	}
	return compact(raw)
}

// plainText gives the text of a content: null, a string, or a list of strings
// and of parts. A part that is no text stands as its type in brackets. Any
// other JSON is its own text.
func plainText(raw json.RawMessage) string {
	var s string
	if !given(raw) || json.Unmarshal(raw, &s) == nil {
		return s
	}
	var parts []json.RawMessage
	if json.Unmarshal(raw, &parts) != nil {
		return compact(raw)
	}
	var text bytes.Buffer
	for i, p := range parts {
		if i > 0 {
			text.WriteByte('\n')
		}
		text.WriteString(partText(p))
	}
	return text.String()
}

func partText(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var part struct {
		Type                   string
		Text, Content, Refusal *string
	}
	if json.Unmarshal(raw, &part) != nil {
		return compact(raw)
	}
	for _, t := range []*string{part.Text, part.Content, part.Refusal} {
		if t != nil {
			return *t
		}
	}
	return "[" + part.Type + "]"
}

// scalar gives an id as text: "" for null and for what is missing.
func scalar(raw json.RawMessage) string {
	var s string
	if !given(raw) || json.Unmarshal(raw, &s) == nil {
		return s
	}
	return compact(raw)
}

// given reports whether a field says anything: null, false and "" do not.
func given(raw json.RawMessage) bool {
	switch string(raw) {
	case "", "null", "false", `""`:
		return false
	}
	return true
}

func compact(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return string(raw)
	}
	return b.String()
}

func isObject(raw json.RawMessage) bool { return len(raw) > 0 && raw[0] == '{' }

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

// quote makes a stranger's text fit to be printed in an error.
func quote(s string) string {
	const most = 40
	if r := []rune(s); len(r) > most {
		s = string(r[:most]) + "…"
	}
	return fmt.Sprintf("%q", s)
}
