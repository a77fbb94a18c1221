package stats

import (
	"fmt"
	"math"
	"testing"
)

// A row is a line of a published life table.
type row struct{ time, atRisk, events, survival, stdErr, lower, upper float64 }

// What `summary(survfit(..., conf.type = "log-log"))` prints (R 4.2.2, survival
// 3.5-3), to more digits than the textbooks: 6-MP has .857 .807 .753 .690 .627
// .538 .448 there, aml .909 .818 .716 .614 .491 .368 .184.
var lifeTables = map[string][]row{
	mercaptopurine: {
		{6, 21, 3, .857143, .0763604, .619718, .951552},
		{7, 17, 1, .806723, .0869353, .563147, .922809},
		{10, 15, 1, .752941, .0963497, .503200, .889362},
		{13, 12, 1, .690196, .1068147, .431610, .849066},
		{16, 11, 1, .627451, .1140539, .367511, .804912},
		{22, 7, 1, .537815, .1282338, .267779, .746791},
		{23, 6, 1, .448179, .1345915, .188052, .680143},
	},
	placebo: {
		{1, 21, 2, .904762, .0640564, .670046, .975294},
		{2, 19, 2, .809524, .0856891, .568905, .923889},
		{3, 17, 1, .761905, .0929429, .519391, .893257},
		{4, 16, 2, .666667, .1028689, .425350, .825044},
		{5, 14, 2, .571429, .1079898, .337977, .749241},
		{8, 12, 4, .380952, .1059712, .183067, .577789},
		{11, 8, 2, .285714, .0985808, .116561, .481820},
		{12, 6, 2, .190476, .0856891, .0594817, .377435},
		{15, 4, 1, .142857, .0763604, .0356574, .321162},
		{17, 3, 1, .095238, .0640564, .0162593, .261250},
		{22, 2, 1, .047619, .0464714, .0033245, .197045},
		{23, 1, 1, 0, nan, nan, nan},
	},
	maintained: {
		{9, 11, 1, .909091, .0866784, .508080, .986674},
		{13, 10, 1, .818182, .1162913, .447429, .951162},
		{18, 8, 1, .715909, .1396650, .350190, .899024},
		{23, 7, 1, .613636, .1526323, .265752, .835299},
		{31, 5, 1, .490909, .1641933, .167331, .753400},
		{34, 4, 1, .368182, .1626689, .0928296, .657041},
		{48, 2, 1, .184091, .1534927, .0117385, .525015},
	},
	notMaintained: {
		{5, 12, 2, .833333, .1075829, .481715, .955509},
		{8, 10, 2, .666667, .1360828, .337019, .859712},
		{12, 8, 1, .583333, .1423188, .270139, .800940},
		{23, 6, 1, .486111, .1481301, .191877, .729672},
		{27, 5, 1, .388889, .1469862, .126272, .649817},
		{30, 4, 1, .291667, .1387152, .0724016, .560886},
		{33, 3, 1, .194444, .1218745, .0311986, .461429},
		{43, 2, 1, .097222, .0918664, .0057463, .348904},
		{45, 1, 1, 0, nan, nan, nan},
	},
}

func TestKaplanMeierAsPublished(t *testing.T) {
	for text, rows := range lifeTables {
		c := KaplanMeier(observe(t, text), LogLog)
		events := 0.0
		for _, want := range rows {
			got := c.At(want.time)
			what := fmt.Sprintf("%.20s at %g", text, want.time)
			near(t, what+", at risk", got.AtRisk, want.atRisk, 0)
			near(t, what+", events", got.Events, want.events, 0)
			near(t, what+", S", got.Survival, want.survival, 5.1e-7)
			near(t, what+", standard error", got.StdErr, want.stdErr, 5.1e-8)
			near(t, what+", lower", got.Lower, want.lower, 5.1e-7)
			near(t, what+", upper", got.Upper, want.upper, 5.1e-7)
			events += want.events
		}
		near(t, text+": all events", c.Events, events, 0)
	}
}

// R's other scales, at one time each of both data sets.
func TestBandsAsPublished(t *testing.T) {
	for _, want := range []struct {
		text         string
		band         Band
		time         float64
		lower, upper float64
	}{
		{mercaptopurine, Log, 6, .719817, 1},
		{mercaptopurine, Log, 23, .248788, .807372},
		{mercaptopurine, Plain, 6, .707479, 1},
		{mercaptopurine, Plain, 23, .184385, .711974},
		{placebo, Plain, 15, 0, .292521},
		{maintained, Log, 9, .7541338, 1}, // summary(survfit(Surv(time, status) ~ x, aml)) prints 0.7541, 1.000
		{maintained, Log, 48, .0359179, .943526},
		{maintained, Plain, 31, .1690962, .812722},
	} {
		got := KaplanMeier(observe(t, want.text), want.band).At(want.time)
		near(t, "lower", got.Lower, want.lower, 5.1e-7)
		near(t, "upper", got.Upper, want.upper, 5.1e-7)
	}
}

// Medians and their limits as print(survfit) has them for each conf.type.
func TestSummariesAsPublished(t *testing.T) {
	for _, want := range []struct {
		text   string
		band   Band
		median Interval
	}{
		{mercaptopurine, LogLog, Interval{23, 13, nan}},
		{mercaptopurine, Log, Interval{23, 16, nan}},
		{mercaptopurine, Plain, Interval{23, 13, nan}},
		{placebo, LogLog, Interval{8, 4, 11}},
		{placebo, Log, Interval{8, 4, 12}},
		{maintained, LogLog, Interval{31, 13, nan}},
		{maintained, Log, Interval{31, 18, nan}},
		{maintained, Plain, Interval{31, 18, 48}},
		{notMaintained, LogLog, Interval{23, 5, 33}},
		{notMaintained, Log, Interval{23, 8, nan}},
	} {
		got := KaplanMeier(observe(t, want.text), want.band).Median()
		near(t, want.text+": median", got.Value, want.median.Value, 0)
		near(t, want.text+": lower", got.Lower, want.median.Lower, 0)
		near(t, want.text+": upper", got.Upper, want.median.Upper, 0)
	}
}

func TestLogRankAsPublished(t *testing.T) {
	groups := func(texts ...string) (out [][]Obs) {
		for _, text := range texts {
			out = append(out, anyCause(observe(t, text)))
		}
		return out
	}
	for _, want := range []struct {
		name     string
		groups   [][]Obs
		observed []float64
		expected []float64
		chi2, p  float64
		within   float64
	}{
		// Textbooks 16.79 with 19.25 and 10.75 expected; survdiff to more digits.
		{"remission", groups(mercaptopurine, placebo), []float64{9, 21}, []float64{19.2505, 10.7495}, 16.7929, 4.1688e-5, 5.1e-5},
		// survdiff prints 3.4, p = .0653, expected 10.69 and 7.31.
		{"aml", groups(maintained, notMaintained), []float64{7, 11}, []float64{10.6893, 7.3107}, 3.3964, .065339, 5.1e-5},
		// The example of ?survdiff: 1.1, p = .303, expected 5.23 and 6.77.
		{"ovarian", groups(ovarian1, ovarian2), []float64{7, 5}, []float64{5.2335, 6.7665}, 1.0627, .302591, 5.1e-5},
		// SAS/STAT User's Guide, LIFETEST, example 52.2: 13.8037 on 2, p = .0010.
		{"marrow", groups(marrowALL, marrowLow, marrowHigh), []float64{24, 25, 34}, []float64{21.8517, 39.9661, 21.1822}, 13.8037, .0010060, 5.1e-5},
	} {
		got := LogRank(want.groups...)
		near(t, want.name+": χ²", got.Chi2, want.chi2, want.within)
		near(t, want.name+": p", got.P, want.p, 5.1e-7)
		if got.DF != len(want.groups)-1 {
			t.Errorf("%s: %d degrees of freedom", want.name, got.DF)
		}
		for i := range want.groups {
			near(t, want.name+": observed", got.Observed[i], want.observed[i], 0)
			near(t, want.name+": expected", got.Expected[i], want.expected[i], want.within)
		}
	}
}

// Relapse (1) and death before one (2) after a transplant. The incidences of
// relapse at low risk after 1, 1½, 2 and 3 years, .0741 .1296 .1481 .1667, are
// those of SAS and of R's cmprsk that PSIAIMS/CAMIS compares (whose standard
// errors, .0360 to .0514, are Aalen's of 1978, a little wider). They and the rest
// are what survfit(Surv(t, factor(cause)) ~ 1) gives, whose infinitesimal
// jackknife is our variance; until the first censoring that is p·(1−p)/n, so at
// 365 days √(4/54·50/54/54) = .035639.
func TestCumulativeIncidenceAsPublished(t *testing.T) {
	for _, want := range []struct {
		text         string
		time         float64
		free         float64
		relapse, se1 float64
		death, se2   float64
	}{
		{marrowLow, 182.625, .8703703704, 0, 0, .1296296296, .04570958825},
		{marrowLow, 365.25, .7777777778, .07407407407, .03563890551, .1481481481, .04834296348},
		{marrowLow, 547.875, .6666666667, .12962962963, .04570958825, .2037037037, .05480749219},
		{marrowLow, 730.5, .6111111111, .14814814815, .04834296348, .2407407407, .05817989924},
		{marrowLow, 1095.75, .5470085470, .16666666667, .05071505162, .2863247863, .06295988052},
		{marrowALL, 122, .7368421053, .15789473684, .05915278810, .1052631579, .04978448963},
		{marrowALL, 365, .5491990847, .23798627002, .06929927606, .2128146453, .06682749935},
		{marrowALL, 700, .3530565544, .32428898333, .07727942534, .3226544622, .07675032937},
	} {
		obs := observe(t, want.text)
		relapse, death := CumulativeIncidence(obs, 1).At(want.time), CumulativeIncidence(obs, 2).At(want.time)
		what := fmt.Sprintf("%.10s at %g", want.text, want.time)
		near(t, what+": free", relapse.Free, want.free, 1e-9)
		near(t, what+": relapse", relapse.Value, want.relapse, 1e-9)
		near(t, what+": its standard error", relapse.StdErr, want.se1, 1e-9)
		near(t, what+": death", death.Value, want.death, 1e-9)
		near(t, what+": its standard error", death.StdErr, want.se2, 1e-9)
	}
}

// Satagopan et al. 2004, Br. J. Cancer 91:1229, table 2: 305 patients of whom
// the first ends are given; breast cancer deaths (1) by month 10, 16, 23 and 27
// have incidences of 0.3, 0.6, 0.9 and 1.2 % with 304, 302, 300 and 297 at risk.
func TestCumulativeIncidenceOfTextbook(t *testing.T) {
	obs := observe(t, "7+ 10 14+ 16 18/2 23 24+ 26/2 27")
	for len(obs) < 305 {
		obs = append(obs, Obs{Time: 60})
	}
	in := CumulativeIncidence(obs, 1)
	for _, want := range [][3]float64{{10, 304, .003}, {16, 302, .006}, {23, 300, .009}, {27, 297, .012}} {
		got := in.At(want[0])
		near(t, "at risk", got.AtRisk, want[1], 0)
		near(t, "incidence", got.Value, want[2], .0015)
	}
	// To more digits: 1/304 + (303/304)·1/302 + … as the table's steps multiply.
	s := 303. / 304
	f := 1. / 304
	f += s / 302
	s *= 301. / 302
	s *= 300. / 301
	f += s / 300
	s *= 299. / 300
	s *= 297. / 298
	f += s / 297
	near(t, "incidence at 27", in.At(27).Value, f, 1e-15)
}

// survfit with weights 1, ½, ¼ in turn over the 6-MP group (robust = FALSE).
func TestWeightsAsR(t *testing.T) {
	obs := observe(t, mercaptopurine)
	for i := range obs {
		obs[i].Weight = []float64{1, .5, .25}[i%3]
	}
	c := KaplanMeier(obs, LogLog)
	for _, want := range []row{
		{6, 12.25, 1.75, .857142857, .0999791732, .5069963439, .965621580},
		{7, 9.5, .5, .812030075, .1132582434, .4611999003, .945520850},
		{10, 8.75, 1, .719226638, .1330082045, .3716209868, .896073746},
		{16, 6, .5, .565106644, .1528516619, .2357707042, .798160625},
		{23, 3.5, 1, .376737763, .1711958373, .0879565491, .675687335},
	} {
		got := c.At(want.time)
		near(t, "at risk", got.AtRisk, want.atRisk, 0)
		near(t, "S", got.Survival, want.survival, 5.1e-10)
		near(t, "standard error", got.StdErr, want.stdErr, 5.1e-11)
		near(t, "lower", got.Lower, want.lower, 5.1e-11)
		near(t, "upper", got.Upper, want.upper, 5.1e-10)
	}
}

// Newcombe 1998, table I, method 3.
func TestWilsonAsPublished(t *testing.T) {
	for _, want := range [][4]float64{
		{81, 263, .2553, .3662}, {15, 148, .0624, .1605}, {0, 20, 0, .1611}, {1, 29, .0061, .1718}, {29, 29, .8830, 1},
	} {
		got := Wilson(want[0], want[1])
		near(t, "rate", got.Value, want[0]/want[1], 0)
		near(t, "lower", got.Lower, want[2], 5.1e-5)
		near(t, "upper", got.Upper, want[3], 5.1e-5)
	}
	got := Wilson(81, 263) // prop.test(81, 263, correct = FALSE)
	near(t, "lower", got.Lower, .2552885199, 5.1e-11)
	near(t, "upper", got.Upper, .3662095770, 5.1e-11)
}

// Armitage and Berry 1994, Statistical Methods in Medical Research, page 127:
// of 50 specimens 12 grew on medium A only and 2 on B only, exact p = .0129.
// And by hand: 7 against 1, 2·(1 + 8)/2⁸; 12 against 5, 2·(1 + 17 + 136 + 680 +
// 2380 + 6188)/2¹⁷.
func TestSignTestAsPublished(t *testing.T) {
	near(t, "12 : 2", SignTest(12, 2), .0129, 5e-5)
	near(t, "12 : 2", SignTest(12, 2), 2*(1.+14+91)/16384, 1e-15)
	near(t, "7 : 1", SignTest(7, 1), 18./256, 1e-15)
	near(t, "5 : 12", SignTest(5, 12), 2*9402./131072, 1e-14)
	near(t, "0 : 1000", SignTest(0, 1000), math.Ldexp(1, -999), math.Ldexp(1, -1010))
}

// The example in pingouin's documentation of Holm's method, and one by hand:
// 4·.005, 3·.01, 2·.03, and .04 that may not fall below .06.
func TestHolmAsPublished(t *testing.T) {
	for _, c := range []struct{ p, want []float64 }{
		{[]float64{.50, .003, .32, .054, .0003}, []float64{.64, .012, .64, .162, .0015}},
		{[]float64{.01, .04, .03, .005}, []float64{.03, .06, .06, .02}},
	} {
		for i, got := range Holm(c.p) {
			near(t, "adjusted", got, c.want[i], 1e-12)
		}
	}
}

// The first draws of SplitMix64 from seed 1234567, as its reference
// implementation (Vigna) gives them.
func TestSourceAsPublished(t *testing.T) {
	s := source(1234567)
	for _, want := range []uint64{
		6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431, 16408922859458223821,
	} {
		if got := s.next(); got != want {
			t.Errorf("got %d, want %d", got, want)
		}
	}
	near(t, "z", z, 1.959963984540054, 1e-14)
}
