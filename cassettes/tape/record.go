package tape

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/dnaeon/go-vcr/v2/cassette"
)

// The headers of ours, and the values of a failure header.
const (
	eventsHeader  = "X-Agentbench-Events"
	failureHeader = "X-Agentbench-Failure"
	givenUp       = "given-up"
	lost          = "lost: "

	// noResponse is the status of an interaction that had no response.
	noResponse = 599
)

// maxBody is the largest body of a request or a response, in bytes.
const maxBody = 64 << 20

// ErrGivenUp is the error of a request that was cancelled when it was recorded.
var ErrGivenUp = errors.New("the request was given up")

// A LostError reports a lost connection. It has the same text when it is played.
type LostError struct{ Text string }

func (e *LostError) Error() string { return "the connection was lost: " + e.Text }

// keptHeaders are the headers of a response that are recorded. The others are about
// the moment and the account.
var keptHeaders = []string{"Content-Type", "Retry-After", "Retry-After-Ms", "X-Should-Retry"}

// host replaces the real host in a cassette.
const host = "http://recorded.invalid"

// readBody reads and closes the body of a request.
func readBody(req *http.Request) ([]byte, error) {
	if req.Body == nil || req.Body == http.NoBody {
		return nil, nil
	}
	defer req.Body.Close()
	body, err := io.ReadAll(io.LimitReader(req.Body, maxBody+1))
	if err == nil && len(body) > maxBody {
		err = fmt.Errorf("the request is larger than %d MiB", maxBody>>20)
	}
	return body, err
}

// record sends a request to the network and returns the response. The part of the
// body that was read becomes an interaction when the body ends or is closed.
func (t *Transport) record(number int, req *http.Request, asked cassette.Request, body []byte) (*http.Response, error) {
	sent := req.Clone(req.Context())
	sent.Body = io.NopCloser(bytes.NewReader(body))
	r := &recording{transport: t, number: number, ctx: req.Context(), asked: asked, start: t.clock()}
	resp, err := t.real.RoundTrip(sent)
	if err != nil {
		return nil, r.finish(err, r.now())
	}
	r.response = cassette.Response{Code: resp.StatusCode, Status: resp.Status, Headers: http.Header{}}
	for _, name := range keptHeaders {
		if v := resp.Header.Values(name); len(v) > 0 {
			r.response.Headers[name] = slices.Clone(v)
		}
	}
	r.body, resp.Body = resp.Body, r
	r.cut.stream = isStream(resp.Header)
	return resp, nil
}

// A recording is the body of a response that is being recorded.
type recording struct {
	transport *Transport
	number    int
	ctx       context.Context
	asked     cassette.Request
	start     time.Time
	response  cassette.Response
	body      io.ReadCloser

	mu   sync.Mutex
	text []byte
	cut  cutter
	done bool
}

// Read returns the bytes as they arrive, and keeps them.
func (r *recording) Read(p []byte) (int, error) {
	n, err := r.body.Read(p)
	at := r.now()
	r.mu.Lock()
	r.text = append(r.text, p[:n]...)
	r.cut.add(p[:n], at)
	large := len(r.text) > maxBody
	r.mu.Unlock()
	if large {
		err = fmt.Errorf("the response is larger than %d MiB", maxBody>>20)
	}
	if err != nil {
		if failed := r.finish(err, at); err != io.EOF {
			err = failed
		}
	}
	return n, err
}

// now returns the time since the request, and stores it as the transport's elapsed
// time.
func (r *recording) now() time.Duration {
	d := r.transport.clock().Sub(r.start).Round(time.Millisecond)
	r.transport.elapse(r.number, d)
	return d
}

// Close ends the recording with the bytes that were read.
func (r *recording) Close() error {
	r.finish(nil, r.transport.Elapsed())
	return r.body.Close()
}

// finish adds the interaction to the recording, once; at is when it ended. It
// returns the error for the reader.
func (r *recording) finish(err error, at time.Duration) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.done {
		return err
	}
	r.done = true
	seen := err
	failure := ""
	switch {
	case err == io.EOF && r.body != nil:
	case r.ctx.Err() != nil:
		failure = givenUp
	case err != nil:
		e := &LostError{Text: r.transport.redact(plain(err))}
		failure, seen = lost+e.Text, e
	}
	r.response.Duration = at
	if r.body == nil {
		r.response = cassette.Response{Code: noResponse, Status: fmt.Sprintf("%d no response", noResponse), Headers: http.Header{}, Duration: r.response.Duration}
	}
	if failure != "" {
		r.response.Headers.Set(failureHeader, failure)
	}
	r.transport.note(r.asked, r.response, string(r.text), r.cut.end(r.response.Duration))
	return seen
}

// note redacts an interaction and adds it to the recording.
func (t *Transport) note(asked cassette.Request, resp cassette.Response, body string, events []time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	resp.Body = body
	t.redactResponse(&resp)
	if n := len(pieces(isStream(resp.Headers), resp.Body)); n != len(events) {
		events = nil // a redaction joined events, so all of them come at the end
	}
	if s := writeEvents(events); s != "" {
		resp.Headers.Set(eventsHeader, s)
	}
	t.recorded = append(t.recorded, &cassette.Interaction{Request: asked, Response: resp})
}

// redact redacts a text.
func (t *Transport) redact(text string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.redactor.Body("", text)
}

// redactResponse redacts all texts of a response. It does not change a played
// response, but registers its placeholders, so that they keep their numbers.
func (t *Transport) redactResponse(r *cassette.Response) {
	r.Body = t.redactor.Body(r.Headers.Get("Content-Type"), r.Body)
	r.Status = t.redactor.Body("", r.Status)
	for _, name := range slices.Sorted(maps.Keys(r.Headers)) {
		if name == eventsHeader {
			continue // our own
		}
		for i, v := range r.Headers[name] {
			r.Headers[name][i] = t.header(name, v)
		}
	}
}

// header redacts the value of a header together with its name, as [check] does.
func (t *Transport) header(name, value string) string {
	line := t.redactor.Body("", name+": "+value)
	if value, ok := strings.CutPrefix(line, name+": "); ok {
		return value
	}
	return line // the name was redacted too
}

// ask returns the redacted form of a request, which is recorded and compared.
func (t *Transport) ask(req *http.Request, body []byte) cassette.Request {
	kind := req.Header.Get("Content-Type")
	r := cassette.Request{Method: req.Method, URL: t.redactor.URL(host + req.URL.RequestURI()), Body: t.redactor.Body(kind, string(body)), Headers: http.Header{}}
	if kind != "" {
		r.Headers.Set("Content-Type", t.header("Content-Type", kind))
	}
	return r
}

// plain returns the text of a transport's error without the addresses in it, which
// differ from run to run.
func plain(err error) string {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	var no syscall.Errno
	var sys *os.SyscallError
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "it ended too early"
	case errors.Is(err, io.EOF):
		return "no response arrived"
	case errors.As(err, &no):
		return no.Error()
	case errors.As(err, &sys):
		return sys.Err.Error()
	}
	text := err.Error()
	if i := strings.LastIndex(text, ": "); i >= 0 {
		text = text[i+2:]
	}
	return text
}
