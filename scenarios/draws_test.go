package scenarios

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/agentbench-go/agentbench/fakes"
)

// Under none a run ends at the first request that the fault strikes, so a run that
// makes m requests without it is struck with p = 1 − .9^m. If the draws are
// independent, the number of runs that a seed strikes has the mean Σp and the
// variance Σp(1 − p). Over n seeds, the mean of that number has the standard
// deviation √(variance / n), and its sample variance has about
// variance × √(2 / (n − 1)). Each may be off by four of those: with n = 200 the
// variance by 40 %. Scenarios that share their draws have several times the variance.
func TestScenariosAreStruckIndependently(t *testing.T) {
	if testing.Short() {
		t.Skip("plays more than ten thousand runs")
	}
	all, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	none, err := LoadVariant("none")
	if err != nil {
		t.Fatal(err)
	}
	fault, err := fakes.ParseFault("error model 10% 503")
	if err != nil {
		t.Fatal(err)
	}
	var struckable []fakes.Script
	var mean, variance float64
	for _, s := range all {
		script := s.Script
		if s.Label != Healthy || s.Cassette != "" || len(script.Faults) > 0 || script.Random() {
			continue
		}
		runs, err := fakes.NewWorld(&script, 1).Run(context.Background(), none.Config, nil)
		if err != nil || !endedWell(runs[len(runs)-1].Stop.EndState()) {
			continue
		}
		requests := 0
		for _, run := range runs {
			requests += run.ModelCalls
		}
		p := 1 - math.Pow(.9, float64(requests))
		mean, variance = mean+p, variance+p*(1-p)
		script.Faults = []fakes.Fault{fault}
		struckable = append(struckable, script)
	}
	if len(struckable) < 50 {
		t.Fatalf("only %d scenarios can be struck", len(struckable))
	}
	const n = 200
	var sum, squares float64
	for seed := uint64(1); seed <= n; seed++ {
		struck := 0.
		for i := range struckable {
			w := fakes.NewWorld(&struckable[i], seed)
			if _, err := w.Run(context.Background(), none.Config, nil); err != nil {
				t.Fatal(err)
			}
			if len(w.NotFired()) == 0 {
				struck++
			}
		}
		sum, squares = sum+struck, squares+struck*struck
	}
	gotMean, gotVariance := sum/n, (squares-sum*sum/n)/(n-1)
	if off := 4 * math.Sqrt(variance/n); math.Abs(gotMean-mean) > off {
		t.Errorf("a seed strikes %.2f of %d scenarios on average, want %.2f ± %.2f", gotMean, len(struckable), mean, off)
	}
	if off := 4 * variance * math.Sqrt(2./(n-1)); math.Abs(gotVariance-variance) > off {
		t.Errorf("the number of scenarios that a seed strikes has the variance %.2f, want %.2f ± %.2f", gotVariance, variance, off)
	}
}

// A scenario draws by its full name: under another name it draws other numbers, and
// its neighbours draw what they drew before.
func TestDrawsBelongToTheScenario(t *testing.T) {
	said := func(names ...string) map[string]string {
		t.Helper()
		out := map[string]string{}
		for _, name := range names {
			s, err := Parse("suite/"+name+".yaml", fmt.Sprintf("name: %s\ndescription: d\nlabel: healthy\ntask: t\nmodel: [{text: 'it is ${rand:1..1000000}.'}]\n", name))
			if err != nil {
				t.Fatal(err)
			}
			if got, want := s.Script.Name, "suite/"+name; got != want {
				t.Errorf("the script is called %q, want %q", got, want)
			}
			_, trace := Trial{Scenario: s, Variant: s.Variant, Seed: 1}.Run(context.Background())
			_, said, _ := strings.Cut(trace.String(), "it is ")
			out[name], _, _ = strings.Cut(said, ".")
		}
		return out
	}
	before, after := said("one", "two", "three"), said("one", "renamed", "three")
	if before["one"] != after["one"] || before["three"] != after["three"] {
		t.Errorf("the draws of one scenario moved with the name of another: %v, then %v", before, after)
	}
	if before["two"] == after["renamed"] || before["one"] == before["two"] || before["two"] == before["three"] {
		t.Errorf("two names draw the same number: %v, then %v", before, after)
	}
}
