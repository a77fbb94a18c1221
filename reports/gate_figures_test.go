//go:build figures

package reports

import (
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/reports/stats"
	"github.com/agentbench-go/agentbench/scenarios"
)

// ciFile holds the figures of the gate.
const ciFile = "../docs/ci.md"

// A loopLike is a loop as its outcomes show it: how likely a trial of each scenario goes
// wrong. Every other scenario is a runaway.
type loopLike []float64

// results draws the results of a loop, with some seeds a scenario.
func (l loopLike) results(rng *rand.Rand, seeds int, each func(*scenarios.Result)) {
	for i, rate := range l {
		for seed := range seeds {
			r := judged(fmt.Sprintf("s/%03d", i), "v", scenarios.Healthy, loop.Done, 20)
			wrong := loop.LoopDetected
			if i%2 == 1 {
				r.Label, r.EndState, wrong = scenarios.Runaway, loop.LoopDetected, loop.Ceiling
			}
			r.Verdict, r.Seed = scenarios.Pass, uint64(seed+1)
			if rng.Float64() < rate {
				r.EndState, r.Verdict, r.Calls, r.Asked = wrong, scenarios.Fail, 10, 10
			}
			each(r)
		}
	}
}

// gate judges results of one loop against those of another.
func (l loopLike) gate(t *testing.T, rng *rand.Rand, base loopLike, seeds int) scenarios.Verdict {
	folds := [2]*Fold{{}, {}}
	for i, of := range []loopLike{l, base} {
		of.results(rng, seeds, func(r *scenarios.Result) {
			if err := folds[i].Add(r); err != nil {
				t.Error(err)
			}
		})
	}
	return DefaultLimits().Judge(folds[0], folds[1], nil).Verdict
}

// failing returns how many of some gates fail, in a simulation of its own random numbers.
func failing(t *testing.T, gates int, key uint64, one func(*rand.Rand) scenarios.Verdict) int {
	failed := make([]bool, gates)
	var wait sync.WaitGroup
	for worker := range runtime.GOMAXPROCS(0) {
		wait.Go(func() {
			for i := worker; i < gates; i += runtime.GOMAXPROCS(0) {
				failed[i] = one(rand.New(rand.NewPCG(key, uint64(i)))) == scenarios.Fail
			}
		})
	}
	wait.Wait()
	n := 0
	for _, f := range failed {
		if f {
			n++
		}
	}
	return n
}

// sizes are the numbers of scenarios and seeds of a simulation, and of its gates.
var sizes = []struct{ scenarios, seeds, gates int }{{10, 1, 2000}, {30, 1, 2000}, {30, 10, 1000}, {130, 1, 2000}, {130, 10, 400}, {260, 1, 1000}, {260, 10, 400}}

// Between equal loops at most 5 % of the gates fail, whatever the loops are like: the
// rates of scenarios are drawn anew for each gate. The upper limit (95 %, two-sided) of
// the share is told, and must be below 5 %.
func TestGateFalseAlarms(t *testing.T) {
	var b strings.Builder
	b.WriteString("\n| scenarios | seeds | gates that fail | 95 % interval |\n| --- | --- | --- | --- |\n")
	for i, size := range sizes {
		n := failing(t, size.gates, uint64(1000+i), func(rng *rand.Rand) scenarios.Verdict {
			same := make(loopLike, size.scenarios)
			for j := range same {
				same[j] = rng.Float64() / 2
			}
			return same.gate(t, rng, same, size.seeds)
		})
		limits := stats.Wilson(float64(n), float64(size.gates))
		if limits.Upper > .05 {
			t.Errorf("%+v: %d gates of %d fail between equal loops, at most %.4f", size, n, size.gates, limits.Upper)
		}
		fmt.Fprintf(&b, "| %d | %d | %d of %d (%.1f %%) | %.1f–%.1f %% |\n", size.scenarios, size.seeds, n, size.gates, 100*float64(n)/float64(size.gates), 100*limits.Lower, 100*limits.Upper)
	}
	between(t, "false alarms", b.String())
}

// The power against loops whose healthy scenarios are stopped more often.
func TestGatePower(t *testing.T) {
	const before, gates = .05, 200
	to := []float64{.1, .15, .2, .3, .5}
	var b strings.Builder
	b.WriteString("\n| scenarios (half healthy) | seeds | stopped in 10 % | 15 % | 20 % | 30 % | 50 % |\n| --- | --- |" + strings.Repeat(" --- |", len(to)) + "\n")
	for i, size := range sizes {
		fmt.Fprintf(&b, "| %d | %d |", size.scenarios, size.seeds)
		last := -1
		for j, rate := range to {
			n := failing(t, gates, uint64(2000+100*i+j), func(rng *rand.Rand) scenarios.Verdict {
				base, now := make(loopLike, size.scenarios), make(loopLike, size.scenarios)
				for k := range base {
					base[k], now[k] = before, before
					if k%2 == 0 {
						now[k] = rate
					}
				}
				return now.gate(t, rng, base, size.seeds)
			})
			if n < last-20 { // more harm is found more often; 20 is two standard errors of a difference
				t.Errorf("%+v: %d of %d gates fail at %.2f, and %d at less", size, n, gates, rate, last)
			}
			last = n
			fmt.Fprintf(&b, " %d %% |", (100*n+gates/2)/gates)
		}
		b.WriteByte('\n')
	}
	between(t, "power", b.String())
}

// between compares a part of docs/ci.md with what it must be. UPDATE=1 writes it.
func between(t *testing.T, name, want string) {
	t.Helper()
	page, err := os.ReadFile(ciFile)
	if err != nil {
		t.Fatal(err)
	}
	begin, end := "<!-- "+name+": begin -->\n", "<!-- "+name+": end -->"
	before, rest, ok := strings.Cut(string(page), begin)
	got, after, ok2 := strings.Cut(rest, end)
	switch {
	case !ok || !ok2:
		t.Fatalf("docs/ci.md has no part between %q and %q", begin, end)
	case got == want+"\n":
	case os.Getenv("UPDATE") == "":
		t.Errorf("docs/ci.md is stale: run UPDATE=1 make simulations, and read the diff\n%s", want)
	default:
		if err := os.WriteFile(ciFile, []byte(before+begin+want+"\n"+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
