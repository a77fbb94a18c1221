package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

// How these tests are sure. A coverage that is really c, seen in n simulated
// data sets, is off by √(c(1−c)/n) on average; 4.5 times that happens to a right
// program once in 150,000 seeds, and the seed is fixed. So where c can be had by
// enumeration the tests allow 4.5 of those, and else, where c is .95 up to what
// samples of that size leave, a margin that is said beside it. Beside each
// stands what a wrong program would cover, which is further off than that.

// covered returns the share of n simulated data sets for which hit says yes.
func covered(n int, seed uint64, hit func(*rand.Rand) bool) float64 {
	rng := rand.New(rand.NewPCG(seed, 0))
	k := 0
	for range n {
		if hit(rng) {
			k++
		}
	}
	return float64(k) / float64(n)
}

// slackOf is 4.5 standard errors of a share seen in n.
func slackOf(c float64, n int) float64 { return 4.5 * math.Sqrt(c*(1-c)/float64(n)) }

// within is whether an interval covers the truth; one that is NaN does not.
func within(truth, lower, upper float64) bool { return lower <= truth && truth <= upper }

// lifetimes draws n observations whose causes 1, 2 … strike at exponential times
// of the given rates; censoring comes uniformly up to the horizon (0: never).
func lifetimes(rng *rand.Rand, n int, horizon float64, rates ...float64) []Obs {
	obs := make([]Obs, n)
	for i := range obs {
		o := Obs{Time: math.Inf(1)}
		if horizon > 0 {
			o.Time = horizon * rng.Float64()
		}
		for k, rate := range rates {
			if x := rng.ExpFloat64() / rate; x < o.Time {
				o.Time, o.Cause = x, k+1
			}
		}
		obs[i] = o
	}
	return obs
}

// Without censoring S at a time is k of n, k binomial, so that the coverage of
// each band is a sum over k. With n = 40 and S = .8:
//
//	log-log .9488, log .9162, plain .9047; log-log with z of 90 % .9283
//
// 20,000 data sets leave 4.5·√(.9488·.0512/20000) = .0070 (.0093 for plain), and
// the scales are at least .0115 apart, the wrong z .0205.
func TestBandsCoverAsEnumerated(t *testing.T) {
	if testing.Short() {
		t.Skip("it simulates thousands of samples")
	}
	const n, s, sets = 40, .8, 20000
	time := -math.Log(s)
	scales := []func(s, se, z float64) (float64, float64){
		LogLog: func(s, se, z float64) (float64, float64) {
			g, w := math.Log(-math.Log(s)), z*se/(s*math.Log(s))
			return math.Exp(-math.Exp(g - w)), math.Exp(-math.Exp(g + w))
		},
		Log: func(s, se, z float64) (float64, float64) {
			return math.Exp(math.Log(s) - z*se/s), math.Exp(math.Log(s) + z*se/s)
		},
		Plain: func(s, se, z float64) (float64, float64) { return s - z*se, s + z*se },
	}
	enumerate := func(band Band, z float64) float64 {
		sum, k := 0.0, distuv.Binomial{N: n, P: s}
		for i := 1; i < n; i++ { // with 0 or n the band has no width or is NaN
			p := float64(i) / n
			if l, u := scales[band](p, math.Sqrt(p*(1-p)/n), z); within(s, l, u) {
				sum += k.Prob(float64(i))
			}
		}
		return sum
	}
	near(t, "log-log by enumeration", enumerate(LogLog, 1.959964), .9488, 5e-5)
	near(t, "log by enumeration", enumerate(Log, 1.959964), .9162, 5e-5)
	near(t, "plain by enumeration", enumerate(Plain, 1.959964), .9047, 5e-5)
	near(t, "z of 90 % by enumeration", enumerate(LogLog, 1.644854), .9283, 5e-5)
	var hits [3]int
	covered(sets, 10, func(rng *rand.Rand) bool {
		obs := lifetimes(rng, n, 0, 1)
		for band := range hits {
			p := KaplanMeier(obs, Band(band)).At(time)
			count(&hits[band], within(s, p.Lower, p.Upper))
		}
		return true
	})
	for band, k := range hits {
		want := enumerate(Band(band), 1.959964)
		near(t, fmt.Sprint("band ", band), float64(k)/sets, want, slackOf(want, sets))
	}
}

// With censoring that takes half by t = 1, n = 100. The margin: 4.5·√(.95·.05/
// 6000) = .0127 and .004 for n. z of 90 % covers .90, .05 away. Greenwood's sum
// with n for n − d or the first n for all is too short: binomial variance, as if
// all 100 had been watched, S·(1−S)/100 = .00233, against Greenwood's .00341 here
// (e⁻²/100·∫₀¹ eˣ/(1−x/2) dx), covers 2Φ(1.96·√(.00233/.00341)) − 1 = .895.
func TestCensoredIntervalsCover(t *testing.T) {
	if testing.Short() {
		t.Skip("it simulates thousands of samples")
	}
	const n, horizon, sets, margin = 100, 2, 6000, .0167
	truth := math.Exp(-1)
	var band, binomial, narrow, median, share, naive int
	covered(sets, 11, func(rng *rand.Rand) bool {
		c := KaplanMeier(lifetimes(rng, n, horizon, 1), LogLog)
		count(&band, within(truth, c.At(1).Lower, c.At(1).Upper))
		s, se := c.At(1).Survival, c.At(1).StdErr
		l, u := LogLog.limits(s, math.Sqrt(s*(1-s)/n), n)
		count(&binomial, within(truth, l, u))
		l, u = LogLog.limits(s, se*1.644854/1.959964, n)
		count(&narrow, within(truth, l, u))

		m := c.Median() // of an exponential: ln 2. NaN means no limit, above all others
		count(&median, m.Lower <= math.Ln2 && !(m.Upper < math.Ln2))

		// Two causes of rates .6 and .4 that add up to 1: F(1) = .6·(1 − 1/e).
		obs := lifetimes(rng, n, horizon, .6, .4)
		in := CumulativeIncidence(obs, 1).At(1)
		count(&share, within(.6*(1-truth), in.Lower, in.Upper))
		k := KaplanMeier(obs, LogLog).At(1)
		count(&naive, within(.6*(1-truth), 1-k.Upper, 1-k.Lower))
		return true
	})
	near(t, "log-log band", float64(band)/sets, .95, margin)
	near(t, "median", float64(median)/sets, .95, margin)
	near(t, "incidence", float64(share)/sets, .95, margin)
	// What is wrong must be seen to be wrong. One minus Kaplan and Meier aims at
	// 1 − e^(−.6) = .451 instead of .379 with a standard error of .06.
	for name, k := range map[string]int{"binomial variance": binomial, "z of 90 %": narrow, "one minus Kaplan and Meier": naive} {
		if c := float64(k) / sets; c > .95-2*margin {
			t.Errorf("%s covers %.4f: this test cannot decide", name, c)
		}
	}
}

func count(k *int, yes bool) {
	if yes {
		*k++
	}
}

// Wilson's coverage is a sum over k, no simulation: by R, from the formula.
// Wald's is .9208 and with z of 90 % .8441 at n = 20, p = .2.
func TestWilsonCoversAsEnumerated(t *testing.T) {
	for _, want := range [][3]float64{
		{20, .05, .9245}, {20, .1, .9568}, {20, .2, .9563}, {20, .5, .9586},
		{50, .05, .9622}, {50, .1, .9703}, {50, .2, .9507}, {50, .5, .9351},
	} {
		n, p, sum := want[0], want[1], 0.0
		for k := range int(n) + 1 {
			if w := Wilson(float64(k), n); within(p, w.Lower, w.Upper) {
				sum += distuv.Binomial{N: n, P: p}.Prob(float64(k))
			}
		}
		near(t, fmt.Sprint("n, p = ", n, p), sum, want[2], 5.1e-5)
	}
}

// The p-quantile of a draw is at most the j-th of n values if at least i of the
// n drawn are among the j smallest, with i the values that the quantile needs:
// P(Bin(n, j/n) ≥ i). So the interval's ends are order statistics that can be
// told beforehand, and so can its coverage, P(lower ≤ Bin(n, p) < upper).
func TestQuantileIntervalIsTheOrderStatistics(t *testing.T) {
	if testing.Short() {
		t.Skip("it simulates thousands of samples")
	}
	for _, c := range []struct {
		n            int
		p            float64
		lower, upper int
	}{
		// n = 101, i = 51: P = .0171 at j = 40, .0279 at 41; .9721 at 60, .9829 at 61.
		{101, .5, 41, 61},
		// n = 199, i = 190 (.95·199 = 189.05): .0216 at 182, .0373 at 183; .9700 at 194, .9925 at 195.
		{199, .95, 183, 195},
	} {
		i := math.Ceil(c.p * float64(c.n))
		reaches := func(j int) float64 {
			if j >= c.n {
				return 1
			}
			return 1 - distuv.Binomial{N: float64(c.n), P: float64(j) / float64(c.n)}.CDF(i-1)
		}
		if !(reaches(c.lower-1) < .025 && reaches(c.lower) > .025 && reaches(c.upper-1) < .975 && reaches(c.upper) > .975) {
			t.Fatalf("%v: %g %g and %g %g", c, reaches(c.lower-1), reaches(c.lower), reaches(c.upper-1), reaches(c.upper))
		}
		// The nearest of those shares is .0029 from its end, which 100,000 draws tell
		// by .0029/√(.025·.975/100000) = 5.9 errors. (A 90 % interval ends at 43 and 59,
		// 184 and 194.) 400 draws, below, may be one order statistic off.
		units := make([][]float64, c.n)
		for k := range units {
			units[k] = []float64{float64(k + 1)}
		}
		in := QuantileInterval(units, c.p, 100_000, 5)
		near(t, "value", in.Value, i, 0)
		near(t, "lower", in.Lower, float64(c.lower), 0)
		near(t, "upper", in.Upper, float64(c.upper), 0)

		cover := func(lower, upper int) float64 {
			x := distuv.Binomial{N: float64(c.n), P: c.p}
			return x.CDF(float64(upper-1)) - x.CDF(float64(lower-1))
		}
		const sets = 1000
		got := covered(sets, 12, func(rng *rand.Rand) bool {
			for k := range units {
				units[k][0] = rng.Float64()
			}
			in := QuantileInterval(units, c.p, 400, rng.Uint64())
			return within(c.p, in.Lower, in.Upper) // the p-quantile of uniform numbers is p
		})
		// Between one order statistic less and more at both ends: .9272 and .9719, with
		// 400 draws; .8931 and .9791 at p = .95.
		least, most := cover(c.lower+1, c.upper-1), cover(c.lower-1, c.upper+1)
		if got < least-slackOf(least, sets) || got > most+slackOf(most, sets) {
			t.Errorf("%v: covers %.4f, not within %.4f and %.4f", c, got, least, most)
		}
	}
}

// The mean of n = 100 uniform numbers: the interval is as long as ±1.96·σ/√n with
// σ of the sample, whose coverage is .95 − .004 (Student's t with 99 degrees of
// freedom, 2·T(1.96) − 1 = .947). 2,000 sets leave .022, and 500 draws move the
// ends a little, .004; z of 90 % would be at .90.
func TestBootstrapCoversTheMean(t *testing.T) {
	if testing.Short() {
		t.Skip("it simulates thousands of samples")
	}
	const n, sets = 100, 2000
	xs := make([]float64, n)
	got := covered(sets, 13, func(rng *rand.Rand) bool {
		for i := range xs {
			xs[i] = rng.Float64()
		}
		in := Bootstrap(n, 500, rng.Uint64(), func(weight []float64) float64 {
			sum := 0.0
			for i, w := range weight {
				sum += w * xs[i]
			}
			return sum / n
		})
		return within(.5, in.Lower, in.Upper)
	})
	near(t, "mean", got, .947, .026)
}

// clusters returns n units of m trials that end at a call. A unit is fast or slow
// (an event at each call with .26 or .03), each with ½, so that its trials are
// alike; up to 12 calls are watched. S(5) is (.74⁵ + .97⁵)/2 = .5403.
func clusters(rng *rand.Rand, n, m int) [][]Obs {
	units := make([][]Obs, n)
	for i := range units {
		hazard := []float64{.26, .03}[rng.IntN(2)]
		for range m {
			o := Obs{Time: 1}
			for watched := 1 + rng.IntN(12); ; o.Time++ {
				if rng.Float64() < hazard {
					o.Cause = Event
				}
				if o.Cause == Event || o.Time == float64(watched) {
					break
				}
			}
			units[i] = append(units[i], o)
		}
	}
	return units
}

// trials are all of the units' as if they were independent, which is wrong.
func trials(units [][]Obs) (all []Obs) {
	for _, u := range units {
		all = append(all, u...)
	}
	return all
}

// 60 units of 8 trials, 2,000 data sets: 4.5·√(.95·.05/2000) = .022, and the percentile
// interval of 60 units is short by .01 or less. A trial's variance is S(1−S) = .248, of
// which ((.859 − .222)/2)² = .101 is shared within units; so taking trials as
// independent leads to a variance some 1 + 7·.101/.248 = 3.9 times too small, which
// covers 2Φ(1.96/√3.9) − 1 = .68 (censoring leaves fewer trials and makes that milder);
// and weights alone one up to 8/3.9 = 2.1 times too large, which covers up to .995.
func TestClusterBandsCover(t *testing.T) {
	if testing.Short() {
		t.Skip("it simulates thousands of samples")
	}
	const sets = 2000
	truth := (math.Pow(.74, 5) + math.Pow(.97, 5)) / 2
	var band, independent, weighted int
	covered(sets, 14, func(rng *rand.Rand) bool {
		units := clusters(rng, 60, 8)
		p := ClusterBands(units).At(5)
		count(&band, within(truth, p.Lower, p.Upper))
		p = KaplanMeier(trials(units), LogLog).At(5)
		count(&independent, within(truth, p.Lower, p.Upper))
		p = KaplanMeier(Pool(units), LogLog).At(5)
		count(&weighted, within(truth, p.Lower, p.Upper))
		return true
	})
	near(t, "bands over clusters", float64(band)/sets, .945, .027)
	near(t, "trials as independent", float64(independent)/sets, .72, .08)
	near(t, "weights alone", float64(weighted)/sets, .985, .0149)
}

// Where groups have one curve p is at most .05 in 5 of 100 data sets: 5,000 leave
// 4.5·√(.05·.95/5000) = .0139, and χ² of 50 a group is off by .004. With a degree
// of freedom more it were .014, with a critical value of 10 % .10.
func TestLogRankKeepsItsSize(t *testing.T) {
	if testing.Short() {
		t.Skip("it simulates thousands of samples")
	}
	const sets = 5000
	for _, groups := range []int{2, 3} {
		got := covered(sets, uint64(15+groups), func(rng *rand.Rand) bool {
			var all [][]Obs
			for range groups {
				all = append(all, lifetimes(rng, 50, 2, 1))
			}
			return LogRank(all...).P <= .05
		})
		near(t, fmt.Sprint("groups: ", groups), got, .05, .0179)
	}
	// Clusters: with weights the test is cautious, without it finds what is not there.
	var weighted, independent int
	covered(1000, 18, func(rng *rand.Rand) bool {
		a, b := clusters(rng, 40, 8), clusters(rng, 40, 8)
		count(&weighted, LogRank(Pool(a), Pool(b)).P <= .05)
		count(&independent, LogRank(trials(a), trials(b)).P <= .05)
		return true
	})
	if w, i := float64(weighted)/1000, float64(independent)/1000; w > .05 || i < .15 {
		t.Errorf("weighted %.3f, as independent %.3f", w, i)
	}
}

// The sign test by all its outcomes: never above its level, and as sharp as the
// table of critical values (two-sided 5 %: how many may be fewer, of n).
func TestSignTestKeepsItsSize(t *testing.T) {
	for n := 1; n <= 60; n++ {
		size := 0.0
		for k := range n + 1 {
			if SignTest(k, n-k) <= .05 {
				size += distuv.Binomial{N: float64(n), P: .5}.Prob(float64(k))
			}
		}
		if size > .05 {
			t.Errorf("n = %d: rejects %.4f", n, size)
		}
	}
	for n, critical := range map[int]int{5: -1, 6: 0, 8: 0, 9: 1, 12: 2, 15: 3, 17: 4, 20: 5, 25: 7, 30: 9} {
		for k := 0; k <= n/2; k++ {
			if got := SignTest(k, n-k) <= .05; got != (k <= critical) {
				t.Errorf("%d of %d: p = %.4f", k, n, SignTest(k, n-k))
			}
		}
	}
}

// Of five true hypotheses with independent tests one or more is rejected with
// 1 − (1 − .01)⁵ = .0490; 20,000 sets leave .0069. Without correction it is .226.
func TestHolmKeepsItsLevel(t *testing.T) {
	const sets = 20000
	got := covered(sets, 19, func(rng *rand.Rand) bool {
		p := make([]float64, 5)
		for i := range p {
			p[i] = rng.Float64()
		}
		for _, x := range Holm(p) {
			if x <= .05 {
				return true
			}
		}
		return false
	})
	near(t, "any rejection", got, .049, slackOf(.049, sets))
}
