package serve

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/agentbench-go/agentbench/loop"
)

// gemini is Google's Gemini API: POST /v1beta/models/MODEL:generateContent, and
// :streamGenerateContent?alt=sse. The model and the kind of answer stand in the path.
type gemini struct {
	model  string
	stream bool
}

// geminiAt returns the API and the method of a path of it, such as
// /v1beta/models/MODEL:countTokens, or "" if it is another path.
func geminiAt(path string) (g gemini, method string) {
	rest, ok := strings.CutPrefix(path, "/v1beta/models/")
	if !ok {
		rest, ok = strings.CutPrefix(path, "/v1/models/")
	}
	i := strings.LastIndexByte(rest, ':')
	if !ok || i < 1 {
		return gemini{}, ""
	}
	g.model, method = rest[:i], rest[i+1:]
	g.stream = method == "streamGenerateContent"
	if !g.stream && method != "generateContent" && method != "countTokens" {
		return gemini{}, ""
	}
	return g, method
}

// geminiArray returns the error of a stream in the form of a JSON array, which is
// not served, or nil.
func geminiArray(g gemini, query url.Values) error {
	if g.stream && query.Get("alt") != "sse" {
		return &bodyError{field("alt"), "must be sse: streams are served as events only"}
	}
	return nil
}

func (gemini) name() string      { return "gemini" }
func (gemini) requestID() string { return "" }
func (gemini) limits() string    { return "" }
func (gemini) heartbeat() string { return ": keep-alive\n\n" }

func (g gemini) read(body value) (*question, error) {
	q := &question{model: g.model, void: true}
	if err := q.common(body); err != nil {
		return nil, err
	}
	q.stream = g.stream
	var contents value
	for name, v := range body.fields() {
		switch string(name) {
		case "contents":
			contents = v
		case "toolConfig", "tool_config":
			config := either(v, "functionCallingConfig", "function_calling_config")
			q.tools = q.tools && config.field("mode").text() != "NONE"
		case "generateContentRequest": // of countTokens
			contents = v.field("contents")
		}
	}
	if !contents.is('[') {
		return nil, want(field("contents"), contents, "an array")
	}
	r := geminiReader{question: q}
	for m := range contents.items() {
		if err := r.content(m); err != nil {
			return nil, err
		}
		r.i++
	}
	return q, nil
}

// either returns the field with one of two names: Google's APIs take both cases.
func either(v value, camel, snake string) value {
	if f := v.field(camel); f != nil {
		return f
	}
	return v.field(snake)
}

// A geminiReader gives ids to the calls and results that have none.
type geminiReader struct {
	*question
	i    int
	open []loop.Call // of the last reply, without a result so far
}

func (r *geminiReader) content(m value) error {
	at := place{list: "contents", i: r.i}
	if !m.is('{') {
		return want(at, m, "an object")
	}
	parts := m.field("parts")
	if !parts.null() && !parts.is('[') {
		return want(at.in("parts"), parts, "an array")
	}
	var text strings.Builder
	for p := range parts.items() {
		if !p.field("thought").is('t') {
			text.WriteString(p.field("text").text())
		}
	}
	switch role := m.field("role").text(); role {
	case "", "user", "function", "tool":
		return r.user(at.in("parts"), text.String(), parts)
	case "model":
		return r.model(at.in("parts"), text.String(), parts)
	default:
		return &bodyError{at.in("role"), "must be user or model, not " + quoted(role)}
	}
}

// user reads the results of a message, and then its other parts as one message.
func (r *geminiReader) user(at place, text string, parts value) error {
	said := true
	for p := range parts.items() {
		f := either(p, "functionResponse", "function_response")
		if f == nil {
			continue
		}
		said = text != ""
		id := f.field("id").text()
		for i, c := range r.open {
			if id == "" && c.Name == f.field("name").text() || id != "" && id == c.ID {
				id = c.ID
				r.open = append(r.open[:i:i], r.open[i+1:]...)
				break
			}
		}
		result, failed := geminiResult(f.field("response"))
		if err := r.result(at, id, result, failed); err != nil {
			return err
		}
	}
	if !said {
		return nil
	}
	return r.question.user(at, text)
}

// geminiResult returns the text in a response: that of its only field if clients call
// it so, else the whole object.
func geminiResult(v value) (text string, failed bool) {
	n := 0
	var only value
	for name, f := range v.fields() {
		n++
		switch string(name) {
		case "output", "result", "content":
			only = f
		case "error":
			only, failed = f, !f.null()
		}
	}
	switch {
	case n != 1 || only == nil:
		return string(v), failed
	case only.is('"'):
		return only.text(), failed
	}
	return string(only), failed
}

func (r *geminiReader) model(at place, text string, parts value) error {
	if err := r.reply(at, text); err != nil {
		return err
	}
	n := 0
	for p := range parts.items() {
		f := either(p, "functionCall", "function_call")
		if f == nil {
			continue
		}
		n++
		id := f.field("id").text()
		if id == "" {
			id = "contents_" + strconv.Itoa(r.i) + "_" + strconv.Itoa(n)
		}
		if args := f.field("args"); !args.null() && !args.is('{') {
			r.fault(at, "the args of a call must be an object, not "+args.kind())
		}
		args := string(f.field("args"))
		if args == "" {
			args = "{}"
		}
		if err := r.call(at, id, f.field("name").text(), args); err != nil {
			return err
		}
	}
	r.open = append([]loop.Call(nil), r.history[len(r.history)-1].Calls...)
	return nil
}

// whole writes a reply. As the API does, it leaves out the calls if the arguments of
// one are not an object.
func (g gemini) whole(b []byte, r *reply) []byte {
	finish := r.finish
	b = geminiHead(b)
	if r.text != "" || len(r.calls) > 0 {
		b = append(b, `"parts":[`...)
		if r.text != "" {
			b = append(appendText(append(b, `{"text":`...), r.text), '}')
		}
		if malformed(r.calls) {
			finish = malformedCall
		} else {
			for i := range r.calls {
				if i > 0 || r.text != "" {
					b = append(b, ',')
				}
				b = geminiCall(b, &r.calls[i])
			}
		}
		b = append(b, `],`...)
	}
	return geminiTail(b, r, finish, true)
}

const malformedCall = "MALFORMED_FUNCTION_CALL"

// malformed reports whether the arguments of a call are not a JSON object.
func malformed(calls []loop.AskedCall) bool {
	for i := range calls {
		if args := strings.TrimSpace(calls[i].Args); args != "" && (args[0] != '{' || !json.Valid([]byte(args))) {
			return true
		}
	}
	return false
}

func geminiHead(b []byte) []byte { return append(b, `{"candidates":[{"content":{`...) }

// geminiCall writes a call. A line break in its arguments, which are an object, would
// end the line of an event.
func geminiCall(b []byte, c *loop.AskedCall) []byte {
	b = appendText(append(b, `{"functionCall":{"id":`...), c.ID)
	b = appendText(append(b, `,"name":`...), c.Name)
	args := c.Args
	var compact bytes.Buffer
	if strings.ContainsAny(args, "\r\n") && json.Compact(&compact, []byte(args)) == nil {
		args = compact.String()
	}
	return append(appendInput(append(b, `,"args":`...), args), `}}`...)
}

// geminiTail writes a response from the end of its parts on. usage is set in the last
// one.
func geminiTail(b []byte, r *reply, finish string, usage bool) []byte {
	b = append(b, `"role":"model"}`...)
	if finish != "" {
		b = appendText(append(b, `,"finishReason":`...), geminiFinish(finish))
	}
	if finish == "content_filter" {
		b = append(b, `,"safetyRatings":[{"category":"HARM_CATEGORY_DANGEROUS_CONTENT","probability":"HIGH","blocked":true}]`...)
	}
	b = append(b, `,"index":0}]`...)
	if usage {
		b = appendNumber(append(b, `,"usageMetadata":{`...), `"promptTokenCount":`, r.in)
		b = appendNumber(b, `,"candidatesTokenCount":`, r.out)
		b = append(appendNumber(b, `,"totalTokenCount":`, r.in+r.out), '}')
	}
	b = appendText(append(b, `,"modelVersion":`...), r.model)
	return append(appendNumber(b, `,"responseId":"resp_`, int64(r.n)), `"}`...)
}

func geminiFinish(finish string) string {
	if finish == "content_filter" {
		return "SAFETY"
	}
	return strings.ToUpper(finishes(finish, "STOP", "STOP", "MAX_TOKENS"))
}

func (gemini) begin(*stream, *reply) {}

// chunk writes a response of a stream with one part.
func (gemini) chunk(s *stream, r *reply, part func(b []byte) []byte) {
	s.b = geminiHead(append(s.b, "data: "...))
	s.b = append(part(append(s.b, `"parts":[`...)), `],`...)
	s.b = append(geminiTail(s.b, r, "", false), "\n\n"...)
}

func (g gemini) piece(s *stream, r *reply, text string) {
	g.chunk(s, r, func(b []byte) []byte { return append(appendText(append(b, `{"text":`...), text), '}') })
}

func (gemini) endText(*stream, *reply) {}

// call writes a call when it is whole: the API does not stream arguments.
func (g gemini) call(s *stream, r *reply, d delta) {
	if d.part == callEnds && !malformed(r.calls) {
		g.chunk(s, r, func(b []byte) []byte { return geminiCall(b, &r.calls[d.call]) })
	}
}

func (gemini) end(s *stream, r *reply) {
	if r.finish == "" {
		return
	}
	finish := r.finish
	if malformed(r.calls) {
		finish = malformedCall
	}
	s.b = geminiHead(append(s.b, "data: "...))
	s.b = append(geminiTail(s.b, r, finish, true), "\n\n"...)
}

func (gemini) failure(b []byte, status int, _, text string, wait time.Duration) []byte {
	b = googleError(append(b, '{'), status, text)
	if wait > 0 {
		b = append(b[:len(b)-1], `,"details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"`...)
		b = append(strconv.AppendFloat(b, wait.Seconds(), 'f', -1, 64), `s"}]}`...)
	}
	return append(b, '}')
}

func (gemini) failureEvent(b []byte, status int, text string) []byte {
	return append(googleError(append(b, "data: {"...), status, text), "}\n\n"...)
}

// googleError writes the field error of Google's APIs.
func googleError(b []byte, status int, text string) []byte {
	if status == 0 {
		status = http.StatusInternalServerError
	}
	b = appendNumber(append(b, `"error":{`...), `"code":`, int64(status))
	b = appendText(append(b, `,"message":`...), text)
	b = appendText(append(b, `,"status":`...), googleStatus(status))
	return append(b, '}')
}

func googleStatus(status int) string {
	switch status {
	case 401:
		return "UNAUTHENTICATED"
	case 403:
		return "PERMISSION_DENIED"
	case 404:
		return "NOT_FOUND"
	case 429:
		return "RESOURCE_EXHAUSTED"
	case 499:
		return "CANCELLED"
	case 503:
		return "UNAVAILABLE"
	case 504:
		return "DEADLINE_EXCEEDED"
	}
	if status >= 500 {
		return "INTERNAL"
	}
	return "INVALID_ARGUMENT"
}

// appendGeminiModels writes the list of models in Google's form.
func appendGeminiModels(b []byte, names []string) []byte {
	b = append(b, `{"models":[`...)
	for i, name := range names {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendGeminiModel(b, name)
	}
	return append(b, `]}`...)
}

func appendGeminiModel(b []byte, name string) []byte {
	b = appendText(append(b, `{"name":`...), "models/"+name)
	b = appendText(append(b, `,"displayName":`...), name)
	return append(b, `,"version":"1","inputTokenLimit":1000000,"outputTokenLimit":65536,"supportedGenerationMethods":["generateContent","countTokens"]}`...)
}
