package stats

import (
	"math/rand/v2"
	"testing"
)

// trials120k are 120,000 ends at up to 200 calls, as of 120 scenarios × 20
// variants × 50 seeds.
func trials120k() []Obs {
	rng := rand.New(rand.NewPCG(1, 2))
	obs := make([]Obs, 120_000)
	for i := range obs {
		obs[i] = Obs{Time: float64(rng.IntN(200)), Cause: rng.IntN(3), Weight: 1. / 50}
	}
	return obs
}

func BenchmarkKaplanMeier120k(b *testing.B) {
	obs := trials120k()
	for b.Loop() {
		KaplanMeier(obs, LogLog).Median()
	}
}

func BenchmarkIncidence120k(b *testing.B) {
	obs := trials120k()
	for b.Loop() {
		CumulativeIncidence(obs, 1)
	}
}

func BenchmarkLogRank120k(b *testing.B) {
	obs := trials120k()
	for b.Loop() {
		LogRank(obs[:60_000], obs[60_000:])
	}
}

// One curve of one variant and label: 60 scenarios × 50 seeds, 1,000 draws. A
// comparison of 20 variants has 40.
func BenchmarkClusterBands(b *testing.B) {
	obs := trials120k()
	units := make([][]Obs, 60)
	for i := range units {
		units[i] = obs[50*i:][:50]
	}
	for b.Loop() {
		ClusterBands(units)
	}
}

func BenchmarkQuantileInterval(b *testing.B) {
	obs := trials120k()
	units := make([][]float64, 60)
	for i := range units {
		for _, o := range obs[50*i:][:50] {
			units[i] = append(units[i], o.Time)
		}
	}
	for b.Loop() {
		QuantileInterval(units, .95, 2000, 1)
	}
}
