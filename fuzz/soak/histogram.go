package soak

import (
	"math"
	"time"
)

// A histogram counts durations in steps of one per cent, from a microsecond to hours,
// in constant memory.
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

// quantile returns the quantile by nearest rank, or up to one per cent more: at 95 of
// 100 values, the 95th. Without values it returns 0.
func (h *histogram) quantile(percent int) time.Duration {
	rank, seen := (h.n*percent+99)/100, 0
	for i, n := range h.counts {
		if seen += n; n > 0 && seen >= rank {
			return time.Duration(float64(time.Microsecond) * math.Pow(growth, float64(i)))
		}
	}
	return 0
}

// The 95th percentile needs this many values, and the 99th: of fewer none lies beyond it
// with a chance above 5 % (.95⁵⁹ = .048, .99²⁹⁹ = .0495).
const (
	leastP95 = 60
	leastP99 = 300
)

func (h *histogram) quantiles() Quantiles {
	q := Quantiles{P50: h.quantile(50)}
	if h.n >= leastP95 {
		q.P95 = h.quantile(95)
	}
	if h.n >= leastP99 {
		q.P99 = h.quantile(99)
	}
	return q
}
