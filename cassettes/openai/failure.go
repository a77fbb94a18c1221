package openai

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/loop"
	"github.com/openai/openai-go/v3/packages/ssestream"
)

// A wrongAnswer is an answer that cannot be used.
type wrongAnswer string

func (e wrongAnswer) Error() string { return string(e) }

func wrong(format string, args ...any) error { return wrongAnswer(fmt.Sprintf(format, args...)) }

var (
	errTruncated = wrong("truncated stream: it ended before the reply was complete")
	errNoSuccess = wrong("the answer is not a success") // the status says why
)

// An answeredError is an error in an answer whose status is a success. words are its
// type and its code.
type answeredError struct {
	message string
	words   []string
}

func (e *answeredError) Error() string { return e.message }

// decode parses the JSON of a whole answer.
func decode(answer []byte, into any) error {
	if e := errorIn(answer); e != nil {
		return e
	}
	var syntax *json.SyntaxError
	switch err := json.Unmarshal(answer, into); {
	case err == nil:
		return nil
	case len(bytes.TrimSpace(answer)) == 0:
		return wrong("the answer is empty")
	case isHTML(answer):
		return wrong("the answer is HTML instead of JSON: check that the base URL is that of an API")
	case errors.As(err, &syntax) && strings.Contains(syntax.Error(), "unexpected end"):
		return wrong("the answer breaks off: its JSON is incomplete")
	case errors.As(err, &syntax) && strings.Contains(syntax.Error(), "after top-level value"):
		return wrong("something follows the JSON of the answer")
	case errors.As(err, &syntax):
		return wrong("the answer is not JSON (at byte %d)", syntax.Offset)
	default:
		return wrong("the answer's JSON is not a reply")
	}
}

// errorIn returns the error in a JSON object, nil if there is none.
func errorIn(text []byte) *answeredError {
	var object struct {
		Error   json.RawMessage `json:"error"`
		Message json.RawMessage `json:"message"`
		Detail  json.RawMessage `json:"detail"`
		Choices json.RawMessage `json:"choices"`
	}
	if json.Unmarshal(text, &object) != nil || bytes.HasPrefix(object.Choices, []byte("[")) {
		return nil
	}
	if s := jsonText(object.Error); s != "" {
		return &answeredError{message: s}
	}
	var inner struct{ Message, Type, Code, Status json.RawMessage }
	if bytes.HasPrefix(object.Error, []byte("{")) && json.Unmarshal(object.Error, &inner) == nil {
		return &answeredError{message: jsonText(inner.Message), words: []string{jsonText(inner.Code), jsonText(inner.Type), jsonText(inner.Status)}}
	}
	if s := cmp.Or(jsonText(object.Message), jsonText(object.Detail)); s != "" {
		return &answeredError{message: s}
	}
	return nil
}

// jsonText returns the text of a JSON string, or the digits of a number; "" for any
// other value.
func jsonText(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var n json.Number
	if json.Unmarshal(raw, &n) == nil {
		return n.String()
	}
	return ""
}

// status returns the HTTP status that fits the words of an error, 0 if none does.
func (e *answeredError) status() int {
	for _, word := range e.words {
		if n, err := strconv.Atoi(word); err == nil && n >= 400 && n < 600 {
			return n
		}
	}
	words := strings.ToLower(strings.Join(e.words, " "))
	for _, w := range []struct {
		part   string
		status int
	}{
		{"rate_limit", http.StatusTooManyRequests},
		{"quota", http.StatusTooManyRequests},
		{"overloaded", http.StatusServiceUnavailable},
		{"server_error", http.StatusInternalServerError},
		{"api_key", http.StatusUnauthorized},
		{"authentication", http.StatusUnauthorized},
		{"permission", http.StatusForbidden},
		{"not_found", http.StatusNotFound},
		{"invalid", http.StatusBadRequest},
	} {
		if strings.Contains(words, w.part) {
			return w.status
		}
	}
	return 0
}

// A lost is the error of a request without a usable reply. It wraps its causes.
type lost struct {
	text   string
	causes []error
}

func (e *lost) Error() string   { return e.text }
func (e *lost) Unwrap() []error { return e.causes }

// failure returns the error that the loop gets for a failed request.
func (m *model) failure(ctx context.Context, x *exchange, err error) error {
	if ctx.Err() != nil {
		cause := context.Cause(ctx)
		return &lost{m.plain("the request was given up: " + cause.Error()), []error{cause, ctx.Err()}}
	}
	if x.status >= http.StatusMultipleChoices {
		return m.refused(x)
	}
	var stream *ssestream.StreamError
	if errors.As(err, &stream) {
		err = streamError(stream)
	}
	var answered *answeredError
	if errors.As(err, &answered) {
		return &loop.ModelError{Status: answered.status(), Text: m.plain(cmp.Or(answered.message, "the server sent an error without a message"))}
	}
	if x.stream && x.status != 0 && !looksLikeEvents(x.head()) {
		return m.noStream(x)
	}
	return &lost{m.plain(m.describe(x, err)), []error{err}}
}

// streamError returns the error in an event.
func streamError(e *ssestream.StreamError) error {
	if in := errorIn(e.Event.Data); in != nil {
		return in
	}
	return &answeredError{}
}

// noStream returns the error for an answer that should be a stream and is not.
func (m *model) noStream(x *exchange) error {
	if in := errorIn(x.head()); in != nil {
		return &loop.ModelError{Status: in.status(), Text: m.plain(in.message)}
	}
	what := "the answer is not an event stream"
	if isHTML(x.head()) {
		what = "the answer is HTML instead of an event stream: check that the base URL is that of an API"
	}
	return &lost{text: what}
}

// describe returns the text of an error that is not from the server.
func (m *model) describe(x *exchange, err error) string {
	var bad wrongAnswer
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &bad):
		return bad.Error()
	case x.status == 0:
		return m.noAnswer(err)
	case errors.Is(err, bufio.ErrTooLong): // one line of a stream
		return errTooLarge.Error()
	case errors.As(err, &syntax):
		return "an event of the stream is not JSON"
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return "the connection broke off in the middle of the answer"
	}
	return "the answer broke off: " + err.Error()
}

func (m *model) noAnswer(err error) string {
	var of *url.Error // its text has the whole URL
	if errors.As(err, &of) {
		err = of.Err
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return "the connection was closed without an answer"
	}
	return fmt.Sprintf("no answer from %s: %v", m.settings.BaseURL, err)
}

// refused returns the error for an answer whose status is not a success.
func (m *model) refused(x *exchange) error {
	text := http.StatusText(x.status)
	switch in := errorIn(x.head()); {
	case in != nil && in.message != "":
		text = in.message
	case x.status < http.StatusBadRequest:
		text = "the server redirects to " + cmp.Or(x.header.Get("Location"), "nowhere") + ", which is not followed: use the right base URL"
	case isHTML(x.head()):
		text = cmp.Or(text, "not a success") + " (the answer is HTML)"
	case len(bytes.TrimSpace(x.head())) == 0:
		text = cmp.Or(text, "not a success") + " (the answer is empty)"
	default:
		text = cmp.Or(text, "not a success") + ": " + string(bytes.TrimSpace(x.head()))
	}
	if x.status == http.StatusNotFound && !strings.Contains(m.settings.BaseURL, "/v1") {
		text += " (most base URLs end in /v1)"
	}
	return &loop.ModelError{Status: x.status, RetryAfter: retryAfter(x.header), Text: m.plain(text)}
}

func isHTML(text []byte) bool {
	head := bytes.ToLower(bytes.TrimSpace(text[:min(len(text), 256)]))
	return bytes.HasPrefix(head, []byte("<!doctype html")) || bytes.HasPrefix(head, []byte("<html"))
}

// maxText is the largest number of characters in the text of a failure.
const maxText = 500

// plain makes a text safe to show: without the key, in one line, without control
// characters, and not too long.
func (m *model) plain(s string) string { return printable(m.settings.Key.Hide(s)) }

func printable(s string) string { return text.Clip(text.Line(s), maxText) }
