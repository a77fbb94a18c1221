package tune

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/agentbench-go/agentbench/cassettes/shapes"
	"github.com/agentbench-go/agentbench/cassettes/trajectories"
)

// A drawn run has some new calls, then one call again and again, then some new calls.
// What a rule does to it depends on nothing else.
type drawn struct{ before, repeats, after int }

// A labelled run belongs to a task.
type labelled struct {
	drawn
	task int
	good bool
}

// traffic draws the runs of tasks: each repeats its call as often as repeats says.
func traffic(seed uint64, tasks, trials int, repeats func(good bool, rng *rand.Rand) int) (runs []labelled) {
	rng := rand.New(rand.NewPCG(seed, 7))
	for task := range tasks {
		for range trials {
			good := rng.IntN(2) == 0
			runs = append(runs, labelled{drawn{1 + rng.IntN(6), repeats(good, rng), 1 + rng.IntN(6)}, task, good})
		}
	}
	return runs
}

// planted has an optimum: good runs repeat a call at most 3 times, most failed ones 7
// times, so that a stop at 4 in a row takes most.
func planted(good bool, rng *rand.Rand) int {
	switch {
	case good:
		return 1 + rng.IntN(3)
	case rng.IntN(4) == 0:
		return 1 + rng.IntN(3)
	}
	return 7
}

// alike has no difference between good and failed runs.
func alike(_ bool, rng *rand.Rand) int { return 1 + rng.IntN(8) }

// mixed has good runs that repeat less, and none that a rule tells apart.
func mixed(good bool, rng *rand.Rand) int {
	if good {
		return 1 + rng.IntN(6)
	}
	return 1 + rng.IntN(9)
}

// trajectory returns the run, replayable.
func (d drawn) trajectory() *trajectories.Trajectory {
	var line strings.Builder
	line.WriteString("1 unknown u")
	next := 2
	fresh := func(n int) {
		for range n {
			fmt.Fprintf(&line, " a%d=%d", next, next)
			next++
		}
	}
	fresh(d.before)
	line.WriteString(strings.Repeat(" b1=1", d.repeats))
	fresh(d.after)
	line.WriteString(" .\n")
	runs, err := shapes.Parse([]byte(line.String()))
	if err != nil {
		panic(err)
	}
	return trajectories.FromShapes(runs)[0]
}

// A lab measures drawn runs. It replays each kind of run once, whatever the seed.
type lab struct {
	rules []*Rule
	known map[drawn]int // the column of stops
	stops [][]Stop      // by rule
}

func newLab(t *testing.T) *lab {
	t.Helper()
	presets, err := Presets()
	if err != nil {
		t.Fatal(err)
	}
	l := &lab{rules: append(Candidates(false, false), presets...), known: map[drawn]int{}}
	l.stops = make([][]Stop, len(l.rules))
	return l
}

// measure returns what [Measure] returns of the runs.
func (l *lab) measure(t *testing.T, runs []labelled) *Measured {
	t.Helper()
	var more []*trajectories.Trajectory
	for _, r := range runs {
		if _, known := l.known[r.drawn]; !known {
			l.known[r.drawn] = len(l.known)
			more = append(more, r.trajectory())
		}
	}
	found, err := Measure(context.Background(), more, l.rules, 0, func(int) {})
	if err != nil {
		t.Fatal(err)
	}
	for i := range l.stops {
		l.stops[i] = append(l.stops[i], found.Stops[i]...)
	}
	m := &Measured{Rules: l.rules, Stops: make([][]Stop, len(l.rules))}
	for _, r := range runs {
		label := trajectories.Failure
		if r.good {
			label = trajectories.Success
		}
		m.Runs = append(m.Runs, Run{Task: r.task, Label: label, Calls: r.before + r.repeats + r.after})
		m.Tasks = max(m.Tasks, r.task+1)
		for i := range l.stops {
			m.Stops[i] = append(m.Stops[i], l.stops[i][l.known[r.drawn]])
		}
	}
	return m
}
