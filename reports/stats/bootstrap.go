package stats

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
)

// A source draws numbers that depend only on its seed: SplitMix64 (Steele, Lea and
// Flood 2014, OOPSLA).
type source uint64

func (s *source) next() uint64 {
	*s += 0x9e3779b97f4a7c15
	x := uint64(*s)
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// below draws from 0 to n−1. Some numbers come up more often than others, by n in 2⁶⁴,
// which is negligible here.
func (s *source) below(n int) int {
	high, _ := bits.Mul64(s.next(), uint64(n))
	return int(high)
}

// Bootstrap returns a statistic of n units with its percentile interval. It draws n
// units with replacement, reps times, and the interval runs from the 2.5 % to the 97.5
// % quantile of the statistic of the draws. stat gets how often each unit counts (once
// each for the value itself) and must not keep the slice. The same seed leads to the
// same interval.
//
// 2,000 draws are plenty. With few units (below about 20) the interval is too short for
// any reps. Draws for which stat is NaN are left out. The limits are NaN if reps is not
// above 0 or no draw is left. Without units everything is NaN.
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

// percentiles sorts the draws and returns the ends of the middle 95 %.
func percentiles(draws []float64) (lower, upper float64) {
	slices.Sort(draws)
	return sortedQuantile(draws, 0.025), sortedQuantile(draws, 0.975)
}

// nearly bounds the rounding error of sums of weights, relative to a unit's weight of
// 1.
const nearly = 1e-9

// sortedQuantile returns the p-quantile by Hyndman and Fan's second definition: the
// smallest value with at least the share p at or below it, or if the share is exactly
// p, the mean of that value and the next. So it is one of the values or the middle of
// two, and for p = ½ the usual median. It is NaN without values, if a value is NaN, and
// if p is not from 0 to 1.
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

// middle returns the mean of two values. It halves them first, so that the sum cannot
// overflow.
func middle(a, b float64) float64 {
	if a == b {
		return a
	}
	return a/2 + b/2
}

// QuantileInterval returns the p-quantile of the values of units, by Hyndman and Fan's
// second definition, with its percentile interval over units ([Bootstrap]). Every unit
// weighs 1, whether it has one value or many; a unit without values is left out. The
// result is NaN without values, if a value is NaN, and if p is not from 0 to 1. Do not
// rely on a p95 of fewer than 60 units: the chance that none is beyond it is .95⁵⁹ =
// .048.
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

// A share is one value of a unit and its weight in the unit.
type share struct {
	value, weight float64
	unit          int
}

// sharedQuantile is like sortedQuantile, for values with weights: a value weighs its
// share of the unit times the unit's weight. The weights of the units sum to their
// number.
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
