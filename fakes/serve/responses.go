package serve

import (
	"strings"
	"time"

	"github.com/agentbench-go/agentbench/loop"
)

// responses is OpenAI's Responses API: POST /v1/responses. The server stores
// nothing: a request carries its whole conversation. The ids of items describe the
// items, so that the server understands references to them: msg_3 is the text of
// the third reply, and fc_3_0_call_3_1 its first call, whose own id is call_3_1.
type responses struct{}

const (
	messageItem = "msg_"
	callItem    = "fc_"
)

func appendCallItem(b []byte, r *reply, call int) []byte {
	b = appendNumber(append(b, '"'), callItem, int64(r.n))
	b = appendNumber(b, "_", int64(call))
	id := appendText(nil, "_"+r.calls[call].ID)
	return append(b, id[1:]...)
}

func (responses) name() string      { return "responses" }
func (responses) requestID() string { return "X-Request-Id" }
func (responses) limits() string    { return "X-Ratelimit-" }
func (responses) heartbeat() string { return ": keep-alive\n\n" }

func (responses) read(body value) (*question, error) {
	q := &question{}
	if err := q.common(body); err != nil {
		return nil, err
	}
	var input value
	for name, v := range body.fields() {
		switch string(name) {
		case "input":
			input = v
		case "previous_response_id", "conversation":
			if !v.null() {
				return nil, &bodyError{field(string(name)), "this server keeps no conversations: send the whole input with each request (store: false)"}
			}
		case "background":
			if v.is('t') {
				return nil, &bodyError{field("background"), "must be false: this server has no background responses"}
			}
		}
	}
	if q.choice != "auto" && q.choice != "none" {
		q.needsTools()
	}
	if input.is('"') {
		return q, q.user(field("input"), input.text())
	}
	if !input.is('[') {
		return nil, want(field("input"), input, "a string or an array")
	}
	items := itemReader{question: q}
	for v := range input.items() {
		if err := items.read(v); err != nil {
			return nil, err
		}
		items.i++
	}
	return q, nil
}

// An itemReader joins the items of a reply to one message.
type itemReader struct {
	*question
	i    int
	open bool // the last message is a reply that may get more items
}

func (r *itemReader) read(v value) error {
	at := place{list: "input", i: r.i}
	if !v.is('{') {
		return want(at, v, "an object")
	}
	switch kind := v.field("type").text(); kind {
	case "", "message":
		return r.message(at, v)
	case "function_call":
		args := v.field("arguments").text()
		r.argumentsAreJSON(at.in("arguments"), args)
		return r.called(at, v.field("call_id").text(), v.field("name").text(), args)
	case "function_call_output":
		text, err := content(at.in("output"), v.field("output"))
		if err != nil {
			return err
		}
		r.open = false
		return r.result(at, v.field("call_id").text(), text, false)
	case "item_reference":
		return r.reference(at, v.field("id").text())
	}
	return nil // a script has no reasoning and no other items
}

func (r *itemReader) message(at place, v value) error {
	text, err := content(at.in("content"), v.field("content"))
	if err != nil {
		return err
	}
	switch role := v.field("role").text(); role {
	case "system", "developer":
		return nil
	case "user":
		r.open = false
		return r.user(at, text)
	case "assistant":
		return r.said(at, text)
	default:
		return &bodyError{at.in("role"), "must be system, developer, user or assistant, not " + quoted(role)}
	}
}

// said adds the text of a reply.
func (r *itemReader) said(at place, text string) error {
	if r.open && r.history[len(r.history)-1].Text == "" {
		r.history[len(r.history)-1].Text = text
		return nil
	}
	r.open = true
	return r.question.reply(at, text)
}

// called adds a call of a reply.
func (r *itemReader) called(at place, id, name, args string) error {
	if !r.open {
		r.open = true
		if err := r.question.reply(at, ""); err != nil {
			return err
		}
	}
	return r.question.call(at, id, name, args)
}

// reference adds the item of this server that an id describes.
func (r *itemReader) reference(at place, id string) error {
	if parts := strings.SplitN(id, "_", 4); parts[0]+"_" == callItem && len(parts) == 4 {
		return r.called(at, parts[3], "", "{}")
	}
	if strings.HasPrefix(id, messageItem) {
		return r.said(at, "what was said")
	}
	return &bodyError{at.in("id"), "no item of this server has the id " + quoted(id)}
}

func (responses) whole(b []byte, r *reply) []byte {
	return responseObject(b, r, true)
}

// responseObject writes a response: complete, or in progress without output.
func responseObject(b []byte, r *reply, whole bool) []byte {
	b = appendNumber(append(b, '{'), `"id":"resp_`, int64(r.n))
	b = appendNumber(b, `","object":"response","created_at":`, r.created)
	b = append(b, `,"status":"`...)
	status, reason := "in_progress", ""
	if whole {
		status, reason = responseStatus(r.finish)
	}
	b = append(append(b, status...), `","error":null,"incomplete_details":`...)
	if reason != "" {
		b = append(appendText(append(b, `{"reason":`...), reason), '}')
	} else {
		b = append(b, "null"...)
	}
	b = append(b, `,"instructions":null,"max_output_tokens":null,"model":`...)
	b = append(appendText(b, r.model), `,"output":[`...)
	if whole {
		b = responseItems(b, r)
	}
	b = append(b, `],"parallel_tool_calls":true,"previous_response_id":null,"reasoning":{"effort":null,"summary":null},"store":false,"temperature":1,`+
		`"text":{"format":{"type":"text"}},"tool_choice":"auto","tools":[],"top_p":1,"truncation":"disabled","usage":`...)
	if whole {
		b = responseUsage(b, r)
	} else {
		b = append(b, "null"...)
	}
	return append(b, `,"user":null,"metadata":{}}`...)
}

// responseStatus returns the status for a finish reason, and the reason if the
// response is incomplete.
func responseStatus(finish string) (status, reason string) {
	switch finish {
	case "":
		return "in_progress", ""
	case loop.FinishLength:
		return "incomplete", "max_output_tokens"
	case "content_filter":
		return "incomplete", finish
	}
	return "completed", ""
}

func responseItems(b []byte, r *reply) []byte {
	if r.text != "" {
		b = messageObject(b, r, "completed", r.text)
	}
	for i := range r.calls {
		if i > 0 || r.text != "" {
			b = append(b, ',')
		}
		b = callObject(b, r, i, "completed", r.calls[i].Args)
	}
	return b
}

// messageObject writes the item of a text, which has content only when completed.
func messageObject(b []byte, r *reply, status, text string) []byte {
	b = appendNumber(append(b, '{'), `"id":"`+messageItem, int64(r.n))
	b = append(append(b, `","type":"message","status":"`...), status...)
	b = append(b, `","role":"assistant","content":[`...)
	if status == "completed" {
		b = textPart(b, text)
	}
	return append(b, `]}`...)
}

func textPart(b []byte, text string) []byte {
	b = appendText(append(b, `{"type":"output_text","text":`...), text)
	return append(b, `,"annotations":[],"logprobs":[]}`...)
}

func callObject(b []byte, r *reply, call int, status, args string) []byte {
	c := &r.calls[call]
	b = appendCallItem(append(b, `{"id":`...), r, call)
	b = append(append(b, `,"type":"function_call","status":"`...), status...)
	b = appendText(append(b, `","call_id":`...), c.ID)
	b = appendText(append(b, `,"name":`...), c.Name)
	if r.spaces != nil && r.spaces[call] != "" {
		b = appendText(append(b, `,"namespace":`...), r.spaces[call])
	}
	return append(appendText(append(b, `,"arguments":`...), args), '}')
}

func responseUsage(b []byte, r *reply) []byte {
	b = appendNumber(append(b, '{'), `"input_tokens":`, r.in)
	b = append(b, `,"input_tokens_details":{"cached_tokens":0}`...)
	b = appendNumber(b, `,"output_tokens":`, r.out)
	b = append(b, `,"output_tokens_details":{"reasoning_tokens":0}`...)
	return append(appendNumber(b, `,"total_tokens":`, r.in+r.out), '}')
}

// numbered writes an event up to its fields, with its sequence number.
func (s *stream) numbered(name string) {
	s.event(name)
	s.b = appendNumber(s.b, `,"sequence_number":`, int64(s.sequence))
	s.sequence++
}

func (responses) begin(s *stream, r *reply) {
	for _, name := range []string{"response.created", "response.in_progress"} {
		s.numbered(name)
		s.b = responseObject(append(s.b, `,"response":`...), r, false)
		s.endEvent()
	}
	if r.text == "" {
		return
	}
	s.numbered("response.output_item.added")
	s.b = messageObject(append(s.b, `,"output_index":0,"item":`...), r, "in_progress", "")
	s.endEvent()
	s.textEvent("response.content_part.added", r)
	s.b = textPart(append(s.b, `,"part":`...), "")
	s.endEvent()
}

// textEvent writes an event about the text up to its fields.
func (s *stream) textEvent(name string, r *reply) {
	s.numbered(name)
	s.b = appendNumber(s.b, `,"item_id":"`+messageItem, int64(r.n))
	s.b = append(s.b, `","output_index":0,"content_index":0`...)
}

func (responses) piece(s *stream, r *reply, text string) {
	s.textEvent("response.output_text.delta", r)
	s.b = appendText(append(s.b, `,"delta":`...), text)
	s.b = append(s.b, `,"logprobs":[]`...)
	s.endEvent()
}

func (responses) endText(s *stream, r *reply) {
	s.textEvent("response.output_text.done", r)
	s.b = appendText(append(s.b, `,"text":`...), r.text)
	s.b = append(s.b, `,"logprobs":[]`...)
	s.endEvent()
	s.textEvent("response.content_part.done", r)
	s.b = textPart(append(s.b, `,"part":`...), r.text)
	s.endEvent()
	s.numbered("response.output_item.done")
	s.b = messageObject(append(s.b, `,"output_index":0,"item":`...), r, "completed", r.text)
	s.endEvent()
}

func (responses) call(s *stream, r *reply, d delta) {
	first := 0
	if r.text != "" {
		first = 1
	}
	c, index := &r.calls[d.call], int64(r.index(d.call, first))
	switch d.part {
	case callBegins:
		s.numbered("response.output_item.added")
		s.b = appendNumber(s.b, `,"output_index":`, index)
		s.b = callObject(append(s.b, `,"item":`...), r, d.call, "in_progress", "")
	case callPiece:
		s.callEvent("response.function_call_arguments.delta", r, d.call, index)
		s.b = appendText(append(s.b, `,"delta":`...), d.text)
	case callEnds:
		s.callEvent("response.function_call_arguments.done", r, d.call, index)
		s.b = appendText(append(s.b, `,"name":`...), c.Name)
		s.b = appendText(append(s.b, `,"arguments":`...), c.Args)
		s.endEvent()
		s.numbered("response.output_item.done")
		s.b = appendNumber(s.b, `,"output_index":`, index)
		s.b = callObject(append(s.b, `,"item":`...), r, d.call, "completed", c.Args)
	}
	s.endEvent()
}

// callEvent writes an event about the arguments of a call up to its fields.
func (s *stream) callEvent(name string, r *reply, call int, index int64) {
	s.numbered(name)
	s.b = appendCallItem(append(s.b, `,"item_id":`...), r, call)
	s.b = appendNumber(s.b, `,"output_index":`, index)
}

func (responses) end(s *stream, r *reply) {
	status, _ := responseStatus(r.finish)
	if status == "in_progress" {
		return
	}
	s.numbered("response." + status)
	s.b = responseObject(append(s.b, `,"response":`...), r, true)
	s.endEvent()
}

func (responses) failure(b []byte, status int, code, text string, wait time.Duration) []byte {
	return chat{}.failure(b, status, code, text, wait)
}

func (responses) failureEvent(b []byte, status int, text string) []byte {
	code := "server_error"
	if status == 429 {
		code = "rate_limit_exceeded"
	}
	b = appendText(append(b, "event: error\ndata: {\"type\":\"error\",\"code\":"...), code)
	b = appendText(append(b, `,"message":`...), text)
	return append(b, ",\"param\":null,\"sequence_number\":0}\n\n"...)
}
