package serve

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/loop"
)

// Limits of a request.
const (
	maxMessages = 12_000 // messages and calls
	maxCalls    = 1_000  // calls of one message
)

// A question is the content of a request of any API.
type question struct {
	model    string
	stream   bool
	usage    bool           // a stream must end with the usage
	tools    bool           // the model may call tools
	declared value          // the list of tools
	choice   string         // of a tool: auto, none …; "" = the request says nothing
	faults   []string       // for which the real API refuses the request
	odd      []string       // what some servers of the API refuse
	history  []loop.Message // without system messages
	calls    int            // in the messages of the assistant
	void     bool           // the API leaves out all calls of a reply if the arguments of one are broken
}

// A place is a place in a body: a field, or an entry of a list and a field of the
// entry.
type place struct {
	list  string
	i     int
	field string
}

// field returns the place of a field of the body.
func field(name string) place { return place{field: name} }

// in returns the place of a field of the entry p.
func (p place) in(field string) place {
	p.field = field
	return p
}

// A bodyError says what is wrong with a request, and where in its body.
type bodyError struct {
	at      place
	problem string
}

// code returns the code of the error, for APIs that have codes.
func (e *bodyError) code() string {
	if e.at == threadField {
		return threadUnsupported
	}
	return "bad_request"
}

func (e *bodyError) Error() string {
	switch at := e.at; {
	case at.list != "" && at.field != "":
		return fmt.Sprintf("%s[%d].%s: %s", at.list, at.i, at.field, e.problem)
	case at.list != "":
		return fmt.Sprintf("%s[%d]: %s", at.list, at.i, e.problem)
	case at.field != "":
		return at.field + ": " + e.problem
	}
	return e.problem
}

// want returns the error of a value of the wrong type.
func want(at place, v value, what string) error {
	return &bodyError{at, fmt.Sprintf("must be %s, not %s", what, v.kind())}
}

// common reads the fields that all APIs share.
func (q *question) common(body value) error {
	if !body.is('{') {
		return &bodyError{problem: "the body must be a JSON object, not " + body.kind()}
	}
	forbidden := false
	for name, v := range body.fields() {
		switch string(name) {
		case "tools":
			q.declared = v
			q.tools = !v.empty()
		case "tool_choice":
			if q.choice = v.text(); v.is('{') {
				q.choice = cmp.Or(v.field("type").text(), "a tool")
			}
			forbidden = q.choice == "none"
		case "model":
			if !v.is('"') {
				return want(field("model"), v, "a string")
			}
			q.model = v.text()
		case "stream":
			q.stream = v.is('t')
		}
	}
	q.tools = q.tools && !forbidden
	if q.model == "" {
		return &bodyError{field("model"), "is missing"}
	}
	return nil
}

// fault notes why the real API refuses the request.
func (q *question) fault(at place, problem string) {
	if len(q.faults) < maxProblems {
		q.faults = append(q.faults, (&bodyError{at, problem}).Error())
	}
}

// needsTools notes a choice among no tools.
func (q *question) needsTools() {
	if q.choice != "" && q.declared.empty() {
		q.fault(field("tool_choice"), "is only allowed with tools")
	}
}

// argumentsAreJSON notes arguments of a call that are not JSON.
func (q *question) argumentsAreJSON(at place, args string) {
	if len(q.odd) < maxProblems && !blank(args) && !json.Valid([]byte(args)) {
		q.odd = append(q.odd, (&bodyError{at, "the arguments of a call are not JSON: some servers refuse them"}).Error())
	}
}

// add appends a message of the history.
func (q *question) add(at place, m loop.Message) error {
	if len(q.history)+q.calls >= maxMessages {
		return &bodyError{at, fmt.Sprintf("there are more than %d messages and calls", maxMessages)}
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
		return &bodyError{at, fmt.Sprintf("there are more than %d calls in a message, or %d messages and calls", maxCalls, maxMessages)}
	}
	q.calls++
	last.Calls = append(last.Calls, loop.Call{ID: id, Name: name, Args: args})
	return nil
}

// result adds the result of a call.
func (q *question) result(at place, id, text string, failed bool) error {
	return q.add(at, loop.Message{Role: loop.ToolRole, CallID: id, Text: text, Failed: failed})
}

// content returns the text of a message's content, which is a string or an array of
// parts. It joins the texts of the parts and ignores parts without text.
func content(at place, v value) (string, error) {
	switch {
	case v.is('"'):
		return v.text(), nil
	case v.null():
		return "", nil
	case !v.is('['):
		return "", want(at, v, "a string or an array of parts")
	}
	var b strings.Builder
	for part := range v.items() {
		switch {
		case part.is('"'):
			b.WriteString(part.text())
		case !part.is('{'):
			return "", want(at, part, "an array of parts, each an object")
		default:
			b.WriteString(part.field("text").text())
			b.WriteString(part.field("refusal").text())
		}
	}
	return b.String(), nil
}

// quoted returns a text for an error: in quotes, at most 80 characters long.
func quoted(s string) string { return text.Quote(s, 80) }

// clip returns a text for an error: on one line, without quotes, at most 80
// characters long.
func clip(s string) string { return text.Clip(text.Line(s), 80) }
