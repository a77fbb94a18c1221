package reports

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/scenarios"
	"github.com/google/go-cmp/cmp"
)

// Five healthy runs: stopped after 2, done after 3, stopped after 4, done after
// 4, a ceiling after 20. At 2 five are at risk: S = 4/5. At 4, after the one that
// was done at 3, three: S = 4/5·2/3 = 8/15. After 20 nobody was watched.
// Of all runs 1/5 is stopped by 2, and by 4 it is 1/5 + 3/5·1/3 = 2/5: before 4
// three fifths are still at work (S of all ends: 4/5·3/4).
func TestSurvival(t *testing.T) {
	r := folded(t, &Fold{},
		endedIn("s/a", "v", scenarios.Healthy, 1, loop.LoopDetected, 2),
		endedIn("s/b", "v", scenarios.Healthy, 1, loop.Done, 3),
		endedIn("s/c", "v", scenarios.Healthy, 1, loop.ErrorLimit, 4),
		endedIn("s/d", "v", scenarios.Healthy, 1, loop.ClarifyNeeded, 4),
		endedIn("s/e", "v", scenarios.Healthy, 1, loop.Ceiling, 20))
	s := r.Survival[0]
	if s.N != 5 || s.Events != 2 || s.Median.Known() {
		t.Errorf("%g runs, %g stopped, median %v; want 5, 2 and none", s.N, s.Events, s.Median)
	}
	for after, want := range map[string]struct{ survival, atRisk float64 }{"2": {0.8, 5}, "4": {8.0 / 15, 3}, "8": {8.0 / 15, 1}, "16": {8.0 / 15, 1}} {
		near(t, "alive after "+after, float64(s.Alive[after].Survival), want.survival, 1e-12)
		near(t, "at risk before "+after, s.Alive[after].AtRisk, want.atRisk, 0)
	}
	if len(s.Points) != 4 || s.Points[2].T != 4 || s.Points[2].AtRisk != 3 || s.Points[2].Events != 1 {
		t.Errorf("points %+v", s.Points)
	}
	if len(s.Incidence) != 2 || s.Incidence[0].T != 2 || s.Incidence[1].T != 4 {
		t.Fatalf("incidence %+v", s.Incidence)
	}
	near(t, "stopped by 2", float64(s.Incidence[0].Value), 0.2, 1e-12)
	near(t, "stopped by 4", float64(s.Incidence[1].Value), 0.4, 1e-12)
}

// A line of somebody else may have calls only; and where nobody is at risk any
// more there is no figure, which JSON has as null and a table as a dash.
func TestSurvivalWithoutAskedAndWithoutRuns(t *testing.T) {
	a := endedIn("s/a", "v", scenarios.Runaway, 1, loop.LoopDetected, 3)
	b := endedIn("s/b", "v", scenarios.Runaway, 1, loop.Ceiling, 5)
	a.Asked, b.Asked = 0, 0
	r := folded(t, &Fold{}, a, b)
	s := r.Survival[0]
	near(t, "alive after 4", float64(s.Alive["4"].Survival), 0.5, 1e-12)
	if s.Alive["8"].Survival.Known() || s.Alive["8"].AtRisk != 0 {
		t.Errorf("after 8 calls: %+v, want nothing", s.Alive["8"])
	}
	text := written(t, func(b *strings.Builder) error { return WriteJSON(b, r) })
	var back struct {
		Survival []struct {
			Alive map[string]struct{ Survival *float64 }
		}
	}
	if err := json.Unmarshal([]byte(text), &back); err != nil {
		t.Fatal(err)
	}
	if got := back.Survival[0].Alive["8"].Survival; got != nil {
		t.Errorf("JSON has %v, want null", *got)
	}
	if got, want := r.aliveCells("v", scenarios.Runaway), []string{"(100 %)", "(50 %)", "—", "—"}; !cmp.Equal(got, want) {
		t.Errorf("cells %q, want %q", got, want)
	}
}

// One scenario whose trials differ is worth one, of which ½ is stopped, whatever
// the number of its trials: Greenwood's error is ½·√(½/(1·½)) = ½, on the log-log
// scale 1.95996·½/(½·ln 2) = 2.8276, and ½ to the powers of e^±2.8276 = 16.905 and
// .059153 is .0000081 and .95983.
func TestBandsOfOneScenario(t *testing.T) {
	f := &Fold{}
	for seed := range uint64(4) {
		state := loop.Done
		if seed < 2 {
			state = loop.LoopDetected
		}
		fill(t, f, endedIn("s/a", "v", scenarios.Healthy, seed, state, 5))
	}
	p := folded(t, f).Survival[0].Points[0]
	near(t, "survival", float64(p.Survival), 0.5, 0)
	near(t, "lower", float64(p.Lower), 0.0000081, 1e-7)
	near(t, "upper", float64(p.Upper), 0.95983, 5e-6)
}

// Ten healthy runs are not stopped, three of them with 20 calls and seven with 2:
// at 16 three are at risk, and of three of three the exact limit is .05^(1/3) =
// .3684; of ten .05^(1/10) = .7411.
func TestBandsWhereNothingHappened(t *testing.T) {
	f := &Fold{}
	for i := range 10 {
		calls := 2
		if i < 3 {
			calls = 20
		}
		fill(t, f, endedIn(fmt.Sprint("s/", i), "v", scenarios.Healthy, 1, loop.Done, calls))
	}
	s := folded(t, f).Survival[0]
	for after, want := range map[string]Alive{"2": {Lower: 0.7411, AtRisk: 10}, "4": {Lower: 0.3684, AtRisk: 3}, "16": {Lower: 0.3684, AtRisk: 3}} {
		got := s.Alive[after]
		near(t, "alive after "+after, float64(got.Survival), 1, 0)
		near(t, "lower after "+after, float64(got.Lower), float64(want.Lower), 5e-5)
		near(t, "upper after "+after, float64(got.Upper), 1, 0)
		near(t, "at risk before "+after, got.AtRisk, want.AtRisk, 0)
	}
	near(t, "lower at 20", float64(s.Points[1].Lower), 0.3684, 5e-5)
}

// The median of 1, 2, 3, 10 is 2.5; of so few nobody knows what 95 % keep to.
func TestSpent(t *testing.T) {
	f := &Fold{}
	for i, calls := range []int{10, 1, 3, 2} {
		fill(t, f, spending(i, calls))
	}
	want := map[string]Figure{SpentCalls: 2.5, SpentTokens: 5, SpentCost: 0.625, SpentTime: 2500}
	for _, s := range folded(t, f).Spent {
		if s.P50 != want[s.Metric] || !(s.P50Lower <= s.P50 && s.P50 <= s.P50Upper) {
			t.Errorf("%+v, want %v and an interval that holds it", s, want[s.Metric])
		}
		if s.P95.Known() || s.P95Lower.Known() || s.P95Upper.Known() {
			t.Errorf("%+v: a p95 of four runs", s)
		}
		delete(want, s.Metric)
	}
	if len(want) > 0 {
		t.Errorf("there is no %v", want)
	}
}

// Of 1 to 60 calls 95 % keep to 57, and the next is 58: 57.5. Of 59 runs there is
// no p95.
func TestSpentHasP95FromSixtyRunsOn(t *testing.T) {
	f := &Fold{}
	for i := range 59 {
		fill(t, f, spending(i, i+1))
	}
	if s := folded(t, f).Spent[0]; s.P95.Known() {
		t.Errorf("%+v: a p95 of 59 runs", s)
	}
	s := folded(t, f, spending(59, 60)).Spent[0]
	if s.P95 != 57.5 || !(s.P95Lower < s.P95 && s.P95 < s.P95Upper) {
		t.Errorf("%+v, want 57.5 within its interval", s)
	}
}

// spending is a healthy run that took something of everything.
func spending(i, calls int) *scenarios.Result {
	r := endedIn(fmt.Sprintf("s/%02d", i), "v", scenarios.Healthy, 1, loop.Done, calls)
	r.TokensIn, r.TokensOut, r.CostUSD, r.VirtualMS = int64(calls), int64(calls), float64(calls)/4, int64(calls)*1000
	return r
}

// Two lines that have codes of their tools and one that does not: 10 calls, 8 without
// an error (NoResults is not one), 9 that kept their schema, 14 tries: 4/10 retries a
// call. Of 60 calls 57 are within the bucket of 200 ms, so that the 95th percentile is
// there; of 59 there is none.
func TestTools(t *testing.T) {
	a := endedIn("s/a", "v", scenarios.Healthy, 1, loop.Done, 6)
	a.Tries, a.SchemaOK, a.Repairs, a.RepairsOK = 9, 5, 4, 3
	a.Codes, a.ToolMS = map[string]int{"None": 3, "NoResults": 2, "Timeout": 1}, []scenarios.Latency{{UpperMS: 100, N: 40}, {UpperMS: 200, N: 13}}
	b := endedIn("s/b", "v", scenarios.Healthy, 1, loop.Done, 4)
	b.Tries, b.SchemaOK = 5, 4
	b.Codes, b.ToolMS = map[string]int{"None": 3, "NotFound": 1}, []scenarios.Latency{{UpperMS: 200, N: 4}, {UpperMS: 9000, N: 3}}
	c := endedIn("s/c", "v", scenarios.Healthy, 1, loop.Done, 100)
	want := []Tools{{Variant: "v", Calls: 110, StepSuccess: 0.8, SchemaOK: 0.9, Repairs: 4, RepairSuccess: 0.75, MeanRetries: 0.4, P95MS: 200,
		Codes: map[string]int{"Timeout": 1, "NotFound": 1}}}
	if diff := cmp.Diff(want, folded(t, &Fold{}, a, b, c).Tools); diff != "" {
		t.Error(diff)
	}
	a.ToolMS[0].N--
	if got := folded(t, &Fold{}, a, b, c).Tools[0].P95MS; got.Known() {
		t.Errorf("p95 of 59 calls: %v", got)
	}
	none := folded(t, &Fold{}, endedIn("s/c", "v", scenarios.Healthy, 1, loop.Done, 100)).Tools[0]
	if none.Calls != 100 || none.StepSuccess.Known() || none.P95MS.Known() || none.RepairSuccess.Known() {
		t.Errorf("%+v: figures without data are unknown", none)
	}
}

// A replay stops and does not catch; of the two failed runs that it stopped one
// went on to a new call.
func TestReplay(t *testing.T) {
	f := &Fold{}
	if err := f.Header(&scenarios.Header{Kind: KindReplay}); err != nil {
		t.Fatal(err)
	}
	on := endedIn("a.json/1", "v", scenarios.Runaway, 0, loop.LoopDetected, 3)
	on.WentOn = true
	nudged := endedIn("a.json/3", "v", scenarios.Runaway, 0, loop.Done, 3)
	nudged.Nudges = 2
	r := folded(t, f, on, endedIn("a.json/2", "v", scenarios.Runaway, 0, loop.ErrorLimit, 3), nudged, endedIn("a.json/4", "v", scenarios.Healthy, 0, loop.RecordingEnded, 3))
	if got := rateOf(t, r, "v", scenarios.Runaway, Stopped); got.K != 2 || got.N != 3 {
		t.Errorf("%g of %g failed runs stopped, want 2 of 3", got.K, got.N)
	}
	if got := rateOf(t, r, "v", scenarios.Runaway, WentOn); got.K != 1 || got.N != 2 {
		t.Errorf("%g of %g went on, want 1 of 2", got.K, got.N)
	}
	table := r.rateTable()
	if diff := cmp.Diff([]string{"variant", "failed runs stopped", "95 %", "good runs stopped", "95 %", "stopped, but went on"}, table.head); diff != "" {
		t.Error(diff)
	}
	if got := table.rows[0]; got[1] != "2 of 3" || got[3] != "0 of 1" || got[5] != "1 of 2" {
		t.Errorf("row %q", got)
	}
}

// The curves of two variants that are the same do not differ; a variant that is
// never at risk beside another gives no p, and null in JSON.
func TestLogRank(t *testing.T) {
	f := &Fold{}
	for i, calls := range []int{2, 3, 5, 8} {
		name := string(rune('a' + i))
		fill(t, f, endedIn(name, "a", scenarios.Runaway, 1, loop.LoopDetected, calls), endedIn(name, "b", scenarios.Runaway, 1, loop.LoopDetected, calls))
	}
	fill(t, f, endedIn("z", "c", scenarios.Healthy, 1, loop.Done, 1))
	got := folded(t, f).LogRank
	if len(got) != 1 || got[0].Reference != "a" || got[0].Variant != "b" || got[0].Chi2 != 0 || got[0].P != 1 || got[0].PAdjusted != 1 || got[0].DF != 1 {
		t.Errorf("%+v, want chi2 0 and p 1 of b beside a", got)
	}
}

// Two variants beside the reference: the smaller p is doubled, and the larger is
// not below that (Holm).
func TestLogRankIsCorrected(t *testing.T) {
	f := &Fold{}
	for i := range 8 {
		name := string(rune('a' + i))
		fill(t, f, endedIn(name, "a", scenarios.Runaway, 1, loop.LoopDetected, 10+i), endedIn(name, "b", scenarios.Runaway, 1, loop.LoopDetected, 12+i),
			endedIn(name, "c", scenarios.Runaway, 1, loop.LoopDetected, 20+i))
	}
	got := folded(t, f).LogRank
	if len(got) != 2 || !(got[1].P < got[0].P) {
		t.Fatalf("%+v, want two tests, the second with the smaller p", got)
	}
	near(t, "c", float64(got[1].PAdjusted), 2*float64(got[1].P), 1e-15)
	near(t, "b", float64(got[0].PAdjusted), max(2*float64(got[1].P), float64(got[0].P)), 1e-15)
}

func TestFigure(t *testing.T) {
	for _, c := range []struct {
		figure Figure
		text   string
	}{{0.25, "0.25"}, {0, "0"}, {-3, "-3"}, {Unknown(), "null"}, {Figure(math.Inf(1)), "null"}} {
		text, err := json.Marshal(c.figure)
		if err != nil || string(text) != c.text {
			t.Errorf("%v is written as %s (%v), want %s", float64(c.figure), text, err, c.text)
		}
		var back Figure
		if err := json.Unmarshal([]byte(c.text), &back); err != nil || back.Known() != c.figure.Known() || c.figure.Known() && back != c.figure {
			t.Errorf("%s is read as %v (%v)", c.text, back, err)
		}
	}
	var f Figure
	if err := json.Unmarshal([]byte(`"x"`), &f); err == nil {
		t.Error("a text is not a figure")
	}
}
