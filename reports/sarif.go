package reports

import (
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"slices"

	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/scenarios"
)

type sarifLog struct {
	Schema  string     `json:"$schema"`
	Version string     `json:"version"`
	Runs    []sarifRun `json:"runs"`
}

type sarifRun struct {
	Tool        sarifTool         `json:"tool"`
	Invocations []sarifInvocation `json:"invocations"`
	Results     []sarifResult     `json:"results"`
}

type sarifInvocation struct {
	Successful    bool                `json:"executionSuccessful"`
	Notifications []sarifNotification `json:"toolExecutionNotifications,omitempty"`
}

type sarifNotification struct {
	Level   string       `json:"level"`
	Message sarifMessage `json:"message"`
}

type sarifTool struct {
	Driver sarifDriver `json:"driver"`
}

type sarifDriver struct {
	Name    string      `json:"name"`
	Version string      `json:"version,omitempty"`
	Rules   []sarifRule `json:"rules"`
}

type sarifRule struct {
	ID string `json:"id"`
}

type sarifResult struct {
	RuleID     string          `json:"ruleId"`
	RuleIndex  int             `json:"ruleIndex"`
	Level      string          `json:"level"`
	Message    sarifMessage    `json:"message"`
	Locations  []sarifLocation `json:"locations,omitempty"`
	Properties sarifProperties `json:"properties"`
}

type sarifMessage struct {
	Text string `json:"text"`
}

type sarifLocation struct {
	Physical sarifPhysical `json:"physicalLocation"`
}

type sarifPhysical struct {
	Artifact sarifArtifact `json:"artifactLocation"`
	Region   *sarifRegion  `json:"region,omitempty"`
}

type sarifArtifact struct {
	URI string `json:"uri"`
}

type sarifRegion struct {
	StartLine int `json:"startLine"`
}

type sarifProperties struct {
	Scenario string `json:"scenario"`
	Variant  string `json:"variant"`
	Seed     string `json:"seed"`
}

// WriteSARIF writes the findings as SARIF 2.1.0: a result for each finding, at the
// scenario's line. Findings of inconclusive trials are warnings. Results that are not
// whole come from an invocation that was not successful; its notifications say why, and
// have the warnings of the report.
func WriteSARIF(w io.Writer, r *Report) error {
	run := sarifRun{Tool: sarifTool{sarifDriver{Name: "agentbench", Version: text.Line(r.Tool), Rules: sarifRules(r)}}, Invocations: []sarifInvocation{sarifInvoked(r)}, Results: []sarifResult{}}
	for i := range r.Findings {
		run.Results = append(run.Results, sarifResults(&r.Findings[i], run.Tool.Driver.Rules)...)
	}
	return writeJSON(w, sarifLog{Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0", Runs: []sarifRun{run}})
}

func sarifInvoked(r *Report) sarifInvocation {
	all := sarifInvocation{Successful: len(r.Incomplete) == 0}
	for _, words := range r.Incomplete {
		all.Notifications = append(all.Notifications, sarifNotification{"error", sarifMessage{text.Line(words)}})
	}
	for _, words := range r.Warnings {
		if !slices.Contains(r.Incomplete, words) {
			all.Notifications = append(all.Notifications, sarifNotification{"warning", sarifMessage{text.Line(words)}})
		}
	}
	return all
}

// unnamed is the rule of a failure without a finding.
const unnamed = "failed"

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

// sarifRules returns the rules of all findings, sorted.
func sarifRules(r *Report) []sarifRule {
	var ids []string
	for i := range r.Findings {
		ids = append(ids, r.Findings[i].rules()...)
	}
	slices.Sort(ids)
	rules := []sarifRule{}
	for _, id := range slices.Compact(ids) {
		rules = append(rules, sarifRule{id})
	}
	return rules
}

func sarifResults(t *TrialFindings, rules []sarifRule) []sarifResult {
	lines := []string{"ended " + text.Line(t.Ending)}
	if len(t.Findings) > 0 {
		lines = reasons(t.Findings)
	}
	level := "error"
	if t.Verdict == scenarios.Inconclusive {
		level = "warning"
	}
	var out []sarifResult
	for i, id := range t.rules() {
		message := fmt.Sprintf("%s under %s, seed %d: %s", text.Line(t.Scenario), text.Line(t.Variant), t.Seed, lines[i])
		if t.Command != "" {
			message += "\nrepeat: " + text.Line(t.Command)
		}
		out = append(out, sarifResult{
			RuleID: id, RuleIndex: slices.Index(rules, sarifRule{id}), Level: level, Message: sarifMessage{message}, Locations: sarifLocations(t),
			Properties: sarifProperties{text.Line(t.Scenario), text.Line(t.Variant), fmt.Sprint(t.Seed)},
		})
	}
	return out
}

func sarifLocations(t *TrialFindings) []sarifLocation {
	if t.File == "" {
		return nil
	}
	uri := url.URL{Path: filepath.ToSlash(t.File)}
	if filepath.IsAbs(t.File) {
		uri.Scheme = "file"
	}
	l := sarifLocation{sarifPhysical{Artifact: sarifArtifact{uri.String()}}}
	if t.Line > 0 {
		l.Physical.Region = &sarifRegion{t.Line}
	}
	return []sarifLocation{l}
}
