package scenarios

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"runtime"
	"sync"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/loop"
)

// Options say which trials [Run] makes, and how.
type Options struct {
	Scenarios []*Scenario
	// Variants are tried one after another on each scenario; their names differ.
	// Empty: each scenario under the one it is meant for.
	Variants []Variant
	// Seeds is the number of trials of each scenario under each variant, with the
	// seeds Seed, Seed+1 …; 0 = 1. A scenario that draws no random number has one
	// trial, with Seed, whatever Seeds says.
	Seeds int
	Seed  uint64
	// Workers is the number of trials at work at once; 0 = one a processor. It
	// changes nothing that can be seen.
	Workers int
	// Faults strike the world of each trial: see [Trial].
	Faults []fakes.Fault
	// Keep says which results hold their trace: its text, of a long one the
	// records of the first MiB.
	Keep Keep
	// Player plays the cassettes of scenarios that have one: see [Trial].
	Player Player
	// Golden compares traces with their goldens; nil = nobody does.
	Golden GoldenCheck
	// Unjudged leaves every verdict open, for a command that reports and does not
	// judge. Findings are still made.
	Unjudged bool
}

// Keep says which results hold the text of their trace.
type Keep uint8

// What to keep. The zero value is KeepNone.
const (
	KeepNone   Keep = iota
	KeepFailed      // of trials that failed, or whose verdict is inconclusive
	KeepAll
)

func (k Keep) keeps(v Verdict) bool {
	return k == KeepAll || k == KeepFailed && (v == Fail || v == Inconclusive)
}

// trials gives the trials in their order, each with whether another seed may
// give another result.
func (o *Options) trials() iter.Seq2[Trial, bool] {
	return func(yield func(Trial, bool) bool) {
		for _, s := range o.Scenarios {
			variants := o.Variants
			if len(variants) == 0 {
				variants = []Variant{s.Variant}
			}
			for _, v := range variants {
				t := Trial{Scenario: s, Variant: v, Seed: o.Seed, Faults: o.Faults, Player: o.Player}
				seeds, random := 1, t.random()
				if random {
					seeds = max(1, o.Seeds)
				}
				for range seeds {
					if !yield(t, random) {
						return
					}
					t.Seed++
				}
			}
		}
	}
}

// A job is a few trials in a row, so that handing them over costs little beside
// making them.
type job struct {
	trials  []Trial
	random  []bool // for each trial
	results []*Result
	done    chan struct{}
}

const (
	trialsPerJob  = 16
	jobsPerWorker = 4 // that wait for their turn at most
)

// Run makes the trials and hands each result to each, in the order of scenario,
// variant and seed, from the calling goroutine. It stops at the first error of
// each, and when ctx ends, and returns that error; what was handed over by then
// stands.
func Run(ctx context.Context, o Options, each func(*Result) error) error {
	if err := o.check(); err != nil {
		return err
	}
	workers := o.Workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel(nil)

	todo := make(chan *job)
	inOrder := make(chan *job, workers*jobsPerWorker)
	all.Go(func() { o.share(ctx, todo, inOrder) })
	for range workers {
		all.Go(func() {
			for j := range todo {
				o.work(ctx, j)
			}
		})
	}
	for j := range inOrder {
		<-j.done
		for _, r := range j.results {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err := each(r); err != nil {
				return err
			}
		}
	}
	return context.Cause(ctx)
}

// check refuses variants that results could not tell apart.
func (o *Options) check() error {
	seen := map[string]bool{}
	for _, v := range o.Variants {
		if seen[v.Name] {
			return fmt.Errorf("two variants are called %s", quoted(v.Name))
		}
		seen[v.Name] = true
	}
	if o.Seeds > 0 && uint64(o.Seeds)-1 > math.MaxUint64-o.Seed {
		return fmt.Errorf("%d seeds from %d go beyond the largest seed", o.Seeds, o.Seed)
	}
	return nil
}

// share cuts the trials into jobs, and hands each out twice: to who works it
// off, and in order to who waits for it.
func (o *Options) share(ctx context.Context, todo, inOrder chan<- *job) {
	defer close(todo)
	defer close(inOrder)
	j := &job{done: make(chan struct{})}
	hand := func() bool {
		for _, to := range []chan<- *job{inOrder, todo} {
			select {
			case to <- j:
			case <-ctx.Done():
				close(j.done)
				return false
			}
		}
		j = &job{done: make(chan struct{})}
		return true
	}
	for t, random := range o.trials() {
		j.trials, j.random = append(j.trials, t), append(j.random, random)
		if len(j.trials) == trialsPerJob && !hand() {
			return
		}
	}
	if len(j.trials) > 0 {
		hand()
	}
}

// work makes the trials of a job.
func (o *Options) work(ctx context.Context, j *job) {
	defer close(j.done)
	for i := range j.trials {
		if ctx.Err() != nil {
			return
		}
		r, trace := j.trials[i].run(ctx, j.random[i], o.Golden)
		if o.Unjudged {
			r.Verdict = Unjudged
		}
		if o.Keep.keeps(r.Verdict) {
			r.Trace = traceText(trace)
		}
		j.results = append(j.results, r)
	}
}

// maxTrace bounds the text of a trace in a result: many results wait for their
// turn, and a runaway that reads a large file a thousand times has a long one.
const maxTrace = 1 << 20

// traceText gives the text of a trace, or of its first records if it is long.
func traceText(trace loop.Trace) string {
	var b []byte
	for i := range trace {
		whole := len(b)
		if b = trace[i].AppendText(b); len(b) > maxTrace {
			return string(b[:whole])
		}
	}
	return string(b)
}

// Header gives the first line of the results that these options make. tool is
// the version of what makes them.
func (o *Options) Header(tool string) Header {
	h := Header{Type: "header", Schema: ResultsSchema, Kind: "run", Tool: tool, Seed: o.Seed, Seeds: max(1, o.Seeds),
		Variants: map[string]json.RawMessage{}, Scenarios: len(o.Scenarios)}
	for _, f := range o.Faults {
		h.Faults = append(h.Faults, f.String())
	}
	for _, v := range o.Variants {
		h.add(v)
	}
	for t := range o.trials() {
		h.Trials++
		h.add(t.Variant)
	}
	return h
}
