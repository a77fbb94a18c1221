package fuzz

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/agentbench-go/agentbench/scenarios"
)

// cases is the number of worlds in the tests of the unmodified loop: enough to show a
// grave bug, and few enough for every test run.
const cases = 1500

// TestLoop: the loop keeps every invariant in generated worlds, and every invariant
// applies to some of them.
func TestLoop(t *testing.T) {
	s := NewSummary()
	err := Run(context.Background(), Options{Seed: 1, Runs: cases}, func(v *Checked) error {
		s.Add(v)
		if v.Violation != nil {
			t.Errorf("case %d of seed 1 breaks %s: %s", v.Number, v.Violation.Invariant, v.Violation.Problem)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if s.All.Runs != cases || s.All.Done != s.All.Recoverable || s.All.Recoverable < cases/4 {
		t.Errorf("got %+v, want %d runs, at least a quarter of them recoverable, all of these done", s.All, cases)
	}
	for _, name := range Invariants() {
		if s.Judged[name] == 0 {
			t.Errorf("%s says nothing about any case", name)
		}
	}
	for _, a := range Attacks() {
		if s.Attacks[a].Runs < cases/20 {
			t.Errorf("the attack %s is in %d cases of %d", a, s.Attacks[a].Runs, cases)
		}
	}
}

// TestNumber: a seed and a number always give the same case, and other numbers
// and seeds others.
func TestNumber(t *testing.T) {
	seen := map[string]string{}
	for _, seed := range []uint64{1, 2, 1 << 60} {
		for n := range 40 {
			a, b := shown(Number(seed, n, Options{})), shown(Number(seed, n, Options{}))
			if a != b {
				t.Fatalf("seed %d, case %d: two cases:\n%s\n%s", seed, n, a, b)
			}
			where := fmt.Sprintf("case %d of seed %d", n, seed)
			if other, ok := seen[a]; ok {
				t.Errorf("%s is %s", where, other)
			}
			seen[a] = where
		}
	}
}

// shown shows all of a case.
func shown(c *Case) string {
	return fmt.Sprintf("%v %+v %d %+v %d\n%s", c.Attacks, c.Hooks, c.Depth, c.Strays, c.Seed, c.YAML("case", "one case", ""))
}

// TestVariant: with a variant every case has its config.
func TestVariant(t *testing.T) {
	v, err := scenarios.LoadVariant("hpd-production")
	if err != nil {
		t.Fatal(err)
	}
	recoverable := 0
	for n := range 100 {
		c := Number(1, n, Options{Variant: &v})
		if got, want := (&scenarios.Variant{Config: c.Config}).JSON(), v.JSON(); string(got) != string(want) {
			t.Fatalf("case %d has the config %s, want %s", n, got, want)
		}
		if c.Recoverable {
			recoverable++
		}
		if v := Check(c); v.Violation != nil {
			t.Errorf("case %d: %+v", n, v.Violation)
		}
	}
	if recoverable == 0 {
		t.Error("no case is recoverable")
	}
}

// TestWorkers: the checked cases come in order, and are the same whatever the number
// of workers is.
func TestWorkers(t *testing.T) {
	var want []string
	for _, workers := range []int{1, 2, 7} {
		var got []string
		o := Options{Seed: 3, From: 10, Runs: 130, Workers: workers}
		if err := Run(context.Background(), o, func(v *Checked) error {
			got = append(got, fmt.Sprint(v.Number, v.Judged, v.Violation))
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if want == nil {
			want = got
		}
		if len(got) != 130 || !slices.Equal(got, want) {
			t.Errorf("%d workers: %d cases, and not those of one worker", workers, len(got))
		}
	}
}

// TestRunStops: a campaign without an end stops when its context ends, and at the
// first error of the function that gets the cases.
func TestRunStops(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	n := 0
	err := Run(ctx, Options{Seed: 1}, func(*Checked) error {
		if n++; n == 50 {
			cancel()
		}
		return nil
	})
	if !errors.Is(err, context.Canceled) || n != 50 {
		t.Errorf("got %v after %d cases, want the cancel after 50", err, n)
	}
	full := errors.New("full")
	if err := Run(context.Background(), Options{Seed: 1}, func(*Checked) error { return full }); err != full {
		t.Errorf("got %v, want %v", err, full)
	}
	done, stop := context.WithTimeout(context.Background(), time.Hour)
	defer stop()
	if err := Run(done, Options{Seed: 1, Runs: 1}, func(*Checked) error { return nil }); err != nil {
		t.Errorf("got %v, want no error", err)
	}
}

// TestRegressions: the saved cases keep every invariant now, and are scenarios that
// pass.
func TestRegressions(t *testing.T) {
	all, err := scenarios.Load("regressions")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		for seed := range uint64(20) { // which step a session is resumed after depends on it
			if v := Check(FromScenario(s, seed)); v.Violation != nil {
				t.Errorf("%s with seed %d breaks %+v", s.File, seed, *v.Violation)
			}
		}
		trial := scenarios.Trial{Scenario: s, Variant: s.Variant, Seed: 1}
		if r, _ := trial.Run(context.Background()); r.Verdict != scenarios.Pass {
			t.Errorf("%s: %s %+v", s.File, r.Verdict, r.Findings)
		}
	}
}
