package serve

import (
	"cmp"
	"strings"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/loop"
)

// asideText is the answer to an aside that does not ask for JSON.
const asideText = "OK."

// aside reports whether a request is beside the agent's loop: it offers no tools, but
// the script calls one, or has ended.
func (s *spot) aside(q *question) bool {
	return !q.tools && s.scene.calls && (s.step < 0 || len(s.script.Model[s.step].Calls) > 0)
}

// aside returns the plan of a neutral answer.
func (x *exchange) aside(q *question, at *spot, body value) *plan {
	x.entry.Aside = true
	said := fakes.Said{Text: neutral(body), Finish: loop.FinishStop}
	r := &reply{n: at.n, created: x.came.Unix(), model: q.model, text: said.Text, finish: said.Finish, usage: q.usage}
	if x.journal.observe != nil {
		x.saw(&said, r, nil)
	}
	return x.prepare(&said, r, q.stream)
}

// neutral returns the answer to an aside: in the form that the request wants, with a
// value for each field that says nothing (0, "", false, the first of a choice). A
// client that asks whether it loops, for a number, would ask for ever if it got a text.
func neutral(body value) string {
	schema, wanted := answerSchema(body)
	if !wanted {
		return asideText
	}
	return string(schema.nothing(nil, 0))
}

// answerSchema returns the schema of the answer that a request of any API wants, and
// whether it wants JSON at all.
func answerSchema(body value) (schema value, wanted bool) {
	if config := body.field("generationConfig"); strings.HasPrefix(config.field("responseMimeType").text(), "application/json") { // Gemini
		for _, name := range []string{"responseJsonSchema", "responseSchema"} {
			if schema = config.field(name); schema.is('{') {
				break
			}
		}
		return schema, true
	}
	for _, format := range []value{
		body.field("response_format"),               // Chat
		body.field("text").field("format"),          // Responses
		body.field("output_config").field("format"), // Anthropic
	} {
		switch format.field("type").text() {
		case "json_object":
			return nil, true
		case "json_schema":
			if inner := format.field("json_schema"); inner.is('{') {
				format = inner
			}
			return format.field("schema"), true
		}
	}
	return nil, false
}

// maxNeutral bounds how deep a neutral value is made, and how long it gets.
const (
	maxNeutral      = 8
	maxNeutralBytes = 16 << 10
)

// nothing appends the value of a schema that says the least. Without a schema it is an
// empty object.
func (v value) nothing(b []byte, depth int) []byte {
	if depth > maxNeutral || len(b) > maxNeutralBytes {
		return append(b, "null"...)
	}
	if fixed := v.field("const"); fixed != nil {
		return append(b, fixed...)
	}
	for first := range v.field("enum").items() {
		return append(b, first...)
	}
	for _, name := range []string{"anyOf", "oneOf", "allOf"} {
		for first := range v.field(name).items() {
			return first.nothing(b, depth+1)
		}
	}
	kind := v.field("type")
	for first := range kind.items() { // such as ["string", "null"]
		kind = first
		break
	}
	switch strings.ToLower(cmp.Or(kind.text(), "object")) { // Gemini has its own in capitals
	case "string":
		return append(b, `""`...)
	case "number", "integer":
		return append(b, cmp.Or(string(v.field("minimum")), "0")...)
	case "boolean":
		return append(b, "false"...)
	case "null":
		return append(b, "null"...)
	case "array":
		return append(b, "[]"...)
	}
	b = append(b, '{')
	for name, inner := range v.field("properties").fields() {
		if b[len(b)-1] != '{' {
			b = append(b, ',')
		}
		b = append(append(append(b, '"'), name...), `":`...)
		b = inner.nothing(b, depth+1)
	}
	return append(b, '}')
}
