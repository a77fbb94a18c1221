package stats

import (
	"cmp"
	"math"
	"slices"
)

// Causes of an observation's end. A cause above [Event] is an event that competes with
// it: an observation that has one can no longer have the other.
const (
	Censored = 0 // the end was not seen: the observation stopped before it
	Event    = 1 // the event that curves and tests are about
)

// An Obs is one observation: something was watched until Time, when Cause
// ended it.
type Obs struct {
	Time   float64 // finite, 0 or more; any unit
	Cause  int     // Censored, Event, or above for competing events
	Weight float64 // its share of a unit; 0 means 1
	Trials int     // number of equal trials of the unit that it represents; 0 means 1
}

// weight returns the observation's weight.
func (o Obs) weight() float64 {
	if o.Weight == 0 {
		return 1
	}
	return o.Weight
}

// ok reports whether the observation is valid.
func (o Obs) ok() bool { return finite(o.Time) && finite(o.Weight) && o.Cause >= 0 }

// Pool returns one list of the trials of all units, in which every unit weighs 1. A
// trial weighs 1/m among the m trials of its unit, or in proportion to their weights.
// The order is that of the units. A unit without trials adds nothing. If a weight is
// invalid, all weights of its unit are NaN.
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

// A moment sums the weights of the observations that end at one time. The weight at
// risk is added up from the end, not subtracted from the start, so that it is exactly 0
// when nothing is left.
type moment struct {
	time     float64
	event    float64 // ended by the requested cause
	other    float64 // ended by another cause
	censored float64
	after    float64 // of observations that end later
}

// atRisk returns the weight at risk just before the moment.
func (m moment) atRisk() float64 { return m.event + m.other + m.censored + m.after }

// moments sums observations by time, in rising order, and separates the cause from
// others. It returns false if an observation is invalid. The sort covers every field,
// so that sums of weights do not depend on the order of the input.
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
