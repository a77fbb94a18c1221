package scenarios

import (
	"context"

	"github.com/agentbench-go/agentbench/loop"
)

// Options say which trials [Run] makes, and how.
type Options struct {
	Scenarios []*Scenario
	// Variants are tried one after another on each scenario. Empty: each scenario
	// under the one it is meant for.
	Variants []Variant
	// Seeds is the number of trials of each scenario under each variant, with the
	// seeds Seed, Seed+1 …; 0 = 1. A scenario that draws no random number has one
	// trial, with Seed, whatever Seeds says.
	Seeds int
	Seed  uint64
	// Workers is the number of trials at work at once; 0 = one a processor. It
	// changes nothing that can be seen.
	Workers int
	// Keep says which results hold their trace.
	Keep Keep
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

// Header gives the first line of the results that these options make.
func (o *Options) Header(tool string) Header { return Header{} }

// Run makes the trials and hands each result to each, in the order of scenario,
// variant and seed, from one goroutine. It stops at the first error of each,
// and when ctx ends, and returns that error; results are then missing, but
// those handed over stand.
func Run(ctx context.Context, o Options, each func(*Result) error) error { return nil }

// A Trial is one run of a scenario under a variant with a seed.
type Trial struct {
	Scenario *Scenario
	Variant  Variant
	Seed     uint64
}

// Run makes the trial and judges it. A panic below it is caught, and makes the
// verdict inconclusive.
func (t Trial) Run(ctx context.Context) (*Result, loop.Trace) { return nil, nil }
