package stats

import (
	"math"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"
)

// A Test is the result of a log-rank test.
type Test struct {
	Chi2     float64
	DF       int // number of compared groups minus one
	P        float64
	Observed []float64 // events of each group
	Expected []float64 // events of each group under one common curve
}

// LogRank tests whether the groups have one common survival curve (Mantel and
// Haenszel). At each time with d events among n at risk, nᵢ of them in group i,
//
//	Eᵢ = Σ d·nᵢ/n,  Vᵢⱼ = Σ d·(n − d)/(n − 1)·nᵢ/n·(δᵢⱼ − nⱼ/n)
//
// and with the last group left out, (O − E)'·V⁻¹·(O − E) is χ² with one degree of
// freedom less than the number of groups. For two groups it is (O₁ − E₁)²/V₁₁.
//
// The test assumes independent groups. Variants tried on the same scenarios are not
// independent; as they tend to rise and fall together, p is then rather too large. With
// weights, n can be below 1, where n − 1 has no meaning: the factor (n − d)/(n − 1) is
// at most 1.
//
// A group that was never at risk together with another at an event has no information
// and does not count. Chi2 and P are NaN if fewer than two groups count: because a
// group is empty, there is no event, or all ends are at one time. If an observation is
// invalid, Chi2, P and all sums are NaN.
func LogRank(groups ...[]Obs) Test {
	k := len(groups)
	t := Test{Chi2: math.NaN(), P: math.NaN(), Observed: make([]float64, k), Expected: make([]float64, k)}
	next := make([][]moment, k) // the moments of each group that are still to come
	for i, g := range groups {
		all, ok := moments(g, Event)
		if !ok {
			for j := range t.Observed {
				t.Observed[j], t.Expected[j] = math.NaN(), math.NaN()
			}
			return t
		}
		next[i] = all
	}
	v := t.sum(next)
	t.judge(v)
	return t
}

// sum walks through the times of all groups, adds up observed and expected events, and
// returns the covariances of their differences.
func (t *Test) sum(next [][]moment) [][]float64 {
	k := len(next)
	v := make([][]float64, k)
	for i := range v {
		v[i] = make([]float64, k)
	}
	risk := make([]float64, k)
	for {
		now := math.Inf(1)
		for _, all := range next {
			if len(all) > 0 {
				now = min(now, all[0].time)
			}
		}
		if math.IsInf(now, 1) {
			return v
		}
		n, d := 0.0, 0.0
		for i, all := range next {
			risk[i] = 0
			if len(all) == 0 {
				continue
			}
			risk[i] = all[0].atRisk()
			n += risk[i]
			if all[0].time == now {
				d += all[0].event
				t.Observed[i] += all[0].event
				next[i] = all[1:]
			}
		}
		left, ties := n-d, 1.0
		switch {
		case left < nearly:
			ties = 0
		case n > 1:
			ties = min(left/(n-1), 1)
		}
		for i := range risk {
			share := risk[i] / n
			t.Expected[i] += d * share
			v[i][i] += d * ties * share * (1 - share)
			for j := range i {
				v[i][j] -= d * ties * share * risk[j] / n
			}
		}
	}
}

// judge sets χ², its degrees of freedom and p from v, the lower triangle of the
// covariances.
func (t *Test) judge(v [][]float64) {
	var count []int
	for i := range v {
		if v[i][i] > nearly {
			count = append(count, i)
		}
	}
	t.DF = max(len(count)-1, 0)
	if t.DF == 0 {
		return
	}
	count = count[:t.DF]
	u := mat.NewVecDense(t.DF, nil)
	m := mat.NewSymDense(t.DF, nil)
	for a, i := range count {
		u.SetVec(a, t.Observed[i]-t.Expected[i])
		for b, j := range count[:a+1] {
			m.SetSym(a, b, v[i][j])
		}
	}
	var chol mat.Cholesky
	var x mat.VecDense
	if !chol.Factorize(m) || chol.SolveVecTo(&x, u) != nil {
		return
	}
	t.Chi2 = mat.Dot(u, &x)
	t.P = distuv.ChiSquared{K: float64(t.DF)}.Survival(t.Chi2)
}
