package stats

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// ClusterBands returns the Kaplan–Meier curve over the trials of units, each
// unit of weight 1 ([Pool]), with log-log bands that take the trials of one unit
// as dependent. StdErr is the standard error between units: the grouped
// infinitesimal jackknife, R's robust variance with cluster(unit), widened for
// the number of units that it is estimated from. It is at least that of as many
// independent trials and at most Greenwood's of as many units, so that seeds
// never say less than one trial does and never more than they can.
//
// With one trial a unit, and where the trials of each unit are alike, it equals
// [KaplanMeier]. Units without trials are left out; without any, and with
// observations that cannot be computed with, it is as there.
func ClusterBands(units [][]Obs) Curve {
	c := KaplanMeier(Pool(units), LogLog)
	if single(units) {
		return c
	}
	d := newDesign(onlyEvents(units), Event)
	se := 0.0
	for i := range c.Points {
		p := &c.Points[i]
		if p.Survival <= 0 || p.Survival >= 1 {
			continue
		}
		if p.Events > 0 {
			se = d.stdErr(p.Time, p.StdErr)
		}
		p.StdErr = se
		p.Lower, p.Upper = LogLog.limits(p.Survival, se, p.AtRisk)
	}
	return c
}

// single reports whether the trials of each unit are one, or end alike.
func single(units [][]Obs) bool {
	return !slices.ContainsFunc(units, func(unit []Obs) bool { return len(unit) > 1 })
}

// onlyEvents returns the units with every cause but the event as a censoring.
func onlyEvents(units [][]Obs) [][]Obs {
	out := make([][]Obs, len(units))
	for i, unit := range units {
		out[i] = slices.Clone(unit)
		for j := range out[i] {
			if out[i][j].Cause != Event {
				out[i][j].Cause = Censored
			}
		}
	}
	return out
}

// ClusterIncidence returns the cumulative incidence of the cause over the trials
// of units, as [CumulativeIncidence] does, with the standard errors and limits
// of [ClusterBands].
func ClusterIncidence(units [][]Obs, cause int) Incidence {
	in := CumulativeIncidence(Pool(units), cause)
	if single(units) {
		return in
	}
	d := newDesign(units, cause)
	for i := range in {
		p := &in[i]
		if p.Value > 0 && p.Value < 1 {
			p.StdErr = d.stdErr(p.Time, p.StdErr)
			p.Lower, p.Upper = incidenceLimits(p.Value, p.StdErr, p.known)
		}
	}
	return in
}

// A design carries, along the times of a curve, how far each trial moves the
// incidence of a cause: the derivative by the trial's weight (the infinitesimal
// jackknife of Jaeckel 1972; for Aalen and Johansen's estimate in Therneau,
// Crowson and Atkinson 2021, the survival vignette). With S before the time, of
// ends by any cause, and the derivatives a of S and f of F, at a time with d
// events of the cause and e of any among n at risk, r = d/n and q = e/n,
//
//	f' = f + a·r + S·(event − at risk·r)/n
//	a' = a·(1 − q) − S·(end − at risk·q)/n
//
// where event, end and at risk are 1 or 0 as the trial has them. The sum over a
// unit's trials, by weight, is how far the unit moves it, and the sum of those
// squares is the variance between units (Williams 2000, Biometrics 56:645).
type design struct {
	cause   int
	units   int
	trials  []trial
	ends    []*end
	moments []moment // that are still to come
	free    float64  // S
}

// A trial is one of a unit, or equal ones. Trials that end alike share their end.
type trial struct {
	unit   int
	weight float64 // in its unit
	equal  float64 // trials that it stands for
	*end
}

// An end is the time and cause of trials, with their derivatives.
type end struct {
	time  float64
	cause int
	a, f  float64
}

// newDesign prepares the trials of units for the incidence of a cause.
func newDesign(units [][]Obs, cause int) *design {
	type key struct {
		time  float64
		cause int
	}
	d, known := &design{cause: cause, free: 1}, map[key]*end{}
	var pool []Obs
	for _, unit := range units {
		if len(unit) == 0 {
			continue
		}
		for _, o := range Pool([][]Obs{unit}) {
			e := known[key{o.Time, o.Cause}]
			if e == nil {
				e = &end{time: o.Time, cause: o.Cause}
				known[key{o.Time, o.Cause}] = e
				d.ends = append(d.ends, e)
			}
			d.trials = append(d.trials, trial{d.units, o.Weight, float64(max(o.Trials, 1)), e})
			pool = append(pool, o)
		}
		d.units++
	}
	d.moments, _ = moments(pool, cause)
	return d
}

// stdErr returns the standard error of the incidence at a time, which does not
// fall from call to call. single is that of one trial a unit.
func (d *design) stdErr(time, single float64) float64 {
	if d.units < 2 {
		return single
	}
	for len(d.moments) > 0 && d.moments[0].time <= time {
		d.step(d.moments[0])
		d.moments = d.moments[1:]
	}
	var between, within, sum float64
	for i, t := range d.trials {
		x := t.weight * t.f
		sum += x
		within += x * x / t.equal
		if i+1 == len(d.trials) || d.trials[i+1].unit != t.unit {
			between += sum * sum
			sum = 0
		}
	}
	return min(math.Sqrt(max(between*widened(d.units), within)), single)
}

// step goes over what ends at one time.
func (d *design) step(m moment) {
	n := m.atRisk()
	r, q := m.event/n, (m.event+m.other)/n
	if q == 0 {
		return
	}
	for _, e := range d.ends {
		var event, ended, here float64
		if e.time >= m.time {
			here = 1
		}
		if e.time == m.time && e.cause != Censored {
			ended = 1
			if e.cause == d.cause {
				event = 1
			}
		}
		e.f += e.a*r + d.free*(event-here*r)/n
		e.a = e.a*(1-q) - d.free*(ended-here*q)/n
	}
	d.free *= 1 - q
}

// widened is what a variance that n units show is multiplied by: n/(n − 1), for
// it is about their own mean, and the square of Student's t for 1.96, for it is
// itself estimated (Korn and Graubard 1998, Survey Methodology 24:193). n is at
// least 2.
func widened(n int) float64 {
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(n - 1)}.Quantile(0.975) / z
	return float64(n) / float64(n-1) * t * t
}
