// Package inorder works on several jobs at once and returns their results in the order
// of the jobs.
//
// [Run] is for work whose result must not depend on the number of workers: trials, fuzz
// cases, replays. The sequence of jobs can be endless, since only a bounded number is
// taken ahead of the results. Both the jobs and the results pass through the caller's
// goroutine, so neither needs a lock.
package inorder

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"runtime/debug"
	"sync"
)

// Options say how the work is divided.
type Options struct {
	// Workers is the number of jobs worked on at once; 0 = one for each processor.
	Workers int
	// Chunk is how many jobs in a row go to a worker together, so that passing them on
	// costs little compared with the work; 0 = 1.
	Chunk int
}

// chunksAhead is how many chunks for each worker are taken ahead of the results.
const chunksAhead = 4

// Run calls work for each job and hand for each result, in the order of the jobs. It
// ranges over jobs and calls hand in the calling goroutine. It calls work in others,
// which have all ended when Run returns.
//
// Run stops at the first job, in order, whose work or hand returns an error, and
// returns that error. When ctx ends, it stops and returns the cause. By then hand was
// called with the results of the first jobs, without a gap. If work panics, Run calls
// hand with the results before that job and then panics with a [*Panic].
func Run[J, R any](ctx context.Context, o Options, jobs iter.Seq[J], work func(context.Context, J) (R, error), hand func(R) error) error {
	workers := o.Workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	size := max(1, o.Chunk)
	ahead := workers * chunksAhead

	ctx, cancel := context.WithCancel(ctx)
	var pool sync.WaitGroup
	defer pool.Wait()
	defer cancel()
	todo := make(chan *chunk[J, R], ahead) // never blocks: at most ahead chunks are pending
	defer close(todo)
	for range workers {
		pool.Go(func() {
			for c := range todo {
				c.do(ctx, work)
			}
		})
	}

	var pending []*chunk[J, R]
	oldest := func() error {
		c := pending[0]
		pending = pending[1:]
		return c.hand(ctx, hand)
	}
	next := newChunk[J, R](size)
	submit := func() error {
		todo <- next
		pending, next = append(pending, next), newChunk[J, R](size)
		for len(pending) == ahead || len(pending) > 0 && pending[0].ready() {
			if err := oldest(); err != nil {
				return err
			}
		}
		return nil
	}
	for job := range jobs {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if next.jobs = append(next.jobs, job); len(next.jobs) < size {
			continue
		}
		if err := submit(); err != nil {
			return err
		}
	}
	if len(next.jobs) > 0 {
		if err := submit(); err != nil {
			return err
		}
	}
	for len(pending) > 0 {
		if err := oldest(); err != nil {
			return err
		}
	}
	return context.Cause(ctx)
}

// A chunk is a number of jobs in a row, and their results.
type chunk[J, R any] struct {
	jobs []J
	done chan struct{} // closed when the fields below are complete

	results []R // of the first jobs, up to the one that failed
	err     error
	panic   *Panic
}

func newChunk[J, R any](size int) *chunk[J, R] {
	return &chunk[J, R]{jobs: make([]J, 0, size), done: make(chan struct{})}
}

func (c *chunk[J, R]) ready() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// do works on the jobs until one fails or ctx ends.
func (c *chunk[J, R]) do(ctx context.Context, work func(context.Context, J) (R, error)) {
	returned := false
	defer func() {
		if !returned {
			c.panic = &Panic{Value: recover(), Stack: debug.Stack()}
			if c.panic.Value == nil {
				c.panic.Value = errExited
			}
		}
		close(c.done)
	}()
	c.results = make([]R, 0, len(c.jobs))
	for _, job := range c.jobs {
		if ctx.Err() != nil {
			break
		}
		result, err := work(ctx, job)
		if err != nil {
			c.err = err
			break
		}
		c.results = append(c.results, result)
	}
	returned = true
}

// hand waits for the chunk and calls hand with its results.
func (c *chunk[J, R]) hand(ctx context.Context, hand func(R) error) error {
	<-c.done
	for _, result := range c.results {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := hand(result); err != nil {
			return err
		}
	}
	switch {
	case c.panic != nil:
		panic(c.panic)
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return c.err
}

// errExited is the value of the panic if work called runtime.Goexit, as a test's
// FailNow does.
var errExited = errors.New("the work ended its goroutine")

// A Panic is a panic of work, carried to the caller's goroutine.
type Panic struct {
	Value any    // what work panicked with
	Stack []byte // of the goroutine that panicked
}

func (p *Panic) Error() string { return fmt.Sprintf("%v\n\n%s", p.Value, p.Stack) }

// Unwrap returns the value of the panic if it is an error, else nil.
func (p *Panic) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}
