package tune

import (
	"context"
	"slices"

	"github.com/agentbench-go/agentbench/cassettes/trajectories"
	"github.com/agentbench-go/agentbench/internal/inorder"
	"github.com/agentbench-go/agentbench/scenarios"
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
	known := factsOf(t)
	quiet := "" // the family whose last rule stopped nothing
	for i, r := range rules {
		if r.above && r.Family == quiet || known.quiet(&r.Config) {
			continue
		}
		var err error
		if out[i], err = replayed(ctx, t, r.Variant()); err != nil {
			return nil, err
		}
		if quiet = ""; !out[i].Stopped && r.above {
			quiet = r.Family
		}
	}
	return out, nil
}

func replayed(ctx context.Context, t *trajectories.Trajectory, v scenarios.Variant) (Stop, error) {
	stopped, saved, err := trajectories.Stopped(ctx, t, v)
	return Stop{stopped, int32(saved)}, err
}

// Replay replays the runs, which are those of [Measure], under both rules of the choice
// together. Until then its figures take for granted that two rules do what the earlier
// of the two does alone.
func (m *Measured) Replay(ctx context.Context, runs []*trajectories.Trajectory, c *Choice, workers int) error {
	v := c.Best.Variant("tuned")
	stops := make([]Stop, 0, len(runs))
	err := inorder.Run(ctx, inorder.Options{Workers: workers}, slices.Values(runs),
		func(ctx context.Context, t *trajectories.Trajectory) (Stop, error) { return replayed(ctx, t, v) },
		func(s Stop) error {
			stops = append(stops, s)
			return nil
		})
	if err != nil {
		return err
	}
	for i := range c.Frontier {
		if p := &c.Frontier[i]; p.Chosen {
			found := p.Seen
			p.Seen = m.figures(func(run int) Stop { return stops[run] })
			c.Replayed = &Replayed{Runs: len(runs), Differs: found.counts() != p.Seen.counts()}
		}
	}
	return nil
}
