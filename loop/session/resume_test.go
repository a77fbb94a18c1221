package session_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/loop/events"
	"github.com/agentbench-go/agentbench/loop/session"
)

// twenty is a run of twenty turns with random latencies, a flaky tool, an
// answer that is given twice only, a step that waits for a failure, a stream,
// and a second run of one turn.
func twenty() *fakes.Script {
	read := fakes.StepCall{Name: "read", Args: `{"n":${rand:1..1000}}`}
	return &fakes.Script{
		Task: "go",
		Tools: []fakes.Tool{{ToolSpec: loop.ToolSpec{Name: "read", Permission: loop.AskCall}, Latency: fakes.Span{Min: time.Millisecond, Max: time.Second},
			Answers: []fakes.Answer{
				{Times: 2, Result: "early"},
				{Times: 1, Error: loop.NotFound, Text: "gone"},
				{Result: "later", Failures: []fakes.Failure{{Error: loop.RetryableServer, Text: "503"}}},
			}}},
		Model: []fakes.Step{
			{When: fakes.WhenFailed, Text: "Again.", Calls: []fakes.StepCall{read}, Repeat: 1},
			{Text: "I look.", Calls: []fakes.StepCall{read, read}, Repeat: 19, Chunks: 2, Latency: fakes.Span{Min: time.Second, Max: 3 * time.Second}},
			{Text: "Done.", Repeat: 2},
		},
		User: fakes.User{Messages: []fakes.UserMessage{{Text: "and now?", Wait: time.Minute}}},
	}
}

func machine(t testing.TB) *loop.Machine {
	t.Helper()
	cfg := loop.Default()
	cfg.Time.Run = time.Hour
	m, err := loop.New(cfg, loop.Task{Text: "go"}, []loop.ToolSpec{{Name: "read", Permission: loop.AskCall}})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// whole plays the session in one go.
func whole(t testing.TB) loop.Trace {
	t.Helper()
	var trace loop.Trace
	out, err := loop.Run(context.Background(), machine(t), loop.Recording(fakes.NewWorld(twenty(), 7), &trace))
	if err != nil || out.Stop != loop.StopDone {
		t.Fatalf("the session ended %v, %v", out.Stop, err)
	}
	if n := strings.Count(trace.String(), "> ask m"); n != 21 {
		t.Fatalf("the session asks the model %d times, want 20 and 1", n)
	}
	return trace
}

// A session can be resumed from any part of its trace, not only from the end of
// a turn: between the pieces of a stream, with an open gate, with one of two
// calls ended, while a call waits for its retry, after the first run, and after
// the last. What it saves is the trace of the unbroken session.
func TestResumeAfterEachStep(t *testing.T) {
	want := whole(t)
	for n := range len(want) + 1 {
		store := session.Memory()
		if err := store.Append("s", want[:n]); err != nil {
			t.Fatal(err)
		}
		out, err := session.Resume(context.Background(), machine(t), session.Saving(fakes.NewWorld(twenty(), 7), store, "s"), want[:n])
		if err != nil || out.Answer != "Done." {
			t.Fatalf("resumed after step %d, the session ended with %q, %v", n, out.Answer, err)
		}
		if got := load(t, store); got.String() != want.String() {
			t.Fatalf("resumed after step %d, the session goes\n%s\nwant\n%s", n, got, want)
		}
	}
}

// Each process is killed at a request, also at one that Resume handed it. The session
// ends as it would have ended, and loads again.
func TestResumeAgainAndAgain(t *testing.T) {
	want := whole(t)
	kills := [][]int{{4, 4}, {5, 5}, {6, 2}}
	var each []int
	for k := 1; k <= 21; k++ {
		each = append(each, k, k)
		kills = append(kills, []int{k}, []int{k, k}, []int{k, k, k}, []int{k, k + 1})
	}
	for _, kills := range append(kills, each) {
		store := session.Memory()
		for _, at := range append(kills, 0) {
			trace, err := store.Load("s")
			if err != nil && !errors.Is(err, session.ErrNotFound) {
				t.Fatal(err)
			}
			w := session.Saving(remembering{&killed{World: fakes.NewWorld(twenty(), 7), at: at}}, store, "s")
			_, err = session.Resume(context.Background(), machine(t), w, trace)
			if err != nil && (at == 0 || !errors.Is(err, errKilled)) {
				t.Fatalf("kills %v: %v", kills, err)
			}
		}
		if got := load(t, store); got.String() != want.String() {
			t.Errorf("kills %v: the session goes\n%s\nwant\n%s", kills, got, want)
		}
		out, err := session.Resume(context.Background(), machine(t), session.Saving(fakes.NewWorld(twenty(), 7), store, "s"), load(t, store))
		if err != nil || out.Stop != loop.StopDone {
			t.Errorf("kills %v: the finished session loads as %v, %v", kills, out.Stop, err)
		}
		if got := load(t, store); len(got) != len(want) {
			t.Errorf("kills %v: loading the finished session added to it:\n%s", kills, got[len(want):])
		}
	}
}

func load(t testing.TB, store session.Store) loop.Trace {
	t.Helper()
	trace, err := store.Load("s")
	if err != nil {
		t.Fatal(err)
	}
	return trace
}

var errKilled = errors.New("killed")

// A killed world ends the process that it simulates at the request at, before it
// does anything about it.
type killed struct {
	loop.World
	at   int
	dead bool
}

func (k *killed) Do(ctx context.Context, in loop.Input, effects []loop.Effect) {
	for _, e := range effects {
		k.dead = k.dead || e.Kind == loop.AskModel && e.Ref.N == k.at
	}
	if !k.dead {
		k.World.Do(ctx, in, effects)
	}
}

func (k *killed) Next(ctx context.Context, wake time.Duration, armed bool) (loop.Input, error) {
	if k.dead {
		return loop.Input{}, errKilled
	}
	return k.World.Next(ctx, wake, armed)
}

// remembering adds the Remember of the fakes world to a killed world.
type remembering struct{ *killed }

func (r remembering) Remember(in loop.Input, effects []loop.Effect) {
	r.World.(session.Rememberer).Remember(in, effects)
}

func TestResumeShowsDrift(t *testing.T) {
	trace, err := loop.ParseTrace("   0.000s started text=go\n          > ask m1#1 for=reply to=2\n")
	if err != nil {
		t.Fatal(err)
	}
	_, err = session.Resume(context.Background(), machine(t), fakes.NewWorld(twenty(), 7), trace)
	var drift *session.DriftError
	if !errors.As(err, &drift) || drift.Step != 1 {
		t.Errorf("got %v, want drift in step 1", err)
	}
}

// Wrappers keep the method of a world that remembers, and give none to others.
func TestWrappersRemember(t *testing.T) {
	var trace loop.Trace
	for _, w := range []loop.World{fakes.NewWorld(twenty(), 7), loop.NewLive(loop.Task{}, pays{}, nil, loop.LiveOptions{})} {
		_, want := w.(session.Rememberer)
		for name, wrapped := range map[string]loop.World{"Saving": session.Saving(w, session.Memory(), "s"), "Recording": loop.Recording(w, &trace)} {
			if _, got := wrapped.(session.Rememberer); got != want {
				t.Errorf("%s of a %T: Rememberer is %v, want %v", name, w, got, want)
			}
		}
	}
}

// A store that fails ends the session with its error.
func TestSavingFails(t *testing.T) {
	_, err := loop.Run(context.Background(), machine(t), session.Saving(fakes.NewWorld(twenty(), 7), broken{}, "s"))
	if err == nil || err.Error() != `saving session "s": disk full` {
		t.Errorf("got %v", err)
	}
}

// What a live session does when its store fails ends with Close, although the tool
// waits for its cancel and time.tool is an hour.
func TestSavingFailsLive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		causes := make(chan error, 2)
		wait := loop.FuncTool(loop.ToolSpec{Name: "wait"}, func(ctx context.Context, _ struct{}) (string, error) {
			<-ctx.Done()
			causes <- context.Cause(ctx)
			return "", ctx.Err()
		})
		quick := loop.FuncTool(loop.ToolSpec{Name: "quick"}, func(context.Context, struct{}) (string, error) { return "", nil })
		cfg := loop.Off()
		cfg.Time.Tool = time.Hour
		task := loop.Task{Text: "go"}
		live := loop.NewLive(task, twoCalls{}, []loop.Tool{wait, quick}, loop.LiveOptions{})
		m, err := loop.New(cfg, task, live.Tools())
		if err != nil {
			t.Fatal(err)
		}
		// The store takes the first message and the reply, and fails at the result of quick.
		if _, err = loop.Run(t.Context(), m, session.Saving(live, &full{Store: session.Memory(), room: 2}, "s")); err == nil {
			t.Fatal("the session ended without an error")
		}
		live.Close()
		synctest.Wait()
		if len(causes) != 1 || <-causes != loop.ErrCancelled {
			t.Error("the tool was not cancelled")
		}
	})
}

type twoCalls struct{}

func (twoCalls) Reply(context.Context, loop.ModelRequest, func(string)) (loop.Reply, error) {
	return loop.Reply{Calls: []loop.AskedCall{{ID: "a", Name: "wait"}, {ID: "b", Name: "quick"}}}, nil
}

// A full store takes as many appends as it has room for.
type full struct {
	session.Store
	room int
}

func (f *full) Append(name string, records loop.Trace) error {
	if f.room--; f.room < 0 {
		return errors.New("disk full")
	}
	return f.Store.Append(name, records)
}

type broken struct{ session.Store }

func (broken) Append(string, loop.Trace) error { return errors.New("disk full") }

// A session that is there already is not begun a second time.
func TestSavingExists(t *testing.T) {
	store := session.Memory()
	if err := store.Append("s", whole(t)); err != nil {
		t.Fatal(err)
	}
	_, err := loop.Run(context.Background(), machine(t), session.Saving(fakes.NewWorld(twenty(), 7), store, "s"))
	if !errors.Is(err, session.ErrExists) {
		t.Errorf("got %v, want ErrExists", err)
	}
}

// The live session: four turns with two calls each, one of which needs
// permission, and an answer. Paying must not happen twice.
const turns = 4

type pays struct{}

func (pays) Reply(_ context.Context, req loop.ModelRequest, delta func(string)) (loop.Reply, error) {
	n := 0
	for _, m := range req.History {
		if m.Role == loop.Assistant {
			n++
		}
	}
	if n == turns {
		return loop.Reply{Text: "Done."}, nil
	}
	args := fmt.Sprintf(`{"n":%d}`, n)
	return loop.Reply{Text: "I pay.", Calls: []loop.AskedCall{{ID: fmt.Sprint("a", n), Name: "look", Args: args}, {ID: fmt.Sprint("b", n), Name: "pay", Args: args}}}, nil
}

// An office runs the session in live worlds that are killed, and counts what
// happens outside of them.
type office struct {
	pay   loop.Idempotence
	store session.Store
	mu    sync.Mutex
	paid  map[int]int // how often, by turn
}

// process runs the session until it ends, or is killed after so many steps.
func (o *office) process(t *testing.T, steps int) (loop.Outcome, error) {
	t.Helper()
	task := loop.Task{Text: "Pay the bills."}
	type args struct{ N int }
	tools := []loop.Tool{
		loop.FuncTool(loop.ToolSpec{Name: "look", Permission: loop.AskCall}, func(ctx context.Context, a args) (string, error) {
			time.Sleep(time.Second)
			return fmt.Sprint("bill ", a.N), nil
		}),
		loop.FuncTool(loop.ToolSpec{Name: "pay", Idempotent: o.pay}, func(ctx context.Context, a args) (string, error) {
			o.mu.Lock()
			o.paid[a.N]++
			o.mu.Unlock()
			time.Sleep(3 * time.Second)
			return fmt.Sprint("paid ", a.N), nil
		}),
	}
	live := loop.NewLive(task, pays{}, tools, loop.LiveOptions{Approve: func(context.Context, string, string) (bool, string) { return true, "" }})
	cfg := loop.Default()
	cfg.Retry.Codes = loop.Codes()[1:]
	m, err := loop.New(cfg, task, live.Tools())
	if err != nil {
		t.Fatal(err)
	}
	trace, err := o.store.Load("s")
	if err != nil && !errors.Is(err, session.ErrNotFound) {
		t.Fatal(err)
	}
	return session.Resume(t.Context(), m, session.Saving(&mortal{live, steps}, o.store, "s"), trace)
}

// mortal is a world that dies after so many steps.
type mortal struct {
	loop.World
	steps int
}

func (m *mortal) Next(ctx context.Context, wake time.Duration, armed bool) (loop.Input, error) {
	if m.steps == 0 {
		return loop.Input{}, errKilled
	}
	m.steps--
	return m.World.Next(ctx, wake, armed)
}

// A live session that is killed after any two numbers of steps has the trace and
// the events of the unbroken one, except for clock times.
func TestResumeLive(t *testing.T) {
	run := func(kills ...int) loop.Trace {
		o := &office{paid: map[int]int{}, store: session.Memory()}
		synctest.Test(t, func(t *testing.T) {
			for _, steps := range kills {
				if _, err := o.process(t, steps); !errors.Is(err, errKilled) {
					break // it ended before
				}
				time.Sleep(time.Minute) // nobody works on it
			}
			if out, err := o.process(t, -1); err != nil || out.Answer != "Done." {
				t.Fatalf("kills %v: the session ended with %q, %v", kills, out.Answer, err)
			}
		})
		return load(t, o.store)
	}
	unbroken := run()
	want, wantEvents := clockless(unbroken), eventsOf(unbroken)
	// Of a turn: the reply, the permission and two results.
	if want := 1 + 4*turns + 1; len(unbroken) != want {
		t.Fatalf("the session has %d steps, want %d", len(unbroken), want)
	}
	for a := range 4*turns + 2 {
		for b := range 6 {
			trace := run(a, b)
			if got := clockless(trace); got != want {
				t.Fatalf("kills after %d and %d steps: the session goes\n%s\nwant\n%s", a, b, got, want)
			}
			if got := eventsOf(trace); !slices.Equal(got, wantEvents) {
				t.Fatalf("kills after %d and %d steps: the events are\n%v\nwant\n%v", a, b, got, wantEvents)
			}
		}
	}
}

// eventsOf returns the events of a trace without their times.
func eventsOf(trace loop.Trace) (out []events.Event) {
	var r events.Reader
	for _, rec := range trace {
		for _, e := range r.Read(rec) {
			e.At, e.Duration, e.Outcome = 0, 0, nil
			out = append(out, e)
		}
	}
	return out
}

// A call that must not run twice is saved before it starts and runs once at
// most, wherever the process is killed, although its error is one that may be
// retried. If it has no result, the model reads that.
func TestResumeNotIdempotent(t *testing.T) {
	for steps := range 4*turns + 2 {
		o := &office{pay: loop.NotIdempotent, paid: map[int]int{}, store: session.Memory()}
		var open []string
		synctest.Test(t, func(t *testing.T) {
			if _, err := o.process(t, steps); !errors.Is(err, errKilled) {
				t.Fatalf("the process was not killed after %d steps: %v", steps, err)
			}
			for _, r := range load(t, o.store) {
				if r.In.Kind == loop.ToolResult {
					open = slices.DeleteFunc(open, func(ref string) bool { return ref == r.In.Ref.String() })
				}
				for _, e := range r.Effects {
					if e.Kind == loop.CallTool && e.Name == "pay" {
						open = append(open, e.Ref.String())
					}
				}
			}
			time.Sleep(time.Minute) // so that no goroutine of the first process is left
			if out, err := o.process(t, -1); err != nil || out.Answer != "Done." {
				t.Fatalf("killed after %d steps, the session ended with %q, %v", steps, out.Answer, err)
			}
		})
		var lost []string
		for _, r := range load(t, o.store) {
			if r.In.Kind == loop.ToolResult && r.In.Code == loop.Cancelled && strings.Contains(r.In.Text, "it may have taken effect; it was not run again") {
				lost = append(lost, r.In.Ref.String())
			}
		}
		if !slices.Equal(lost, open) {
			t.Errorf("killed after %d steps, the lost calls are %q, want %q", steps, lost, open)
		}
		for n := range turns { // a world that dies has started what it was given
			if o.paid[n] != 1 {
				t.Errorf("killed after %d steps, bill %d was paid %d times", steps, n, o.paid[n])
			}
		}
	}
}

// A call that must not run twice does not run again either if the process is killed
// while the call is being cancelled because its time ran out, although time-outs are
// retried.
func TestResumeTimedOut(t *testing.T) {
	fresh := func() *loop.Machine {
		m, err := loop.New(loop.Default(), loop.Task{Text: "go"}, []loop.ToolSpec{{Name: "pay", Idempotent: loop.NotIdempotent}})
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	// loop.Default lets a try take 30 s: 1+30 = 31.
	const killed = "   0.000s started text=go\n   1.000s reply m1 call=a:pay(\"{}\")\n  31.000s tick\n"
	var trace loop.Trace
	m := fresh()
	for _, r := range parsed(t, killed) {
		trace.Append(r.In, m.Step(r.In))
	}
	if !strings.Contains(trace.String(), "> cancel c1#1 text=timeout") {
		t.Fatalf("the call is not cancelled:\n%s", trace)
	}
	w := &waits{}
	if _, err := session.Resume(t.Context(), fresh(), loop.Recording(w, &trace), trace); !errors.Is(err, errKilled) {
		t.Fatal(err)
	}
	if text := trace.String(); strings.Count(text, "> call c1") != 1 || !strings.Contains(text, "> put c1 code=Timeout") {
		t.Errorf("the session goes\n%s\nwant one call, and its timeout as the result", text)
	}
}

// waits is a world that answers nothing: time goes on to each tick, for an hour.
type waits struct{}

func (waits) Do(context.Context, loop.Input, []loop.Effect) {}

func (waits) Next(_ context.Context, wake time.Duration, armed bool) (loop.Input, error) {
	if !armed || wake > time.Hour {
		return loop.Input{}, errKilled
	}
	return loop.Input{Kind: loop.Tick, At: wake}, nil
}

// What a resumed world is given is what the saved steps asked for and none of
// them answered, in their order.
func TestResumeHandsOver(t *testing.T) {
	const begin = "   0.000s started text=go\n"
	const calls = begin + "   1.000s reply m1 call=a:look(\"{}\") call=b:wait(\"{}\")\n"
	const asked = begin + "   1.000s reply m1 call=a:ask(\"{}\")\n"
	const answered = begin + "   1.000s reply m1 text=ok\n"
	for _, tt := range []struct{ name, inputs, want string }{
		{"a request", begin, "> ask m1#1 for=reply to=1"},
		{"a request that streams", begin + "   0.500s delta m1 text=o\n", "> ask m1#1 for=reply to=1"},
		{"a request that waits for its retry", begin + "   1.000s failure m1 status=503\n", ""},
		{"the retry of a request", begin + "   1.000s failure m1 status=503\n   2.000s tick\n", "> ask m1#2 for=reply to=1"},
		{"a request that was given up", begin + "   1.000s failure m1 status=503\n  31.000s cancel\n", "> halt"},
		{"two calls", calls, "> call c1#1 name=look args=\"{}\"|> call c2#1 name=wait args=\"{}\""},
		{"one of two calls", calls + "   2.000s result c1#1 ok text=seen\n", "> call c2#1 name=wait args=\"{}\""},
		{"an answer that is ignored", calls + "   2.000s result c1#2 ok text=seen\n   2.000s gate c1#1 allow\n", "> call c1#1 name=look args=\"{}\"|> call c2#1 name=wait args=\"{}\""},
		{"a call that waits for its retry", calls + "   2.000s result c1#1 code=Timeout\n   3.000s result c2#1 ok\n", ""},
		{"a call that is cancelled", calls + "  11.000s tick\n  12.000s result c2#1 ok\n", "> call c1#1 name=look args=\"{}\"|> cancel c1#1 text=timeout"},
		{"beside an abandoned call", calls + "  11.000s tick\n  13.000s tick\n", "> call c2#1 name=wait args=\"{}\""},
		{"a permission", asked, "> gate g1 of=c1 name=ask args=\"{}\""},
		{"a permission that no longer matters", asked + "   2.000s cancel\n", "> halt"},
		{"the end of a run", answered, "> halt"},
		{"the next run", answered + "   5.000s message text=more\n", "> ask m2#1 for=reply to=3"},
		{"beside a call that does not run again", begin + "   1.000s reply m1 call=a:pay(\"{}\") call=b:wait(\"{}\")\n", "> call c2#1 name=wait args=\"{}\""},
		{"a call that is cancelled and does not run again", begin + "   1.000s reply m1 call=a:pay(\"{}\")\n  11.000s tick\n", ""},
	} {
		fresh := func() *loop.Machine {
			cfg := loop.Off()
			cfg.Time.Tool, cfg.Time.Grace = 10*time.Second, 2*time.Second
			cfg.Retry.Max, cfg.Retry.Base, cfg.Retry.Codes = 1, time.Minute, []loop.Code{loop.Timeout}
			cfg.ModelRetry.Max, cfg.ModelRetry.Base, cfg.ModelRetry.Statuses = 1, time.Second, []string{"5xx"}
			m, err := loop.New(cfg, loop.Task{Text: "go"}, []loop.ToolSpec{{Name: "look"}, {Name: "wait", Timeout: time.Hour},
				{Name: "ask", Permission: loop.AskCall}, {Name: "pay", Idempotent: loop.NotIdempotent}})
			if err != nil {
				t.Fatal(err)
			}
			return m
		}
		var trace loop.Trace
		m := fresh()
		for _, r := range parsed(t, tt.inputs) {
			trace.Append(r.In, m.Step(r.In))
		}
		w := &heir{}
		if _, err := session.Resume(t.Context(), fresh(), w, trace); !errors.Is(err, errKilled) {
			t.Fatalf("%s: %v", tt.name, err)
		}
		if w.at != trace[len(trace)-1].In.At || w.kind != 0 || w.got != tt.want {
			t.Errorf("%s: the world is given %q at %v, want %q", tt.name, w.got, w.at, tt.want)
		}
	}
}

// An heir keeps what it is given first.
type heir struct {
	at   time.Duration
	kind loop.InputKind
	got  string
	seen bool
}

func (h *heir) Do(_ context.Context, in loop.Input, effects []loop.Effect) {
	if h.seen {
		return
	}
	h.seen, h.at, h.kind = true, in.At, in.Kind
	var lines []string
	for _, line := range strings.Split(loop.Record{Effects: effects}.String(), "\n")[1:] {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "> halt") {
			line = "> halt"
		}
		lines = append(lines, line)
	}
	h.got = strings.TrimSuffix(strings.Join(lines, "|"), "|")
}

func (h *heir) Next(context.Context, time.Duration, bool) (loop.Input, error) {
	return loop.Input{}, errKilled
}

// A call that runs again has the time that was left of it, and of two calls only
// the one without a result does. Both start at 0 s and may take 10 s; look ends
// at 4 s, so 6 s are left for wait.
func TestResumeBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, looks, left := session.Memory(), 0, []time.Duration(nil)
		var mu sync.Mutex
		process := func(steps int) (loop.Outcome, error) {
			tools := []loop.Tool{
				loop.FuncTool(loop.ToolSpec{Name: "look"}, func(context.Context, struct{}) (string, error) {
					mu.Lock()
					looks++
					mu.Unlock()
					time.Sleep(4 * time.Second)
					return "seen", nil
				}),
				loop.FuncTool(loop.ToolSpec{Name: "wait"}, func(ctx context.Context, _ struct{}) (string, error) {
					deadline, _ := ctx.Deadline()
					mu.Lock()
					left = append(left, time.Until(deadline))
					mu.Unlock()
					time.Sleep(5 * time.Second)
					return "waited", nil
				}),
			}
			live := loop.NewLive(loop.Task{}, both{}, tools, loop.LiveOptions{})
			cfg := loop.Off()
			cfg.Time.Tool = 10 * time.Second
			m, err := loop.New(cfg, loop.Task{}, live.Tools())
			if err != nil {
				t.Fatal(err)
			}
			trace, _ := store.Load("s")
			return session.Resume(t.Context(), m, session.Saving(&mortal{live, steps}, store, "s"), trace)
		}
		if _, err := process(2); !errors.Is(err, errKilled) { // the reply and the first result
			t.Fatal(err)
		}
		if out, err := process(-1); err != nil || out.Answer != "Done." {
			t.Fatalf("the session ended with %q, %v", out.Answer, err)
		}
		if want := []time.Duration{10 * time.Second, 6 * time.Second}; looks != 1 || !slices.Equal(left, want) {
			t.Errorf("look ran %d times, want 1; wait had %v, want %v", looks, left, want)
		}
	})
}

// both calls look and wait, then it is done.
type both struct{}

func (both) Reply(_ context.Context, req loop.ModelRequest, _ func(string)) (loop.Reply, error) {
	if len(req.History) > 1 {
		return loop.Reply{Text: "Done."}, nil
	}
	return loop.Reply{Calls: []loop.AskedCall{{ID: "a", Name: "look", Args: "{}"}, {ID: "b", Name: "wait", Args: "{}"}}}, nil
}

// Pieces of a stream are saved with the reply. If they were saved on their own,
// a resumed session would have them twice, since the model is asked again.
func TestSavingHoldsDeltasBack(t *testing.T) {
	store := session.Memory()
	w := session.Saving(silent{}, store, "s")
	w.Do(t.Context(), loop.Input{Kind: loop.Started}, nil)
	ref := loop.Ref{Kind: loop.RefModel, N: 1, Try: 1}
	w.Do(t.Context(), loop.Input{Kind: loop.ModelDelta, Ref: ref, Text: "D"}, nil)
	if got := load(t, store); len(got) != 1 {
		t.Errorf("saved are\n%s\nwant the start alone", got)
	}
	w.Do(t.Context(), loop.Input{Kind: loop.ModelReply, Ref: ref, Text: "Done."}, nil)
	if got := load(t, store); len(got) != 3 {
		t.Errorf("saved are\n%s\nwant all three", got)
	}
	w.Do(t.Context(), loop.Input{Kind: loop.ModelDelta, Ref: ref, Text: "late"}, []loop.Effect{{Kind: loop.Note, Ref: ref, Event: loop.EventIgnored}})
	if _, err := w.Next(t.Context(), 0, false); err != io.EOF || len(load(t, store)) != 4 {
		t.Errorf("at the end saved are\n%s\nand the error is %v, want all four and EOF", load(t, store), err)
	}
}

type silent struct{}

func (silent) Do(context.Context, loop.Input, []loop.Effect) {}

func (silent) Next(context.Context, time.Duration, bool) (loop.Input, error) {
	return loop.Input{}, io.EOF
}
