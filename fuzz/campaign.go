package fuzz

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/agentbench-go/agentbench/internal/inorder"
	"github.com/agentbench-go/agentbench/scenarios"
)

// Options say which cases a campaign generates, and how.
type Options struct {
	Seed uint64
	// From is the number of the first case. Runs is the number of cases; 0 = until
	// the context ends.
	From, Runs int
	// Variant is the config of all cases; nil = generated configs.
	Variant *scenarios.Variant
	// Workers is the number of cases checked at the same time; 0 = one for each
	// processor. It does not change the results.
	Workers int
}

// A Violation is the invariant that a case breaks, and how.
type Violation struct {
	Invariant Invariant
	Problem   string // a sentence
}

// A Checked is a case with the results of its checks.
type Checked struct {
	Number    int // the number of the case in its campaign
	Case      *Case
	Judged    []bool     // in the order of [Invariants]: whether the invariant applies to the case
	Violation *Violation // nil = the case keeps every invariant
}

// Done reports whether the case is recoverable and all of its runs ended as DONE.
func (v *Checked) Done() bool {
	return v.Case.Recoverable && v.Violation == nil
}

// Check plays a case and checks the invariants in their order, up to the first that
// it breaks.
func Check(c *Case) (v *Checked) {
	v = &Checked{Case: c, Judged: make([]bool, 1+len(checkers))}
	v.Judged[0] = true
	defer func() {
		if r := recover(); r != nil {
			v.Violation = &Violation{NoPanic, "panic: " + strings.TrimSpace(fmt.Sprint(r))}
		}
	}()
	p := played(c)
	for i, ch := range checkers {
		problem, judged := ch.check(p)
		v.Judged[i+1] = judged
		if problem != "" {
			v.Violation = &Violation{ch.name, problem}
			break
		}
	}
	return v
}

// casesPerChunk is the number of cases that a worker takes at a time.
const casesPerChunk = 32

// Run generates and checks the cases of a campaign. It calls each with every checked
// case, in the order of their numbers, from the calling goroutine. It stops at the
// first error of each, or when ctx ends, and returns that error.
func Run(ctx context.Context, o Options, each func(*Checked) error) error {
	work := func(_ context.Context, n int) (*Checked, error) {
		v := Check(Number(o.Seed, n, o))
		v.Number = n
		return v, nil
	}
	return inorder.Run(ctx, inorder.Options{Workers: o.Workers, Chunk: casesPerChunk}, o.numbers(), work, each)
}

// numbers yields the numbers of the cases.
func (o *Options) numbers() iter.Seq[int] {
	return func(yield func(int) bool) {
		for n := o.From; o.Runs <= 0 || n < o.From+o.Runs; n++ {
			if !yield(n) {
				return
			}
		}
	}
}
