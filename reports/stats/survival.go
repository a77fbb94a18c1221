package stats

import (
	"cmp"
	"math"
	"slices"
)

// A Band is the scale on which the 95 % band of a curve is symmetric. z is
// 1.96, se the standard error of S.
type Band int

const (
	// LogLog: S^exp(±z·se/(S·log S)). It never leaves [0, 1] and covers well
	// in small samples too.
	LogLog Band = iota
	// Log: S·exp(±z·se/S), cut at 1. R's default.
	Log
	// Plain: S ± z·se, cut at 0 and 1.
	Plain
)

// limits returns the band at one value of the curve. If S is 1 nothing has happened to
// the n at risk, and no scale has a width: the lower limit is [untouched]. The band is
// NaN where S is 0, as in R.
func (b Band) limits(s, se, n float64) (lower, upper float64) {
	switch {
	case s == 1:
		return untouched(n), 1
	case s == 0:
		return math.NaN(), math.NaN()
	case b == LogLog:
		w := z * se / (s * -math.Log(s))
		return math.Pow(s, math.Exp(w)), math.Pow(s, math.Exp(-w))
	case b == Log:
		w := z * se / s
		return s * math.Exp(-w), min(s*math.Exp(w), 1)
	}
	return max(s-z*se, 0), min(s+z*se, 1)
}

// untouched returns the exact one-sided 95 % limit of a share of which n of n
// are seen: the share p for which pⁿ = .05. It is 0 for n = 0. (Clopper and
// Pearson 1934, Biometrika 26:404; for n of some size 1 − 3/n, the rule of three
// of Hanley and Lippman-Hand 1983, JAMA 249:1743.)
func untouched(n float64) float64 { return math.Pow(0.05, 1/n) }

// A Curve is an estimated survival curve: a step function that is 1 before the first
// point and falls at events. The zero Curve is one of no observations.
type Curve struct {
	N      float64 // weight of all observations; NaN if one is invalid
	Events float64 // weight of all events
	Points []Point // one for each time at which an observation ends, rising
}

// A Point is the estimate at one time.
type Point struct {
	Time     float64
	AtRisk   float64 // just before Time: observations that end at Time or later
	Events   float64 // at Time
	Censored float64 // at Time, without the event: censored or of another cause
	Survival float64 // S right after Time
	StdErr   float64 // of S
	Lower    float64 // the band
	Upper    float64
}

// KaplanMeier estimates the share that has had no event yet if only the event could end
// an observation: every other cause counts as a censoring. With d events among n at
// risk at each time,
//
//	S(t) = Π (1 − d/n),  Var S(t) = S(t)²·Σ d/(n·(n − d))  (Greenwood)
//
// Without observations there are no points. Without events S stays 1 with a
// standard error of 0, and the band is the exact one-sided limit that the number
// at risk allows, p with pⁿ = .05 (R has NA there, or 1). Where S is 0 the standard error and the band are NaN (0
// times ∞), as in R.
func KaplanMeier(obs []Obs, band Band) Curve {
	all, ok := moments(obs, Event)
	if !ok {
		return Curve{N: math.NaN(), Events: math.NaN()}
	}
	c := Curve{Points: make([]Point, 0, len(all))}
	s, greenwood := 1.0, 0.0
	for i, m := range all {
		n := m.atRisk()
		if i == 0 {
			c.N = n
		}
		if m.event > 0 {
			left := m.other + m.censored + m.after
			s *= left / n
			greenwood += m.event / (n * left)
		}
		se := s * math.Sqrt(greenwood)
		lower, upper := band.limits(s, se, n)
		c.Events += m.event
		c.Points = append(c.Points, Point{
			Time: m.time, AtRisk: n, Events: m.event, Censored: m.other + m.censored,
			Survival: s, StdErr: se, Lower: lower, Upper: upper,
		})
	}
	return c
}

// At returns the curve at any time, with the number at risk just before it. Before the
// first point S is 1. After the last one the number at risk is 0: S stays 0 if it got
// there, else S and the band are NaN, since no observation is that long.
func (c Curve) At(t float64) Point {
	i, found := slices.BinarySearchFunc(c.Points, t, func(p Point, t float64) int { return cmp.Compare(p.Time, t) })
	if found {
		return c.Points[i]
	}
	p := Point{Survival: 1, Upper: 1}
	if i > 0 {
		p = c.Points[i-1]
	}
	p.Time, p.AtRisk, p.Events, p.Censored = t, 0, 0, 0
	switch {
	case i < len(c.Points) && !math.IsNaN(t):
		p.AtRisk = c.Points[i].AtRisk
		if p.Survival == 1 {
			p.Lower = untouched(p.AtRisk)
		}
	case p.Survival != 0:
		p.Survival, p.StdErr, p.Lower, p.Upper = math.NaN(), math.NaN(), math.NaN(), math.NaN()
	}
	return p
}

// Median returns the first time at which the curve is at one half or below, with the
// interval of Brookmeyer and Crowley: the times at which the band's lower and upper
// edge get there. If the curve (or edge) stays at one half for a stretch, it is the
// middle of that stretch, as in R. It is NaN if the curve never gets there.
func (c Curve) Median() Interval {
	return Interval{
		Value: c.halved(func(p Point) float64 { return p.Survival }),
		Lower: c.halved(func(p Point) float64 {
			if p.Survival == 1 {
				return 1 // the limit of few at risk says nothing of a time
			}
			return p.Lower
		}),
		Upper: c.halved(func(p Point) float64 { return p.Upper }),
	}
}

// halved returns the time at which a falling function of the points gets to one half.
// The tolerance is R's, the square root of the machine precision.
func (c Curve) halved(y func(Point) float64) float64 {
	const tolerance = 1.5e-8
	for i, p := range c.Points {
		at := y(p)
		if !(at < 0.5+tolerance) {
			continue
		}
		if at > 0.5-tolerance {
			for _, q := range c.Points[i+1:] {
				if y(q) < at {
					return (p.Time + q.Time) / 2
				}
			}
		}
		return p.Time
	}
	return math.NaN()
}
