package openai

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/agentbench-go/agentbench/loop"
)

var (
	chat            = ways[0]
	chatStream      = ways[1]
	responsesWhole  = ways[2]
	responsesStream = ways[3]
)

// Statuses other than success, in each of the four ways.
func TestStatuses(t *testing.T) {
	long := strings.Repeat("ä", 600)
	for _, test := range []struct {
		name, kind, body string
		status           int
		want             string
	}{
		{"a message", asJSON, `{"error":{"message":"slow down","type":"requests","param":null,"code":"rate_limit_exceeded"}}`, 429, "slow down"},
		{"a text as the error", asJSON, `{"error":"model not loaded"}`, 500, "model not loaded"},
		{"a message without an error", asJSON, `{"object":"error","message":"no such model"}`, 400, "no such model"},
		{"a detail", asJSON, `{"detail":"Not authenticated"}`, 401, "Not authenticated"},
		{"HTML", "text/html", "<!DOCTYPE html><html><body>nginx</body></html>", 502, "Bad Gateway (the answer is HTML)"},
		{"nothing", "", "", 500, "Internal Server Error (the answer is empty)"},
		{"nothing, and a status without a name", "", "", 599, "not a success (the answer is empty)"},
		{"plain text", "text/plain", "upstream timed out\n", 504, "Gateway Timeout: upstream timed out"},
		{"JSON without a message", asJSON, `{"error":{}}`, 503, `Service Unavailable: {"error":{}}`},
		{"broken JSON", asJSON, `{"error":{"message":"sl`, 429, `Too Many Requests: {"error":{"message":"sl`},
		{"the key", asJSON, `{"error":{"message":"Incorrect API key provided: ` + secret + `."}}`, 401, "Incorrect API key provided: [key]."},
		{"the key in plain text", "text/plain", "no " + secret, 401, "Unauthorized: no [key]"},
		{"control characters", asJSON, `{"error":{"message":"a\u001b[31mb\u202ec\nd"}}`, 400, `a\x1b[31mb\u202ec d`},
		{"a long text", asJSON, `{"error":{"message":"` + long + `"}}`, 400, long[:1000] + "…"}, // 500 characters of two bytes
		{"another path", asJSON, `{"error":{"message":"nothing here"}}`, 404, "nothing here"},
	} {
		for _, w := range ways {
			t.Run(test.name+"/"+w.String(), func(t *testing.T) {
				r, _, err := reply(t, answering(t, w, answer(test.status, test.kind, test.body)))
				failed(t, r, err, test.status, test.want)
			})
		}
	}
}

// A base URL without /v1 is the likely cause of a 404.
func TestNotFoundHint(t *testing.T) {
	s := chat.settings("http://h")
	s.BaseURL = "http://h"
	m := connect(t, s, roundTripper(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 404, Body: http.NoBody}, nil
	}))
	r, _, err := reply(t, m)
	failed(t, r, err, 404, "Not Found (the answer is empty) (most base URLs end in /v1)")
}

// A redirect is not followed: the conversation goes to the named endpoint only.
func TestRedirect(t *testing.T) {
	for _, w := range ways {
		for _, status := range []int{301, 302, 303, 307, 308} {
			requests := 0
			m := answering(t, w, func(w http.ResponseWriter, r *http.Request) {
				requests++
				http.Redirect(w, r, "/elsewhere", status)
			})
			r, _, err := reply(t, m)
			failed(t, r, err, status, "the server redirects to /elsewhere, which is not followed: use the right base URL")
			if requests != 1 {
				t.Errorf("%v: %d requests", w, requests)
			}
		}
	}
	// Nor is what comes with it a reply.
	r, _, err := reply(t, answering(t, chat, answer(300, asJSON, `{"choices":[{"message":{"content":"x"},"finish_reason":"stop"}]}`)))
	failed(t, r, err, 300, "the server redirects to nowhere, which is not followed: use the right base URL")
}

// What the library takes for a success, or for no error of the server's.
func TestUnusableAnswers(t *testing.T) {
	const (
		truncated = "truncated stream: it ended before the reply was complete"
		html      = "<html><body>Log in</body></html>"
		text      = `{"choices":[{"index":0,"delta":{"role":"assistant","content":"It is"},"finish_reason":null}]}`
	)
	for _, test := range []struct {
		name       string
		way        way
		kind, body string
		status     int
		want       string
	}{
		{"HTML", chat, "text/html", html, 0, "the answer is HTML instead of JSON: check that the base URL is that of an API"},
		{"HTML", responsesWhole, "text/html", html, 0, "the answer is HTML instead of JSON: check that the base URL is that of an API"},
		{"HTML", chatStream, "text/html", html, 0, "the answer is HTML instead of an event stream: check that the base URL is that of an API"},
		{"HTML", responsesStream, "text/html", html, 0, "the answer is HTML instead of an event stream: check that the base URL is that of an API"},
		{"nothing", chat, asJSON, "", 0, "the answer is empty"},
		{"nothing", responsesWhole, asJSON, " \n", 0, "the answer is empty"},
		{"nothing", chatStream, asEvents, "", 0, truncated},
		{"nothing", responsesStream, asEvents, "", 0, truncated},
		{"truncated JSON", chat, asJSON, `{"choices":[{"message"`, 0, "the answer breaks off: its JSON is incomplete"},
		{"truncated JSON", responsesWhole, asJSON, `{"output":[`, 0, "the answer breaks off: its JSON is incomplete"},
		{"no JSON", chat, asJSON, `choices`, 0, "the answer is not JSON (at byte 1)"},
		{"a JSON list", chat, asJSON, `[]`, 0, "the answer's JSON is not a reply"},
		{"a JSON text", responsesWhole, asJSON, `"hello"`, 0, "the answer's JSON is not a reply"},
		{"null", chat, asJSON, `null`, 0, `the answer has no list "choices"`},
		{"bytes after the JSON", chat, asJSON, `{"choices":[{"message":{"content":"x"},"finish_reason":"stop"}]} {"b":1}`, 0, "something follows the JSON of the answer"},
		{"bytes after the JSON", responsesWhole, asJSON, `{"status":"completed","output":[]}x`, 0, "something follows the JSON of the answer"},
		{"choices that are no list", chat, asJSON, `{"choices":{}}`, 0, `the answer has no list "choices"`},
		{"no choices", chat, asJSON, `{"choices":[]}`, 0, "the answer has no choices"},
		{"an empty choice", chat, asJSON, `{"choices":[{}]}`, 0, `the answer's choice has no "message"`},
		{"null as the choice", chat, asJSON, `{"choices":[null]}`, 0, `the answer's choice has no "message"`},
		{"no finish reason", chat, asJSON, `{"choices":[{"message":{"content":"x"}}]}`, 0, "the answer has no finish reason"},
		{"content that is no text", chat, asJSON, `{"choices":[{"message":{"content":[{"text":"x"}]},"finish_reason":"stop"}]}`, 0, "the content of the answer is not a text"},
		{"content that is a number", chat, asJSON, `{"choices":[{"message":{"content":5},"finish_reason":"stop"}]}`, 0, "the content of the answer is not a text"},
		{"calls that are no list", chat, asJSON, `{"choices":[{"message":{"tool_calls":{}},"finish_reason":"stop"}]}`, 0, `"tool_calls" is not a list`},
		{"arguments that are a list", chat, asJSON, `{"choices":[{"message":{"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":[1]}}]},"finish_reason":"stop"}]}`, 0, "the arguments of a call are not a text"},
		{"output that is no list", responsesWhole, asJSON, `{"status":"completed","output":{}}`, 0, `the answer has no list "output"`},
		{"no status", responsesWhole, asJSON, `{"output":[]}`, 0, "the answer has no status"},
		{"another status", responsesWhole, asJSON, `{"status":"queued","output":[]}`, 0, "the answer is not whole: its status is queued"},
		{"a failed response", responsesWhole, asJSON, `{"status":"failed","error":{"code":"rate_limit_exceeded","message":"slow down"},"output":[]}`, 429, "slow down"},
		{"an error with status 200", chat, asJSON, `{"error":{"message":"slow down","code":429}}`, 429, "slow down"},
		{"an error with status 200", responsesWhole, asJSON, `{"error":{"message":"oh","type":"server_error"}}`, 500, "oh"},
		{"an error with status 200", chatStream, asJSON, `{"error":{"message":"no","type":"invalid_request_error"}}`, 400, "no"},
		{"an error with status 200", responsesStream, asJSON, `{"error":"no"}`, 0, "no"},
		{"a whole reply instead of a stream", chatStream, asJSON, `{"choices":[{"message":{"content":"x"},"finish_reason":"stop"}]}`, 0, "the answer is not an event stream"},

		{"cut between events", chatStream, asEvents, events(text, text), 0, truncated},
		{"an empty line first", chatStream, asEvents, "\r\n" + events(text), 0, truncated},
		{"cut in an event", chatStream, asEvents, events(text) + "data: " + text[:40], 0, truncated},
		{"an end without a finish reason", chatStream, asEvents, events(text, "[DONE]"), 0, truncated},
		{"an error event", chatStream, asEvents, events(text, `{"error":{"message":"slow down","code":"rate_limit_exceeded"}}`), 429, "slow down"},
		{"an error event with the key", chatStream, asEvents, events(`{"error":{"message":"bad ` + secret + `","type":"authentication_error"}}`), 401, "bad [key]"},
		{"an error event without a message", chatStream, asEvents, events(`{"error":{}}`), 0, "the server sent an error without a message"},
		{"an event that is no JSON", chatStream, asEvents, events(text, "{"), 0, "an event of the stream is not JSON"},
		{"content that is no text", chatStream, asEvents, events(`{"choices":[{"index":0,"delta":{"content":["x"]}}]}`), 0, "the content of the answer is not a text"},
		{"arguments that are a number", chatStream, asEvents, events(`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":1}}]}}]}`), 0, "the arguments of a call are not a text"},

		{"cut between events", responsesStream, asEvents, typed(`{"type":"response.created","response":{"status":"in_progress"}}`, `{"type":"response.output_text.delta","delta":"It"}`), 0, truncated},
		{"cut in an event", responsesStream, asEvents, `data: {"type":"response.completed","response":{"status":"comp`, 0, truncated},
		{"an error event", responsesStream, asEvents, typed(`{"type":"error","code":"server_error","message":"oh","param":null}`), 500, "oh"},
		{"an error event of the other kind", responsesStream, asEvents, typed(`{"type":"error","error":{"type":"overloaded_error","message":"busy"}}`), 503, "busy"},
		{"a failed response", responsesStream, asEvents, typed(`{"type":"response.failed","response":{"status":"failed","error":{"code":"server_error","message":"oh"}}}`), 500, "oh"},
		{"an event that is no JSON", responsesStream, asEvents, "data: {\n\n", 0, "an event of the stream is not JSON"},
	} {
		t.Run(test.name+"/"+test.way.String(), func(t *testing.T) {
			r, _, err := reply(t, answering(t, test.way, answer(200, test.kind, test.body)))
			failed(t, r, err, test.status, test.want)
		})
	}
}

// raw answers with bytes as they stand, and closes the connection: with a reset
// if it is to be one.
func raw(t *testing.T, bytes string, reset bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		io.WriteString(conn, bytes)
		if reset {
			conn.(*net.TCPConn).SetLinger(0)
		}
		conn.Close()
	}
}

// Connections that break.
func TestBrokenConnections(t *testing.T) {
	const middle = "the connection broke off in the middle of the answer"
	for _, test := range []struct {
		name, bytes string
		want        string
	}{
		{"closed at once", "", "the connection was closed without an answer"},
		{"short Content-Length", "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n: {}", middle},
		{"an unfinished chunk", "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n5\r\ndata:", middle},
	} {
		for _, w := range ways {
			t.Run(test.name+"/"+w.String(), func(t *testing.T) {
				r, _, err := reply(t, answering(t, w, raw(t, test.bytes, false)))
				failed(t, r, err, 0, test.want)
			})
		}
	}
	for _, w := range ways {
		t.Run("reset/"+w.String(), func(t *testing.T) {
			_, _, err := reply(t, answering(t, w, raw(t, "", true)))
			var m *loop.ModelError
			if err == nil || errors.As(err, &m) || !strings.HasPrefix(err.Error(), "no answer from http://127.0.0.1:") && err.Error() != "the connection was closed without an answer" {
				t.Errorf("%v", err)
			}
		})
	}
	t.Run("nobody listens", func(t *testing.T) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		url := "http://" + l.Addr().String()
		l.Close()
		_, _, err = reply(t, connect(t, chat.settings(url), nil))
		if err == nil || !strings.HasPrefix(err.Error(), "no answer from "+url+"/v1: dial tcp") {
			t.Errorf("%v", err)
		}
	})
}

// What the transport says can be found in what the model says, also when it says
// it in the middle of a body, and without the key in the text.
func TestTransportErrors(t *testing.T) {
	miss := fmt.Errorf("not on the cassette: %s", secret)
	for _, w := range ways {
		m := connect(t, w.settings("http://h"), roundTripper(func(*http.Request) (*http.Response, error) { return nil, miss }))
		_, _, err := reply(t, m)
		if !errors.Is(err, miss) || err.Error() != "no answer from http://h/v1: not on the cassette: [key]" {
			t.Errorf("%v: %v", w, err)
		}
		m = connect(t, w.settings("http://h"), roundTripper(func(*http.Request) (*http.Response, error) {
			body := io.MultiReader(strings.NewReader(": x\n\n"), errorReader{miss})
			return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {asEvents}}, Body: io.NopCloser(body)}, nil
		}))
		_, _, err = reply(t, m)
		if !errors.Is(err, miss) || err.Error() != "the answer broke off: not on the cassette: [key]" && err.Error() != "the answer broke off: error reading response body: not on the cassette: [key]" {
			t.Errorf("%v: %v", w, err)
		}
	}
}

type errorReader struct{ err error }

func (r errorReader) Read([]byte) (int, error) { return 0, r.err }

// A request is given up as soon as its context ends, before and within the
// answer; the cause stays.
func TestGivenUp(t *testing.T) {
	cause := errors.New("enough")
	for _, w := range ways {
		for _, started := range []bool{false, true} {
			t.Run(fmt.Sprint(w, started), func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				m := answering(t, w, func(rw http.ResponseWriter, r *http.Request) {
					io.Copy(io.Discard, r.Body)
					if started {
						rw.Header().Set("Content-Type", asEvents)
						io.WriteString(rw, ": alive\n\n")
						http.NewResponseController(rw).Flush()
					}
					cancel(cause)
					<-r.Context().Done()
				})
				_, err := m.Reply(ctx, hello(), func(string) {})
				if !errors.Is(err, cause) || !errors.Is(err, context.Canceled) || err.Error() != "the request was given up: enough" {
					t.Errorf("%v", err)
				}
			})
		}
	}
}

// Retry-After in the ways in which servers say it. A date counts from the date of
// the answer, whatever the clock here shows.
func TestRetryAfter(t *testing.T) {
	const date = "Tue, 01 Jan 2030 00:00:00 GMT"
	for _, test := range []struct {
		name   string
		header http.Header
		want   time.Duration
	}{
		{"seconds", http.Header{"Retry-After": {"20"}}, 20 * time.Second},
		{"a part of a second", http.Header{"Retry-After": {"0.5"}}, 500 * time.Millisecond},
		{"milliseconds first", http.Header{"Retry-After": {"2"}, "Retry-After-Ms": {"1500"}}, 1500 * time.Millisecond},
		{"a date", http.Header{"Date": {date}, "Retry-After": {"Tue, 01 Jan 2030 00:01:30 GMT"}}, 90 * time.Second},
		{"a date of the old form", http.Header{"Date": {date}, "Retry-After": {"Tuesday, 01-Jan-30 00:01:30 GMT"}}, 90 * time.Second},
		{"a date that has passed", http.Header{"Date": {date}, "Retry-After": {"Mon, 31 Dec 2029 00:00:00 GMT"}}, 0},
		{"a date long past, and no clock", http.Header{"Retry-After": {"Sun, 06 Nov 1994 08:49:37 GMT"}}, 0},
		{"nothing", http.Header{}, 0},
		{"a word", http.Header{"Retry-After": {"soon"}}, 0},
		{"less than nothing", http.Header{"Retry-After": {"-5"}}, 0},
		{"no number", http.Header{"Retry-After": {"NaN"}}, 0},
		{"for ever", http.Header{"Retry-After": {"1e300"}}, 1<<63 - 1},
		{"infinity", http.Header{"Retry-After": {"inf"}}, 1<<63 - 1},
	} {
		m := connect(t, chat.settings("http://h"), roundTripper(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 429, Header: test.header, Body: http.NoBody}, nil
		}))
		_, _, err := reply(t, m)
		var e *loop.ModelError
		if !errors.As(err, &e) || e.RetryAfter != test.want {
			t.Errorf("%s: %#v, want a wait of %v", test.name, err, test.want)
		}
	}
}
