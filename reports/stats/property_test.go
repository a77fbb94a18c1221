package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"
)

// random returns n observations that end at few times by up to three causes.
func random(rng *rand.Rand, n int) []Obs {
	obs := make([]Obs, n)
	for i := range obs {
		obs[i] = Obs{Time: float64(rng.IntN(12)), Cause: rng.IntN(4)}
		if rng.IntN(2) == 0 {
			obs[i].Weight = 1 / float64(1+rng.IntN(7))
		}
	}
	return obs
}

// same compares bit for bit, so that NaN is NaN.
func same(a, b any) bool { return fmt.Sprintf("%#x", a) == fmt.Sprintf("%#x", b) }

func TestOrderOfInputDoesNotMatter(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		a, b := random(rng, 1+rng.IntN(40)), random(rng, 1+rng.IntN(40))
		kept := append([]Obs(nil), a...)
		curve, incidence, test := KaplanMeier(a, LogLog), CumulativeIncidence(a, 1), LogRank(a, b)
		if !reflect.DeepEqual(kept, a) {
			t.Fatal("the input was changed")
		}
		rng.Shuffle(len(a), func(i, j int) { a[i], a[j] = a[j], a[i] })
		if !same(curve, KaplanMeier(a, LogLog)) || !same(incidence, CumulativeIncidence(a, 1)) || !same(test, LogRank(a, b)) {
			t.Fatalf("another order, another answer: %v", a)
		}
	}
}

func TestCurvesFallWithinTheirBands(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	for range 200 {
		obs := random(rng, 1+rng.IntN(40))
		for _, band := range []Band{LogLog, Log, Plain} {
			last, atRisk := 1.0, math.Inf(1)
			for _, p := range KaplanMeier(obs, band).Points {
				if p.Survival > last || p.Survival < 0 || p.AtRisk >= atRisk {
					t.Fatalf("S %g after %g, at risk %g after %g", p.Survival, last, p.AtRisk, atRisk)
				}
				if p.Survival > 0 && !(0 <= p.Lower && p.Lower <= p.Survival && p.Survival <= p.Upper && p.Upper <= 1) {
					t.Fatalf("S %g not within %g and %g", p.Survival, p.Lower, p.Upper)
				}
				last, atRisk = p.Survival, p.AtRisk
			}
		}
	}
}

func TestCausesAddUpToOne(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	for range 200 {
		obs := random(rng, 1+rng.IntN(40))
		any := KaplanMeier(anyCause(obs), LogLog)
		one, two, three := CumulativeIncidence(obs, 1), CumulativeIncidence(obs, 2), CumulativeIncidence(obs, 3)
		for i, p := range any.Points {
			near(t, "all causes and none", one[i].Value+two[i].Value+three[i].Value+p.Survival, 1, 1e-12)
			near(t, "free", one[i].Free, p.Survival, 1e-12)
			near(t, "at risk", one[i].AtRisk, p.AtRisk, 1e-12)
		}
	}
}

// With a single cause the incidence is the curve's mirror, band and all; but where
// all have ended R gives a curve no limits.
func TestOneCauseIsTheMirror(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	for range 200 {
		obs := anyCause(random(rng, 1+rng.IntN(40)))
		in := CumulativeIncidence(obs, Event)
		for i, p := range KaplanMeier(obs, LogLog).Points {
			near(t, "value", in[i].Value, 1-p.Survival, 1e-12)
			if p.Survival > 0 {
				near(t, "standard error", in[i].StdErr, p.StdErr, 1e-12)
				near(t, "lower", in[i].Lower, 1-p.Upper, 1e-9)
				near(t, "upper", in[i].Upper, 1-p.Lower, 1e-9)
			}
		}
	}
}

// The recursion against the closed form of Marubini and Valsecchi 1995, chapter
// 10: the sum over times s of
//
//	(F(t)−F(s))²·e/(n(n−e)) + S²(s−)·d(n−d)/n³ − 2(F(t)−F(s))·S(s−)·d/n²
//
// (at the last time of all, where e = n, F(t) = F(s) and the first term is 0).
func TestIncidenceVarianceIsTheClosedForm(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	for range 100 {
		obs := random(rng, 2+rng.IntN(40))
		in := CumulativeIncidence(obs, 1)
		free := KaplanMeier(anyCause(obs), LogLog).Points
		for i := range in {
			variance, before := 0.0, 1.0
			for j := 0; j <= i; j++ {
				n, d, e := in[j].AtRisk, in[j].Events, free[j].Events
				rise := in[i].Value - in[j].Value
				if rise > 1e-12 {
					variance += rise * rise * e / (n * (n - e))
				}
				variance += before*before*d*(n-d)/(n*n*n) - 2*rise*before*d/(n*n)
				before = free[j].Survival
			}
			near(t, "variance", in[i].StdErr*in[i].StdErr, variance, 1e-12)
		}
	}
}

// Efron's redistribution to the right is the same curve by another way: every
// censored observation hands its mass on in equal parts to all that end later.
func TestKaplanMeierRedistributes(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	for range 100 {
		n := 1 + rng.IntN(30)
		obs := make([]Obs, n)
		for i, k := range rng.Perm(3 * n)[:n] { // no ties
			obs[i] = Obs{Time: float64(k), Cause: rng.IntN(2)}
		}
		c := KaplanMeier(obs, LogLog)
		mass := make([]float64, n)
		for i := range mass {
			mass[i] = 1 / float64(n)
		}
		left := 1.0
		for i, p := range c.Points { // the rank is the index, for there are no ties
			if p.Events > 0 {
				left -= mass[i]
			} else {
				for j := i + 1; j < n; j++ {
					mass[j] += mass[i] / float64(n-1-i)
				}
			}
			near(t, "S", p.Survival, left, 1e-12)
		}
	}
}

// Without censoring S is a binomial share.
func TestWithoutCensoring(t *testing.T) {
	obs := observe(t, placebo)
	c := KaplanMeier(obs, LogLog)
	for _, p := range c.Points[:len(c.Points)-1] {
		k := 0.0
		for _, o := range obs {
			if o.Time > p.Time {
				k++
			}
		}
		near(t, "S", p.Survival, k/21, 1e-15)
		near(t, "standard error", p.StdErr, math.Sqrt(k/21*(1-k/21)/21), 1e-15)
	}
}

// A log-rank test from its definition: loops over observations, no sums carried.
func TestLogRankIsItsDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	for range 100 {
		groups := [][]Obs{random(rng, 5+rng.IntN(30)), random(rng, 5+rng.IntN(30))}
		for _, g := range groups {
			for i := range g {
				g[i].Weight = 0
			}
		}
		expected, observed, variance := 0.0, 0.0, 0.0
		for time := range 12 {
			var n, d [2]float64
			for i, g := range groups {
				for _, o := range g {
					if o.Time >= float64(time) {
						n[i]++
					}
					if o.Time == float64(time) && o.Cause == Event {
						d[i]++
					}
				}
			}
			all, dead := n[0]+n[1], d[0]+d[1]
			if all < 2 {
				continue
			}
			observed += d[0]
			expected += dead * n[0] / all
			variance += dead * n[0] * n[1] * (all - dead) / (all * all * (all - 1))
		}
		got := LogRank(groups...)
		near(t, "χ²", got.Chi2, (observed-expected)*(observed-expected)/variance, 1e-9)
		near(t, "p", got.P, math.Erfc(math.Sqrt(got.Chi2/2)), 1e-12) // of one normal, squared
		turned := LogRank(groups[1], groups[0])
		near(t, "χ², turned", turned.Chi2, got.Chi2, 1e-9)
		third := LogRank(groups[0], nil, groups[1]) // nobody there: nothing changes
		near(t, "χ² beside an empty group", third.Chi2, got.Chi2, 1e-9)
		if variance > 0 && third.DF != 1 {
			t.Errorf("%d degrees of freedom", third.DF)
		}
	}
}

// Fifty equal trials of a unit are not more evidence than one.
func TestCopiesAreNoEvidence(t *testing.T) {
	copies := func(obs []Obs) (units [][]Obs) {
		for _, o := range obs {
			var unit []Obs
			for range 50 {
				unit = append(unit, o)
			}
			units = append(units, unit)
		}
		return units
	}
	singles := func(obs []Obs) (units [][]Obs) {
		for _, o := range obs {
			units = append(units, []Obs{o})
		}
		return units
	}
	a, b := observe(t, mercaptopurine), observe(t, placebo)
	want, got := KaplanMeier(a, LogLog), KaplanMeier(Pool(copies(a)), LogLog)
	one, many := ClusterBands(singles(a)), ClusterBands(copies(a))
	if !same(one, want) {
		t.Error("with one trial a unit the band is not Greenwood's")
	}
	for i, p := range want.Points {
		q := got.Points[i]
		near(t, "at risk", q.AtRisk, p.AtRisk, 1e-12)
		near(t, "S", q.Survival, p.Survival, 1e-12)
		near(t, "lower", q.Lower, p.Lower, 1e-12)
		near(t, "upper", q.Upper, p.Upper, 1e-12)
		near(t, "S by clusters", many.Points[i].Survival, p.Survival, 1e-12)
		near(t, "lower by clusters", many.Points[i].Lower, one.Points[i].Lower, 1e-9)
		near(t, "upper by clusters", many.Points[i].Upper, one.Points[i].Upper, 1e-9)
	}
	near(t, "χ²", LogRank(Pool(copies(a)), Pool(copies(b))).Chi2, LogRank(a, b).Chi2, 1e-9)
	near(t, "χ² of three", LogRank(Pool(copies(a)), Pool(copies(b)), Pool(copies(b))).Chi2, LogRank(a, b, b).Chi2, 1e-9)
}

// Until the first censoring the curve is the mean of the units' shares, whose
// variance is that of any mean: shares after 1 of 1, ½, ½ and 0 have the mean ½
// and the squares about it ¼ + 0 + 0 + ¼, so ½/(4·3) = 1/24, times (3.182446/
// 1.959964)² = 2.636468 for three degrees of freedom: .109853. But four units of
// one trial have ½·½/4 = 1/16, and it is never more. With eight such units it is
// 1/(8·7) = 1/56, times (2.364624/1.959964)² = 1.455552: .025992, less than the
// ½·½/8 = 1/32 of single trials and more than the ½·½/16 of independent ones.
func TestClusterBandsOfMeans(t *testing.T) {
	at1, later := Obs{Time: 1, Cause: Event}, Obs{Time: 2}
	four := [][]Obs{{later, later}, {later, at1}, {at1, later}, {at1, at1}}
	for _, c := range []struct {
		units    [][]Obs
		variance float64
	}{{four, 1. / 16}, {append(four, four...), .025992}} {
		p := ClusterBands(c.units).At(1)
		near(t, "S", p.Survival, .5, 0)
		near(t, "variance", p.StdErr*p.StdErr, c.variance, 1e-6)
		q := ClusterIncidence(c.units, Event).At(1)
		near(t, "incidence", q.Value, .5, 0)
		near(t, "its variance", q.StdErr*q.StdErr, c.variance, 1e-6)
		lower, upper := LogLog.limits(.5, math.Sqrt(c.variance), 0)
		near(t, "lower", p.Lower, lower, 1e-5)
		near(t, "upper", p.Upper, upper, 1e-5)
		near(t, "lower, incidence", q.Lower, 1-upper, 1e-5)
	}
	// Units that are all alike show no variance: independent trials have some, 8
	// trials of ½ ½·½/8.
	alike := [][]Obs{{later, at1}, {later, at1}, {later, at1}, {later, at1}}
	p := ClusterBands(alike).At(1)
	near(t, "variance of units that are alike", p.StdErr*p.StdErr, 1./32, 1e-15)
	same := [][]Obs{{{Time: 2, Trials: 1}, {Time: 1, Cause: Event, Trials: 1}}, nil, alike[1], alike[2], alike[3]}
	near(t, "and counted", ClusterBands(same).At(1).StdErr, p.StdErr, 1e-15)
	// 20 trials a unit, ten of each kind merged: ½·½/80.
	for i := range alike {
		alike[i] = []Obs{{Time: 2, Trials: 10}, {Time: 1, Cause: Event, Trials: 10}}
	}
	p = ClusterBands(alike).At(1)
	near(t, "variance of merged trials", p.StdErr*p.StdErr, 1./320, 1e-15)
}

// The derivative of an estimate by a unit's weight is what it moves by when the
// unit weighs a little more.
func TestDerivativesAreDifferences(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 21))
	for range 50 {
		units := make([][]Obs, 2+rng.IntN(12))
		for i := range units {
			for range 1 + rng.IntN(4) {
				units[i] = append(units[i], Obs{Time: float64(rng.IntN(6)), Cause: rng.IntN(3)})
			}
		}
		const time, little = 3, 1e-6
		weighed := func(heavy int) float64 {
			var pool []Obs
			for i, unit := range units {
				for _, o := range Pool([][]Obs{unit}) {
					if i == heavy {
						o.Weight *= 1 + little
					}
					pool = append(pool, o)
				}
			}
			return CumulativeIncidence(pool, Event).At(time).Value
		}
		if math.IsNaN(weighed(-1)) {
			continue
		}
		d, want := newDesign(units, Event), 0.0
		d.stdErr(time, 1)
		got := make([]float64, len(units))
		for _, x := range d.trials {
			got[x.unit] += x.weight * x.f
		}
		for i := range units {
			want = (weighed(i) - weighed(-1)) / little
			near(t, "derivative", got[i], want, 1e-5)
		}
	}
}

// Where everything ends, S is 0, of which R gives no limits.
func TestClusterBandsEnd(t *testing.T) {
	var units [][]Obs
	for m := 1; m < 12; m++ {
		var unit []Obs
		for i := range m {
			unit = append(unit, Obs{Time: float64(1 + i%4), Cause: Event})
		}
		units = append(units, unit)
	}
	p := ClusterBands(units).At(4)
	near(t, "S", p.Survival, 0, 0)
	near(t, "standard error", p.StdErr, nan, 0)
	near(t, "lower", p.Lower, nan, 0)
	near(t, "upper", p.Upper, nan, 0)
}

// Rates over units. Shares of 1, ½, ½ and 0 are at least 4 units; eight times
// those shares are n·p(1−p)/v: the squares about ½ add up to 16·¼ = 4, v is
// 4/(32·31)·(2.039513/1.959964)² = .00436621, so the effective n is .25/.00436621
// = 57.258, of at most 64.
func TestWilsonOfUnits(t *testing.T) {
	shares, trials := []float64{1, .5, .5, 0}, []int{2, 2, 2, 2}
	if got := WilsonUnits(shares, trials); got != Wilson(2, 4) {
		t.Errorf("four units: %+v, want %+v", got, Wilson(2, 4))
	}
	for range 3 {
		shares, trials = append(shares, shares...), append(trials, trials...)
	}
	got, want := WilsonUnits(shares, trials), Wilson(57.258/2, 57.258)
	near(t, "lower", got.Lower, want.Lower, 1e-6)
	near(t, "upper", got.Upper, want.Upper, 1e-6)
	// One trial each is Wilson's, whatever k; so are trials that are all alike, and
	// those that show nothing.
	for k := range 11 {
		shares, one, ten := make([]float64, 10), make([]int, 10), make([]int, 10)
		for i := range shares {
			one[i], ten[i] = 1, 10
			if i < k {
				shares[i] = 1
			}
		}
		want := Wilson(float64(k), 10)
		for _, got := range []Interval{WilsonUnits(shares, one), WilsonUnits(shares, ten)} {
			near(t, "value", got.Value, want.Value, 1e-15)
			near(t, "lower", got.Lower, want.Lower, 1e-12)
			near(t, "upper", got.Upper, want.Upper, 1e-12)
		}
	}
	// Units that are alike are worth all their trials.
	got, want = WilsonUnits([]float64{.8, .8, .8}, []int{10, 10, 10}), Wilson(24, 30)
	near(t, "lower of all trials", got.Lower, want.Lower, 1e-12)
	near(t, "upper of all trials", got.Upper, want.Upper, 1e-12)
	for _, bad := range []Interval{WilsonUnits(nil, nil), WilsonUnits([]float64{nan}, []int{1}), WilsonUnits([]float64{2}, []int{1}), WilsonUnits([]float64{.5}, []int{0})} {
		near(t, "undefined", bad.Lower, nan, 0)
	}
}
