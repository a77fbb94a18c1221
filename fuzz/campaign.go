package fuzz

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"strings"
	"sync"

	"github.com/agentbench-go/agentbench/scenarios"
)

// Options say which cases a campaign makes, and how.
type Options struct {
	Seed uint64
	// From is the number of the first case, and Runs how many there are; 0 runs
	// stand for as many as there is time for.
	From, Runs int
	// Variant is the config of all cases; nil: generated ones.
	Variant *scenarios.Variant
	// Workers is the number of cases at work at once; 0 = one a processor. It
	// changes nothing that can be seen.
	Workers int
}

// A Breach is an invariant that a case breaks.
type Breach struct {
	Invariant Invariant
	Problem   string // in a sentence
}

// A Verdict is what came of one case.
type Verdict struct {
	Number int // of the case in its campaign
	Case   *Case
	Judged []bool  // by the order of [Invariants]: which said something about it
	Breach *Breach // nil: it kept every invariant
}

// Done reports whether the case is a recoverable one whose runs all ended as
// DONE.
func (v *Verdict) Done() bool {
	return v.Case.Recoverable && v.Breach == nil
}

// Check plays a case and checks every invariant, up to the first that it breaks.
func Check(c *Case) (v *Verdict) {
	v = &Verdict{Case: c, Judged: make([]bool, 1+len(rules))}
	v.Judged[0] = true
	defer func() {
		if r := recover(); r != nil {
			v.Breach = &Breach{NoPanic, "panic: " + strings.TrimSpace(fmt.Sprint(r))}
		}
	}()
	p := played(c)
	for i, r := range rules {
		problem, judged := r.check(p)
		v.Judged[i+1] = judged
		if problem != "" {
			v.Breach = &Breach{r.name, problem}
			break
		}
	}
	return v
}

// chunk is how many cases a worker makes at a time.
const chunk = 32

// A job is some cases in a row.
type job struct {
	from, to int
	verdicts []*Verdict
	done     chan struct{}
}

// Run makes and checks the cases of a campaign, and hands each verdict to each
// in the order of the cases' numbers, from the calling goroutine. It stops at the
// first error of each, and when ctx ends, and returns that error; what was handed
// over by then stands.
func Run(ctx context.Context, o Options, each func(*Verdict) error) error {
	workers := o.Workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel(nil)
	todo, inOrder := make(chan *job), make(chan *job, 4*workers)
	all.Go(func() { share(ctx, o, todo, inOrder) })
	for range workers {
		all.Go(func() {
			for j := range todo {
				j.work(ctx, o)
			}
		})
	}
	for j := range inOrder {
		<-j.done
		for _, v := range j.verdicts {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err := each(v); err != nil {
				return err
			}
		}
	}
	return context.Cause(ctx)
}

// share cuts the cases into jobs, and hands each out twice: in order to who
// waits for it, and to who works it off.
func share(ctx context.Context, o Options, todo, inOrder chan<- *job) {
	defer close(todo)
	defer close(inOrder)
	end := math.MaxInt
	if o.Runs > 0 {
		end = o.From + o.Runs
	}
	for from := o.From; from < end; from += chunk {
		j := &job{from: from, to: min(from+chunk, end), done: make(chan struct{})}
		for _, to := range []chan<- *job{inOrder, todo} {
			select {
			case to <- j:
			case <-ctx.Done():
				close(j.done)
				return
			}
		}
	}
}

func (j *job) work(ctx context.Context, o Options) {
	defer close(j.done)
	for n := j.from; n < j.to && ctx.Err() == nil; n++ {
		v := Check(Number(o.Seed, n, o))
		v.Number = n
		j.verdicts = append(j.verdicts, v)
	}
}
