package trajectories

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/agentbench-go/agentbench/cassettes/trajectories/wire"
	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/loop/detect"
	"github.com/agentbench-go/agentbench/scenarios"
)

// chat makes a trajectory from messages in shorthand: "user: text",
// "text" (the assistant's), "f(args) g(args)" (calls with ids 1, 2 …) and
// "= text" (results of the calls before, in order; "= !text" an error).
func chat(t *testing.T, messages ...string) *Trajectory {
	t.Helper()
	var decoded []wire.Message
	for _, m := range messages {
		text, isUser := strings.CutPrefix(m, "user: ")
		result, isResult := strings.CutPrefix(m, "= ")
		switch {
		case isUser:
			decoded = append(decoded, wire.Message{Role: wire.User, Text: text})
		case isResult:
			r := wire.Message{Role: wire.Tool, Text: result}
			if text, failed := strings.CutPrefix(result, "!"); failed {
				r.Text, r.Code = text, loop.ToolBug
			}
			decoded = append(decoded, r)
		case strings.HasSuffix(m, ")"):
			call := wire.Message{Role: wire.Assistant}
			for _, c := range strings.SplitAfter(m, ")") {
				if name, args, ok := strings.Cut(strings.TrimSuffix(c, ")"), "("); ok {
					call.Calls = append(call.Calls, wire.Call{Name: strings.TrimPrefix(name, " "), Args: args})
				}
			}
			decoded = append(decoded, call)
		default:
			decoded = append(decoded, wire.Message{Role: wire.Assistant, Text: m})
		}
	}
	r := &Trajectory{Name: "r", File: "x.json", Line: 3}
	r.assemble(decoded)
	return r
}

func off(change func(*loop.Config)) loop.Config {
	c := loop.Off()
	change(&c)
	return c
}

func perTurn(n int) loop.Config { return off(func(c *loop.Config) { c.Limits.CallsPerTurn = n }) }

func turns(n int, scope loop.Scope) loop.Config {
	return off(func(c *loop.Config) { c.Limits.Turns, c.Scope = n, scope })
}

func errorsAt(n int) loop.Config { return off(func(c *loop.Config) { c.Errors.MaxConsecutive = n }) }

func play(t *testing.T, r *Trajectory, cfg loop.Config) (*scenarios.Result, loop.Trace) {
	t.Helper()
	result, trace, err := Play(t.Context(), r, scenarios.Variant{Name: "v", Config: cfg})
	if err != nil {
		t.Fatal(err)
	}
	return result, trace
}

func TestPlay(t *testing.T) {
	type figures struct {
		stop                                               loop.Stop
		turns, requests, asked, calls, errors, vetoed, bad int
		saved                                              int
		wentOn                                             bool
	}
	same := []string{"f({})", "= 1"}
	repeat := func(n int, then ...string) []string {
		messages := []string{"user: hi"}
		for range n {
			messages = append(messages, same...)
		}
		return append(messages, then...)
	}
	interrupted := []string{"user: hi", "f({})", "= 1", "user: stop it", "stopped"}
	for _, c := range []struct {
		name     string
		messages []string
		config   loop.Config
		want     figures
	}{
		{"nothing stops it", repeat(9, "done"), loop.Off(), figures{stop: "done", turns: 10, requests: 10, asked: 9, calls: 9}},
		{"four identical calls do not trip a breaker at 5", repeat(4, "done"), breakerAt5(detect.EndsTurn),
			figures{stop: "done", turns: 5, requests: 5, asked: 4, calls: 4}},
		{"five do, before the fifth runs: that and the sixth are saved", repeat(6, "done"), breakerAt5(detect.EndsTurn),
			figures{stop: "circuit-breaker", turns: 5, requests: 5, asked: 5, calls: 4, vetoed: 1, saved: 2}},
		{"a stop with only the answer left is one: it prevented the fifth call", repeat(5, "done"), breakerAt5(detect.EndsTurn),
			figures{stop: "circuit-breaker", turns: 5, requests: 5, asked: 5, calls: 4, vetoed: 1, saved: 1}},
		{"so it is with nothing left", repeat(5), breakerAt5(detect.EndsTurn),
			figures{stop: "circuit-breaker", turns: 5, requests: 5, asked: 5, calls: 4, vetoed: 1, saved: 1}},
		{"the trajectory went on to a new call", repeat(5, "f({})g()", "= 1", "= 2", "done"), breakerAt5(detect.EndsTurn),
			figures{stop: "circuit-breaker", turns: 5, requests: 5, asked: 5, calls: 4, vetoed: 1, saved: 3, wentOn: true}},
		{"the same arguments in another order are no new call", []string{"user: hi", `f({"a":1,"b":2})`, "= 1", `f({"b":2, "a":1})`, "= 2", "done"}, turns(1, loop.ScopeRun),
			figures{stop: "turn-limit", turns: 1, requests: 1, asked: 1, calls: 1, saved: 1}},
		{"what follows in later runs is saved too", repeat(5, "done", "user: more", "g()", "= 1", "done"), breakerAt5(detect.EndsTurn),
			figures{stop: "circuit-breaker", turns: 5, requests: 5, asked: 5, calls: 4, vetoed: 1, saved: 2, wentOn: true}},

		{"open loop: a call is refused, and what was recorded next follows", []string{"user: hi", "f()g()", "= 1", "= 2", "h()", "= 3", "done"}, perTurn(1),
			figures{stop: "done", turns: 3, requests: 3, asked: 3, calls: 2, vetoed: 1, saved: 1}},
		{"one call limit more", []string{"user: hi", "f()g()", "= 1", "= 2", "h()", "= 3", "done"}, off(func(c *loop.Config) { c.Limits.Calls = 1 }),
			figures{stop: "call-limit", turns: 1, requests: 1, asked: 2, calls: 1, vetoed: 1, saved: 2, wentOn: true}},

		{"the second reply is the answer: two turns are enough", repeat(1, "done"), turns(2, loop.ScopeRun),
			figures{stop: "done", turns: 2, requests: 2, asked: 1, calls: 1}},
		{"one is not: the answer was prevented", repeat(1, "done"), turns(1, loop.ScopeRun),
			figures{stop: "turn-limit", turns: 1, requests: 1, asked: 1, calls: 1}},
		{"a limit that trips where the trajectory ends anyway has stopped nothing", repeat(1), turns(1, loop.ScopeRun),
			figures{stop: "recording-ended", turns: 1, requests: 1, asked: 1, calls: 1}},
		{"so it is after an earlier call was refused", []string{"user: hi", "f()g()", "= 1", "= 2", "h()", "= 3"},
			off(func(c *loop.Config) { c.Limits.CallsPerTurn, c.Limits.Turns = 1, 2 }),
			figures{stop: "recording-ended", turns: 2, requests: 2, asked: 3, calls: 2, vetoed: 1, saved: 1}},
		{"the limit begins anew with each user message", []string{"user: hi", "f()", "= 1", "a", "user: and", "g()", "= 1", "b"}, turns(2, loop.ScopeRun),
			figures{stop: "done", turns: 4, requests: 4, asked: 2, calls: 2}},
		{"but not in scope session: four replies, and the third is one too many", []string{"user: hi", "f()", "= 1", "a", "user: and", "g()", "= 1", "b"}, turns(2, loop.ScopeSession),
			figures{stop: "turn-limit", turns: 2, requests: 2, asked: 1, calls: 1, saved: 1, wentOn: true}},

		{"recorded errors count", []string{"user: hi", "f()", "= !no", "f()", "= !no", "done"}, errorsAt(2),
			figures{stop: "error-limit", turns: 2, requests: 2, asked: 2, calls: 2, errors: 2}},
		{"one error less", []string{"user: hi", "f()", "= !no", "f()", "= 1", "done"}, errorsAt(2),
			figures{stop: "done", turns: 3, requests: 3, asked: 2, calls: 2, errors: 1}},
		{"an error that only the text tells is one if the variant says so", []string{"user: hi", "f()", "= Error: no", "done"}, errorsAt(1),
			figures{stop: "error-limit", turns: 1, requests: 1, asked: 1, calls: 1, errors: 1}},
		{"and none if not", []string{"user: hi", "f()", "= Error: no", "done"},
			off(func(c *loop.Config) { c.Errors.MaxConsecutive, c.Errors.TextPrefix = 1, "" }),
			figures{stop: "done", turns: 2, requests: 2, asked: 1, calls: 1}},
		{"an error is final: nothing is tried again", []string{"user: hi", "f()", "= !no", "done"},
			off(func(c *loop.Config) { c.Retry.Max, c.Retry.Codes = 3, loop.Codes()[1:] }),
			figures{stop: "done", turns: 2, requests: 2, asked: 1, calls: 1, errors: 1}},

		{"the user speaks before the answer: the next run begins", interrupted, loop.Off(),
			figures{stop: "done", turns: 2, requests: 3, asked: 1, calls: 1}},
		{"a limit that trips at that moment stops nothing", interrupted, turns(1, loop.ScopeRun),
			figures{stop: "done", turns: 2, requests: 2, asked: 1, calls: 1}},
		{"in scope session it then stops the next run", interrupted, turns(1, loop.ScopeSession),
			figures{stop: "turn-limit", turns: 1, requests: 1, asked: 1, calls: 1}},
		{"nobody answers the last user message", []string{"user: hi", "hello", "user: bye"}, loop.Off(),
			figures{stop: "done", turns: 1, requests: 1}},
		{"nobody answers the first one", []string{"user: hi"}, loop.Off(),
			figures{stop: "recording-ended", requests: 1}},
		{"nobody answers the last calls", []string{"user: hi", "f()g()", "= 1"}, loop.Off(),
			figures{stop: "recording-ended", turns: 1, requests: 1, asked: 2, calls: 2}},
		{"one after another is the same", []string{"user: hi", "f()g()"}, off(func(c *loop.Config) { c.Parallel.Max = 1 }),
			figures{stop: "recording-ended", turns: 1, requests: 1, asked: 2, calls: 2}},
		{"nobody answers a call, and the run goes on: no error", []string{"user: hi", "f()g()", "= 1", "h()", "= 2", "done"}, errorsAt(1),
			figures{stop: "done", turns: 3, requests: 3, asked: 3, calls: 3}},
		{"an empty answer is asked again, and there is no other", []string{"user: hi", " ", "user: hello?", "yes"}, loop.Off(),
			figures{stop: "done", turns: 1, requests: 3}},
		{"an empty answer at the end", []string{"user: hi", " "}, off(func(c *loop.Config) { c.ModelRetry.EmptyReplies = 0 }),
			figures{stop: "recording-ended", requests: 1}},
		{"arguments that are no JSON object do not run, and the trajectory goes on", []string{"user: hi", `f({"a")`, "= ?", "done"}, loop.Off(),
			figures{stop: "done", turns: 2, requests: 2, asked: 1, bad: 1}},
		{"a name with white space round it is known, an empty one is not", []string{"user: hi", "f\t()", "= 1", "()", "= ?", "done"}, loop.Off(),
			figures{stop: "done", turns: 3, requests: 3, asked: 2, calls: 1, bad: 1}},
		{"calls before any user spoke", []string{"f()", "= 1", "done"}, loop.Off(),
			figures{stop: "done", turns: 2, requests: 2, asked: 1, calls: 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, _ := play(t, chat(t, c.messages...), c.config)
			got := figures{r.Stop, r.Turns, r.ModelCalls, r.Asked, r.Calls, r.Errors, r.Vetoed, r.Invalid, r.Saved, r.WentOn}
			if got != c.want {
				t.Errorf("got  %+v\nwant %+v", got, c.want)
			}
			if r.EndState != r.Stop.EndState() || r.Tries != r.Calls || r.VirtualMS != 0 {
				t.Errorf("end state %s, %d tries of %d calls, %d ms; want %s, one try a call and no time",
					r.EndState, r.Tries, r.Calls, r.VirtualMS, r.Stop.EndState())
			}
		})
	}
}

// The other things that a limit may do instead of a plain stop. All stop after the
// first turn.
func TestPlayAtLimit(t *testing.T) {
	answer := []string{"user: hi", "f()", "= 1", "done"}
	more := []string{"user: hi", "f()", "= 1", "g()", "= 2", "done"}
	type figures struct {
		stop   loop.Stop
		calls  int
		saved  int
		wentOn bool
	}
	for _, c := range []struct {
		name     string
		messages []string
		at       loop.AtLimit
		want     figures
	}{
		{"the answer is the last word: nothing was prevented", answer, loop.LimitFinal, figures{"recording-ended", 1, 0, false}},
		{"the next call is refused", more, loop.LimitFinal, figures{"turn-limit", 1, 1, true}},
		{"so it is with tools offered", more, loop.LimitGrace, figures{"turn-limit", 1, 1, true}},
		{"nobody answers the question", answer, loop.LimitAsk, figures{"turn-limit", 1, 0, false}},
		{"nor if a call is to come", more, loop.LimitAsk, figures{"turn-limit", 1, 1, true}},
		{"a question where the trajectory ends anyway", answer[:3], loop.LimitAsk, figures{"recording-ended", 1, 0, false}},
		{"a last word where the trajectory ends anyway", answer[:3], loop.LimitFinal, figures{"recording-ended", 1, 0, false}},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := turns(1, loop.ScopeRun)
			cfg.Limits.AtLimit = c.at
			r, _ := play(t, chat(t, c.messages...), cfg)
			if got := (figures{r.Stop, r.Calls, r.Saved, r.WentOn}); got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

// A veto is not a stop: what was recorded next follows, to the end.
func TestPlayVeto(t *testing.T) {
	cfg := off(func(c *loop.Config) {
		c.Detectors = []detect.Detector{{Name: "again", Do: []detect.Rung{{At: 2, Act: detect.Veto}}}}
	})
	r, _ := play(t, chat(t, "user: hi", "f()", "= 1", "f()", "= 2", "g()", "= 3", "done"), cfg)
	if r.Stop != loop.StopDone || r.Calls != 2 || r.Vetoed != 1 || r.Saved != 1 || r.WentOn {
		t.Errorf("stop %s, %d calls, %d vetoed, %d saved, went on %v; want done, 2, 1, 1 and false", r.Stop, r.Calls, r.Vetoed, r.Saved, r.WentOn)
	}
}

// Results find their calls by the place in the batch, whatever the ids, in one
// instant, and the user's next message begins the next run.
func TestPlayTrace(t *testing.T) {
	r := chat(t, "user: hi", "f()g()", "= one", "= !two", "user: and?", "h()", "= three", "done", "user: bye")
	for _, run := range r.Runs {
		for _, turn := range run.Turns {
			for _, c := range turn.Calls {
				c.ID = "same"
			}
		}
	}
	_, trace := play(t, r, loop.Default())
	type step struct {
		Kind  loop.InputKind
		Ref   string
		Text  string
		Code  loop.Code
		Cause loop.Cause
	}
	want := []step{
		{Kind: loop.Started, Text: "hi"},
		{Kind: loop.ModelReply, Ref: "m1#1"},
		{Kind: loop.ToolResult, Ref: "c1#1", Text: "one"},
		{Kind: loop.ToolResult, Ref: "c2#1", Text: "two", Code: loop.ToolBug},
		{Kind: loop.Cancel, Cause: loop.ByRecordingEnded},
		{Kind: loop.UserMessage, Text: "and?"},
		{Kind: loop.ModelReply, Ref: "m3#1"},
		{Kind: loop.ToolResult, Ref: "c3#1", Text: "three"},
		{Kind: loop.ModelReply, Ref: "m4#1", Text: "done"},
	}
	var got []step
	for _, rec := range trace {
		in := rec.In
		got = append(got, step{in.Kind, in.Ref.String(), in.Text, in.Code, in.Cause})
		if in.At != 0 {
			t.Errorf("an input at %v: time should stand still", in.At)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("inputs (-want +got):\n%s", diff)
	}
}

func TestPlayResultLine(t *testing.T) {
	for label, want := range map[Label]scenarios.Label{Success: scenarios.Healthy, Failure: scenarios.Runaway, Unlabelled: ""} {
		rec := chat(t, "user: hi", "f()g()", "= 1", "= !2", "done")
		rec.Label = label
		got, _ := play(t, rec, loop.Off())
		if diff := cmp.Diff(&scenarios.Result{
			Type: "trial", Scenario: "x.json/r", Suite: "x.json", Label: want, Variant: "v",
			EndState: loop.Done, Stop: loop.StopDone, Turns: 2, ModelCalls: 2, Asked: 2, Calls: 2, Tries: 2, Errors: 1,
			Codes: map[string]int{"None": 1, "ToolBug": 1}, SchemaOK: 2, ToolMS: []scenarios.Latency{},
			Verdict: scenarios.Unjudged, Findings: []scenarios.Finding{}, Golden: "off", File: "x.json", Line: 3,
		}, got, cmpopts.IgnoreUnexported(scenarios.Result{})); diff != "" {
			t.Errorf("label %q (-want +got):\n%s", label, diff)
		}
	}
}

func TestOffline(t *testing.T) {
	c := loop.Default()
	c.ModelRetry.Max, c.Parallel.Max, c.Limits.Turns = 5, 2, 10
	want := c
	want.Time = loop.Time{}
	want.Retry.Max, want.ModelRetry.Max, want.Parallel.Max = 0, 0, 0
	if diff := cmp.Diff(want, Offline(c)); diff != "" {
		t.Error(diff)
	}
	if c.Retry.Max != 3 || c.Time.Tool != 30*time.Second {
		t.Error("the config that was given has changed")
	}
}

// replayAll returns the results of a replay as JSON lines.
func replayAll(t *testing.T, trajectories []*Trajectory, variants []scenarios.Variant, workers int) string {
	t.Helper()
	var b strings.Builder
	enc := json.NewEncoder(&b)
	if err := Replay(t.Context(), slices.Values(trajectories), variants, workers, func(r *scenarios.Result) error { return enc.Encode(r) }); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// The results come in the order of trajectories and variants, the same for any
// number of workers and each time.
func TestReplayOrder(t *testing.T) {
	variants := []scenarios.Variant{{Name: "b", Config: loop.Default()}, {Name: "a", Config: loop.Off()}}
	var trajectories []*Trajectory
	for _, name := range []string{"z", "y", "x", "w", "v", "u"} {
		r := chat(t, "user: hi", "f()", "= 1", "done")
		r.Name = name
		trajectories = append(trajectories, r)
	}
	var got []string
	err := Replay(t.Context(), slices.Values(trajectories), variants, 3, func(r *scenarios.Result) error {
		got = append(got, r.Scenario+" "+r.Variant)
		return nil
	})
	var want []string
	for _, r := range trajectories {
		want = append(want, "x.json/"+r.Name+" b", "x.json/"+r.Name+" a")
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v, order (-want +got):\n%s", err, diff)
	}
	one := replayAll(t, trajectories, variants, 1)
	for range 20 {
		if many := replayAll(t, trajectories, variants, 8); many != one {
			t.Fatalf("eight workers:\n%sone:\n%s", many, one)
		}
	}
}

func TestReplayStops(t *testing.T) {
	trajectories := []*Trajectory{chat(t, "user: hi", "hello"), chat(t, "user: hi", "hello"), chat(t, "user: hi", "hello")}
	variants := []scenarios.Variant{{Name: "off", Config: loop.Off()}}
	full := errors.New("disk full")
	n := 0
	err := Replay(t.Context(), slices.Values(trajectories), variants, 2, func(*scenarios.Result) error {
		if n++; n == 2 {
			return full
		}
		return nil
	})
	if err != full || n != 2 {
		t.Errorf("error %v after %d results, want disk full after 2", err, n)
	}

	ctx, cancel := context.WithCancel(t.Context())
	n = 0
	err = Replay(ctx, slices.Values(trajectories), variants, 1, func(*scenarios.Result) error {
		n++
		cancel()
		return nil
	})
	if !errors.Is(err, context.Canceled) || n == 0 {
		t.Errorf("error %v after %d results, want context canceled after the first ones", err, n)
	}

	variants[0].Config.Limits.Turns = -1
	err = Replay(t.Context(), slices.Values(trajectories), variants, 2, func(*scenarios.Result) error { return nil })
	if err == nil || err.Error() != "variant off: limits.turns: must be 0 (off) or more, not -1" {
		t.Errorf("error %v, want one that names the variant and the field", err)
	}
}
