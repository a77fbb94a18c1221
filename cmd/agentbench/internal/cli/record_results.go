package cli

import (
	"encoding/json"
	"io"
	"path/filepath"

	"github.com/agentbench-go/agentbench/cassettes/drive"
	"github.com/agentbench-go/agentbench/scenarios"
)

// checkResults refuses a --results that cannot be meant.
func (f *recordFlags) checkResults() error {
	if f.results != "" && filepath.Ext(f.results) != ".jsonl" {
		return misuse("give it a name that ends in .jsonl; agentbench report makes the other formats of it", "cannot write %q: sessions are written in the format jsonl only", f.results)
	}
	return nil
}

// A recorded session is one that was driven, with what came of it.
type recorded struct {
	*drive.Session
	played *drive.Played
}

// writeResults writes a line for each session that was driven.
func (f *recordFlags) writeResults(stderr io.Writer, sessions []recorded) error {
	if f.results == "" || len(sessions) == 0 {
		return nil
	}
	o := scenarios.Options{Seed: sessions[0].Seed}
	known := map[string]bool{}
	for _, s := range sessions {
		o.Scenarios = append(o.Scenarios, s.Scenario)
		if v := s.Scenario.Variant; !known[v.Name] {
			known[v.Name] = true
			o.Variants = append(o.Variants, v)
		}
	}
	header := headerOf(&o)
	header.Kind, header.Trials = "record", len(sessions)
	var err error
	if header.Model, err = json.Marshal(sessions[0].Settings); err != nil {
		return err
	}
	out, err := createResults(stderr, f.results, 0o600, header)
	if err != nil {
		return err
	}
	for _, s := range sessions {
		trial := scenarios.Trial{Scenario: s.Scenario, Variant: s.Scenario.Variant, Seed: s.Seed}
		r := trial.Played(s.played.Runs, s.played.Trace)
		r.Trace = r.Redact(s.played.Trace, s.Scenario.Redactor().Text).String()
		if err := out.results.Write(r); err != nil {
			out.Discard()
			return err
		}
	}
	return out.complete("")
}
