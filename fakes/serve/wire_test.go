package serve

import (
	"context"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/internal/wiretest"
	"github.com/agentbench-go/agentbench/loop"
)

const (
	ms  = time.Millisecond
	sec = time.Second
)

// inVirtualTime serves steps in a bubble of virtual time.
func inVirtualTime(t *testing.T, o Options, f func(t *testing.T, s *Server, client *http.Client), steps ...fakes.Step) {
	onPipes(t, o, func(t *testing.T, s *Server, network *wiretest.Pipes) {
		transport := &http.Transport{DialContext: network.Dial}
		f(t, s, &http.Client{Transport: transport})
		transport.CloseIdleConnections()
	}, steps...)
}

// onPipes is inVirtualTime for tests that write what no HTTP client does.
func onPipes(t *testing.T, o Options, f func(t *testing.T, s *Server, network *wiretest.Pipes), steps ...fakes.Step) {
	synctest.Test(t, func(t *testing.T) {
		s, err := New([]Scenario{{"test/one", &fakes.Script{Model: steps}}}, o)
		if err != nil {
			t.Fatal(err)
		}
		network, ended := wiretest.NewPipes(), make(chan error)
		ctx, stop := context.WithCancel(context.Background())
		go func() { ended <- s.Serve(ctx, network) }()
		f(t, s, network)
		stop()
		if err := <-ended; err != nil {
			t.Errorf("the server ended with %v", err)
		}
	})
}

// brief returns the pieces of a chat's stream: the text, and ! for the finish reason,
// . for [DONE], ~ for a keep-alive, ? for an event that is cut off, and the message
// of an error.
func brief(t *testing.T, pieces []wiretest.Piece) (out []wiretest.Piece) {
	t.Helper()
	for _, p := range pieces {
		b := wiretest.Piece{At: p.At}
		for part := range strings.SplitAfterSeq(p.Text, "\n\n") {
			switch a, message := (answer{}), ""; {
			case part == "":
			case part == ": keep-alive\n\n":
				b.Text += "~"
			case strings.Contains(part, `{"error":`):
				_, message, _ = strings.Cut(part, `"message":"`)
				message, _, _ = strings.Cut(message, `"`)
				b.Text += message
			case !strings.HasSuffix(part, "\n\n"):
				b.Text += "?"
			default:
				a = readChatEvents(t, parseEvents(t, part))
				b.Text += a.Text
				for _, c := range a.Calls {
					b.Text += c.Name + c.Args
				}
				if a.Finish != "" {
					b.Text += "!"
				}
				if a.Ended {
					b.Text += "."
				}
			}
		}
		out = append(out, b)
	}
	return out
}

// The faults of a chat's stream. The reply takes 4 s in 4 pieces.
func TestStreams(t *testing.T) {
	calls := []fakes.StepCall{call("f", "12345678")}
	tests := []struct {
		name    string
		step    fakes.Step
		failure *fakes.ModelFailure
		status  int
		want    []wiretest.Piece
		end     time.Duration
		how     string
	}{
		{name: "well", status: 200, end: 4 * sec, want: []wiretest.Piece{{At: sec, Text: "ab"}, {At: 2 * sec, Text: "cd"}, {At: 3 * sec, Text: "ef"}, {At: 4 * sec, Text: "gh!."}}},
		{name: "a late first piece", step: fakes.Step{FirstToken: 2500 * ms}, status: 200, end: 4 * sec,
			want: []wiretest.Piece{{At: 2500 * ms, Text: "ab"}, {At: 3 * sec, Text: "cd"}, {At: 3500 * ms, Text: "ef"}, {At: 4 * sec, Text: "gh!."}}},
		{name: "all at once", step: fakes.Step{Chunks: -1}, status: 200, end: 4 * sec, want: []wiretest.Piece{{At: 4 * sec, Text: "abcdefgh!."}}},
		{name: "pieces of a call", step: fakes.Step{Text: "-", Calls: calls}, status: 200, end: 4 * sec,
			want: []wiretest.Piece{{At: sec, Text: "f12"}, {At: 2 * sec, Text: "34"}, {At: 3 * sec, Text: "56"}, {At: 4 * sec, Text: "78!."}}},
		{name: "a call after the text", step: fakes.Step{Calls: calls}, status: 200, end: 4 * sec,
			want: []wiretest.Piece{{At: sec, Text: "ab"}, {At: 2 * sec, Text: "cd"}, {At: 3 * sec, Text: "ef"}, {At: 4 * sec, Text: "ghf12345678!."}}},
		{name: "open after the end", step: fakes.Step{Wire: fakes.WireStallAfterDone}, status: 200, end: time.Hour, how: "patience",
			want: []wiretest.Piece{{At: sec, Text: "ab"}, {At: 2 * sec, Text: "cd"}, {At: 3 * sec, Text: "ef"}, {At: 4 * sec, Text: "gh!."}}},
		// Before the header.
		{name: "hangs", failure: &fakes.ModelFailure{Hang: true}, end: time.Hour, how: "patience"},
		{name: "lost", failure: &fakes.ModelFailure{}, end: 4 * sec, how: "lost"},
		{name: "lost after a time", failure: &fakes.ModelFailure{Latency: fakes.Span{Min: 7 * sec}}, end: 7 * sec, how: "lost"},
		{name: "a status", failure: &fakes.ModelFailure{Status: 503}, status: 503, end: 4 * sec, want: []wiretest.Piece{{At: 4 * sec, Text: "Service Unavailable"}}},
		// After two pieces of four, of which the failure comes with what would be the
		// third: 4 s / 3.
		{name: "stalls", failure: &fakes.ModelFailure{Hang: true, Chunks: 2}, status: 200, end: time.Hour, how: "patience",
			want: []wiretest.Piece{{At: 4 * sec / 3, Text: "ab"}, {At: 8 * sec / 3, Text: "cd"}}},
		{name: "lost in the middle", failure: &fakes.ModelFailure{Chunks: 2}, status: 200, end: 4 * sec, how: "lost",
			want: []wiretest.Piece{{At: 4 * sec / 3, Text: "ab"}, {At: 8 * sec / 3, Text: "cd"}}},
		{name: "an error in the middle", failure: &fakes.ModelFailure{Status: 500, Chunks: 2, Text: "overloaded"}, status: 200, end: 4 * sec,
			want: []wiretest.Piece{{At: 4 * sec / 3, Text: "ab"}, {At: 8 * sec / 3, Text: "cd"}, {At: 4 * sec, Text: "overloaded"}}},
		{name: "an error at the beginning", failure: &fakes.ModelFailure{Wire: fakes.WireErrorEvent, Text: "overloaded"}, status: 200, end: 4 * sec,
			want: []wiretest.Piece{{At: 4 * sec, Text: "overloaded"}}},
		{name: "keep-alives only", failure: &fakes.ModelFailure{Wire: fakes.WireHeartbeats}, status: 200, end: 13 * sec, how: "patience",
			want: []wiretest.Piece{{At: 0, Text: "~"}, {At: 5 * sec, Text: "~"}, {At: 10 * sec, Text: "~"}}},
		{name: "keep-alives after a piece", failure: &fakes.ModelFailure{Wire: fakes.WireHeartbeats, Chunks: 1}, status: 200, end: 13 * sec, how: "patience",
			want: []wiretest.Piece{{At: 2 * sec, Text: "ab~"}, {At: 7 * sec, Text: "~"}, {At: 12 * sec, Text: "~"}}},
		{name: "cut in the first event", failure: &fakes.ModelFailure{Wire: fakes.WireCutEvent}, status: 200, end: 4 * sec, want: []wiretest.Piece{{At: 4 * sec, Text: "?"}}},
		{name: "cut in an event", failure: &fakes.ModelFailure{Wire: fakes.WireCutEvent, Chunks: 1}, status: 200, end: 4 * sec,
			want: []wiretest.Piece{{At: 2 * sec, Text: "ab"}, {At: 4 * sec, Text: "?"}}},
		{name: "ends early", failure: &fakes.ModelFailure{Wire: fakes.WireEndsEarly, Chunks: 1}, status: 200, end: 4 * sec, want: []wiretest.Piece{{At: 2 * sec, Text: "ab"}}},
		{name: "nothing at all", failure: &fakes.ModelFailure{Wire: fakes.WireEndsEarly}, status: 200, end: 4 * sec},
		// All pieces come, and instead of the finish reason one more.
		{name: "no finish reason", failure: &fakes.ModelFailure{Wire: fakes.WireNoFinish, Latency: fakes.Span{Min: 5 * sec}}, status: 200, end: 5 * sec,
			want: []wiretest.Piece{{At: sec, Text: "ab"}, {At: 2 * sec, Text: "cd"}, {At: 3 * sec, Text: "ef"}, {At: 4 * sec, Text: "gh"}, {At: 5 * sec, Text: "."}}},
	}
	for _, tt := range tests {
		step := tt.step
		step.Latency = fakes.Span{Min: 4 * sec}
		switch step.Text {
		case "":
			step.Text = "abcdefgh"
		case "-":
			step.Text = ""
		}
		if step.Chunks++; step.Chunks > 0 {
			step.Chunks = 4
		}
		if tt.failure != nil {
			step.Failures = []fakes.ModelFailure{*tt.failure}
		}
		t.Run(tt.name, func(t *testing.T) {
			inVirtualTime(t, Options{}, func(t *testing.T, s *Server, client *http.Client) {
				patience := time.Hour
				if tt.end == 13*sec {
					patience = tt.end
				}
				body := clients["chat"].json([]loop.Message{hi}, true)
				got := wiretest.Ask(t, client, "/v1/chat/completions", body, patience)
				if diff := cmp.Diff(tt.want, brief(t, got.Pieces)); diff != "" || got.Status != tt.status || got.End != tt.end || got.How != tt.how {
					t.Errorf("status %d, ended %q at %v: %s\n%v", got.Status, got.How, got.End, diff, got.Pieces)
				}
				if len(step.Failures) == 0 {
					return
				}
				// The second try gets the reply.
				if again := wiretest.Ask(t, client, "/v1/chat/completions", body, time.Hour); again.Status != 200 || again.End != 4*sec {
					t.Errorf("the second try got %+v", again)
				}
			}, step)
		})
	}
}

// The same failures of replies that are not streamed.
func TestFailuresOfWholeReplies(t *testing.T) {
	tests := []struct {
		name    string
		failure fakes.ModelFailure
		status  int
		at      []time.Duration // when something came
		half    bool            // of the reply
		end     time.Duration
		how     string
	}{
		{"lost in the middle", fakes.ModelFailure{Chunks: 1}, 200, []time.Duration{2 * sec}, true, 4 * sec, "lost"},
		{"stalls", fakes.ModelFailure{Chunks: 1, Hang: true}, 200, []time.Duration{2 * sec}, true, time.Hour, "patience"},
		{"cut", fakes.ModelFailure{Wire: fakes.WireCutEvent}, 200, []time.Duration{4 * sec}, true, 4 * sec, ""},
		{"ends early", fakes.ModelFailure{Wire: fakes.WireEndsEarly}, 200, nil, false, 4 * sec, ""},
		{"ends in the middle", fakes.ModelFailure{Wire: fakes.WireEndsEarly, Chunks: 1}, 200, []time.Duration{2 * sec}, true, 4 * sec, ""},
		{"keep-alives", fakes.ModelFailure{Wire: fakes.WireHeartbeats}, 200, []time.Duration{0, 5 * sec, 10 * sec}, false, 13 * sec, "patience"},
		{"an error", fakes.ModelFailure{Wire: fakes.WireErrorEvent, Status: 500, Text: "no"}, 200, []time.Duration{4 * sec}, false, 4 * sec, ""},
		{"a status, whatever pieces", fakes.ModelFailure{Status: 500, Text: "no", Chunks: 1}, 500, []time.Duration{4 * sec}, false, 4 * sec, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inVirtualTime(t, Options{}, func(t *testing.T, s *Server, client *http.Client) {
				patience := time.Hour
				if tt.end == 13*sec {
					patience = tt.end
				}
				body := clients["chat"].json([]loop.Message{hi}, false)
				got := wiretest.Ask(t, client, "/v1/chat/completions", body, patience)
				whole := wiretest.Ask(t, client, "/v1/chat/completions", body, time.Hour)
				var at []time.Duration
				text := ""
				for _, p := range got.Pieces {
					at = append(at, p.At)
					text += p.Text
				}
				if got.Status != tt.status || got.End != tt.end || got.How != tt.how || !cmp.Equal(at, tt.at) {
					t.Errorf("got %+v", got)
				}
				text = created.ReplaceAllString(text, `"created":946684800`)
				if all := created.ReplaceAllString(whole.Pieces[0].Text, `"created":946684800`); tt.half && (!strings.HasPrefix(all, text) || len(text) != len(all)/2) && text != all[:(len(all)+1)/2] {
					t.Errorf("%q is not the first half of %q", text, all)
				}
				if strings.Contains(tt.name, "a") && tt.failure.Text != "" && !strings.Contains(text, `"error":{"message":"no"`) {
					t.Errorf("got %q", text)
				}
				if strings.HasPrefix(tt.name, "signs") && strings.TrimSpace(text) != "" {
					t.Errorf("got %q", text)
				}
			}, fakes.Step{Text: "abcdefgh", Latency: fakes.Span{Min: 4 * sec}, Failures: []fakes.ModelFailure{tt.failure}})
		})
	}
}

// created is when a reply was made, in whole seconds.
var created = regexp.MustCompile(`"created":\d+`)

// A reply that is not streamed has null for a missing finish reason.
func TestWholeReplyWithoutFinish(t *testing.T) {
	for name, want := range map[string]string{"chat": `"finish_reason":null`, "messages": `"stop_reason":null`, "responses": `"status":"in_progress"`} {
		s := serveSteps(t, at(fakes.Step{Text: "a", Failures: []fakes.ModelFailure{{Wire: fakes.WireNoFinish}}}))
		c := clients[name]
		if w := post(s, c.path, c.json([]loop.Message{hi}, false)); !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %s has no %s", name, w.Body, want)
		}
	}
}

// The errors of each API, in its own form and words.
func TestErrorBodies(t *testing.T) {
	tests := []struct {
		api, want, event string
		status           int
	}{
		{"chat", `{"error":{"message":"slow down","type":"requests","param":null,"code":"rate_limit_exceeded"}}`, "data: {BODY}\n\n", 429},
		{"chat", `{"error":{"message":"slow down","type":"server_error","param":null,"code":null}}`, "data: {BODY}\n\n", 500},
		{"chat", `{"error":{"message":"slow down","type":"invalid_request_error","param":null,"code":null}}`, "data: {BODY}\n\n", 400},
		{"responses", `{"error":{"message":"slow down","type":"requests","param":null,"code":"rate_limit_exceeded"}}`,
			"event: error\ndata: {\"type\":\"error\",\"code\":\"rate_limit_exceeded\",\"message\":\"slow down\",\"param\":null,\"sequence_number\":0}\n\n", 429},
		{"messages", `{"type":"error","error":{"type":"rate_limit_error","message":"slow down"}}`, "event: error\ndata: {BODY}\n\n", 429},
		{"messages", `{"type":"error","error":{"type":"overloaded_error","message":"slow down"}}`, "event: error\ndata: {BODY}\n\n", 529},
		{"messages", `{"type":"error","error":{"type":"authentication_error","message":"slow down"}}`, "event: error\ndata: {BODY}\n\n", 401},
		{"messages", `{"type":"error","error":{"type":"api_error","message":"slow down"}}`, "event: error\ndata: {BODY}\n\n", 500},
	}
	for _, tt := range tests {
		c := clients[tt.api]
		refused := fakes.ModelFailure{Status: tt.status, Text: "slow down"}
		inStream := refused
		inStream.Wire = fakes.WireErrorEvent
		s := serveSteps(t, at(fakes.Step{Text: "abc", Failures: []fakes.ModelFailure{refused, inStream}}))
		body := c.json([]loop.Message{hi}, true)
		w, whole := post(s, c.path, body), tt.want
		if tt.api == "messages" {
			whole = whole[:len(whole)-1] + `,"request_id":"req_1"}`
		}
		if w.Code != tt.status || w.Body.String() != whole || int64(w.Body.Len()) != w.Result().ContentLength {
			t.Errorf("%s %d: %s", tt.api, w.Code, w.Body)
		}
		if got, want := post(s, c.path, body).Body.String(), strings.ReplaceAll(tt.event, "{BODY}", tt.want); got != want {
			t.Errorf("%s, in the stream:\n%s\nwant\n%s", tt.api, got, want)
		}
	}
}

// A server says how long to wait: divided as all waits are, rounded up.
func TestRetryAfter(t *testing.T) {
	tests := []struct {
		name       string
		wait       time.Duration
		speed      float64
		date       bool
		after, mil string
	}{
		{"seconds", 5 * sec, 1, false, "5", ""},
		{"part of a second", 1500 * ms, 1, false, "2", "1500"},
		{"divided", 20 * sec, 100, false, "1", "200"},
		{"divided evenly", 200 * sec, 100, false, "2", ""},
		// The bubble begins on Saturday, 1 January 2000, at midnight.
		{"a date", 90 * sec, 1, true, "Sat, 01 Jan 2000 00:01:30 GMT", ""},
		{"a date, divided", 90 * sec, 60, true, "Sat, 01 Jan 2000 00:00:02 GMT", ""},
		{"nothing said", 0, 1, false, "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := fakes.ModelFailure{Status: 429, RetryAfter: tt.wait, Latency: fakes.Instantly()}
			if tt.date {
				f.Wire = fakes.WireRetryAfterDate
			}
			inVirtualTime(t, Options{Speed: tt.speed}, func(t *testing.T, s *Server, client *http.Client) {
				got := wiretest.Ask(t, client, "/v1/chat/completions", clients["chat"].json([]loop.Message{hi}, false), sec)
				if after, mil := got.Header.Get("Retry-After"), got.Header.Get("Retry-After-Ms"); got.Status != 429 || after != tt.after || mil != tt.mil {
					t.Errorf("status %d, Retry-After %q, Retry-After-Ms %q", got.Status, after, mil)
				}
			}, fakes.Step{Text: "a", Failures: []fakes.ModelFailure{f}})
		})
	}
}

// All waits are divided by the speed, and the answer says so.
func TestSpeed(t *testing.T) {
	inVirtualTime(t, Options{Speed: 100}, func(t *testing.T, s *Server, client *http.Client) {
		got := wiretest.Ask(t, client, "/v1/chat/completions", clients["chat"].json([]loop.Message{hi}, true), time.Hour)
		want := []wiretest.Piece{{At: 10 * ms, Text: "ab"}, {At: 40 * ms, Text: "cd!."}}
		if diff := cmp.Diff(want, brief(t, got.Pieces)); diff != "" || got.Header.Get("X-Agentbench-Speed") != "100" {
			t.Errorf("%v %s", got.Header, diff)
		}
		if s.Journal().Speed != 100 {
			t.Error("the journal does not have the speed")
		}
	}, fakes.Step{Text: "abcd", Chunks: 2, FirstToken: sec, Latency: fakes.Span{Min: 4 * sec}})
}

// A step without a latency takes 2 s.
func TestLatencyNotSaid(t *testing.T) {
	inVirtualTime(t, Options{}, func(t *testing.T, s *Server, client *http.Client) {
		got := wiretest.Ask(t, client, "/v1/messages", clients["messages"].json([]loop.Message{hi}, false), time.Hour)
		if got.End != 2*sec || got.Header.Get("X-Agentbench-Speed") != "" {
			t.Errorf("it came after %v with %v", got.End, got.Header)
		}
	}, fakes.Step{Text: "abcd"})
}

// Answers in progress are broken off when the server ends; it does not wait for a
// silent client.
func TestShutdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serveSteps(t, fakes.Step{Text: "a", Failures: []fakes.ModelFailure{{Hang: true}, {Hang: true, Chunks: 1, Latency: fakes.Span{Min: 2 * sec}}, {Wire: fakes.WireHeartbeats}}})
		network, ended := wiretest.NewPipes(), make(chan error)
		ctx, stop := context.WithCancel(context.Background())
		go func() { ended <- s.Serve(ctx, network) }()
		transport := &http.Transport{DialContext: network.Dial}
		client := &http.Client{Transport: transport}
		answers := make(chan wiretest.Seen)
		for range 3 {
			go func() {
				answers <- wiretest.Ask(t, client, "/v1/chat/completions", clients["chat"].json([]loop.Message{hi}, true), time.Hour)
			}()
		}
		silent, _ := network.Dial(ctx, "", "")
		time.Sleep(30 * sec) // of the bubble's time
		stop()
		for range 3 {
			if got := <-answers; got.How != "lost" || got.End != 30*sec {
				t.Errorf("an answer ended with %q at %v", got.How, got.End)
			}
		}
		began := time.Now()
		if err := <-ended; err != nil || time.Since(began) > leaveTime {
			t.Errorf("the server ended with %v after %v", err, time.Since(began))
		}
		if n, err := silent.Read(make([]byte, 1)); err == nil {
			t.Errorf("a silent connection got %d bytes", n)
		}
		silent.Close()
		transport.CloseIdleConnections()
	})
}
