package loop_test

import (
	"context"
	"strings"
	"testing"
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

// At the limit of one turn the user is asked. Yes goes on, with the user's
// words; no, or nobody to say yes, ends the run; so does the run deadline.
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

// The last word is asked for without tools.
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

// A session is one history and one clock.
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

// A context that is done from the start still gives an outcome.
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
