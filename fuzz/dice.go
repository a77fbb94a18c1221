package fuzz

import (
	"math/rand"
	"time"

	"github.com/leanovate/gopter"
)

// dice draw random values from gopter's parameters.
type dice struct{ *gopter.GenParameters }

// roll returns the parameters of a seed. Unlike that of the standard library, their
// source takes no time to seed.
func roll(seed uint64) *gopter.GenParameters {
	return &gopter.GenParameters{MaxSize: 100, MaxShrinkCount: 1000, Rng: rand.New(&source{seed})}
}

// source is SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom
// number generators", 2014).
type source struct{ state uint64 }

func (s *source) Uint64() uint64 {
	s.state += golden
	return mix(s.state)
}

func (s *source) Int63() int64 { return int64(s.Uint64() >> 1) }

func (s *source) Seed(seed int64) { s.state = uint64(seed) }

// golden is 2^64 divided by the golden ratio, made odd.
const golden = 0x9e3779b97f4a7c15

func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// below draws a number from 0 to n-1.
func (d dice) below(n int) int { return d.Rng.Intn(n) }

// between draws a number from lo to hi, both included.
func (d dice) between(lo, hi int) int { return lo + d.below(hi-lo+1) }

// one returns true once in n times.
func (d dice) one(n int) bool { return d.below(n) == 0 }

// pick draws one of some values.
func pick[T any](d dice, from ...T) T { return from[d.below(len(from))] }

// moment draws a duration, often one of a few, so that instants coincide.
func (d dice) moment() time.Duration {
	switch d.below(8) {
	case 0:
		return 0
	case 1, 2:
		return time.Second
	case 3:
		return 2 * time.Second
	case 4:
		return 3 * time.Second
	case 5:
		return 5 * time.Second
	case 6:
		return time.Duration(d.below(100)) * 100 * time.Millisecond
	}
	return time.Duration(d.below(90_000)) * time.Millisecond
}
