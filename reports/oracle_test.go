package reports

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/scenarios"
)

// asRData adds each observation of a data set of R as a runaway scenario: the groups
// are variants, an event is a stop, a censoring a ceiling. Scenarios are numbered within
// their group, since no observation of R's is a pair of another.
func asRData(t *testing.T, f *Fold, set string) {
	t.Helper()
	data, err := os.ReadFile("stats/testdata/survival.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		head, ends, _ := strings.Cut(strings.TrimSpace(line), ": ")
		name, group, _ := strings.Cut(head, " ")
		if name != set {
			continue
		}
		for i, end := range strings.Fields(ends) {
			state := loop.LoopDetected
			digits, censored := strings.CutSuffix(end, "+")
			if censored {
				state = loop.Ceiling
			}
			calls, err := strconv.Atoi(digits)
			if err != nil {
				t.Fatal(err)
			}
			if err := f.Add(endedIn(fmt.Sprintf("%s/%04d", set, i), group, scenarios.Runaway, 1, state, calls)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// The curves and log-rank tests of a report on R's data are R's, to twelve digits: what
// the package stats computes gets into the right places. With one trial a scenario the
// limits are Greenwood's.
func TestReportAsR(t *testing.T) {
	text, err := os.ReadFile("stats/testdata/oracle.txt")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]*Report{}
	for _, set := range []string{"aml", "lung", "ovarian", "recurrence"} {
		f := &Fold{}
		asRData(t, f, set)
		all[set] = folded(t, f)
	}
	same := func(what string, got Figure, want string) {
		t.Helper()
		x, err := strconv.ParseFloat(want, 64)
		switch {
		case want == "NA" && got.Known():
			t.Errorf("%s: %v, want unknown", what, got)
		case want != "NA" && err != nil:
			t.Fatal(err)
		case want != "NA":
			near(t, what, float64(got), x, 1e-11*max(x, 1e-6))
		}
	}
	points, tests := 0, 0
	for line := range strings.Lines(string(text)) {
		f := strings.Split(strings.TrimSpace(line), "\t")
		if len(f) < 4 || all[f[1]] == nil {
			continue
		}
		r := all[f[1]]
		switch f[0] {
		case "km", "median":
			s := r.Survival[slices.IndexFunc(r.Survival, func(s Survival) bool { return s.Variant == f[2] })]
			if f[0] == "median" {
				same(line, s.Median, f[3])
				continue
			}
			for _, p := range s.Points {
				if strconv.FormatFloat(p.T, 'g', -1, 64) == f[3] {
					same(line+"at risk", Figure(p.AtRisk), f[4])
					same(line+"S", p.Survival, f[5])
					same(line+"standard error", p.StdErr, f[6])
					same(line+"lower", p.Lower, f[7])
					same(line+"upper", p.Upper, f[8])
					points++
				}
			}
		case "logrank": // R compares all groups, a report two
			if len(r.LogRank) == 1 {
				same(line+"χ²", r.LogRank[0].Chi2, f[2])
				same(line+"p", r.LogRank[0].P, f[4])
				tests++
			}
		}
	}
	if points < 40 || tests != 3 {
		t.Errorf("%d points and %d tests compared, want 40 or more and 3", points, tests)
	}
}
