package reports

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/agentbench-go/agentbench/scenarios"
	"github.com/google/go-cmp/cmp"
)

type sarifRead struct {
	Version string
	Runs    []struct {
		Tool struct {
			Driver struct {
				Rules []struct {
					ID                                      string
					ShortDescription, FullDescription, Help struct{ Text string }
					HelpURI                                 string
				}
			}
		}
		Invocations []struct {
			ToolExecutionNotifications []struct {
				Level          string
				Message        struct{ Text string }
				AssociatedRule struct {
					ID    string
					Index int
				}
			}
		}
		Results []struct {
			RuleID              string
			RuleIndex           int
			Level               string
			Message             struct{ Text string }
			PartialFingerprints map[string]string
			Locations           []struct {
				PhysicalLocation struct {
					ArtifactLocation struct{ URI string }
					Region           struct{ StartLine int }
				}
			}
		}
	}
}

func readSARIF(t *testing.T, r *Report) sarifRead {
	t.Helper()
	var log sarifRead
	if err := json.Unmarshal([]byte(export(t, func(b *bytes.Buffer) error { return WriteSARIF(b, r) })), &log); err != nil {
		t.Fatal(err)
	}
	return log
}

func TestSARIF(t *testing.T) {
	log := readSARIF(t, troubled(t))
	if log.Version != "2.1.0" || len(log.Runs) != 1 || len(log.Runs[0].Results) != 2 {
		t.Fatalf("%+v, want 2.1.0 with two results", log)
	}
	run := log.Runs[0]
	var got, prints []string
	for _, r := range run.Results {
		got = append(got, r.Level+" "+r.RuleID)
		rule := run.Tool.Driver.Rules[r.RuleIndex]
		if rule.ID != r.RuleID || rule.ShortDescription.Text == "" || !strings.HasPrefix(rule.FullDescription.Text, rule.ShortDescription.Text) || rule.Help.Text == "" || rule.HelpURI == "" {
			t.Errorf("the rule of %s is %+v", r.RuleID, rule)
		}
		if r.PartialFingerprints["primaryLocationLineHash"] != r.PartialFingerprints["agentbenchFinding/v1"] {
			t.Errorf("fingerprints %q", r.PartialFingerprints)
		}
		prints = append(prints, r.PartialFingerprints["agentbenchFinding/v1"])
	}
	if diff := cmp.Diff([]string{"error label", "error calls"}, got); diff != "" {
		t.Error(diff)
	}
	if len(prints[0]) != 32 || prints[0] == prints[1] {
		t.Errorf("the fingerprints are %q, want two", prints)
	}
	// GitHub refuses a file with a result without a place.
	notes := run.Invocations[0].ToolExecutionNotifications
	if n := notes[len(notes)-1]; n.Level != "warning" || n.AssociatedRule.ID != "ran-dry" || run.Tool.Driver.Rules[n.AssociatedRule.Index].ID != "ran-dry" || !strings.HasPrefix(n.Message.Text, "loops/dark under v, seed 1: the script ran dry") {
		t.Errorf("the finding without a place is told as %+v", n)
	}
	// A space and a colon in a path are escaped, so that a: is not a scheme.
	where := run.Results[0].Locations[0].PhysicalLocation
	if where.ArtifactLocation.URI != "dir/a%20b,c:d.yaml" || where.Region.StartLine != 3 {
		t.Errorf("location %+v", where)
	}
	if strings.ContainsAny(run.Results[0].Message.Text, "\x1b\x00") {
		t.Error("control characters are in a message")
	}
}

// misplaced is a report of two trials that failed: one of a file that is moved in the
// user's repository, and one of a file that is not there.
func misplaced(t *testing.T, got string) *Report {
	here := judged("s/here", "v", scenarios.Runaway, "CEILING", 5)
	here.Verdict, here.File, here.Line = scenarios.Fail, "/runner/work/repo/bench/here.yaml", 2
	here.Findings = []scenarios.Finding{{Rule: "turns", Message: "turns: want 3, got " + got, Want: "3", Got: got}, {Rule: "events", Message: "one"}, {Rule: "events", Message: "two"}}
	embedded := judged("s/embedded", "v", scenarios.Runaway, "CEILING", 5)
	embedded.Verdict, embedded.File, embedded.Line = scenarios.Fail, "scenarios/s/embedded.yaml", 1
	return folded(t, &Fold{Keep: true, Place: func(file string) string {
		after, _ := strings.CutPrefix(file, "/runner/work/repo/")
		if after == file {
			return ""
		}
		return after
	}}, here, embedded)
}

// Findings are placed in the user's files only, and are followed from one report to the
// next, whatever was measured.
func TestPlacesAndFingerprints(t *testing.T) {
	places := func(r *Report) (places, prints []string) {
		for _, result := range readSARIF(t, r).Runs[0].Results {
			places = append(places, result.Locations[0].PhysicalLocation.ArtifactLocation.URI)
			prints = append(prints, result.PartialFingerprints["agentbenchFinding/v1"])
		}
		return places, prints
	}
	at, first := places(misplaced(t, "4"))
	if want := []string{"bench/here.yaml", "bench/here.yaml", "bench/here.yaml"}; !slices.Equal(at, want) {
		t.Errorf("the places are %q, want %q", at, want)
	}
	_, second := places(misplaced(t, "9"))
	if !slices.Equal(first, second) || len(slices.Compact(slices.Sorted(slices.Values(first)))) != 3 {
		t.Errorf("the fingerprints are %q, and %q later", first, second)
	}
	var notes []string
	for line := range strings.Lines(export(t, func(b *bytes.Buffer) error { return WriteAnnotations(b, misplaced(t, "4")) })) {
		before, _, _ := strings.Cut(strings.TrimPrefix(line, "::"), "::")
		notes = append(notes, before)
	}
	if want := []string{"error title=s/embedded under v%2C seed 1", "error file=bench/here.yaml,line=2,title=s/here under v%2C seed 1"}; !slices.Equal(notes, want) {
		t.Errorf("the annotations are\n%s\nwant\n%s", strings.Join(notes, "\n"), strings.Join(want, "\n"))
	}
}

// GitLab's code quality report: the fields and severities of its documentation
// (docs.gitlab.com/ci/testing/code_quality), each fingerprint once, a relative path.
func TestCodeQuality(t *testing.T) {
	r := misplaced(t, "4")
	r.Incomplete = []string{"the results are incomplete: they hold 2 of 3 trials"}
	d := json.NewDecoder(strings.NewReader(export(t, func(b *bytes.Buffer) error { return WriteCodeQuality(b, r) })))
	d.DisallowUnknownFields()
	var issues []struct {
		Description string `json:"description"`
		Check       string `json:"check_name"`
		Fingerprint string `json:"fingerprint"`
		Severity    string `json:"severity"`
		Location    struct {
			Path  string `json:"path"`
			Lines struct {
				Begin int `json:"begin"`
			} `json:"lines"`
		} `json:"location"`
	}
	if err := d.Decode(&issues); err != nil {
		t.Fatal(err)
	}
	var got []string
	seen := map[string]bool{}
	for _, i := range issues {
		if i.Description == "" || len(i.Fingerprint) != 32 || seen[i.Fingerprint] || i.Location.Lines.Begin < 1 || strings.HasPrefix(i.Location.Path, "/") {
			t.Errorf("issue %+v", i)
		}
		seen[i.Fingerprint] = true
		got = append(got, i.Severity+" "+i.Check+" "+i.Location.Path)
	}
	want := []string{"blocker incomplete agentbench.yaml", "critical failed agentbench.yaml", "critical turns bench/here.yaml", "critical events bench/here.yaml", "critical events bench/here.yaml"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if text := export(t, func(b *bytes.Buffer) error { return WriteCodeQuality(b, folded(t, &Fold{})) }); text != "[]\n" {
		t.Errorf("no finding is %q, want an empty list", text)
	}
}

// Every rule that is written as a word in the code has a text: it is a key of expect, or
// in the table.
func TestRulesHaveTexts(t *testing.T) {
	named := regexp.MustCompile(`(?:\bfind\(|\bcompare\(|Rule: +|\brule[A-Z]\w* += |\bRule[A-Z]\w* += )"([a-z-]+)"`)
	found := 0
	for _, dir := range []string{"../scenarios", "../scenarios/observe", "../cassettes/trajectories"} {
		files, err := filepath.Glob(dir + "/*.go")
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			for _, m := range named.FindAllSubmatch(source, -1) {
				found++
				if rule := string(m[1]); ruleTexts[rule].short == "" && rule != "events" {
					t.Errorf("%s has the rule %s, which has no text", file, rule)
				}
			}
		}
	}
	if found < 20 {
		t.Errorf("%d rules found: this test looks for the wrong thing", found)
	}
	for rule, words := range ruleTexts {
		if strings.HasSuffix(words.short, ".") || !strings.HasSuffix(words.help, ".") {
			t.Errorf("%s: the short text has no full stop, the help has one", rule)
		}
	}
	if words := ruleTextOf("turns"); words.short != "The trial is not what expect says of turns" {
		t.Errorf("a key of expect is told as %q", words.short)
	}
}
