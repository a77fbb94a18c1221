package probe

import (
	"context"
	"fmt"
	"slices"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/scenarios"
)

// A BoundaryError says why no boundary can be found.
type BoundaryError struct {
	Problem string
	Usage   bool // the scenario has none
}

func (e *BoundaryError) Error() string { return e.Problem }

// Boundary returns how often the endless step of a scenario must be repeated until the
// agent stops: one time less, it comes to its end. 0 = it is not stopped within most
// times. It needs about log2(most) trials and tells each of them.
func (a *Agent) Boundary(ctx context.Context, s *scenarios.Scenario, own *Tool, seed uint64, most int, each func(n int, r *scenarios.Result)) (int, error) {
	at := slices.IndexFunc(s.Script.Model, func(step fakes.Step) bool {
		return step.Repeat == fakes.Forever && step.When == fakes.WhenAlways && step.State == ""
	})
	if at < 0 {
		return 0, &BoundaryError{fmt.Sprintf("%s has no step that repeats forever", s.ID()), true}
	}
	stopped := func(n int) (bool, error) {
		saw, err := a.trial(ctx, repeated(s, at, n), seed, own)
		if err != nil {
			return false, err
		}
		if ctx.Err() != nil {
			return false, context.Cause(ctx)
		}
		r := new(Plan).result(saw, a.Scratch)
		each(n, r)
		if r.Verdict == scenarios.Inconclusive {
			return false, &BoundaryError{fmt.Sprintf("with %d repetitions: %s", n, r.Findings[0].Message), false}
		}
		return r.Verdict == scenarios.Fail, nil
	}
	low, high := 0, most // low comes to its end, high is stopped
	if is, err := stopped(most); err != nil || !is {
		return 0, err
	}
	for high-low > 1 {
		n := (low + high) / 2
		is, err := stopped(n)
		if err != nil {
			return 0, err
		}
		if is {
			high = n
		} else {
			low = n
		}
	}
	return high, nil
}

// repeated returns a healthy scenario that does the same n times, and then answers.
func repeated(s *scenarios.Scenario, at, n int) *scenarios.Scenario {
	out := *s
	out.Label = scenarios.Healthy
	step := s.Script.Model[at]
	step.Repeat = n
	out.Script.Model = append(slices.Clone(s.Script.Model[:at]), step, fakes.Step{Text: "That is all."})
	return &out
}
