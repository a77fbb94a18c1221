package session_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/loop/session"
)

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

// A caller that gives up waiting gets the context's cause, and its message is not
// run.
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

// A message that arrives while a run is under way reaches it at its next turn,
// and its caller gets the run's outcome.
func TestQueueSteers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var live *loop.Live
		var history []loop.Message
		q := session.NewQueue(session.Steer, func(ctx context.Context, name, text string) (loop.Outcome, error) {
			tool := loop.FuncTool(loop.ToolSpec{Name: "work"}, func(context.Context, struct{}) (string, error) {
				time.Sleep(10 * time.Second)
				return "done", nil
			})
			live = loop.NewLive(loop.Task{Text: text}, colleague{}, []loop.Tool{tool}, loop.LiveOptions{})
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

// colleague calls its tool once.
type colleague struct{}

func (colleague) Reply(_ context.Context, req loop.ModelRequest, _ func(string)) (loop.Reply, error) {
	if len(req.History) == 1 {
		return loop.Reply{Calls: []loop.AskedCall{{ID: "a", Name: "work", Args: "{}"}}}, nil
	}
	return loop.Reply{Text: "Done."}, nil
}

// A run that panics, or ends its goroutine as a test's FailNow does, ends with an
// error, and the next message of its session runs.
func TestQueueOutlivesRuns(t *testing.T) {
	q := session.NewQueue(session.FollowUp, func(_ context.Context, _, text string) (loop.Outcome, error) {
		switch text {
		case "panic":
			panic("ouch")
		case "exit":
			runtime.Goexit()
		}
		return loop.Outcome{Answer: text}, nil
	})
	for text, want := range map[string]string{"panic": "the run panicked: ouch", "exit": "the run ended its goroutine"} {
		if _, err := q.Submit(t.Context(), "s", text); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
		if out, err := q.Submit(t.Context(), "s", "more"); err != nil || out.Answer != "more" {
			t.Errorf("after %s: got %v, %v", text, out, err)
		}
	}
}
