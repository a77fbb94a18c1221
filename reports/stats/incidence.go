package stats

import (
	"cmp"
	"math"
	"slices"
)

// An Incidence is an estimated cumulative incidence: a step function that is 0 before
// the first point and rises at events of its cause.
type Incidence []IncidencePoint

// An IncidencePoint is the estimate at one time.
type IncidencePoint struct {
	Time   float64
	AtRisk float64 // just before Time
	Events float64 // of the cause, at Time
	Value  float64 // the share that the cause has ended by Time
	StdErr float64 // of Value
	Lower  float64 // its 95 % interval
	Upper  float64
	Free   float64 // the share that no cause has ended by Time

	known float64 // of how many it is known whether the cause has ended them by Time
}

// CumulativeIncidence estimates, by Aalen and Johansen's method, the share that the
// cause has ended by each time, if other causes end observations too. With d events of
// the cause and e events of any cause among n at risk, and S the curve of ends by any
// cause,
//
//	F(t) = Σ S(before)·d/n
//
// and the values of all causes and Free add up to 1. The variance is that of
// multinomial increments (Greenwood's kind; R's survfit has the same), updated from
// time to time: from variances v of S, w of F and covariance c, with q = e/n and r =
// d/n,
//
//	v' = (1−q)²·v + S²·q·(1−q)/n
//	c' = (1−q)·(c + r·v) − S²·r·(1−q)/n
//	w' = w + 2·r·c + r²·v + S²·r·(1−r)/n
//
// The interval is symmetric on the scale log(−log(1−F)), and so with one cause the
// mirror of [KaplanMeier]'s under [LogLog]. If F is 0 or 1 it is the exact one-sided
// one, for the number at risk and the observations that ended before: of these too it is
// known whether the cause has ended them by then (the risk set of Fine and Gray 1999,
// JASA 94:496). The result is nil without observations, for a cause below 1, and if an
// observation is invalid.
func CumulativeIncidence(obs []Obs, cause int) Incidence {
	all, ok := moments(obs, cause)
	if !ok || cause < Event {
		return nil
	}
	var out Incidence
	var f, v, c, w float64
	s, ended := 1.0, 0.0
	for _, m := range all {
		n, left := m.atRisk(), m.censored+m.after
		r, stay := m.event/n, left/n
		w += 2*r*c + r*r*v + s*s*r*(1-r)/n
		c = stay * (c + r*v - s*s*r/n)
		v = stay*stay*v + s*s*(1-stay)*stay/n
		if f += s * r; math.Abs(1-f) < certain {
			f = 1
		}
		s *= stay
		se := math.Sqrt(max(w, 0))
		p := IncidencePoint{Time: m.time, AtRisk: n, Events: m.event, Value: f, StdErr: se, Free: s, known: n + ended}
		p.Lower, p.Upper = incidenceLimits(f, se, p.known)
		ended += m.event + m.other
		out = append(out, p)
	}
	return out
}

// certain is the distance from 1 within which a sum of rounded shares counts as 1.
const certain = 1e-12

// incidenceLimits mirrors a survival curve's limits; where all n have had the
// event it mirrors those where none has.
func incidenceLimits(f, se, n float64) (lower, upper float64) {
	if f == 1 {
		return untouched(n), 1
	}
	lower, upper = LogLog.limits(1-f, se, n)
	return 1 - upper, 1 - lower
}

// At returns the incidence at any time, with the number at risk just before it. After
// the last point it stays the same if Free was 0 there, else it is NaN, since no
// observation is that long.
func (in Incidence) At(t float64) IncidencePoint {
	i, found := slices.BinarySearchFunc(in, t, func(p IncidencePoint, t float64) int { return cmp.Compare(p.Time, t) })
	if found {
		return in[i]
	}
	p := IncidencePoint{Free: 1}
	if i > 0 {
		p = in[i-1]
	}
	p.Time, p.AtRisk, p.Events = t, 0, 0
	switch {
	case i < len(in) && !math.IsNaN(t):
		p.AtRisk = in[i].AtRisk
		if p.Value == 0 {
			p.Upper = 1 - untouched(in[i].known)
		}
	case p.Free != 0:
		p.Value, p.StdErr, p.Lower, p.Upper, p.Free = math.NaN(), math.NaN(), math.NaN(), math.NaN(), math.NaN()
	}
	return p
}
