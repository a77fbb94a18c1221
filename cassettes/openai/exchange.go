package openai

import (
	"bytes"
	"io"
	"net/http"

	"github.com/openai/openai-go/v3/option"
)

// The largest answer that is accepted.
const (
	maxAnswer = 32 << 20 // bytes
	maxHead   = 64 << 10 // bytes that are kept to explain a failure
	maxParts  = 100_000  // of one JSON document
)

// An exchange is the transport of one request. It keeps the status, the header and
// the beginning of the answer.
type exchange struct {
	next   http.RoundTripper
	stream bool

	status int // 0 = no answer
	header http.Header
	body   *body
}

// RoundTrip sends the request.
func (x *exchange) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := x.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	x.status, x.header = resp.StatusCode, resp.Header
	if resp.Body == nil {
		resp.Body = http.NoBody
	}
	x.body = &body{ReadCloser: resp.Body, left: maxAnswer, events: x.stream && resp.StatusCode < http.StatusMultipleChoices}
	resp.Body = x.body
	return resp, nil
}

// through makes the library use the exchange. It does not follow redirects, so that
// only the host of the base URL gets the conversation.
func (x *exchange) through() option.RequestOption {
	return option.WithHTTPClient(&http.Client{
		Transport:     x,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	})
}

// head returns the beginning of the answer's body, as far as it was read.
func (x *exchange) head() []byte {
	if x.body == nil {
		return nil
	}
	return x.body.head
}

// A body reads an answer, and fails if it has too many bytes or too many parts. The
// library needs some kilobytes for a part of a few bytes.
type body struct {
	io.ReadCloser
	left   int64
	events bool // an event stream
	head   []byte

	parts     int // of the document or the event so far
	quoted    bool
	escaped   bool
	lineEmpty bool
}

var (
	errTooLarge  = wrong("the answer is larger than %d MiB", maxAnswer>>20)
	errManyParts = wrong("the answer's JSON has more than %d parts", maxParts)
)

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if room := maxHead - len(b.head); room > 0 {
		b.head = append(b.head, p[:min(n, room)]...)
	}
	if b.left -= int64(n); b.left < 0 {
		return 0, errTooLarge
	}
	if b.count(p[:n]); b.parts > maxParts {
		return 0, errManyParts
	}
	return n, err
}

// count counts the characters that begin or separate values, outside of strings. An
// event ends with an empty line, and a JSON string has no line breaks.
func (b *body) count(p []byte) {
	for _, c := range p {
		switch {
		case c == '\n':
			if b.events && b.lineEmpty {
				b.parts = 0
			}
			b.quoted, b.escaped, b.lineEmpty = false, false, true
			continue
		case c == '\r':
			continue
		case b.escaped:
			b.escaped = false
		case c == '"':
			b.quoted = !b.quoted
		case b.quoted:
			b.escaped = c == '\\'
		case c == ',' || c == '{' || c == '[':
			b.parts++
		}
		b.lineEmpty = false
	}
}

// looksLikeEvents reports whether a body may be an event stream.
func looksLikeEvents(head []byte) bool {
	head = bytes.TrimLeft(head, "\r\n\ufeff")
	for _, field := range []string{"data:", "event:", "id:", "retry:", ":"} {
		if bytes.HasPrefix(head, []byte(field)) {
			return true
		}
	}
	return len(head) == 0
}
