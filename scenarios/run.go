package scenarios

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/internal/inorder"
	"github.com/agentbench-go/agentbench/loop"
)

// Options say which trials [Run] plays, and how.
type Options struct {
	Scenarios []*Scenario
	// Variants are tried one after another on each scenario. Their names must differ.
	// If empty, each scenario is played under the variant that it is meant for.
	Variants []Variant
	// Seeds is the number of trials of each scenario under each variant, with the seeds
	// Seed, Seed+1 …; 0 = 1. A scenario that draws no random number has one trial, with
	// Seed, whatever Seeds is.
	Seeds int
	Seed  uint64
	// Workers is the number of trials that run at once; 0 = one for each processor. It
	// does not change the results.
	Workers int
	// Faults strike the world of each trial: see [Trial].
	Faults []fakes.Fault
	// Strict makes trials inconclusive whose results have notes.
	Strict bool
	// Keep says which results hold the redacted text of their trace. A long trace is cut
	// in the middle: see [Result.TraceCut].
	Keep Keep
	// Player plays the cassettes of scenarios that have one: see [Trial].
	Player Player
	// Goldens compare the traces with stored ones; nil = no comparison.
	Goldens *Goldens
	// Unjudged makes every verdict [Unjudged], for a command that reports and does not
	// judge. Results still have their findings.
	Unjudged bool

	own *ownBook
}

// Keep says which results hold the text of their trace.
type Keep uint8

// The values of Keep. The zero value is KeepNone.
const (
	KeepNone   Keep = iota
	KeepFailed      // of trials that failed, or whose verdict is inconclusive: at most 32 KiB
	KeepAll         // at most a MiB
)

func (k Keep) keeps(v Verdict) bool {
	return k == KeepAll || k == KeepFailed && (v == Fail || v == Inconclusive)
}

// A planned trial is a trial, and whether another seed may lead to another result.
type planned struct {
	Trial
	random bool
}

// trials yields the trials in their order.
func (o *Options) trials() iter.Seq[planned] {
	return func(yield func(planned) bool) {
		for _, s := range o.Scenarios {
			variants := o.Variants
			if len(variants) == 0 {
				variants = []Variant{s.Variant}
			}
			for _, v := range variants {
				t := planned{Trial: Trial{Scenario: s, Variant: v, Seed: o.Seed, Faults: o.Faults, Strict: o.Strict, Player: o.Player}}
				seeds := 1
				if t.random = t.Trial.random(); t.random {
					seeds = max(1, o.Seeds)
				}
				for range seeds {
					if !yield(t) {
						return
					}
					t.Seed++
				}
			}
		}
	}
}

// trialsPerChunk is how many trials in a row a worker plays.
const trialsPerChunk = 16

// Run plays the trials and calls each with every result, redacted, in the order of
// scenario, variant and seed, from the calling goroutine. It stops when each returns an
// error or ctx ends, and returns that error. Results that each was called with by then
// are valid.
func Run(ctx context.Context, o Options, each func(*Result) error) error {
	if err := o.check(); err != nil {
		return err
	}
	o.own = new(ownBook)
	return inorder.Run(ctx, inorder.Options{Workers: o.Workers, Chunk: trialsPerChunk}, o.trials(), o.make, each)
}

// traces holds traces for reuse, since no trial keeps its trace. Traces of more than
// keptRecords records are not reused.
var traces = sync.Pool{New: func() any { return new(loop.Trace) }}

const keptRecords = 1 << 13

// make plays one trial.
func (o *Options) make(ctx context.Context, t planned) (*Result, error) {
	trace := traces.Get().(*loop.Trace)
	defer func() {
		if cap(*trace) <= keptRecords {
			trace.Recycle()
			traces.Put(trace)
		}
	}()
	began := time.Now()
	r := t.run(ctx, trace, t.random, o.Goldens, t.Seed == o.Seed, o.own)
	if o.Unjudged {
		r.Verdict = Unjudged
	}
	most := 0
	if o.Keep.keeps(r.Verdict) {
		most = o.Keep.bytes()
	}
	t.finish(r, *trace, most)
	r.Took = time.Since(began)
	return r, nil
}

// check refuses two variants of one name, seeds beyond the largest one, and an update
// of goldens that cannot be written.
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
	if o.Goldens != nil && o.Goldens.Update {
		return o.Goldens.Writable(o.Scenarios)
	}
	return nil
}

// maxTrace and maxFailed bound the text of a trace in a result, in bytes: many results
// wait for their turn, and a runaway that nothing stops says the same a thousand times.
const (
	maxTrace  = 1 << 20
	maxFailed = 32 << 10 // where the traces of all trials were not asked for
)

// bytes returns how long a kept trace may be.
func (k Keep) bytes() int {
	if k == KeepAll {
		return maxTrace
	}
	return maxFailed
}

// TraceText returns the redacted text of a trace for a result. If the text is longer than
// most, in bytes, it is cut in the middle between two records.
func TraceText(trace loop.Trace, redact func(string) string, most int) (string, *TraceCut) {
	var b []byte
	first, room := 0, 0 // the records in the first half, and their bytes
	for i := range trace {
		b = trace[i].Map(redact).AppendText(b)
		switch {
		case len(b) > most:
			return cutTrace(trace, redact, b[:room], first, most-most/2)
		case len(b) <= most/2:
			first, room = i+1, len(b)
		}
	}
	return string(b), nil
}

// CutTrace cuts the kept trace to the length that [KeepFailed] keeps.
func (r *Result) CutTrace() {
	trace, err := loop.ParseTrace(r.Trace)
	if len(r.Trace) <= maxFailed || err != nil {
		return
	}
	before := r.TraceCut
	if r.Trace, r.TraceCut = TraceText(trace, strings.Clone, maxFailed); before != nil {
		r.TraceCut.Steps += before.Steps
	}
}

// cutTrace appends to a head, the text of the first records, as many of the last records
// as fit in so many bytes.
func cutTrace(trace loop.Trace, redact func(string) string, head []byte, first, most int) (string, *TraceCut) {
	var tail [][]byte
	last := len(trace)
	for size := 0; last > first; last-- {
		text := trace[last-1].Map(redact).AppendText(nil)
		if size += len(text); size > most {
			break
		}
		tail = append(tail, text)
	}
	cut := &TraceCut{Line: bytes.Count(head, []byte("\n")) + 1, Steps: last - first}
	for _, text := range slices.Backward(tail) {
		head = append(head, text...)
	}
	return string(head), cut
}

// Header returns the first line of the results file for these options. tool is the
// version of the program that writes it.
func (o *Options) Header(tool string) Header {
	h := Header{Type: "header", Schema: ResultsSchema, Kind: "run", Judged: JudgedOwn, Tool: tool, Seed: o.Seed, Seeds: max(1, o.Seeds),
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
