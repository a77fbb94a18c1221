package tape

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/dnaeon/go-vcr/v2/cassette"
)

// matches is the cassette's matcher: it reports whether an interaction answers the
// request at hand.
func (t *Transport) matches(_ *http.Request, recorded cassette.Request) bool {
	return t.asked.Method == recorded.Method && t.asked.URL == recorded.URL && t.form(t.asked.Body) == t.form(recorded.Body)
}

// play returns the response of an interaction.
func (t *Transport) play(number int, req *http.Request, in *cassette.Interaction) (*http.Response, error) {
	failure := failureOf(in.Response.Headers.Get(failureHeader))
	if in.Code == noResponse {
		t.elapse(number, in.Duration)
		return nil, failure
	}
	header := in.Response.Headers.Clone()
	header.Del(eventsHeader)
	header.Del(failureHeader)
	parts := pieces(isStream(header), in.Response.Body)
	events := readEvents(in.Response.Headers.Get(eventsHeader), len(parts))
	p := &playing{transport: t, number: number, parts: parts, events: events, last: in.Duration, failure: failure}
	return &http.Response{
		Status: in.Status, StatusCode: in.Code, Header: header, Body: p, Request: req,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, ContentLength: -1,
	}, nil
}

// failureOf parses a failure header, nil for "".
func failureOf(text string) error {
	switch rest, isLost := strings.CutPrefix(text, lost); {
	case isLost:
		return &LostError{Text: rest}
	case text == givenUp:
		return ErrGivenUp
	case text != "":
		return errors.New(text)
	}
	return nil
}

// A playing is the body of a played response. Each Read returns at most one piece.
type playing struct {
	transport *Transport
	number    int
	parts     []string
	events    []time.Duration // the time of each part; nil = all have the time last
	last      time.Duration
	failure   error
	at        int // the part that is being read
	read      int // the bytes of that part that were read
}

func (p *playing) Read(b []byte) (int, error) {
	if p.at == len(p.parts) {
		p.transport.elapse(p.number, p.last)
		if p.failure != nil {
			return 0, p.failure
		}
		return 0, io.EOF
	}
	when := p.last
	if p.events != nil {
		when = p.events[p.at]
	}
	p.transport.elapse(p.number, when)
	part := p.parts[p.at]
	n := copy(b, part[p.read:])
	if p.read += n; p.read == len(part) {
		p.at, p.read = p.at+1, 0
	}
	return n, nil
}

func (p *playing) Close() error { return nil }
