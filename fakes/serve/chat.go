package serve

import (
	"strconv"
	"time"

	"github.com/agentbench-go/agentbench/loop"
)

// chat is OpenAI's Chat Completions: POST /v1/chat/completions.
type chat struct{}

func (chat) name() string      { return "chat" }
func (chat) requestID() string { return "X-Request-Id" }
func (chat) limits() string    { return "X-Ratelimit-" }
func (chat) heartbeat() string { return ": keep-alive\n\n" }

func (chat) read(body value) (*question, error) {
	q := &question{}
	if err := q.common(body); err != nil {
		return nil, err
	}
	var messages value
	for name, v := range body.fields() {
		switch string(name) {
		case "messages":
			messages = v
		case "stream_options":
			q.usage = v.field("include_usage").is('t')
		case "n":
			if string(v) != "1" && !v.null() {
				return nil, &bodyError{field("n"), "must be 1: a script has one choice"}
			}
		}
	}
	q.needsTools()
	if q.declared.is('[') && q.declared.empty() {
		q.fault(field("tools"), "is an empty array: leave it out")
	}
	if !messages.is('[') {
		return nil, want(field("messages"), messages, "an array")
	}
	i := 0
	for m := range messages.items() {
		if err := chatMessage(q, place{list: "messages", i: i}, m); err != nil {
			return nil, err
		}
		i++
	}
	return q, nil
}

func chatMessage(q *question, at place, m value) error {
	if !m.is('{') {
		return want(at, m, "an object")
	}
	var role, text, calls, id value
	for name, v := range m.fields() {
		switch string(name) {
		case "role":
			role = v
		case "content":
			text = v
		case "tool_calls":
			calls = v
		case "tool_call_id":
			id = v
		}
	}
	said, err := content(at.in("content"), text)
	if err != nil {
		return err
	}
	switch r := role.text(); r {
	case "system", "developer":
		return nil
	case "user":
		return q.user(at, said)
	case "tool":
		return q.result(at, id.text(), said, false)
	case "assistant":
		if said == "" {
			said = m.field("refusal").text()
		}
		if err := q.reply(at, said); err != nil {
			return err
		}
		return chatCalls(q, at.in("tool_calls"), calls)
	default:
		return &bodyError{at.in("role"), "must be system, developer, user, assistant or tool, not " + quoted(r)}
	}
}

func chatCalls(q *question, at place, calls value) error {
	if !calls.null() && !calls.is('[') {
		return want(at, calls, "an array")
	}
	for c := range calls.items() {
		f := c.field("function")
		args := f.field("arguments").text()
		q.argumentsAreJSON(at, args)
		if err := q.call(at, c.field("id").text(), f.field("name").text(), args); err != nil {
			return err
		}
	}
	return nil
}

func (chat) whole(b []byte, r *reply) []byte {
	b = chatHead(b, r, "chat.completion")
	b = append(b, `"choices":[{"index":0,"message":{"role":"assistant","content":`...)
	b = appendTextOrNull(b, r.text)
	b = append(b, `,"refusal":null`...)
	for i, c := range r.calls {
		if i == 0 {
			b = append(b, `,"tool_calls":[`...)
		} else {
			b = append(b, ',')
		}
		b = appendText(append(b, `{"id":`...), c.ID)
		b = appendText(append(b, `,"type":"function","function":{"name":`...), c.Name)
		b = appendText(append(b, `,"arguments":`...), c.Args)
		b = append(b, `}}`...)
	}
	if len(r.calls) > 0 {
		b = append(b, ']')
	}
	b = append(b, `},"logprobs":null,"finish_reason":`...)
	b = appendTextOrNull(b, r.finish)
	b = append(b, `}],`...)
	return append(chatUsage(b, r), '}')
}

// chatHead writes the beginning of an object of the API.
func chatHead(b []byte, r *reply, kind string) []byte {
	b = append(b, `{"id":"chatcmpl-`...)
	b = strconv.AppendInt(b, int64(r.n), 10)
	b = append(b, `","object":"`...)
	b = append(b, kind...)
	b = appendNumber(b, `","created":`, r.created)
	b = appendText(append(b, `,"model":`...), r.model)
	return append(b, ',')
}

func chatUsage(b []byte, r *reply) []byte {
	b = appendNumber(append(b, `"usage":{`...), `"prompt_tokens":`, r.in)
	b = appendNumber(b, `,"completion_tokens":`, r.out)
	b = appendNumber(b, `,"total_tokens":`, r.in+r.out)
	return append(b, '}')
}

// chatChunk writes a chunk up to its delta; chatChunkEnd writes the rest.
func chatChunk(s *stream, r *reply) {
	s.b = append(s.b, "data: "...)
	s.b = chatHead(s.b, r, "chat.completion.chunk")
	s.b = append(s.b, `"choices":[{"index":0,"delta":{`...)
}

func chatChunkEnd(s *stream, r *reply, finish string) {
	s.b = append(s.b, `},"logprobs":null,"finish_reason":`...)
	s.b = append(appendTextOrNull(s.b, finish), `}]`...)
	if r.usage {
		s.b = append(s.b, `,"usage":null`...)
	}
	s.b = append(s.b, "}\n\n"...)
}

func (chat) begin(s *stream, r *reply) {
	chatChunk(s, r)
	s.b = append(s.b, `"role":"assistant","content":`...)
	if len(r.calls) > 0 && r.text == "" {
		s.b = append(s.b, "null"...)
	} else {
		s.b = append(s.b, `""`...)
	}
	s.b = append(s.b, `,"refusal":null`...)
	chatChunkEnd(s, r, "")
}

func (chat) piece(s *stream, r *reply, text string) {
	chatChunk(s, r)
	s.b = appendText(append(s.b, `"content":`...), text)
	chatChunkEnd(s, r, "")
}

func (chat) endText(*stream, *reply) {}

func (chat) call(s *stream, r *reply, d delta) {
	if d.part == callEnds {
		return
	}
	chatChunk(s, r)
	s.b = appendNumber(append(s.b, `"tool_calls":[{`...), `"index":`, int64(r.index(d.call, 0)))
	if c := &r.calls[d.call]; d.part == callBegins {
		s.b = appendText(append(s.b, `,"id":`...), c.ID)
		s.b = appendText(append(s.b, `,"type":"function","function":{"name":`...), c.Name)
		s.b = append(s.b, `,"arguments":""}}]`...)
	} else {
		s.b = appendText(append(s.b, `,"function":{"arguments":`...), d.text)
		s.b = append(s.b, `}}]`...)
	}
	chatChunkEnd(s, r, "")
}

func (chat) end(s *stream, r *reply) {
	if r.finish != "" {
		chatChunk(s, r)
		chatChunkEnd(s, r, r.finish)
	}
	if r.usage {
		s.b = append(s.b, "data: "...)
		s.b = chatHead(s.b, r, "chat.completion.chunk")
		s.b = append(s.b, `"choices":[],`...)
		s.b = append(chatUsage(s.b, r), "}\n\n"...)
	}
	s.b = append(s.b, "data: [DONE]\n\n"...)
}

func (chat) failure(b []byte, status int, code, text string, _ time.Duration) []byte {
	return append(openAIError(append(b, '{'), status, code, text), '}')
}

func (chat) failureEvent(b []byte, status int, text string) []byte {
	b = openAIError(append(b, "data: {"...), status, "", text)
	return append(b, "}\n\n"...)
}

// openAIError writes the field error of an OpenAI response.
func openAIError(b []byte, status int, code, text string) []byte {
	kind := "invalid_request_error"
	switch {
	case status == 429:
		kind = "requests"
		if code == "" {
			code = "rate_limit_exceeded"
		}
	case status == 0 || status >= 500:
		kind = "server_error"
	}
	b = appendText(append(b, `"error":{"message":`...), text)
	b = appendText(append(b, `,"type":`...), kind)
	b = append(b, `,"param":null,"code":`...)
	return append(appendTextOrNull(b, code), '}')
}

// appendTextOrNull writes a text as a JSON string, or null if it is empty.
func appendTextOrNull(b []byte, s string) []byte {
	if s == "" {
		return append(b, "null"...)
	}
	return appendText(b, s)
}

// appendNumber writes a name and a number.
func appendNumber(b []byte, name string, n int64) []byte {
	return strconv.AppendInt(append(b, name...), n, 10)
}

// finishes translates a finish reason into the words of another API. It returns an
// unknown one as it is.
func finishes(finish, stop, calls, length string) string {
	switch finish {
	case loop.FinishStop:
		return stop
	case loop.FinishToolCalls:
		return calls
	case loop.FinishLength:
		return length
	}
	return finish
}
