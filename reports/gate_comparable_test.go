package reports

import (
	"strings"
	"testing"

	"github.com/agentbench-go/agentbench/scenarios"
)

// A gate tells results that cannot be compared from those that differ in what may
// differ.
func TestComparable(t *testing.T) {
	text := func(header string) *Fold {
		f := &Fold{}
		err := f.Read(strings.NewReader(`{"type":"header","schema":"agentbench.results/v2","trials":1,`+header+"}\n"+
			`{"type":"trial","scenario":"s/a","label":"healthy","variant":"v","end_state":"DONE","calls":1,"verdict":"pass"}`), "r.jsonl")
		if err != nil {
			t.Fatal(err)
		}
		f.files.gaps = nil // it has no end
		return f
	}
	const base = `"judged":"own","tool":"1","seed":1,"seeds":2,"revision":"a","clients":{"c":"1"},"variants":{"v":{"a":1}},"variant_hashes":{"v":"11"}`
	for _, tt := range []struct {
		name, old, now string
		verdict        scenarios.Verdict
		measured       string
	}{
		{"the same", "", "", scenarios.Pass, "the results and the baseline were made alike"},
		{"judged otherwise", `"own"`, `"none"`, scenarios.Inconclusive, "results that were not judged, and a baseline of results of each scenario under its own config"},
		{"a foreign agent", `"own"`, `"foreign"`, scenarios.Inconclusive, "results of a foreign agent, and a baseline of results of each scenario under its own config"},
		{"another hash", `"11"`, `"22"`, scenarios.Inconclusive, "1 variant with another config in the baseline: v"},
		{"another config, no hash", `{"v":{"a":1}},"variant_hashes":{"v":"11"}`, `{"v":{"a":2}}`, scenarios.Inconclusive, "1 variant with another config in the baseline: v"},
		{"the same config, no hash", `,"variant_hashes":{"v":"11"}`, ``, scenarios.Pass, "the results and the baseline were made alike"},
		{"another variant", `{"v":{"a":1}},"variant_hashes":{"v":"11"}`, `{"w":{"a":2}},"variant_hashes":{"w":"22"}`, scenarios.Pass, "the results and the baseline were made alike"},
		{"what may differ", base, `"judged":"own","tool":"2","seed":3,"seeds":1,"revision":"b","clients":{"c":"2"},"variants":{"v":{"a":1}}`, scenarios.Pass,
			"version 2, 1 in the baseline; revision b, a in the baseline; seeds 3, 1 to 2 in the baseline; clients c 2, c 1 in the baseline"},
	} {
		if !strings.Contains(base, tt.old) {
			t.Fatalf("%s: %s is not in the header", tt.name, tt.old)
		}
		now := text(strings.Replace(base, tt.old, tt.now, 1))
		g := DefaultLimits().Judge(now, text(base), nil)
		for _, r := range g.Rules {
			if r.Name == "comparable" && (r.Verdict != tt.verdict || r.Measured != tt.measured || g.Verdict != tt.verdict) {
				t.Errorf("%s: %s, %q (gate %s), want %s, %q", tt.name, r.Verdict, r.Measured, g.Verdict, tt.verdict, tt.measured)
			}
		}
		if tt.verdict == scenarios.Inconclusive && g.Rules[len(g.Rules)-1].Name != "comparable" {
			t.Errorf("%s: the gate compared what cannot be compared", tt.name)
		}
	}
}
