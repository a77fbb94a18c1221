package tune

import (
	"context"
	"slices"

	"github.com/agentbench-go/agentbench/cassettes/trajectories"
	"github.com/agentbench-go/agentbench/internal/inorder"
	"github.com/agentbench-go/agentbench/loop"
)

// A Run is what tune needs to know of a recorded run.
type Run struct {
	Task  int // index of its task
	Label trajectories.Label
	Calls int
}

// A Stop says what a rule does to a run.
type Stop struct {
	Stopped bool  // by the rule, or calls of it were refused and it went on: both are harm to a good run
	Saved   int32 // recorded calls that did not run
}

// earlier returns what two rules together do: the earlier stop leaves out more calls.
func (s Stop) earlier(o Stop) Stop {
	return Stop{s.Stopped || o.Stopped, max(s.Saved, o.Saved)}
}

// Measured are the runs, and what each rule does to each.
type Measured struct {
	Rules []*Rule
	Runs  []Run
	Tasks int
	Stops [][]Stop // by rule and run
}

// Measure replays every run under every rule. It calls progress, in order, with the
// number of runs that are done. workers is as for [trajectories.Replay].
func Measure(ctx context.Context, runs []*trajectories.Trajectory, rules []*Rule, workers int, progress func(done int)) (*Measured, error) {
	m := &Measured{Rules: rules, Stops: make([][]Stop, len(rules))}
	for i := range rules {
		m.Stops[i] = make([]Stop, len(runs))
	}
	tasks := map[string]int{}
	for _, t := range runs {
		r := Run{Task: m.Tasks, Label: t.Label, Calls: t.OwnCalls()}
		if key := t.TaskKey(); key != "" {
			if t.Shape { // numbers of tasks mean something within their file
				key = t.File + "\x00" + key
			}
			if n, known := tasks[key]; known {
				r.Task = n
			} else {
				tasks[key] = m.Tasks
			}
		}
		m.Tasks = max(m.Tasks, r.Task+1)
		m.Runs = append(m.Runs, r)
	}
	n := 0
	err := inorder.Run(ctx, inorder.Options{Workers: workers}, slices.Values(runs),
		func(ctx context.Context, t *trajectories.Trajectory) ([]Stop, error) { return stops(ctx, t, rules) },
		func(stops []Stop) error {
			for i, s := range stops {
				m.Stops[i][n] = s
			}
			n++
			progress(n)
			return nil
		})
	return m, err
}

// stops replays one run under each rule.
func stops(ctx context.Context, t *trajectories.Trajectory, rules []*Rule) ([]Stop, error) {
	out := make([]Stop, len(rules))
	quiet := "" // the family whose last rule stopped nothing
	for i, r := range rules {
		if r.above && r.Family == quiet {
			continue
		}
		result, err := trajectories.Outcome(ctx, t, r.Variant())
		if err != nil {
			return nil, err
		}
		ended := result.EndState == loop.Done || result.EndState == loop.RecordingEnded
		out[i] = Stop{!ended || result.Saved > 0, int32(result.Saved)}
		if quiet = ""; !out[i].Stopped && r.above {
			quiet = r.Family
		}
	}
	return out, nil
}
