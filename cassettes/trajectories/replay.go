package trajectories

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/agentbench-go/agentbench/internal/inorder"
	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/scenarios"
)

// Offline gives the config that a trajectory is replayed under. What a trajectory
// says is final and takes no time, so nothing is tried again, no timeout and no
// deadline applies, and the calls of a batch run at once: time, retry.max and
// model_retry.max are zero, and so is parallel.max, which could change nothing
// else. Limits, the error limit, detectors and history stay as they are. Money is
// not recorded, and tokens only in HTTP traffic: elsewhere their limits never
// trip.
func Offline(cfg loop.Config) loop.Config {
	cfg.Time = loop.Time{}
	cfg.Retry.Max, cfg.ModelRetry.Max, cfg.Parallel.Max = 0, 0, 0
	return cfg
}

// Replay plays each trajectory under each variant, made [Offline], and hands the
// results to each, in the order of trajectories and then variants, from one
// goroutine. workers is the number of replays at work at once, 0 = one a
// processor; it changes nothing that can be seen. It stops at the first error
// of each, when ctx ends, and at a variant that is no valid config, and returns
// that error; the results handed over stand. See [Play] for what a result says.
func Replay(ctx context.Context, trajectories []*Trajectory, variants []scenarios.Variant, workers int, each func(*scenarios.Result) error) error {
	type job struct {
		trajectory *Trajectory
		variant    scenarios.Variant
	}
	jobs := func(yield func(job) bool) {
		for _, t := range trajectories {
			for _, v := range variants {
				if !yield(job{t, v}) {
					return
				}
			}
		}
	}
	play := func(ctx context.Context, j job) (*scenarios.Result, error) {
		r, _, err := Play(ctx, j.trajectory, j.variant)
		return r, err
	}
	return inorder.Run(ctx, inorder.Options{Workers: workers}, jobs, play, each)
}

// Play replays one trajectory under one variant, made [Offline], and gives its
// results line and its trace.
//
// The line's label is healthy where the trajectory says success, runaway where
// it says failure, and empty where it says nothing. Nothing is judged. Its end
// state is that of the run that a rule stopped, else that of the last run, and
// RECORDING_ENDED where a rule tripped when nothing recorded was left for it to
// prevent. Saved counts the recorded calls that did not run because a rule
// stopped the session or refused them, answered or not; WentOn says that a
// stopped session had a call among them, name and arguments, that had not run
// before.
//
// The error is that of the config, or of ctx. A panic below makes the verdict
// inconclusive.
func Play(ctx context.Context, r *Trajectory, v scenarios.Variant) (result *scenarios.Result, trace loop.Trace, err error) {
	w := newWorld(r)
	m, err := loop.New(Offline(v.Config), w.task(), w.tools())
	if err != nil {
		return nil, nil, fmt.Errorf("variant %s: %w", v.Name, err)
	}
	defer func() {
		if p := recover(); p != nil {
			result, err = w.result(v.Name), nil
			result.Verdict = scenarios.Inconclusive
			result.Findings = append(result.Findings, scenarios.Finding{Rule: "panic", Message: fmt.Sprint(p)})
		}
	}()
	if _, err := loop.Run(ctx, m, loop.Recording(w, &trace)); err != nil {
		return nil, trace, err
	}
	return w.result(v.Name), trace, nil
}

// result is the session's results line.
func (w *world) result(variant string) *scenarios.Result {
	r := &scenarios.Result{
		Type:     "trial",
		Suite:    w.traj.File,
		Scenario: w.traj.ID(),
		Label:    w.traj.Label.ofScenario(),
		Variant:  variant,
		Verdict:  scenarios.Unjudged,
		Findings: []scenarios.Finding{},
		Golden:   "off",
		ToolMS:   []scenarios.Latency{}, // time stands still
		Codes:    w.codes,
		File:     w.traj.File,
		Line:     w.traj.Line,
		Saved:    len(w.lost),
		WentOn:   w.wentOn(),
	}
	for _, out := range w.outcomes {
		r.Turns += out.Turns
		r.ModelCalls += out.ModelCalls
		r.Asked += out.Asked
		r.Calls += out.Calls
		r.Tries += out.Tries
		r.Errors += out.Errors
		r.Vetoed += out.Vetoed
		r.Nudges += out.Nudges
		r.Invalid += out.Invalid
		r.Stop = out.Stop
	}
	switch {
	case w.stop != nil:
		r.Stop = w.stop.Stop
	case r.Stop != loop.StopDone:
		r.Stop = loop.StopRecordingEnded
	}
	r.EndState = r.Stop.EndState()
	r.SchemaOK = r.Calls // no recorded result has a schema to break
	return r
}

// wentOn reports whether the session was stopped and the trajectory then has a
// call that had not run before.
func (w *world) wentOn() bool {
	if w.stop == nil {
		return false
	}
	ran := map[string]bool{}
	for _, c := range w.executed {
		ran[signature(c)] = true
	}
	for _, c := range w.lost {
		if !ran[signature(c)] {
			return true
		}
	}
	return false
}

func (l Label) ofScenario() scenarios.Label {
	switch l {
	case Success:
		return scenarios.Healthy
	case Failure:
		return scenarios.Runaway
	}
	return ""
}

// signature is what two equal calls have in common.
func signature(c *Call) string {
	canonical, _ := canonicalArgs(c.Args)
	return c.Name + "\x00" + canonical
}

// canonicalArgs gives arguments as JSON with sorted keys, and "" as the empty
// object. It leaves what is no JSON as it is, and says so.
func canonicalArgs(args string) (string, bool) {
	if strings.TrimSpace(args) == "" {
		return "{}", true
	}
	if !json.Valid([]byte(args)) {
		return args, false
	}
	d := json.NewDecoder(strings.NewReader(args))
	d.UseNumber()
	var value any
	if d.Decode(&value) != nil {
		return args, false
	}
	canonical, err := json.Marshal(value)
	if err != nil {
		return args, false
	}
	return string(canonical), true
}
