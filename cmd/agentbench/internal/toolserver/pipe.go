package toolserver

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Pipe serves one client that speaks lines of JSON-RPC, as over stdio, until it leaves
// or ctx ends. Requests before the end of the input still get their answers. It closes
// the pipe. An error is not that the client has left.
func (s *Server) Pipe(ctx context.Context, pipe io.ReadWriteCloser) error {
	once := &closeOnce{ReadWriteCloser: pipe}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	finish := &finisher{Transport: &mcp.IOTransport{Reader: once, Writer: once, MaxLineLength: maxMessage}, until: ctx}
	ctx = context.WithValue(ctx, lineKey{}, &line{client: ctx, cut: func() { once.Close(); cancel() }, hung: func(by int) { finish.count(0, by) }})
	session, err := s.mcp.Connect(ctx, finish, nil)
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { once.Close() })
	defer stop()
	err = session.Wait()
	cancel()
	if errors.Is(err, io.EOF) || once.closed() {
		return nil
	}
	return err
}

// A closeOnce is a pipe that is closed at most once.
type closeOnce struct {
	io.ReadWriteCloser
	mu   sync.Mutex
	done bool
}

func (c *closeOnce) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.done {
		return nil
	}
	c.done = true
	return c.ReadWriteCloser.Close()
}

func (c *closeOnce) closed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.done
}

// Bridge copies bytes between a client that has started this process and the server at
// an address: HOST:PORT, or the URL of its /mcp. It knows no script and keeps nothing,
// so that any number of bridges serve one run of an agent. It ends when the client or
// the server has left.
func Bridge(ctx context.Context, address string, in io.Reader, out io.Writer) error {
	host, path, err := target(address)
	if err != nil {
		return err
	}
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", host)
	if err != nil {
		return &ConnectError{address, plainError(err)}
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\nUpgrade: %s\r\n\r\n", path, host, upgrade); err != nil {
		return &ConnectError{address, err}
	}
	ahead := bufio.NewReader(conn)
	resp, err := http.ReadResponse(ahead, nil)
	if err != nil {
		return &ConnectError{address, errors.New("it does not speak HTTP")}
	}
	if resp.StatusCode != http.StatusSwitchingProtocols {
		return &ConnectError{address, fmt.Errorf("it answers %s: is it the /mcp of agentbench serve?", resp.Status)}
	}
	go func() {
		io.Copy(conn, in)
		if half, ok := conn.(*net.TCPConn); ok {
			half.CloseWrite() // the server then ends its side
		}
	}()
	_, err = io.Copy(out, ahead)
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// A ConnectError says why a bridge has no server.
type ConnectError struct {
	Address string
	Err     error
}

func (e *ConnectError) Error() string {
	return fmt.Sprintf("cannot connect to %s: %v", e.Address, e.Err)
}

// Unwrap returns the reason.
func (e *ConnectError) Unwrap() error { return e.Err }

// target returns the host and the path of an address on this machine.
func target(address string) (host, path string, err error) {
	wrong := &ConnectError{address, errors.New("an address on this machine is 127.0.0.1:PORT or http://127.0.0.1:PORT/…/mcp")}
	if !strings.Contains(address, "://") {
		address = "http://" + address
	}
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" || u.Port() == "" {
		return "", "", wrong
	}
	if ip := net.ParseIP(u.Hostname()); u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return "", "", wrong
	}
	if path = u.EscapedPath(); path == "" || path == "/" {
		path = "/mcp"
	}
	return u.Host, path, nil
}

// plainError returns the reason of a network error without its address.
func plainError(err error) error {
	var op *net.OpError
	if errors.As(err, &op) {
		return cmp.Or(op.Err, err)
	}
	return err
}
