package watch

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentbench-go/agentbench/cassettes/secrets"
	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/fakes/serve"
	"github.com/agentbench-go/agentbench/internal/wiretest"
	"github.com/andybalholm/brotli"
	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
)

func redactor() *secrets.Redactor {
	r, err := secrets.New(secrets.Options{})
	if err != nil {
		panic(err)
	}
	return r
}

func options(upstream string) Options {
	u, err := ParseUpstream(upstream)
	if err != nil {
		panic(err)
	}
	return Options{Upstream: u, Redactor: redactor}
}

// through asks a handler, directly or through a proxy, in a bubble of virtual time, and
// returns what the client saw of the last answer, and the proxy.
func through(t *testing.T, upstream http.Handler, proxied bool, client func(*testing.T, *http.Client) wiretest.Seen) (a wiretest.Seen, w *Watch) {
	synctest.Test(t, func(t *testing.T) {
		far := wiretest.NewPipes()
		server := &http.Server{Handler: upstream}
		go server.Serve(far)
		near := far
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		way := &http.Transport{DialContext: far.Dial, DisableCompression: true}
		if proxied {
			near = wiretest.NewPipes()
			o := options("http://localhost")
			o.Transport = way
			var err error
			if w, err = New(o); err != nil {
				t.Fatal(err)
			}
			go func() { ended <- w.Serve(ctx, near) }()
		}
		transport := &http.Transport{DialContext: near.Dial, DisableCompression: true}
		a = client(t, &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }})
		transport.CloseIdleConnections()
		stop()
		if proxied {
			if err := <-ended; err != nil {
				t.Errorf("the proxy ended with %v", err)
			}
		}
		way.CloseIdleConnections()
		server.Close()
	})
	return a, w
}

const (
	sec      = time.Second
	patience = time.Hour
)

// wires are the requests of each API, streamed and not.
var wires = []struct{ name, path, body string }{
	{"chat", "/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"Hi"}]}`},
	{"chat, streamed", "/v1/chat/completions", `{"model":"m","stream":true,"messages":[{"role":"user","content":"Hi"}]}`},
	{"responses", "/v1/responses", `{"model":"m","input":"Hi"}`},
	{"responses, streamed", "/v1/responses", `{"model":"m","stream":true,"input":"Hi"}`},
	{"messages", "/v1/messages", `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"Hi"}]}`},
	{"messages, streamed", "/v1/messages", `{"model":"m","max_tokens":9,"stream":true,"messages":[{"role":"user","content":"Hi"}]}`},
	{"gemini", "/v1beta/models/m:generateContent", `{"contents":[{"role":"user","parts":[{"text":"Hi"}]}]}`},
	{"gemini, streamed", "/v1beta/models/m:streamGenerateContent?alt=sse", `{"contents":[{"role":"user","parts":[{"text":"Hi"}]}]}`},
}

// faults are all that a script can do on the wire.
func faults() map[string]fakes.Step {
	reply := fakes.Step{Text: "abcdefgh", Latency: fakes.Span{Min: 4 * sec}, Chunks: 4}
	all := map[string]fakes.Step{"well": reply}
	for _, w := range fakes.StepWires() {
		step := reply
		step.Wire = w
		step.Calls = []fakes.StepCall{{Name: "f", Args: `{"a":"1234"}`}, {Name: "g", Args: `{"b":"5678"}`}}
		all[string(w)] = step
	}
	failures := map[string]fakes.ModelFailure{
		"lost": {}, "lost after two pieces": {Chunks: 2}, "hangs": {Hang: true}, "hangs after two pieces": {Hang: true, Chunks: 2},
		"429": {Status: 429, RetryAfter: 5 * sec}, "500": {Status: 500}, "500 after two pieces": {Status: 500, Chunks: 2}, "400": {Status: 400},
	}
	for _, w := range fakes.FailureWires() {
		f := fakes.ModelFailure{Wire: w, Chunks: 2}
		switch w {
		case fakes.WireNoFinish:
			f.Chunks = 0
		case fakes.WireRetryAfterDate:
			f = fakes.ModelFailure{Wire: w, Status: 429, RetryAfter: 5 * sec}
		case fakes.WireErrorEvent:
			f.Status = 500
		}
		failures[string(w)] = f
	}
	for name, f := range failures {
		step := reply
		step.Failures = []fakes.ModelFailure{f}
		all[name] = step
	}
	return all
}

// TestUnchanged checks that a client sees the same bytes, status, headers and times with
// the proxy and without, for every fault on the wire of every API.
func TestUnchanged(t *testing.T) {
	for fault, step := range faults() {
		for _, wire := range wires {
			t.Run(fault+"/"+wire.name, func(t *testing.T) {
				var got [2]wiretest.Seen
				for i := range got {
					upstream, err := serve.New([]serve.Scenario{{Name: "test/one", Script: &fakes.Script{Model: []fakes.Step{step}}}}, serve.Options{})
					if err != nil {
						t.Fatal(err)
					}
					got[i], _ = through(t, upstream, i == 1, func(t *testing.T, c *http.Client) wiretest.Seen {
						return wiretest.Ask(t, c, wire.path, wire.body, patience)
					})
				}
				if diff := cmp.Diff(got[0], got[1]); diff != "" {
					t.Errorf("without the proxy, with it:\n%s", diff)
				}
				if got[0].Status == 0 && got[0].How == "" {
					t.Error("the client saw nothing at all")
				}
			})
		}
	}
}

// TestRequestUnchanged checks that the upstream gets the request as the agent sent it.
func TestRequestUnchanged(t *testing.T) {
	type request struct {
		Method, URI, Host, Body string
		Header                  http.Header
	}
	var got [2]request
	for i := range got {
		through(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			got[i] = request{r.Method, r.RequestURI, r.Host, string(body), r.Header}
		}), i == 1, func(t *testing.T, c *http.Client) (a wiretest.Seen) {
			r, err := http.NewRequest("PUT", "http://localhost/a%2Fb//c/?key=1;2&x=%zz&x", strings.NewReader(`{"a": 1}`))
			if err != nil {
				t.Fatal(err)
			}
			r.Header = http.Header{"X-Forwarded-For": {"10.0.0.1"}, "Forwarded": {"for=10.0.0.1"}, "Authorization": {"Bearer x"}, "User-Agent": {""}, "Accept-Encoding": {"br"}, "X-Two": {"a", "b"}}
			resp, err := c.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			return a
		})
	}
	if diff := cmp.Diff(got[0], got[1]); diff != "" || got[0].Body == "" {
		t.Errorf("without the proxy, with it:\n%s", diff)
	}
}

// TestAnswersUnchanged checks answers that a scripted model does not give.
func TestAnswersUnchanged(t *testing.T) {
	tests := map[string]http.HandlerFunc{
		"a redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://example.com/other", http.StatusTemporaryRedirect)
		},
		"no content": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) },
		"no Content-Type": func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Content-Type"] = nil
			io.WriteString(w, "<html>")
		},
		"no Date": func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Date"] = nil
			io.WriteString(w, "{}")
		},
		"a trailer": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Trailer", "X-After")
			io.WriteString(w, "{}")
			w.Header().Set("X-After", "end")
		},
		"two headers of one name": func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Set-Cookie"] = []string{"a=1", "b=2"}
		},
	}
	for name, upstream := range tests {
		t.Run(name, func(t *testing.T) {
			var got [2]wiretest.Seen
			for i := range got {
				got[i], _ = through(t, upstream, i == 1, func(t *testing.T, c *http.Client) wiretest.Seen { return wiretest.Ask(t, c, "/v1/x", "{}", patience) })
			}
			if diff := cmp.Diff(got[0], got[1]); diff != "" {
				t.Errorf("without the proxy, with it:\n%s", diff)
			}
		})
	}
}

// TestEncodings checks that the bytes of a compressed answer pass, and that a copy is
// read.
func TestEncodings(t *testing.T) {
	const answer = `{"id":"a","object":"chat.completion","choices":[{"message":{"role":"assistant","content":"packed"},"finish_reason":"stop"}]}`
	packers := map[string]func(io.Writer) io.WriteCloser{
		"gzip": func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) },
		"br":   func(w io.Writer) io.WriteCloser { return brotli.NewWriter(w) },
		"zstd": func(w io.Writer) io.WriteCloser {
			z, err := zstd.NewWriter(w)
			if err != nil {
				t.Fatal(err)
			}
			return z
		},
	}
	for name, packer := range packers {
		t.Run(name, func(t *testing.T) {
			var packed bytes.Buffer
			p := packer(&packed)
			io.WriteString(p, answer)
			p.Close()
			a, w := through(t, http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
				rw.Header().Set("Content-Encoding", name)
				rw.Write(packed.Bytes())
			}), true, func(t *testing.T, c *http.Client) wiretest.Seen {
				return wiretest.Ask(t, c, wires[0].path, wires[0].body, patience)
			})
			if len(a.Pieces) != 1 || a.Pieces[0].Text != packed.String() || a.Header.Get("Content-Encoding") != name {
				t.Errorf("the client got %q", a.Pieces)
			}
			if len(w.conversations) != 1 || said(w.conversations[0].log()) != "UHi Apacked" {
				t.Errorf("the conversations are %v, left %v", w.conversations, w.Counts().Left)
			}
		})
	}
	if _, err := unpacked([]byte("x"), "snappy"); err == nil {
		t.Error("an unknown encoding is not told")
	}
	half, err := unpacked(func() []byte {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		io.WriteString(z, strings.Repeat("0123456789", 10000))
		z.Flush()
		return b.Bytes()
	}(), "gzip")
	if err != nil || len(half) != 100000 {
		t.Errorf("of a stream that breaks off %d bytes are read: %v", len(half), err)
	}
}

// TestUnreachable checks that the client learns that the proxy, and not the upstream,
// says that there is no connection.
func TestUnreachable(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	o := options("http://" + l.Addr().String())
	l.Close() // now nobody listens there
	var told []string
	o.Tell = func(line string) { told = append(told, line) }
	w, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		rec := httptest.NewRecorder()
		r := httptest.NewRequest("POST", "http://localhost/v1/messages", strings.NewReader("{}"))
		w.proxy().ServeHTTP(rec, r)
		var body struct{ Error struct{ Message string } }
		if json.Unmarshal(rec.Body.Bytes(), &body); rec.Code != 502 || rec.Header().Get(mark) != "unreachable" || !strings.HasSuffix(body.Error.Message, ": connection refused") {
			t.Errorf("got %d %v %s", rec.Code, rec.Header(), rec.Body)
		}
	}
	if n := w.Counts(); len(told) != 1 || n.Unreached != 2 || n.Requests != 2 || n.Left["no connection to the upstream"] != 2 {
		t.Errorf("told %q, counted %+v", told, n)
	}
}

// TestWrongPath checks that a path that the upstream does not have is told at once, and
// only once.
func TestWrongPath(t *testing.T) {
	o := options("http://localhost")
	var told []string
	o.Tell = func(line string) { told = append(told, line) }
	o.Transport = inProcess{http.NotFoundHandler()}
	w, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	w.start()
	for range 2 {
		w.proxy().ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("POST", "http://localhost/chat/completions", strings.NewReader("{}")))
	}
	w.proxy().ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "http://localhost/favicon.ico", nil))
	if err := w.finish(); err != nil {
		t.Fatal(err)
	}
	if want := []string{"the upstream answers 404 to POST /chat/completions: has the agent's base URL the path that it had before?"}; !slices.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
}

// TestCertificate checks that the certificate of the upstream is verified.
func TestCertificate(t *testing.T) {
	upstream := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the request came through") }))
	upstream.Config.ErrorLog = log.New(io.Discard, "", 0)
	defer upstream.Close()
	w, err := New(options(upstream.URL))
	if err != nil {
		t.Fatal(err)
	}
	rec := httptest.NewRecorder()
	w.proxy().ServeHTTP(rec, httptest.NewRequest("POST", "http://localhost/v1/messages", strings.NewReader("{}")))
	if rec.Code != 502 || !strings.Contains(rec.Body.String(), "certificate") {
		t.Errorf("got %d %s", rec.Code, rec.Body)
	}
}

// TestForeign checks that web pages and other hosts are not let through.
func TestForeign(t *testing.T) {
	w, err := New(options("http://127.0.0.1:1"))
	if err != nil {
		t.Fatal(err)
	}
	for _, change := range []func(*http.Request){
		func(r *http.Request) { r.Host = "evil.example" },
		func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") },
	} {
		rec := httptest.NewRecorder()
		r := httptest.NewRequest("POST", "http://localhost/v1/messages", strings.NewReader("{}"))
		change(r)
		if w.proxy().ServeHTTP(rec, r); rec.Code != 403 || rec.Header().Get(mark) != "foreign" {
			t.Errorf("got %d %s", rec.Code, rec.Body)
		}
	}
}

// TestUpgrade checks that a WebSocket passes and is told as not recorded.
func TestUpgrade(t *testing.T) {
	upstream := http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Upgrade", "websocket")
		rw.Header().Set("Connection", "Upgrade")
		rw.WriteHeader(http.StatusSwitchingProtocols)
		conn, both, err := rw.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		line, _ := both.ReadString('\n')
		fmt.Fprintf(conn, "you said %s", line)
	})
	_, w := through(t, upstream, true, func(t *testing.T, c *http.Client) (a wiretest.Seen) {
		conn, err := c.Transport.(*http.Transport).DialContext(t.Context(), "tcp", "")
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		go io.WriteString(conn, "GET /v1/realtime HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
		r := bufio.NewReader(conn)
		resp, err := http.ReadResponse(r, nil)
		if err != nil || resp.StatusCode != 101 {
			t.Fatal(resp, err)
		}
		go io.WriteString(conn, "hello\n")
		if line, err := r.ReadString('\n'); err != nil || line != "you said hello\n" {
			t.Errorf("got %q, %v", line, err)
		}
		return a
	})
	if n := w.Counts(); n.Left[`a connection upgraded to "websocket"`] != 1 || n.Requests != 1 {
		t.Errorf("counted %v", n)
	}
}

func TestParseUpstream(t *testing.T) {
	for s, ok := range map[string]bool{"https://api.openai.com": true, "http://127.0.0.1:8080/api/": true, "api.openai.com": false, "ftp://a": false,
		"https://": false, "https://me:secret@api.example.com": false, "https://a.example/?key=1": false, "https://a.example/#x": false, "http://[": false} {
		if u, err := ParseUpstream(s); (err == nil) != ok {
			t.Errorf("%s: %v, %v", s, u, err)
		}
	}
	u, _ := ParseUpstream("https://a.example/base")
	if want := (&url.URL{Scheme: "https", Host: "a.example", Path: "/base"}); *u != *want {
		t.Errorf("got %v", u)
	}
}
