package reports

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/scenarios"
)

// A report names the faults laid over every world, in any order they were named in, and
// stays in the header of merged results.
func TestFaultsAreCarried(t *testing.T) {
	f := &Fold{}
	for _, faults := range [][]string{{"drop model 3", "drop call 1"}, {"drop call 1", "drop model 3"}} {
		if err := f.Header(&scenarios.Header{Kind: KindRun, Faults: faults}); err != nil {
			t.Fatal(err)
		}
	}
	r := folded(t, f, endedIn("s/a", "v", scenarios.Healthy, 1, loop.Done, 1))
	want := []string{"drop call 1", "drop model 3"}
	if !slices.Equal(r.Faults, want) || !slices.Equal(r.Header.Faults, want) {
		t.Errorf("the report says %v, its header %v", r.Faults, r.Header.Faults)
	}
	if want := "every world had the faults drop call 1, drop model 3: trials are judged by their label"; !slices.Contains(r.Warnings, want) {
		t.Errorf("%q does not name them", r.Warnings)
	}
}

// Results under other faults are not of the same trials.
func TestFaultsAreNotMixed(t *testing.T) {
	f := &Fold{}
	f.Header(&scenarios.Header{Kind: KindRun, Faults: []string{"drop model 3"}})
	err := f.Header(&scenarios.Header{Kind: KindRun})
	if want := "results under no fault cannot be counted together with earlier ones under the fault drop model 3: make a report of each"; err == nil || err.Error() != want {
		t.Errorf("%v\nwant %s", err, want)
	}
	if err := f.Header(&scenarios.Header{Kind: kindFuzz}); err != nil {
		t.Errorf("results of fuzz can be counted together with any others: %v", err)
	}
}

// A gate does not compare what was struck with what was not.
func TestGateWantsTheSameFaults(t *testing.T) {
	results := func(faults ...string) *Fold {
		f := &Fold{}
		f.Header(&scenarios.Header{Kind: KindRun, Faults: faults})
		fill(t, f, judged("s/a", "v", scenarios.Healthy, loop.Done, 1))
		return f
	}
	g := DefaultLimits().Judge(results("drop model 3"), results(), nil)
	rule := ruleOf(t, g, "baseline")
	if g.Verdict != scenarios.Inconclusive || !strings.Contains(rule.Measured, "under the fault drop model 3, the baseline under no fault") {
		t.Errorf("%s: %+v", g.Verdict, rule)
	}
	if g := DefaultLimits().Judge(results("drop model 3"), results("drop model 3"), nil); g.Verdict != scenarios.Pass {
		t.Errorf("the same faults: %+v", g)
	}
}

// A merged header keeps the files of variants, the same in any order.
func TestVariantFilesAreCarried(t *testing.T) {
	config := map[string]json.RawMessage{"v": json.RawMessage(`{"limits":{"turns":5}}`)}
	headers := []scenarios.Header{
		{Kind: KindRun, Order: []string{"now", "none"}, Variants: config, Files: map[string]string{"v": "b/v.yaml"}},
		{Kind: KindRun, Variants: config, Files: map[string]string{"v": "a/v.yaml"}},
		{Kind: KindRun, Variants: config},
	}
	for range 2 {
		f := &Fold{}
		for i := range headers {
			if err := f.Header(&headers[i]); err != nil {
				t.Fatal(err)
			}
		}
		r := folded(t, f, endedIn("s/a", "v", scenarios.Healthy, 1, loop.Done, 1))
		if got := r.Header.Files; len(got) != 1 || got["v"] != "a/v.yaml" || f.VariantFile("v") != "a/v.yaml" {
			t.Errorf("the files are %v", got)
		}
		slices.Reverse(headers)
	}
}
