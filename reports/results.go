package reports

import (
	"bufio"
	"cmp"
	"io"

	"github.com/agentbench-go/agentbench/scenarios"
)

// WriteResults writes the results of a report as one results file. For a report on all
// shards of a run, it is the file that the whole run would have written. Results that
// are not whole have no end, and those of an earlier version keep its schema.
func WriteResults(w io.Writer, r *Report) error {
	out := bufio.NewWriter(w)
	results, err := scenarios.NewResultWriter(out, r.Header)
	if err != nil {
		return err
	}
	for _, res := range r.Results {
		if err := results.Write(res); err != nil {
			return err
		}
	}
	for _, s := range r.Served {
		line := struct {
			Type string `json:"type"`
			Served
		}{kindServed, s}
		if err := results.Line(line); err != nil {
			return err
		}
	}
	if len(r.Incomplete) == 0 && r.Header.Schema == scenarios.ResultsSchema {
		if err := results.End(); err != nil {
			return err
		}
	}
	return out.Flush()
}

// header returns one header for all files.
func (f *Fold) header() scenarios.Header {
	revision := ""
	if len(f.files.revisions) == 1 {
		revision = f.files.revisions[0]
	}
	return scenarios.Header{Type: "header", Schema: cmp.Or(f.files.schema, scenarios.ResultsSchema), Kind: f.Kind(), Judged: f.files.judged, Tool: f.tool(), Revision: revision, Hashes: f.hashes,
		Seed: f.files.seed, Seeds: f.files.seeds, Order: append([]string{}, f.order...), Variants: f.configs, Files: f.variantFiles, Faults: f.files.faults,
		Scenarios: len(f.all), Trials: max(f.trials, f.files.trials-f.passed)}
}
