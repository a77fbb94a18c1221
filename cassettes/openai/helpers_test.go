package openai

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"

	"github.com/agentbench-go/agentbench/cassettes/endpoint"
	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/fakes/serve"
	"github.com/agentbench-go/agentbench/internal/wiretest"
	"github.com/agentbench-go/agentbench/loop"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const secret = "sk-test-0123456789abcdef"

// A way is one of the four in which a model is asked.
type way struct {
	api    endpoint.API
	stream bool
}

var ways = []way{{endpoint.APIChat, false}, {endpoint.APIChat, true}, {endpoint.APIResponses, false}, {endpoint.APIResponses, true}}

func (w way) String() string {
	if w.stream {
		return string(w.api) + " streamed"
	}
	return string(w.api)
}

// settings are those of a way. The price is 2,500 nano-dollars for a token read
// and 10,000 for one written.
func (w way) settings(url string) endpoint.Settings {
	return endpoint.Settings{BaseURL: url + "/v1", Key: endpoint.NewKey(secret), Model: "m", API: w.api, Stream: w.stream,
		Prices: endpoint.Prices{"m": {In: 2_500_000_000, Out: 10_000_000_000}}}
}

func connect(t *testing.T, s endpoint.Settings, rt http.RoundTripper) loop.Model {
	t.Helper()
	m, err := New(s, rt)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// served lets the scripted model answer over HTTP, in a bubble of virtual time.
func served(t *testing.T, steps []fakes.Step, f func(t *testing.T, network http.RoundTripper, journal *[]serve.Entry)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var journal []serve.Entry
		s, err := serve.New([]serve.Scenario{{Name: "test/one", Script: &fakes.Script{Model: steps}}},
			serve.Options{ScriptedUsage: true, Observe: func(seen *serve.Seen) {
				if !seen.Entry.Open {
					journal = append(journal, *seen.Entry)
				}
			}})
		if err != nil {
			t.Fatal(err)
		}
		network, ended := wiretest.NewPipes(), make(chan error)
		ctx, stop := context.WithCancel(context.Background())
		go func() { ended <- s.Serve(ctx, network) }()
		transport := &http.Transport{DialContext: network.Dial}
		f(t, transport, &journal)
		transport.CloseIdleConnections()
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

const host = "http://127.0.0.1"

// hello is a request that begins a conversation.
func hello() loop.ModelRequest {
	return loop.ModelRequest{Ref: loop.Ref{Kind: loop.RefModel, N: 1, Try: 1}, For: loop.ForReply,
		History: []loop.Message{{Role: loop.User, Text: "Hello"}}, Tools: []loop.ToolSpec{{Name: "look"}}}
}

// reply sends one request and returns the reply and its pieces.
func reply(t *testing.T, m loop.Model) (r loop.Reply, pieces []string, err error) {
	t.Helper()
	r, err = m.Reply(t.Context(), hello(), func(text string) { pieces = append(pieces, text) })
	return r, pieces, err
}

// answering makes a model of what a handler answers.
func answering(t *testing.T, w way, handle http.HandlerFunc) loop.Model {
	t.Helper()
	server := httptest.NewServer(handle)
	transport := &http.Transport{}
	t.Cleanup(func() { transport.CloseIdleConnections(); server.Close() })
	return connect(t, w.settings(server.URL), transport)
}

// answer is a handler that answers with a content type and a body.
func answer(status int, kind, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(status)
		io.WriteString(w, body)
	}
}

const (
	asJSON   = "application/json"
	asEvents = "text/event-stream"
)

// events writes a stream of chat chunks: each text is the data of an event.
func events(data ...string) string {
	var b strings.Builder
	for _, d := range data {
		b.WriteString("data: " + d + "\n\n")
	}
	return b.String()
}

// typed writes a stream of Responses events.
func typed(data ...string) string {
	var b strings.Builder
	for _, d := range data {
		name, _, _ := strings.Cut(strings.TrimPrefix(d, `{"type":"`), `"`)
		b.WriteString("event: " + name + "\ndata: " + d + "\n\n")
	}
	return b.String()
}

// failed checks how a request failed: with a status, 0 for an error that is no
// ModelError, and a text.
func failed(t *testing.T, r loop.Reply, err error, status int, text string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, but the reply %+v", r)
	}
	var m *loop.ModelError
	is := errors.As(err, &m)
	got, said := 0, err.Error()
	if is {
		got, said = m.Status, m.Text
	}
	if got != status || said != text {
		t.Errorf("status %d, text %q\nwant %d, %q", got, said, status, text)
	}
	if strings.Contains(err.Error(), secret) {
		t.Errorf("the key is in %q", err)
	}
}

// A roundTripper is a transport as a function.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
