package tune

import (
	"context"
	"testing"

	"github.com/agentbench-go/agentbench/cassettes/trajectories"
)

// found counts the seeds in which the planted rule is found, or one that saves at least as
// much and stops at most one good run more.
func found(t *testing.T, l *lab, seeds uint64) (n int) {
	t.Helper()
	for seed := range seeds {
		m := l.measure(t, traffic(seed, 60, 3, planted))
		c := m.Choose(0.01)
		if c.Best == nil {
			t.Logf("seed %d: nothing chosen: %d, %+v", seed, c.Why, c.HeldOut.Saved)
			continue
		}
		weights := func(name string) (good, saved int) {
			f := m.figures(m.stopsOf(m.named(t, name)))
			return f.GoodStopped, f.SavedCalls
		}
		good, saved := weights(c.Best.Name())
		wantGood, wantSaved := weights("same call in a row 4")
		if good <= wantGood+1 && saved >= wantSaved {
			n++
		} else {
			t.Logf("seed %d: %s saves %d, planted %d", seed, c.Best.Name(), saved, wantSaved)
		}
	}
	return n
}

// named returns the candidate with a name.
func (m *Measured) named(t *testing.T, name string) pair {
	t.Helper()
	for _, p := range m.candidates() {
		if m.candidate(p).Name() == name {
			return p
		}
	}
	t.Fatalf("there is no candidate %s", name)
	return pair{}
}

// promised counts the seeds in which something is chosen although there is nothing to
// choose by.
func promised(t *testing.T, l *lab, seeds uint64) (n int) {
	t.Helper()
	for seed := range seeds {
		if c := l.measure(t, traffic(seed, 60, 3, alike)).Choose(0.01); c.Best != nil {
			n++
			t.Logf("seed %d: %s saves %+v, stops %+v", seed, c.Best.Name(), c.HeldOut.Saved, c.HeldOut.Good)
		}
	}
	return n
}

// bias returns the mean difference between the held-out figures of choices and what the
// same choices do to fresh tasks: of calls saved, and of good runs stopped.
func bias(t *testing.T, l *lab, seeds uint64, tasks int) (saved, stopped float64) {
	t.Helper()
	fresh := l.measure(t, traffic(1_000_000, tasks, 3, mixed))
	known := map[string]Figures{}
	figures := func(c Candidate) Figures {
		if c.First == nil {
			return Figures{} // it chose nothing, which does nothing
		}
		if _, seen := known[c.Name()]; !seen {
			known[c.Name()] = fresh.plain(fresh.named(t, c.Name()))
		}
		return known[c.Name()]
	}
	for seed := range seeds {
		c := l.measure(t, traffic(seed, 40, 3, mixed)).Choose(0.05)
		saved += c.HeldOut.Saved.Value / float64(seeds)
		stopped += c.HeldOut.Good.Value / float64(seeds)
		for _, picked := range c.Picked {
			f := figures(picked)
			saved -= f.Saved.Value / float64(len(c.Picked)) / float64(seeds)
			stopped -= f.Good.Value / float64(len(c.Picked)) / float64(seeds)
		}
	}
	return saved, stopped
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

// A few seeds of the simulations; the tag figures runs them all (figures_test.go).
func TestPlanted(t *testing.T) {
	if testing.Short() {
		t.Skip("a simulation: the short form leaves it out")
	}
	l := newLab(t)
	if n := found(t, l, 4); n != 4 {
		t.Errorf("the planted optimum is found in %d of 4 seeds", n)
	}
	if n := promised(t, l, 8); n > 0 {
		t.Errorf("a false promise in %d of 8 seeds", n)
	}
	const limit = 0.02 // four standard errors of the mean of so few
	if saved, stopped := bias(t, l, 16, 800); max(saved, -saved, stopped, -stopped) > limit {
		t.Errorf("biased: saved %.4f, good stopped %.4f", saved, stopped)
	}
	c := l.measure(t, traffic(1, 3, 30, planted)).Choose(0.01)
	if c.Best != nil || c.Why != TooFewTasks || c.GoodTasks != 3 {
		t.Errorf("chose %v because of %d on %d tasks", c.Best, c.Why, c.GoodTasks)
	}
	// 1 − 0.05^(1/3) = 0.632.
	if p := Promise(3); p < 0.631 || p > 0.633 {
		t.Errorf("3 tasks promise %v", p)
	}
}

// The choice replayed as a whole does what the earlier of its rules does; other figures
// are told, and replace those of the fold.
func TestReplayOfTheChoice(t *testing.T) {
	l := newLab(t)
	drawn := traffic(1, 60, 3, planted)
	m := l.measure(t, drawn)
	c := m.Choose(0.01)
	if c.Best == nil {
		t.Fatal("nothing is chosen")
	}
	runs := make([]*trajectories.Trajectory, len(drawn))
	for i, r := range drawn {
		runs[i] = r.trajectory()
	}
	if err := m.Replay(context.Background(), runs, c, 0); err != nil || c.Replayed == nil || c.Replayed.Differs {
		t.Errorf("replayed %+v, %v", c.Replayed, err)
	}
	for i := range c.Frontier {
		if c.Frontier[i].Chosen {
			c.Frontier[i].Seen.SavedCalls++
		}
	}
	if err := m.Replay(context.Background(), runs, c, 0); err != nil || !c.Replayed.Differs {
		t.Errorf("a figure that is one off is not told: %+v, %v", c.Replayed, err)
	}
}
