package soak

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentbench-go/agentbench/loop"
	"go.uber.org/goleak"
)

// What the simulated world says of each kind, by the rules of package loop: the
// breaker stops the fifth equal call before it runs, so four are executed; the
// third failing turn in a row is the last.
func TestExpected(t *testing.T) {
	want := map[string]struct {
		stop         loop.Stop
		turns, calls int
	}{
		"three-at-once": {loop.StopDone, 2, 3},
		"runaway":       {loop.Stop("circuit-breaker"), 5, 4},
		"error-spiral":  {loop.StopErrorLimit, 3, 3},
		"flaky-tool":    {loop.StopDone, 2, 1},
		"busy-model":    {loop.StopDone, 2, 1},
		"hung-tool":     {loop.StopDone, 2, 2},
		"deaf-tool":     {loop.StopDone, 2, 1},
		"long-work":     {loop.StopDone, 21, 20},
		"user-gives-up": {loop.StopCancelled, 1, 1},
	}
	kinds := Kinds()
	if len(kinds) != len(want) {
		t.Errorf("%d kinds, want %d", len(kinds), len(want))
	}
	for _, k := range kinds {
		out, err := k.expected(context.Background())
		if w := want[k.Name]; err != nil || out.Stop != w.stop || out.Turns != w.turns || out.Calls != w.calls {
			t.Errorf("%s: %s after %d turns and %d calls (%v), want %+v", k.Name, out.Stop, out.Turns, out.Calls, err, w)
		}
	}
}

func TestRun(t *testing.T) {
	defer goleak.VerifyNone(t)
	for _, over := range []Over{Process, HTTP} {
		r, err := Run(context.Background(), Options{Over: over, Conversations: 90, Rounds: 2})
		if err != nil {
			t.Fatal(err)
		}
		if !r.Passed() || r.Ended != 180 {
			t.Errorf("over %s: %d ended, problems %q, wrong %q, stuck %q", over, r.Ended, r.Problems, r.Wrong, r.Stuck)
		}
		// Twenty conversations of each kind: 2 + 5 + 3 + 2 + 2 + 2 + 2 + 21 turns, and at
		// most one of those that are given up.
		if r.Turns < 20*39 || r.Turns > 20*40 {
			t.Errorf("over %s: %d turns", over, r.Turns)
		}
	}
}

// The signal ends all running conversations, each in order.
func TestSignal(t *testing.T) {
	defer goleak.VerifyNone(t)
	ctx, cancel := context.WithCancel(context.Background())
	var asked atomic.Int64
	const n = 300
	o := Options{Over: Process, Conversations: n, Rounds: 1000, Kinds: Kinds()[:1]}
	o.wrap = func(m loop.Model, list []loop.Tool) (loop.Model, []loop.Tool) {
		return modelFunc(func(ctx context.Context, req loop.ModelRequest, delta func(string)) (loop.Reply, error) {
			if asked.Add(1) == n {
				cancel()
			}
			<-ctx.Done() // nobody is answered: all are at work when the signal comes
			return loop.Reply{}, context.Cause(ctx)
		}), list
	}
	r, err := Run(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	if !r.Passed() || !r.Interrupted || r.Cancelled != n || r.Ended != n {
		t.Errorf("%d of %d cancelled, problems %q, wrong %q", r.Cancelled, r.Ended, r.Problems, r.Wrong)
	}
}

type modelFunc func(context.Context, loop.ModelRequest, func(string)) (loop.Reply, error)

func (f modelFunc) Reply(ctx context.Context, req loop.ModelRequest, delta func(string)) (loop.Reply, error) {
	return f(ctx, req, delta)
}

// A model that never answers, where no timeout of the loop is set, is a deadlock:
// the report has the last inputs of the conversations that wait for it.
func TestDeadlock(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	o := Options{Over: Process, Conversations: 20, Rounds: 1, Watchdog: 100 * time.Millisecond, settle: 100 * time.Millisecond, Kinds: Kinds()[:1]}
	o.wrap = func(m loop.Model, list []loop.Tool) (loop.Model, []loop.Tool) {
		return modelFunc(func(ctx context.Context, req loop.ModelRequest, delta func(string)) (loop.Reply, error) {
			if req.Ref.N == 2 {
				<-release // deaf to ctx
			}
			return m.Reply(ctx, req, delta)
		}), list
	}
	r, err := Run(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(r.Stuck, "\n")
	if r.Passed() || !strings.Contains(text, "three-at-once\n") || !strings.Contains(text, "> ask m2#1") || !strings.Contains(text, "and 15 more") {
		t.Errorf("problems %q, stuck:\n%s", r.Problems, text)
	}
}

// Goroutines and memory that a tool leaves behind are found.
func TestLeaks(t *testing.T) {
	stop := make(chan struct{})
	var kept struct {
		sync.Mutex
		all [][]byte
	}
	for _, c := range []struct {
		name string
		leak func()
		want string
	}{
		{"goroutines", func() { go func() { <-stop }() }, "goroutines are left over"},
		{"memory", func() {
			kept.Lock()
			defer kept.Unlock()
			b := make([]byte, 100<<10)
			b[0] = 1
			kept.all = append(kept.all, b)
		}, "of the second half left"},
	} {
		o := Options{Over: Process, Conversations: 50, Rounds: 2, settle: 100 * time.Millisecond, Kinds: Kinds()[:1]}
		o.wrap = func(m loop.Model, list []loop.Tool) (loop.Model, []loop.Tool) {
			return m, []loop.Tool{leaking{list[0], c.leak}}
		}
		r, err := Run(context.Background(), o)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(r.Problems, "; "); !strings.Contains(got, c.want) {
			t.Errorf("%s: problems %q", c.name, got)
		}
	}
	kept.all = nil
	close(stop)
	goleak.VerifyNone(t)
}

type leaking struct {
	loop.Tool
	leak func()
}

func (l leaking) Call(ctx context.Context, args string) (string, error) {
	l.leak()
	return l.Tool.Call(ctx, args)
}

// Unexpected ends are reported, with their number.
func TestWrongEnd(t *testing.T) {
	o := Options{Over: Process, Conversations: 9, Rounds: 1, Kinds: Kinds()[:1]}
	o.wrap = func(m loop.Model, list []loop.Tool) (loop.Model, []loop.Tool) {
		return modelFunc(func(context.Context, loop.ModelRequest, func(string)) (loop.Reply, error) {
			return loop.Reply{}, errors.New("no")
		}), list
	}
	r, err := Run(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	if r.Passed() || len(r.Wrong) != 1 || !strings.HasPrefix(r.Wrong[0], "9 × three-at-once ended by model-failed, not by done") {
		t.Errorf("problems %q, wrong %q", r.Problems, r.Wrong)
	}
}

// Of 1 to 1,000 ms, p50 is 500, p95 950 and p99 990 ms, to one per cent.
func TestQuantiles(t *testing.T) {
	var h histogram
	if h.quantile(50) != 0 {
		t.Error("nothing has a median")
	}
	for i := range 1000 {
		h.add(time.Duration(i+1) * time.Millisecond)
	}
	for percent, want := range map[int]time.Duration{50: 500, 95: 950, 99: 990} {
		got := h.quantile(percent)
		if want *= time.Millisecond; got < want || got > want*101/100 {
			t.Errorf("p%d is %v, want %v", percent, got, want)
		}
	}
	h = histogram{}
	h.add(-1)
	h.add(1e6 * time.Hour)
	if got := h.quantile(50); got != time.Microsecond {
		t.Errorf("p50 is %v", got)
	}
}

// A rest that any number of conversations leaves is not a leak: here the first ten leave
// 20 MiB and later ones nothing. Growth is one: 100 conversations that add 12 MiB to
// the rest leave 125,829 bytes each.
func TestRestIsNotALeak(t *testing.T) {
	var kept [][]byte
	var mu sync.Mutex
	o := Options{Over: Process, Conversations: 10, Rounds: 2, settle: 100 * time.Millisecond, Kinds: Kinds()[:1]}
	o.wrap = func(m loop.Model, list []loop.Tool) (loop.Model, []loop.Tool) {
		return m, []loop.Tool{leaking{list[0], func() {
			mu.Lock()
			defer mu.Unlock()
			if len(kept) < 10 {
				kept = append(kept, make([]byte, 2<<20))
			}
		}}}
	}
	r, err := Run(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	if len(kept) != 10 || !r.Passed() || len(r.Rests) != 2 || r.Rests[0].Ended != 10 || r.Rests[1].Ended != 20 {
		t.Errorf("problems %q, rests %+v", r.Problems, r.Rests)
	}
	for _, c := range []struct {
		rests []Rest
		want  string
	}{
		{[]Rest{{1000, 100 << 20}, {2000, 101 << 20}}, ""},
		{[]Rest{{1000, 100 << 20}}, ""}, // one round does not show growth
		{[]Rest{{100, 10 << 20}, {200, 22 << 20}}, "leak: each conversation of the second half left 125829 bytes behind"},
		{[]Rest{{100, 10 << 20}, {200, 18 << 20}}, ""},    // not above 8 MiB
		{[]Rest{{0, 10 << 20}, {40000, 22 << 20}}, ""},    // 315 bytes each
		{[]Rest{{1000, 100 << 20}, {2000, 50 << 20}}, ""}, // less than before
	} {
		p := &Report{Rests: c.rests}
		p.judge()
		if got := strings.Join(p.Problems, "; "); got != c.want {
			t.Errorf("%v: %q, want %q", c.rests, got, c.want)
		}
	}
}

// The slopes between 0, 10, 20 and 1000 (at 0, 1, 2, 3) are 10, 10, 333.3, 10,
// 495, 980; in order 10, 10, 10, 333.3, 495, 980; the median lies between 10 and
// 333.3.
func TestSlope(t *testing.T) {
	got := slope([]point{{0, 0}, {1, 10}, {2, 20}, {3, 1000}})
	if want := (10 + 1000.0/3) / 2; got < want-1e-9 || got > want+1e-9 {
		t.Errorf("the slope is %v, want %v", got, want)
	}
	if got := slope([]point{{5, 1}, {5, 9}}); got != 0 {
		t.Errorf("two points at one place have the slope %v", got)
	}
	// The growth of the first half does not count; the second grows by 1,048.6 bytes each.
	p := &Report{Ended: 80000, points: []point{{0, 0}, {1, 1 << 20}, {2, 2 << 20}, {3, 3 << 20},
		{40000, 11 << 20}, {50000, 21 << 20}, {60000, 31 << 20}, {70000, 41 << 20}}}
	p.judge()
	if len(p.Problems) != 1 || p.Problems[0] != "memory grows: 1049 bytes a conversation under a steady load" {
		t.Errorf("problems %q", p.Problems)
	}
}
