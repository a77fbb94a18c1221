package agenttest

import (
	"context"
	"net"
	"net/http"
	"os"
	"sync"
	"testing"
	"time"
)

// A loopback is a network of TCP sockets of this machine for one bubble. Who waits for
// bytes that nobody has sent waits in the bubble and not for the socket, so that time
// goes on; bytes that were sent take no time.
type loopback struct {
	*net.TCPListener
	mu      sync.Mutex
	changed sync.Cond // it was dialled or closed
	dialled []*socket // the server's sides of connections that it has not accepted yet
	closed  bool
}

// overSockets lets a trial ask its server by HTTP on a port of this machine.
func overSockets(t *testing.T, tr *trial) (closed func()) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n := &loopback{TCPListener: l.(*net.TCPListener)}
	n.changed.L = &n.mu
	client := &http.Transport{DialContext: n.dial}
	tr.model = client
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- tr.server.Serve(ctx, n) }()
	return func() {
		client.CloseIdleConnections()
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	}
}

func (n *loopback) dial(context.Context, string, string) (net.Conn, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	conn, err := net.DialTCP("tcp", nil, n.Addr().(*net.TCPAddr))
	if err != nil {
		return nil, err
	}
	here, there := &socket{Conn: conn, mu: &n.mu, changed: sync.Cond{L: &n.mu}}, &socket{mu: &n.mu, changed: sync.Cond{L: &n.mu}}
	here.peer, there.peer = there, here
	n.dialled = append(n.dialled, there)
	n.changed.Broadcast()
	return here, nil
}

// Accept returns the oldest connection that was dialled.
func (n *loopback) Accept() (net.Conn, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for len(n.dialled) == 0 && !n.closed {
		n.changed.Wait()
	}
	if n.closed {
		return nil, net.ErrClosed
	}
	s := n.dialled[0]
	n.dialled = n.dialled[1:]
	var err error
	s.Conn, err = n.TCPListener.Accept()
	return s, err
}

func (n *loopback) Close() error {
	err := n.TCPListener.Close()
	n.mu.Lock()
	defer n.mu.Unlock()
	n.closed = true
	n.changed.Broadcast()
	return err
}

// A socket is one side of a connection.
type socket struct {
	net.Conn // TCP
	peer     *socket

	mu       *sync.Mutex // of the network
	changed  sync.Cond   // what follows has
	unread   int         // bytes that the peer has sent, or is about to send
	ended    bool        // the peer sends no more
	closed   bool
	deadline time.Time
	timer    *time.Timer
}

// change changes a socket, of which whoever reads from it may wait.
func (s *socket) change(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
	s.changed.Broadcast()
}

// Read waits until there is something to read, and reads it.
func (s *socket) Read(b []byte) (int, error) {
	s.mu.Lock()
	late := func() bool { return !s.deadline.IsZero() && !time.Now().Before(s.deadline) }
	for s.unread == 0 && !s.ended && !s.closed && len(b) > 0 {
		if late() {
			s.mu.Unlock()
			return 0, os.ErrDeadlineExceeded
		}
		s.changed.Wait()
	}
	s.mu.Unlock()
	n, err := s.Conn.Read(b)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unread -= n
	return n, err
}

func (s *socket) Write(b []byte) (int, error) {
	s.peer.change(func() { s.peer.unread += len(b) })
	return s.Conn.Write(b)
}

func (s *socket) Close() error {
	err := s.Conn.Close()
	s.change(func() { s.closed = true })
	s.peer.change(func() { s.peer.ended = true })
	return err
}

func (s *socket) CloseWrite() error {
	err := s.Conn.(*net.TCPConn).CloseWrite()
	s.peer.change(func() { s.peer.ended = true })
	return err
}

func (s *socket) SetReadDeadline(at time.Time) error {
	s.change(func() {
		if s.timer != nil {
			s.timer.Stop()
		}
		if s.deadline = at; time.Now().Before(at) {
			s.timer = time.AfterFunc(time.Until(at), func() { s.change(func() {}) })
		}
	})
	return nil
}

func (s *socket) SetDeadline(at time.Time) error { return s.SetReadDeadline(at) }

// SetWriteDeadline does nothing: writes do not wait.
func (s *socket) SetWriteDeadline(time.Time) error { return nil }
