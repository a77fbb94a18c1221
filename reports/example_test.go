package reports_test

import (
	"fmt"
	"strings"

	"github.com/agentbench-go/agentbench/reports"
)

// A report of results that another program wrote. Fold.Add takes the results of
// scenarios.Run one by one.
func ExampleFold() {
	results := `{"type":"header","schema":"agentbench.results/v2","kind":"run","judged":"foreign","trials":2}
{"type":"trial","scenario":"ticket-17","label":"healthy","variant":"prod","end_state":"DONE","calls":9,"verdict":"unjudged"}
{"type":"trial","scenario":"ticket-18","label":"healthy","variant":"prod","end_state":"LOOP_DETECTED","calls":5,"verdict":"unjudged"}
{"type":"end","lines":3,"sha256":"71fc04198201da334e3aae74fd7ddec8e3ff6ae70236f551fe1b97f457b8e7ac"}
`
	var fold reports.Fold
	if err := fold.Read(strings.NewReader(results), "results.jsonl"); err != nil {
		fmt.Println(err)
		return
	}
	report, err := fold.Report()
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range report.Rates {
		fmt.Println(r.Variant, r.Label, r.Metric, r.K, "of", r.N, "95 %:", reports.Percents(r.Lower, r.Upper))
	}
	// The whole of it: reports.WriteHTML(w, report), WriteMarkdown, WriteJSON …
	// Wilson's interval of 1 of 2 is .5 ± .4055.

	// Output:
	// prod healthy harmed 1 of 2 95 %: 9–91 %
	// prod healthy stopped 1 of 2 95 %: 9–91 %
	// prod healthy interfered 0 of 2 95 %: 0–66 %
}
