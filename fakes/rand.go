package fakes

import (
	"math/bits"
	"time"

	"github.com/agentbench-go/agentbench/loop"
)

// A key decides a random number. It is a hash of the script's name, of the seed,
// of the thing that the number belongs to, and of the purpose of the draw. There is
// no generator and no order of draws: a key always draws the same number.
type key uint64

// The purposes of the draws that belong to one thing.
const (
	forLatency = iota
	forText
	forArgs
	forState
	forFault
)

// golden is 2^64 divided by the golden ratio, made odd.
const golden = 0x9e3779b97f4a7c15

func newKey(seed uint64) key { return key(mix(seed + golden)) }

// named returns the seed of the draws of a script with that name. Scripts of
// different names draw independently, and the empty name leaves the seed as it is.
func named(name string, seed uint64) uint64 {
	var k key
	for i := range len(name) {
		k = k.of(int(name[i]))
	}
	return seed ^ uint64(k)
}

// of returns the key of part n of the thing that k belongs to.
func (k key) of(n int) key { return key(mix(bits.RotateLeft64(uint64(k), 32) + golden*uint64(n+1))) }

// ref returns the key that all tries of a request, a call or a gate share.
func (k key) ref(r loop.Ref) key { return k.of(int(r.Kind)).of(r.N) }

// below draws a number from [0, n).
func (k key) below(n uint64) uint64 {
	hi, _ := bits.Mul64(uint64(k), n)
	return hi
}

// mix is the output function of SplitMix64 (Steele, Lea and Flood, "Fast
// splittable pseudorandom number generators", 2014): a bijection in which each
// bit of x moves every bit of the result.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// or returns s, or other if s is zero.
func (s Span) or(other Span) Span {
	if s == (Span{}) {
		return other
	}
	return s
}

// draw returns a latency. It draws in steps of a millisecond, so that traces stay
// readable, or of a nanosecond if the span is shorter than a millisecond.
func (s Span) draw(k key) time.Duration {
	width := s.Max - s.Min
	switch {
	case width <= 0:
		return s.Min
	case width < time.Millisecond:
		return s.Min + time.Duration(k.below(uint64(width)+1))
	}
	steps := uint64(width / time.Millisecond)
	return s.Min + time.Duration(k.below(steps+1))*time.Millisecond
}

// exactly returns the span of a fixed latency.
func exactly(d time.Duration) Span { return Span{Min: d, Max: d} }
