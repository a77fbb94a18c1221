package stats

import (
	"fmt"
	"math"
	"testing"
)

// Values by hand. With one trial each a unit that differs is a coin: 4 of 5 or more are
// (5 + 1)/32. With more trials it is hypergeometric: all 3 bad trials of one unit in the
// same 5 of 10 is C(5,3)/C(10,3) = 10/120, and two units like that are its square.
func TestWorseByHand(t *testing.T) {
	one := func(worse, better, same int) []Stratum {
		var out []Stratum
		for range worse {
			out = append(out, Stratum{1, 1, 0, 1})
		}
		for range better {
			out = append(out, Stratum{0, 1, 1, 1})
		}
		for i := range same {
			out = append(out, Stratum{i % 2, 1, i % 2, 1})
		}
		return out
	}
	for _, c := range []struct {
		why    string
		strata []Stratum
		want   float64
	}{
		{"none", nil, 1},
		{"nothing differs", one(0, 0, 4), 1},
		{"4 worse, 1 better: 6/32", one(4, 1, 9), 6.0 / 32},
		{"5 better: everything is as far up", one(0, 5, 0), 1},
		{"7 worse: 1/128", one(7, 0, 60), 1.0 / 128},
		{"3 of 5, 0 of 5 before: C(5,3)/C(10,3)", []Stratum{{3, 5, 0, 5}}, 10.0 / 120},
		{"twice", []Stratum{{3, 5, 0, 5}, {3, 5, 0, 5}}, 100.0 / 14400},
		{"1 of 10 and 0 of 1 before: 10 of 11 ways", []Stratum{{1, 10, 0, 1}}, 10.0 / 11},
		{"all bad, always: no information", []Stratum{{5, 5, 5, 5}, {3, 5, 0, 5}}, 10.0 / 120},
		// Shares, not trials: a unit of one trial weighs as much as one of ten. The sum
		// moved up by 1 − 2/10. Ways without the bad trial of the first unit move it by
		// at most −1 + 2/10, so those with it are far enough: half of all.
		{"a unit of one trial beside one of ten", []Stratum{{1, 1, 0, 1}, {0, 10, 2, 10}}, 0.5},
	} {
		if got := Worse(c.strata); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%s: got %v, want %v", c.why, got, c.want)
		}
	}
	for _, bad := range []Stratum{{0, 0, 0, 1}, {0, 1, 0, 0}, {2, 1, 0, 1}, {0, 1, 2, 1}, {-1, 1, 0, 1}, {0, 1, -1, 1}} {
		if got := Worse([]Stratum{bad}); !math.IsNaN(got) {
			t.Errorf("%v: got %v, want NaN", bad, got)
		}
	}
}

// The same by going through all ways to divide the trials.
func TestWorseEqualsEveryDivision(t *testing.T) {
	rng := source(7)
	for range 200 {
		var strata []Stratum
		for range 1 + rng.below(3) {
			s := Stratum{Trials: 1 + rng.below(4), TrialsBefore: 1 + rng.below(4)}
			s.Bad, s.BadBefore = rng.below(s.Trials+1), rng.below(s.TrialsBefore+1)
			strata = append(strata, s)
		}
		if got, want := Worse(strata), divisions(strata); math.Abs(got-want) > 1e-12 {
			t.Errorf("%v: got %v, want %v", strata, got, want)
		}
	}
}

// divisions counts the divisions of each unit's trials, as sets of bits, that move the
// mean of shares at least as far.
func divisions(strata []Stratum) float64 {
	observed := 0.0
	for _, s := range strata {
		observed += shift(s.Bad, s)
	}
	far, all := 0, 0
	var divide func(i int, moved float64)
	divide = func(i int, moved float64) {
		if i == len(strata) {
			all++
			if moved >= observed-1e-9 {
				far++
			}
			return
		}
		s := strata[i]
		for set := range 1 << (s.Trials + s.TrialsBefore) {
			chosen, bad := 0, 0
			for trial := range s.Trials + s.TrialsBefore {
				if set>>trial&1 == 1 {
					chosen++
					if trial < s.Bad+s.BadBefore {
						bad++
					}
				}
			}
			if chosen == s.Trials {
				divide(i+1, moved+shift(bad, s))
			}
		}
	}
	divide(0, 0)
	return float64(far) / float64(all)
}

func shift(bad int, s Stratum) float64 {
	return float64(bad)/float64(s.Trials) - float64(s.Bad+s.BadBefore-bad)/float64(s.TrialsBefore)
}

// A trial of now that turns bad never raises the value, one of before never lowers it.
func TestWorseIsMonotone(t *testing.T) {
	rng := source(3)
	for range 300 {
		strata := make([]Stratum, 1+rng.below(8))
		for i := range strata {
			s := Stratum{Trials: 1 + rng.below(10), TrialsBefore: 1 + rng.below(10)}
			s.Bad, s.BadBefore = rng.below(s.Trials+1), rng.below(s.TrialsBefore+1)
			strata[i] = s
		}
		before := Worse(strata)
		s := &strata[rng.below(len(strata))]
		name := fmt.Sprint(strata)
		if s.Bad < s.Trials {
			s.Bad++
			if after := Worse(strata); after > before+1e-12 {
				t.Errorf("%s: %v with one more bad, %v before", name, after, before)
			}
			s.Bad--
		}
		if s.BadBefore < s.TrialsBefore {
			s.BadBefore++
			if after := Worse(strata); after < before-1e-12 {
				t.Errorf("%s: %v with one more bad before, %v without", name, after, before)
			}
		}
	}
}

// Many seeds cost little: 1,000 trials of each of 200 units, some with a trial less.
func TestWorseOfManyTrials(t *testing.T) {
	var strata []Stratum
	for i := range 200 {
		strata = append(strata, Stratum{300, 1000 - i%2, 300, 1000})
	}
	if p := Worse(strata); !(p > 0.45 && p < 0.55) {
		t.Errorf("p = %v of about equal rates, want about ½", p)
	}
}
