package reports

import (
	"crypto/sha256"
	"fmt"
	"io"
	"strings"

	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/scenarios"
)

// A qualityIssue is an element of GitLab's code quality report (docs.gitlab.com/ci/testing/code_quality,
// "Code Quality report format"), which has no other fields.
type qualityIssue struct {
	Description string       `json:"description"`
	Check       string       `json:"check_name"`
	Fingerprint string       `json:"fingerprint"`
	Severity    string       `json:"severity"` // info, minor, major, critical or blocker
	Location    qualityPlace `json:"location"`
}

type qualityPlace struct {
	Path  string       `json:"path"`
	Lines qualityLines `json:"lines"`
}

type qualityLines struct {
	Begin int `json:"begin"`
}

// qualityNowhere is the path of an issue that belongs to no file: GitLab shows none
// without a path.
const qualityNowhere = "agentbench.yaml"

// WriteCodeQuality writes the findings as a code quality report of GitLab: an issue for
// each finding of a trial or served scenario, at the scenario's line. A finding of a trial that failed is critical, one
// of a trial that could not be judged is minor, and results that are not whole are a
// blocker. What lies in none of the user's files, such as an embedded scenario, is placed
// in agentbench.yaml.
func WriteCodeQuality(w io.Writer, r *Report) error {
	issues := []qualityIssue{}
	if len(r.Incomplete) > 0 {
		const rule = "incomplete"
		issues = append(issues, qualityIssue{Description: text.Line(strings.Join(r.Incomplete, "; ")), Check: rule, Severity: "blocker",
			Fingerprint: fmt.Sprintf("%x", sha256.Sum256([]byte(rule)))[:32], Location: qualityPlace{qualityNowhere, qualityLines{1}}})
	}
	for _, t := range r.exported() {
		issues = append(issues, qualityIssues(t)...)
	}
	return writeJSON(w, issues)
}

func qualityIssues(t *TrialFindings) []qualityIssue {
	severity := "critical"
	if t.Verdict == scenarios.Inconclusive {
		severity = "minor"
	}
	place := qualityPlace{qualityNowhere, qualityLines{1}}
	if t.place != "" {
		place = qualityPlace{t.place, qualityLines{max(t.Line, 1)}}
	}
	var out []qualityIssue
	for _, told := range t.told() {
		description := t.title() + ": " + told.reason
		if t.Command != "" {
			description += " (repeat: " + text.Line(t.Command) + ")"
		}
		out = append(out, qualityIssue{Description: description, Check: told.rule, Fingerprint: told.fingerprint, Severity: severity, Location: place})
	}
	return out
}
