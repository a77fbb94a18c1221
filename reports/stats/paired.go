package stats

import "math"

// A Stratum is one unit that was tried before and after a change: of its trials now and
// of those before, how many were bad.
type Stratum struct{ Bad, Trials, BadBefore, TrialsBefore int }

// grid bounds the weight of a stratum in [Worse].
const grid = 1200

// Worse returns the exact one-sided p value for units that were made worse by a change:
// the chance that a change of nothing moves the mean over units of
//
//	Bad/Trials − BadBefore/TrialsBefore
//
// up as far as it was moved or farther. If nothing changed, the trials of a unit are
// exchangeable: each way to divide them between now and before, with their numbers kept,
// is equally likely, whatever the rate of the unit (Cochran 1954, Biometrics 10:417;
// Mantel 1963, JASA 58:690; Mehta, Patel and Gray 1985, JASA 80:969, compute it). So the
// numbers of bad trials now are hypergeometric, and the value is the tail of their sum,
// in which each weighs 1/Trials + 1/TrialsBefore. With one trial each it is the sign test,
// one-sided. Units need not have equally many trials, and those whose trials are all
// alike do not count.
//
// The value never rises when a trial of now turns bad, and never falls when one of before
// does. Weights that are not multiples of a 1200th of the largest are rounded, within
// 1 %. The value is 1 without strata, and NaN if a number is negative, trials are missing
// or more are bad than there are.
func Worse(strata []Stratum) float64 {
	for _, s := range strata {
		if s.Trials <= 0 || s.TrialsBefore <= 0 || s.Bad < 0 || s.BadBefore < 0 || s.Bad > s.Trials || s.BadBefore > s.TrialsBefore {
			return math.NaN()
		}
	}
	sum, observed := mass{p: []float64{1}}, 0
	for i, w := range stratumWeights(strata) {
		observed += w * strata[i].Bad
		sum = sum.plus(strata[i].split(), w)
	}
	return sum.tail(observed)
}

// stratumWeights returns the weights of strata as whole numbers up to grid: the smallest
// that are exact, else the smallest that are within 1 %. They depend on the numbers of
// trials only.
func stratumWeights(strata []Stratum) []int {
	weights := make([]int, len(strata))
	for _, off := range []float64{nearly, 0.01} {
		for scale := 1; scale <= grid; scale++ {
			if scaled(weights, strata, float64(scale)) <= off {
				return weights
			}
		}
	}
	return weights
}

// scaled sets the weights so that the largest is scale, and returns by how much one is
// off, as a share of it.
func scaled(weights []int, strata []Stratum, scale float64) float64 {
	most, off := 0.0, 0.0
	for _, s := range strata {
		most = max(most, s.weight())
	}
	for i, s := range strata {
		exact := s.weight() / most * scale
		weights[i] = max(int(math.Round(exact)), 1)
		off = max(off, math.Abs(float64(weights[i])-exact)/exact)
	}
	return off
}

func (s Stratum) weight() float64 { return 1/float64(s.Trials) + 1/float64(s.TrialsBefore) }

// A mass is a distribution of whole numbers: p[i] is the chance of from + i.
type mass struct {
	from int
	p    []float64
}

// split returns the distribution of Bad, given how many trials are bad in all.
func (s Stratum) split() mass {
	bad := s.Bad + s.BadBefore
	low, high := max(0, bad-s.TrialsBefore), min(bad, s.Trials)
	m := mass{from: low, p: make([]float64, high-low+1)}
	ratio := func(x int) float64 { // the chance of x + 1 by that of x
		return float64(bad-x) * float64(s.Trials-x) / (float64(x+1) * float64(s.TrialsBefore-bad+x+1))
	}
	mode := min(max((bad+1)*(s.Trials+1)/(s.Trials+s.TrialsBefore+2), low), high)
	m.p[mode-low] = 1
	all := 1.0
	for x := mode; x < high; x++ {
		m.p[x+1-low] = m.p[x-low] * ratio(x)
		all += m.p[x+1-low]
	}
	for x := mode; x > low; x-- {
		m.p[x-1-low] = m.p[x-low] / ratio(x-1)
		all += m.p[x-1-low]
	}
	for i := range m.p {
		m.p[i] /= all
	}
	return m.trimmed()
}

// plus returns the distribution of the sum with w times another number.
func (m mass) plus(other mass, w int) mass {
	out := mass{from: m.from + w*other.from, p: make([]float64, len(m.p)+w*(len(other.p)-1))}
	for j, q := range other.p {
		for i, p := range m.p {
			out.p[i+w*j] += p * q
		}
	}
	return out.trimmed()
}

// trimmed leaves out numbers at both ends that are less likely than 10⁻²⁰ together,
// which is negligible in sums of a million.
func (m mass) trimmed() mass {
	const negligible = 1e-20
	for sum := m.p[0]; sum < negligible; sum += m.p[0] {
		m.p, m.from = m.p[1:], m.from+1
	}
	for sum := m.p[len(m.p)-1]; sum < negligible; sum += m.p[len(m.p)-1] {
		m.p = m.p[:len(m.p)-1]
	}
	return m
}

// tail returns the chance of x or more.
func (m mass) tail(x int) float64 {
	sum := 0.0
	for i := len(m.p) - 1; i >= 0 && m.from+i >= x; i-- {
		sum += m.p[i]
	}
	return min(sum, 1)
}
