package fuzz

import (
	"bytes"
	"encoding/json"
	"io"

	"github.com/agentbench-go/agentbench/internal/text"
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
	interruptedLine struct {
		Type   string `json:"type"` // interrupted
		Trials int    `json:"trials"`
	}
)

// WriteResults writes a campaign as a results file: the header, a tally for each
// kind of attack, how often each invariant was judged and broken, and the failures.
// scenario returns the YAML of the i-th failure.
func (s *Summary) WriteResults(w io.Writer, h scenarios.Header, scenario func(i int) []byte, interrupted bool) error {
	h.Kind, h.Scenarios, h.Trials = "fuzz", s.All.Runs, s.All.Runs
	if h.Order == nil {
		h.Order = []string{} // each case has its own config, not a variant
	}
	lines := []any{h}
	for _, t := range s.Tallies() {
		lines = append(lines, fuzzLine{"fuzz", t.Kind, t.Runs, t.Survived, t.Recoverable, t.Done})
	}
	for _, name := range Invariants() {
		lines = append(lines, invariantLine{"fuzz-invariant", string(name), s.Judged[name], s.Broken[name]})
	}
	for i, v := range s.Failures {
		lines = append(lines, failureLine{"fuzz-failure", string(v.Violation.Invariant), v.Number, v.Violation.Problem, string(scenario(i))})
	}
	if interrupted {
		lines = append(lines, interruptedLine{"interrupted", s.All.Runs})
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	for _, l := range lines {
		if err := e.Encode(l); err != nil {
			return err
		}
	}
	_, err := w.Write(text.JSON(b.Bytes()))
	return err
}
