package serve

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/agentbench-go/agentbench/loop"
)

// messages is Anthropic's Messages API: POST /v1/messages.
type messages struct{}

func (messages) name() string { return "messages" }

func (messages) requestID() string { return "Request-Id" }
func (messages) limits() string    { return "Anthropic-Ratelimit-" }
func (messages) heartbeat() string { return "event: ping\ndata: {\"type\":\"ping\"}\n\n" }

func (messages) read(body value) (*question, error) {
	q := &question{}
	if err := q.common(body); err != nil {
		return nil, err
	}
	if !body.field("thread").null() {
		return nil, &bodyError{threadField, "this server keeps no conversations: send all messages with each request"}
	}
	q.needsTools()
	if body.field("max_tokens").null() {
		q.fault(field("max_tokens"), "is missing")
	}
	list := body.field("messages")
	if !list.is('[') {
		return nil, want(field("messages"), list, "an array")
	}
	i := 0
	for m := range list.items() {
		if err := anthropicMessage(q, place{list: "messages", i: i}, m); err != nil {
			return nil, err
		}
		i++
	}
	return q, nil
}

func anthropicMessage(q *question, at place, m value) error {
	if !m.is('{') {
		return want(at, m, "an object")
	}
	var role, blocks value
	for name, v := range m.fields() {
		switch string(name) {
		case "role":
			role = v
		case "content":
			blocks = v
		}
	}
	at = at.in("content")
	switch r := role.text(); r {
	case "user":
		return userBlocks(q, at, blocks)
	case "assistant":
		return assistantBlocks(q, at, blocks)
	case "system":
		return nil
	default:
		return &bodyError{at.in("role"), "must be user or assistant, not " + quoted(r)}
	}
}

// userBlocks reads a message of the user: its results, and then its other blocks as
// one message.
func userBlocks(q *question, at place, blocks value) error {
	text, err := content(at, blocks)
	if err != nil {
		return err
	}
	said := !blocks.is('[')
	for b := range blocks.items() {
		if b.field("type").text() != "tool_result" {
			said = true
			continue
		}
		text, err := content(at, b.field("content"))
		if err != nil {
			return err
		}
		if err := q.result(at, b.field("tool_use_id").text(), text, b.field("is_error").is('t')); err != nil {
			return err
		}
	}
	if !said {
		return nil
	}
	return q.user(at, text)
}

func assistantBlocks(q *question, at place, blocks value) error {
	text, err := content(at, blocks)
	if err != nil {
		return err
	}
	if err := q.reply(at, text); err != nil {
		return err
	}
	for b := range blocks.items() {
		if b.field("type").text() != "tool_use" {
			continue
		}
		if input := b.field("input"); !input.is('{') {
			q.fault(at, "the input of a call must be an object, not "+input.kind())
		}
		if err := q.call(at, b.field("id").text(), b.field("name").text(), string(b.field("input"))); err != nil {
			return err
		}
	}
	return nil
}

func (messages) whole(b []byte, r *reply) []byte {
	b = anthropicHead(b, r)
	if r.text != "" {
		b = appendText(append(b, `{"type":"text","text":`...), r.text)
		b = append(b, '}')
	}
	for i, c := range r.calls {
		if i > 0 || r.text != "" {
			b = append(b, ',')
		}
		b = anthropicCall(b, &c)
		b = append(appendInput(append(b, `,"input":`...), c.Args), '}')
	}
	b = append(b, `],"stop_reason":`...)
	b = appendTextOrNull(b, anthropicFinish(r))
	b = append(b, `,"stop_sequence":null,`...)
	return append(anthropicUsage(b, r.in, r.out), '}')
}

// anthropicHead writes a message up to its content.
func anthropicHead(b []byte, r *reply) []byte {
	b = appendNumber(append(b, '{'), `"id":"msg_`, int64(r.n))
	b = appendText(append(b, `","type":"message","role":"assistant","model":`...), r.model)
	return append(b, `,"content":[`...)
}

// anthropicCall writes a call up to its input.
func anthropicCall(b []byte, c *loop.AskedCall) []byte {
	b = appendText(append(b, `{"type":"tool_use","id":`...), c.ID)
	return appendText(append(b, `,"name":`...), c.Name)
}

// appendInput writes arguments as a JSON value. Arguments that are not JSON become a
// JSON string: a message that is not streamed cannot hold them otherwise.
func appendInput(b []byte, args string) []byte {
	switch {
	case strings.TrimSpace(args) == "":
		return append(b, "{}"...)
	case json.Valid([]byte(args)):
		return append(b, args...)
	}
	return appendText(b, args)
}

func anthropicFinish(r *reply) string {
	return finishes(r.finish, "end_turn", "tool_use", "max_tokens")
}

func anthropicUsage(b []byte, in, out int64) []byte {
	b = appendNumber(append(b, `"usage":{`...), `"input_tokens":`, in)
	b = append(b, `,"cache_creation_input_tokens":0,"cache_read_input_tokens":0`...)
	return append(appendNumber(b, `,"output_tokens":`, out), '}')
}

// event writes an event up to its fields; endEvent ends it.
func (s *stream) event(name string) {
	s.b = append(append(s.b, "event: "...), name...)
	s.b = append(append(s.b, "\ndata: {\"type\":\""...), name...)
	s.b = append(s.b, '"')
}

func (s *stream) endEvent() { s.b = append(s.b, "}\n\n"...) }

// blockEvent writes an event about a block up to its fields.
func (s *stream) blockEvent(name string, index int) {
	s.event(name)
	s.b = appendNumber(s.b, `,"index":`, int64(index))
}

func (messages) begin(s *stream, r *reply) {
	s.event("message_start")
	s.b = anthropicHead(append(s.b, `,"message":`...), r)
	s.b = append(s.b, `],"stop_reason":null,"stop_sequence":null,`...)
	s.b = append(anthropicUsage(s.b, r.in, min(r.out, 1)), '}')
	s.endEvent()
	if r.text != "" {
		s.blockEvent("content_block_start", 0)
		s.b = append(s.b, `,"content_block":{"type":"text","text":""}`...)
		s.endEvent()
	}
}

func (messages) piece(s *stream, _ *reply, text string) {
	s.blockEvent("content_block_delta", 0)
	s.b = appendText(append(s.b, `,"delta":{"type":"text_delta","text":`...), text)
	s.b = append(s.b, '}')
	s.endEvent()
}

func (messages) endText(s *stream, _ *reply) {
	s.blockEvent("content_block_stop", 0)
	s.endEvent()
}

func (messages) call(s *stream, r *reply, d delta) {
	first := 0
	if r.text != "" {
		first = 1
	}
	index := r.index(d.call, first)
	switch d.part {
	case callBegins:
		s.blockEvent("content_block_start", index)
		s.b = anthropicCall(append(s.b, `,"content_block":`...), &r.calls[d.call])
		s.b = append(s.b, `,"input":{}}`...)
	case callPiece:
		s.blockEvent("content_block_delta", index)
		s.b = appendText(append(s.b, `,"delta":{"type":"input_json_delta","partial_json":`...), d.text)
		s.b = append(s.b, '}')
	case callEnds:
		s.blockEvent("content_block_stop", index)
	}
	s.endEvent()
}

func (messages) end(s *stream, r *reply) {
	if r.finish != "" {
		s.event("message_delta")
		s.b = appendTextOrNull(append(s.b, `,"delta":{"stop_reason":`...), anthropicFinish(r))
		s.b = appendNumber(append(s.b, `,"stop_sequence":null},"usage":{`...), `"output_tokens":`, r.out)
		s.b = append(s.b, '}')
		s.endEvent()
	}
	s.event("message_stop")
	s.endEvent()
}

// threadField is the field by which clients let the API keep the conversation. With
// the code threadUnsupported, Anthropic's client goes on without it.
var threadField = field("thread")

const threadUnsupported = "thread_unsupported_request"

func (messages) failure(b []byte, status int, code, text string, _ time.Duration) []byte {
	b = anthropicError(append(b, `{"type":"error"`...), status, text)
	if code == threadUnsupported {
		b = append(b[:len(b)-1], `,"details":{"error_code":"`+threadUnsupported+`","unsupported":["thread"]}}`...)
	}
	return append(b, '}')
}

func (messages) failureEvent(b []byte, status int, text string) []byte {
	b = anthropicError(append(b, "event: error\ndata: {\"type\":\"error\""...), status, text)
	return append(b, "}\n\n"...)
}

func anthropicError(b []byte, status int, text string) []byte {
	kind := "invalid_request_error"
	switch {
	case status == 401:
		kind = "authentication_error"
	case status == 403:
		kind = "permission_error"
	case status == 404:
		kind = "not_found_error"
	case status == 413:
		kind = "request_too_large"
	case status == 429:
		kind = "rate_limit_error"
	case status == 504:
		kind = "timeout_error"
	case status == 529:
		kind = "overloaded_error"
	case status == 0 || status >= 500:
		kind = "api_error"
	}
	b = appendText(append(b, `,"error":{"type":`...), kind)
	return append(appendText(append(b, `,"message":`...), text), '}')
}
