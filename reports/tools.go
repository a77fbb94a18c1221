package reports

import (
	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/scenarios"
)

// toolTotals adds up what the tools did over all trials of a variant.
type toolTotals struct {
	calls, withCodes  int // executed calls; those of results that have codes
	tries, schemaOK   int // of the calls withCodes
	repairs, repaired int
	codes             map[string]int
	took              map[float64]int // upper bound in ms → calls
}

func newToolTotals() *toolTotals {
	return &toolTotals{codes: map[string]int{}, took: map[float64]int{}}
}

func (t *toolTotals) add(r *scenarios.Result) {
	t.calls += r.Calls
	t.repairs += r.Repairs
	t.repaired += r.RepairsOK
	for _, l := range r.ToolMS {
		t.took[l.UpperMS] += l.N
	}
	if len(r.Codes) == 0 {
		return
	}
	t.withCodes += r.Calls
	t.tries += r.Tries
	t.schemaOK += r.SchemaOK
	for code, n := range r.Codes {
		t.codes[code] += n
	}
}

// figures gives the totals as a report has them.
func (t *toolTotals) figures(variant string) Tools {
	latency, _ := p95(t.took)
	out := Tools{Variant: variant, Calls: t.calls, Repairs: t.repairs, RepairSuccess: ratio(t.repaired, t.repairs),
		SchemaOK: ratio(t.schemaOK, t.withCodes), MeanRetries: ratio(t.tries-t.withCodes, t.withCodes), P95MS: latency, Codes: map[string]int{}}
	all, succeeded := 0, 0
	for code, n := range t.codes {
		all += n
		if noError(code) {
			succeeded += n
		} else {
			out.Codes[code] = n
		}
	}
	out.StepSuccess = ratio(succeeded, all)
	return out
}

// noError reports whether a code in a results file stands for a call without an
// error: "None", which the loop writes as the empty code, and NoResults.
func noError(code string) bool { return code == "None" || !loop.Code(code).Failed() }

func ratio(k, n int) Figure {
	if n == 0 {
		return Unknown()
	}
	return Figure(float64(k) / float64(n))
}
