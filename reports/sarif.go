package reports

import (
	"fmt"
	"io"
	"net/url"
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
	Level   string          `json:"level"`
	Message sarifMessage    `json:"message"`
	Rule    *sarifRuleNamed `json:"associatedRule,omitempty"`
}

type sarifRuleNamed struct {
	ID    string `json:"id"`
	Index int    `json:"index"`
}

type sarifTool struct {
	Driver sarifDriver `json:"driver"`
}

type sarifDriver struct {
	Name    string      `json:"name"`
	Version string      `json:"version,omitempty"`
	URI     string      `json:"informationUri"`
	Rules   []sarifRule `json:"rules"`
}

type sarifRule struct {
	ID      string        `json:"id"`
	Short   sarifMessage  `json:"shortDescription"`
	Full    sarifMessage  `json:"fullDescription"`
	Help    sarifMessage  `json:"help"`
	HelpURI string        `json:"helpUri"`
	Config  sarifRuleInfo `json:"defaultConfiguration"`
}

type sarifRuleInfo struct {
	Level string `json:"level"`
}

type sarifResult struct {
	RuleID    string          `json:"ruleId"`
	RuleIndex int             `json:"ruleIndex"`
	Level     string          `json:"level"`
	Message   sarifMessage    `json:"message"`
	Locations []sarifLocation `json:"locations"`
	// Fingerprints tell a reader which results of two files are the same.
	// GitHub's code scanning looks at primaryLocationLineHash.
	Fingerprints map[string]string `json:"partialFingerprints"`
	Properties   sarifProperties   `json:"properties"`
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
// scenario's line. A finding about a scenario that lies in none of the user's files, such
// as an embedded one, has no place, and GitHub refuses a file with such a result: it is a
// notification of the invocation, and so is what is wrong with a scenario that serve
// served, of which no file is known. Findings of inconclusive trials are warnings. Results
// that are not whole come from an invocation that was not successful; its notifications
// say why, and have the warnings of the report.
func WriteSARIF(w io.Writer, r *Report) error {
	rules := sarifRules(r)
	invoked, results := sarifInvoked(r), []sarifResult{}
	for _, t := range r.exported() {
		for _, result := range sarifResults(t, rules) {
			if len(result.Locations) > 0 {
				results = append(results, result)
				continue
			}
			invoked.Notifications = append(invoked.Notifications, sarifNotification{result.Level, result.Message, &sarifRuleNamed{result.RuleID, result.RuleIndex}})
		}
	}
	driver := sarifDriver{Name: "agentbench", Version: text.Line(r.Tool), URI: homepage, Rules: rules}
	run := sarifRun{Tool: sarifTool{driver}, Invocations: []sarifInvocation{invoked}, Results: results}
	return writeJSON(w, sarifLog{Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0", Runs: []sarifRun{run}})
}

// homepage is where the documentation is.
const homepage = "https://github.com/agentbench-go/agentbench"

func sarifInvoked(r *Report) sarifInvocation {
	all := sarifInvocation{Successful: len(r.Incomplete) == 0}
	for _, words := range r.Incomplete {
		all.Notifications = append(all.Notifications, sarifNotification{Level: "error", Message: sarifMessage{text.Line(words)}})
	}
	for _, words := range r.Warnings {
		if !slices.Contains(r.Incomplete, words) {
			all.Notifications = append(all.Notifications, sarifNotification{Level: "warning", Message: sarifMessage{text.Line(words)}})
		}
	}
	return all
}

// sarifRules returns the rules of all findings, sorted.
func sarifRules(r *Report) []sarifRule {
	var ids []string
	for _, t := range r.exported() {
		ids = append(ids, t.rules()...)
	}
	slices.Sort(ids)
	rules := []sarifRule{}
	for _, id := range slices.Compact(ids) {
		words := ruleTextOf(id)
		rules = append(rules, sarifRule{ID: id, Short: sarifMessage{words.short}, Full: sarifMessage{words.short + ". " + words.help}, Help: sarifMessage{words.help},
			HelpURI: homepage + "/blob/main/docs/reports.md#which-rules-can-a-finding-have", Config: sarifRuleInfo{"error"}})
	}
	return rules
}

// sarifResults returns a result for each finding of a trial. One without a place has no
// location.
func sarifResults(t *TrialFindings, rules []sarifRule) []sarifResult {
	level := "error"
	if t.Verdict == scenarios.Inconclusive {
		level = "warning"
	}
	var out []sarifResult
	for _, told := range t.told() {
		message := t.title() + ": " + told.reason
		if t.Command != "" {
			message += "\nrepeat: " + text.Line(t.Command)
		}
		index := slices.IndexFunc(rules, func(r sarifRule) bool { return r.ID == told.rule })
		out = append(out, sarifResult{
			RuleID: told.rule, RuleIndex: index, Level: level, Message: sarifMessage{message}, Locations: sarifLocations(t),
			Fingerprints: map[string]string{"agentbenchFinding/v1": told.fingerprint, "primaryLocationLineHash": told.fingerprint},
			Properties:   sarifProperties{text.Line(t.Scenario), text.Line(t.Variant), fmt.Sprint(t.Seed)},
		})
	}
	return out
}

func sarifLocations(t *TrialFindings) []sarifLocation {
	if t.place == "" {
		return nil
	}
	uri := url.URL{Path: t.place}
	l := sarifLocation{sarifPhysical{Artifact: sarifArtifact{uri.String()}}}
	if t.Line > 0 {
		l.Physical.Region = &sarifRegion{t.Line}
	}
	return []sarifLocation{l}
}
