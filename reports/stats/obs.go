package stats

import (
	"cmp"
	"math"
	"slices"
)

// Causes of an observation's end. A cause above [Event] is an event that
// competes with it: who has one can no longer have the other.
const (
	Censored = 0 // the end was not seen: nothing ended it, we stopped looking
	Event    = 1 // the event that curves and tests are about
)

// An Obs is one observation: something was watched until Time, when Cause
// ended it.
type Obs struct {
	Time   float64 // finite, 0 or more; any unit
	Cause  int     // Censored, Event, or above for competing events
	Weight float64 // the share of a unit that it is; 0 stands for 1
}

// weight gives the observation's weight.
func (o Obs) weight() float64 {
	if o.Weight == 0 {
		return 1
	}
	return o.Weight
}

// ok says whether the observation is one that can be computed with.
func (o Obs) ok() bool { return finite(o.Time) && finite(o.Weight) && o.Cause >= 0 }

// Pool puts the trials of all units into one list in which every unit weighs 1:
// a trial weighs 1/m among the m of its unit, or in proportion to the weights
// that they have. The order is the units'. A unit without trials adds nothing;
// one with a weight that cannot be computed with gets weights NaN.
func Pool(units [][]Obs) []Obs {
	var pool []Obs
	for _, unit := range units {
		total := 0.0
		for _, o := range unit {
			total += o.weight()
			if !finite(o.Weight) {
				total = math.NaN()
			}
		}
		for _, o := range unit {
			o.Weight = o.weight() / total
			pool = append(pool, o)
		}
	}
	return pool
}

// A moment sums the weights of the observations that end at one time. What is
// at risk is added up from the end, not subtracted from the start, so that
// nothing left is exactly 0.
type moment struct {
	time     float64
	event    float64 // ended by the cause that was asked for
	other    float64 // ended by another
	censored float64
	after    float64 // end later
}

// atRisk is the weight just before the moment.
func (m moment) atRisk() float64 { return m.event + m.other + m.censored + m.after }

// moments sums observations by time, rising, and tells the cause from others;
// false if one of them cannot be computed with. The sort covers every field, so
// that sums of weights do not depend on the order of the input.
func moments(obs []Obs, cause int) ([]moment, bool) {
	sorted := slices.Clone(obs)
	slices.SortFunc(sorted, func(a, b Obs) int {
		return cmp.Or(cmp.Compare(a.Time, b.Time), cmp.Compare(a.Cause, b.Cause), cmp.Compare(a.Weight, b.Weight))
	})
	var all []moment
	for _, o := range sorted {
		if !o.ok() {
			return nil, false
		}
		if len(all) == 0 || all[len(all)-1].time != o.Time {
			all = append(all, moment{time: o.Time})
		}
		m := &all[len(all)-1]
		switch o.Cause {
		case Censored:
			m.censored += o.weight()
		case cause:
			m.event += o.weight()
		default:
			m.other += o.weight()
		}
	}
	for i := len(all) - 2; i >= 0; i-- {
		all[i].after = all[i+1].atRisk()
	}
	return all, true
}
