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

// With a single cause the incidence is the curve's mirror, band and all.
func TestOneCauseIsTheMirror(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	for range 200 {
		obs := anyCause(random(rng, 1+rng.IntN(40)))
		in := CumulativeIncidence(obs, Event)
		for i, p := range KaplanMeier(obs, LogLog).Points {
			near(t, "value", in[i].Value, 1-p.Survival, 1e-12)
			if p.Survival > 0 {
				near(t, "standard error", in[i].StdErr, p.StdErr, 1e-12)
			}
			near(t, "lower", in[i].Lower, 1-p.Upper, 1e-9)
			near(t, "upper", in[i].Upper, 1-p.Lower, 1e-9)
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
	one, many := ClusterBands(singles(a), 200, 1), ClusterBands(copies(a), 200, 1)
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

// With one trial a unit, drawing units is Efron's bootstrap of the curve, whose
// standard error nears Greenwood's: with 4,000 draws the deviation itself is
// known to 1/√8000 = 1.1 %, and with 21 units the two differ by a few per cent.
func TestClusterBandsNearGreenwood(t *testing.T) {
	var units [][]Obs
	for _, o := range observe(t, mercaptopurine) {
		units = append(units, []Obs{o}, nil)
	}
	c := ClusterBands(units, 4000, 7)
	for i, p := range KaplanMeier(observe(t, mercaptopurine), LogLog).Points {
		q := c.Points[i]
		near(t, "S", q.Survival, p.Survival, 1e-15)
		near(t, "standard error", q.StdErr, p.StdErr, .08*p.StdErr)
		near(t, "lower", q.Lower, p.Survival-z*p.StdErr, .06)
		near(t, "upper", q.Upper, min(p.Survival+z*p.StdErr, 1), .06)
	}
	if !same(c, ClusterBands(units, 4000, 7)) {
		t.Error("the same seed led to other bands")
	}
	if same(c, ClusterBands(units, 4000, 8)) {
		t.Error("another seed led to the same bands")
	}
}

// Where everything ends, every draw does: no share of a third or a seventh may
// be left over by rounding.
func TestClusterBandsEnd(t *testing.T) {
	var units [][]Obs
	for m := 1; m < 12; m++ {
		var unit []Obs
		for i := range m {
			unit = append(unit, Obs{Time: float64(1 + i%4), Cause: Event})
		}
		units = append(units, unit)
	}
	p := ClusterBands(units, 500, 1).At(4)
	near(t, "standard error", p.StdErr, 0, 0)
	near(t, "lower", p.Lower, 0, 0)
	near(t, "upper", p.Upper, 0, 0)
}

// Two units, one of which fails at once: a draw has both with ½, and either
// alone with ¼, so S is ½, 0 or 1 with deviation √⅛ = .354.
func TestClusterBandsOfTwo(t *testing.T) {
	p := ClusterBands([][]Obs{{{Time: 1, Cause: Event}}, {{Time: 2}}}, 20000, 1).At(1)
	near(t, "S", p.Survival, .5, 0)
	near(t, "standard error", p.StdErr, math.Sqrt(1./8), .005)
	near(t, "lower", p.Lower, 0, 0)
	near(t, "upper", p.Upper, 1, 0)
}
