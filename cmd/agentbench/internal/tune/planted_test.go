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

// traffic draws runs of tasks: each has some new calls, then one call again and again as
// often as repeats says, then some new calls.
func traffic(seed uint64, tasks, trials int, repeats func(good bool, rng *rand.Rand) int) []*trajectories.Trajectory {
	rng := rand.New(rand.NewPCG(seed, 7))
	var lines strings.Builder
	for task := 1; task <= tasks; task++ {
		for range trials {
			good := rng.IntN(2) == 0
			outcome, next := "failure", 2
			if good {
				outcome = "success"
			}
			fmt.Fprintf(&lines, "1 %s task=%d u", outcome, task)
			fresh := func(n int) {
				for range n {
					fmt.Fprintf(&lines, " a%d=%d", next, next)
					next++
				}
			}
			fresh(1 + rng.IntN(6))
			for range repeats(good, rng) {
				lines.WriteString(" b1=1")
			}
			fresh(1 + rng.IntN(6))
			lines.WriteString(" .\n")
		}
	}
	runs, err := shapes.Parse([]byte(lines.String()))
	if err != nil {
		panic(err)
	}
	return trajectories.FromShapes(runs)
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

// measure replays runs under the single rules, and the presets if seed is 0.
func measure(t *testing.T, seed uint64, runs []*trajectories.Trajectory) *Measured {
	t.Helper()
	rules := Candidates(false, false)
	if seed == 0 {
		presets, err := Presets()
		if err != nil {
			t.Fatal(err)
		}
		rules = append(rules, presets...)
	}
	m, err := Measure(context.Background(), runs, rules, 0, func(int) {})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestFindsAPlantedOptimum(t *testing.T) {
	if testing.Short() {
		t.Skip("a simulation: the short form leaves it out")
	}
	found, seeds := 0, seedsOf(4, 50)
	for seed := range seeds {
		m := measure(t, seed, traffic(seed, 60, 3, planted))
		c := m.Choose(0.01)
		if c.Best == nil {
			t.Logf("seed %d: nothing chosen: %d, %+v", seed, c.Why, c.HeldOut.Saved)
			continue
		}
		best, want := -1, -1
		for i, p := range m.candidates() {
			if m.candidate(p) == *c.Best {
				best = i
			}
			if m.candidate(p).Name() == "same call in a row 4" {
				want = i
			}
		}
		// The rule, or one that saves at least as much and stops no good run more.
		weights := func(i int) (good, saved int) {
			f := m.figures(func(int) pair { return m.candidates()[i] })
			return f.GoodStopped, f.SavedCalls
		}
		good, saved := weights(best)
		wantGood, wantSaved := weights(want)
		if good <= wantGood+1 && saved >= wantSaved {
			found++
		} else {
			t.Logf("seed %d: %s saves %d, planted %d", seed, c.Best.Name(), saved, wantSaved)
		}
	}
	if found*50 < 48*int(seeds) {
		t.Errorf("found in %d of %d seeds", found, seeds)
	}
}

func TestNoDifferenceHelpsNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("a simulation: the short form leaves it out")
	}
	promised, seeds := 0, seedsOf(8, 200)
	for seed := range seeds {
		if c := measure(t, seed, traffic(seed, 60, 3, alike)).Choose(0.01); c.Best != nil {
			promised++
			t.Logf("seed %d: %s saves %+v, stops %+v", seed, c.Best.Name(), c.HeldOut.Saved, c.HeldOut.Good)
		}
	}
	if float64(promised) > 0.05*float64(seeds) {
		t.Errorf("a false promise in %d of %d seeds", promised, seeds)
	}
}

func TestThreeTasksChooseNothing(t *testing.T) {
	c := measure(t, 1, traffic(1, 3, 30, planted)).Choose(0.01)
	if c.Best != nil || c.Why != TooFewTasks || c.GoodTasks != 3 {
		t.Errorf("chose %v because of %d on %d tasks", c.Best, c.Why, c.GoodTasks)
	}
	// 1 − 0.05^(1/3) = 0.632.
	if p := Promise(3); p < 0.631 || p > 0.633 {
		t.Errorf("3 tasks promise %v", p)
	}
}

// The held-out figure of the choices equals, on average, what they do to fresh tasks.
func TestHeldOutIsUnbiased(t *testing.T) {
	if testing.Short() {
		t.Skip("a simulation: the short form leaves it out")
	}
	mixed := func(good bool, rng *rand.Rand) int {
		if good {
			return 1 + rng.IntN(6)
		}
		return 1 + rng.IntN(9)
	}
	var saved, stopped float64
	seeds := seedsOf(16, 200)
	fresh := measure(t, 999, traffic(999, int(seedsOf(800, 5000)), 3, mixed)) // so many tasks
	for seed := range seeds {
		m := measure(t, 1, traffic(seed, 40, 3, mixed))
		c := m.Choose(0.05)
		var savedFresh, stoppedFresh float64
		for _, picked := range c.Picked {
			if picked.First == nil {
				continue
			}
			for _, p := range fresh.candidates() {
				if fresh.candidate(p).Name() == picked.Name() {
					f := fresh.plain(p)
					savedFresh += f.Saved.Value / float64(len(c.Picked))
					stoppedFresh += f.Good.Value / float64(len(c.Picked))
					break
				}
			}
		}
		saved += (c.HeldOut.Saved.Value - savedFresh) / float64(seeds)
		stopped += (c.HeldOut.Good.Value - stoppedFresh) / float64(seeds)
	}
	t.Logf("mean difference over %d seeds: saved %.4f, good stopped %.4f", seeds, saved, stopped)
	limit := 0.01
	if seeds < 200 {
		limit = 0.02 // four standard errors of the mean of so few
	}
	if saved > limit || saved < -limit || stopped > limit || stopped < -limit {
		t.Errorf("biased: saved %.4f, good stopped %.4f", saved, stopped)
	}
}

// plain returns the two rates of a candidate, without intervals.
func (m *Measured) plain(p pair) (f Figures) {
	goods := make([]int, m.Tasks)
	for _, r := range m.Runs {
		if r.Label == trajectories.Success {
			goods[r.Task]++
		}
	}
	weights, base := m.weights(goods, 1)
	s := m.sums(p, weights, base)[0]
	f.Good.Value, f.Saved.Value = s.share/s.tasks, s.saved/s.calls
	return f
}
