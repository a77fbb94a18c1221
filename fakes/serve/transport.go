package serve

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strconv"
	"sync"
)

// Transport returns a transport that lets a handler, such as a [Server], answer in
// this process, without sockets: for a client in a bubble of [testing/synctest],
// where waits for a socket do not let the time pass. The host of a URL does not
// matter. The transport keeps what the client has not read yet, whatever its size,
// so that a client that leaves an answer half read holds nothing up. An answer
// ends early when its request's context ends or its body is closed.
func Transport(h http.Handler) http.RoundTripper { return transport{h} }

type transport struct{ handler http.Handler }

func (t transport) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(req.Context())
	a := &pending{header: http.Header{}, began: make(chan struct{}), cancel: cancel}
	a.arrived.L = &a.mu
	go t.serve(a, req, ctx)
	select {
	case <-a.began:
	case <-req.Context().Done(): // not ctx, which also ends with the handler
		a.end(context.Cause(req.Context()))
		return nil, context.Cause(req.Context())
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.status == 0 {
		return nil, a.err
	}
	a.stop = context.AfterFunc(req.Context(), func() { a.end(context.Cause(req.Context())) })
	length := int64(-1)
	if n, err := strconv.ParseInt(a.sent.Get("Content-Length"), 10, 64); err == nil {
		length = n
	}
	return &http.Response{Status: strconv.Itoa(a.status) + " " + http.StatusText(a.status), StatusCode: a.status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: a.sent, Body: a, ContentLength: length, Request: req}, nil
}

// serve runs the handler and ends the answer: as it should, or broken off.
func (t transport) serve(a *pending, req *http.Request, ctx context.Context) {
	defer a.cancel()
	r := req.Clone(ctx)
	r.RequestURI, r.Host, r.RemoteAddr = req.URL.RequestURI(), "localhost", "127.0.0.1:0"
	if r.Body == nil {
		r.Body = http.NoBody
	}
	defer r.Body.Close()
	defer func() {
		switch p := recover(); {
		case p == http.ErrAbortHandler && req.Context().Err() != nil:
			a.end(context.Cause(req.Context()))
		case p == http.ErrAbortHandler:
			a.abort()
		case p != nil:
			panic(p)
		default:
			a.WriteHeader(http.StatusOK)
			a.end(io.EOF)
		}
	}()
	t.handler.ServeHTTP(a, r)
}

// A pending answer is what the handler writes and the body that the client reads.
type pending struct {
	cancel func() // ends the request's context
	stop   func() bool
	header http.Header
	began  chan struct{} // closed when there is a status, or an error in its place

	mu      sync.Mutex
	arrived sync.Cond // something was written, or the answer has ended
	status  int
	sent    http.Header
	unread  bytes.Buffer
	err     error // after the last byte
}

func (a *pending) Header() http.Header { return a.header }

// Flush does nothing: what is written has arrived.
func (a *pending) Flush() {}

func (a *pending) WriteHeader(status int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.status != 0 || a.err != nil {
		return
	}
	a.status, a.sent = status, a.header.Clone()
	close(a.began)
}

func (a *pending) Write(b []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.err != nil {
		return 0, a.err
	}
	a.arrived.Broadcast()
	return a.unread.Write(b)
}

// abort breaks the answer off, as a lost connection does.
func (a *pending) abort() {
	a.mu.Lock()
	begun := a.status != 0
	a.mu.Unlock()
	if begun {
		a.end(io.ErrUnexpectedEOF)
	} else {
		a.end(io.EOF)
	}
}

// end ends the answer with the error that follows its last byte, unless it has
// ended.
func (a *pending) end(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.err != nil {
		return
	}
	a.err = err
	a.arrived.Broadcast()
	if a.status == 0 {
		close(a.began)
	}
}

func (a *pending) Read(b []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for a.unread.Len() == 0 && a.err == nil && len(b) > 0 {
		a.arrived.Wait()
	}
	if a.unread.Len() == 0 && a.err != nil {
		return 0, a.err
	}
	return a.unread.Read(b)
}

// Close tells the handler that the client has left.
func (a *pending) Close() error {
	a.stop()
	a.cancel()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.unread, a.err = bytes.Buffer{}, http.ErrBodyReadAfterClose
	a.arrived.Broadcast()
	return nil
}
