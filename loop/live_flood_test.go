package loop_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentbench-go/agentbench/loop"
)

// A busy world keeps the loop from looking at what comes: its first Next waits
// until released, as a slow disk below a recorder would.
type busy struct {
	loop.World
	release <-chan struct{}
}

func (b *busy) Next(ctx context.Context, wake time.Duration, armed bool) (loop.Input, error) {
	<-b.release
	return b.World.Next(ctx, wake, armed)
}

// runBusy plays a session in a busy world.
func runBusy(t *testing.T, ctx context.Context, cfg loop.Config, live *loop.Live, release <-chan struct{}) loop.Trace {
	t.Helper()
	m, err := loop.New(cfg, goTask, nil)
	if err != nil {
		t.Fatal(err)
	}
	var trace loop.Trace
	if _, err := loop.Run(ctx, m, loop.Recording(&busy{&strict{Live: live, t: t}, release}, &trace)); err != nil {
		t.Fatal(err)
	}
	return trace
}

// Deltas that come while the loop is busy, until 9 s, are joined. The timeouts
// go as if each had been taken when it came.
func TestLiveJoinedDeltas(t *testing.T) {
	const asked = `
   0.000s started text=go
          > ask m1#1 for=reply to=1
`
	tests := []struct {
		name   string
		pieces []float64 // the seconds at which the model says a, b, c, …
		reply  float64   // the second at which it answers; 0 = never
		run    time.Duration
		say    float64 // the second at which the user says something; 0 = never
		want   string
	}{
		// The gaps of 1 s never reach the 3 s of time.chunk. A timer that the
		// joined delta met is met by an empty one just before it is due: at
		// 1 s + 3 s, and 3 s after that.
		{name: "a model that goes on", pieces: []float64{1, 2, 3, 4, 5, 6, 7, 8}, reply: 10, want: `
   1.000s delta m1 text=abcdefgh
3.999999999s delta m1
6.999999998s delta m1
   8.000s delta m1
  10.000s reply m1 text=done
`},
		// It goes on at 6 s, but at 2 s + 3 s it was given up.
		{name: "a silence of 4 s", pieces: []float64{1, 2, 6, 7}, want: `
   2.000s delta m1 text=abcd
   5.000s tick
          > cancel m1#1 text=chunk-timeout
          > note m1#1 event=broken-stream
`},
		{name: "a silence of exactly time.chunk", pieces: []float64{1, 4}, want: `
   1.000s delta m1 text=ab
   4.000s tick
          > cancel m1#1 text=chunk-timeout
          > note m1#1 event=broken-stream
`},
		{name: "silence after the last", pieces: []float64{1, 3}, want: `
   1.000s delta m1 text=ab
   3.000s delta m1
   6.000s tick
          > cancel m1#1 text=chunk-timeout
          > note m1#1 event=broken-stream
`},
		// time.first_token is 5 s, and the second delta lies behind it.
		{name: "in time for the first token", pieces: []float64{4, 6}, reply: 8.5, want: `
   4.000s delta m1 text=ab
   6.000s delta m1
   8.500s reply m1 text=done
`},
		{name: "a first token at the instant of its timeout", pieces: []float64{5, 6}, want: `
   5.000s tick
          > cancel m1#1 text=first-token-timeout
`},
		{name: "the run deadline", pieces: []float64{1, 2, 3, 4, 5, 6, 7, 8}, reply: 8.5, run: 6 * time.Second, want: `
   1.000s delta m1 text=abcdefgh
3.999999999s delta m1
5.999999999s delta m1
   6.000s tick
          > cancel m1#1 text=deadline
`},
		// Each input has its place in time.
		{name: "the user says something", pieces: []float64{1, 2, 3, 4}, reply: 5, say: 2.5, want: `
   1.000s delta m1 text=abcd
   2.500s delta m1
   2.500s steer text="be quick"
          > note event=steered
   4.000s delta m1
   5.000s reply m1 text=done
`},
	}
	seconds := func(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				cfg := loop.Off()
				cfg.Time.FirstToken, cfg.Time.Chunk, cfg.Time.Run = 5*time.Second, 3*time.Second, tt.run
				start := time.Now()
				model := modelFunc(func(ctx context.Context, _ loop.ModelRequest, delta func(string)) (loop.Reply, error) {
					for i, at := range tt.pieces {
						time.Sleep(time.Until(start.Add(seconds(at))))
						delta(string(rune('a' + i)))
					}
					if tt.reply == 0 {
						<-ctx.Done()
						return loop.Reply{}, ctx.Err()
					}
					return answer("done"), pause(ctx, time.Until(start.Add(seconds(tt.reply))))
				})
				live := loop.NewLive(goTask, model, nil, loop.LiveOptions{})
				if tt.say > 0 {
					time.AfterFunc(seconds(tt.say), func() { live.Say("be quick") })
				}
				release := make(chan struct{})
				time.AfterFunc(9*time.Second, func() { close(release) })
				check(t, runBusy(t, t.Context(), cfg, live, release), asked+strings.TrimPrefix(tt.want, "\n"))
			})
		})
	}
}

// flood is a model of 20 goroutines that each send n deltas of a text. After them
// it calls then.
func flood(n int, text string, then func()) loop.Model {
	return modelFunc(func(_ context.Context, _ loop.ModelRequest, delta func(string)) (loop.Reply, error) {
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				for range n {
					delta(text)
				}
			})
		}
		all.Wait()
		then()
		return answer("done"), nil
	})
}

// A million deltas that wait are one, and memory holds their text and no more.
func TestLiveFloodIsOneDelta(t *testing.T) {
	var before, during runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	release := make(chan struct{})
	model := flood(50_000, "x", func() {
		runtime.GC()
		runtime.ReadMemStats(&during)
		close(release)
	})
	trace := runBusy(t, t.Context(), loop.Off(), loop.NewLive(goTask, model, nil, loop.LiveOptions{}), release)
	text, deltas := "", 0
	for _, r := range trace {
		if r.In.Kind == loop.ModelDelta {
			text += r.In.Text
			if r.In.Text != "" {
				deltas++
			}
		}
	}
	if deltas != 1 || text != strings.Repeat("x", 1_000_000) {
		t.Errorf("%d deltas with %d bytes", deltas, len(text))
	}
	if grown := int64(during.HeapAlloc) - int64(before.HeapAlloc); grown > 8<<20 {
		t.Errorf("the heap grew by %d bytes", grown)
	}
}

// What waits of a longer text is its beginning, of at most a MiB: 20 × 100 × 1
// KiB are nearly 2.
func TestLiveFloodIsBounded(t *testing.T) {
	release := make(chan struct{})
	model := flood(100, strings.Repeat("x", 1<<10), func() { close(release) })
	trace := runBusy(t, t.Context(), loop.Off(), loop.NewLive(goTask, model, nil, loop.LiveOptions{}), release)
	if got := len(trace[1].In.Text); got != 1<<20 {
		t.Errorf("%d bytes", got)
	}
}

// A model that never stops telling deltas cannot keep the loop from a cancel,
// from time.model and from the run deadline. This runs on the real clock, since
// that of a bubble stands still while goroutines run.
func TestLiveFloodCannotHoldTheLoop(t *testing.T) {
	const soon = 100 * time.Millisecond
	tests := []struct {
		name   string
		change func(*loop.Config)
		cancel bool
		stop   loop.Stop
	}{
		{"the caller gives up", func(*loop.Config) {}, true, loop.StopCancelled},
		{"time.model", func(c *loop.Config) { c.Time.Model, c.ModelRetry.Max = soon, 0 }, false, loop.StopModelDeadline},
		{"time.run", func(c *loop.Config) { c.Time.Run = soon }, false, loop.StopRunDeadline},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg := loop.Off()
			tt.change(&cfg)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var sent sync.WaitGroup // at least a million deltas, and on until the request is given up
			model := modelFunc(func(ctx context.Context, _ loop.ModelRequest, delta func(string)) (loop.Reply, error) {
				for range 20 {
					sent.Go(func() {
						for i := 0; i < 50_000 || ctx.Err() == nil; i++ {
							if delta("x"); i == 10_000 && tt.cancel {
								cancel()
							}
						}
					})
				}
				sent.Wait()
				return loop.Reply{}, ctx.Err()
			})
			type result struct {
				out loop.Outcome
				err error
			}
			done := make(chan result, 1)
			go func() {
				out, err := loop.RunLive(ctx, cfg, goTask, model, nil, loop.LiveOptions{})
				done <- result{out, err}
			}()
			select {
			case r := <-done:
				if r.err != nil || r.out.Stop != tt.stop {
					t.Errorf("stop %s, error %v", r.out.Stop, r.err)
				}
				if !tt.cancel && r.out.Elapsed != soon { // a tick has the instant of its timer
					t.Errorf("ended at %v", r.out.Elapsed)
				}
			case <-time.After(2 * time.Minute):
				t.Fatal("the loop still runs")
			}
			sent.Wait()
		})
	}
}

// When the caller gives up, the loop still gets all waiting inputs except deltas: a
// reply that came before counts.
func TestLiveCancelPassesDeltas(t *testing.T) {
	for _, replied := range []bool{false, true} {
		bubble(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			model := modelFunc(func(ctx context.Context, _ loop.ModelRequest, delta func(string)) (loop.Reply, error) {
				delta("a")
				time.Sleep(time.Second)
				delta("b")
				if !replied {
					<-ctx.Done()
				}
				return answer("ab"), nil
			})
			release := make(chan struct{})
			time.AfterFunc(3*time.Second, func() { cancel(); close(release) })
			trace := runBusy(t, ctx, loop.Off(), loop.NewLive(goTask, model, nil, loop.LiveOptions{}), release)
			want := "   3.000s cancel\n          > cancel m1#1 text=cancelled\n"
			if replied {
				want = "   1.000s reply m1 text=ab\n"
			}
			check(t, trace, "\n   0.000s started text=go\n          > ask m1#1 for=reply to=1\n"+want)
		})
	}
}

// Texts of the user that wait are one, as far as there is room for them.
func TestLiveSayFlood(t *testing.T) {
	release := make(chan struct{})
	var live *loop.Live
	var refused bool
	model := modelFunc(func(_ context.Context, req loop.ModelRequest, _ func(string)) (loop.Reply, error) {
		for range 1000 {
			if !live.Say("quick") {
				t.Error("refused")
			}
		}
		refused = !live.Say(strings.Repeat("x", 1<<20)) && live.Say("now")
		close(release)
		return answer("done"), nil
	})
	live = loop.NewLive(goTask, model, nil, loop.LiveOptions{})
	trace := runBusy(t, t.Context(), loop.Off(), live, release)
	if want := strings.Repeat("quick\n", 1000) + "now"; trace[1].In.Kind != loop.Steer || trace[1].In.Text != want || !refused {
		t.Errorf("got %.100s, refused: %v", fmt.Sprint(trace[1]), refused)
	}
	if len(trace) != 3 || live.Say("too late") {
		t.Errorf("%d steps", len(trace))
	}
}
