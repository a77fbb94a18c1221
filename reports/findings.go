package reports

import (
	"crypto/sha256"
	"fmt"
	"path/filepath"

	"github.com/agentbench-go/agentbench/internal/text"
)

// title names a trial.
func (t *TrialFindings) title() string {
	if t.served {
		return text.Line(t.Scenario) + ", served"
	}
	return fmt.Sprintf("%s under %s, seed %d", text.Line(t.Scenario), text.Line(t.Variant), t.Seed)
}

// rules returns the rules of the findings of a trial.
func (t *TrialFindings) rules() []string {
	if len(t.Findings) == 0 {
		return []string{unnamed}
	}
	var out []string
	for _, f := range t.Findings {
		out = append(out, text.Line(f.Rule))
	}
	return out
}

// A toldFinding is a finding for a program that follows findings from one report to the
// next.
type toldFinding struct {
	rule   string
	reason string
	// fingerprint is the same for the same finding of the same trial, whatever was
	// measured and wherever the scenario lies.
	fingerprint string
}

// told returns the findings of a trial, or the one that it failed.
func (t *TrialFindings) told() []toldFinding {
	lines := []string{"ended " + text.Line(t.Ending)}
	if len(t.Findings) > 0 {
		lines = reasons(t.Findings)
	}
	before := map[string]int{}
	var out []toldFinding
	for i, rule := range t.rules() {
		before[rule]++
		sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %d %q %d", t.Scenario, t.Variant, t.Seed, rule, before[rule]))
		out = append(out, toldFinding{rule, lines[i], fmt.Sprintf("%x", sum[:16])})
	}
	return out
}

// placeOf returns the path of a result's file as reports give it: with slashes, and ""
// if it is not one of the user's files.
func (f *Fold) placeOf(file string) string {
	switch {
	case file == "":
		return ""
	case f.Place != nil:
		return f.Place(file)
	case filepath.IsAbs(file):
		return ""
	}
	return filepath.ToSlash(file)
}
