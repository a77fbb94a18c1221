package reports

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/scenarios"
)

// tried returns a variant's results: of so many runaways that many caught, after
// that many calls, and of so many healthy runs that many stopped.
func tried(variant string, runaways, caught, calls, healthy, stopped int) []*scenarios.Result {
	var out []*scenarios.Result
	for i := range runaways {
		state := loop.Ceiling
		if i < caught {
			state = loop.LoopDetected
		}
		out = append(out, endedIn(fmt.Sprintf("loops/r%02d", i), variant, scenarios.Runaway, 1, state, calls))
	}
	for i := range healthy {
		state := loop.Done
		if i < stopped {
			state = loop.BudgetExceeded
		}
		out = append(out, endedIn(fmt.Sprintf("work/h%02d", i), variant, scenarios.Healthy, 1, state, 3))
	}
	return out
}

func ranks(c *choice) string {
	var out []string
	for _, s := range c.ranked {
		words := s.variant
		if s.beaten != "" {
			words += "<" + s.beaten
		}
		out = append(out, words)
	}
	return strings.Join(out, " ")
}

// Variants are ranked by the share caught less the share stopped; the front is
// what nothing beats in both.
func TestChoiceRanks(t *testing.T) {
	for _, c := range []struct {
		name    string
		results [][]*scenarios.Result
		want    string
	}{
		// 90 − 0, 40 − 10, and 100 − 30 points
		{"balance", [][]*scenarios.Result{tried("weak", 10, 4, 5, 10, 1), tried("good", 10, 9, 5, 10, 0), tried("strict", 10, 10, 5, 10, 3)}, "good strict weak<good"},
		{"as good, in fewer calls", [][]*scenarios.Result{tried("slow", 10, 9, 8, 10, 0), tried("fast", 10, 9, 4, 10, 0)}, "fast slow"},
		{"in the order given if nothing distinguishes them", [][]*scenarios.Result{tried("b", 4, 2, 5, 4, 1), tried("a", 4, 2, 5, 4, 1)}, "b a"},
		{"runaways alone", [][]*scenarios.Result{tried("a", 4, 1, 5, 0, 0), tried("b", 4, 3, 5, 0, 0)}, "b a<b"},
		{"other scenarios", [][]*scenarios.Result{tried("a", 4, 1, 5, 0, 0), tried("b", 4, 3, 5, 0, 0), tried("c", 0, 0, 0, 9, 0)}, "b a<b"},
		{"one variant", [][]*scenarios.Result{tried("a", 4, 1, 5, 4, 0)}, "a"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := ranks(newChoice(folded(t, &Fold{}, slices.Concat(c.results...)...))); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestAdvice(t *testing.T) {
	r := folded(t, &Fold{}, slices.Concat(tried("weak", 10, 4, 5, 10, 1), tried("good", 10, 9, 5, 10, 0), tried("strict", 10, 10, 5, 10, 3))...)
	got := newChoice(r).advice()
	// Wilson: 9 of 10 is 59.6–98.2 %, 0 of 10 is 0–27.8 %, 10 of 10 72.2–100 %, 3 of 10
	// 10.8–60.3 %. Beside weak, good catches 5 scenarios more and none less: p = 2/2^5
	// = .0625. strict catches 6 more: 2/2^6 = .03125, which Holm doubles. Both are
	// .0625.
	want := []string{
		"It catches 9 of 10 runaways (90 %; 95 % interval 60–98 %) and harms 0 of 10 healthy runs (0 %; 95 % interval 0–28 %).",
		"No variant is ahead of it in the balance of both, the share of runaways caught minus the share of healthy runs harmed: 90 points against 70 points for the next, strict.",
		"Compared with the reference weak it catches 5 more runaways (p = .06), harms 1 fewer healthy run (p = 1). That may be chance: to distinguish the two takes more scenarios, not more seeds.",
		"If letting no runaway through matters most: strict catches 10 of 10 runaways (100 %; 95 % interval 72–100 %) and harms 3 of 10 healthy runs (30 %; 95 % interval 11–60 %).",
	}
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || got[i] != want[i] {
			t.Fatalf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

func TestAdviceWithoutHealthyRuns(t *testing.T) {
	r := folded(t, &Fold{}, slices.Concat(tried("a", 4, 1, 5, 0, 0), tried("b", 4, 3, 5, 0, 0))...)
	got := strings.Join(newChoice(r).advice(), "\n")
	if !strings.Contains(got, "the effect of these limits on healthy work is unknown") {
		t.Errorf("the advice does not say what it lacks:\n%s", got)
	}
	if one := newChoice(folded(t, &Fold{}, tried("a", 4, 1, 5, 4, 0)...)).advice(); one != nil {
		t.Errorf("advice on one variant: %q", one)
	}
}

// A headline names a variant only with evidence: both labels, whole results, and a
// variant that is ahead. A tie says that it is one.
func TestRuling(t *testing.T) {
	cut := func(f *Fold) { f.Header(&scenarios.Header{Trials: 1000}) }
	for _, c := range []struct {
		name    string
		fold    func(*Fold)
		results [][]*scenarios.Result
		want    ruling
		advice  string // among the sentences
		heading string // of the page
		place   string // of the first card
	}{
		{"a difference", nil, [][]*scenarios.Result{tried("a", 4, 1, 5, 4, 0), tried("b", 4, 3, 5, 4, 0)}, ruling{best: "b"},
			"It catches 3 of 4 runaways", "<h1>Choose b</h1>", "choose this"},
		{"the reference is ahead: the next shows by how much", nil, [][]*scenarios.Result{tried("a", 4, 3, 5, 4, 0), tried("b", 4, 1, 5, 4, 0)}, ruling{best: "a"},
			"Compared with the reference a b catches 2 fewer runaways (p = .5), harms the same healthy runs. That may be chance", "<h1>Choose a</h1>", "choose this"},
		{"no healthy run", nil, [][]*scenarios.Result{tried("a", 4, 1, 5, 0, 0), tried("b", 4, 3, 5, 0, 0)},
			ruling{undecided: "No choice: no healthy run was tried", why: "No healthy run was tried, so the effect of these limits on healthy work is unknown."},
			"So far b catches 3 of 4 runaways", "<h1>No choice: no healthy run was tried</h1>", "ahead so far"},
		{"no runaway", nil, [][]*scenarios.Result{tried("a", 0, 0, 5, 4, 1), tried("b", 0, 0, 5, 4, 2)},
			ruling{undecided: "No choice: no runaway was tried", why: "No runaway was tried, so it is unknown whether these limits stop anything that should be stopped."},
			"So far a harms 1 of 4 healthy runs", "<h1>No choice: no runaway was tried</h1>", "ahead so far"},
		{"a tie and no healthy run", nil, [][]*scenarios.Result{tried("a", 4, 4, 5, 0, 0), tried("b", 4, 4, 5, 0, 0)},
			ruling{undecided: "No choice: no healthy run was tried", why: "No healthy run was tried, so the effect of these limits on healthy work is unknown."}, "", "<h1>No choice: ", "tied: as good as b"},
		{"incomplete", cut, [][]*scenarios.Result{tried("a", 4, 1, 5, 4, 0), tried("b", 4, 3, 5, 4, 0)},
			ruling{undecided: "No choice: the results are incomplete", why: "The results are incomplete: what is missing may change which variant is ahead."},
			"So far b catches 3 of 4 runaways", "<h1>No choice: the results are incomplete</h1>", "ahead so far"},
		// 3/4 − 0 and 4/4 − 1/4
		{"a tie in the balance", nil, [][]*scenarios.Result{tried("a", 4, 3, 5, 4, 0), tried("b", 4, 4, 9, 4, 1), tried("c", 4, 2, 1, 4, 0)},
			ruling{undecided: "A tie: a, b", why: "A tie: a, b have the same balance of both, the share of runaways caught minus the share of healthy runs harmed, 75 points. They differ in how soon runs end that should: half of those of a within 5 calls, of b within 9 calls."},
			"If letting no runaway through matters most: b catches 4 of 4", "<h1>A tie: a, b</h1>", "tied: as good as b"},
		{"a tie in everything", nil, [][]*scenarios.Result{tried("a", 4, 3, 5, 4, 0), tried("b", 4, 3, 5, 4, 0)},
			ruling{undecided: "A tie: a, b", why: "A tie: a, b have the same balance of both, the share of runaways caught minus the share of healthy runs harmed, 75 points."},
			"", "<h1>A tie: a, b</h1>", "tied: as good as b"},
		{"one variant", nil, [][]*scenarios.Result{tried("a", 4, 1, 5, 4, 0)}, ruling{}, "", "<h1>8 scenarios under 1 variant in 8 trials</h1>", ""},
		{"one variant, incomplete", cut, [][]*scenarios.Result{tried("a", 4, 1, 5, 4, 0)}, ruling{}, "", "<h1>Incomplete results</h1>", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := &Fold{}
			if c.fold != nil {
				c.fold(f)
			}
			r := folded(t, f, slices.Concat(c.results...)...)
			choice := newChoice(r)
			if got := choice.ruling(); got != c.want {
				t.Errorf("%+v, want %+v", got, c.want)
			}
			if got := strings.Join(choice.advice(), "\n"); !strings.Contains(got, c.advice) || c.want.best == "" && !strings.Contains(got, c.want.why) {
				t.Errorf("the advice has no %q:\n%s", c.advice, got)
			}
			if got := choice.place(&choice.ranked[0]); got != c.place {
				t.Errorf("the first is %q, want %q", got, c.place)
			}
			page := written(t, func(b *strings.Builder) error { return WriteHTML(b, r) })
			if !strings.Contains(page, c.heading) || c.want.best == "" && (strings.Contains(page, ">Choose ") || strings.Contains(page, "choose this")) {
				t.Errorf("the page has no %s:\n%.1500s", c.heading, page[strings.Index(page, "<h1>"):])
			}
			title := written(t, func(b *strings.Builder) error { return WriteMarkdown(b, r) })
			if strings.Contains(title, "## agentbench: incomplete results, ") != (c.fold != nil) {
				t.Errorf("%.200s", title)
			}
		})
	}
}
