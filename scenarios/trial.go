package scenarios

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/loop"
)

// A Trial is one run of a scenario under a variant with a seed.
type Trial struct {
	Scenario *Scenario
	Variant  Variant
	Seed     uint64
	// Faults strike the scenario's world in addition to its own. The scenario's
	// expectations do not consider them, so the trial is judged by its label.
	Faults []fakes.Fault
	// Strict makes a trial inconclusive whose result has notes.
	Strict bool
	// Player plays the cassette of a scenario that has one. If it is nil, such a
	// scenario cannot be played.
	Player Player
}

// A Player plays cassettes. For one trial of a scenario it returns the speaker that
// answers the model requests, and end, which is called afterwards and returns an error
// if part of the recording was not requested.
type Player func(s *Scenario) (speak fakes.Speaker, end func() error, err error)

// A cassetteError is an error of a cassette, or of a request that it cannot answer.
type cassetteError struct{ error }

func (e cassetteError) Unwrap() error { return e.error }

// config returns the loop's config. The scenario's own changes apply under its own
// variant only.
func (t *Trial) config() *loop.Config {
	if t.Own() {
		return &t.Scenario.Config
	}
	return &t.Variant.Config
}

// random reports whether another seed may lead to another result.
func (t *Trial) random() bool {
	cfg := t.config()
	return cfg.Retry.Max > 0 && jitters(cfg.Retry.Backoff) ||
		cfg.ModelRetry.Max > 0 && jitters(cfg.ModelRetry.Backoff) ||
		t.Scenario.Script.Random() || slices.ContainsFunc(t.Faults, func(f fakes.Fault) bool { return f.N == 0 })
}

// asWritten reports whether the trial is the one that the scenario describes.
func (t *Trial) asWritten() bool { return t.Own() && len(t.Faults) == 0 }

func jitters(b loop.Backoff) bool { return b == loop.FullJitter || b == loop.DecorrelatedJitter }

// Run plays the trial and judges it. A panic makes the trial inconclusive.
func (t Trial) Run(ctx context.Context) (*Result, loop.Trace) {
	var trace loop.Trace
	r := t.run(ctx, &trace, t.random(), nil, false, nil)
	return r, trace
}

// Played returns the result of a session of the trial that was played elsewhere, for
// example with a live model. The verdict is [Unjudged].
func (t Trial) Played(runs []loop.Outcome, trace loop.Trace) *Result {
	r := t.result(t.random())
	r.count(runs, read(trace))
	r.Verdict = Unjudged
	return r
}

// run plays the trial and records it in trace, which must be empty. g and book may be
// nil; first says that the trial has the first seed.
func (t *Trial) run(ctx context.Context, trace *loop.Trace, random bool, g *Goldens, first bool, book *ownBook) (r *Result) {
	r = t.result(random)
	defer t.recovered(r)
	script := t.script()
	w := fakes.NewWorld(&script, t.Seed)
	runs, err := t.play(ctx, w, trace)
	facts := read(*trace)
	r.count(runs, facts)
	t.countRefused(ctx, r, *trace, book)
	if err == nil && g != nil && len(t.Faults) == 0 {
		g.judge(t, r, first, *trace)
	}
	r.Verdict = t.judge(r, runs, facts, *trace, w.Idle(), err)
	return r
}

// script returns the scenario's script with the added faults. Under another variant than
// the scenario's own, sub-runs have no config of their own either.
func (t *Trial) script() fakes.Script {
	script := t.Scenario.Script
	script.Faults = append(slices.Clip(script.Faults), t.Faults...)
	if !t.Own() {
		script.Tools = withoutConfigs(script.Tools)
	}
	return script
}

// result returns the result of a trial before it is played.
func (t *Trial) result(random bool) *Result {
	s := t.Scenario
	return &Result{Type: "trial", Scenario: s.ID(), Suite: s.Suite, Label: s.Label, Variant: t.Variant.Name, Seed: t.Seed,
		Codes: map[string]int{}, ToolMS: []Latency{}, Findings: []Finding{}, Golden: GoldenOff, Random: random, File: s.File, Line: s.Line}
}

// play plays the trial in its world. An unplayed rest of a cassette is an error only
// under the scenario's own variant and without added faults, since other sessions may
// need less of the cassette.
func (t *Trial) play(ctx context.Context, w *fakes.World, trace *loop.Trace) ([]loop.Outcome, error) {
	if t.Scenario.Cassette == "" {
		return w.Run(ctx, *t.config(), trace)
	}
	if t.Player == nil {
		return nil, cassetteError{errors.New("cassettes cannot be played here")}
	}
	speak, end, err := t.Player(t.Scenario)
	if err != nil {
		return nil, cassetteError{err}
	}
	w.Speaker = speak
	runs, err := w.Run(ctx, *t.config(), trace)
	if err == nil && t.asWritten() {
		err = end()
	}
	if err != nil && !errors.Is(err, loop.ErrDry) && ctx.Err() == nil {
		err = cassetteError{err}
	}
	return runs, err
}

// recovered turns a panic into a finding. It must be deferred.
func (t *Trial) recovered(r *Result) {
	if p := recover(); p != nil {
		r.Verdict = Inconclusive
		r.find(rulePanic, "", "the trial panicked: "+text.Line(fmt.Sprint(p)))
	}
}

// The rules of findings about a session that did not finish.
const (
	ruleCassette    = "cassette"
	ruleRanDry      = "ran-dry"
	ruleInterrupted = "interrupted"
	ruleInvalid     = "invalid"
	rulePanic       = "panic"
)

// BrokeOff reports whether the trial's session did not finish: its trace, if it has
// one, is not complete.
func (r *Result) BrokeOff() bool {
	return slices.ContainsFunc(r.Findings, func(f Finding) bool {
		return slices.Contains([]string{ruleCassette, ruleRanDry, ruleInterrupted, ruleInvalid, rulePanic}, f.Rule)
	})
}

// broke returns the rule and the message of the finding about a session that did not
// finish.
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
