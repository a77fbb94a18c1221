package toolserver

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A finisher is a transport whose end of input waits until the requests before it have
// their answers: a client may send its last request and close its side at once. Calls
// that the script lets hang are not waited for.
type finisher struct {
	mcp.Transport
	until context.Context // its end ends the waiting

	mu   sync.Mutex
	open int           // requests without an answer
	hung int           // of them, calls that hang
	idle chan struct{} // closed when all others are answered; nil = nobody waits
}

// Connect wraps the connection of the transport.
func (f *finisher) Connect(ctx context.Context) (mcp.Connection, error) {
	conn, err := f.Transport.Connect(ctx)
	return &finishing{conn, f}, err
}

// count changes the numbers of open requests and hanging calls.
func (f *finisher) count(open, hung int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.open += open
	f.hung += hung
	if f.open <= f.hung && f.idle != nil {
		close(f.idle)
		f.idle = nil
	}
}

// wait waits until only hanging calls are open.
func (f *finisher) wait() {
	f.mu.Lock()
	idle := make(chan struct{})
	if f.open <= f.hung {
		close(idle)
	} else {
		f.idle = idle
	}
	f.mu.Unlock()
	select {
	case <-idle:
	case <-f.until.Done():
	}
}

// A finishing is a connection of a finisher.
type finishing struct {
	mcp.Connection
	of *finisher
}

// Read reads a message, and waits at the end of the input.
func (c *finishing) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := c.Connection.Read(ctx)
	if errors.Is(err, io.EOF) {
		c.of.wait()
	}
	if r, ok := m.(*jsonrpc.Request); ok && err == nil && r.IsCall() {
		c.of.count(1, 0)
	}
	return m, err
}

// Write writes a message.
func (c *finishing) Write(ctx context.Context, m jsonrpc.Message) error {
	err := c.Connection.Write(ctx, m)
	if _, ok := m.(*jsonrpc.Response); ok {
		c.of.count(-1, 0)
	}
	return err
}
