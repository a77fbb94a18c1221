package inorder

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// Each test runs in a bubble of synctest, which fails if a goroutine of Run is
// left and whose time passes only while everybody waits.

// upTo yields 0, 1 … n-1.
func upTo(n int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for i := range n {
			if !yield(i) {
				return
			}
		}
	}
}

// collect is a hand that keeps what it gets.
func collect(to *[]int) func(int) error {
	return func(n int) error {
		*to = append(*to, n)
		return nil
	}
}

// Whichever worker is done first, results come in the order of the jobs.
func TestOrder(t *testing.T) {
	var want []int
	for i := range 100 {
		want = append(want, i*i)
	}
	for _, o := range []Options{{}, {Workers: 1}, {Workers: 2, Chunk: 1}, {Workers: 3, Chunk: 7}, {Workers: 8, Chunk: 100}, {Workers: 200, Chunk: 3}} {
		t.Run(fmt.Sprint(o), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var got []int
				err := Run(t.Context(), o, upTo(100), func(_ context.Context, n int) (int, error) {
					time.Sleep(time.Duration(n*37%11) * time.Second)
					return n * n, nil
				}, collect(&got))
				if err != nil || !slices.Equal(got, want) {
					t.Errorf("got %v, error %v", got, err)
				}
			})
		})
	}
}

// Jobs run on all workers at once: 12 jobs of a second take 12 s on one worker,
// 12/3 = 4 s on three, and as long as one chunk where each worker gets one chunk:
// 2 s on six with chunks of two, 6 s on two with chunks of six.
func TestWorkers(t *testing.T) {
	for o, want := range map[Options]time.Duration{
		{Workers: 1}:           12 * time.Second,
		{Workers: 3}:           4 * time.Second,
		{Workers: 6, Chunk: 2}: 2 * time.Second,
		{Workers: 2, Chunk: 6}: 6 * time.Second,
	} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			err := Run(t.Context(), o, upTo(12), func(_ context.Context, n int) (int, error) {
				time.Sleep(time.Second)
				return n, nil
			}, func(int) error { return nil })
			if took := time.Since(began); err != nil || took != want {
				t.Errorf("%+v: it took %v, want %v; error %v", o, took, want, err)
			}
		})
	}
}

// While the first job is worked on, at most four chunks a worker are taken: 4
// chunks × 2 workers × 3 jobs = 24.
func TestBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		taken := 0
		endless := func(yield func(int) bool) {
			for ; yield(taken); taken++ {
			}
		}
		enough := errors.New("enough")
		err := Run(t.Context(), Options{Workers: 2, Chunk: 3}, endless, func(_ context.Context, n int) (int, error) {
			if n == 0 {
				time.Sleep(time.Hour)
			}
			return n, nil
		}, func(n int) error {
			if taken+1 != 24 { // the last one yielded is not counted yet
				t.Errorf("%d jobs were taken before the first result, want 24", taken+1)
			}
			return enough
		})
		if err != enough {
			t.Errorf("error %v, want that of hand", err)
		}
	})
}

// A result is handed on as soon as it is there, and not only when the bound is
// reached: each of these jobs comes a second after the one before.
func TestPrompt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		slow := func(yield func(int) bool) {
			for i := range 3 {
				time.Sleep(time.Second)
				synctest.Wait()
				if !yield(i) {
					return
				}
			}
		}
		var at []time.Duration
		err := Run(t.Context(), Options{Workers: 4}, slow, func(_ context.Context, n int) (int, error) { return n, nil }, func(int) error {
			at = append(at, time.Since(began))
			return nil
		})
		// Job 0 is done when job 1 comes, at 2 s, and job 1 when job 2 does.
		if err != nil || len(at) != 3 || at[0] > 2*time.Second || at[1] > 3*time.Second {
			t.Errorf("results at %v, error %v", at, err)
		}
	})
}

// The first error in the order of jobs counts, though a later job fails sooner;
// the results before it are handed on.
func TestErrorOfWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []int
		err := Run(t.Context(), Options{Workers: 4, Chunk: 2}, upTo(100), func(_ context.Context, n int) (int, error) {
			time.Sleep(time.Duration(100-n) * time.Second)
			if n >= 5 {
				return 0, fmt.Errorf("job %d", n)
			}
			return n, nil
		}, collect(&got))
		if err == nil || err.Error() != "job 5" || !slices.Equal(got, []int{0, 1, 2, 3, 4}) {
			t.Errorf("got %v, error %v", got, err)
		}
	})
}

// After an error of hand nobody waits for the work under way, which takes an hour.
func TestErrorOfHand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		full := errors.New("full")
		began := time.Now()
		var got []int
		err := Run(t.Context(), Options{Workers: 3, Chunk: 4}, upTo(1000), func(ctx context.Context, n int) (int, error) {
			if n >= 8 {
				select {
				case <-ctx.Done():
				case <-time.After(time.Hour):
				}
			}
			return n, nil
		}, func(n int) error {
			if n == 6 {
				return full
			}
			return collect(&got)(n)
		})
		if took := time.Since(began); err != full || took != 0 || !slices.Equal(got, []int{0, 1, 2, 3, 4, 5}) {
			t.Errorf("got %v after %v, error %v", got, took, err)
		}
	})
}

// When the context ends, nothing more is handed on, and its cause is returned.
func TestCancelInHand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		why := errors.New("why")
		var got []int
		err := Run(ctx, Options{Workers: 3, Chunk: 4}, upTo(1000), func(_ context.Context, n int) (int, error) { return n, nil }, func(n int) error {
			if n == 6 {
				cancel(why)
			}
			return collect(&got)(n)
		})
		if err != why || !slices.Equal(got, []int{0, 1, 2, 3, 4, 5, 6}) {
			t.Errorf("got %v, error %v", got, err)
		}
	})
}

// Work that waits learns of the end of the context.
func TestCancelInWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		began := time.Now()
		var got []int
		err := Run(ctx, Options{Workers: 2}, upTo(1000), func(ctx context.Context, n int) (int, error) {
			if n == 3 {
				<-ctx.Done()
				return 0, errors.New("too late to count")
			}
			return n, nil
		}, collect(&got))
		if err != context.DeadlineExceeded || time.Since(began) != time.Minute || !slices.Equal(got, []int{0, 1, 2}) {
			t.Errorf("got %v after %v, error %v", got, time.Since(began), err)
		}
	})
}

// The jobs of a chunk behind the one under way are not begun.
func TestCancelInChunk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err := Run(ctx, Options{Workers: 1, Chunk: 8}, upTo(8), func(ctx context.Context, n int) (int, error) {
			if n > 3 {
				t.Errorf("job %d was begun", n)
			}
			if n == 3 {
				<-ctx.Done()
			}
			return n, nil
		}, func(int) error { return nil })
		if err != context.DeadlineExceeded {
			t.Errorf("error %v", err)
		}
	})
}

// A context that has ended starts nothing.
func TestCancelBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		err := Run(ctx, Options{}, upTo(10), func(context.Context, int) (int, error) {
			t.Error("work was called")
			return 0, nil
		}, func(int) error { return nil })
		if err != context.Canceled {
			t.Errorf("error %v", err)
		}
	})
}

func TestNoJobs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		if err := Run(t.Context(), Options{Chunk: 16}, upTo(0), func(context.Context, int) (int, error) { return 0, nil }, nil); err != nil {
			t.Error(err)
		}
	})
}

// A panic of work reaches the caller at its place in the order, though a later
// job panics sooner.
func TestPanicOfWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []int
		defer func() {
			p, ok := recover().(*Panic)
			if !ok || !errors.Is(p, errBoom) || len(p.Stack) == 0 || !slices.Equal(got, []int{0, 1, 2, 3, 4}) {
				t.Errorf("panic %v, got %v", p, got)
			}
		}()
		Run(t.Context(), Options{Workers: 4, Chunk: 2}, upTo(100), func(_ context.Context, n int) (int, error) {
			time.Sleep(time.Duration(100-n) * time.Second)
			switch {
			case n == 5:
				panic(errBoom)
			case n > 5:
				panic("a later one")
			}
			return n, nil
		}, collect(&got))
	})
}

var errBoom = errors.New("boom")

// Work that ends its goroutine, as a test's FailNow does, is like a panic.
func TestExitOfWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		defer func() {
			if p, ok := recover().(*Panic); !ok || !errors.Is(p, errExited) {
				t.Errorf("panic %v", p)
			}
		}()
		Run(t.Context(), Options{Workers: 2}, upTo(100), func(_ context.Context, n int) (int, error) {
			runtime.Goexit()
			return n, nil
		}, func(int) error { return nil })
	})
}

// A panic of hand, or of the jobs, is the caller's own: it passes unchanged, and
// no worker is left.
func TestPanicOfCaller(t *testing.T) {
	work := func(_ context.Context, n int) (int, error) { return n, nil }
	for name, run := range map[string]func(*testing.T){
		"hand": func(t *testing.T) {
			Run(t.Context(), Options{Workers: 2}, upTo(100), work, func(int) error { panic(errBoom) })
		},
		"jobs": func(t *testing.T) {
			Run(t.Context(), Options{Workers: 2}, func(yield func(int) bool) { yield(0); panic(errBoom) }, work, func(int) error { return nil })
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				defer func() {
					if p := recover(); p != errBoom {
						t.Errorf("panic %v", p)
					}
				}()
				run(t)
			})
		})
	}
}

// What passing jobs on costs, beside work that does nothing.
func BenchmarkRun(b *testing.B) {
	for _, chunk := range []int{1, 16} {
		b.Run(fmt.Sprintf("chunk=%d", chunk), func(b *testing.B) {
			b.ReportAllocs()
			if err := Run(b.Context(), Options{Chunk: chunk}, upTo(b.N), func(_ context.Context, n int) (int, error) { return n, nil }, func(int) error { return nil }); err != nil {
				b.Fatal(err)
			}
		})
	}
}
