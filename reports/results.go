package reports

import (
	"bufio"
	"io"

	"github.com/agentbench-go/agentbench/scenarios"
)

// WriteResults writes the results of a report as one results file. For a report on all
// shards of a run, it is the file that the whole run would have written.
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
	return out.Flush()
}

// header returns one header for all files.
func (f *Fold) header() scenarios.Header {
	return scenarios.Header{Type: "header", Schema: scenarios.ResultsSchema, Kind: f.Kind(), Tool: f.tool(),
		Seed: f.files.seed, Seeds: f.files.seeds, Order: append([]string{}, f.order...), Variants: f.configs, Files: f.variantFiles, Faults: f.files.faults,
		Scenarios: len(f.all), Trials: f.trials}
}
