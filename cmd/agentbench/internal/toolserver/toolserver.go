// Package toolserver offers the tools of a script over MCP: by streamable HTTP, and to
// agents that start a process by a bridge that copies bytes. It is the one importer of
// the MCP SDK.
//
// The answers come from a [fakes.Desk], which decides what call of the scripted model
// an execution belongs to. All sessions of a [Server] share it: an agent may connect
// several times in one run.
package toolserver

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"image"
	"image/png"
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
	hung   func(by int)    // counts the calls that hang; nil = nobody counts
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
		if on.hung != nil {
			on.hung(1)
			defer on.hung(-1)
		}
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}
	if err := s.progress(ctx, r, began, &x.Said); err != nil {
		return nil, err
	}
	if err := s.wait(ctx, began, x.Said.After); err != nil {
		return nil, err
	}
	answered = true
	if code := x.Said.Code; code == loop.ConnectionLost || code == loop.NotSent {
		on.cut()
		return nil, errLost
	}
	return result(&x.Said)
}

// codeCancelled is the code with which servers answer calls that were cancelled.
const codeCancelled = 0

// result returns the result of a call in the form of the script.
func result(said *fakes.ToolSaid) (*mcp.CallToolResult, error) {
	text := &mcp.TextContent{Text: said.Text}
	r := &mcp.CallToolResult{Content: []mcp.Content{text}, IsError: said.Code.Failed()}
	switch said.Wire {
	case fakes.WireProtocolError:
		code := int64(jsonrpc.CodeInternalError)
		if said.Code == loop.InvalidInput {
			code = jsonrpc.CodeInvalidParams
		}
		return nil, &jsonrpc.Error{Code: code, Message: said.Text}
	case fakes.WireCancelled:
		return nil, &jsonrpc.Error{Code: codeCancelled, Message: "Request cancelled"}
	case fakes.WireStructured:
		r.Content, r.StructuredContent = []mcp.Content{}, structured(said.Text)
	case fakes.WireImage:
		r.Content = append(r.Content, &mcp.ImageContent{MIMEType: "image/png", Data: pixel})
	}
	return r, nil
}

// structured returns a text that is a JSON object as it is, and any other in one.
func structured(text string) any {
	var object map[string]any
	if err := json.Unmarshal([]byte(text), &object); err == nil && object != nil {
		return json.RawMessage(text)
	}
	return map[string]string{"result": text}
}

// pixel is a PNG image of one pixel.
var pixel = func() []byte {
	var b bytes.Buffer
	png.Encode(&b, image.NewGray(image.Rect(0, 0, 1, 1))) // a buffer takes everything
	return b.Bytes()
}()

// steps is the number of parts into which progress cuts the time until an answer.
const steps = 4

// progress tells the client of the progress of a call, if the script wants it and the
// client has asked for it.
func (s *Server) progress(ctx context.Context, r *mcp.CallToolRequest, began time.Time, said *fakes.ToolSaid) error {
	token := r.Params.GetProgressToken()
	if said.Wire != fakes.WireProgress || token == nil {
		return nil
	}
	for i := 1; i < steps; i++ {
		if err := s.wait(ctx, began, said.After*time.Duration(i)/steps); err != nil {
			return err
		}
		if err := r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: float64(i), Total: steps}); err != nil {
			return err
		}
	}
	return nil
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
