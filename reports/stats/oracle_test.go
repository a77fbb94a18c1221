package stats

import (
	"embed"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The data of R's package survival and the figures that R gives for them; oracle.R
// beside them makes both.
//
//go:embed testdata/survival.txt testdata/oracle.txt
var oracle embed.FS

// oracleLines returns the lines of a file that are not comments.
func oracleLines(name string) (lines []string) {
	data, err := oracle.ReadFile("testdata/" + name)
	if err != nil {
		panic(err)
	}
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			lines = append(lines, line)
		}
	}
	return lines
}

// survivalData are the ends of the observations, by data set and group, as observe
// reads them.
var survivalData = func() map[string]map[string]string {
	all := map[string]map[string]string{}
	for _, line := range oracleLines("survival.txt") {
		head, ends, _ := strings.Cut(line, ": ")
		set, group, _ := strings.Cut(head, " ")
		if all[set] == nil {
			all[set] = map[string]string{}
		}
		all[set][group] = ends
	}
	return all
}()

// numbers reads numbers; NA is NaN.
func numbers(t *testing.T, words ...string) []float64 {
	t.Helper()
	out := make([]float64, len(words))
	for i, w := range words {
		x, err := strconv.ParseFloat(strings.Replace(w, "NA", "NaN", 1), 64)
		if err != nil {
			t.Fatal(err)
		}
		out[i] = x
	}
	return out
}

// asR fails unless got has the twelve digits that R gave.
func asR(t *testing.T, what string, got, want float64) {
	t.Helper()
	near(t, what, got, want, 1e-11*max(math.Abs(want), 1e-6))
}

// Every figure is R's to twelve digits.
func TestAsR(t *testing.T) {
	counts := map[string]int{}
	for _, line := range oracleLines("oracle.txt") {
		f := strings.Split(line, "\t")
		counts[f[0]]++
		what := strings.Join(f[:min(4, len(f))], " ")
		switch f[0] {
		case "km":
			n := numbers(t, f[3:]...)
			p := KaplanMeier(observe(t, survivalData[f[1]][f[2]]), LogLog).At(n[0])
			near(t, what+": at risk", p.AtRisk, n[1], 0)
			asR(t, what+": S", p.Survival, n[2])
			asR(t, what+": standard error", p.StdErr, n[3])
			asR(t, what+": lower", p.Lower, n[4])
			asR(t, what+": upper", p.Upper, n[5])
		case "median":
			n := numbers(t, f[3:]...)
			m := KaplanMeier(observe(t, survivalData[f[1]][f[2]]), LogLog).Median()
			near(t, what, m.Value, n[0], 0)
			near(t, what+": lower", m.Lower, n[1], 0)
			near(t, what+": upper", m.Upper, n[2], 0)
		case "logrank":
			var groups [][]Obs
			for _, name := range slices.Sorted(maps.Keys(survivalData[f[1]])) {
				groups = append(groups, observe(t, survivalData[f[1]][name]))
			}
			n := numbers(t, f[2:5]...)
			got := LogRank(groups...)
			asR(t, what+": χ²", got.Chi2, n[0])
			near(t, what+": degrees of freedom", float64(got.DF), n[1], 0)
			asR(t, what+": p", got.P, n[2])
			observed, expected := numbers(t, strings.Fields(f[5])...), numbers(t, strings.Fields(f[6])...)
			for i := range groups {
				near(t, what+": observed", got.Observed[i], observed[i], 0)
				asR(t, what+": expected", got.Expected[i], expected[i])
			}
		case "holm":
			want := numbers(t, strings.Fields(f[2])...)
			for i, got := range Holm(numbers(t, strings.Fields(f[1])...)) {
				asR(t, what, got, want[i])
			}
		case "wilson":
			n := numbers(t, f[1:]...)
			w := Wilson(n[0], n[1])
			asR(t, what+": lower", w.Lower, n[2])
			asR(t, what+": upper", w.Upper, n[3])
		case "untouched":
			n := numbers(t, f[1:]...)
			asR(t, what, untouched(n[0]), n[1])
		case "mcnemar":
			n := numbers(t, f[1:]...)
			asR(t, what, SignTest(int(n[0]), int(n[1])), n[2])
		default:
			t.Errorf("a line of an unknown kind: %s", line)
		}
	}
	want := map[string]int{"km": 174, "median": 16, "logrank": 6, "holm": 5, "wilson": 15, "untouched": 7, "mcnemar": 10}
	if !maps.Equal(counts, want) {
		t.Errorf("lines %v, want %v", counts, want)
	}
}

// The data have the observations and events that R's documentation and the publications
// count: aml 23 and 18, lung 228 and 165, veteran 137 and 128, ovarian 26 and 12, colon
// 929 patients with 468 recurrences and 452 deaths.
func TestDataAsDocumented(t *testing.T) {
	for name, want := range map[string][2]int{"aml": {23, 18}, "lung": {228, 165}, "veteran": {137, 128}, "ovarian": {26, 12}, "recurrence": {929, 468}, "death": {929, 452}} {
		var got [2]int
		for _, ends := range survivalData[name] {
			for _, o := range observe(t, ends) {
				got[0]++
				got[1] += o.Cause
			}
		}
		if got != want {
			t.Errorf("%s: %d observations and events, want %d", name, got, want)
		}
	}
}
