package session_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/loop/session"
)

// twelve is a run of twelve turns with random latencies, a flaky tool, an
// answer that is given twice only, a step that waits for a failure, a stream,
// and a second run of one turn.
func twelve() *fakes.Script {
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
			{Text: "I look.", Calls: []fakes.StepCall{read, read}, Repeat: 11, Chunks: 2, Latency: fakes.Span{Min: time.Second, Max: 3 * time.Second}},
			{Text: "Done.", Repeat: 2},
		},
		User: fakes.User{Messages: []fakes.UserMessage{{Text: "and now?", After: time.Minute}}},
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
func whole(t testing.TB) string {
	t.Helper()
	var trace loop.Trace
	out, err := loop.Run(context.Background(), machine(t), loop.Recording(fakes.NewWorld(twelve(), 7), &trace))
	if err != nil || out.Stop != loop.StopDone {
		t.Fatalf("the session ended %v, %v", out.Stop, err)
	}
	if n := strings.Count(trace.String(), "> ask m"); n != 13 {
		t.Fatalf("the session asks the model %d times, want 12 and 1", n)
	}
	return trace.String()
}

// TestKilledAtEachTurn starts a process that saves the session and is killed at
// its k-th request to the model, goes on in another one, and compares the trace.
func TestKilledAtEachTurn(t *testing.T) {
	want := whole(t)
	for k := 1; k <= 13; k++ {
		t.Run(fmt.Sprint(k), func(t *testing.T) {
			dir := t.TempDir()
			cmd := exec.Command(os.Args[0], "-test.run", "^TestKilledProcess$")
			cmd.Env = append(os.Environ(), "KILL_AT="+fmt.Sprint(k), "KILL_DIR="+dir)
			if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(err.Error(), "killed") {
				t.Fatalf("the process was not killed: %v\n%s", err, out)
			}
			store, err := session.Dir(dir)
			if err != nil {
				t.Fatal(err)
			}
			saved, err := store.Load("s")
			if err != nil {
				t.Fatal(err)
			}
			trace := append(loop.Trace(nil), saved[:len(saved)-1]...)
			resumed := loop.Trace{}
			w := fakes.NewWorld(twelve(), 7)
			if _, err := session.Resume(context.Background(), machine(t), remembering{loop.Recording(w, &resumed), w}, saved); err != nil {
				t.Fatal(err)
			}
			// The first record of the resumed part is the tick that hands on what
			// the last saved one still asked for.
			trace = append(trace, saved[len(saved)-1])
			trace = append(trace, resumed[1:]...)
			if got := trace.String(); got != want {
				t.Errorf("resumed after turn %d the session goes\n%s\nwant\n%s", k, got, want)
			}
		})
	}
}

// remembering is a recording of a world that remembers.
type remembering struct {
	loop.World
	w *fakes.World
}

func (r remembering) Remember(in loop.Input, effects []loop.Effect) { r.w.Remember(in, effects) }

// TestKilledProcess is the process that TestKilledAtEachTurn starts; by itself
// it does nothing.
func TestKilledProcess(t *testing.T) {
	dir := os.Getenv("KILL_DIR")
	if dir == "" {
		t.Skip("this is the process that another test starts")
	}
	store, err := session.Dir(dir)
	if err != nil {
		t.Fatal(err)
	}
	w := &killer{World: fakes.NewWorld(twelve(), 7), at: os.Getenv("KILL_AT")}
	_, err = loop.Run(context.Background(), machine(t), session.Saving(w, store, "s"))
	t.Fatalf("the session came to its end: %v", err)
}

// killer kills the process at a request to the model.
type killer struct {
	loop.World
	at string
}

func (k *killer) Do(ctx context.Context, in loop.Input, effects []loop.Effect) {
	for _, e := range effects {
		if e.Kind == loop.AskModel && fmt.Sprint(e.Ref.N) == k.at {
			p, _ := os.FindProcess(os.Getpid())
			p.Kill()
			select {}
		}
	}
	k.World.Do(ctx, in, effects)
}

func TestResumeShowsDrift(t *testing.T) {
	trace, err := loop.ParseTrace("   0.000s started text=go\n          > ask m1#1 for=reply to=2\n")
	if err != nil {
		t.Fatal(err)
	}
	_, err = session.Resume(context.Background(), machine(t), fakes.NewWorld(twelve(), 7), trace)
	var drift *session.DriftError
	if !errors.As(err, &drift) || drift.Step != 1 {
		t.Errorf("got %v, want drift in step 1", err)
	}
}

func TestStores(t *testing.T) {
	dir, err := session.Dir(filepath.Join(t.TempDir(), "new"))
	if err != nil {
		t.Fatal(err)
	}
	for name, store := range map[string]session.Store{"memory": session.Memory(), "dir": dir} {
		t.Run(name, func(t *testing.T) {
			if _, err := store.Load("a"); !errors.Is(err, session.ErrNotFound) {
				t.Errorf("an unknown session gives %v, want ErrNotFound", err)
			}
			text := "   0.000s started text=go\n          > ask m1#1 for=reply to=1\n   1.000s tick\n"
			trace, err := loop.ParseTrace(text)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range trace {
				if err := store.Append("a", loop.Trace{r}); err != nil {
					t.Fatal(err)
				}
			}
			got, err := store.Load("a")
			if err != nil || got.String() != text {
				t.Errorf("loaded %q, %v, want %q", got, err, text)
			}
		})
	}
	for _, bad := range []string{"", ".", "..", "a/b", "../x", "a b", "é", strings.Repeat("a", 201)} {
		if err := dir.Append(bad, nil); err == nil {
			t.Errorf("a session may be called %q", bad)
		}
	}
}

// A store that fails ends the session with its error.
func TestSavingFails(t *testing.T) {
	_, err := loop.Run(context.Background(), machine(t), session.Saving(fakes.NewWorld(twelve(), 7), broken{}, "s"))
	if err == nil || err.Error() != `saving session "s": disk full` {
		t.Errorf("got %v", err)
	}
}

type broken struct{ session.Store }

func (broken) Append(string, loop.Trace) error { return errors.New("disk full") }

// Two messages of one session run one after another, those of another session
// beside them. A run takes one second, so the three end at 1 s, 1 s and 2 s.
func TestQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var mu sync.Mutex
		var log []string
		q := session.NewQueue(session.FollowUp, func(ctx context.Context, name, text string) (loop.Outcome, error) {
			time.Sleep(time.Second)
			mu.Lock()
			defer mu.Unlock()
			log = append(log, fmt.Sprintf("%v %s %s", time.Since(start), name, text))
			return loop.Outcome{Answer: text}, nil
		})
		var wg sync.WaitGroup
		submit := func(name, text string) {
			wg.Go(func() {
				if out, err := q.Submit(context.Background(), name, text); err != nil || out.Answer != text {
					t.Errorf("%s %s ended %v, %v", name, text, out, err)
				}
			})
			synctest.Wait()
		}
		submit("a", "1")
		submit("a", "2")
		submit("b", "3")
		wg.Wait()
		for _, want := range []string{"1s a 1", "1s b 3", "2s a 2"} {
			if !strings.Contains(strings.Join(log, "\n"), want) {
				t.Errorf("the runs were %q, want %q among them", log, want)
			}
		}
	})
}

// While the first message runs, two more come: they have one run together.
func TestQueueCollects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log []string
		q := session.NewQueue(session.Collect, func(ctx context.Context, name, text string) (loop.Outcome, error) {
			time.Sleep(time.Second)
			log = append(log, text)
			return loop.Outcome{}, nil
		})
		var wg sync.WaitGroup
		for _, text := range []string{"1", "2", "3"} {
			wg.Go(func() { q.Submit(context.Background(), "a", text) })
			synctest.Wait()
		}
		wg.Wait()
		if got := strings.Join(log, "|"); got != "1|2\n3" {
			t.Errorf("the runs were %q, want 1, then 2 and 3 together", got)
		}
	})
}

// Who gives up waiting gets the context's cause; the run that waits is not
// made.
func TestQueueGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var runs []string
		q := session.NewQueue(session.FollowUp, func(ctx context.Context, name, text string) (loop.Outcome, error) {
			time.Sleep(time.Second)
			runs = append(runs, text)
			return loop.Outcome{}, nil
		})
		var wg sync.WaitGroup
		wg.Go(func() { q.Submit(context.Background(), "a", "1") })
		synctest.Wait()
		gone := errors.New("gone")
		ctx, cancel := context.WithCancelCause(context.Background())
		wg.Go(func() {
			if _, err := q.Submit(ctx, "a", "2"); !errors.Is(err, gone) {
				t.Errorf("got %v, want the cause", err)
			}
		})
		synctest.Wait()
		cancel(gone)
		wg.Wait()
		time.Sleep(5 * time.Second)
		if len(runs) != 1 || runs[0] != "1" {
			t.Errorf("ran %q, want 1 alone", runs)
		}
	})
}

// What the user says while a run is under way reaches it at its next turn, and
// who said it gets the run's outcome.
func TestQueueSteers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var live *loop.Live
		var history []loop.Message
		q := session.NewQueue(session.Steer, func(ctx context.Context, name, text string) (loop.Outcome, error) {
			tool := loop.FuncTool(loop.ToolSpec{Name: "work"}, func(context.Context, struct{}) (string, error) {
				time.Sleep(10 * time.Second)
				return "done", nil
			})
			live = loop.NewLive(loop.Task{Text: text}, worker{}, []loop.Tool{tool}, loop.LiveOptions{})
			m, err := loop.New(loop.Off(), loop.Task{Text: text}, live.Tools())
			if err != nil {
				return loop.Outcome{}, err
			}
			out, err := loop.Run(ctx, m, live)
			history = m.History()
			return out, err
		})
		q.SteerWith(func(name, text string) bool { return live.Say(text) })
		var wg sync.WaitGroup
		for _, text := range []string{"Begin.", "Use the blue one."} {
			wg.Go(func() {
				if out, err := q.Submit(context.Background(), "a", text); err != nil || out.Answer != "Done." {
					t.Errorf("%s ended with %q, %v", text, out.Answer, err)
				}
			})
			synctest.Wait()
		}
		wg.Wait()
		var said []string
		for _, m := range history {
			said = append(said, fmt.Sprint(m.Ref, " ", m.Text))
		}
		if got, want := strings.Join(said, "|"), "u1 Begin.|m1 |c1 done|u2 Use the blue one.|m2 Done."; got != want {
			t.Errorf("the history is %s, want %s", got, want)
		}
	})
}

// worker calls its tool once.
type worker struct{}

func (worker) Reply(_ context.Context, req loop.ModelRequest, _ func(string)) (loop.Reply, error) {
	if len(req.History) == 1 {
		return loop.Reply{Calls: []loop.AskedCall{{ID: "a", Name: "work", Args: "{}"}}}, nil
	}
	return loop.Reply{Text: "Done."}, nil
}
