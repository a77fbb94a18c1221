// Package toolserver offers the tools of a script over MCP: by streamable HTTP, and to
// agents that start a process by a bridge that copies bytes. It is the one importer of
// the MCP SDK.
//
// The answers come from a [fakes.Desk], which decides what call of the scripted model
// an execution belongs to. All sessions of a [Server] share it: an agent may connect
// several times in one run.
package toolserver

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/loop"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Options say how tools are offered.
type Options struct {
	// Speed divides all waits; 0 = 1.
	Speed float64
	// Version is that of the program, which clients are told; "" = none.
	Version string
}

// A Server offers the tools of one conversation. Any number of clients may use it.
type Server struct {
	desk  *fakes.Desk
	speed float64
	mcp   *mcp.Server
	lines lines
}

// New returns a server of the tools at a desk. Every tool says that it only reads, so
// that clients need not ask for permission.
func New(d *fakes.Desk, o Options) *Server {
	s := &Server{desk: d, speed: cmp.Or(o.Speed, 1)}
	quiet := slog.New(slog.DiscardHandler)
	s.mcp = mcp.NewServer(&mcp.Implementation{Name: "agentbench", Version: o.Version}, &mcp.ServerOptions{Logger: quiet})
	for _, spec := range d.Tools() {
		closed := false
		s.mcp.AddTool(&mcp.Tool{Name: spec.Name, Description: cmp.Or(spec.Description, spec.Name), InputSchema: schema(spec.Input),
			Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true, OpenWorldHint: &closed, DestructiveHint: &closed}}, s.call)
	}
	return s
}

// schema returns the schema of a tool's arguments. MCP wants one of an object.
func schema(text string) any {
	var fields map[string]any
	if err := json.Unmarshal([]byte(text), &fields); err != nil || fields == nil {
		fields = map[string]any{}
	}
	fields["type"] = "object"
	return fields
}

// errGone ends a call whose client left before it began.
var errGone = errors.New("the client has left")

// A line is the connection on which a call came. Of a pipe it is the value of lineKey in
// the context of its calls.
type line struct {
	client context.Context // ends when the client has left
	cut    func()          // breaks the connection
}

type lineKey struct{}

// errLost ends an answer by the loss of its connection.
var errLost = errors.New("the script loses the connection")

// call answers one execution of a tool.
func (s *Server) call(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	began := time.Now()
	on := s.lines.of(ctx, r)
	if on == nil {
		return nil, errGone
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(on.client, cancel)
	defer stop() // over HTTP the call's own context goes on
	x := s.desk.Execute(r.Params.Name, string(r.Params.Arguments))
	if x.Err != nil {
		x.End(false)
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "agentbench: " + x.Err.Error()}
	}
	answered := false
	defer func() { x.End(answered) }()
	if x.Said.Hang {
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}
	if err := s.wait(ctx, began, x.Said.After); err != nil {
		return nil, err
	}
	answered = true
	if code := x.Said.Code; code == loop.ConnectionLost || code == loop.NotSent {
		on.cut()
		return nil, errLost
	}
	return result(&x.Said), nil
}

// result returns the result of a call.
func result(said *fakes.ToolSaid) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: said.Text}}, IsError: said.Code.Failed()}
}

// wait waits until so long after began, in the script's time.
func (s *Server) wait(ctx context.Context, began time.Time, after time.Duration) error {
	timer := time.NewTimer(time.Until(began.Add(time.Duration(float64(after) / s.speed))))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
