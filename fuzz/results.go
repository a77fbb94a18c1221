package fuzz

import (
	"io"

	"github.com/agentbench-go/agentbench/scenarios"
)

// The lines of a results file after its header.
type (
	fuzzLine struct {
		Type        string `json:"type"` // fuzz
		Kind        string `json:"kind"` // an attack, none or all
		Runs        int    `json:"runs"`
		Survived    int    `json:"survived"`
		Recoverable int    `json:"recoverable"`
		Done        int    `json:"done"`
	}
	invariantLine struct {
		Type      string `json:"type"` // fuzz-invariant
		Invariant string `json:"invariant"`
		Judged    int    `json:"judged"`
		Broken    int    `json:"broken"`
	}
	failureLine struct {
		Type      string `json:"type"` // fuzz-failure
		Invariant string `json:"invariant"`
		Case      int    `json:"case"`
		Problem   string `json:"problem"`
		Scenario  string `json:"scenario"` // YAML
	}
)

// WriteResults writes a campaign as a results file: the header, a tally for each
// kind of attack, how often each invariant was judged and broken, the failures, and
// a last line that says whether the campaign is whole. scenario returns the YAML of
// the i-th failure.
func (s *Summary) WriteResults(w io.Writer, h scenarios.Header, scenario func(i int) []byte, interrupted bool) error {
	h.Kind, h.Scenarios, h.Trials = "fuzz", s.All.Runs, s.All.Runs
	if h.Order == nil {
		h.Order = []string{} // each case has its own config, not a variant
	}
	var lines []any
	for _, t := range s.Tallies() {
		lines = append(lines, fuzzLine{"fuzz", t.Kind, t.Runs, t.Survived, t.Recoverable, t.Done})
	}
	for _, name := range Invariants() {
		lines = append(lines, invariantLine{"fuzz-invariant", string(name), s.Judged[name], s.Broken[name]})
	}
	for i, v := range s.Failures {
		lines = append(lines, failureLine{"fuzz-failure", string(v.Violation.Invariant), v.Number, v.Violation.Problem, string(scenario(i))})
	}
	out, err := scenarios.NewResultWriter(w, h)
	if err != nil {
		return err
	}
	for _, l := range lines {
		if err := out.Line(l); err != nil {
			return err
		}
	}
	if interrupted {
		return out.Interrupt(s.All.Runs, 0)
	}
	return out.End()
}
