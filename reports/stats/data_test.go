package stats

import (
	"math"
	"strings"
	"testing"
)

// observe reads observations as survival texts print them: "6 6 9+ 13/2" are
// two events at 6, a censoring at 9 and an end by cause 2 at 13.
func observe(t testing.TB, text string) []Obs {
	t.Helper()
	var obs []Obs
	for _, word := range strings.Fields(text) {
		o := Obs{Cause: Event}
		digits, cause, competing := strings.Cut(word, "/")
		if competing {
			o.Cause = int(cause[0] - '0')
		} else if strings.HasSuffix(word, "+") {
			digits, o.Cause = word[:len(word)-1], Censored
		}
		for _, d := range digits {
			o.Time = 10*o.Time + float64(d-'0')
		}
		obs = append(obs, o)
	}
	return obs
}

// Weeks in remission of 42 children with acute leukaemia, 6-mercaptopurine
// against placebo: Freireich et al. 1963, Blood 21:699; Cox 1972, JRSS B 34:187.
const (
	mercaptopurine = "6 6 6 6+ 7 9+ 10 10+ 11+ 13 16 17+ 19+ 20+ 22 23 25+ 32+ 32+ 34+ 35+"
	placebo        = "1 1 2 2 3 4 4 5 5 8 8 8 8 11 11 12 12 15 17 22 23"
)

// Two data sets of R by group, see testdata/survival.txt.
var (
	maintained, notMaintained = survivalData["aml"]["Maintained"], survivalData["aml"]["Nonmaintained"]
	ovarian1, ovarian2        = survivalData["ovarian"]["rx1"], survivalData["ovarian"]["rx2"]
)

// Days from a bone marrow transplant to relapse (1) or death before one (2) in
// three groups: Klein and Moeschberger 1997, Survival Analysis, appendix D.
const (
	marrowALL = "2081+ 1602+ 1496+ 1462+ 1433+ 1377+ 1330+ 996+ 226+ 1199+ 1111+ 530+ 1182+ 1167+ 418/2 383 " +
		"276/2 104 609 172/2 487/2 662 194/2 230 526/2 122/2 129 74 122 86/2 466/2 192 109 55 1/2 107/2 110 332/2"
	marrowLow = "2569+ 2506+ 2409+ 2218+ 1857+ 1829+ 1562+ 1470+ 1363+ 1030+ 860+ 1258+ 2246+ 1870+ 1799+ 1709+ " +
		"1674+ 1568+ 1527+ 1324+ 957+ 932+ 847+ 848+ 1850+ 1843+ 1535+ 1447+ 1384+ 414/2 2204/2 1063/2 481/2 " +
		"105/2 641/2 390/2 288/2 421 79/2 748 486 48/2 272 1074/2 381 10/2 53/2 80/2 35/2 248 704/2 211 219 606"
	marrowHigh = "2640+ 2430+ 2252+ 2140+ 2133+ 1238+ 1631+ 2024+ 1345+ 1136+ 845+ 422 162/2 84 100 2/2 47 242 456 " +
		"268 318/2 32 467 47 390 183/2 105/2 115 164/2 93 120 80/2 677/2 64 168/2 74/2 16/2 157 625 48 273 63/2 76 113 363/2"
)

// anyCause makes every cause the event.
func anyCause(obs []Obs) []Obs {
	out := make([]Obs, len(obs))
	for i, o := range obs {
		if o.Cause > Event {
			o.Cause = Event
		}
		out[i] = o
	}
	return out
}

// near fails unless got is want to within what its last printed digit leaves;
// NaN is near NaN.
func near(t *testing.T, what string, got, want, within float64) {
	t.Helper()
	if math.IsNaN(want) && math.IsNaN(got) {
		return
	}
	if !(math.Abs(got-want) <= within) {
		t.Errorf("%s: got %.10g, want %.10g within %g", what, got, want, within)
	}
}

var nan = math.NaN()
