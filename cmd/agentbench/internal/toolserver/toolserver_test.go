package toolserver

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/fakes/serve"
	"github.com/agentbench-go/agentbench/loop"
	gocmp "github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const sec = time.Second

// rejected is the client's own code for a request that its transport could not send or
// that got no answer.
const rejected = -32005

// script has a tool for every way to answer.
func script() *fakes.Script {
	took := fakes.Span{Min: 3 * sec, Max: 3 * sec}
	return &fakes.Script{Tools: []fakes.Tool{
		{ToolSpec: loop.ToolSpec{Name: "read", Description: "Reads a file.", Input: `{"properties":{"path":{"type":"string"}},"required":["path"]}`}, Latency: took,
			Answers: []fakes.Answer{{When: map[string]any{"path": "a"}, Result: "call ${call}", Failures: []fakes.Failure{{Error: loop.RateLimited, Text: "slow down"}}}}},
		{ToolSpec: loop.ToolSpec{Name: "hangs"}, Answers: []fakes.Answer{{Result: "at last", Failures: []fakes.Failure{{Hang: true}}}}},
		{ToolSpec: loop.ToolSpec{Name: "breaks", Input: "true"}, Answers: []fakes.Answer{{Result: "whole", Failures: []fakes.Failure{{Error: loop.ConnectionLost}}}}},
		{ToolSpec: loop.ToolSpec{Name: "none"}, Answers: []fakes.Answer{{Error: loop.NoResults, Text: "nothing found"}}},
		{ToolSpec: loop.ToolSpec{Name: "ask"}, Session: &fakes.Session{}},
	}}
}

// A front connects a client to a server, in one of the ways there are.
type front func(t *testing.T, s *Server) *mcp.ClientSession

var fronts = map[string]front{
	"http": func(t *testing.T, s *Server) *mcp.ClientSession {
		server := httptest.NewServer(s.Handler())
		t.Cleanup(server.Close)
		return connect(t, &mcp.StreamableClientTransport{Endpoint: server.URL, MaxRetries: -1})
	},
	"pipe": func(t *testing.T, s *Server) *mcp.ClientSession {
		a, b := net.Pipe()
		go s.Pipe(t.Context(), b)
		return connect(t, &mcp.IOTransport{Reader: a, Writer: a})
	},
	"bridge": func(t *testing.T, s *Server) *mcp.ClientSession {
		server := httptest.NewServer(s.Handler())
		t.Cleanup(server.Close)
		return bridge(t, server.URL)
	},
}

// bridge connects a client through a bridge to an address.
func bridge(t *testing.T, address string) *mcp.ClientSession {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- Bridge(context.Background(), address, inR, outW)
		outW.Close()
		inR.Close()
	}()
	session := connect(t, &mcp.IOTransport{Reader: outR, Writer: inW})
	t.Cleanup(func() {
		session.Close()
		if err := <-ended; err != nil {
			t.Errorf("the bridge ended with %v", err)
		}
	})
	return session
}

func connect(t *testing.T, transport mcp.Transport) *mcp.ClientSession {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test"}, nil)
	session, err := client.Connect(t.Context(), transport, nil)
	if err != nil {
		t.Fatal(err)
	}
	return session
}

// said calls a tool and returns what the client sees.
func said(ctx context.Context, session *mcp.ClientSession, name string, args map[string]any) string {
	r, err := session.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: args})
	if wire := new(jsonrpc.Error); errors.As(err, &wire) && wire.Code != rejected {
		return fmt.Sprintf("%d %s", wire.Code, wire.Message)
	}
	if err != nil {
		return "an error"
	}
	var b strings.Builder
	for _, c := range r.Content {
		text, _ := c.(*mcp.TextContent)
		fmt.Fprintf(&b, "%s", text.Text)
	}
	return fmt.Sprintf("%s %v", b.String(), r.IsError)
}

func TestTools(t *testing.T) {
	for name, connected := range fronts {
		t.Run(name, func(t *testing.T) {
			desk := fakes.NewDesk(script(), 1)
			session := connected(t, New(desk, Options{Speed: 1e6, Version: "0.1.0"}))
			defer session.Close()
			list, err := session.ListTools(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, tool := range list.Tools {
				names = append(names, tool.Name)
				if !tool.Annotations.ReadOnlyHint {
					t.Errorf("%s does not say that it only reads", tool.Name)
				}
			}
			if diff := gocmp.Diff([]string{"breaks", "hangs", "none", "read"}, names); diff != "" {
				t.Error(diff)
			}
			schema, _ := json.Marshal(list.Tools[3].InputSchema)
			if want := `{"properties":{"path":{"type":"string"}},"required":["path"],"type":"object"}`; string(schema) != want || list.Tools[3].Description != "Reads a file." {
				t.Errorf("%s %s", list.Tools[3].Description, schema)
			}
			ctx := t.Context()
			path := map[string]any{"path": "a"}
			for _, tt := range []struct {
				tool string
				args map[string]any
				want string
			}{
				{"read", path, "slow down true"},
				{"read", path, "call 1 false"},
				{"read", map[string]any{"path": "b"}, `-32603 agentbench: the script ran dry: no answer of tool read fits call c2#1 with {"path":"b"} (it has 1)`},
				{"write", path, `-32602 unknown tool "write"`},
				{"ask", nil, `-32602 unknown tool "ask"`},
				{"none", nil, "nothing found false"},
			} {
				if got := said(ctx, session, tt.tool, tt.args); got != tt.want {
					t.Errorf("%s: got %s, want %s", tt.tool, got, tt.want)
				}
			}
		})
	}
}

// A hang lasts until the client gives up; then the call has no answer, and the next
// execution of it is its second try.
func TestHang(t *testing.T) {
	for name, connected := range fronts {
		t.Run(name, func(t *testing.T) {
			desk := fakes.NewDesk(script(), 1)
			began, ended := make(chan bool, 1), make(chan bool, 1)
			desk.Observe = func(x *fakes.Execution) {
				switch {
				case !x.Ended && x.Said.Hang:
					began <- true
				case x.Said.Hang:
					ended <- x.Answered
				}
			}
			desk.Asked(1, []loop.Call{{N: 1, Name: "hangs", Args: "{}"}})
			session := connected(t, New(desk, Options{Speed: 1e6}))
			defer session.Close()
			ctx, cancel := context.WithCancel(t.Context())
			go func() { <-began; cancel() }()
			if got := said(ctx, session, "hangs", nil); got != "an error" {
				t.Errorf("got %s", got)
			}
			if <-ended {
				t.Error("the hang counts as answered")
			}
			if got := said(t.Context(), session, "hangs", map[string]any{}); got != "at last false" {
				t.Errorf("the second try: %s", got)
			}
			if told, answered, _ := desk.Told(1); !answered || told.Text != "at last" {
				t.Errorf("the desk told %+v", told)
			}
		})
	}
}

// At the end of a client's input the calls that still get an answer are answered, in
// the script's time; one that hangs is not waited for.
func TestEndOfInput(t *testing.T) {
	for tool, want := range map[string]string{"read": `"id":2,"result":{"content":[{"type":"text","text":"slow down"}],"isError":true`, "hangs": ""} {
		t.Run(tool, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				desk := fakes.NewDesk(script(), 1)
				desk.Asked(1, []loop.Call{{N: 1, Name: tool, Args: `{"path":"a"}`}})
				answered := false
				desk.Observe = func(x *fakes.Execution) { answered = x.Answered }
				in := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"` + tool + `","arguments":{"path":"a"}}}
`
				var out strings.Builder
				began := time.Now()
				if err := New(desk, Options{}).Pipe(t.Context(), ended{strings.NewReader(in), &out}); err != nil {
					t.Error(err)
				}
				if !strings.Contains(out.String(), `"id":1,`) || !strings.Contains(out.String(), want) || answered != (want != "") {
					t.Errorf("answered %v:\n%s", answered, out.String())
				}
				if took := time.Since(began); want != "" && took != 3*sec || want == "" && took != 0 {
					t.Errorf("it took %v", took)
				}
			})
		})
	}
}

// ended is a pipe whose input ends.
type ended struct {
	io.Reader
	io.Writer
}

func (ended) Close() error { return nil }

// A lost connection breaks the connection of the call. The client connects again and
// finds the same tools.
func TestConnectionLost(t *testing.T) {
	for name, connected := range fronts {
		t.Run(name, func(t *testing.T) {
			desk := fakes.NewDesk(script(), 1)
			desk.Asked(1, []loop.Call{{N: 1, Name: "breaks", Args: "{}"}})
			s := New(desk, Options{Speed: 1e6})
			session := connected(t, s)
			if got := said(t.Context(), session, "breaks", nil); got != "an error" {
				t.Errorf("got %s", got)
			}
			session.Close()
			again := connected(t, s)
			defer again.Close()
			if got := said(t.Context(), again, "breaks", nil); got != "whole false" {
				t.Errorf("then got %s", got)
			}
		})
	}
}

// Older clients have a session over HTTP. Its calls end with the request that they came
// in, too.
func TestSessions(t *testing.T) {
	desk := fakes.NewDesk(script(), 1)
	began, ended := make(chan bool, 1), make(chan bool, 1)
	desk.Observe = func(x *fakes.Execution) {
		if x.Said.Hang && x.Ended {
			ended <- x.Answered
		} else if x.Said.Hang {
			began <- true
		}
	}
	server := httptest.NewServer(New(desk, Options{Speed: 1e6}).Handler())
	defer server.Close()
	session := ""
	post := func(ctx context.Context, body string) (string, error) {
		r, err := http.NewRequestWithContext(ctx, "POST", server.URL, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		r.Header.Set("Mcp-Session-Id", session)
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			return "", err
		}
		defer resp.Body.Close()
		session = cmp.Or(resp.Header.Get("Mcp-Session-Id"), session)
		text, err := io.ReadAll(resp.Body)
		return string(text), err
	}
	id := 1
	call := func(ctx context.Context, tool string) (string, error) {
		id++ // the server may still be ending a call that its client has left
		return post(ctx, `{"jsonrpc":"2.0","id":`+strconv.Itoa(id)+`,"method":"tools/call","params":{"name":"`+tool+`","arguments":{}}}`)
	}
	ctx := t.Context()
	if _, err := post(ctx, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`); err != nil || session == "" {
		t.Fatalf("session %q, %v", session, err)
	}
	if _, err := post(ctx, `{"jsonrpc":"2.0","method":"notifications/initialized"}`); err != nil {
		t.Fatal(err)
	}
	if text, err := call(ctx, "none"); err != nil || !strings.Contains(text, "nothing found") {
		t.Errorf("%s %v", text, err)
	}
	if text, err := call(ctx, "breaks"); err == nil {
		t.Errorf("the connection that breaks says %s", text)
	}
	if text, err := call(ctx, "breaks"); err != nil || !strings.Contains(text, "whole") {
		t.Errorf("the second try: %s %v", text, err)
	}
	leaving, cancel := context.WithCancel(ctx)
	go func() { <-began; cancel() }()
	if text, err := call(leaving, "hangs"); err == nil {
		t.Fatalf("the hang says %s", text)
	}
	if <-ended {
		t.Error("the hang counts as answered")
	}
	if text, err := call(ctx, "hangs"); err != nil || !strings.Contains(text, "at last") {
		t.Errorf("the second try: %s %v", text, err)
	}
}

// Each wire of a tool's answer, as a client sees it.
func TestWires(t *testing.T) {
	long := fakes.Span{Min: 4 * sec, Max: 4 * sec}
	script := &fakes.Script{Tools: []fakes.Tool{{ToolSpec: loop.ToolSpec{Name: "f"}, Answers: []fakes.Answer{
		{When: map[string]any{"n": 1}, Result: `{"a": 1}`, Wire: fakes.WireStructured},
		{When: map[string]any{"n": 2}, Result: `[1]`, Wire: fakes.WireStructured},
		{When: map[string]any{"n": 3}, Result: "see", Wire: fakes.WireImage},
		{When: map[string]any{"n": 4}, Result: "slow", Wire: fakes.WireProgress, Latency: long},
		{When: map[string]any{"n": 5}, Error: loop.InvalidInput, Text: "no", Wire: fakes.WireProtocolError},
		{When: map[string]any{"n": 6}, Result: "then", Failures: []fakes.Failure{{Text: "busy", Wire: fakes.WireProtocolError}, {Text: "busy", Wire: fakes.WireCancelled}}},
	}}}}
	for name, connected := range fronts {
		t.Run(name, func(t *testing.T) {
			session := connected(t, New(fakes.NewDesk(script, 1), Options{Speed: 1e6}))
			defer session.Close()
			for i, want := range []string{
				`"content":[],"structuredContent":{"a":1}`,
				`"content":[],"structuredContent":{"result":"[1]"}`,
				`"content":[{"type":"text","text":"see"},{"type":"image","mimeType":"image/png","data":"iVBORw0KGgo`,
				`"content":[{"type":"text","text":"slow"}]`,
				"-32602 no",
				"-32603 busy", "0 Request cancelled", `"content":[{"type":"text","text":"then"}]`,
			} {
				r, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "f", Arguments: map[string]any{"n": min(i+1, 6)}})
				got, _ := json.Marshal(r)
				if wire := new(jsonrpc.Error); errors.As(err, &wire) {
					got = fmt.Appendf(nil, "%d %s", wire.Code, wire.Message)
				}
				if !strings.Contains(string(got), want) {
					t.Errorf("got  %s\nwant %s", got, want)
				}
			}
		})
	}
}

// Progress is told at quarters of the time, to a client that has asked for it.
func TestProgress(t *testing.T) {
	script := &fakes.Script{Tools: []fakes.Tool{{ToolSpec: loop.ToolSpec{Name: "f"}, Answers: []fakes.Answer{
		{Result: "done", Wire: fakes.WireProgress, Latency: fakes.Span{Min: 4 * sec, Max: 4 * sec}}}}}}
	synctest.Test(t, func(t *testing.T) {
		a, b := net.Pipe()
		go New(fakes.NewDesk(script, 1), Options{}).Pipe(t.Context(), b)
		began := time.Now()
		var told []string
		client := mcp.NewClient(&mcp.Implementation{Name: "test"}, &mcp.ClientOptions{ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			told = append(told, fmt.Sprintf("%v of %v at %v", r.Params.Progress, r.Params.Total, time.Since(began)))
		}})
		session, err := client.Connect(t.Context(), &mcp.IOTransport{Reader: a, Writer: a}, nil)
		if err != nil {
			t.Fatal(err)
		}
		call := &mcp.CallToolParams{Name: "f"}
		if _, err := session.CallTool(t.Context(), call); err != nil || told != nil || time.Since(began) != 4*sec {
			t.Errorf("without a token: %v, %v after %v", err, told, time.Since(began))
		}
		began = time.Now()
		call.SetProgressToken("t")
		if _, err := session.CallTool(t.Context(), call); err != nil || time.Since(began) != 4*sec {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		synctest.Wait()
		if diff := gocmp.Diff([]string{"1 of 4 at 1s", "2 of 4 at 2s", "3 of 4 at 3s"}, told); diff != "" {
			t.Error(diff)
		}
		session.Close()
		synctest.Wait()
	})
}

// Answers take the script's time, divided by the speed.
func TestLatency(t *testing.T) {
	for speed, want := range map[float64]time.Duration{0: 3 * sec, 3: sec} {
		synctest.Test(t, func(t *testing.T) {
			session := fronts["pipe"](t, New(fakes.NewDesk(script(), 1), Options{Speed: speed}))
			began := time.Now()
			if got := said(t.Context(), session, "read", map[string]any{"path": "a"}); got != "slow down true" || time.Since(began) != want {
				t.Errorf("%s after %v, want %v", got, time.Since(began), want)
			}
			session.Close()
			synctest.Wait()
		})
	}
}

// The tools of each served conversation are at its /mcp, shared by all who connect.
func TestServed(t *testing.T) {
	script := script()
	script.Model = []fakes.Step{{Calls: []fakes.StepCall{{Name: "read", Args: `{"path":"a"}`}}}, {When: fakes.WhenFailed, Text: "It failed."}, {Text: "It went well."}}
	server, err := serve.New([]serve.Scenario{{Name: "mine/tools", Script: script}}, serve.Options{Speed: 1e6, Seed: 1,
		MCP: func(d *fakes.Desk) http.Handler { return New(d, Options{Speed: 1e6}).Handler() }})
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- server.Serve(ctx, listener) }()
	address := listener.Addr().String()
	ask := func(body string) string {
		resp, err := http.Post("http://"+address+"/v1/chat/completions", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, _ := io.ReadAll(resp.Body)
		return string(text)
	}
	const first = `{"role":"user","content":"hi"}`
	tools := `"tools":[{"type":"function","function":{"name":"mcp__bench__read"}}]`
	if got := ask(`{"model":"any",` + tools + `,"messages":[` + first + `]}`); !strings.Contains(got, `"name":"mcp__bench__read"`) {
		t.Errorf("the model says %s", got)
	}
	a, b, other := bridge(t, address), bridge(t, "http://"+address+"/run/mine/tools/1/mcp"), bridge(t, "http://"+address+"/run/mine/tools/2/mcp")
	c := connect(t, &mcp.StreamableClientTransport{Endpoint: "http://" + address + "/mcp"})
	path := map[string]any{"path": "a"}
	for i, session := range []*mcp.ClientSession{a, other} {
		if got := said(ctx, session, "read", path); got != "slow down true" {
			t.Errorf("session %d: %s", i, got)
		}
	}
	history := first + `,{"role":"assistant","tool_calls":[{"id":"call_1_1","type":"function","function":{"name":"mcp__bench__read","arguments":"{\"path\":\"a\"}"}}]},{"role":"tool","tool_call_id":"call_1_1","content":"hidden"}`
	if got := ask(`{"model":"any",` + tools + `,"messages":[` + history + `]}`); !strings.Contains(got, "It failed.") {
		t.Errorf("the model says %s", got)
	}
	for i, session := range []*mcp.ClientSession{b, c} {
		if got := said(ctx, session, "read", path); got != "call 1 false" {
			t.Errorf("session %d: %s", i, got)
		}
	}
	c.Close()
	if n := server.Journal().Total.Executed; n != 4 {
		t.Errorf("the journal has %d executions", n)
	}
	stop() // with three bridges open
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestHostileClients(t *testing.T) {
	server := httptest.NewServer(New(fakes.NewDesk(script(), 1), Options{Speed: 1e6}).Handler())
	defer server.Close()
	const list = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	for _, tt := range []struct {
		name, method, body string
		header             map[string]string
		want               int
	}{
		{"no JSON", "POST", "{", nil, 400},
		{"no request", "POST", `[]`, nil, 400},
		{"deep", "POST", strings.Repeat("[", 1e6), nil, 400},
		{"huge", "POST", `{"jsonrpc":"2.0","id":1,"method":"` + strings.Repeat("x", maxMessage) + `"}`, nil, 413},
		{"no such method", "POST", `{"jsonrpc":"2.0","id":1,"method":"tools/none"}`, nil, 400},
		{"a form", "POST", list, map[string]string{"Content-Type": "application/x-www-form-urlencoded"}, 415},
		{"a name server", "POST", list, map[string]string{"Host": "elsewhere.example"}, 403},
		{"a GET without a session", "GET", "", nil, 400},
		{"good", "POST", list, nil, 200},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, err := http.NewRequest(tt.method, server.URL, strings.NewReader(tt.body))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Accept", "application/json, text/event-stream")
			for name, value := range tt.header {
				r.Header.Set(name, value)
			}
			r.Host = tt.header["Host"]
			resp, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if resp.StatusCode != tt.want {
				body, _ := io.ReadAll(io.LimitReader(resp.Body, 300))
				t.Errorf("%s: %s", resp.Status, body)
			}
		})
	}
}

// A pipe that speaks nonsense, or never ends a line, ends; the server goes on.
func TestHostilePipes(t *testing.T) {
	s := New(fakes.NewDesk(script(), 1), Options{Speed: 1e6})
	for name, text := range map[string]io.Reader{
		"nothing": strings.NewReader(""),
		"no JSON": strings.NewReader("hello\n{}\n"),
		"endless": io.LimitReader(repeat("x"), 2*maxMessage),
	} {
		t.Run(name, func(t *testing.T) {
			a, b := net.Pipe()
			ended := make(chan error)
			go func() { ended <- s.Pipe(t.Context(), b) }()
			go io.Copy(io.Discard, a)
			io.Copy(a, text) // it may be closed before its end
			a.Close()
			<-ended
		})
	}
	session := fronts["pipe"](t, s)
	defer session.Close()
	if got := said(t.Context(), session, "none", nil); got != "nothing found false" {
		t.Errorf("got %s", got)
	}
}

// repeat reads as one letter without end.
type repeat string

func (r repeat) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = r[0]
	}
	return len(b), nil
}

func TestBridgeErrors(t *testing.T) {
	web := httptest.NewServer(http.NotFoundHandler())
	defer web.Close()
	closed := httptest.NewServer(nil)
	gone := closed.Listener.Addr().String()
	closed.Close()
	const here = "an address on this machine is 127.0.0.1:PORT or http://127.0.0.1:PORT/…/mcp"
	for address, want := range map[string]string{
		gone:                       "connection refused",
		web.URL:                    "it answers 404 Not Found: is it the /mcp of agentbench serve?",
		"elsewhere.example:80":     here,
		"http://192.0.2.1:80/mcp":  here,
		"127.0.0.1":                here,
		"https://127.0.0.1:80/mcp": here,
		"127.0.0.1:80\r\nX: y":     here,
		"":                         here,
	} {
		err := Bridge(t.Context(), address, strings.NewReader(""), io.Discard)
		if bad := new(ConnectError); !errors.As(err, &bad) || err.Error() != "cannot connect to "+address+": "+want && !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%q: %v", address, err)
		}
	}
}
