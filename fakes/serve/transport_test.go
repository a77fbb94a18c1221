package serve

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/loop"
)

// inProcess gives f a client of a server in a bubble of virtual time.
func inProcess(t *testing.T, f func(t *testing.T, client *http.Client), steps ...fakes.Step) {
	synctest.Test(t, func(t *testing.T) { f(t, &http.Client{Transport: Transport(serveSteps(t, steps...))}) })
}

func askInProcess(t *testing.T, client *http.Client, ctx context.Context, stream bool) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, "POST", "http://model.test/v1/chat/completions", strings.NewReader(clients["chat"].json([]loop.Message{hi}, stream)))
	if err != nil {
		t.Fatal(err)
	}
	return client.Do(r)
}

// What a client sees in process is what it sees over a connection, at the same times.
func TestTransport(t *testing.T) {
	second := fakes.Span{Min: sec, Max: sec}
	tests := []struct {
		name    string
		step    fakes.Step
		status  int
		text    string        // in the body
		err     error         // of the request, or of reading the body
		at, end time.Duration // of the header and of the end
	}{
		{"a stream", fakes.Step{Text: "abcd", Chunks: 2, Latency: second}, 200, "[DONE]", nil, sec / 2, sec},
		{"a status", fakes.Step{Text: "a", Failures: []fakes.ModelFailure{{Status: 429, Text: "slow", Latency: second}}}, 429, "slow", nil, sec, sec},
		{"a lost connection", fakes.Step{Text: "a", Failures: []fakes.ModelFailure{{Latency: second}}}, 0, "", io.EOF, sec, sec},
		{"a stream that breaks", fakes.Step{Text: "abcd", Failures: []fakes.ModelFailure{{Chunks: 1, Latency: second}}}, 200, `"content":"ab"`, io.ErrUnexpectedEOF, sec / 2, sec},
		{"a hang", fakes.Step{Failures: []fakes.ModelFailure{{Hang: true}}}, 0, "", context.DeadlineExceeded, time.Hour, time.Hour},
		{"a stall", fakes.Step{Text: "abcd", Failures: []fakes.ModelFailure{{Hang: true, Chunks: 1, Latency: second}}}, 200, `"content":"ab"`, context.DeadlineExceeded, sec / 2, time.Hour},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inProcess(t, func(t *testing.T, client *http.Client) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				began := time.Now()
				resp, err := askInProcess(t, client, ctx, true)
				if at := time.Since(began); at != tt.at {
					t.Errorf("the header came after %v, not %v", at, tt.at)
				}
				if err == nil {
					var body []byte
					body, err = io.ReadAll(resp.Body)
					resp.Body.Close()
					if resp.StatusCode != tt.status || !strings.Contains(string(body), tt.text) {
						t.Errorf("%d %s", resp.StatusCode, body)
					}
				}
				if !errors.Is(err, tt.err) || time.Since(began) != tt.end {
					t.Errorf("it ended with %v after %v, not %v after %v", err, time.Since(began), tt.err, tt.end)
				}
				synctest.Wait() // the handler is gone, or the bubble reports it
			}, tt.step)
		})
	}
}

// A handler that has ended before the client looks has answered all the same. Many at
// once let it win now and then.
func TestTransportAtOnce(t *testing.T) {
	answer := Transport(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "here") }))
	var all sync.WaitGroup
	for range 64 {
		all.Go(func() {
			for range 200 {
				r, err := answer.RoundTrip(httptest.NewRequestWithContext(t.Context(), "GET", "/", nil))
				if err != nil || r == nil {
					t.Errorf("%v %v", r, err)
					return
				}
				if body, err := io.ReadAll(r.Body); string(body) != "here" || err != nil {
					t.Errorf("%q %v", body, err)
				}
			}
		})
	}
	all.Wait()
}

// A client that reads nothing more, or closes a body that stalls, leaves no goroutine.
func TestTransportHalfRead(t *testing.T) {
	inProcess(t, func(t *testing.T, client *http.Client) {
		if _, err := askInProcess(t, client, t.Context(), true); err != nil { // its body is never read nor closed
			t.Fatal(err)
		}
	}, at(fakes.Step{Text: strings.Repeat("long ", 1<<18)}))
	inProcess(t, func(t *testing.T, client *http.Client) {
		resp, err := askInProcess(t, client, t.Context(), true)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if _, err := resp.Body.Read(make([]byte, 1)); err != http.ErrBodyReadAfterClose {
			t.Errorf("after Close: %v", err)
		}
	}, fakes.Step{Text: "abcd", Failures: []fakes.ModelFailure{{Hang: true, Chunks: 1}}})
}
