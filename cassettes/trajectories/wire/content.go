package wire

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/agentbench-go/agentbench/internal/rawjson"
)

// Text returns the text of a content: null, a string, or a list of strings and
// parts, each on its own line. A part without text stands as its type in
// brackets, and as its JSON where it has no type or a content of another kind;
// what the model thought is left out. Any other JSON is its own text.
func Text(raw json.RawMessage) string {
	parts := list(raw)
	if parts == nil {
		return String(raw)
	}
	var texts []string
	for _, p := range parts {
		if t, ok := partText(p); ok {
			texts = append(texts, t)
		}
	}
	return strings.Join(texts, "\n")
}

func partText(raw json.RawMessage) (string, bool) {
	var part struct {
		Type          string
		Text, Refusal *string
		Content       json.RawMessage
	}
	if !IsObject(raw) || rawjson.Unmarshal(raw, &part) != nil {
		return String(raw), true
	}
	switch {
	case part.Type == "thinking" || part.Type == "redacted_thinking" || part.Type == "reasoning" || part.Type == "reasoning_text":
		return "", false
	case part.Text != nil:
		return *part.Text, true
	case part.Refusal != nil:
		return *part.Refusal, true
	case IsString(part.Content):
		return String(part.Content), true
	case part.Content != nil, part.Type == "":
		return compact(raw), true
	}
	return "[" + part.Type + "]", true
}

// String returns a string as it is, any other JSON compacted, and "" for what is not
// [Given]. It decodes ids, which may be numbers, and arguments, which may be an
// object or the text of one.
func String(raw json.RawMessage) string {
	if !Given(raw) {
		return ""
	}
	if s, ok := rawjson.String(raw); ok {
		return s
	}
	return compact(raw)
}

// SystemText returns the text of a system prompt: a text, a list of blocks, or an
// object with parts.
func SystemText(raw json.RawMessage) string {
	if IsObject(raw) {
		raw = keysOf(raw)["parts"]
	}
	if !IsArray(raw) {
		return String(raw)
	}
	var said texts
	for _, block := range list(raw) {
		said.add(readBlock(block, System).text)
	}
	return said.String()
}

// Given reports whether a field holds anything: it is not missing, null, false or
// "".
func Given(raw json.RawMessage) bool {
	switch string(raw) {
	case "", "null", "false", `""`:
		return false
	}
	return true
}

// list returns the elements of an array, nil for any other valid JSON.
func list(raw json.RawMessage) []json.RawMessage { return rawjson.Array(raw) }

func compact(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return string(raw)
	}
	return b.String()
}

// IsString reports whether valid JSON is a string.
func IsString(raw json.RawMessage) bool { return len(raw) > 0 && raw[0] == '"' }

// IsArray reports whether valid JSON is an array.
func IsArray(raw json.RawMessage) bool { return len(raw) > 0 && raw[0] == '[' }

// IsObject reports whether valid JSON is an object.
func IsObject(raw json.RawMessage) bool { return len(raw) > 0 && raw[0] == '{' }

// texts are joined line by line.
type texts []string

// add adds a text unless it is empty.
func (t *texts) add(text string) {
	if text != "" {
		*t = append(*t, text)
	}
}

func (t texts) String() string { return strings.Join(t, "\n") }

// join makes one message of the messages in a row of one role.
func join(messages []Message, role Role) []Message {
	if len(messages) == 0 {
		return nil
	}
	joined := make([]Message, 0, len(messages))
	var said texts
	for i, m := range messages {
		more := i > 0 && m.Role == role && messages[i-1].Role == role
		if !more {
			joined, said = append(joined, m), nil
		} else {
			last := &joined[len(joined)-1]
			last.Calls = append(last.Calls, m.Calls...)
		}
		said.add(m.Text)
		if ends := i+1 == len(messages) || messages[i+1].Role != role; m.Role == role && ends {
			joined[len(joined)-1].Text = said.String()
		}
	}
	return joined
}
