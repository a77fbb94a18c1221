package stats

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
)

// A source draws numbers that depend on its seed alone: SplitMix64 (Steele, Lea
// and Flood 2014, OOPSLA).
type source uint64

func (s *source) next() uint64 {
	*s += 0x9e3779b97f4a7c15
	x := uint64(*s)
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// below draws from 0 to n−1. That some come up more often than others, by n in
// 2⁶⁴, is no matter here.
func (s *source) below(n int) int {
	high, _ := bits.Mul64(s.next(), uint64(n))
	return int(high)
}

// Bootstrap gives a statistic of n units with its percentile interval: the
// units are drawn anew reps times, n of them with replacement each time, and
// the interval runs from the 2.5 % to the 97.5 % quantile of what the statistic
// comes to. stat is given how often each unit counts (once for the value
// itself) and must not keep the slice. The same seed gives the same interval.
//
// 2,000 draws are plenty; with few units (below some 20) the interval is too
// short whatever reps is. Draws for which stat is NaN are left out. The limits
// are NaN if reps is not above 0 or no draw is left, and all is NaN without
// units.
func Bootstrap(n, reps int, seed uint64, stat func(weight []float64) float64) Interval {
	if n <= 0 {
		return undefined()
	}
	weight := make([]float64, n)
	for i := range weight {
		weight[i] = 1
	}
	value := stat(weight)
	rng := source(seed)
	draws := make([]float64, 0, max(reps, 0))
	for range reps {
		clear(weight)
		for range n {
			weight[rng.below(n)]++
		}
		if x := stat(weight); !math.IsNaN(x) {
			draws = append(draws, x)
		}
	}
	lower, upper := percentiles(draws)
	return Interval{value, lower, upper}
}

// percentiles sorts the draws and gives the ends of the 95 % in the middle.
func percentiles(draws []float64) (lower, upper float64) {
	slices.Sort(draws)
	return sortedQuantile(draws, 0.025), sortedQuantile(draws, 0.975)
}

// nearly is the rounding that sums of weights, in units of 1, may carry.
const nearly = 1e-9

// sortedQuantile returns the p-quantile after Hyndman and Fan's second definition:
// the smallest value with at least the share p at or below it, or where the share
// is p exactly, the mean of it and the next. So it is a value that is there or the
// middle of two, and for p = ½ the usual median. NaN without values, if one is NaN,
// and if p is not within 0 and 1.
func sortedQuantile(sorted []float64, p float64) float64 {
	n := len(sorted)
	if n == 0 || !(p >= 0 && p <= 1) || math.IsNaN(sorted[0]) { // NaN sorts first
		return math.NaN()
	}
	target := p * float64(n)
	i := int(math.Ceil(target - nearly*float64(n))) // values needed
	if exact := math.Abs(target-float64(i)) <= nearly*float64(n); exact && i > 0 && i < n {
		return middle(sorted[i-1], sorted[i])
	}
	return sorted[max(i-1, 0)]
}

// middle is the mean of two values, halved first so that it cannot overflow.
func middle(a, b float64) float64 {
	if a == b {
		return a
	}
	return a/2 + b/2
}

// QuantileInterval gives the p-quantile ([Quantile]) of the values of units,
// with its percentile interval over units ([Bootstrap]). Every unit weighs 1,
// whether it has one value or many; one without values is left out. NaN as
// there. Take no interval of a p95 from fewer than some 100 units seriously:
// hardly any of them lie beyond it.
func QuantileInterval(units [][]float64, p float64, reps int, seed uint64) Interval {
	var all []share
	n := 0
	for _, values := range units {
		for _, x := range values {
			all = append(all, share{x, 1 / float64(len(values)), n})
		}
		if len(values) > 0 {
			n++
		}
	}
	slices.SortFunc(all, func(a, b share) int {
		return cmp.Or(cmp.Compare(a.value, b.value), cmp.Compare(a.unit, b.unit))
	})
	if n == 0 || !(p >= 0 && p <= 1) || math.IsNaN(all[0].value) {
		return undefined()
	}
	return Bootstrap(n, reps, seed, func(weight []float64) float64 { return sharedQuantile(all, weight, p) })
}

// A share is one value of a unit and what it weighs there.
type share struct {
	value, weight float64
	unit          int
}

// sharedQuantile is sortedQuantile over values that weigh what their share of
// their unit does, times the unit's weight; those weights sum to their number.
func sharedQuantile(sorted []share, weight []float64, p float64) float64 {
	slack := nearly * float64(len(weight))
	target := p * float64(len(weight))
	sum, last, reached := 0.0, math.NaN(), false
	for _, s := range sorted {
		if weight[s.unit] == 0 {
			continue
		}
		if reached {
			return middle(last, s.value)
		}
		sum += s.weight * weight[s.unit]
		if sum > target+slack {
			return s.value
		}
		last, reached = s.value, sum >= target-slack
	}
	return last
}
