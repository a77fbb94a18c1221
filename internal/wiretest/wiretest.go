// Package wiretest lets tests look at HTTP answers as they come: over a network in
// memory, so that they can wait in virtual time, with what came at each instant.
package wiretest

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// Pipes is a network in memory with one server, which listens on it.
type Pipes struct {
	conns  chan net.Conn
	closed chan struct{}
}

// NewPipes returns a network without connections.
func NewPipes() *Pipes { return &Pipes{conns: make(chan net.Conn), closed: make(chan struct{})} }

// Accept is that of [net.Listener].
func (p *Pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// Close is that of [net.Listener].
func (p *Pipes) Close() error { close(p.closed); return nil }

// Addr is that of [net.Listener].
func (p *Pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80} }

// Dial connects to the server, whatever the address.
func (p *Pipes) Dial(context.Context, string, string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case p.conns <- there:
		return here, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// A Piece is the text that came at one instant.
type Piece struct {
	At   time.Duration // since the request
	Text string
}

// A Seen is an answer as a client saw it.
type Seen struct {
	Status  int
	Header  http.Header
	Trailer http.Header
	Pieces  []Piece
	End     time.Duration // since the request
	How     string        // "" = well, lost or patience: the client's was over; else the error
}

// Ask posts a body, with an API key, and looks at the answer as it comes, for as long as
// the client's patience lasts.
func Ask(t *testing.T, client *http.Client, path, body string, patience time.Duration) (a Seen) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, "POST", "http://localhost"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer sk-of-the-agent")
	began := time.Now()
	how := func(err error) string {
		switch {
		case err == io.EOF:
			return ""
		case errors.Is(err, context.DeadlineExceeded):
			return "patience"
		case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
			return "lost"
		}
		return err.Error()
	}
	resp, err := client.Do(r)
	if err != nil {
		return Seen{End: time.Since(began), How: how(err)}
	}
	defer resp.Body.Close()
	a.Status, a.Header = resp.StatusCode, resp.Header
	buf := make([]byte, 64<<10)
	for {
		n, err := resp.Body.Read(buf)
		now := time.Since(began)
		switch last := len(a.Pieces) - 1; {
		case n == 0:
		case last >= 0 && a.Pieces[last].At == now:
			a.Pieces[last].Text += string(buf[:n])
		default:
			a.Pieces = append(a.Pieces, Piece{now, string(buf[:n])})
		}
		if err != nil {
			a.End, a.How, a.Trailer = now, how(err), resp.Trailer
			return a
		}
	}
}
