package scenarios

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/loop"
)

// A Trial is one run of a scenario under a variant with a seed.
type Trial struct {
	Scenario *Scenario
	Variant  Variant
	Seed     uint64
	// Faults strike the scenario's world beside its own. What the scenario expects
	// was written without them: the trial is judged by its label.
	Faults []fakes.Fault
	// Player plays the cassette of a scenario that has one; nil: none can be
	// played.
	Player Player
}

// A Player plays cassettes: it gives what answers the model requests of one
// trial of a scenario, and what tells afterwards whether all that was recorded
// has been asked for.
type Player func(s *Scenario) (speak fakes.Speaker, end func() error, err error)

// A cassetteError says what is wrong with a cassette, or with what was asked of
// it.
type cassetteError struct{ error }

func (e cassetteError) Unwrap() error { return e.error }

// config gives what the loop runs with: the scenario's own changes apply under
// its own variant only.
func (t *Trial) config() *loop.Config {
	if t.Own() {
		return &t.Scenario.Config
	}
	return &t.Variant.Config
}

// random reports whether another seed may give another result.
func (t *Trial) random() bool {
	cfg := t.config()
	return cfg.Retry.Max > 0 && jitters(cfg.Retry.Backoff) ||
		cfg.ModelRetry.Max > 0 && jitters(cfg.ModelRetry.Backoff) ||
		t.Scenario.Script.Random() || slices.ContainsFunc(t.Faults, func(f fakes.Fault) bool { return f.N == 0 })
}

// asWritten reports whether the trial is the one that the scenario describes.
func (t *Trial) asWritten() bool { return t.Own() && len(t.Faults) == 0 }

func jitters(b loop.Backoff) bool { return b == loop.FullJitter || b == loop.DecorrelatedJitter }

// Run makes the trial and judges it. A panic below it is caught: the trial is
// then inconclusive.
func (t Trial) Run(ctx context.Context) (*Result, loop.Trace) {
	return t.run(ctx, t.random(), nil, false)
}

// Played gives the result of a session of the trial that was played elsewhere,
// such as that of a live model: it is counted and not judged.
func (t Trial) Played(runs []loop.Outcome, trace loop.Trace) *Result {
	r := t.result(t.random())
	r.count(runs, read(trace))
	r.Verdict = Unjudged
	return r
}

func (t *Trial) run(ctx context.Context, random bool, g *Goldens, first bool) (*Result, loop.Trace) {
	r := t.result(random)
	var trace loop.Trace
	t.fill(ctx, r, &trace, g, first)
	return r, trace
}

// result gives the result of a trial that was not made yet.
func (t *Trial) result(random bool) *Result {
	s := t.Scenario
	return &Result{Type: "trial", Scenario: s.ID(), Suite: s.Suite, Label: s.Label, Variant: t.Variant.Name, Seed: t.Seed,
		Codes: map[string]int{}, ToolMS: []Latency{}, Findings: []Finding{}, Golden: GoldenOff, Random: random, File: s.File, Line: s.Line}
}

// fill makes the trial and fills in its result and its trace. g may be nil; first
// says that the trial has the first seed.
func (t *Trial) fill(ctx context.Context, r *Result, trace *loop.Trace, g *Goldens, first bool) {
	defer t.recovered(r)
	script := t.Scenario.Script
	script.Faults = append(slices.Clip(script.Faults), t.Faults...)
	runs, idle, err := t.play(ctx, &script, trace)
	facts := read(*trace)
	r.count(runs, facts)
	if err == nil && g != nil && len(t.Faults) == 0 {
		g.judge(t, r, first, *trace)
	}
	r.Verdict = t.judge(r, runs, facts, *trace, idle, err)
}

// play plays the script. Of a cassette more may be left under another variant, or
// with other faults, than under those that it was recorded with.
func (t *Trial) play(ctx context.Context, script *fakes.Script, trace *loop.Trace) ([]loop.Outcome, fakes.Idle, error) {
	w := fakes.NewWorld(script, t.Seed)
	if t.Scenario.Cassette == "" {
		runs, err := w.Run(ctx, *t.config(), trace)
		return runs, w.Idle(), err
	}
	if t.Player == nil {
		return nil, fakes.Idle{}, cassetteError{errors.New("cassettes cannot be played here")}
	}
	speak, end, err := t.Player(t.Scenario)
	if err != nil {
		return nil, fakes.Idle{}, cassetteError{err}
	}
	w.Speaker = speak
	runs, err := w.Run(ctx, *t.config(), trace)
	if err == nil && t.asWritten() {
		err = end()
	}
	if err != nil && !errors.Is(err, loop.ErrDry) && ctx.Err() == nil {
		err = cassetteError{err}
	}
	return runs, w.Idle(), err
}

// recovered is deferred: it makes a finding of a panic.
func (t *Trial) recovered(r *Result) {
	if p := recover(); p != nil {
		r.Verdict = Inconclusive
		r.find(rulePanic, "", "the trial panicked: "+printable(fmt.Sprint(p)))
	}
}

// The rules of what speaks of a session that broke off.
const (
	ruleCassette    = "cassette"
	ruleRanDry      = "ran-dry"
	ruleInterrupted = "interrupted"
	ruleInvalid     = "invalid"
	rulePanic       = "panic"
)

// BrokeOff reports whether the trial's session did not come to its end: its
// trace, if it has one, is not whole.
func (r *Result) BrokeOff() bool {
	return slices.ContainsFunc(r.Findings, func(f Finding) bool {
		return slices.Contains([]string{ruleCassette, ruleRanDry, ruleInterrupted, ruleInvalid, rulePanic}, f.Rule)
	})
}

// broke says why a session broke off, as a finding's rule and message.
func broke(err error) (rule, message string) {
	var cassette cassetteError
	switch {
	case errors.As(err, &cassette):
		return ruleCassette, cassette.Error()
	case errors.Is(err, loop.ErrDry):
		return ruleRanDry, err.Error()
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return ruleInterrupted, "the trial was interrupted"
	}
	return ruleInvalid, strings.ReplaceAll(err.Error(), "\n", "; ")
}
