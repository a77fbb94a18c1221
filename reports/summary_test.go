package reports

import (
	"strings"
	"testing"

	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/scenarios"
)

// trial is a result that passed after some calls and so many milliseconds.
func trial(scenario, variant string, seed uint64, calls int, ms int64) *scenarios.Result {
	suite, _, _ := strings.Cut(scenario, "/")
	return &scenarios.Result{Type: "trial", Scenario: scenario, Suite: suite, Variant: variant, Seed: seed,
		EndState: loop.LoopDetected, Stop: "circuit-breaker", Calls: calls, VirtualMS: ms, Verdict: scenarios.Pass}
}

func summary(results ...*scenarios.Result) *Summary {
	s := &Summary{}
	for _, r := range results {
		s.Add(r)
	}
	return s
}

func written(t *testing.T, write func(*strings.Builder) error) string {
	t.Helper()
	var b strings.Builder
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func compare(t *testing.T, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestSummaryOfOwnVariants(t *testing.T) {
	failed := trial("loops/b", "microbot", 1, 9, 1000)
	failed.Verdict = scenarios.Fail
	dark := trial("limits/c", "hpd-agent", 1, 0, 0)
	dark.Verdict, dark.Stop, dark.EndState = scenarios.Inconclusive, "", ""
	s := summary(trial("loops/a", "hpd-agent", 1, 4, 10800), failed, dark)
	// loops: (4+9)/2 = 6.5 calls, 10.8 s + 1 s; limits: nothing was stopped, so
	// no median; in all still 6.5.
	compare(t, written(t, func(b *strings.Builder) error { return s.Write(b, false) }), ""+
		" suite   scenarios  passed  calls before the stop  virtual time\n"+
		"────────────────────────────────────────────────────────────────\n"+
		" limits          1       0                      –           0ms\n"+
		" loops           2       1                    6.5         11.8s\n"+
		"────────────────────────────────────────────────────────────────\n"+
		" total           3       1                    6.5         11.8s\n"+
		"3 trials of 3 scenarios: 1 passed, 1 failed, 1 inconclusive\n")
}

func TestSummaryOfSeveralVariantsHasATableEach(t *testing.T) {
	s := summary(trial("loops/a", "b", 1, 1, 1), trial("loops/a", "a", 1, 3, 2))
	got := written(t, func(b *strings.Builder) error { return s.Write(b, false) })
	first, second := strings.Index(got, "variant b\n"), strings.Index(got, "variant a\n")
	if first != 0 || second < first {
		t.Errorf("want a table for b and then one for a, in the order they came:\n%s", got)
	}
	if !strings.HasSuffix(got, "\n2 trials of 1 scenario: 2 passed\n") {
		t.Errorf("want one line over all at the end:\n%s", got)
	}
}

// A scenario is the unit: with one failed seed it has not passed.
func TestScenarioPassesWithAllItsSeeds(t *testing.T) {
	failed := trial("loops/a", "v", 2, 1, 1)
	failed.Verdict = scenarios.Fail
	s := summary(trial("loops/a", "v", 1, 1, 1), failed, trial("loops/a", "v", 3, 1, 1))
	got := written(t, func(b *strings.Builder) error { return s.Write(b, false) })
	if !strings.Contains(got, " total          1       0 ") {
		t.Errorf("want 1 scenario and 0 passed:\n%s", got)
	}
}

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		why    string
		counts map[int]int
		want   string
	}{
		{"none", nil, "–"},
		{"1 2 3", map[int]int{1: 1, 2: 1, 3: 1}, "2"},
		{"1 1 1 9: the second and the third are 1", map[int]int{1: 3, 9: 1}, "1"},
		{"1 1 9 9: (1+9)/2", map[int]int{1: 2, 9: 2}, "5"},
		{"4 5: 4.5", map[int]int{4: 1, 5: 1}, "4.5"},
		{"5000", map[int]int{5000: 1}, "5,000"},
	} {
		if got := median(c.counts); got != c.want {
			t.Errorf("%s: got %s, want %s", c.why, got, c.want)
		}
	}
}

func TestSummaryShowsNothingForeignRaw(t *testing.T) {
	s := summary(trial("\x1b[2Jloops/a", "v", 1, 1, 1), trial("\x1b[2Jloops/a", "\x1b[2Jw", 1, 1, 1))
	if got := written(t, func(b *strings.Builder) error { return s.Write(b, false) }); strings.Contains(got, "\x1b") {
		t.Errorf("an escape reached the terminal: %q", got)
	}
}

func TestColourOnlyWhenAsked(t *testing.T) {
	s := summary(trial("loops/a", "v", 1, 1, 1))
	plain := written(t, func(b *strings.Builder) error { return s.Write(b, false) })
	painted := written(t, func(b *strings.Builder) error { return s.Write(b, true) })
	if strings.Contains(plain, "\x1b") || !strings.Contains(painted, "\x1b[32m1\x1b[0m") {
		t.Errorf("plain %q\npainted %q", plain, painted)
	}
	compare(t, strings.NewReplacer("\x1b[32m", "", "\x1b[0m", "").Replace(painted), plain) // the same widths
}

// The table must not follow the locale: with wide East Asian characters its
// rules would be twice as long.
func TestTableIgnoresTheLocale(t *testing.T) {
	t.Setenv("RUNEWIDTH_EASTASIAN", "1")
	got := written(t, func(b *strings.Builder) error { return Table(b, 1, []string{"a"}, [][]string{{"…"}}, nil) })
	compare(t, got, " a\n───\n …\n")
}
