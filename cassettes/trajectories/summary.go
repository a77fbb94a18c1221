package trajectories

import (
	"cmp"
	"slices"

	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/scenarios"
)

// A Summary folds the results of a replay into figures per variant. Its zero
// value is empty.
type Summary struct {
	variants []*VariantSummary
}

// A VariantSummary is what one variant did to the trajectories.
type VariantSummary struct {
	Variant string
	Failed  GroupSummary // trajectories that ended in failure
	Good    GroupSummary // in success
	Others  GroupSummary // without a label
	Stops   []StopSummary
}

// A GroupSummary is what a variant did to the trajectories of one label.
type GroupSummary struct {
	N       int // trajectories
	Stopped int // by a rule
	WentOn  int // of the stopped: went on to a call that had not run before
	Calls   int // recorded calls, of stopped and of other trajectories
	Saved   int // of these: did not run because of the variant
}

// A StopSummary tells how often a rule stopped a trajectory.
type StopSummary struct {
	Stop                 loop.Stop
	Failed, Good, Others int
}

// Add takes a result of [Replay].
func (s *Summary) Add(r *scenarios.Result) {
	v := s.of(r.Variant)
	g, n := &v.Others, func(s *StopSummary) *int { return &s.Others }
	switch r.Label {
	case scenarios.Runaway:
		g, n = &v.Failed, func(s *StopSummary) *int { return &s.Failed }
	case scenarios.Healthy:
		g, n = &v.Good, func(s *StopSummary) *int { return &s.Good }
	}
	g.N++
	g.Calls += r.Calls + r.Invalid + r.Saved
	g.Saved += r.Saved
	if r.WentOn {
		g.WentOn++
	}
	if Stopped(r) {
		g.Stopped++
		*n(v.stop(r.Stop))++
	}
}

// Stopped reports whether a rule stopped the replay: it ended neither as
// recorded nor with its trajectory. The rule prevented something: a recorded
// call, or a later turn, if only the answer.
func Stopped(r *scenarios.Result) bool {
	return r.EndState != loop.Done && r.EndState != loop.RecordingEnded && r.EndState != ""
}

func (s *Summary) of(variant string) *VariantSummary {
	for _, v := range s.variants {
		if v.Variant == variant {
			return v
		}
	}
	v := &VariantSummary{Variant: variant}
	s.variants = append(s.variants, v)
	return v
}

func (v *VariantSummary) stop(stop loop.Stop) *StopSummary {
	for i := range v.Stops {
		if v.Stops[i].Stop == stop {
			return &v.Stops[i]
		}
	}
	v.Stops = append(v.Stops, StopSummary{Stop: stop})
	return &v.Stops[len(v.Stops)-1]
}

// Variants gives the figures, in the order in which the variants came; the
// rules that stopped most come first.
func (s *Summary) Variants() []VariantSummary {
	var all []VariantSummary
	for _, v := range s.variants {
		out := *v
		out.Stops = slices.Clone(v.Stops)
		slices.SortFunc(out.Stops, func(a, b StopSummary) int {
			return cmp.Or(cmp.Compare(b.total(), a.total()), cmp.Compare(a.Stop, b.Stop))
		})
		all = append(all, out)
	}
	return all
}

func (s StopSummary) total() int { return s.Failed + s.Good + s.Others }
