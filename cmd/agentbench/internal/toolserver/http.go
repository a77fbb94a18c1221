package toolserver

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// upgrade is the name of the protocol of a bridge: lines of JSON-RPC, as over stdio.
const upgrade = "agentbench-mcp"

// maxMessage is the largest message that is read, in bytes.
const maxMessage = 16 << 20

// newest is the first protocol version without sessions.
const newest = "2026-07-28"

// sessionTime is how long a session without requests is kept.
const sessionTime = time.Hour

// Handler returns a handler of streamable HTTP. A call ends when its client leaves. A
// [Bridge] connects to it too.
func (s *Server) Handler() http.Handler {
	inner := func(stateless bool) http.Handler {
		return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s.mcp },
			&mcp.StreamableHTTPOptions{Stateless: stateless, MaxRequestBodyBytes: maxMessage, SessionTimeout: sessionTime})
	}
	sessions, none := inner(false), inner(true)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.EqualFold(r.Header.Get("Upgrade"), upgrade) {
			s.bridged(w, r)
			return
		}
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		out := &cutWriter{ResponseWriter: w}
		id := s.lines.add(&line{client: ctx, cut: func() { out.lost.Store(true); cancel() }})
		defer s.lines.remove(id)
		r = r.WithContext(ctx)
		r.Header = r.Header.Clone()
		r.Header.Set(lineHeader, id)
		if r.Header.Get("Mcp-Protocol-Version") >= newest {
			none.ServeHTTP(out, r)
		} else {
			sessions.ServeHTTP(out, r)
		}
		if out.lost.Load() {
			panic(http.ErrAbortHandler) // which closes the connection
		}
	})
}

// lineHeader is the header that says on which line a request came. A call knows of its
// request only the headers.
const lineHeader = "X-Agentbench-Line"

// lines are the requests in progress.
type lines struct {
	mu   sync.Mutex
	last int
	open map[string]*line
}

func (l *lines) add(one *line) (id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open == nil {
		l.open = map[string]*line{}
	}
	l.last++
	id = strconv.Itoa(l.last)
	l.open[id] = one
	return id
}

func (l *lines) remove(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.open, id)
}

// of returns the line of a call, or nil if the client has left.
func (l *lines) of(ctx context.Context, r *mcp.CallToolRequest) *line {
	if on, ok := ctx.Value(lineKey{}).(*line); ok {
		return on
	}
	if r.Extra == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.open[r.Extra.Header.Get(lineHeader)]
}

// A cutWriter writes nothing any more once its connection is lost.
type cutWriter struct {
	http.ResponseWriter
	lost atomic.Bool
}

func (w *cutWriter) Write(b []byte) (int, error) {
	if w.lost.Load() {
		return 0, errLost
	}
	return w.ResponseWriter.Write(b)
}

func (w *cutWriter) WriteHeader(status int) {
	if !w.lost.Load() {
		w.ResponseWriter.WriteHeader(status)
	}
}

// Flush sends what was written.
func (w *cutWriter) Flush() {
	if !w.lost.Load() {
		http.NewResponseController(w.ResponseWriter).Flush() // an error means that the writer does not buffer
	}
}

// bridged serves a bridge on the connection of a request.
func (s *Server) bridged(w http.ResponseWriter, r *http.Request) {
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, "this connection cannot be upgraded", http.StatusNotImplemented)
		return
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: "+upgrade+"\r\n\r\n"); err != nil {
		return
	}
	stop := context.AfterFunc(r.Context(), func() { conn.Close() })
	defer stop()
	s.Pipe(r.Context(), &bufferedConn{conn, buffered.Reader}) // its error is that of a client that has left
}

// A bufferedConn is a connection of which a reader has read ahead.
type bufferedConn struct {
	net.Conn
	ahead *bufio.Reader
}

func (c *bufferedConn) Read(b []byte) (int, error) { return c.ahead.Read(b) }
