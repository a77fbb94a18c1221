package drive

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agentbench-go/agentbench/cassettes/endpoint"
	"github.com/agentbench-go/agentbench/cassettes/tape"
	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/scenarios"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A line is what the tests' own protocol streams: text, a call or the end.
type line struct {
	Text string `json:",omitempty"`
	Call string `json:",omitempty"`
	End  bool   `json:",omitempty"`
}

// A client speaks the protocol.
type client struct{ http *http.Client }

func connect(_ endpoint.Settings, transport http.RoundTripper) (loop.Model, error) {
	return &client{&http.Client{Transport: transport}}, nil
}

func (c *client) Reply(ctx context.Context, req loop.ModelRequest, delta func(string)) (loop.Reply, error) {
	var said []string
	for _, m := range req.History {
		said = append(said, m.Text)
	}
	body, _ := json.Marshal(map[string]any{"said": said, "tools": len(req.Tools)})
	r, err := http.NewRequestWithContext(ctx, "POST", "http://somewhere/ask", bytes.NewReader(body))
	if err != nil {
		return loop.Reply{}, err
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := c.http.Do(r)
	if err != nil {
		return loop.Reply{}, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != 200 {
		text, err := io.ReadAll(resp.Body)
		return loop.Reply{}, errors.Join(err, &loop.ModelError{Status: resp.StatusCode, Text: string(text)})
	}
	reply := loop.Reply{Finish: loop.FinishStop, TokensIn: 3, TokensOut: 4}
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		var l line
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); !ok || json.Unmarshal([]byte(data), &l) != nil {
			continue
		}
		switch {
		case l.End:
			return reply, nil
		case l.Call != "":
			reply.Calls = append(reply.Calls, loop.AskedCall{ID: "c", Name: l.Call, Args: "{}"})
			reply.Finish = loop.FinishToolCalls
			delta("")
		default:
			reply.Text += l.Text
			delta(l.Text)
		}
	}
	return reply, cmp0(lines.Err(), errors.New("the stream ended too early"))
}

func cmp0(err, otherwise error) error {
	if err != nil {
		return err
	}
	return otherwise
}

// A server answers the requests one after another.
type server struct {
	answers []func(w http.ResponseWriter, r *http.Request)
	asked   int
}

func (s *server) RoundTrip(req *http.Request) (*http.Response, error) {
	answer := s.answers[s.asked]
	s.asked++
	return transportOf(answer).RoundTrip(req)
}

// transportOf serves a request by a handler, over a real connection.
func transportOf(h http.HandlerFunc) http.RoundTripper {
	return roundTrip(func(req *http.Request) (*http.Response, error) {
		srv := httptest.NewServer(h)
		to := req.Clone(req.Context())
		to.URL.Host = strings.TrimPrefix(srv.URL, "http://")
		t := &http.Transport{DisableKeepAlives: true}
		resp, err := t.RoundTrip(to)
		if err != nil {
			srv.CloseClientConnections()
			srv.Close()
			return nil, err
		}
		resp.Body = closing{resp.Body, func() { srv.CloseClientConnections(); srv.Close() }}
		return resp, nil
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

type closing struct {
	io.ReadCloser
	then func()
}

func (c closing) Close() error {
	err := c.ReadCloser.Close()
	c.then()
	return err
}

func streams(lines ...line) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, l := range lines {
			data, _ := json.Marshal(l)
			fmt.Fprintf(w, "data: %s\n\n", data)
			w.(http.Flusher).Flush()
		}
	}
}

func fails(status int) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "try later", status) }
}

func hangsUp(w http.ResponseWriter, _ *http.Request) { panic(http.ErrAbortHandler) }

// cut streams a line and then breaks off.
func cut(w http.ResponseWriter, r *http.Request) {
	streams(line{Text: "half"})(w, r)
	panic(http.ErrAbortHandler)
}

type noRedactor struct{}

func (noRedactor) Body(_, body string) string {
	return strings.ReplaceAll(body, "hunter2", "[secret-1]")
}
func (noRedactor) Count() map[string]int   { return map[string]int{"secret": 1} }
func (noRedactor) URL(text string) string  { return text }
func (noRedactor) JSON(text string) string { return strings.ReplaceAll(text, "hunter2", "[secret-1]") }
func (noRedactor) Leftover(text string) string {
	if strings.Contains(text, "hunter2") {
		return "password"
	}
	return ""
}

const looking = `name: look
description: A model looks and says what it saw.
label: healthy
variant: none
config: {model_retry: {max: 2, base: 1ms, statuses: [5xx]}, time: {tool: 10s}}
task: Look for hunter2.
tools:
  - name: look
    answers: [{result: a wall}]
model: [{text: unused}]
`

func newSession(t *testing.T) *Session {
	t.Helper()
	scenario, err := scenarios.Parse("mine/look.yaml", looking)
	if err != nil {
		t.Fatal(err)
	}
	return &Session{Scenario: scenario, Seed: 1, Settings: endpoint.Settings{BaseURL: "http://somewhere/v1", Model: "m"}, Connect: connect,
		Redactor: func() Redactor { return noRedactor{} }}
}

var (
	looks   = streams(line{Text: "I "}, line{Text: "look"}, line{Call: "look"}, line{End: true})
	answers = streams(line{Text: "It is hunter2."}, line{End: true})
)

// replayed drives a cassette again, without a network.
func replayed(t *testing.T, path string) *Played {
	t.Helper()
	transport, err := tape.Begin(path, tape.None, nil, noRedactor{})
	if err != nil {
		t.Fatal(err)
	}
	head, err := ReadHead(transport.Head())
	if err != nil {
		t.Fatal(err)
	}
	s, err := head.Of(func(err error) { t.Error(err) })
	if err != nil {
		t.Fatal(err)
	}
	s.Connect, s.Redactor = connect, func() Redactor { return noRedactor{} }
	p, err := s.Play(context.Background(), transport)
	if err != nil {
		t.Fatal(err)
	}
	if p.Leftovers != nil {
		t.Error(p.Leftovers)
	}
	return p
}

var now = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)

// Whatever the network does, the recording has the same trace when played, to
// the instant, and with the secret taken out.
func TestRecordAndPlayAgain(t *testing.T) {
	for _, c := range []struct {
		name    string
		answers []func(http.ResponseWriter, *http.Request)
		stop    loop.Stop
	}{
		{"a call and an answer", []func(http.ResponseWriter, *http.Request){looks, answers}, loop.StopDone},
		{"an error and a retry", []func(http.ResponseWriter, *http.Request){fails(503), looks, answers}, loop.StopDone},
		{"an error for good", []func(http.ResponseWriter, *http.Request){looks, fails(400)}, loop.StopModelFailed},
		{"a lost connection", []func(http.ResponseWriter, *http.Request){hangsUp, looks, answers}, loop.StopDone},
		{"a broken stream", []func(http.ResponseWriter, *http.Request){looks, cut, cut, cut}, loop.StopModelFailed},
		{"a stream that ends", []func(http.ResponseWriter, *http.Request){streams(line{Text: "half"}), answers}, loop.StopDone},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "c.yaml")
			network := &server{answers: c.answers}
			live, err := newSession(t).Record(context.Background(), path, tape.Rewrite, network, "test", now)
			if err != nil {
				t.Fatal(err)
			}
			if out := live.Runs[len(live.Runs)-1]; out.Stop != c.stop || network.asked != len(c.answers) {
				t.Fatalf("stop %s after %d requests\n%s", out.Stop, network.asked, live.Trace)
			}
			data, err := os.ReadFile(path)
			if err != nil || bytes.Contains(data, []byte("hunter2")) || !bytes.Contains(data, []byte("[secret-1]")) {
				t.Errorf("the secret is on the cassette: %v\n%s", err, data)
			}
			again := replayed(t, path)
			want := strings.ReplaceAll(live.Trace.String(), "hunter2", "[secret-1]")
			if diff := cmp.Diff(want, again.Trace.String()); diff != "" {
				t.Errorf("(-recorded +played):\n%s", diff)
			}
		})
	}
}

// Every embedded scenario is the same again when a head has held it.
func TestHeadHoldsScenarios(t *testing.T) {
	all, err := scenarios.Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		session := newSession(t)
		session.Scenario = s
		text, err := session.head(noRedactor{}, nil, "test", now)
		if err != nil {
			t.Fatal(err)
		}
		h, err := ReadHead(text)
		if err != nil {
			t.Fatal(err)
		}
		got, err := h.scenario()
		if err != nil {
			t.Errorf("%s: %v", s.ID(), err)
			continue
		}
		want := s.Script
		want.Model, want.Critic = got.Script.Model, got.Script.Critic // the model is recorded, and a critic is compared by its name
		if diff := cmp.Diff(want, got.Script, cmpopts.EquateEmpty()) + cmp.Diff(s.Config, got.Config); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", s.ID(), diff)
		}
	}
}

// A request that takes too long is given up in truth at the instant at which the
// loop gives it up; played again, that takes no time.
func TestHang(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.yaml")
	s := newSession(t)
	s.Scenario.Config.Time.FirstToken = 50 * time.Millisecond
	hang := func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}
	live, err := s.Record(context.Background(), path, tape.Rewrite, &server{answers: []func(http.ResponseWriter, *http.Request){looks, hang, hang, hang}}, "test", now)
	if err != nil {
		t.Fatal(err)
	}
	if out := live.Runs[0]; out.Stop != loop.StopModelDeadline {
		t.Fatalf("stop %s\n%s", out.Stop, live.Trace)
	}
	want := strings.ReplaceAll(live.Trace.String(), "hunter2", "[secret-1]")
	if diff := cmp.Diff(want, replayed(t, path).Trace.String()); diff != "" {
		t.Errorf("(-recorded +played):\n%s", diff)
	}
}

// An endpoint that never answers leaves what was there.
func TestNoAnswer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.yaml")
	os.WriteFile(path, []byte("as before"), 0o600)
	_, err := newSession(t).Record(context.Background(), path, tape.Rewrite, &server{answers: []func(http.ResponseWriter, *http.Request){fails(401)}}, "test", now)
	if data, _ := os.ReadFile(path); !errors.Is(err, ErrNoAnswer) || string(data) != "as before" {
		t.Errorf("%v, %q", err, data)
	}
}

// A chat goes on until the user has nothing more to say, also after a run that
// failed. What breaks off is kept as far as its last run.
func TestChat(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.yaml")
	s := newSession(t)
	said := []string{"And now?", "Once more."}
	s.People.FollowUp = func(context.Context, loop.Outcome) (string, bool) {
		if len(said) == 0 {
			return "", false
		}
		text := said[0]
		said = said[1:]
		return text, true
	}
	network := &server{answers: []func(http.ResponseWriter, *http.Request){answers, fails(400), answers}}
	live, err := s.Record(context.Background(), path, tape.Rewrite, network, "test", now)
	if err != nil {
		t.Fatal(err)
	}
	var stops []loop.Stop
	for _, r := range live.Runs {
		stops = append(stops, r.Stop)
	}
	if diff := cmp.Diff([]loop.Stop{loop.StopDone, loop.StopModelFailed, loop.StopDone}, stops); diff != "" {
		t.Error(diff)
	}
	if got := replayed(t, path); len(got.Runs) != 3 {
		t.Errorf("%d runs were played", len(got.Runs))
	}
}

func TestInterruptedChat(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.yaml")
	s := newSession(t)
	s.People.FollowUp = func(context.Context, loop.Outcome) (string, bool) { return "And now?", true }
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	interrupt := func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		cancel()
		<-r.Context().Done()
	}
	_, err := s.Record(ctx, path, tape.Rewrite, &server{answers: []func(http.ResponseWriter, *http.Request){answers, interrupt}}, "test", now)
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	if got := replayed(t, path); len(got.Runs) != 1 || got.Runs[0].Stop != loop.StopDone {
		t.Errorf("runs: %+v", got.Runs)
	}
}

// What is not on the cassette ends the session with an error that says what was
// asked, and never reaches the network.
func TestMiss(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.yaml")
	if _, err := newSession(t).Record(context.Background(), path, tape.Rewrite, &server{answers: []func(http.ResponseWriter, *http.Request){looks, answers}}, "test", now); err != nil {
		t.Fatal(err)
	}
	transport, err := tape.Begin(path, tape.None, &server{}, noRedactor{})
	if err != nil {
		t.Fatal(err)
	}
	s := newSession(t)
	s.Scenario.Script.Tools[0].Answers[0].Result = "a door"
	p, err := s.Play(context.Background(), transport)
	var miss *tape.Miss
	if !errors.As(err, &miss) {
		t.Fatalf("got %v", err)
	}
	if miss.Number != 2 || miss.Nearest != 2 || !strings.Contains(miss.Diff, `-    "a wall"`) || !strings.Contains(miss.Diff, `+    "a door"`) {
		t.Errorf("%v", miss)
	}
	if p.Leftovers == nil {
		t.Error("nothing is left over")
	}
}
