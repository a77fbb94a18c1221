package trajectories

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/agentbench-go/agentbench/internal/inorder"
	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/scenarios"
)

// Offline returns the config that a trajectory is replayed under. What is recorded
// is final and takes no time, so time, retry.max and model_retry.max are zero:
// nothing is retried, and timeouts and deadlines never apply. So is parallel.max:
// the calls of a batch run at once. The within of detectors is not judged: they
// count as if each repetition came in time. Limits, the error limit, detectors and
// history stay. Cost is not recorded, and tokens only in HTTP traffic; elsewhere their
// limits never trip. A trajectory with times keeps time.run and within.
func Offline(cfg loop.Config) loop.Config {
	cfg.Time = loop.Time{}
	cfg.Retry.Max, cfg.ModelRetry.Max, cfg.Parallel.Max = 0, 0, 0
	cfg.Detectors = slices.Clone(cfg.Detectors)
	for i := range cfg.Detectors {
		cfg.Detectors[i].Within = 0
	}
	return cfg
}

// Replay replays each trajectory under each variant, made [Offline]. It calls each
// with every result, in the order of trajectories and then variants, in the
// calling goroutine. workers is the number of replays at once, 0 = one a
// processor; it does not change the results. Of trajectories it takes a few for each
// worker ahead of the results, and keeps none. Replay stops at the first error of
// each, at an invalid config and when ctx ends, and returns that error. [Play]
// explains a result.
func Replay(ctx context.Context, trajectories iter.Seq[*Trajectory], variants []scenarios.Variant, workers int, each func(*scenarios.Result) error) error {
	type job struct {
		trajectory *Trajectory
		variant    scenarios.Variant
	}
	jobs := func(yield func(job) bool) {
		for t := range trajectories {
			for _, v := range variants {
				if !yield(job{t, v}) {
					return
				}
			}
		}
	}
	play := func(ctx context.Context, j job) (*scenarios.Result, error) {
		return Outcome(ctx, j.trajectory, j.variant)
	}
	return inorder.Run(ctx, inorder.Options{Workers: workers}, jobs, play, each)
}

// Play replays one trajectory under one variant, made [Offline] and without what the
// trajectory does not hold ([Trajectory.NotJudged]), and returns its result and its
// trace.
//
// A trajectory labelled success is healthy and one labelled failure a runaway, but
// nothing is judged. The end state is that of the run that a rule stopped, else
// that of the last run. It is RECORDING_ENDED where a rule tripped when nothing
// recorded was left to prevent. A call that the recording ends before the answer of is
// neither an error nor a success. Saved counts the recorded calls, answered or not,
// that did not run because a rule stopped the session or refused them. WentOn says
// that one of them is a new call of a stopped session: no call with its name and
// arguments had run before.
//
// What happened in turns that belong to another run ([Trajectory.Shared]) is not counted,
// but a rule may have stopped the run there.
//
// The error is that of the config or of ctx. After a panic the verdict is
// inconclusive.
func Play(ctx context.Context, r *Trajectory, v scenarios.Variant) (result *scenarios.Result, trace loop.Trace, err error) {
	result, err = replayed(ctx, r, v, func(w loop.World) loop.World { return loop.Recording(w, &trace) })
	return result, trace, err
}

// NotRun returns the recorded calls that do not run under a variant, because a rule
// refuses them or stops the run before them: as many as Saved of [Play], but for those in
// turns that belong to another run.
func NotRun(ctx context.Context, r *Trajectory, v scenarios.Variant) ([]*Call, error) {
	w, err := worldAfter(ctx, r, v, untraced)
	if w == nil {
		return nil, err
	}
	return w.lost, err
}

// Outcome is [Play] without the trace, and faster.
func Outcome(ctx context.Context, r *Trajectory, v scenarios.Variant) (*scenarios.Result, error) {
	return replayed(ctx, r, v, untraced)
}

func replayed(ctx context.Context, r *Trajectory, v scenarios.Variant, wrap func(loop.World) loop.World) (*scenarios.Result, error) {
	result, err := replayedWhole(ctx, r, v, wrap)
	if err != nil || r.Shared == 0 {
		return result, err
	}
	before, err := replayedWhole(ctx, r.beginning(), v, untraced)
	if err != nil {
		return nil, err
	}
	less(result, before)
	return result, nil
}

func untraced(w loop.World) loop.World { return w }

// less takes the counts of what happened before from a result.
func less(r, before *scenarios.Result) {
	pairs := []struct{ of, before *int }{
		{&r.Turns, &before.Turns}, {&r.ModelCalls, &before.ModelCalls}, {&r.Asked, &before.Asked}, {&r.Calls, &before.Calls},
		{&r.Tries, &before.Tries}, {&r.Errors, &before.Errors}, {&r.Vetoed, &before.Vetoed}, {&r.Nudges, &before.Nudges},
		{&r.Invalid, &before.Invalid}, {&r.Saved, &before.Saved}, {&r.SchemaOK, &before.SchemaOK},
	}
	for _, p := range pairs {
		*p.of = max(0, *p.of-*p.before)
	}
	for code, n := range before.Codes {
		if r.Codes[code] -= n; r.Codes[code] <= 0 {
			delete(r.Codes, code)
		}
	}
}

// replayedWhole replays a trajectory with the turns that belong to another run.
func replayedWhole(ctx context.Context, r *Trajectory, v scenarios.Variant, wrap func(loop.World) loop.World) (*scenarios.Result, error) {
	w, err := worldAfter(ctx, r, v, wrap)
	var p *panicked
	if err != nil && !errors.As(err, &p) {
		return nil, err
	}
	result := w.result(v.Name)
	if p != nil {
		result.Verdict = scenarios.Inconclusive
		result.Findings = append(result.Findings, scenarios.Finding{Rule: "panic", Message: fmt.Sprint(p.value)})
	}
	return result, nil
}

// A panicked replay has panicked.
type panicked struct{ value any }

func (p *panicked) Error() string { return fmt.Sprintf("panic: %v", p.value) }

// worldAfter replays a trajectory, and returns the world as it is at the end.
func worldAfter(ctx context.Context, r *Trajectory, v scenarios.Variant, wrap func(loop.World) loop.World) (w *world, err error) {
	w = newWorld(r)
	cfg, blind := r.judged(v.Config)
	w.blind = blind
	m, err := loop.New(cfg, w.task(), w.tools())
	if err != nil {
		return nil, fmt.Errorf("variant %s: %w", v.Name, err)
	}
	defer func() {
		if p := recover(); p != nil {
			err = &panicked{p}
		}
	}()
	_, err = loop.Run(ctx, m, wrap(w))
	return w, err
}

// Stopped replays as [Outcome] does. It returns only whether a rule stopped the run or
// refused calls of it, and how many recorded calls did not run for that; it is for very
// many variants.
func Stopped(ctx context.Context, r *Trajectory, v scenarios.Variant) (stopped bool, saved int, err error) {
	w, err := worldAfter(ctx, r, v, untraced)
	if err != nil {
		return false, 0, err
	}
	saved = len(w.lost)
	if r.Shared > 0 && saved > 0 {
		before, err := worldAfter(ctx, r.beginning(), v, untraced)
		if err != nil {
			return false, 0, err
		}
		saved -= len(before.lost)
	}
	return w.stop != nil || saved > 0, saved, nil
}

// result returns the result of the session.
func (w *world) result(variant string) *scenarios.Result {
	r := &scenarios.Result{
		Type:     "trial",
		Suite:    w.traj.suite(),
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
	for _, b := range w.blind {
		r.NotJudged = append(r.NotJudged, b.String())
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
	r.Errors -= w.unanswered
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

// wentOn reports whether the session was stopped and the trajectory goes on to a
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

// suite returns the set of runs that a trajectory counts in: its corpus or its file.
func (r *Trajectory) suite() string {
	if r.Corpus != nil {
		return r.Corpus.Name
	}
	return r.File
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

// signature returns a text that is the same for equal calls.
func signature(c *Call) string {
	canonical, _ := canonicalArgs(c.Args)
	return c.Name + "\x00" + canonical
}

// canonicalArgs returns arguments as JSON with sorted keys, "" as the empty object,
// and reports whether they are JSON. Any other text is returned unchanged.
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
