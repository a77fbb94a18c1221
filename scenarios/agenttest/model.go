package agenttest

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/agentbench-go/agentbench/loop"
)

// Model returns the model for an agent that is built on an interface of its own: what
// World.Client gets by HTTP, without a client library. It keeps the promises of
// [loop.Model]. An agent with another interface wraps it, or asks it with
// [loop.ModelRequest] values of its own: what counts are the tools and the history, whose
// calls and results must have the model's own ids. Its Reply takes nil for delta.
func (w *World) Model() loop.Model { return model{w.trial} }

// A model asks the server in the form of Chat Completions, streamed, so that the server
// sees one kind of agent only.
type model struct{ *trial }

// The form of a request.
type (
	chatRequest struct {
		Model    string        `json:"model"`
		Stream   bool          `json:"stream"`
		Options  chatOptions   `json:"stream_options"`
		Messages []chatMessage `json:"messages"`
		Tools    []chatTool    `json:"tools,omitempty"`
	}
	chatOptions struct {
		Usage bool `json:"include_usage"`
	}
	chatMessage struct {
		Role    string     `json:"role"`
		Content string     `json:"content"`
		Calls   []chatCall `json:"tool_calls,omitempty"`
		CallID  string     `json:"tool_call_id,omitempty"`
	}
	chatCall struct {
		Index    int      `json:"index"`
		ID       string   `json:"id"`
		Type     string   `json:"type"`
		Function chatFunc `json:"function"`
	}
	chatFunc struct {
		Name string `json:"name"`
		Args string `json:"arguments"`
	}
	chatTool struct {
		Type     string   `json:"type"`
		Function chatSpec `json:"function"`
	}
	chatSpec struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Parameters  json.RawMessage `json:"parameters,omitempty"`
	}
)

// A chatEvent is an event of a streamed answer, or the body of an error.
type chatEvent struct {
	Choices []struct {
		Delta struct {
			Content string
			Calls   []chatCall `json:"tool_calls"`
		}
		Finish string `json:"finish_reason"`
	}
	Usage struct {
		In  int64 `json:"prompt_tokens"`
		Out int64 `json:"completion_tokens"`
	}
	Error *struct {
		Message, Type, Code string
	}
}

// Reply asks the server.
func (m model) Reply(ctx context.Context, req loop.ModelRequest, delta func(string)) (loop.Reply, error) {
	body, err := json.Marshal(chatBody(&req))
	if err != nil {
		return loop.Reply{}, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/v1/chat/completions", bytes.NewReader(body))
	if err != nil {
		return loop.Reply{}, err
	}
	resp, err := m.RoundTrip(r)
	if err != nil {
		return loop.Reply{}, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return loop.Reply{}, refusal(resp)
	}
	if delta == nil {
		delta = func(string) {}
	}
	return read(resp.Body, delta)
}

func chatBody(req *loop.ModelRequest) *chatRequest {
	out := &chatRequest{Model: "agentbench", Stream: true, Options: chatOptions{true}}
	if req.System != "" {
		out.Messages = append(out.Messages, chatMessage{Role: "system", Content: req.System})
	}
	for i := range req.History {
		h := &req.History[i]
		one := chatMessage{Content: h.Text, CallID: h.CallID}
		switch h.Role {
		case loop.User:
			one.Role = "user"
		case loop.Assistant:
			one.Role = "assistant"
		case loop.ToolRole:
			one.Role = "tool"
		}
		for _, c := range h.Calls {
			one.Calls = append(one.Calls, chatCall{ID: c.ID, Type: "function", Function: chatFunc{c.Name, c.Args}})
		}
		out.Messages = append(out.Messages, one)
	}
	for _, t := range req.Tools {
		spec := chatSpec{Name: t.Name, Description: t.Description}
		if json.Valid([]byte(t.Input)) {
			spec.Parameters = json.RawMessage(t.Input)
		}
		out.Tools = append(out.Tools, chatTool{"function", spec})
	}
	return out
}

// refusal returns the error of an answer with a status.
func refusal(resp *http.Response) error {
	body, err := io.ReadAll(resp.Body)
	e := &loop.ModelError{Status: resp.StatusCode, Text: strings.TrimSpace(string(body))}
	var event chatEvent
	if json.Unmarshal(body, &event) == nil && event.Error != nil {
		e.Text = event.Error.Message
	}
	if e.Text == http.StatusText(e.Status) {
		e.Text = ""
	}
	if err != nil {
		return err
	}
	h := resp.Header
	if ms, err := strconv.ParseInt(h.Get("Retry-After-Ms"), 10, 64); err == nil {
		e.RetryAfter = time.Duration(ms) * time.Millisecond
	} else if s, err := strconv.ParseInt(h.Get("Retry-After"), 10, 64); err == nil {
		e.RetryAfter = time.Duration(s) * time.Second
	} else if at, err := http.ParseTime(h.Get("Retry-After")); err == nil {
		e.RetryAfter = max(0, time.Until(at))
	}
	return e
}

// maxEvent bounds an event of a stream, in bytes.
const maxEvent = 16 << 20

// read reads a streamed answer.
func read(body io.Reader, delta func(string)) (reply loop.Reply, err error) {
	lines := bufio.NewScanner(body)
	lines.Buffer(make([]byte, 0, 4<<10), maxEvent)
	var text strings.Builder
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data:")
		if data = strings.TrimSpace(data); !ok || data == "[DONE]" {
			continue
		}
		var e chatEvent
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			return loop.Reply{}, fmt.Errorf("an event is not JSON: %w", err)
		}
		if e.Error != nil {
			return loop.Reply{}, streamError(e.Error.Message, cmp.Or(e.Error.Code, e.Error.Type))
		}
		reply.TokensIn, reply.TokensOut = max(reply.TokensIn, e.Usage.In), max(reply.TokensOut, e.Usage.Out)
		if len(e.Choices) == 0 {
			continue
		}
		c := &e.Choices[0]
		text.WriteString(c.Delta.Content)
		for _, piece := range c.Delta.Calls {
			for piece.Index >= len(reply.Calls) {
				reply.Calls = append(reply.Calls, loop.AskedCall{})
			}
			call := &reply.Calls[piece.Index]
			call.ID, call.Name, call.Args = cmp.Or(call.ID, piece.ID), cmp.Or(call.Name, piece.Function.Name), call.Args+piece.Function.Args
		}
		reply.Finish = cmp.Or(c.Finish, reply.Finish)
		delta(c.Delta.Content)
	}
	if err := lines.Err(); err != nil {
		return loop.Reply{}, err
	}
	if reply.Finish == "" {
		return loop.Reply{}, io.ErrUnexpectedEOF
	}
	reply.Text = text.String()
	return reply, nil
}

// streamError returns the error that an event tells. It has no status: its code must
// do.
func streamError(message, code string) error {
	e := &loop.ModelError{Text: message}
	if strings.Contains(code, "rate_limit") {
		e.Status = http.StatusTooManyRequests
	}
	return e
}
