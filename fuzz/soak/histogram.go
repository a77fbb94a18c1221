package soak

import (
	"math"
	"time"
)

// A histogram counts durations in steps of one per cent, from a microsecond up to
// hours, in memory that does not grow.
type histogram struct {
	counts [2400]int
	n      int
}

// growth is the ratio of two steps.
const growth = 1.01

func (h *histogram) add(d time.Duration) {
	i := 0
	if d > time.Microsecond {
		i = int(math.Ceil(math.Log(float64(d)/float64(time.Microsecond)) / math.Log(growth)))
	}
	h.counts[min(i, len(h.counts)-1)]++
	h.n++
}

// quantile is the nearest rank: of 100 values that at 95 is the 95th, or up to
// one per cent more. Without values it is 0.
func (h *histogram) quantile(percent int) time.Duration {
	rank, seen := (h.n*percent+99)/100, 0
	for i, n := range h.counts {
		if seen += n; n > 0 && seen >= rank {
			return time.Duration(float64(time.Microsecond) * math.Pow(growth, float64(i)))
		}
	}
	return 0
}

func (h *histogram) quantiles() Quantiles {
	return Quantiles{h.quantile(50), h.quantile(95), h.quantile(99)}
}
