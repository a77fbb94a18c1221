package reports

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/reports/stats"
	"github.com/agentbench-go/agentbench/scenarios"
)

// ErrTwice is why a trial is refused that was added before: one scenario, variant and seed.
var ErrTwice = errors.New("appears twice")

// spentMetrics are the metrics of [Spent], in the order of reports.
var spentMetrics = [...]string{SpentCalls, SpentTokens, SpentCost, SpentTime}

// A unit is one scenario (or recorded run) under one variant, and counts once in every
// rate and curve. It keeps a few numbers of each trial.
type unit struct {
	seeds   []uint64 // of its trials, sorted
	unclear int      // trials that could not be judged
	judged  int      // trials that count in the rates
	stopped int      // judged trials that the loop stopped
	caught  int
	touched int // judged trials that were interfered with
	harmed  int // judged trials that were stopped or interfered with
	wentOn  int // stopped trials that went on to a new call
	calls   int // recorded calls of the judged trials of a replay
	notRun  int // recorded calls of them that did not run
	passed  int // trials by their verdict
	failed  int
	verdict scenarios.Verdict            // the worst of its trials
	random  bool                         // another seed may lead to another result
	differ  int                          // trials whose trace differs from its golden
	ends    map[end]int                  // trials by how and when they ended
	harms   map[end]int                  // the same for the curve of harm
	stops   map[ending]int               // trials by their stop
	spent   [len(spentMetrics)][]float64 // for each metric a value for each trial
	first   *example                     // the trial with the lowest seed
	bad     *example                     // the bad trial with the lowest seed, see isBad
}

// An end is how a trial ended, for a survival curve: the calls asked for and the cause.
type end struct{ asked, cause int }

// An ending is an end state and its stop.
type ending struct {
	state loop.EndState
	stop  loop.Stop
}

// An example is a trial that can be shown.
type example struct {
	seed    uint64
	ending  string
	calls   int
	command string
}

func newUnit() *unit {
	return &unit{ends: map[end]int{}, harms: map[end]int{}, stops: map[ending]int{}}
}

// add adds a trial. It fails if the same trial came before.
func (u *unit) add(r *scenarios.Result, repeat func(*scenarios.Result) string) error {
	at, twice := slices.BinarySearch(u.seeds, r.Seed)
	if twice {
		return fmt.Errorf("%s under %s with seed %d %w", quote(r.Scenario), quote(r.Variant), r.Seed, ErrTwice)
	}
	u.seeds = slices.Insert(u.seeds, at, r.Seed)
	u.verdict, u.random = worse(u.verdict, r.Verdict), u.random || r.Random
	if r.Golden == scenarios.GoldenMismatch {
		u.differ++
	}
	switch r.Verdict {
	case scenarios.Pass:
		u.passed++
	case scenarios.Fail:
		u.failed++
	}
	if unclear(r) {
		u.unclear++
		return nil
	}
	u.tally(r)
	u.show(r, repeat)
	return nil
}

// tally adds a trial whose end is known.
func (u *unit) tally(r *scenarios.Result) {
	u.ends[end{asked(r), cause(r)}]++
	u.harms[harm(r)]++
	u.stops[ending{r.EndState, r.Stop}]++
	for i, value := range [...]float64{float64(r.Calls), float64(r.TokensIn + r.TokensOut), r.CostUSD, float64(r.VirtualMS)} {
		u.spent[i] = append(u.spent[i], value)
	}
	if r.EndState == loop.WasCancelled {
		return
	}
	u.judged++
	u.calls += r.Calls + r.Invalid + r.Saved
	u.notRun += r.Saved
	if wasStopped(r) {
		u.stopped++
		if r.WentOn {
			u.wentOn++
		}
	}
	if wasCaught(r) {
		u.caught++
	}
	if r.Interfered() {
		u.touched++
	}
	if wasHarmed(r) {
		u.harmed++
	}
}

// show keeps a trial that a report shows: the first one, and the first bad one.
func (u *unit) show(r *scenarios.Result, repeat func(*scenarios.Result) string) {
	bad := isBad(r)
	first, worst := u.first == nil || r.Seed < u.first.seed, bad && (u.bad == nil || r.Seed < u.bad.seed)
	if !first && !worst {
		return
	}
	e := &example{seed: r.Seed, ending: Ending(r), calls: r.Calls}
	if repeat != nil {
		e.command = repeat(r)
	}
	if first {
		u.first = e
	}
	if worst {
		u.bad = e
	}
}

// isBad reports whether a trial speaks against its variant.
func isBad(r *scenarios.Result) bool {
	switch {
	case r.EndState == loop.WasCancelled:
		return false
	case r.Label == scenarios.Runaway:
		return !wasCaught(r)
	}
	return wasStopped(r) || wasHarmed(r)
}

// outOf is how many trials a metric's share is of.
func (u *unit) outOf(m Metric) int {
	if m == WentOn {
		return u.stopped
	}
	return u.judged
}

// share returns the share of the trials that a metric counts. It is unknown if no trial
// counts.
func (u *unit) share(m Metric) (share float64, known bool) {
	n := u.outOf(m)
	if n == 0 {
		return 0, false
	}
	return float64(u.count(m)) / float64(n), true
}

// count returns the number of trials that a metric counts.
func (u *unit) count(m Metric) int {
	switch m {
	case Caught:
		return u.caught
	case WentOn:
		return u.wentOn
	case Interfered:
		return u.touched
	case Harmed:
		return u.harmed
	}
	return u.stopped
}

// observations returns the trials by their ends as observations of a curve, each with its
// share of the unit as the weight.
func observations(ends map[end]int) []stats.Obs {
	n := 0
	for _, k := range ends {
		n += k
	}
	obs := make([]stats.Obs, 0, len(ends))
	for e, k := range ends {
		obs = append(obs, stats.Obs{Time: float64(e.asked), Cause: e.cause, Weight: float64(k) / float64(n), Trials: k})
	}
	slices.SortFunc(obs, func(a, b stats.Obs) int { return cmp.Or(cmp.Compare(a.Time, b.Time), cmp.Compare(a.Cause, b.Cause)) })
	return obs
}
