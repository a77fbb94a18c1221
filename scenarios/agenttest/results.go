package agenttest

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"runtime/debug"

	"github.com/agentbench-go/agentbench/internal/outfile"
	"github.com/agentbench-go/agentbench/scenarios"
)

// module is the path of this module.
const module = "github.com/agentbench-go/agentbench"

// version returns the version of this module in the test's binary.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, dep := range append(info.Deps, &info.Main) {
		if dep.Path == module && dep.Version != "" {
			return dep.Version
		}
	}
	return "unknown"
}

// writeResults writes the results file.
func (r *runner) writeResults() (err error) {
	config := json.RawMessage(`{"tools":"scripted"}`)
	asked := map[string]bool{}
	for _, one := range r.reports {
		asked[one.Scenario] = true
	}
	h := scenarios.Header{Type: "header", Schema: scenarios.ResultsSchema, Kind: "test", Judged: scenarios.JudgedForeign, Tool: version(),
		Seed: 1, Seeds: r.seeds, Scenarios: len(asked), Trials: len(r.reports), Order: []string{r.name},
		Variants: map[string]json.RawMessage{r.name: config}, Hashes: map[string]string{r.name: fmt.Sprintf("%x", sha256.Sum256(config))}}
	f, err := outfile.Create(r.results, 0o666)
	if err != nil {
		return err
	}
	defer f.Discard()
	w, err := scenarios.NewResultWriter(f, h)
	if err != nil {
		return err
	}
	for _, one := range r.reports {
		line := one.Result
		if line.Verdict == scenarios.Pass {
			line.Trace = ""
		}
		if err := w.Write(&line); err != nil {
			return err
		}
	}
	if err := w.End(); err != nil {
		return err
	}
	return f.Commit()
}
