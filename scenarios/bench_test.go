package scenarios

import (
	"context"
	"io"
	"testing"
)

func BenchmarkLoadEmbedded(b *testing.B) {
	var n int
	for b.Loop() {
		all, err := Load()
		if err != nil {
			b.Fatal(err)
		}
		n = len(all)
	}
	b.ReportMetric(float64(n), "scenarios")
}

// BenchmarkThousandTrials makes 1,000 trials of the embedded suites, and writes
// them as a results file.
func BenchmarkThousandTrials(b *testing.B) {
	all, err := Load()
	if err != nil {
		b.Fatal(err)
	}
	var few []*Scenario
	for len(few) < 1000 {
		few = append(few, all...)
	}
	o := Options{Scenarios: few[:1000], Seed: 1}
	for b.Loop() {
		w, err := NewResultWriter(io.Discard, o.Header("bench"))
		if err != nil {
			b.Fatal(err)
		}
		if err := Run(context.Background(), o, w.Write); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkWrite writes one line of a results file.
func BenchmarkWrite(b *testing.B) {
	w, err := NewResultWriter(io.Discard, Header{})
	if err != nil {
		b.Fatal(err)
	}
	r := &Result{Type: "trial", Scenario: "stuck-loops/same-call-forever", Suite: "stuck-loops", Label: Runaway, Variant: DefaultVariant,
		EndState: "LOOP_DETECTED", Stop: "circuit-breaker", Codes: map[string]int{"None": 4, "Timeout": 1},
		ToolMS: []Latency{{200, 4}, {1050, 1}}, Findings: []Finding{}, Golden: "off", File: "scenarios/stuck-loops/same-call-forever.yaml", Line: 1}
	for b.Loop() {
		if err := w.Write(r); err != nil {
			b.Fatal(err)
		}
	}
}
