package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestNothingObserved(t *testing.T) {
	c := KaplanMeier(nil, LogLog)
	if c.N != 0 || c.Events != 0 || len(c.Points) != 0 {
		t.Errorf("%+v", c)
	}
	near(t, "S", c.At(3).Survival, nan, 0)
	near(t, "at risk", c.At(3).AtRisk, 0, 0)
	near(t, "S at no time", KaplanMeier(observe(t, "1 2+"), LogLog).At(nan).Survival, nan, 0)
	near(t, "incidence at no time", CumulativeIncidence(observe(t, "1 2+"), 1).At(nan).Value, nan, 0)
	near(t, "median", c.Median().Value, nan, 0)
	if in := CumulativeIncidence(nil, 1); in != nil || !math.IsNaN(in.At(1).Value) {
		t.Errorf("%+v", in)
	}
	if c := ClusterBands([][]Obs{nil, {}}); len(c.Points) != 0 || c.N != 0 {
		t.Errorf("%+v", c)
	}
	if Pool(nil) != nil {
		t.Error("a pool of nothing has something")
	}
}

func TestAllCensored(t *testing.T) {
	obs := observe(t, "2+ 5+ 5+")
	c := KaplanMeier(obs, LogLog)
	// Three are at risk until 2, then two: .05^(1/3) = .36840, .05^(1/2) = .22361.
	for time, lower := range map[float64]float64{0: .36840, 2: .36840, 3: .22361, 5: .22361} {
		p := c.At(time)
		near(t, "S", p.Survival, 1, 0)
		near(t, "standard error", p.StdErr, 0, 0)
		near(t, "lower", p.Lower, lower, 5e-6)
		near(t, "upper", p.Upper, 1, 0)
	}
	near(t, "at risk before", c.At(1).AtRisk, 3, 0)
	near(t, "at risk at 2", c.At(2).AtRisk, 3, 0)
	near(t, "at risk at 3", c.At(3).AtRisk, 2, 0)
	near(t, "at risk beyond", c.At(6).AtRisk, 0, 0)
	near(t, "S beyond", c.At(6).Survival, nan, 0)
	near(t, "median", c.Median().Value, nan, 0)
	in := CumulativeIncidence(obs, 1).At(5)
	near(t, "incidence", in.Value, 0, 0)
	near(t, "lower", in.Lower, 0, 0)
	near(t, "upper", in.Upper, 1-.22361, 5e-6)
	// Four ended by another cause, so that the event did not end them by 9; the
	// censored one says nothing of then. With the one at risk that is five of which
	// it is known: 1 − .05^(1/5) = .45072. Of three that all ended it is .05^(1/3).
	in = CumulativeIncidence(observe(t, "1/2 1/2 2+ 3/2 4/2 9+"), 1).At(8)
	near(t, "incidence beside others", in.Value, 0, 0)
	near(t, "upper beside others", in.Upper, .45072, 5e-6)
	in = CumulativeIncidence(observe(t, "1 2 3"), 1).At(3)
	near(t, "incidence of all", in.Value, 1, 0)
	near(t, "lower of all", in.Lower, .36840, 5e-6)
	near(t, "upper of all", in.Upper, 1, 0)
	test := LogRank(obs, obs)
	near(t, "χ²", test.Chi2, nan, 0)
	near(t, "p", test.P, nan, 0)
	near(t, "expected", test.Expected[0], 0, 0)
}

// At one time events come first: the censored one is still at risk.
func TestEventsComeBeforeCensorings(t *testing.T) {
	c := KaplanMeier(observe(t, "4+ 4 9"), LogLog)
	near(t, "at risk", c.At(4).AtRisk, 3, 0)
	near(t, "S", c.At(4).Survival, 2./3, 1e-15)
	near(t, "at risk of the last", c.At(9).AtRisk, 1, 0)
	near(t, "S at the end", c.At(9).Survival, 0, 0)
	near(t, "standard error at the end", c.At(9).StdErr, nan, 0)
	near(t, "S after the end", c.At(10).Survival, 0, 0)
	near(t, "at risk after the end", c.At(10).AtRisk, 0, 0)
	// A competing end at the same time is at risk as well, of both.
	in := CumulativeIncidence(observe(t, "4 4/2 4+ 9"), 1)
	near(t, "incidence", in.At(4).Value, 1./4, 0)
	near(t, "free", in.At(4).Free, 1./2, 0)
}

// A curve that runs at one half has its median in the middle of that stretch;
// one that ends there, where it got there.
func TestMedianOnTheLevel(t *testing.T) {
	near(t, "middle", KaplanMeier(observe(t, "1 2 4 8"), LogLog).Median().Value, 3, 0)
	near(t, "censoring between", KaplanMeier(observe(t, "1 2 3+ 8"), LogLog).Median().Value, 5, 0)
	near(t, "no further fall", KaplanMeier(observe(t, "1 2 4+ 8+"), LogLog).Median().Value, 2, 0)
	near(t, "one event", KaplanMeier(observe(t, "7"), LogLog).Median().Value, 7, 0)
	// What is one half but for rounding must count as that: 4/6·3/4 and, which
	// comes out below, 9/10·8/9·5/8.
	near(t, "rounded", KaplanMeier(observe(t, "1 1 2 3 3 3"), LogLog).Median().Value, 2.5, 0)
	near(t, "rounded down", KaplanMeier(observe(t, "1 2 3 3 3 5 5 5 5 5"), LogLog).Median().Value, 4, 0)
}

func TestTestsThatCannotBe(t *testing.T) {
	a := observe(t, "1 2 3 4+")
	for name, groups := range map[string][][]Obs{
		"no group":      nil,
		"one group":     {a},
		"one empty":     {a, nil},
		"all at once":   {observe(t, "5 5"), observe(t, "5 5 5")},
		"half a unit":   {{{Time: 5, Cause: Event, Weight: .5}}, {{Time: 5, Cause: Event, Weight: .25}}},
		"never at once": {observe(t, "1+ 2+"), observe(t, "3 4 5")},
		"a bad time":    {a, {{Time: nan}}},
	} {
		test := LogRank(groups...)
		if !math.IsNaN(test.Chi2) || !math.IsNaN(test.P) || test.DF != 0 {
			t.Errorf("%s: %+v", name, test)
		}
	}
	// ¾ of a unit each, n = 1½, d = ¾: (n − d)/(n − 1) = 1½ counts as 1, so V is
	// ¾·½·½ and χ² = (¾ − ⅜)²/(3/16) = ¾.
	near(t, "less than a unit", LogRank([]Obs{{Time: 1, Cause: Event, Weight: .75}}, []Obs{{Time: 2, Weight: .75}}).Chi2, .75, 1e-15)

	test := LogRank(a, nil)
	near(t, "observed", test.Observed[0], 3, 0)
	near(t, "expected", test.Expected[0], 3, 0)
	near(t, "observed in bad company", LogRank(a, []Obs{{Time: -1}}).Observed[0], nan, 0)
}

func TestObservationsThatCannotBeComputedWith(t *testing.T) {
	for _, bad := range []Obs{
		{Time: nan}, {Time: -1}, {Time: math.Inf(1)}, {Cause: -1}, {Weight: nan}, {Weight: -1}, {Weight: math.Inf(1)},
	} {
		obs := append(observe(t, "1 2 3"), bad)
		if c := KaplanMeier(obs, LogLog); !math.IsNaN(c.N) || !math.IsNaN(c.Events) || len(c.Points) != 0 {
			t.Errorf("%+v: %+v", bad, c)
		}
		if in := CumulativeIncidence(obs, 1); in != nil {
			t.Errorf("%+v: %+v", bad, in)
		}
		if c := ClusterBands([][]Obs{obs, {bad}, {bad, bad}}); !math.IsNaN(c.N) {
			t.Errorf("%+v: %+v", bad, c)
		}
		if c := KaplanMeier(Pool([][]Obs{{bad, bad}}), LogLog); !math.IsNaN(c.N) {
			t.Errorf("%+v pooled with itself: %+v", bad, c)
		}
	}
	if in := CumulativeIncidence(observe(t, "1 2 3+"), Censored); in != nil {
		t.Errorf("an incidence of censoring: %+v", in)
	}
}

func TestRatesAtTheirEdges(t *testing.T) {
	for _, w := range []Interval{
		Wilson(0, 0), Wilson(-1, 5), Wilson(6, 5), Wilson(nan, 5), Wilson(1, nan), Wilson(1, math.Inf(1)), Wilson(0, -2),
	} {
		if !math.IsNaN(w.Value) || !math.IsNaN(w.Lower) || !math.IsNaN(w.Upper) {
			t.Errorf("%+v", w)
		}
	}
	for n := 1.0; n < 2000; n++ {
		near(t, "none", Wilson(0, n).Lower, 0, 0)
		near(t, "all", Wilson(n, n).Upper, 1, 0)
	}
	if w := Wilson(2.5, 5); w.Value != .5 || w.Lower+w.Upper != 1 {
		t.Errorf("half of five: %+v", w)
	}
	near(t, "no pair differs", SignTest(0, 0), 1, 0)
	near(t, "as many", SignTest(4, 4), 1, 0)
	near(t, "one", SignTest(1, 0), 1, 0)
	near(t, "next to each other", SignTest(4, 5), 1, 0)
	near(t, "less than none", SignTest(-1, 3), nan, 0)

	in := []float64{.02, nan, .01, 2, -.1, .9}
	got := Holm(in) // three were made: 3·.01, 2·.02, 1·.9
	for i, want := range []float64{.04, nan, .03, nan, nan, .9} {
		near(t, "adjusted", got[i], want, 1e-15)
	}
	if in[0] != .02 || len(Holm(nil)) != 0 {
		t.Error("Holm changed its input, or made some")
	}
	near(t, "at most 1", Holm([]float64{.6, .7})[0], 1, 0)
}

// quantile sorts the values first.
func quantile(values []float64, p float64) float64 {
	return sortedQuantile(slices.Sorted(slices.Values(values)), p)
}

// R's quantile(1:10, c(.05, .25, .5, .75, .95), type = 2), and the ends.
func TestQuantileDefinition(t *testing.T) {
	tens := []float64{10, 2, 3, 4, 5, 6, 7, 8, 9, 1}
	for _, want := range [][2]float64{{0, 1}, {.05, 1}, {.1, 1.5}, {.25, 3}, {.5, 5.5}, {.75, 8}, {.95, 10}, {1, 10}} {
		near(t, "of ten", quantile(tens, want[0]), want[1], 0)
	}
	near(t, ".95 of 60 is 57 of them", quantile(series(60), .95), 57.5, 0)
	near(t, ".07 of 100 is 7, though .07·100 > 7", quantile(series(100), .07), 7.5, 0)
	near(t, ".29 of 100 is 29, though .29·100 < 29", quantile(series(100), .29), 29.5, 0)
	near(t, ".95 of 100", quantile(series(100), .95), 95.5, 0)
	near(t, ".95 of 101", quantile(series(101), .95), 96, 0)
	for _, p := range []float64{-.1, 1.1, nan} {
		near(t, "no such p", quantile(tens, p), nan, 0)
	}
	near(t, "of nothing", quantile(nil, .5), nan, 0)
	near(t, "of NaN", quantile([]float64{1, nan}, .5), nan, 0)
	near(t, "without overflow", quantile([]float64{math.MaxFloat64, math.MaxFloat64 / 2}, .5), .75*math.MaxFloat64, 1e293)
}

// series is 1 … n.
func series(n int) []float64 {
	xs := make([]float64, n)
	for i := range xs {
		xs[i] = float64(i + 1)
	}
	return xs
}

// Units weigh the same however many values they have.
func TestQuantileOfUnits(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	for range 100 {
		var values []float64
		var units, copies [][]float64
		for range 1 + rng.IntN(20) {
			x := float64(rng.IntN(9))
			values = append(values, x)
			units = append(units, []float64{x}, nil)
			copies = append(copies, slices.Repeat([]float64{x}, 1+rng.IntN(7)))
		}
		p := float64(rng.IntN(21)) / 20
		one, many := QuantileInterval(units, p, 50, 3), QuantileInterval(copies, p, 50, 3)
		near(t, "value", one.Value, quantile(values, p), 0)
		if one != many {
			t.Errorf("copies %+v, singles %+v", many, one)
		}
	}
	// 9 with ½, 1 and 2 with ¼ each: sorted shares .25 .5 1, of a sum of 1.
	mixed := [][]float64{{9, 9}, {1, 2}}
	near(t, "of two units", QuantileInterval(mixed, .5, 0, 1).Value, 5.5, 0) // 2 reaches the half, 9 is next
	near(t, "a third", QuantileInterval(mixed, .3, 0, 1).Value, 2, 0)
	near(t, "no draws", QuantileInterval(mixed, .5, 0, 1).Lower, nan, 0)
	for _, in := range []Interval{
		QuantileInterval(nil, .5, 9, 1), QuantileInterval(mixed, 2, 9, 1), QuantileInterval([][]float64{{1, nan}}, .5, 9, 1),
	} {
		near(t, "undefined", in.Value, nan, 0)
		near(t, "undefined", in.Lower, nan, 0)
	}
}

func TestBootstrapAtItsEdges(t *testing.T) {
	near(t, "no units", Bootstrap(0, 10, 1, func([]float64) float64 { return 1 }).Value, nan, 0)
	in := Bootstrap(3, 10, 1, func([]float64) float64 { return nan })
	near(t, "never defined", in.Lower, nan, 0)
	// Defined only where unit 0 was drawn: the others are left out.
	in = Bootstrap(2, 400, 1, func(w []float64) float64 {
		if w[0] == 0 {
			return nan
		}
		return w[0]
	})
	near(t, "value", in.Value, 1, 0)
	near(t, "lower", in.Lower, 1, 0)
	near(t, "upper", in.Upper, 2, 0)
	if in != Bootstrap(2, 400, 1, func(w []float64) float64 { return map[bool]float64{true: nan, false: w[0]}[w[0] == 0] }) {
		t.Error("the same seed led to another interval")
	}
}

// Whatever comes in, nothing panics.
func TestGarbage(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	odd := []float64{0, 1, 2.5, -1, nan, math.Inf(1), math.Inf(-1), 1e308, 5e-324}
	pick := func() float64 { return odd[rng.IntN(len(odd))] }
	for range 3000 {
		var units [][]Obs
		var values [][]float64
		for range rng.IntN(4) {
			var unit []Obs
			var xs []float64
			for range rng.IntN(4) {
				unit = append(unit, Obs{pick(), rng.IntN(5) - 1, pick(), rng.IntN(4) - 1})
				xs = append(xs, pick())
			}
			units, values = append(units, unit), append(values, xs)
		}
		c := ClusterBands(units)
		c.At(pick())
		c.Median()
		ClusterIncidence(units, rng.IntN(4)-1).At(pick())
		KaplanMeier(Pool(units), Band(rng.IntN(5))).Median()
		CumulativeIncidence(Pool(units), rng.IntN(4)-1).At(pick())
		LogRank(units...)
		QuantileInterval(values, pick(), 3, 1)
		Holm(slices.Concat(values...))
		Wilson(pick(), pick())
		WilsonUnits([]float64{pick(), pick()}, []int{rng.IntN(4) - 1, 1})
		SignTest(rng.IntN(5)-1, rng.IntN(5)-1)
	}
}

// Of 1 to 1,000 the middle 95 % lies between the means of the 25th and 26th and of the
// 975th and 976th value.
func TestPercentiles(t *testing.T) {
	draws := make([]float64, 1000)
	for i := range draws {
		draws[i] = float64(1000 - i)
	}
	lower, upper := percentiles(draws)
	near(t, "lower", lower, 25.5, 0)
	near(t, "upper", upper, 975.5, 0)
}
