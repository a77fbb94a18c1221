package serve

import (
	"fmt"
	"strings"

	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/loop"
)

// What a request may hold at most.
const (
	maxMessages = 12_000 // messages and calls
	maxCalls    = 1_000  // calls of one message
)

// A question is what a request asks, whatever the API.
type question struct {
	model   string
	stream  bool
	usage   bool           // a stream is to end with what was used
	tools   bool           // the model may call tools
	history []loop.Message // without system messages: they are no part of a conversation
	calls   int            // in the messages of the assistant
}

// A place is where in a body something stands: a field, or an entry of a list
// and a field of that.
type place struct {
	list  string
	i     int
	field string
}

// field is a field of the body.
func field(name string) place { return place{field: name} }

// in is a field of an entry.
func (p place) in(field string) place {
	p.field = field
	return p
}

// A mistake says what is wrong with a request, and where in its body.
type mistake struct {
	at      place
	problem string
}

func (m *mistake) Error() string {
	switch at := m.at; {
	case at.list != "" && at.field != "":
		return fmt.Sprintf("%s[%d].%s: %s", at.list, at.i, at.field, m.problem)
	case at.list != "":
		return fmt.Sprintf("%s[%d]: %s", at.list, at.i, m.problem)
	case at.field != "":
		return at.field + ": " + m.problem
	}
	return m.problem
}

// want is the mistake of a value that is something else than it must be.
func want(at place, v value, what string) error {
	return &mistake{at, fmt.Sprintf("must be %s, not %s", what, v.kind())}
}

// common reads what all APIs have alike.
func (q *question) common(body value) error {
	if !body.is('{') {
		return &mistake{problem: "the body must be a JSON object, not " + body.kind()}
	}
	forbidden := false
	for name, v := range body.fields() {
		switch string(name) {
		case "tools":
			for range v.items() {
				q.tools = true
				break
			}
		case "tool_choice":
			forbidden = v.text() == "none" || v.field("type").text() == "none"
		case "model":
			if !v.is('"') {
				return want(field("model"), v, "text")
			}
			q.model = v.text()
		case "stream":
			q.stream = v.is('t')
		}
	}
	q.tools = q.tools && !forbidden
	if q.model == "" {
		return &mistake{field("model"), "is missing"}
	}
	return nil
}

// add appends a message of the history.
func (q *question) add(at place, m loop.Message) error {
	if len(q.history)+q.calls >= maxMessages {
		return &mistake{at, fmt.Sprintf("there are more than %d messages and calls", maxMessages)}
	}
	q.history = append(q.history, m)
	return nil
}

func (q *question) user(at place, text string) error {
	return q.add(at, loop.Message{Role: loop.User, Text: text})
}

// reply adds a message of the assistant; its calls follow.
func (q *question) reply(at place, text string) error {
	return q.add(at, loop.Message{Role: loop.Assistant, Text: text})
}

// call adds a call to the last message, which is the assistant's.
func (q *question) call(at place, id, name, args string) error {
	last := &q.history[len(q.history)-1]
	if len(last.Calls) == maxCalls || len(q.history)+q.calls >= maxMessages {
		return &mistake{at, fmt.Sprintf("there are more than %d calls in a message, or %d messages and calls", maxCalls, maxMessages)}
	}
	q.calls++
	last.Calls = append(last.Calls, loop.Call{ID: id, Name: name, Args: args})
	return nil
}

// result adds the result of a call.
func (q *question) result(at place, id, text string, failed bool) error {
	return q.add(at, loop.Message{Role: loop.ToolRole, CallID: id, Text: text, Failed: failed})
}

// content gives the text of a message's content: a text, or a list of parts, of
// which those count that have a text.
func content(at place, v value) (string, error) {
	switch {
	case v.is('"'):
		return v.text(), nil
	case v.null():
		return "", nil
	case !v.is('['):
		return "", want(at, v, "text or a list of parts")
	}
	var b strings.Builder
	for part := range v.items() {
		switch {
		case part.is('"'):
			b.WriteString(part.text())
		case !part.is('{'):
			return "", want(at, part, "a list of parts, each an object")
		default:
			b.WriteString(part.field("text").text())
			b.WriteString(part.field("refusal").text())
		}
	}
	return b.String(), nil
}

// quoted shows a text in an error.
func quoted(s string) string { return text.Quote(s, 80) }

// clip shows a text in an error, on one line and without quotes.
func clip(s string) string { return text.Clip(text.Line(s), 80) }
