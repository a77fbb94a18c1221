package tune

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/agentbench-go/agentbench/cassettes/trajectories"
	"github.com/agentbench-go/agentbench/reports/stats"
)

// Figures say what a candidate does. The unit is the task: Good is the mean over tasks of
// the share of their good runs that are stopped, Saved the share of the calls of failed
// runs, its interval drawn from tasks.
type Figures struct {
	Good, Saved stats.Interval
	Lost        float64 // share of the calls of good runs
	GoodStopped, Goods, FailedStopped, Faileds,
	SavedCalls, FailedCalls, LostCalls, GoodCalls int
}

// counts returns what the figures are made of.
func (f *Figures) counts() [4]int {
	return [...]int{f.GoodStopped, f.FailedStopped, f.SavedCalls, f.LostCalls}
}

// A Point is a candidate of the frontier: no other saves more and stops fewer good runs.
// Its figures are seen: they are from the runs among which it was found.
type Point struct {
	Candidate
	Seen   Figures
	Chosen bool
}

// A Choice is the answer.
type Choice struct {
	Budget              float64
	Runs, Tasks         int
	Failed, Good, Other int
	GoodTasks, Folds    int

	Best     *Candidate // nil = nothing is chosen
	Why      Why
	HeldOut  Figures     // of the choices made without the tasks that they are measured on
	Picked   []Candidate // what each fold chose, best first; the zero Candidate = nothing
	Frontier []Point
	Replayed *Replayed // what [Measured.Replay] found; nil = not called
}

// Replayed says what a replay of the choice as a whole found.
type Replayed struct {
	Runs    int
	Differs bool // the figures of the choice are not those of its two rules, the earlier counting
}

// A Why says why something or nothing is chosen.
type Why uint8

// The reasons.
const (
	Helps       Why = iota
	NothingFits     // no candidate keeps the budget and saves anything
	NoGain          // the held-out gain is too small or not certain
	OverBudget      // the held-out share of good runs stopped is above the budget
	TooFewTasks     // fewer than MinTasks tasks have good runs
	NoFailed        // no failed run
	NoGood          // no good run
	NoLabels        // no run has a label
)

// MinTasks is how many tasks with good runs a choice needs.
const MinTasks = 10

// minGain is the smallest held-out share of calls saved that counts as help.
const minGain = 0.01

// Promise returns the share of good tasks that n tasks without a stop cannot exclude,
// with 95 % confidence: 1 − 0.05^(1/n).
func Promise(n int) float64 { return 1 - math.Pow(0.05, 1/float64(max(1, n))) }

// sums are what a candidate does to the tasks of one fold.
type sums struct {
	share, tasks float64 // of good tasks: the sum of their shares stopped, and their number
	saved, calls float64 // of failed runs
}

// A weight is what one run adds to the sums of its fold.
type weight struct {
	good   float64 // 1 / good runs of its task, 0 if it is not good
	failed float64 // 1 if it failed
	fold   int
}

// Choose picks a candidate within a budget: the largest share of good runs that may be
// stopped.
func (m *Measured) Choose(budget float64) *Choice {
	c := &Choice{Budget: budget, Runs: len(m.Runs), Tasks: m.Tasks, Folds: min(5, m.Tasks)}
	goods := make([]int, m.Tasks)
	for _, r := range m.Runs {
		switch r.Label {
		case trajectories.Success:
			c.Good++
			goods[r.Task]++
		case trajectories.Failure:
			c.Failed++
		default:
			c.Other++
		}
	}
	for _, n := range goods {
		if n > 0 {
			c.GoodTasks++
		}
	}
	if c.Good+c.Failed == 0 {
		c.Why = NoLabels
		return c
	}
	weights, base := m.weights(goods, c.Folds)
	candidates := m.candidates()
	all := make([][]sums, len(candidates))
	for i, pair := range candidates {
		all[i] = m.sums(pair, weights, base)
	}
	c.Frontier = m.frontier(candidates, all)
	switch {
	case c.Good == 0:
		c.Why = NoGood
		return c
	case c.GoodTasks < MinTasks:
		c.Why = TooFewTasks
		return c
	case c.Failed == 0:
		c.Why = NoFailed
		return c
	}
	m.crossValidate(c, candidates, all, weights)
	best := pick(all, budget, -1)
	switch {
	case best < 0:
		c.Why = NothingFits
	case c.HeldOut.Good.Value > budget:
		c.Why = OverBudget
	case !(c.HeldOut.Saved.Value >= minGain && c.HeldOut.Saved.Lower > 0):
		c.Why = NoGain
	default:
		chosen := m.candidate(candidates[best])
		c.Best = &chosen
		for i := range c.Frontier {
			c.Frontier[i].Chosen = c.Frontier[i].Candidate == chosen
		}
		if !slices.ContainsFunc(c.Frontier, func(p Point) bool { return p.Chosen }) {
			c.Frontier = append(c.Frontier, Point{chosen, m.figures(m.stopsOf(candidates[best])), true})
		}
	}
	return c
}

// weights puts the tasks into folds, the same on every machine, and returns what each run
// adds and what the folds hold before any stop.
func (m *Measured) weights(goods []int, folds int) ([]weight, []sums) {
	foldOf := make([]int, m.Tasks)
	for i, task := range rand.New(rand.NewPCG(1, 2)).Perm(m.Tasks) {
		foldOf[task] = i % folds
	}
	base := make([]sums, folds)
	for task, n := range goods {
		if n > 0 {
			base[foldOf[task]].tasks++
		}
	}
	out := make([]weight, len(m.Runs))
	for i, r := range m.Runs {
		w := weight{fold: foldOf[r.Task]}
		switch r.Label {
		case trajectories.Success:
			w.good = 1 / float64(goods[r.Task])
		case trajectories.Failure:
			w.failed = 1
			base[w.fold].calls += float64(r.Calls)
		}
		out[i] = w
	}
	return out, base
}

// A pair holds the indices of two rules; the second is -1 for one rule.
type pair struct{ first, second int }

// candidates returns the single rules, then all pairs of two families, then the presets.
func (m *Measured) candidates() (out []pair) {
	for i, r := range m.Rules {
		if r.Family != "" {
			out = append(out, pair{i, -1})
		}
	}
	for i, a := range m.Rules {
		for j := i + 1; j < len(m.Rules); j++ {
			if b := m.Rules[j]; a.Family != "" && b.Family != "" && a.Family != b.Family {
				out = append(out, pair{i, j})
			}
		}
	}
	for i, r := range m.Rules {
		if r.Family == "" {
			out = append(out, pair{i, -1})
		}
	}
	return out
}

func (m *Measured) candidate(p pair) Candidate {
	if p.second < 0 {
		return Candidate{First: m.Rules[p.first]}
	}
	return Candidate{m.Rules[p.first], m.Rules[p.second]}
}

// stopsOf returns what a candidate does, by run.
func (m *Measured) stopsOf(p pair) func(run int) Stop {
	return func(run int) Stop { return m.stop(p, run) }
}

// stop returns what a candidate does to a run; none does nothing.
func (m *Measured) stop(p pair, run int) Stop {
	if p.first < 0 {
		return Stop{}
	}
	s := m.Stops[p.first][run]
	if p.second >= 0 {
		s = s.earlier(m.Stops[p.second][run])
	}
	return s
}

func (m *Measured) sums(p pair, weights []weight, base []sums) []sums {
	out := slices.Clone(base)
	for i := range weights {
		w := &weights[i]
		s := m.stop(p, i)
		if s.Stopped {
			out[w.fold].share += w.good
		}
		out[w.fold].saved += w.failed * float64(s.Saved)
	}
	return out
}

// total adds up the sums of all folds but one; -1 = of all.
func total(folds []sums, without int) (t sums) {
	for i, s := range folds {
		if i != without {
			t.share += s.share
			t.tasks += s.tasks
			t.saved += s.saved
			t.calls += s.calls
		}
	}
	return t
}

// slack absorbs the rounding of sums of shares.
const slack = 1e-9

// pick returns the candidate that saves most within the budget on all folds but one; of
// equal ones that with fewer good runs stopped, then the first; -1 if none saves anything.
func pick(all [][]sums, budget float64, without int) int {
	best, bestSaved, bestShare := -1, 0.0, 0.0
	for i := range all {
		t := total(all[i], without)
		if t.share > budget*t.tasks+slack || t.saved <= 0 {
			continue
		}
		if best < 0 || t.saved > bestSaved || t.saved == bestSaved && t.share < bestShare-slack {
			best, bestSaved, bestShare = i, t.saved, t.share
		}
	}
	return best
}

// crossValidate makes the choice without each fold in turn, and measures it there.
func (m *Measured) crossValidate(c *Choice, candidates []pair, all [][]sums, weights []weight) {
	none := pair{-1, -1}
	byFold := make([]pair, c.Folds)
	for f := range byFold {
		byFold[f] = none
		chosen := Candidate{}
		if best := pick(all, c.Budget, f); best >= 0 {
			byFold[f] = candidates[best]
			chosen = m.candidate(candidates[best])
		}
		c.Picked = append(c.Picked, chosen)
	}
	c.HeldOut = m.figures(func(run int) Stop { return m.stop(byFold[weights[run].fold], run) })
}

// figures returns what stops, one for each run, do.
func (m *Measured) figures(of func(run int) Stop) Figures {
	type task struct{ stopped, goods, saved, failed float64 }
	var f Figures
	tasks := make([]task, m.Tasks)
	for i, r := range m.Runs {
		s := of(i)
		t := &tasks[r.Task]
		stopped := 0
		if s.Stopped {
			stopped = 1
		}
		switch r.Label {
		case trajectories.Success:
			f.Goods++
			f.GoodStopped += stopped
			f.LostCalls += int(s.Saved)
			f.GoodCalls += r.Calls
			t.goods++
			t.stopped += float64(stopped)
		case trajectories.Failure:
			f.Faileds++
			f.FailedStopped += stopped
			f.SavedCalls += int(s.Saved)
			f.FailedCalls += r.Calls
			t.saved += float64(s.Saved)
			t.failed += float64(r.Calls)
		}
	}
	var shares []float64
	var trials []int
	for _, t := range tasks {
		if t.goods > 0 {
			shares, trials = append(shares, t.stopped/t.goods), append(trials, int(t.goods))
		}
	}
	f.Good = stats.WilsonUnits(shares, trials)
	f.Saved = stats.Bootstrap(len(tasks), 500, 1, func(weight []float64) float64 {
		var saved, failed float64
		for i, w := range weight {
			saved += w * tasks[i].saved
			failed += w * tasks[i].failed
		}
		return saved / failed
	})
	f.Lost = float64(f.LostCalls) / float64(f.GoodCalls)
	return f
}

// mostPoints bounds the frontier that is shown.
const mostPoints = 24

// frontier returns the candidates that no other beats: none saves as much with fewer good
// runs stopped, and none saves more with as few.
func (m *Measured) frontier(candidates []pair, all [][]sums) (points []Point) {
	type seen struct {
		i            int
		share, saved float64
	}
	var order []seen
	for i := range all {
		t := total(all[i], -1)
		if t.saved > 0 {
			order = append(order, seen{i, t.share, t.saved})
		}
	}
	slices.SortStableFunc(order, func(a, b seen) int {
		switch {
		case a.share < b.share-slack:
			return -1
		case a.share > b.share+slack:
			return 1
		case a.saved > b.saved:
			return -1
		case a.saved < b.saved:
			return 1
		}
		return a.i - b.i
	})
	best := 0.0
	for _, s := range order {
		if s.saved > best && len(points) < mostPoints {
			best = s.saved
			points = append(points, Point{Candidate: m.candidate(candidates[s.i]), Seen: m.figures(m.stopsOf(candidates[s.i]))})
		}
	}
	return points
}

// Shares returns, for each rule, how many runs it stops; for runs without labels.
func (m *Measured) Shares() []int {
	out := make([]int, len(m.Rules))
	for i := range m.Rules {
		for _, s := range m.Stops[i] {
			if s.Stopped {
				out[i]++
			}
		}
	}
	return out
}
