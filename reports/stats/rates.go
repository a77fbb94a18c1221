package stats

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// Wilson returns the rate k/n with Wilson's score interval, without correction for
// continuity:
//
//	(k + z²/2)/(n + z²) ± z/(n + z²)·√(k·(n − k)/n + z²/4)
//
// k does not have to be whole: it can be a sum over units of the shares of their
// trials. With k = 0 the lower limit is 0, with k = n the upper is 1. The result is NaN
// unless n is above 0 and k is from 0 to n.
func Wilson(k, n float64) Interval {
	if !finite(n) || n == 0 || !(k >= 0 && k <= n) {
		return undefined()
	}
	middle := (k + z*z/2) / (n + z*z)
	half := z / (n + z*z) * math.Sqrt(k*(n-k)/n+z*z/4)
	w := Interval{k / n, max(middle-half, 0), min(middle+half, 1)}
	if k == 0 {
		w.Lower = 0
	}
	if k == n {
		w.Upper = 1
	}
	return w
}

// WilsonUnits returns the rate over units, each with a share of its trials, and
// Wilson's score interval for as many units as the trials are worth: the
// effective n, n = p·(1 − p)/v, with v the variance of the mean between units,
// widened for their number. It is at least the number of units (if the trials of each
// are alike, and if the rate is 0 or 1, which shows no variance between units) and at
// most that of independent trials. With one trial a unit the result equals [Wilson].
// (Korn and Graubard 1998, Survey Methodology 24:193; Dean and Pagano 2015, J. Surv.
// Stat. Methodol. 3:484, compare such intervals.) The result is NaN without units, if a
// share is not from 0 to 1, and if a number of trials is not above 0.
func WilsonUnits(shares []float64, trials []int) Interval {
	n, k, within := float64(len(shares)), 0.0, 0.0
	for i, x := range shares {
		if !(x >= 0 && x <= 1) || trials[i] <= 0 {
			return undefined()
		}
		k += x
		within += 1 / float64(trials[i])
	}
	p := k / n
	if n < 2 || p <= 0 || p >= 1 {
		return Wilson(k, n)
	}
	v := 0.0
	for _, x := range shares {
		v += (x - p) * (x - p)
	}
	v *= widened(len(shares)) / (n * n)
	effective := max(n, min(p*(1-p)/v, n*n/within))
	return Wilson(p*effective, effective)
}

// SignTest returns the exact two-sided p value for pairs that differ: up is the number
// of pairs that differ one way, and down the other way. Pairs that agree do not count.
// For pairs of yes and no this is McNemar's exact test; for averages over trials, count
// the signs of their differences. With b the smaller of the two and n their sum,
//
//	p = min(1, 2·P(X ≤ b)),  X binomial (n, ½)
//
// It is 1 if no pair differs, and NaN if a count is negative.
func SignTest(up, down int) float64 {
	if up < 0 || down < 0 {
		return math.NaN()
	}
	x := distuv.Binomial{N: float64(up) + float64(down), P: 0.5}
	return min(1, 2*x.CDF(float64(min(up, down))))
}

// Holm returns the p values corrected for their number, in the order given: the chance
// that any test of a true hypothesis has a value of α or below is at most α, even if
// the tests depend on each other. For the i-th smallest of m,
//
//	max over j ≤ i of min(1, (m − j + 1)·pⱼ)
//
// A value that is NaN or not from 0 to 1 means a test that was not made: it becomes NaN
// and does not count in m. Holm does not change its input.
func Holm(p []float64) []float64 {
	out := make([]float64, len(p))
	var order []int
	for i, x := range p {
		out[i] = math.NaN()
		if x >= 0 && x <= 1 {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p[a], p[b]) })
	top := 0.0
	for rank, i := range order {
		top = max(top, min(1, float64(len(order)-rank)*p[i]))
		out[i] = top
	}
	return out
}
