package stats

import (
	"cmp"
	"math"
	"slices"
)

// ClusterBands returns the Kaplan–Meier curve over the trials of units, each unit of
// weight 1 ([Pool]), with bands that treat trials of one unit as dependent. It
// resamples units reps times, each with all its trials. StdErr, Lower and Upper are the
// standard deviation and the 2.5 % and 97.5 % quantiles of the resulting curves. A
// curve that runs out of observations stays where it is. The same units in the same
// order and the same seed lead to the same bands.
//
// It needs reps bytes for each unit; 1,000 draws are enough for a drawing. Bands are
// NaN if reps is below 2. If no unit had an event they have no width. Units without
// trials are left out. Without units, or with invalid observations, the curve is that
// of [KaplanMeier].
func ClusterBands(units [][]Obs, reps int, seed uint64) Curve {
	units = slices.DeleteFunc(slices.Clone(units), func(unit []Obs) bool { return len(unit) == 0 })
	c := KaplanMeier(Pool(units), LogLog)
	if len(c.Points) == 0 {
		return c
	}
	ends := clusterEnds(units)
	b := newReplicates(len(units), max(reps, 0), seed)
	se, lower, upper := b.spread()
	for i := range c.Points {
		p := &c.Points[i]
		for len(ends) > 0 && ends[0].time == p.Time {
			b.end(ends[0])
			ends = ends[1:]
		}
		b.step()
		if p.Events > 0 {
			se, lower, upper = b.spread()
		}
		p.StdErr, p.Lower, p.Upper = se, lower, upper
	}
	return c
}

// A clusterEnd is the share of a unit's trials that end at one time, with the
// event or without.
type clusterEnd struct {
	time  float64
	unit  int
	event bool
	share float64
}

// clusterEnds returns the ends of all trials by time. Equal ends of a unit are merged.
func clusterEnds(units [][]Obs) []clusterEnd {
	var ends []clusterEnd
	for u, unit := range units {
		for _, o := range Pool([][]Obs{unit}) {
			ends = append(ends, clusterEnd{o.Time, u, o.Cause == Event, o.Weight})
		}
	}
	event := func(e clusterEnd) int {
		if e.event {
			return 1
		}
		return 0
	}
	slices.SortFunc(ends, func(a, b clusterEnd) int {
		return cmp.Or(cmp.Compare(a.time, b.time), cmp.Compare(a.unit, b.unit),
			cmp.Compare(event(a), event(b)), cmp.Compare(a.share, b.share))
	})
	out := ends[:1]
	for _, e := range ends[1:] {
		last := &out[len(out)-1]
		if e.time == last.time && e.unit == last.unit && e.event == last.event {
			last.share += e.share
			continue
		}
		out = append(out, e)
	}
	return out
}

// replicates are the curves of all draws, advanced in time together.
type replicates struct {
	reps     int
	times    []uint8   // how often draw r has unit u, at u·reps + r
	atRisk   []float64 // by draw, as the fields below
	failed   []float64 // at the time being added up
	gone     []float64 //
	survival []float64
	sorted   []float64 // scratch
}

// newReplicates draws the units. A count fits into a byte: with up to 255 units always,
// and with more because the chance that any of n is drawn 256 times is below n/256!,
// which is negligible.
func newReplicates(n, reps int, seed uint64) *replicates {
	column := func() []float64 { return make([]float64, reps) }
	b := &replicates{
		reps: reps, times: make([]uint8, n*reps),
		atRisk: column(), failed: column(), gone: column(), survival: column(), sorted: column(),
	}
	rng := source(seed)
	for r := range reps {
		b.atRisk[r], b.survival[r] = float64(n), 1
		for range n {
			b.times[rng.below(n)*reps+r]++
		}
	}
	return b
}

// end adds an end to the time being summed.
func (b *replicates) end(e clusterEnd) {
	for r, k := range b.times[e.unit*b.reps:][:b.reps] {
		w := e.share * float64(k)
		b.gone[r] += w
		if e.event {
			b.failed[r] += w
		}
	}
}

// step closes the time being summed.
func (b *replicates) step() {
	for r, d := range b.failed {
		if d > 0 {
			left := b.atRisk[r] - d
			if left < nearly {
				left = 0
			}
			b.survival[r] *= left / b.atRisk[r]
		}
		b.atRisk[r] -= b.gone[r]
	}
	clear(b.failed)
	clear(b.gone)
}

// spread returns the standard deviation and the percentiles of the curves at the
// current time.
func (b *replicates) spread() (se, lower, upper float64) {
	if b.reps < 2 {
		return math.NaN(), math.NaN(), math.NaN()
	}
	mean, squares := 0.0, 0.0
	for r, s := range b.survival {
		d := s - mean
		mean += d / float64(r+1)
		squares += d * (s - mean)
	}
	copy(b.sorted, b.survival)
	lower, upper = percentiles(b.sorted)
	return math.Sqrt(squares / float64(b.reps-1)), lower, upper
}
