package reports

import (
	"encoding/xml"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/scenarios"
)

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
	Skipped  int    `xml:"skipped,attr"`
	Time     string `xml:"time,attr"`

	ms int64
}

type junitSuite struct {
	Name string `xml:"name,attr"`
	junitCounts
	Cases []junitCase `xml:"testcase"`
}

type junitCase struct {
	Name       string          `xml:"name,attr"`
	Class      string          `xml:"classname,attr"`
	Time       string          `xml:"time,attr"`
	File       string          `xml:"file,attr,omitempty"`
	Line       int             `xml:"line,attr,omitempty"`
	Properties []junitProperty `xml:"properties>property"`
	Failure    *junitProblem   `xml:"failure"`
	Error      *junitProblem   `xml:"error"`
	Skipped    *junitProblem   `xml:"skipped"`
}

type junitProperty struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

type junitProblem struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr,omitempty"`
	Text    string `xml:",chardata"`
}

// WriteJUnit writes a report as JUnit XML: a testcase for each trial, in the testsuite
// of its suite, and for each served scenario. An inconclusive one is an error, an unjudged one is skipped. Results
// that are not whole have one more testcase, an error that says so. Times are virtual.
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
		s.count(res)
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
		s.Time = seconds(s.ms)
	}
	all.Time = seconds(all.ms)
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
		c := junitCase{Name: text.Line(one.Scenario), Class: text.Line(one.Scenario), Time: seconds(0)}
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
	return &junitSuite{Name: "agentbench", junitCounts: junitCounts{Tests: 1, Errors: 1}, Cases: []junitCase{{Name: name, Class: "agentbench", Time: seconds(0),
		Error: &junitProblem{Message: text.Line(r.Incomplete[0]), Type: "incomplete", Text: text.Lines(strings.Join(r.Incomplete, "\n"))}}}}
}

func (c *junitCounts) count(r *scenarios.Result) {
	c.Tests++
	c.ms += r.VirtualMS
	switch r.Verdict {
	case scenarios.Pass:
	case scenarios.Fail:
		c.Failures++
	case scenarios.Inconclusive:
		c.Errors++
	default:
		c.Skipped++
	}
}

func junitCaseOf(r *scenarios.Result, command string) junitCase {
	c := junitCase{
		Name:  fmt.Sprintf("%s under %s, seed %d", text.Line(r.Scenario), text.Line(r.Variant), r.Seed),
		Class: text.Line(r.Scenario), Time: seconds(r.VirtualMS), File: text.Line(r.File), Line: r.Line,
		Properties: []junitProperty{{"variant", text.Line(r.Variant)}, {"seed", strconv.FormatUint(r.Seed, 10)}, {"label", string(r.Label)},
			{"end_state", string(r.EndState)}, {"stop", text.Line(string(r.Stop))}},
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

func seconds(ms int64) string { return strconv.FormatFloat(float64(ms)/1000, 'f', 3, 64) }

// commands returns the command that repeats each trial that failed or could not be
// judged.
func (r *Report) commands() map[trialKey]string {
	all := map[trialKey]string{}
	for _, t := range r.Findings {
		all[trialKey{t.Scenario, t.Variant, t.Seed}] = t.Command
	}
	return all
}
