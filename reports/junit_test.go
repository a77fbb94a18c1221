package reports

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	junit "github.com/joshdk/go-junit"
)

func TestJUnit(t *testing.T) {
	r := troubled(t)
	r.Results[1].Took, r.Results[2].Took = 1500*time.Millisecond, 250*time.Millisecond
	text := export(t, func(b *bytes.Buffer) error { return WriteJUnit(b, r) })
	suites, err := junit.Ingest([]byte(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	var status []string
	for _, s := range suites {
		for _, c := range s.Tests {
			status = append(status, s.Name+" "+c.Classname[:10]+" "+string(c.Status)+" "+c.Duration.String())
		}
	}
	want := []string{"loops loops/dark error 0s", "loops loops/x\\x1 failed 1.5s", "other other/fine passed 250ms", "other other/seen skipped 0s"}
	if diff := cmp.Diff(want, status); diff != "" {
		t.Error(diff)
	}
	var back junitSuites
	if err := xml.Unmarshal([]byte(text), &back); err != nil {
		t.Fatal(err)
	}
	if got := back.junitCounts; got.Tests != 4 || got.Failures != 1 || got.Errors != 1 || got.Time != "1.750" || back.Suites[1].Skipped != 1 {
		t.Errorf("counts %+v", got)
	}
	// What took an unknown time has none, and virtual time is not the time that a test took.
	if got := back.Suites[0].Cases[0].Time; got != "" {
		t.Errorf("the time of a trial that nobody timed is %q", got)
	}
	failed := back.Suites[0].Cases[1]
	for _, line := range []string{"variant: vx\\x1b[31m\\x00\\a|", "seed: 7\n", "label: runaway\n", "end_state: CEILING\n", "virtual time: 1.5s\n", "file: dir/a b,c:d.yaml:3\n"} {
		if !strings.Contains(failed.Out, line) {
			t.Errorf("the output lacks %q:\n%s", line, failed.Out)
		}
	}
	if p := failed.Failure; p.Type != "label" || !strings.HasPrefix(p.Message, "not caught x\\x1b[31m\\x00\\a|`<script>alert(1)</script>") ||
		!strings.Contains(p.Text, "\ncalls: want 3, got 1000\n") || !strings.Contains(p.Text, "repeat: agentbench explain 'loops/x") || !strings.Contains(p.Text, "0.000s started") {
		t.Errorf("failure %+v", p)
	}
	for _, r := range text {
		if r < ' ' && r != '\n' {
			t.Fatalf("%q is in the file", r)
		}
	}
}

// A jenkinsElement is what Jenkins' schema of JUnit XML says of an element.
type jenkinsElement struct {
	required, optional, children string
	text                         bool // between its children
}

// jenkinsSchema is junit-10.xsd of Jenkins' xUnit plugin
// (github.com/jenkinsci/xunit-plugin, src/main/resources/org/jenkinsci/plugins/xunit/types/model/xsd,
// MIT licence), by hand. Any order of children is valid.
var jenkinsSchema = map[string]jenkinsElement{
	"testsuites": {"", "name time tests failures errors", "testsuite", false},
	"testsuite": {"name tests failures errors", "group time skipped timestamp hostname id package file log url",
		"testsuite properties testcase system-out system-err", false},
	"testcase":     {"name", "time classname group", "skipped error failure rerunFailure rerunError flakyFailure flakyError system-out system-err", false},
	"properties":   {"", "", "property", false},
	"property":     {"name value", "", "", false},
	"failure":      {"", "type message", "", true},
	"error":        {"", "type message", "", true},
	"skipped":      {"", "type message", "", true},
	"system-out":   {"", "", "", true},
	"system-err":   {"", "", "", true},
	"rerunFailure": {"type", "message", "stackTrace system-out system-err", true},
}

// surefireTime is the schema's pattern of the time of a testsuite.
var surefireTime = regexp.MustCompile(`^(([0-9]{0,3},)*[0-9]{3}|[0-9]{0,3})*(\.[0-9]*)?$`)

// jenkinsProblems returns what Jenkins' schema does not permit in a document.
func jenkinsProblems(document string) []string {
	var problems, open []string
	complain := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	d := xml.NewDecoder(strings.NewReader(document))
	for {
		token, err := d.Token()
		if err == io.EOF {
			return problems
		} else if err != nil {
			return append(problems, err.Error())
		}
		switch token := token.(type) {
		case xml.StartElement:
			name := token.Name.Local
			e, known := jenkinsSchema[name]
			switch {
			case !known:
				complain("there is no element %s", name)
			case len(open) == 0 && name != "testsuites":
				complain("the document is of %s", name)
			case len(open) > 0 && !slices.Contains(strings.Fields(jenkinsSchema[open[len(open)-1]].children), name):
				complain("%s is in %s", name, open[len(open)-1])
			}
			open = append(open, name)
			missing := strings.Fields(e.required)
			for _, a := range token.Attr {
				if !slices.Contains(strings.Fields(e.required+" "+e.optional), a.Name.Local) {
					complain("%s has the attribute %s", name, a.Name.Local)
				}
				if a.Name.Local == "time" && name != "testcase" && !surefireTime.MatchString(a.Value) {
					complain("%s has the time %s", name, a.Value)
				}
				missing = slices.DeleteFunc(missing, func(m string) bool { return m == a.Name.Local })
			}
			if len(missing) > 0 {
				complain("%s lacks %s", name, strings.Join(missing, ", "))
			}
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.CharData:
			if len(open) > 0 && !jenkinsSchema[open[len(open)-1]].text && strings.TrimSpace(string(token)) != "" {
				complain("%s has the text %q", open[len(open)-1], token)
			}
		}
	}
}

// JUnit XML is valid by the schema of Jenkins, which is the strictest reader: of trials of
// every verdict, with and without times, and of results that are not whole.
func TestJUnitIsValidForJenkins(t *testing.T) {
	for name, r := range map[string]*Report{"read": troubled(t), "timed": troubled(t), "part": troubled(t), "empty": folded(t, &Fold{Keep: true})} {
		switch name {
		case "timed":
			for _, res := range r.Results {
				res.Took = 1234567 * time.Second
			}
		case "part":
			r.Incomplete = []string{"the results are incomplete: " + evil}
		}
		if problems := jenkinsProblems(export(t, func(b *bytes.Buffer) error { return WriteJUnit(b, r) })); len(problems) > 0 {
			t.Errorf("%s: %s", name, strings.Join(problems, "\n"))
		}
	}
	// The check finds what earlier versions wrote.
	old := `<testsuites name="a" skipped="0"><testsuite name="b" tests="1" failures="0" errors="0" time="1 s">words<testcase classname="c" file="d"><properties><property name="e"></property></properties></testcase></testsuite></testsuites>`
	want := []string{"testsuites has the attribute skipped", "testsuite has the time 1 s", `testsuite has the text "words"`, "testcase has the attribute file", "testcase lacks name",
		"properties is in testcase", "property lacks value"}
	if diff := cmp.Diff(want, jenkinsProblems(old)); diff != "" {
		t.Error(diff)
	}
}
