package loop_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/loop/audit"
)

// bubble runs f in virtual time, and then lets a day pass. A goroutine that
// still runs after that is a leak and fails the test.
func bubble(t *testing.T, f func(t *testing.T)) {
	synctest.Test(t, func(t *testing.T) {
		f(t)
		time.Sleep(24 * time.Hour)
	})
}

// run runs a session in the live world and checks what every session promises.
func run(t *testing.T, ctx context.Context, cfg loop.Config, task loop.Task, model loop.Model, tools []loop.Tool, opts loop.LiveOptions) (loop.Outcome, loop.Trace) {
	t.Helper()
	live := loop.NewLive(task, model, tools, opts)
	m, err := loop.New(cfg, task, live.Tools())
	if err != nil {
		t.Fatal(err)
	}
	var trace loop.Trace
	out, err := loop.Run(ctx, m, loop.Recording(&strict{Live: live, t: t}, &trace))
	if err != nil {
		t.Fatalf("%v\n%s", err, trace)
	}
	if wrong := audit.Check(cfg, task, live.Tools(), trace); len(wrong) > 0 && recounted(cfg, task, trace) {
		t.Errorf("the audit finds %v in\n%s", wrong, trace)
	}
	return out, trace
}

// recounted reports whether the audit can recount the whole session. It does
// not know hooks, fallbacks, compaction, planners and the use of sub-runs.
func recounted(cfg loop.Config, task loop.Task, trace loop.Trace) bool {
	subRun := slices.ContainsFunc(trace, func(r loop.Record) bool {
		return r.In.Kind == loop.ToolResult && r.In.TokensIn+r.In.TokensOut > 0
	})
	return !subRun && task.Hooks == loop.Hooks{} && task.Planner == loop.PlannerNative && !cfg.Policy.Fallbacks && cfg.History.CompactAt == 0
}

// strict checks that a live world keeps the promises of a World.
type strict struct {
	*loop.Live
	t    *testing.T
	last time.Duration
}

func (s *strict) Next(ctx context.Context, wake time.Duration, armed bool) (loop.Input, error) {
	in, err := s.Live.Next(ctx, wake, armed)
	if err == nil && armed && in.At >= wake && (in.Kind != loop.Tick || in.At != wake) {
		s.t.Errorf("%v came before the tick at %v", in, wake)
	}
	if err == nil && in.At < s.last {
		s.t.Errorf("%v came after an input at %v", in, s.last)
	}
	s.last = in.At
	return in, err
}

// check compares a trace, without its halt lines, with the wanted text.
func check(t *testing.T, trace loop.Trace, want string) {
	t.Helper()
	var got strings.Builder
	for line := range strings.Lines(trace.String()) {
		if !strings.Contains(line, "> halt ") {
			got.WriteString(line)
		}
	}
	if want = strings.TrimPrefix(want, "\n"); got.String() != want {
		t.Errorf("got\n%s\nwant\n%s", got.String(), want)
	}
}

type modelFunc func(ctx context.Context, req loop.ModelRequest, delta func(string)) (loop.Reply, error)

func (f modelFunc) Reply(ctx context.Context, req loop.ModelRequest, delta func(string)) (loop.Reply, error) {
	return f(ctx, req, delta)
}

// says returns a model that answers request n with the n-th reply, after a
// second.
func says(replies ...loop.Reply) loop.Model {
	return modelFunc(func(ctx context.Context, req loop.ModelRequest, _ func(string)) (loop.Reply, error) {
		return replies[req.Ref.N-1], pause(ctx, time.Second)
	})
}

func answer(text string) loop.Reply { return loop.Reply{Text: text} }

// ask returns a reply that asks for calls without arguments, each written
// id:name.
func ask(calls ...string) (r loop.Reply) {
	for _, c := range calls {
		id, name, _ := strings.Cut(c, ":")
		r.Calls = append(r.Calls, loop.AskedCall{ID: id, Name: name, Args: "{}"})
	}
	return r
}

// tool returns a tool that takes any arguments.
func tool(name string, f func(ctx context.Context) (string, error)) loop.Tool {
	return loop.FuncTool(loop.ToolSpec{Name: name}, func(ctx context.Context, _ map[string]any) (string, error) { return f(ctx) })
}

// takes returns a tool that answers after d, or ends at once when it is
// cancelled.
func takes(name string, d time.Duration) loop.Tool {
	return tool(name, func(ctx context.Context) (string, error) { return name + " done", pause(ctx, d) })
}

// deaf returns a tool that answers after d and ignores the cancel.
func deaf(name string, d time.Duration) loop.Tool {
	return tool(name, func(context.Context) (string, error) { time.Sleep(d); return name + " done", nil })
}

// pause waits for d, or until ctx is done.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

var goTask = loop.Task{Text: "go"}

func TestLiveParallelBatch(t *testing.T) {
	bubble(t, func(t *testing.T) {
		out, trace := run(t, t.Context(), loop.Off(), goTask, says(ask("1:slow", "2:quick"), answer("done")),
			[]loop.Tool{takes("slow", 3*time.Second), takes("quick", time.Second)}, loop.LiveOptions{})
		check(t, trace, `
   0.000s started text=go
          > ask m1#1 for=reply to=1
   1.000s reply m1 call=1:slow("{}") call=2:quick("{}")
          > call c1#1 name=slow args="{}"
          > call c2#1 name=quick args="{}"
   2.000s result c2#1 ok text="quick done"
   4.000s result c1#1 ok text="slow done"
          > put c1 text="slow done"
          > put c2 text="quick done"
          > ask m2#1 for=reply to=4
   5.000s reply m2 text=done
`)
		if out.Stop != loop.StopDone || out.Answer != "done" || out.Elapsed != 5*time.Second {
			t.Errorf("outcome %+v", out)
		}
	})
}

func TestLiveOneAfterAnother(t *testing.T) {
	cfg := loop.Off()
	cfg.Parallel.Max = 1
	bubble(t, func(t *testing.T) {
		_, trace := run(t, t.Context(), cfg, goTask, says(ask("1:slow", "2:quick"), answer("done")),
			[]loop.Tool{takes("slow", 3*time.Second), takes("quick", time.Second)}, loop.LiveOptions{})
		check(t, trace, `
   0.000s started text=go
          > ask m1#1 for=reply to=1
   1.000s reply m1 call=1:slow("{}") call=2:quick("{}")
          > call c1#1 name=slow args="{}"
   4.000s result c1#1 ok text="slow done"
          > call c2#1 name=quick args="{}"
   5.000s result c2#1 ok text="quick done"
          > put c1 text="slow done"
          > put c2 text="quick done"
          > ask m2#1 for=reply to=4
   6.000s reply m2 text=done
`)
	})
}

func TestLiveTimeoutAndRetry(t *testing.T) {
	cfg := loop.Off()
	cfg.Time.Tool, cfg.Time.Run = 30*time.Second, 50*time.Second
	cfg.Retry.Max = 1
	bubble(t, func(t *testing.T) {
		var left []time.Duration // until the deadline of each try
		var cause error
		hung := tool("hung", func(ctx context.Context) (string, error) {
			deadline, _ := ctx.Deadline()
			left = append(left, time.Until(deadline))
			if len(left) == 2 {
				return "at last", pause(ctx, 200*time.Millisecond)
			}
			<-ctx.Done()
			cause = context.Cause(ctx)
			return "", ctx.Err()
		})
		_, trace := run(t, t.Context(), cfg, goTask, says(ask("1:hung"), answer("done")), []loop.Tool{hung}, loop.LiveOptions{})
		check(t, trace, `
   0.000s started text=go
          > ask m1#1 for=reply to=1
   1.000s reply m1 call=1:hung("{}")
          > call c1#1 name=hung args="{}"
  31.000s tick
          > cancel c1#1 text=timeout
  31.000s result c1#1 code=Cancelled text=cancelled
  32.000s tick
          > call c1#2 name=hung args="{}"
  32.200s result c1#2 ok text="at last"
          > put c1 text="at last"
          > ask m2#1 for=reply to=3
  33.200s reply m2 text=done
`)
		if cause != loop.ErrTimeout {
			t.Errorf("cause %v", cause)
		}
		// The second try begins at 32 s, and the run ends at 50 s.
		if len(left) != 2 || left[0] != 30*time.Second || left[1] != 18*time.Second {
			t.Errorf("time left %v", left)
		}
	})
}

// A result at the instant of the timeout comes after it, whichever goroutine
// wakes first.
func TestLiveTimeoutWinsTie(t *testing.T) {
	cfg := loop.Off()
	cfg.Time.Tool = 30 * time.Second
	for range 20 {
		bubble(t, func(t *testing.T) {
			_, trace := run(t, t.Context(), cfg, goTask, says(ask("1:slow"), answer("done")), []loop.Tool{deaf("slow", 30*time.Second)}, loop.LiveOptions{})
			check(t, trace, `
   0.000s started text=go
          > ask m1#1 for=reply to=1
   1.000s reply m1 call=1:slow("{}")
          > call c1#1 name=slow args="{}"
  31.000s tick
          > cancel c1#1 text=timeout
  31.000s result c1#1 ok text="slow done"
          > put c1 code=Timeout text="Error: Function timed out after 30s"
          > ask m2#1 for=reply to=3
  32.000s reply m2 text=done
`)
		})
	}
}

// A tool that ignores the cancel is abandoned after the grace of 2 s. Its late
// result is ignored while the session lasts, and dropped afterwards.
func TestLiveAbandonedTool(t *testing.T) {
	cfg := loop.Off()
	cfg.Time.Tool = 30 * time.Second
	cfg.Retry.Max = 3 // but the tool is not idempotent
	const begin = `
   0.000s started text=go
          > ask m1#1 for=reply to=1
   1.000s reply m1 call=1:deaf("{}")
          > call c1#1 name=deaf args="{}"
  31.000s tick
          > cancel c1#1 text=timeout
  33.000s tick
          > note c1#1 event=abandoned
          > put c1 code=Timeout text="Error: Function timed out after 30s"
          > ask m2#1 for=reply to=3
  34.000s reply m2 call=2:`
	bubble(t, func(t *testing.T) {
		tools := []loop.Tool{deaf("deaf", time.Minute), takes("short", time.Second), takes("long", 40*time.Second)}
		_, trace := run(t, t.Context(), cfg, goTask, says(ask("1:deaf"), ask("2:short"), answer("done")), tools, loop.LiveOptions{})
		check(t, trace, begin+`short("{}")
          > call c2#1 name=short args="{}"
  35.000s result c2#1 ok text="short done"
          > put c2 text="short done"
          > ask m3#1 for=reply to=5
  36.000s reply m3 text=done
`)
	}) // the tool answers into a session that is over, at 61 s
	bubble(t, func(t *testing.T) {
		tools := []loop.Tool{deaf("deaf", time.Minute), takes("long", 29*time.Second)}
		_, trace := run(t, t.Context(), cfg, goTask, says(ask("1:deaf"), ask("2:long"), answer("done")), tools, loop.LiveOptions{})
		check(t, trace, begin+`long("{}")
          > call c2#1 name=long args="{}"
  61.000s result c1#1 ok text="deaf done"
          > note c1#1 event=ignored
  63.000s result c2#1 ok text="long done"
          > put c2 text="long done"
          > ask m3#1 for=reply to=5
  64.000s reply m3 text=done
`)
	})
}

func TestLiveCancelDuringModel(t *testing.T) {
	bubble(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(500*time.Millisecond, cancel)
		causes := make(chan error, 1)
		model := modelFunc(func(ctx context.Context, _ loop.ModelRequest, _ func(string)) (loop.Reply, error) {
			<-ctx.Done()
			causes <- context.Cause(ctx)
			return loop.Reply{}, ctx.Err()
		})
		out, trace := run(t, ctx, loop.Off(), goTask, model, nil, loop.LiveOptions{})
		check(t, trace, `
   0.000s started text=go
          > ask m1#1 for=reply to=1
   0.500s cancel
          > cancel m1#1 text=cancelled
`)
		if out.Stop != loop.StopCancelled || out.End != loop.WasCancelled {
			t.Errorf("outcome %+v", out)
		}
		if cause := <-causes; cause != loop.ErrCancelled {
			t.Errorf("cause %v", cause)
		}
	})
}

// One tool obeys at once, one ends within the grace and its result counts, and
// one ignores the cancel.
func TestLiveCancelDuringBatch(t *testing.T) {
	bubble(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(2*time.Second, cancel)
		tools := []loop.Tool{takes("obeys", time.Minute), deaf("saves", 2*time.Second), deaf("deaf", time.Hour)}
		out, trace := run(t, ctx, loop.Off(), goTask, says(ask("1:obeys", "2:saves", "3:deaf")), tools, loop.LiveOptions{})
		check(t, trace, `
   0.000s started text=go
          > ask m1#1 for=reply to=1
   1.000s reply m1 call=1:obeys("{}") call=2:saves("{}") call=3:deaf("{}")
          > call c1#1 name=obeys args="{}"
          > call c2#1 name=saves args="{}"
          > call c3#1 name=deaf args="{}"
   2.000s cancel
          > cancel c1#1 text=cancelled
          > cancel c2#1 text=cancelled
          > cancel c3#1 text=cancelled
   2.000s result c1#1 code=Cancelled text=cancelled
   3.000s result c2#1 ok text="saves done"
   4.000s tick
          > note c3#1 event=abandoned
          > put c1 code=Cancelled text="Error: cancelled"
          > put c2 text="saves done"
          > put c3 code=Cancelled text="Error: cancelled"
`)
		if out.Stop != loop.StopCancelled || out.Elapsed != 4*time.Second {
			t.Errorf("outcome %+v", out)
		}
	})
}

func TestLiveCancelDuringBackoff(t *testing.T) {
	cfg := loop.Off()
	cfg.Retry.Max = 3
	bubble(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(1500*time.Millisecond, cancel)
		busy := tool("busy", func(ctx context.Context) (string, error) {
			return "", errors.Join(pause(ctx, 200*time.Millisecond), &loop.ToolError{Code: loop.RetryableServer, Text: "try again"})
		})
		out, trace := run(t, ctx, cfg, goTask, says(ask("1:busy")), []loop.Tool{busy}, loop.LiveOptions{})
		check(t, trace, `
   0.000s started text=go
          > ask m1#1 for=reply to=1
   1.000s reply m1 call=1:busy("{}")
          > call c1#1 name=busy args="{}"
   1.200s result c1#1 code=RetryableServer text="try again"
   1.500s cancel
          > put c1 code=RetryableServer text="Error: try again"
`)
		if out.Stop != loop.StopCancelled || out.Tries != 1 {
			t.Errorf("outcome %+v", out)
		}
	})
}

// A cancel and the run deadline end the wait at an open gate, and the approver
// sees the cause.
func TestLiveGateForgotten(t *testing.T) {
	for cause, halted := range map[error]string{loop.ErrCancelled: "   5.000s cancel\n", loop.ErrDeadline: "   5.000s tick\n"} {
		cfg := loop.Off()
		bubble(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if cause == loop.ErrCancelled {
				time.AfterFunc(5*time.Second, cancel)
			} else {
				cfg.Time.Run = 5 * time.Second
			}
			causes := make(chan error, 1)
			opts := loop.LiveOptions{Approve: func(ctx context.Context, _, _ string) (bool, string) {
				<-ctx.Done()
				causes <- context.Cause(ctx)
				return true, ""
			}}
			guarded := loop.FuncTool(loop.ToolSpec{Name: "rm", Permission: loop.AskCall}, func(context.Context, struct{}) (string, error) { return "", nil })
			_, trace := run(t, ctx, cfg, goTask, says(ask("1:rm")), []loop.Tool{guarded}, opts)
			check(t, trace, `
   0.000s started text=go
          > ask m1#1 for=reply to=1
   1.000s reply m1 call=1:rm("{}")
          > gate g1 of=c1 name=rm args="{}"
`+halted+`          > put c1 why=not-started text="Error: This call was not started: the run is over."
`)
			if got := <-causes; got != cause {
				t.Errorf("cause %v, want %v", got, cause)
			}
		})
	}
}

func TestLiveRunDeadline(t *testing.T) {
	cfg := loop.Off()
	cfg.Time.Run = 10 * time.Second
	bubble(t, func(t *testing.T) {
		var cause error
		hung := tool("hung", func(ctx context.Context) (string, error) {
			<-ctx.Done()
			cause = context.Cause(ctx)
			return "", cause
		})
		out, trace := run(t, t.Context(), cfg, goTask, says(ask("1:hung")), []loop.Tool{hung}, loop.LiveOptions{})
		check(t, trace, `
   0.000s started text=go
          > ask m1#1 for=reply to=1
   1.000s reply m1 call=1:hung("{}")
          > call c1#1 name=hung args="{}"
  10.000s tick
          > cancel c1#1 text=deadline
  10.000s result c1#1 code=Cancelled text=cancelled
          > put c1 code=Cancelled text="Error: cancelled"
`)
		if out.Stop != loop.StopRunDeadline || cause != loop.ErrDeadline {
			t.Errorf("stop %v, cause %v", out.Stop, cause)
		}
	})
}
