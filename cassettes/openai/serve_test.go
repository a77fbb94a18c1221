package openai

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/fakes/serve"
	"github.com/agentbench-go/agentbench/loop"
)

var (
	threeCalls = []fakes.StepCall{{Name: "look", Args: `{"at":"a"}`}, {Name: "look", Args: `{"at":"b"}`}, {Name: "ask", Args: `{}`}}
	threeAsked = []loop.AskedCall{{ID: "call_1_1", Name: "look", Args: `{"at":"a"}`}, {ID: "call_1_2", Name: "look", Args: `{"at":"b"}`}, {ID: "call_1_3", Name: "ask", Args: `{}`}}
)

// The loop gets what the script says, in each of the four ways.
func TestServedReplies(t *testing.T) {
	const text = "It is sunny in Oslo, and warm. Ä€😀"
	none := ""
	for _, test := range []struct {
		name string
		step fakes.Step
		want loop.Reply
	}{
		{"text", fakes.Step{Text: text, TokensIn: 812, TokensOut: 33},
			loop.Reply{Text: text, Finish: "stop", TokensIn: 812, TokensOut: 33, Cost: 812*2_500 + 33*10_000}},
		{"one call", fakes.Step{Calls: threeCalls[:1], TokensIn: 1}, loop.Reply{Calls: threeAsked[:1], Finish: "tool_calls", TokensIn: 1, Cost: 2_500}},
		{"three calls", fakes.Step{Calls: threeCalls}, loop.Reply{Calls: threeAsked, Finish: "tool_calls"}},
		{"text and calls", fakes.Step{Text: text, Calls: threeCalls[:2]}, loop.Reply{Text: text, Calls: threeAsked[:2], Finish: "tool_calls"}},
		{"all in one index", fakes.Step{Calls: threeCalls, Wire: fakes.WireSameIndex}, loop.Reply{Calls: threeAsked, Finish: "tool_calls"}},
		{"the calls in turns", fakes.Step{Calls: threeCalls, Wire: fakes.WireShuffledIndex}, loop.Reply{Calls: threeAsked, Finish: "tool_calls"}},
		{"a connection that stays open", fakes.Step{Text: text, Wire: fakes.WireStallAfterDone}, loop.Reply{Text: text, Finish: "stop"}},
		{"no id", fakes.Step{Calls: []fakes.StepCall{{ID: &none, Name: "look", Args: "{}"}}},
			loop.Reply{Calls: []loop.AskedCall{{Name: "look", Args: "{}"}}, Finish: "tool_calls"}},
		{"no arguments", fakes.Step{Calls: []fakes.StepCall{{Name: "look"}}}, loop.Reply{Calls: []loop.AskedCall{{ID: "call_1_1", Name: "look"}}, Finish: "tool_calls"}},
		{"broken arguments", fakes.Step{Calls: []fakes.StepCall{{Name: "look", Args: `{"at":`}}},
			loop.Reply{Calls: []loop.AskedCall{{ID: "call_1_1", Name: "look", Args: `{"at":`}}, Finish: "tool_calls"}},
		{"cut off", fakes.Step{Text: "It is", Finish: loop.FinishLength}, loop.Reply{Text: "It is", Finish: loop.FinishLength}},
		{"filtered", fakes.Step{Text: "It is", Finish: "content_filter"}, loop.Reply{Text: "It is", Finish: "content_filter"}},
		{"nothing", fakes.Step{}, loop.Reply{Finish: "stop"}},
	} {
		for _, w := range ways {
			t.Run(test.name+"/"+w.String(), func(t *testing.T) {
				served(t, []fakes.Step{test.step}, func(t *testing.T, network http.RoundTripper, _ *[]serve.Entry) {
					got, pieces, err := reply(t, connect(t, w.settings(host), network))
					if err != nil {
						t.Fatal(err)
					}
					if diff := cmp.Diff(test.want, got); diff != "" {
						t.Errorf("(-want +got)\n%s", diff)
					}
					if joined := strings.Join(pieces, ""); w.stream && joined != test.want.Text || !w.stream && len(pieces) > 0 {
						t.Errorf("the pieces are %q, want %q", pieces, test.want.Text)
					}
					if some := test.want.Text != "" || len(test.want.Calls) > 0; w.stream && some && len(pieces) == 0 {
						t.Error("no piece came")
					}
				})
			})
		}
	}
}

// The same id twice reaches the loop as it is: the loop replaces it.
func TestServedRepeatedID(t *testing.T) {
	id := "x"
	step := fakes.Step{Calls: []fakes.StepCall{{ID: &id, Name: "look", Args: `{"at":"a"}`}, {ID: &id, Name: "look", Args: `{"at":"b"}`}}}
	for _, w := range ways {
		t.Run(w.String(), func(t *testing.T) {
			served(t, []fakes.Step{step}, func(t *testing.T, network http.RoundTripper, _ *[]serve.Entry) {
				got, _, err := reply(t, connect(t, w.settings(host), network))
				want := []loop.AskedCall{{ID: "x", Name: "look", Args: `{"at":"a"}`}, {ID: "x", Name: "look", Args: `{"at":"b"}`}}
				if diff := cmp.Diff(want, got.Calls); err != nil || diff != "" {
					t.Errorf("%v (-want +got)\n%s", err, diff)
				}
			})
		})
	}
}

// Every fault that the server knows is a failure, and none is a reply.
func TestServedFailures(t *testing.T) {
	const (
		truncated = "truncated stream: it ended before the reply was complete"
		broken    = "the connection broke off in the middle of the answer"
		closed    = "the connection was closed without an answer"
		cutJSON   = "the answer breaks off: its JSON is incomplete"
	)
	type failure struct {
		status int
		text   string
	}
	for _, test := range []struct {
		name            string
		failure         fakes.ModelFailure
		whole, streamed failure
	}{
		{"429", fakes.ModelFailure{Status: 429, Text: "slow down"}, failure{429, "slow down"}, failure{429, "slow down"}},
		{"500 without a text", fakes.ModelFailure{Status: 500}, failure{500, "Internal Server Error"}, failure{500, "Internal Server Error"}},
		{"529", fakes.ModelFailure{Status: 529, Text: "overloaded"}, failure{529, "overloaded"}, failure{529, "overloaded"}},
		{"400", fakes.ModelFailure{Status: 400, Text: "bad"}, failure{400, "bad"}, failure{400, "bad"}},
		{"lost", fakes.ModelFailure{}, failure{0, closed}, failure{0, closed}},
		{"lost after pieces", fakes.ModelFailure{Chunks: 2}, failure{0, broken}, failure{0, broken}},
		{"429 after pieces", fakes.ModelFailure{Status: 429, Chunks: 2, Text: "slow down"}, failure{429, "slow down"}, failure{429, "slow down"}},
		{"503 after pieces", fakes.ModelFailure{Status: 503, Chunks: 2, Text: "gone"}, failure{503, "gone"}, failure{500, "gone"}}, // the event has no number
		{"cut in an event", fakes.ModelFailure{Wire: fakes.WireCutEvent, Chunks: 2}, failure{0, cutJSON}, failure{0, truncated}},
		{"ends early", fakes.ModelFailure{Wire: fakes.WireEndsEarly, Chunks: 2}, failure{0, cutJSON}, failure{0, truncated}},
		{"ends at once", fakes.ModelFailure{Wire: fakes.WireEndsEarly}, failure{0, "the answer is empty"}, failure{0, truncated}},
		{"error event", fakes.ModelFailure{Wire: fakes.WireErrorEvent, Status: 429, Text: "slow down"}, failure{429, "slow down"}, failure{429, "slow down"}},
		{"error event without a status", fakes.ModelFailure{Wire: fakes.WireErrorEvent, Text: "oh"}, failure{500, "oh"}, failure{500, "oh"}},
	} {
		for _, w := range ways {
			t.Run(test.name+"/"+w.String(), func(t *testing.T) {
				step := fakes.Step{Text: "It is sunny in Oslo.", Chunks: 4, Failures: []fakes.ModelFailure{test.failure}}
				served(t, []fakes.Step{step}, func(t *testing.T, network http.RoundTripper, _ *[]serve.Entry) {
					r, _, err := reply(t, connect(t, w.settings(host), network))
					want := test.whole
					if w.stream {
						want = test.streamed
					}
					failed(t, r, err, want.status, want.text)
				})
			})
		}
	}
}

// A whole reply without a finish reason is an error.
func TestServedWithoutFinish(t *testing.T) {
	for w, want := range map[way]string{
		ways[0]: "the answer has no finish reason",
		ways[1]: "truncated stream: it ended before the reply was complete",
		ways[2]: "the answer is not whole: its status is in_progress",
		ways[3]: "truncated stream: it ended before the reply was complete",
	} {
		t.Run(w.String(), func(t *testing.T) {
			step := fakes.Step{Text: "It is sunny.", Failures: []fakes.ModelFailure{{Wire: fakes.WireNoFinish}}}
			served(t, []fakes.Step{step}, func(t *testing.T, network http.RoundTripper, _ *[]serve.Entry) {
				r, _, err := reply(t, connect(t, w.settings(host), network))
				failed(t, r, err, 0, want)
			})
		})
	}
}

// What never answers is given up when the context ends, with its cause.
func TestServedHangs(t *testing.T) {
	tooLong := errors.New("this took too long")
	for name, failure := range map[string]fakes.ModelFailure{
		"hangs": {Hang: true}, "stalls": {Hang: true, Chunks: 2}, "only heartbeats": {Wire: fakes.WireHeartbeats}, "heartbeats after pieces": {Wire: fakes.WireHeartbeats, Chunks: 2},
	} {
		for _, w := range ways {
			t.Run(name+"/"+w.String(), func(t *testing.T) {
				step := fakes.Step{Text: "It is sunny in Oslo.", Chunks: 4, Failures: []fakes.ModelFailure{failure}}
				served(t, []fakes.Step{step}, func(t *testing.T, network http.RoundTripper, _ *[]serve.Entry) {
					start := time.Now()
					ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, tooLong)
					defer cancel()
					pieces := 0
					_, err := connect(t, w.settings(host), network).Reply(ctx, hello(), func(string) { pieces++ })
					if !errors.Is(err, tooLong) || err.Error() != "the request was given up: this took too long" {
						t.Errorf("%v", err)
					}
					if took := time.Since(start); took != time.Minute {
						t.Errorf("it took %v", took)
					}
					if w.stream && failure.Chunks == 0 && pieces > 0 {
						t.Errorf("%d signs of life count as pieces", pieces)
					}
					if w.stream && failure.Chunks > 0 && pieces < 2 {
						t.Errorf("%d pieces came, want 2", pieces)
					}
				})
			})
		}
	}
}

func TestServedRetryAfter(t *testing.T) {
	for name, test := range map[string]struct {
		failure fakes.ModelFailure
		want    time.Duration
	}{
		"seconds":      {fakes.ModelFailure{Status: 429, RetryAfter: 20 * time.Second}, 20 * time.Second},
		"milliseconds": {fakes.ModelFailure{Status: 429, RetryAfter: 1500 * time.Millisecond}, 1500 * time.Millisecond},
		"a date":       {fakes.ModelFailure{Status: 503, RetryAfter: 20 * time.Second, Wire: fakes.WireRetryAfterDate}, 20 * time.Second},
		"none":         {fakes.ModelFailure{Status: 429}, 0},
	} {
		for _, w := range ways {
			t.Run(name+"/"+w.String(), func(t *testing.T) {
				served(t, []fakes.Step{{Text: "x", Failures: []fakes.ModelFailure{test.failure}}}, func(t *testing.T, network http.RoundTripper, _ *[]serve.Entry) {
					_, _, err := reply(t, connect(t, w.settings(host), network))
					var m *loop.ModelError
					if !errors.As(err, &m) || m.RetryAfter != test.want {
						t.Errorf("%#v, want a wait of %v", err, test.want)
					}
				})
			})
		}
	}
}

// look is a tool that finds the same each time.
func look() loop.Tool {
	type place struct{ At string }
	return loop.FuncTool(loop.ToolSpec{Name: "look", Description: "Look at a place.", Input: `{"type":"object","properties":{"at":{"type":"string"}}}`},
		func(_ context.Context, p place) (string, error) { return "seen " + p.At, nil })
}

// played runs a task through the loop with a served model, and gives the trace
// without its pieces.
func played(t *testing.T, w way, cfg loop.Config, network http.RoundTripper) (loop.Outcome, string) {
	t.Helper()
	return playedTask(t, w, cfg, network, loop.Task{Text: "Look at a and b.", System: "Be brief."})
}

func playedTask(t *testing.T, w way, cfg loop.Config, network http.RoundTripper, task loop.Task) (loop.Outcome, string) {
	t.Helper()
	live := loop.NewLive(task, connect(t, w.settings(host), network), []loop.Tool{look()}, loop.LiveOptions{})
	m, err := loop.New(cfg, task, live.Tools())
	if err != nil {
		t.Fatal(err)
	}
	var trace loop.Trace
	out, err := loop.Run(t.Context(), m, loop.Recording(live, &trace))
	if err != nil {
		t.Fatal(err)
	}
	var kept []string
	for line := range strings.Lines(trace.String()) {
		if !strings.Contains(line, " delta ") && !strings.Contains(line, "> halt ") {
			kept = append(kept, strings.TrimRight(line, "\n"))
		}
	}
	return out, strings.Join(kept, "\n")
}

// Two calls at once, a 429 that asks for 20 s, and the answer: the loop's own
// retry waits, and the client's does not.
func TestPlayedRateLimit(t *testing.T) {
	steps := []fakes.Step{
		{Calls: threeCalls[:2], TokensIn: 10, TokensOut: 2},
		{Text: "Seen.", TokensIn: 20, TokensOut: 1, Failures: []fakes.ModelFailure{{Status: 429, RetryAfter: 20 * time.Second, Text: "slow down", Latency: fakes.Span{Min: time.Second}}}},
	}
	// 10 × 2,500 + 2 × 10,000 = 45,000; 20 × 2,500 + 1 × 10,000 = 60,000.
	const want = `   0.000s started text="Look at a and b."
          > ask m1#1 for=reply to=1
   2.000s reply m1 call=call_1_1:look(` + "`" + `{"at":"a"}` + "`" + `) call=call_1_2:look(` + "`" + `{"at":"b"}` + "`" + `) finish=tool_calls in=10 out=2 cost=45000
          > call c1#1 name=look args=` + "`" + `{"at":"a"}` + "`" + `
          > call c2#1 name=look args=` + "`" + `{"at":"b"}` + "`" + `
RESULTS
          > put c1 text="seen a"
          > put c2 text="seen b"
          > ask m2#1 for=reply to=4
   3.000s failure m2 status=429 retry_after=20s text="slow down"
  23.000s tick
          > ask m2#2 for=reply to=4
  25.000s reply m2#2 text=Seen. finish=stop in=20 out=1 cost=60000`
	cfg := loop.Default()
	cfg.ModelRetry.Max = 3
	for _, w := range ways {
		t.Run(w.String(), func(t *testing.T) {
			served(t, steps, func(t *testing.T, network http.RoundTripper, journal *[]serve.Entry) {
				out, trace := played(t, w, cfg, network)
				// The two tools end at the same instant, in any order.
				one, two := "   2.000s result c1#1 ok text=\"seen a\"", "   2.000s result c2#1 ok text=\"seen b\""
				if trace != strings.Replace(want, "RESULTS", one+"\n"+two, 1) && trace != strings.Replace(want, "RESULTS", two+"\n"+one, 1) {
					t.Errorf("the trace is\n%s\nwant\n%s", trace, want)
				}
				if out.Stop != loop.StopDone || out.Cost != 105_000 {
					t.Errorf("stop %s, cost %d", out.Stop, out.Cost)
				}
				var statuses []int
				for _, e := range *journal {
					statuses = append(statuses, e.Status)
					if len(e.Problems) > 0 {
						t.Errorf("protocol faults: %q", e.Problems)
					}
				}
				if diff := cmp.Diff([]int{200, 429, 200}, statuses); diff != "" {
					t.Errorf("(-want +got)\n%s", diff)
				}
			})
		})
	}
}

// A stream that ends as if it were whole is broken, and tried again.
func TestPlayedTruncatedStream(t *testing.T) {
	cfg := loop.Off()
	cfg.ModelRetry.Max = 1
	steps := []fakes.Step{{Text: "It is sunny.", Chunks: 4, Failures: []fakes.ModelFailure{{Wire: fakes.WireEndsEarly, Chunks: 2}}}}
	for _, w := range ways {
		if !w.stream {
			continue
		}
		t.Run(w.String(), func(t *testing.T) {
			served(t, steps, func(t *testing.T, network http.RoundTripper, _ *[]serve.Entry) {
				out, trace := played(t, w, cfg, network)
				if !strings.Contains(trace, `failure m1 text="truncated stream: it ended before the reply was complete"`) || !strings.Contains(trace, "> note m1#1 event=broken-stream") {
					t.Errorf("the trace is\n%s", trace)
				}
				if out.Stop != loop.StopDone || out.ModelCalls != 2 || out.Answer != "It is sunny." {
					t.Errorf("stop %s after %d requests, answer %q", out.Stop, out.ModelCalls, out.Answer)
				}
			})
		})
	}
}

// A planner's actions are read from the text of its replies.
func TestPlayedPlanner(t *testing.T) {
	steps := []fakes.Step{{Text: `{"action":"call_tool","name":"look","args":{"at":"a"}}`}, {Text: `{"action":"stop","reason":"all is seen"}`}}
	for _, w := range ways {
		t.Run(w.String(), func(t *testing.T) {
			served(t, steps, func(t *testing.T, network http.RoundTripper, journal *[]serve.Entry) {
				out, trace := playedTask(t, w, loop.Off(), network, loop.Task{Text: "Look at a.", Planner: loop.PlannerJSON})
				if out.Stop != loop.StopByModel || out.Calls != 1 || out.Answer != "all is seen" {
					t.Errorf("stop %s after %d calls, answer %q\n%s", out.Stop, out.Calls, out.Answer, trace)
				}
				for _, e := range *journal {
					if len(e.Problems) > 0 || e.Error != "" {
						t.Errorf("protocol faults: %q %s", e.Problems, e.Error)
					}
				}
			})
		})
	}
}
