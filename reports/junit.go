package reports

import (
	"encoding/xml"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/scenarios"
)

// The types of this file write what Jenkins' schema of JUnit XML permits, and nothing
// else: a testcase has no properties, and its file and line are not attributes.

type junitSuites struct {
	XMLName xml.Name `xml:"testsuites"`
	Name    string   `xml:"name,attr"`
	junitCounts
	Suites []*junitSuite `xml:"testsuite"`
}

type junitCounts struct {
	Tests    int    `xml:"tests,attr"`
	Failures int    `xml:"failures,attr"`
	Errors   int    `xml:"errors,attr"`
	Time     string `xml:"time,attr,omitempty"`

	took time.Duration
}

type junitSuite struct {
	Name string `xml:"name,attr"`
	junitCounts
	Skipped int         `xml:"skipped,attr"`
	Cases   []junitCase `xml:"testcase"`
}

type junitCase struct {
	Name    string        `xml:"name,attr"`
	Class   string        `xml:"classname,attr"`
	Time    string        `xml:"time,attr,omitempty"`
	Failure *junitProblem `xml:"failure"`
	Error   *junitProblem `xml:"error"`
	Skipped *junitProblem `xml:"skipped"`
	Out     string        `xml:"system-out,omitempty"`
}

type junitProblem struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr,omitempty"`
	Text    string `xml:",chardata"`
}

// WriteJUnit writes a report as JUnit XML: a testcase for each trial, in the testsuite
// of its suite, and one for each served scenario. An inconclusive one is an error, an
// unjudged one is skipped. Results that are not whole have one more testcase, an error that says so. A time is the wall
// time of the trials, and is left out where it is not known, as for results that were read
// from a file. What else is known of a trial, its virtual time too, is its output.
func WriteJUnit(w io.Writer, r *Report) error {
	all := &junitSuites{Name: "agentbench"}
	suites := map[string]*junitSuite{}
	commands := r.commands()
	for _, res := range r.Results {
		name := text.Line(suiteOf(res))
		s := suites[name]
		if s == nil {
			s = &junitSuite{Name: name}
			suites[name] = s
			all.Suites = append(all.Suites, s)
		}
		s.Cases = append(s.Cases, junitCaseOf(res, commands[trialKey{res.Scenario, res.Variant, res.Seed}]))
		if s.count(res) {
			s.Skipped++
		}
		all.count(res)
	}
	if s := servedSuite(r); s != nil {
		all.Suites = append(all.Suites, s)
		all.Tests += s.Tests
		all.Failures += s.Failures
		all.Errors += s.Errors
	}
	if s := incompleteSuite(r); s != nil {
		all.Suites = append(all.Suites, s)
		all.Tests++
		all.Errors++
	}
	for _, s := range all.Suites {
		s.Time = seconds(s.took)
	}
	all.Time = seconds(all.took)
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	if err := enc.Encode(all); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// servedSuite returns a suite with a testcase for each served scenario, or nil if there
// is none.
func servedSuite(r *Report) *junitSuite {
	if len(r.Served) == 0 {
		return nil
	}
	s := &junitSuite{Name: "served"}
	for i := range r.Served {
		one := &r.Served[i]
		c := junitCase{Name: text.Line(one.Scenario), Class: text.Line(one.Scenario)}
		problem := &junitProblem{Message: one.words(), Type: "protocol"}
		switch one.verdict() {
		case scenarios.Fail:
			c.Failure = problem
			s.Failures++
		case scenarios.Inconclusive:
			problem.Type = string(scenarios.Inconclusive)
			c.Error = problem
			s.Errors++
		}
		s.Tests++
		s.Cases = append(s.Cases, c)
	}
	return s
}

// incompleteSuite returns a suite with the error that the results are not whole, or nil
// if they are: a reader that counts tests must not take a part for the whole.
func incompleteSuite(r *Report) *junitSuite {
	if len(r.Incomplete) == 0 {
		return nil
	}
	const name = "the results are whole"
	return &junitSuite{Name: "agentbench", junitCounts: junitCounts{Tests: 1, Errors: 1}, Cases: []junitCase{{Name: name, Class: "agentbench",
		Error: &junitProblem{Message: text.Line(r.Incomplete[0]), Type: "incomplete", Text: text.Lines(strings.Join(r.Incomplete, "\n"))}}}}
}

// count counts a trial, and reports whether it was skipped.
func (c *junitCounts) count(r *scenarios.Result) (skipped bool) {
	c.Tests++
	c.took += r.Took
	switch r.Verdict {
	case scenarios.Pass:
	case scenarios.Fail:
		c.Failures++
	case scenarios.Inconclusive:
		c.Errors++
	default:
		return true
	}
	return false
}

func junitCaseOf(r *scenarios.Result, command string) junitCase {
	c := junitCase{
		Name:  fmt.Sprintf("%s under %s, seed %d", text.Line(r.Scenario), text.Line(r.Variant), r.Seed),
		Class: text.Line(r.Scenario), Time: seconds(r.Took), Out: junitOut(r),
	}
	switch r.Verdict {
	case scenarios.Pass:
	case scenarios.Fail:
		c.Failure = junitProblemOf(r, command)
	case scenarios.Inconclusive:
		c.Error = junitProblemOf(r, command)
	default:
		c.Skipped = &junitProblem{Message: "reported, not judged: ended " + Ending(r)}
	}
	return c
}

// junitOut returns the facts of a trial, one a line.
func junitOut(r *scenarios.Result) string {
	var b strings.Builder
	for _, fact := range [][2]string{{"variant", r.Variant}, {"seed", strconv.FormatUint(r.Seed, 10)}, {"label", string(r.Label)}, {"end_state", string(r.EndState)},
		{"stop", string(r.Stop)}, {"virtual time", text.Duration(time.Duration(r.VirtualMS) * time.Millisecond)}} {
		if fact[1] != "" {
			fmt.Fprintf(&b, "%s: %s\n", fact[0], text.Line(fact[1]))
		}
	}
	if r.File != "" {
		fmt.Fprintf(&b, "file: %s:%d\n", text.Line(r.File), max(r.Line, 1))
	}
	return b.String()
}

func junitProblemOf(r *scenarios.Result, command string) *junitProblem {
	lines := Reasons(r)
	p := &junitProblem{Message: lines[0], Type: string(r.Verdict)}
	if len(r.Findings) > 0 {
		p.Type = text.Line(r.Findings[0].Rule)
	}
	lines = append(lines, "ended "+Ending(r))
	lines = append(lines, excerpt(r.Trace)...)
	if command != "" {
		lines = append(lines, "repeat: "+text.Line(command))
	}
	p.Text = strings.Join(lines, "\n")
	return p
}

// seconds writes a wall time; "" = unknown.
func seconds(took time.Duration) string {
	if took <= 0 {
		return ""
	}
	return strconv.FormatFloat(took.Seconds(), 'f', 3, 64)
}

// commands returns the command that repeats each trial that failed or could not be
// judged.
func (r *Report) commands() map[trialKey]string {
	all := map[trialKey]string{}
	for _, t := range r.Findings {
		all[trialKey{t.Scenario, t.Variant, t.Seed}] = t.Command
	}
	return all
}
