package wire

import (
	"bytes"
	"encoding/json"
	"strings"
)

// text gives what a content says: null, a string, or a list of strings and of
// parts, each on its own line. A part that is no text stands as its type in
// brackets; what the model thought is left out.
func text(raw json.RawMessage) string {
	var s string
	if !given(raw) || json.Unmarshal(raw, &s) == nil {
		return s
	}
	parts := list(raw)
	if parts == nil {
		return compact(raw)
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
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s, true
	}
	var part struct {
		Type          string
		Text, Refusal *string
	}
	if json.Unmarshal(raw, &part) != nil {
		return compact(raw), true
	}
	switch {
	case part.Type == "thinking" || part.Type == "redacted_thinking" || part.Type == "reasoning" || part.Type == "reasoning_text":
		return "", false
	case part.Text != nil:
		return *part.Text, true
	case part.Refusal != nil:
		return *part.Refusal, true
	case part.Type == "":
		return compact(raw), true
	}
	return "[" + part.Type + "]", true
}

// arguments gives a call's arguments: the string itself where they are one,
// else their JSON.
func arguments(raw json.RawMessage) string {
	var s string
	if !given(raw) || json.Unmarshal(raw, &s) == nil {
		return s
	}
	return compact(raw)
}

// scalar gives a string, or another scalar's JSON; "" for null and for nothing.
func scalar(raw json.RawMessage) string {
	var s string
	if !given(raw) || json.Unmarshal(raw, &s) == nil {
		return s
	}
	return compact(raw)
}

// given reports whether a field says anything.
func given(raw json.RawMessage) bool {
	switch string(raw) {
	case "", "null", "false", `""`:
		return false
	}
	return true
}

func list(raw json.RawMessage) (items []json.RawMessage) {
	if isArray(raw) {
		json.Unmarshal(raw, &items) // what is no array has no items
	}
	return items
}

func compact(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return string(raw)
	}
	return b.String()
}

// first gives the first text that says anything.
func first(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}

func isArray(raw json.RawMessage) bool  { return len(raw) > 0 && raw[0] == '[' }
func isObject(raw json.RawMessage) bool { return len(raw) > 0 && raw[0] == '{' }

// texts are put below one another.
type texts []string

// add takes a text that says anything.
func (t *texts) add(text string) {
	if text != "" {
		*t = append(*t, text)
	}
}

func (t texts) String() string { return strings.Join(t, "\n") }

// join makes one message of those in a row that a role has.
func join(messages []Message, role Role) []Message {
	var joined []Message
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
