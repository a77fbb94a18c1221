package reports

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/loop/detect"
	"github.com/agentbench-go/agentbench/scenarios"
)

// refusing returns a healthy trial of ten asked calls of which some were refused, own of
// them by its own variant too, the first of the others after at calls.
func refusing(scenario, variant string, state loop.EndState, refused, own, at int) *scenarios.Result {
	r := endedIn(scenario, variant, scenarios.Healthy, 1, state, 10)
	r.Asked, r.Refused, r.RefusedOwn, r.RefusedAt = 10, refused, own, at
	return r
}

// Of ten healthy runs two are stopped, three end well with calls refused, one of them
// only with such as its own variant refuses, and five are left alone. So two of ten are
// stopped, two interfered with, four harmed.
func harmed(t *testing.T) *Fold {
	f := folded2(t,
		refusing("s/stopped-1", "v", loop.LoopDetected, 0, 0, 0),
		refusing("s/stopped-2", "v", loop.ErrorLimit, 3, 0, 4), // refused before it was stopped
		refusing("s/touched-1", "v", loop.Done, 1, 0, 2),
		refusing("s/touched-2", "v", loop.ClarifyNeeded, 3, 2, 6),
		refusing("s/own", "v", loop.Done, 2, 2, 0))
	for i := range 5 {
		fill(t, f, refusing(fmt.Sprint("s/alone-", i), "v", loop.Done, 0, 0, 0))
	}
	return f
}

func folded2(t *testing.T, results ...*scenarios.Result) *Fold {
	f := &Fold{}
	fill(t, f, results...)
	return f
}

func TestHarmRates(t *testing.T) {
	got := map[Metric]string{}
	for _, r := range folded(t, harmed(t)).Rates {
		got[r.Metric] = fmt.Sprintf("%g of %g, %.3f–%.3f", r.K, r.N, float64(r.Lower), float64(r.Upper))
	}
	// Wilson by hand, z = 1.96, z² = 3.8415, n = 10: the centre is (k + 1.9207)/13.8415,
	// the half width z√(k(n−k)/n + z²/4)/13.8415. k = 2: .2833 ± .2264 (√(1.6 + .9604) =
	// 1.6001); k = 4: .4277 ± .2594 (√(2.4 + .9604) = 1.8331).
	want := map[Metric]string{Harmed: "4 of 10, 0.168–0.687", Stopped: "2 of 10, 0.057–0.510", Interfered: "2 of 10, 0.057–0.510"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// The curve of harm falls at the first refused call or the stop, whichever is first: of
// ten at risk one at 2, of nine one at 4, of eight one at 6, and of seven one at 10.
func TestHarmCurve(t *testing.T) {
	r := folded(t, harmed(t))
	if len(r.Harm) != 1 {
		t.Fatalf("%d curves", len(r.Harm))
	}
	want := []string{"2: .9", "4: .8", "6: .7", "10: .6"}
	var got []string
	for _, p := range r.Harm[0].Points {
		if p.Events > 0 {
			got = append(got, fmt.Sprintf("%g: .%g", p.T, math.Round(10*float64(p.Survival))))
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if r.Survival[0].Events != 2 || r.Harm[0].Events != 4 {
		t.Errorf("%g stopped and %g harmed, want 2 and 4", r.Survival[0].Events, r.Harm[0].Events)
	}
}

// A healthy run whose script ran dry after a refused call was interfered with. One that
// ran dry otherwise could not be judged.
func TestDryRunsAreNotLeftOut(t *testing.T) {
	dry := func(name string, refused int) *scenarios.Result {
		r := refusing(name, "v", "", refused, 0, 3)
		r.Verdict = scenarios.Inconclusive
		r.Findings = []scenarios.Finding{{Rule: "ran-dry"}}
		return r
	}
	r := folded(t, &Fold{}, dry("s/refused", 1), dry("s/dry", 0), refusing("s/alone", "v", loop.Done, 0, 0, 0))
	for _, rate := range r.Rates {
		if k := map[Metric]float64{Harmed: 1, Interfered: 1}[rate.Metric]; rate.K != k || rate.N != 2 || rate.Inconclusive != 1 {
			t.Errorf("%s: %g of %g and %d inconclusive, want %g of 2 and 1", rate.Metric, rate.K, rate.N, rate.Inconclusive, k)
		}
	}
}

// So is one whose fault never fired, since the call that it was planned for may be the
// refused one. One in which a check panicked is left out.
func TestUnfiredFaultsAreNotLeftOut(t *testing.T) {
	unfired := func(name string, refused int, rules ...string) *scenarios.Result {
		r := refusing(name, "v", loop.Done, refused, 0, 3)
		r.Verdict = scenarios.Inconclusive
		for _, rule := range rules {
			r.Findings = append(r.Findings, scenarios.Finding{Rule: rule})
		}
		return r
	}
	r := folded(t, &Fold{}, unfired("s/refused", 1, "not-fired"), unfired("s/unfired", 0, "not-fired"), unfired("s/panicked", 1, "panic", "not-fired"),
		unfired("s/unsaid", 1), refusing("s/alone", "v", loop.Done, 0, 0, 0))
	for _, rate := range r.Rates {
		if k := map[Metric]float64{Harmed: 1, Interfered: 1}[rate.Metric]; rate.K != k || rate.N != 2 || rate.Inconclusive != 3 {
			t.Errorf("%s: %g of %g and %d inconclusive, want %g of 2 and 3", rate.Metric, rate.K, rate.N, rate.Inconclusive, k)
		}
	}
}

// A variant that stops nothing and lets nothing run is not the one to choose.
func TestChoiceSeesHarm(t *testing.T) {
	var results []*scenarios.Result
	for i := range 10 {
		results = append(results,
			refusing(fmt.Sprint("s/h", i), "mild", loop.Done, 0, 0, 0), refusing(fmt.Sprint("s/h", i), "never-acts", loop.Done, 10, 0, 0),
			endedIn(fmt.Sprint("s/r", i), "mild", scenarios.Runaway, 1, loop.LoopDetected, 4), endedIn(fmt.Sprint("s/r", i), "never-acts", scenarios.Runaway, 1, loop.LoopDetected, 4))
	}
	r := folded(t, &Fold{}, results...)
	if got := newChoice(r).best(); got != "mild" {
		t.Errorf("choose %q", got)
	}
	// Ten scenarios one way: p = 2/2¹⁰ = .00195.
	if got, want := r.Comparisons[0].Verdict, "catches the same runaways, harms 10 more healthy runs (p = .002)"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// A variant that lets no call run, but those of tools that wait, harms every healthy run of the embedded suites that
// asks for one, though most of them end by themselves.
func TestVetoOfEveryCallHarms(t *testing.T) {
	suites, err := scenarios.Load()
	if err != nil {
		t.Fatal(err)
	}
	healthy := slices.DeleteFunc(suites, func(s *scenarios.Scenario) bool { return s.Label != scenarios.Healthy })
	vetoes := loop.Off()
	vetoes.Detectors = []detect.Detector{{Name: "all", Key: []detect.Part{detect.Tool}, Ends: detect.EndsNever, Vetoed: detect.AsSame, Do: []detect.Rung{{At: 1, Act: detect.Veto}}}}
	var asking, harms int
	err = scenarios.Run(t.Context(), scenarios.Options{Scenarios: healthy, Variants: []scenarios.Variant{{Name: "vetoes", Config: vetoes}}, Seed: 1}, func(r *scenarios.Result) error {
		if r.Stop == loop.StopCancelled {
			return nil
		}
		if wasHarmed(r) {
			harms++
		} else if r.Asked > 0 {
			t.Errorf("%s: asks for %d calls, ends as %s and is not harmed", r.Scenario, r.Asked, r.EndState)
		}
		if r.Asked > 0 {
			asking++
		}
		if unclear(r) {
			t.Errorf("%s is left out of the rates: %+v", r.Scenario, r.Findings)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if harms < 100 || asking < 100 {
		t.Errorf("%d healthy runs ask for calls and %d are harmed", asking, harms)
	}
}
