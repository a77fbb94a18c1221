package loop_test

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/loop"
)

// Both worlds drive the same machine: fakes.World and a stage of goroutines and
// contexts give the same trace of a script, once the results of one instant are
// in the order of their calls.
func TestLiveIsTheSimulatedWorld(t *testing.T) {
	for name, p := range plays() {
		t.Run(name, func(t *testing.T) {
			var simulated loop.Trace
			m, err := loop.New(p.config, p.task(), p.script.Specs())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := loop.Run(t.Context(), m, loop.Recording(fakes.NewWorld(&p.script, 1), &simulated)); err != nil {
				t.Fatal(err)
			}
			want := ordered(t, p, simulated).String()
			for range 5 { // goroutines that wake at one instant do so in any order
				live := stageLive(t, p)
				if got := refold(t, p, live).String(); got != live.String() {
					t.Fatalf("the machine does not repeat itself:\n%s\nand then\n%s", live, got)
				}
				if got := ordered(t, p, live).String(); got != want {
					t.Fatalf("live:\n%s\nsimulated:\n%s", got, want)
				}
			}
		})
	}
}

// A play is a script and the config it is played with.
type play struct {
	script fakes.Script
	config loop.Config
	hooks  loop.Hooks
}

// ordered sorts the inputs of one instant by call and feeds them to a new
// machine.
func ordered(t *testing.T, p play, trace loop.Trace) loop.Trace {
	sorted := slices.Clone(trace)
	call := func(in loop.Input) int {
		if in.Kind == loop.ToolResult {
			return in.Ref.N
		}
		return 0
	}
	slices.SortStableFunc(sorted, func(a, b loop.Record) int {
		return cmp.Or(cmp.Compare(a.In.At, b.In.At), cmp.Compare(call(a.In), call(b.In)))
	})
	return refold(t, p, sorted)
}

func refold(t *testing.T, p play, trace loop.Trace) loop.Trace {
	t.Helper()
	m, err := loop.New(p.config, p.task(), p.script.Specs())
	if err != nil {
		t.Fatal(err)
	}
	var again loop.Trace
	for _, r := range trace {
		again.Append(r.In, m.Step(r.In))
	}
	return again
}

func (p *play) task() loop.Task { return loop.Task{Text: p.script.Task, Seed: 1, Hooks: p.hooks} }

// stageLive plays a script on the live world.
func stageLive(t *testing.T, p play) (trace loop.Trace) {
	bubble(t, func(t *testing.T) {
		s := &stage{script: &p.script, tries: map[string]int{}, end: make(chan struct{})}
		defer close(s.end)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		if c := p.script.User.Cancel; c != nil {
			defer time.AfterFunc(c.At, cancel).Stop()
		}
		_, trace = run(t, ctx, p.config, p.task(), s, s.tools(), loop.LiveOptions{Approve: s.approve, Ask: s.answer, FollowUp: s.followUp})
	})
	return trace
}

// A stage plays a script with goroutines that sleep. It supports what the plays
// need: plain steps, fixed latencies, the first answer of a tool, and no two
// calls with the same arguments.
type stage struct {
	script   *fakes.Script
	messages int           // follow-up messages said
	replies  int           // questions answered
	summed   int           // summaries given
	end      chan struct{} // closed when the play is over

	mu    sync.Mutex
	tries map[string]int // by tool and arguments
}

func (s *stage) step(request int) *fakes.Step {
	for i := range s.script.Model {
		step := &s.script.Model[i]
		if n := max(1, step.Repeat); step.Repeat != fakes.Forever && request > n {
			request -= n
			continue
		}
		return step
	}
	panic("the script ran dry")
}

func (s *stage) Reply(ctx context.Context, req loop.ModelRequest, delta func(string)) (loop.Reply, error) {
	if req.For == loop.ForSummary {
		s.summed++
		return loop.Reply{Text: "What was said before, in a few words.", Finish: loop.FinishStop}, pause(ctx, fakes.DefaultModelLatency)
	}
	step := s.step(req.Ref.N - s.summed)
	var failure *fakes.ModelFailure
	latency, pieces, shown := cmp.Or(step.Latency.Min, fakes.DefaultModelLatency), step.Chunks, step.Chunks
	if try := req.Ref.Try; try <= len(step.Failures) {
		failure = &step.Failures[try-1]
		latency, shown = cmp.Or(failure.Latency.Min, latency), failure.Chunks
		pieces = shown + 1 // the last would come when it fails
	}
	began, length := time.Now(), len(step.Text)
	for i := range shown {
		at := latency * time.Duration(i+1) / time.Duration(pieces)
		if step.FirstToken > 0 {
			at = step.FirstToken
			if i > 0 {
				at += (latency - step.FirstToken) * time.Duration(i) / time.Duration(pieces-1)
			}
		}
		if err := pause(ctx, time.Until(began.Add(at))); err != nil {
			return loop.Reply{}, err
		}
		of := max(step.Chunks, pieces)
		delta(step.Text[length*i/of : length*(i+1)/of])
	}
	if failure != nil && failure.Hang {
		<-ctx.Done()
		return loop.Reply{}, ctx.Err()
	}
	if err := pause(ctx, time.Until(began.Add(latency))); err != nil {
		return loop.Reply{}, err
	}
	if failure != nil {
		return loop.Reply{}, &loop.ModelError{Status: failure.Status, RetryAfter: failure.RetryAfter, Text: failure.Text}
	}
	return s.reply(step, req.History), nil
}

func (s *stage) reply(step *fakes.Step, history []loop.Message) loop.Reply {
	r := loop.Reply{Text: step.Text, Finish: cmp.Or(step.Finish, loop.FinishStop),
		TokensIn: step.TokensIn, TokensOut: step.TokensOut, Cost: step.Cost}
	if step.Finish == "" && len(step.Calls) > 0 {
		r.Finish = loop.FinishToolCalls
	}
	asked := 0 // the number of the last call: the history may have been cut
	for _, m := range history {
		for _, c := range m.Calls {
			asked = c.N
		}
	}
	for i, c := range step.Calls {
		r.Calls = append(r.Calls, loop.AskedCall{ID: "call_" + strconv.Itoa(asked+i+1), Name: c.Name, Args: c.Args})
	}
	return r
}

func (s *stage) tools() []loop.Tool {
	var tools []loop.Tool
	for i := range s.script.Tools {
		tools = append(tools, &actor{s, &s.script.Tools[i]})
	}
	return tools
}

// An actor is a tool on a stage.
type actor struct {
	*stage
	tool *fakes.Tool
}

func (a *actor) Spec() loop.ToolSpec { return a.tool.ToolSpec }

func (a *actor) Call(ctx context.Context, args string) (string, error) {
	if a.tool.IgnoresCancel {
		ctx = context.Background()
	}
	a.mu.Lock()
	try := a.tries[a.tool.Name+args]
	a.tries[a.tool.Name+args]++
	a.mu.Unlock()

	answer := a.tool.Answers[0]
	latency := cmp.Or(answer.Latency.Min, a.tool.Latency.Min, fakes.DefaultToolLatency)
	hang, code, text := answer.Hang, answer.Error, answer.Text
	if try < len(answer.Failures) {
		f := answer.Failures[try]
		latency = cmp.Or(f.Latency.Min, latency)
		hang, code, text = f.Hang, cmp.Or(f.Error, loop.RetryableServer), f.Text
	}
	if hang {
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-a.end:
			return "", nil
		}
	}
	if err := pause(ctx, latency); err != nil {
		return "", err
	}
	loop.RollUp(ctx, loop.Outcome{TokensIn: answer.TokensIn, TokensOut: answer.TokensOut, Cost: answer.Cost, Asked: answer.Used, Calls: answer.Used})
	if code != loop.None {
		return "", &loop.ToolError{Code: code, Text: text}
	}
	return answer.Result, nil
}

func (s *stage) approve(ctx context.Context, tool, args string) (bool, string) {
	for _, p := range s.script.User.Permissions {
		if p.Tool != tool {
			continue
		}
		if p.Hang {
			<-ctx.Done()
		} else {
			pause(ctx, cmp.Or(p.After.Min, fakes.DefaultToolLatency))
		}
		return !p.Deny, p.Text
	}
	pause(ctx, fakes.DefaultToolLatency)
	return true, ""
}

func (s *stage) answer(ctx context.Context, _ string) (string, bool) {
	if s.replies == len(s.script.User.Replies) {
		pause(ctx, fakes.DefaultToolLatency)
		return "", false
	}
	r := s.script.User.Replies[s.replies]
	s.replies++
	if r.Hang {
		<-ctx.Done()
	}
	pause(ctx, cmp.Or(r.After.Min, fakes.DefaultToolLatency))
	return r.Text, !r.Deny
}

func (s *stage) followUp(ctx context.Context, last loop.Outcome) (string, bool) {
	if last.End != loop.Done || s.messages == len(s.script.User.Messages) {
		return "", false
	}
	next := s.script.User.Messages[s.messages]
	s.messages++
	return next.Text, pause(ctx, next.Wait) == nil
}
