package session_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/loop/session"
)

// TestMain runs what child starts, or the tests.
func TestMain(m *testing.M) {
	var err error
	switch task, path := os.Getenv("SESSION_CHILD"), os.Getenv("SESSION_FOLDER"); task {
	case "":
		os.Exit(m.Run())
	case "lock":
		err = takeLock(path)
	case "work":
		err = work(path, os.Getenv("SESSION_KILL"))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(2)
	}
}

// child returns the command that does a task in a process of its own.
func child(task, path string, env ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(append(os.Environ(), "SESSION_CHILD="+task, "SESSION_FOLDER="+path), env...)
	return cmd
}

const (
	together   = 50 // sessions that a process runs side by side
	longTurns  = 20
	longPauses = 2 // every so many turns the session also calls the tool once
)

// TestKilled kills processes with SIGKILL, each in the middle of the work on 50
// sessions of 20 turns, until all sessions have ended. An instant is drawn as a
// number of things that happen in the process; what the other sessions do at it,
// the scheduler draws. All sessions end with the trace of the unbroken one but
// for clock times. Beside their calls of an idempotent tool they call one that
// must not run twice, in every fifth session, and a file outside counts the calls.
func TestKilled(t *testing.T) {
	batches, kills := 4, 0
	if testing.Short() {
		batches = 1
	}
	want := unbroken(t)
	rng := rand.New(rand.NewPCG(11, 2))
	for range batches {
		path := t.TempDir()
		for {
			// 20 replies, 29 calls with 2 each and 50 appends with 2 each are 178, so 50 sessions have 8,900.
			cmd := child("work", path, fmt.Sprint("SESSION_KILL=", 1+rng.IntN(2500)))
			out, err := cmd.CombinedOutput()
			if bytes.Contains(out, []byte("error:")) || bytes.Contains(out, []byte("panic")) {
				t.Fatalf("the process failed: %v\n%s", err, out)
			}
			if err == nil {
				break
			}
			kills++
		}
		checkKilled(t, path, want)
	}
	t.Logf("%d processes were killed", kills)
	if kills < 2*batches {
		t.Errorf("only %d processes were killed", kills)
	}
}

// checkKilled checks the sessions of a folder and what they did outside of it.
func checkKilled(t *testing.T, path, want string) {
	t.Helper()
	d := folder(t, path)
	text, err := os.ReadFile(filepath.Join(path, "calls"))
	if err != nil {
		t.Fatal(err)
	}
	calls := map[string]int{}
	for line := range strings.Lines(string(text)) {
		calls[strings.TrimSpace(line)]++
	}
	for i := range together {
		name := fmt.Sprint("s", i)
		trace, err := d.Load(name)
		if err != nil {
			t.Fatal(err)
		}
		if !once(i) {
			if got := clockless(trace); got != want {
				t.Fatalf("%s goes\n%s\nwant\n%s", name, got, want)
			}
			continue
		}
		for n := range longTurns - 1 {
			if n%longPauses != 0 {
				continue
			}
			result, made := resultOf(trace, fmt.Sprint("once", n)), calls[fmt.Sprintf("%s once %d", name, n)]
			lost := result.Code == loop.Cancelled && strings.Contains(result.Text, "may have taken effect")
			if made > 1 || !lost && (result.Code != loop.None || made != 1) {
				t.Errorf("%s: call %d ran %d times and ended with %q, %q", name, n, made, result.Code, result.Text)
			}
		}
		if end := trace[len(trace)-1].Effects; len(end) == 0 || end[len(end)-1].Kind != loop.Halt {
			t.Errorf("%s did not end:\n%s", name, trace)
		}
	}
}

// resultOf finds the result of the call that was asked for with that id.
func resultOf(trace loop.Trace, id string) loop.Input {
	asked, n := 0, 0
	for _, r := range trace {
		for _, c := range r.In.Calls {
			asked++
			if c.ID == id {
				n = asked
			}
		}
		if n > 0 && r.In.Kind == loop.ToolResult && r.In.Ref.N == n {
			return r.In
		}
	}
	return loop.Input{Code: "none", Text: "there is no result"}
}

var clocks = regexp.MustCompile(`(?m)^ *[0-9.]+s | elapsed=[0-9.]+s`)

// clockless is the text of a trace without clock times.
func clockless(t loop.Trace) string { return clocks.ReplaceAllString(t.String(), "") }

// once reports whether session i calls the tool that must not run twice.
func once(i int) bool { return i%5 == 4 }

// unbroken is the session that nobody kills, without clock times.
func unbroken(t *testing.T) string {
	t.Helper()
	store := session.Memory()
	w := &worker{calls: func(string) {}, step: func() {}}
	if err := w.run(store, "s"); err != nil {
		t.Fatal(err)
	}
	trace, err := store.Load("s")
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(trace.String(), "> ask m"); n != longTurns {
		t.Fatalf("the session has %d turns, want %d", n, longTurns)
	}
	return clockless(trace)
}

// work runs the sessions of a folder to their end, unless the process is killed
// before.
func work(path, kill string) error {
	var left atomic.Int64
	n, err := strconv.Atoi(kill)
	if err != nil {
		return err
	}
	left.Store(int64(n))
	step := func() {
		if left.Add(-1) == 0 {
			if p, err := os.FindProcess(os.Getpid()); err == nil {
				p.Kill()
			}
			select {}
		}
	}
	log, err := os.OpenFile(filepath.Join(path, "calls"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	d, err := session.Dir(path)
	if err != nil {
		return err
	}
	errs := make([]error, together)
	var wg sync.WaitGroup
	for i := range together {
		name := fmt.Sprint("s", i)
		w := &worker{once: once(i), step: step, calls: func(call string) { fmt.Fprintf(log, "%s %s\n", name, call) }}
		wg.Go(func() { errs[i] = w.run(stepping{d, step}, name) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// stepping is a store that may be killed before and after each append.
type stepping struct {
	session.Store
	step func()
}

func (s stepping) Append(name string, records loop.Trace) error {
	s.step()
	defer s.step()
	return s.Store.Append(name, records)
}

// A worker is the model of a session and its tool.
type worker struct {
	once  bool         // the tool must not run twice
	calls func(string) // writes down a call
	step  func()       // is where the process may be killed
}

// run goes on with a session to its end.
func (w *worker) run(store session.Store, name string) error {
	trace, err := store.Load(name)
	if err != nil && !errors.Is(err, session.ErrNotFound) {
		return err
	}
	type args struct{ N int }
	call := func(tool string) func(context.Context, args) (string, error) {
		return func(_ context.Context, a args) (string, error) {
			w.step()
			w.calls(fmt.Sprint(tool, " ", a.N))
			w.step()
			return fmt.Sprint(tool, " ", a.N), nil
		}
	}
	spec := loop.ToolSpec{Name: "once", Idempotent: loop.Idempotent}
	if w.once {
		spec.Idempotent = loop.NotIdempotent
	}
	tools := []loop.Tool{loop.FuncTool(loop.ToolSpec{Name: "look", Idempotent: loop.Idempotent}, call("look")), loop.FuncTool(spec, call("once"))}
	cfg := loop.Default()
	cfg.Parallel.Max = 1 // so that results come in one order
	cfg.Time.Tool, cfg.Time.Run, cfg.Errors.MaxConsecutive = time.Hour, time.Hour, 0
	task := loop.Task{Text: "go"}
	live := loop.NewLive(task, w, tools, loop.LiveOptions{})
	m, err := loop.New(cfg, task, live.Tools())
	if err != nil {
		return err
	}
	out, err := session.Resume(context.Background(), m, session.Saving(live, store, name), trace)
	if err == nil && out.Answer != "Done." {
		err = fmt.Errorf("%s ended as %s with %q", name, out.Stop, out.Answer)
	}
	return err
}

// Reply asks for one or two calls in each turn but the last.
func (w *worker) Reply(_ context.Context, req loop.ModelRequest, delta func(string)) (loop.Reply, error) {
	w.step()
	n := 0
	for _, m := range req.History {
		if m.Role == loop.Assistant {
			n++
		}
	}
	if n == longTurns-1 {
		return loop.Reply{Text: "Done."}, nil
	}
	args := fmt.Sprintf(`{"n":%d}`, n)
	calls := []loop.AskedCall{{ID: fmt.Sprint("look", n), Name: "look", Args: args}}
	if n%longPauses == 0 {
		calls = append(calls, loop.AskedCall{ID: fmt.Sprint("once", n), Name: "once", Args: args})
	}
	return loop.Reply{Text: "I look.", Calls: calls}, nil
}
