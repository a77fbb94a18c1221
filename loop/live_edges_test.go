package loop_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/url"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentbench-go/agentbench/loop"
)

// The first try says nothing, and the second stops in the middle. What the first
// says after it was given up is dropped.
func TestLiveStreamTimeouts(t *testing.T) {
	cfg := loop.Off()
	cfg.Time.FirstToken, cfg.Time.Chunk = 5*time.Second, 3*time.Second
	cfg.ModelRetry.Max = 1
	bubble(t, func(t *testing.T) {
		causes := make(chan error, 2)
		model := modelFunc(func(ctx context.Context, req loop.ModelRequest, delta func(string)) (loop.Reply, error) {
			if req.Ref.Try == 1 {
				<-ctx.Done() // at 5 s
				causes <- context.Cause(ctx)
				time.Sleep(2500 * time.Millisecond)
				delta("late")
				return answer("too late"), nil
			}
			for _, piece := range []string{"Hel", "lo"} {
				time.Sleep(time.Second)
				delta(piece)
			}
			<-ctx.Done()
			causes <- context.Cause(ctx)
			return loop.Reply{}, ctx.Err()
		})
		out, trace := run(t, t.Context(), cfg, goTask, model, nil, loop.LiveOptions{})
		check(t, trace, `
   0.000s started text=go
          > ask m1#1 for=reply to=1
   5.000s tick
          > cancel m1#1 text=first-token-timeout
   6.000s tick
          > ask m1#2 for=reply to=1
   7.000s delta m1#2 text=Hel
   8.000s delta m1#2 text=lo
  11.000s tick
          > cancel m1#2 text=chunk-timeout
          > note m1#2 event=broken-stream
`)
		if out.Stop != loop.StopModelDeadline {
			t.Errorf("stop %v", out.Stop)
		}
		for range 2 {
			if cause := <-causes; cause != loop.ErrTimeout {
				t.Errorf("cause %v", cause)
			}
		}
	})
}

// The reply of a stream is what Reply returns, and deltas after that are
// dropped.
func TestLiveStream(t *testing.T) {
	cfg := loop.Off()
	cfg.Time.FirstToken, cfg.Time.Chunk = 2*time.Second, 2*time.Second
	bubble(t, func(t *testing.T) {
		model := modelFunc(func(ctx context.Context, req loop.ModelRequest, delta func(string)) (loop.Reply, error) {
			if req.Ref.N == 2 {
				return answer("done"), pause(ctx, time.Second)
			}
			time.Sleep(time.Second)
			delta("") // a call's name, without text
			time.Sleep(time.Second)
			go func() { time.Sleep(time.Millisecond); delta("stray") }()
			r := ask("1:quick")
			r.Text, r.Finish, r.TokensIn, r.TokensOut, r.Cost = "look", loop.FinishToolCalls, 812, 33, 5000
			return r, nil
		})
		_, trace := run(t, t.Context(), cfg, goTask, model, []loop.Tool{takes("quick", time.Second)}, loop.LiveOptions{})
		check(t, trace, `
   0.000s started text=go
          > ask m1#1 for=reply to=1
   1.000s delta m1
   2.000s reply m1 text=look call=1:quick("{}") finish=tool_calls in=812 out=33 cost=5000
          > call c1#1 name=quick args="{}"
   3.000s result c1#1 ok text="quick done"
          > put c1 text="quick done"
          > ask m2#1 for=reply to=3
   4.000s reply m2 text=done
`)
	})
}

// The model panics, then the server names a wait, then the connection is lost.
func TestLiveModelFailures(t *testing.T) {
	cfg := loop.Off()
	cfg.ModelRetry.Max = 3
	bubble(t, func(t *testing.T) {
		model := modelFunc(func(ctx context.Context, req loop.ModelRequest, _ func(string)) (loop.Reply, error) {
			time.Sleep(time.Second)
			switch req.Ref.Try {
			case 1:
				panic("no choices")
			case 2:
				return loop.Reply{}, fmt.Errorf("chat: %w", &loop.ModelError{Status: 429, RetryAfter: 5 * time.Second, Text: "slow down"})
			case 3:
				return loop.Reply{}, io.ErrUnexpectedEOF
			}
			return answer("done"), nil
		})
		// The waits of the formula are 1, 2 and 4 s; the server's own comes
		// instead of the second.
		_, trace := run(t, t.Context(), cfg, goTask, model, nil, loop.LiveOptions{})
		check(t, trace, `
   0.000s started text=go
          > ask m1#1 for=reply to=1
   1.000s failure m1 text="panic: no choices"
   2.000s tick
          > ask m1#2 for=reply to=1
   3.000s failure m1#2 status=429 retry_after=5s text="slow down"
   8.000s tick
          > ask m1#3 for=reply to=1
   9.000s failure m1#3 text="unexpected EOF"
  13.000s tick
          > ask m1#4 for=reply to=1
  14.000s reply m1#4 text=done
`)
	})
}

// A Retry-After outside the range of the clock is cut to it: zero to ten years.
func TestLiveRetryAfterIsBounded(t *testing.T) {
	for asked, want := range map[time.Duration]time.Duration{-time.Second: 0, math.MaxInt64: 10 * 365 * 24 * time.Hour} {
		bubble(t, func(t *testing.T) {
			model := modelFunc(func(context.Context, loop.ModelRequest, func(string)) (loop.Reply, error) {
				return loop.Reply{}, &loop.ModelError{Status: 429, RetryAfter: asked}
			})
			_, trace := run(t, t.Context(), loop.Off(), goTask, model, nil, loop.LiveOptions{})
			if got := trace[1].In.RetryAfter; got != want {
				t.Errorf("%v became %v, want %v", asked, got, want)
			}
		})
	}
}

// Numbers that no model can mean do not keep the limits from stopping the run: each
// turn says the same, and two such turns are over the limit. Without bounds twice
// MaxInt64 are -2, and what the negative number takes away nobody would notice.
func TestLiveAbsurdUse(t *testing.T) {
	const most = math.MaxInt64
	for _, tt := range []struct {
		name  string
		reply loop.Reply
		sub   loop.Outcome
		want  loop.Stop
	}{
		{"tokens that overflow", loop.Reply{TokensIn: most, TokensOut: most}, loop.Outcome{}, loop.StopTokenLimit},
		{"tokens that take away", loop.Reply{TokensIn: -most, TokensOut: 600}, loop.Outcome{}, loop.StopTokenLimit},
		{"a cost that overflows", loop.Reply{Cost: most}, loop.Outcome{}, loop.StopCostLimit},
		{"tokens of sub-runs that overflow", loop.Reply{}, loop.Outcome{TokensIn: most, TokensOut: most}, loop.StopTokenLimit},
		{"tokens of sub-runs that take away", loop.Reply{TokensIn: 600}, loop.Outcome{TokensIn: -most}, loop.StopTokenLimit},
		{"calls of sub-runs that overflow", loop.Reply{}, loop.Outcome{Calls: math.MaxInt, SubCalls: math.MaxInt}, loop.StopCallLimit},
		{"calls of sub-runs that take away", loop.Reply{}, loop.Outcome{Calls: 3, SubCalls: -9}, loop.StopCallLimit},
	} {
		cfg := loop.Off()
		cfg.Limits.Tokens, cfg.Limits.CostUSD, cfg.Limits.Calls, cfg.Limits.Turns = 1000, 1, 5, 20
		bubble(t, func(t *testing.T) {
			model := modelFunc(func(_ context.Context, req loop.ModelRequest, _ func(string)) (loop.Reply, error) {
				r := tt.reply
				r.Calls = ask("a:research").Calls
				return r, nil
			})
			research := tool("research", func(ctx context.Context) (string, error) {
				loop.RollUp(ctx, tt.sub)
				loop.RollUp(ctx, tt.sub)
				return "found", nil
			})
			out, trace := run(t, t.Context(), cfg, goTask, model, []loop.Tool{research}, loop.LiveOptions{})
			if out.Stop != tt.want || out.Turns > 3 {
				t.Errorf("%s: the run stops by %s after %d turns, want %s by the third\n%s", tt.name, out.Stop, out.Turns, tt.want, trace)
			}
			if out.TokensIn < 0 || out.TokensOut < 0 || out.Cost < 0 || out.SubCalls < 0 {
				t.Errorf("%s: the outcome is %+v", tt.name, out)
			}
		})
	}
}

// The error of a tool becomes a code and a text.
func TestLiveToolErrors(t *testing.T) {
	var none *loop.ToolError
	tests := []struct {
		err  error
		code loop.Code
		text string
	}{
		{&loop.ToolError{Code: loop.NotFound, Text: "no such file"}, loop.NotFound, "no such file"},
		{fmt.Errorf("read: %w", &loop.ToolError{Code: loop.RateLimited, Text: "wait"}), loop.RateLimited, "wait"},
		{&loop.ToolError{Code: loop.NoResults, Text: "no hits"}, loop.NoResults, "no hits"},
		{&loop.ToolError{Code: loop.Forbidden}, loop.Forbidden, "Forbidden"},
		{&loop.ToolError{Text: "an error without a code"}, loop.ToolBug, "an error without a code"},
		{&loop.ToolError{Code: "Weird", Text: "not in the taxonomy"}, loop.ToolBug, "not in the taxonomy"},
		{errors.New("index out of step"), loop.ToolBug, "index out of step"},
		{context.DeadlineExceeded, loop.Timeout, "context deadline exceeded"}, // its own: nobody cancelled it
		{context.Canceled, loop.ToolBug, "context canceled"},
		{&url.Error{Op: "Post", URL: "http://x", Err: &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}},
			loop.NotSent, `Post "http://x": dial tcp: connection refused`},
		{&net.DNSError{Err: "no such host", Name: "x", IsNotFound: true}, loop.NotSent, "lookup x: no such host"},
		{&net.OpError{Op: "dial", Net: "tcp", Err: os.ErrDeadlineExceeded}, loop.NotSent, "dial tcp: i/o timeout"}, // no connection, no request
		{&net.OpError{Op: "read", Net: "tcp", Err: errors.New("connection reset by peer")}, loop.ConnectionLost, "read tcp: connection reset by peer"},
		{&net.OpError{Op: "read", Net: "tcp", Err: os.ErrDeadlineExceeded}, loop.Timeout, "read tcp: i/o timeout"},
		{&url.Error{Op: "Post", URL: "http://x", Err: io.EOF}, loop.ConnectionLost, `Post "http://x": EOF`},
		{fmt.Errorf("read the answer: %w", io.ErrUnexpectedEOF), loop.ConnectionLost, "read the answer: unexpected EOF"},
		{io.EOF, loop.ToolBug, "EOF"}, // of any file
		{none, loop.ToolBug, "panic: runtime error: invalid memory address or nil pointer dereference"},
	}
	for _, tt := range tests {
		bubble(t, func(t *testing.T) {
			failing := tool("failing", func(context.Context) (string, error) { return "not this", tt.err })
			_, trace := run(t, t.Context(), loop.Off(), goTask, says(ask("1:failing"), answer("done")), []loop.Tool{failing}, loop.LiveOptions{})
			if got := trace[2].In; got.Kind != loop.ToolResult || got.Code != tt.code || got.Text != tt.text {
				t.Errorf("%T %v: got %s", tt.err, tt.err, trace[2])
			}
		})
	}
}

func TestLivePanics(t *testing.T) {
	guarded := loop.ToolSpec{Name: "guarded", Permission: loop.AskCall}
	tools := []loop.Tool{
		tool("panics", func(context.Context) (string, error) { panic(fmt.Errorf("kaput")) }),
		tool("leaves", func(context.Context) (string, error) { runtime.Goexit(); return "", nil }), // as t.FailNow does
		loop.FuncTool(guarded, func(context.Context, struct{}) (string, error) { return "it ran", nil }),
	}
	opts := loop.LiveOptions{Approve: func(context.Context, string, string) (bool, string) { panic("no terminal") }}
	bubble(t, func(t *testing.T) {
		out, trace := run(t, t.Context(), loop.Off(), goTask, says(ask("1:panics", "2:guarded"), ask("3:leaves"), answer("done")), tools, opts)
		check(t, trace, `
   0.000s started text=go
          > ask m1#1 for=reply to=1
   1.000s reply m1 call=1:panics("{}") call=2:guarded("{}")
          > gate g1 of=c2 name=guarded args="{}"
   1.000s gate g1 deny text="panic: no terminal"
          > call c1#1 name=panics args="{}"
   1.000s result c1#1 code=ToolBug text="panic: kaput"
          > put c1 code=ToolBug text="Error: panic: kaput"
          > put c2 code=Forbidden why=denied text="Error: Permission denied by the user: panic: no terminal"
          > ask m2#1 for=reply to=4
   2.000s reply m2 call=3:leaves("{}")
          > call c3#1 name=leaves args="{}"
   2.000s result c3#1 code=ToolBug text="ended without an answer"
          > put c3 code=ToolBug text="Error: ended without an answer"
          > ask m3#1 for=reply to=6
   3.000s reply m3 text=done
`)
		if out.Stop != loop.StopDone || out.Errors != 2 || out.Denied != 1 {
			t.Errorf("outcome %+v", out)
		}
	})
}

// A request shows the history that the machine has at that moment, also after
// messages were dropped or summed up. It does not change later on.
func TestLiveRequestHistory(t *testing.T) {
	for name, change := range map[string]func(*loop.Config){
		"growing":            func(*loop.Config) {},
		"trimmed":            func(c *loop.Config) { c.History.MaxMessages, c.History.KeepFirst = 6, true },
		"compacted":          func(c *loop.Config) { c.History.CompactAt, c.History.KeepFirst = 6, true },
		"compacted, anew":    func(c *loop.Config) { c.History.CompactAt = 6 },
		"with a last word":   func(c *loop.Config) { c.Limits.Turns, c.Limits.AtLimit = 5, loop.LimitFinal },
		"with hints":         func(c *loop.Config) { c.Limits.Turns, c.Limits.Near = 13, 10 },
		"trimmed, anew":      func(c *loop.Config) { c.History.MaxMessages = 5 },
		"with empty replies": func(c *loop.Config) { c.ModelRetry.EmptyReplies = 3 },
	} {
		t.Run(name, func(t *testing.T) {
			cfg := loop.Off()
			change(&cfg)
			type request struct {
				shown []loop.Message
				text  string
			}
			var requests []request
			model := modelFunc(func(_ context.Context, req loop.ModelRequest, _ func(string)) (loop.Reply, error) {
				requests = append(requests, request{req.History, fmt.Sprint(req.History)})
				req.History = append(req.History, loop.Message{Text: "the model's own"})
				switch {
				case req.For != loop.ForReply:
					return answer("in short"), nil
				case name == "with empty replies" && req.Ref.N%4 == 3:
					return answer(""), nil
				case req.Ref.N == 14:
					return answer("done"), nil
				}
				return ask(":quick", ":quick"), nil
			})
			live := loop.NewLive(goTask, model, []loop.Tool{takes("quick", 0)}, loop.LiveOptions{})
			m, err := loop.New(cfg, goTask, live.Tools())
			if err != nil {
				t.Fatal(err)
			}
			w := &historian{World: live}
			if _, err := loop.Run(t.Context(), m, w); err != nil {
				t.Fatal(err)
			}
			if len(requests) < 6 || len(requests) != len(w.want) {
				t.Fatalf("%d requests, %d effects", len(requests), len(w.want))
			}
			for i, r := range requests {
				if r.text != w.want[i] {
					t.Errorf("request %d shows\n%s\nwant\n%s", i+1, r.text, w.want[i])
				}
				if now := fmt.Sprint(r.shown); now != r.text {
					t.Errorf("request %d was\n%s\nand is now\n%s", i+1, r.text, now)
				}
			}
		})
	}
}

// A historian notes the history of each model request as the machine has it.
type historian struct {
	loop.World
	want []string
}

func (h *historian) Do(ctx context.Context, in loop.Input, effects []loop.Effect) {
	for _, e := range effects {
		if e.Kind == loop.AskModel {
			h.want = append(h.want, fmt.Sprint(e.History))
		}
	}
	h.World.Do(ctx, in, effects)
}

// What a model changes in a request stays out of the loop. A request that was
// given up shares nothing with later ones: its model may still use it.
func TestLiveModelScribbles(t *testing.T) {
	cfg := loop.Off()
	cfg.Time.Model, cfg.ModelRetry.Max = 5*time.Second, 1
	scribbled := func(h []loop.Message) bool {
		return slices.ContainsFunc(h, func(m loop.Message) bool { return m.Text == "x" || len(m.Calls) > 0 && m.Calls[0].Name == "x" })
	}
	scribble := func(req loop.ModelRequest) {
		for i := range req.History {
			req.History[i].Text = "x"
			for k := range req.History[i].Calls {
				req.History[i].Calls[k].Name = "x"
			}
		}
		req.Tools[0].Name = "x"
	}
	bubble(t, func(t *testing.T) {
		late := false
		replies := says(ask("1:quick"), ask("2:slow"), answer("done"))
		model := modelFunc(func(ctx context.Context, req loop.ModelRequest, delta func(string)) (loop.Reply, error) {
			if req.Ref.N == 2 && req.Ref.Try == 1 { // given up after 5 s
				time.Sleep(10 * time.Second)
				scribble(req)
				late = true
				return loop.Reply{}, errors.New("too late")
			}
			if scribbled(req.History) || req.Tools[0].Name == "x" {
				t.Errorf("%v shows %+v, %+v", req.Ref, req.History, req.Tools)
			}
			r, err := replies.Reply(ctx, req, delta)
			if req.Ref.N == 3 {
				if !late {
					t.Error("the first try of m2 has not scribbled yet")
				}
				scribble(req)
			}
			return r, err
		})
		live := loop.NewLive(goTask, model, []loop.Tool{takes("quick", time.Second), takes("slow", time.Minute)}, loop.LiveOptions{})
		m, err := loop.New(cfg, goTask, live.Tools())
		if err != nil {
			t.Fatal(err)
		}
		if out, err := loop.Run(t.Context(), m, live); err != nil || out.Calls != 2 || out.ModelCalls != 4 {
			t.Fatal(out, err)
		}
		if scribbled(m.History()) || live.Tools()[0].Name != "quick" {
			t.Errorf("history %+v, tools %+v", m.History(), live.Tools())
		}
	})
}

// A tool sees the values of the caller's context. Its own context ends when it
// has returned. Without arguments it gets an empty object.
func TestLiveWhatAToolSees(t *testing.T) {
	type key struct{}
	bubble(t, func(t *testing.T) {
		var own context.Context
		var value any
		var bounded bool
		var text string
		see := loop.FuncTool(loop.ToolSpec{Name: "see"}, func(ctx context.Context, args json.RawMessage) (string, error) {
			own, value, text = ctx, ctx.Value(key{}), string(args)
			_, bounded = ctx.Deadline()
			return "ok", nil
		})
		r := loop.Reply{Calls: []loop.AskedCall{{ID: "1", Name: "see"}}}
		run(t, context.WithValue(t.Context(), key{}, "mine"), loop.Off(), goTask, says(r, answer("done")), []loop.Tool{see}, loop.LiveOptions{})
		if value != "mine" || text != "{}" || bounded {
			t.Errorf("value %v, arguments %q, a deadline: %v", value, text, bounded)
		}
		if own.Err() == nil {
			t.Error("what the tool started could run on")
		}
	})
}

// The context of a try ends with the same cause whenever somebody looks at it:
// before the timeout, only after it, or through a derived context. That of a try
// that has ended is done, without a cause of the loop's.
func TestLiveContextOfATry(t *testing.T) {
	type key struct{}
	cfg := loop.Off()
	cfg.Time.Tool, cfg.Time.Grace = 5*time.Second, time.Minute
	bubble(t, func(t *testing.T) {
		got := map[string]error{}
		var ended context.Context
		tools := []loop.Tool{
			tool("early", func(ctx context.Context) (string, error) {
				<-ctx.Done()
				got["early"] = context.Cause(ctx)
				return "", ctx.Err()
			}),
			tool("late", func(ctx context.Context) (string, error) {
				time.Sleep(10 * time.Second)
				got["late"] = context.Cause(ctx)
				return "", ctx.Err()
			}),
			tool("derived", func(ctx context.Context) (string, error) {
				child, cancel := context.WithTimeout(context.WithValue(ctx, key{}, 1), time.Hour)
				defer cancel()
				<-child.Done()
				got["derived"] = context.Cause(child)
				return "", child.Err()
			}),
			tool("quick", func(ctx context.Context) (string, error) { ended = ctx; return "ok", nil }),
		}
		out, _ := run(t, t.Context(), cfg, goTask, says(ask("1:early"), ask("2:late"), ask("3:derived"), ask("4:quick"), answer("done")), tools, loop.LiveOptions{})
		for _, name := range []string{"early", "late", "derived"} {
			if got[name] != loop.ErrTimeout {
				t.Errorf("%s: cause %v", name, got[name])
			}
		}
		if out.Errors != 3 || context.Cause(ended) != context.Canceled {
			t.Errorf("%d errors, cause of the one that ended %v", out.Errors, context.Cause(ended))
		}
	})
}

func TestFuncTool(t *testing.T) {
	type args struct {
		Path string `json:"path"`
		Line struct {
			From int `json:"from"`
		} `json:"line"`
	}
	read := loop.FuncTool(loop.ToolSpec{Name: "read"}, func(_ context.Context, a args) (string, error) {
		return fmt.Sprintf("%s from %d", a.Path, a.Line.From), nil
	})
	if got, err := read.Call(t.Context(), `{"path":"a.txt","line":{"from":7}}`); got != "a.txt from 7" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	for text, want := range map[string]string{
		`{"path":5}`:                "InvalidInput: the arguments do not fit: path cannot be a JSON number",
		`{"line":{"from":"seven"}}`: "InvalidInput: the arguments do not fit: line.from cannot be a JSON string",
		`[]`:                        "InvalidInput: the arguments do not fit: they cannot be a JSON array",
	} {
		if _, err := read.Call(t.Context(), text); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
}

func TestRunLiveRefuses(t *testing.T) {
	bad := loop.Default()
	bad.Limits.Turns = -1
	for want, run := range map[string]func() (loop.Outcome, error){
		"model: must not be nil": func() (loop.Outcome, error) {
			return loop.RunLive(t.Context(), loop.Default(), goTask, nil, nil, loop.LiveOptions{})
		},
		"limits.turns: must be 0 (off) or more, not -1": func() (loop.Outcome, error) {
			return loop.RunLive(t.Context(), bad, goTask, says(), nil, loop.LiveOptions{})
		},
		`tools[1]: "a" is used twice: give each tool its own name`: func() (loop.Outcome, error) {
			return loop.RunLive(t.Context(), loop.Default(), goTask, says(), []loop.Tool{takes("a", 0), takes("a", 0)}, loop.LiveOptions{})
		},
		"limits.turns: must be 0 (off) or more, not -1\ntools[1]: must not be nil\ntools[2]: its Spec panics: no spec": func() (loop.Outcome, error) {
			return loop.RunLive(t.Context(), bad, goTask, says(), []loop.Tool{takes("a", 0), nil, specless("no spec")}, loop.LiveOptions{})
		},
		"tools[0]: its input schema is not a JSON Schema: it must be a JSON object, true or false\ntools[2]: its output schema is not a JSON Schema: it must be a JSON object, true or false": func() (loop.Outcome, error) {
			return loop.RunLive(t.Context(), loop.Default(), goTask, says(), []loop.Tool{schemed{"a", `{"type":`, ""}, schemed{"b", " {}", "true"}, schemed{"c", "", "[]"}}, loop.LiveOptions{})
		},
	} {
		if _, err := run(); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// specless is a tool whose Spec panics.
type specless string

func (s specless) Spec() loop.ToolSpec { panic(string(s)) }

func (specless) Call(context.Context, string) (string, error) { return "", nil }

// schemed is a tool with these schemas.
type schemed struct{ name, input, output string }

func (s schemed) Spec() loop.ToolSpec {
	return loop.ToolSpec{Name: s.name, Input: s.input, Output: s.output}
}

func (schemed) Call(context.Context, string) (string, error) { return "", nil }

// New refuses the specs of broken tools.
func TestNewLiveMistakes(t *testing.T) {
	live := loop.NewLive(goTask, says(), []loop.Tool{(*named)(nil), takes("a", 0), nil}, loop.LiveOptions{})
	_, err := loop.New(loop.Default(), goTask, live.Tools())
	if err == nil || !strings.Contains(err.Error(), "tools[0]: ") || !strings.Contains(err.Error(), "tools[2]: ") || strings.Contains(err.Error(), "tools[1]: ") {
		t.Errorf("got %v", err)
	}
}

// named is a tool whose Spec panics for a nil pointer.
type named struct{ name string }

func (n *named) Spec() loop.ToolSpec { return loop.ToolSpec{Name: n.name} }

func (*named) Call(context.Context, string) (string, error) { return "", nil }

// A call of a tool that the machine knows and the world does not fails.
func TestLiveToolOfAnotherWorld(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m, err := loop.New(loop.Off(), goTask, []loop.ToolSpec{{Name: "elsewhere"}})
		if err != nil {
			t.Fatal(err)
		}
		out, err := loop.Run(t.Context(), m, loop.NewLive(goTask, says(ask("1:elsewhere"), answer("done")), nil, loop.LiveOptions{}))
		if err != nil || out.Errors != 1 || m.History()[2].Text != "Error: the world has no tool elsewhere" {
			t.Errorf("outcome %+v, error %v, history %+v", out, err, m.History())
		}
	})
}

// Next returns io.EOF if nothing is open and no timer is set.
func TestLiveNothingPending(t *testing.T) {
	live := loop.NewLive(goTask, says(), nil, loop.LiveOptions{})
	live.Do(t.Context(), loop.Input{}, nil)
	if in, err := live.Next(t.Context(), 0, false); err != io.EOF {
		t.Errorf("got %v, %v", in, err)
	}
}

// The clock of a session that is resumed after an hour of its time goes on from
// there.
func TestLiveGoesOnFromTheFirstInstant(t *testing.T) {
	bubble(t, func(t *testing.T) {
		live := loop.NewLive(goTask, says(answer("done")), nil, loop.LiveOptions{})
		live.Do(t.Context(), loop.Input{At: time.Hour}, []loop.Effect{{Kind: loop.AskModel, Ref: loop.Ref{Kind: loop.RefModel, N: 1, Try: 1}}})
		in, err := live.Next(t.Context(), 0, false)
		if err != nil || in.Kind != loop.ModelReply || in.At != time.Hour+time.Second {
			t.Errorf("got %+v, %v", in, err)
		}
	})
}

// Many goroutines answer at once, on the real clock; run checks the order of
// the instants, and the race detector the rest.
func TestLiveManyAtOnce(t *testing.T) {
	const calls, pieces = 50, 20
	first := loop.Reply{}
	for i := range calls {
		first.Calls = append(first.Calls, loop.AskedCall{ID: fmt.Sprint(i), Name: "quick"})
	}
	model := modelFunc(func(_ context.Context, req loop.ModelRequest, delta func(string)) (loop.Reply, error) {
		var all sync.WaitGroup
		for range pieces {
			all.Go(func() { delta("x") })
		}
		all.Wait()
		if req.Ref.N == 1 {
			return first, nil
		}
		return answer("done"), nil
	})
	out, trace := run(t, t.Context(), loop.Off(), goTask, model, []loop.Tool{takes("quick", 0)}, loop.LiveOptions{})
	text := "" // of the deltas, some of which are joined
	for _, r := range trace {
		if r.In.Kind == loop.ModelDelta {
			text += r.In.Text
		}
	}
	if out.Calls != calls || text != strings.Repeat("x", 2*pieces) {
		t.Errorf("%d calls, deltas with %q", out.Calls, text)
	}
}
