package loop_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentbench-go/agentbench/loop"
)

// Approve gets the tool and the arguments; nil allows all.
func TestLiveApprove(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rm := loop.FuncTool(loop.ToolSpec{Name: "rm", Permission: loop.AskCall}, func(context.Context, struct{}) (string, error) { return "gone", nil })
		var asked string
		opts := loop.LiveOptions{Approve: func(ctx context.Context, tool, args string) (bool, string) {
			asked = tool + " " + args
			return false, "not today"
		}}
		out, _ := run(t, t.Context(), loop.Off(), goTask, says(ask("1:rm"), answer("done")), []loop.Tool{rm}, opts)
		if out.Denied != 1 || out.Calls != 0 || asked != "rm {}" {
			t.Errorf("outcome %+v, asked %q", out, asked)
		}
		out, _ = run(t, t.Context(), loop.Off(), goTask, says(ask("1:rm"), answer("done")), []loop.Tool{rm}, loop.LiveOptions{})
		if out.Denied != 0 || out.Calls != 1 {
			t.Errorf("outcome %+v", out)
		}
	})
}

// At the limit of one turn the loop asks the user. Yes goes on with the user's
// words. No, no one to ask, and the run deadline end the run.
func TestLiveAsk(t *testing.T) {
	cfg := loop.Off()
	cfg.Limits.Turns, cfg.Limits.AtLimit, cfg.Time.Run = 1, loop.LimitAsk, time.Minute
	tests := []struct {
		name string
		user func(context.Context, string) (string, bool)
		stop loop.Stop
	}{
		{"yes", func(ctx context.Context, _ string) (string, bool) { return "hurry up", pause(ctx, time.Second) == nil }, loop.StopDone},
		{"no", func(context.Context, string) (string, bool) { return "", false }, loop.StopTurnLimit},
		{"nobody", nil, loop.StopTurnLimit},
		{"panic", func(context.Context, string) (string, bool) { panic("no terminal") }, loop.StopTurnLimit},
		{"silence", func(ctx context.Context, _ string) (string, bool) {
			<-ctx.Done()
			if cause := context.Cause(ctx); cause != loop.ErrDeadline {
				t.Errorf("cause %v", cause)
			}
			return "", true
		}, loop.StopRunDeadline},
	}
	for _, tt := range tests {
		bubble(t, func(t *testing.T) {
			var last []loop.Message
			replies := says(ask("1:quick"), answer("done"))
			model := modelFunc(func(ctx context.Context, req loop.ModelRequest, delta func(string)) (loop.Reply, error) {
				last = req.History
				return replies.Reply(ctx, req, delta)
			})
			out, trace := run(t, t.Context(), cfg, goTask, model, []loop.Tool{takes("quick", time.Second)}, loop.LiveOptions{Ask: tt.user})
			if out.Stop != tt.stop {
				t.Errorf("%s: stop %s, want %s\n%s", tt.name, out.Stop, tt.stop, trace)
			}
			// u1, m1 and c1 come before the user's words.
			if out.Stop == loop.StopDone && (len(last) != 4 || last[3].Text != "hurry up") {
				t.Errorf("the model was asked with %+v", last)
			}
		})
	}
}

// The request for the last word offers no tools.
func TestLiveLastWord(t *testing.T) {
	cfg := loop.Off()
	cfg.Limits.Turns, cfg.Limits.AtLimit = 1, loop.LimitFinal
	bubble(t, func(t *testing.T) {
		offered := map[loop.Purpose]int{}
		replies := says(ask("1:quick"), answer("what I have"))
		model := modelFunc(func(ctx context.Context, req loop.ModelRequest, delta func(string)) (loop.Reply, error) {
			offered[req.For] = len(req.Tools)
			return replies.Reply(ctx, req, delta)
		})
		out, _ := run(t, t.Context(), cfg, goTask, model, []loop.Tool{takes("quick", time.Second)}, loop.LiveOptions{})
		if n, asked := offered[loop.ForFinal]; !asked || n != 0 || offered[loop.ForReply] != 1 || out.Answer != "what I have" {
			t.Errorf("tools offered %v, outcome %+v", offered, out)
		}
	})
}

// The runs of a session share one history and one clock.
func TestLiveSession(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var answers []string
		opts := loop.LiveOptions{FollowUp: func(ctx context.Context, last loop.Outcome) (string, bool) {
			answers = append(answers, last.Answer)
			time.Sleep(10 * time.Second)
			return "and now?", len(answers) == 1
		}}
		_, trace := run(t, t.Context(), loop.Off(), goTask, says(answer("first"), answer("second")), nil, opts)
		check(t, trace, `
   0.000s started text=go
          > ask m1#1 for=reply to=1
   1.000s reply m1 text=first
  11.000s message text="and now?"
          > ask m2#1 for=reply to=3
  12.000s reply m2 text=second
`)
		if strings.Join(answers, " ") != "first second" {
			t.Errorf("answers %q", answers)
		}
	})
}

// A cancel between two runs ends the session with the outcome of the last one.
func TestLiveCancelBetweenRuns(t *testing.T) {
	bubble(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		opts := loop.LiveOptions{FollowUp: func(ctx context.Context, _ loop.Outcome) (string, bool) {
			cancel()
			<-ctx.Done()
			return "never said", true
		}}
		out, trace := run(t, ctx, loop.Off(), goTask, says(answer("first")), nil, opts)
		if out.Stop != loop.StopDone || len(trace) != 2 {
			t.Errorf("stop %v\n%s", out.Stop, trace)
		}
	})
}

// With a context that is done from the start there still is an outcome.
func TestLiveCancelledFromTheStart(t *testing.T) {
	bubble(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		opts := loop.LiveOptions{FollowUp: func(context.Context, loop.Outcome) (string, bool) {
			t.Error("a follow-up was asked for after the cancel")
			return "", false
		}}
		out, err := loop.RunLive(ctx, loop.Default(), goTask, says(answer("done")), nil, opts)
		if err != nil || out.Stop != loop.StopCancelled || out.Elapsed != 0 {
			t.Errorf("outcome %+v, error %v", out, err)
		}
	})
}

// Each hook sees what it may change, and its change counts from there on. The
// hook is not asked for permissions.
func TestLiveHooks(t *testing.T) {
	task := loop.Task{Text: "go", System: "be brief", Hooks: loop.Hooks{BeforeRun: true, BeforeCall: true, AfterCall: true, AfterRun: true}}
	var points []loop.HookPoint
	opts := loop.LiveOptions{
		Hook: func(_ context.Context, at loop.HookPoint) loop.HookAnswer {
			points = append(points, at)
			return map[loop.GateKind]loop.HookAnswer{
				loop.GateBeforeRun:  {System: "be long"},
				loop.GateBeforeCall: {Args: `{"path":"b"}`},
				loop.GateAfterCall:  {Result: "[redacted]"},
				loop.GateAfterRun:   {Result: "done, says the hook"},
			}[at.At]
		},
		Approve: func(_ context.Context, tool, args string) (bool, string) {
			return args == `{"path":"b"}`, "not that one"
		},
	}
	bubble(t, func(t *testing.T) {
		var system, got string
		replies := says(loop.Reply{Calls: []loop.AskedCall{{ID: "1", Name: "read", Args: `{"path":"a"}`}}}, answer("done"))
		model := modelFunc(func(ctx context.Context, req loop.ModelRequest, delta func(string)) (loop.Reply, error) {
			system, got = req.System, req.History[len(req.History)-1].Text
			return replies.Reply(ctx, req, delta)
		})
		read := loop.FuncTool(loop.ToolSpec{Name: "read", Permission: loop.AskCall}, func(_ context.Context, a struct{ Path string }) (string, error) { return "secret of " + a.Path, nil })
		out, _ := run(t, t.Context(), loop.Off(), task, model, []loop.Tool{read}, opts)
		if out.Answer != "done, says the hook" || out.Calls != 1 || system != "be long" || got != "[redacted]" {
			t.Errorf("outcome %+v, system %q, result %q", out, system, got)
		}
		want := []loop.HookPoint{
			{At: loop.GateBeforeRun, Text: "be brief"},
			{At: loop.GateBeforeCall, Call: 1, Tool: "read", Args: `{"path":"a"}`},
			{At: loop.GateAfterCall, Call: 1, Tool: "read", Text: "secret of b"},
			{At: loop.GateAfterRun, Text: "done"},
		}
		if !slices.Equal(points, want) {
			t.Errorf("got %+v\nwant %+v", points, want)
		}
	})
}

// A hook that denies the run, or panics, ends it before the model is asked.
// Without a hook the run goes on.
func TestLiveHookDenies(t *testing.T) {
	task := loop.Task{Text: "go", Hooks: loop.Hooks{BeforeRun: true}}
	for _, tt := range []struct {
		hook  func(context.Context, loop.HookPoint) loop.HookAnswer
		stop  loop.Stop
		asked int
	}{
		{nil, loop.StopDone, 1},
		{func(context.Context, loop.HookPoint) loop.HookAnswer { return loop.HookAnswer{} }, loop.StopDone, 1},
		{func(context.Context, loop.HookPoint) loop.HookAnswer {
			return loop.HookAnswer{Deny: true, Reason: "no"}
		}, loop.StopCancelled, 0},
		{func(context.Context, loop.HookPoint) loop.HookAnswer { panic("no policy") }, loop.StopCancelled, 0},
	} {
		bubble(t, func(t *testing.T) {
			out, trace := run(t, t.Context(), loop.Off(), task, says(answer("done")), nil, loop.LiveOptions{Hook: tt.hook})
			if out.Stop != tt.stop || out.ModelCalls != tt.asked {
				t.Errorf("stop %s after %d requests, want %s after %d\n%s", out.Stop, out.ModelCalls, tt.stop, tt.asked, trace)
			}
		})
	}
}

// What a sub-run used counts for the run that called the tool: 20 tokens of its
// own and 2 × 30 of the sub-run are 80.
func TestLiveSubRun(t *testing.T) {
	costs := func(r loop.Reply, in, out int64) loop.Reply {
		r.TokensIn, r.TokensOut, r.Cost = in, out, 100
		return r
	}
	for limit, stop := range map[int64]loop.Stop{80: loop.StopDone, 69: loop.StopTokenLimit} {
		cfg := loop.Off()
		cfg.Limits.Tokens = limit
		bubble(t, func(t *testing.T) {
			research := tool("research", func(ctx context.Context) (string, error) {
				model := says(costs(ask("1:quick", "2:quick"), 20, 10), costs(answer("found it"), 25, 5))
				out, err := loop.RunLive(ctx, loop.Off(), loop.Task{Text: "find it", Depth: 1}, model, []loop.Tool{takes("quick", time.Second)}, loop.LiveOptions{})
				loop.RollUp(ctx, out)
				return out.Answer, err
			})
			out, trace := run(t, t.Context(), cfg, goTask, says(costs(ask("1:research"), 5, 5), costs(answer("done"), 5, 5)), []loop.Tool{research}, loop.LiveOptions{})
			got := trace[2].In
			if got.Text != "found it" || got.TokensIn != 45 || got.TokensOut != 15 || got.Cost != 200 || got.Used != 2 {
				t.Errorf("the call ended with %s", trace[2])
			}
			if out.Stop != stop {
				t.Errorf("limit %d: stop %s, want %s", limit, out.Stop, stop)
			}
		})
	}
	loop.RollUp(t.Context(), loop.Outcome{Calls: 1}) // nobody's sub-run
}

// A request for a summary holds the messages to sum up and the instruction. It
// offers no tools, and neither does a request of the JSON planner: its prompt has them.
func TestLiveRequestsWithoutTools(t *testing.T) {
	var last loop.ModelRequest
	summing := modelFunc(func(_ context.Context, req loop.ModelRequest, _ func(string)) (loop.Reply, error) {
		if req.For == loop.ForSummary {
			last = req
			return answer("short"), nil
		}
		if req.Ref.N > 3 {
			return answer("done"), nil
		}
		return loop.Reply{Text: "again", Calls: []loop.AskedCall{{Name: "quick"}}}, nil
	})
	cfg := loop.Off()
	cfg.History.CompactAt = 4
	tools := []loop.Tool{takes("quick", 0)}
	bubble(t, func(t *testing.T) {
		run(t, t.Context(), cfg, goTask, summing, tools, loop.LiveOptions{})
	})
	// u1 m1 c1 m2 c2 is one message too many: m1 and c1 are to be summed up,
	// since u1, which comes before them, and the newest turn stay.
	if h := last.History; len(last.Tools) != 0 || len(h) != 4 || h[0].Text != "go" || h[1].Text != "again" || h[2].Role != loop.ToolRole || h[3].Role != loop.User {
		t.Errorf("the request for a summary: %+v", last)
	}

	task := loop.Task{Text: "go", ToolChoice: loop.ToolChoice{Use: "quick"}}
	bubble(t, func(t *testing.T) {
		free := modelFunc(func(_ context.Context, req loop.ModelRequest, _ func(string)) (loop.Reply, error) {
			last = req
			return answer("done"), nil
		})
		run(t, t.Context(), loop.Off(), task, free, tools, loop.LiveOptions{})
	})
	if last.Choice != "quick" {
		t.Errorf("the model is asked with the choice %q", last.Choice)
	}
	task = loop.Task{Text: "go", System: "be brief", Planner: loop.PlannerJSON, ToolChoice: loop.ToolChoice{Use: loop.UseRequired}}
	planning := modelFunc(func(_ context.Context, req loop.ModelRequest, _ func(string)) (loop.Reply, error) {
		last = req
		return answer(`{"action": "stop", "reason": "nothing to do"}`), nil
	})
	bubble(t, func(t *testing.T) {
		cfg, quick := loop.Off(), loop.ToolSpec{Name: "quick", Input: "{\n  \"type\": \"object\",\n  \"required\": [\"q\"]}"}
		cfg.Limits.Turns = 7
		run(t, t.Context(), cfg, task, planning, []loop.Tool{loop.FuncTool(quick, func(context.Context, struct{}) (string, error) { return "", nil })}, loop.LiveOptions{})
	})
	if len(last.Tools) != 0 || last.Choice != "" || !last.JSON {
		t.Errorf("the planner's request: %+v", last)
	}
	// What the specification's planner prompt must include (its sections 3.1 and 5).
	for what, want := range map[string]string{
		"the task's own prompt": "be brief", "tool catalog": "- quick\n  args: {\"type\":\"object\",\"required\":[\"q\"]}\n",
		"error rubric": "If a tool fails:", "action template": `{ "action": "call_tool"`, "remaining budget": "- turns: 7 of 7",
		"observation template": `{ "summary": "One sentence of what happened.", "key_facts": { "factA": "val", "factB": "val" }, "affordances": [`,
	} {
		if !strings.Contains(last.System, want) {
			t.Errorf("%s is missing in the planner's prompt:\n%s", what, last.System)
		}
	}
}

// Nobody is there to allow a call: it is denied when time.permission runs out, the run
// goes on, and whoever was to be asked learns that it is too late.
func TestLiveNobodyAllows(t *testing.T) {
	var cause error
	asking := loop.LiveOptions{Approve: func(ctx context.Context, _, _ string) (bool, string) {
		<-ctx.Done()
		cause = context.Cause(ctx)
		return true, ""
	}}
	model := modelFunc(func(_ context.Context, req loop.ModelRequest, _ func(string)) (loop.Reply, error) {
		if req.Ref.N == 1 {
			return loop.Reply{Calls: []loop.AskedCall{{Name: "rm"}}}, nil
		}
		return answer(req.History[len(req.History)-1].Text), nil
	})
	spec := loop.ToolSpec{Name: "rm", Permission: loop.AskCall}
	rm := loop.FuncTool(spec, func(context.Context, struct{}) (string, error) { return "gone", nil })
	cfg := loop.Off()
	cfg.Time.Permission = time.Minute
	bubble(t, func(t *testing.T) {
		out, _ := run(t, t.Context(), cfg, goTask, model, []loop.Tool{rm}, asking)
		if out.Denied != 1 || out.Elapsed != time.Minute || !strings.Contains(out.Answer, "nobody answered within 60s") {
			t.Errorf("%+v", out)
		}
		synctest.Wait()
		if cause != loop.ErrTimeout {
			t.Errorf("the cause is %v, want %v", cause, loop.ErrTimeout)
		}
	})
}
