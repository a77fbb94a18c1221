package reports

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/scenarios"
)

// KindServe is the kind of results files of serve: journals, which have no trials.
const KindServe = "serve"

// kindServed is the type of lines that sum up the requests to a served scenario.
const kindServed = "served"

// A Served is what a client did with a scenario that `agentbench serve` served it: a
// line of its results file. Lines of several files are added up.
type Served struct {
	Scenario string         `json:"scenario"`
	Requests int            `json:"requests"`
	Executed int            `json:"executed"` // of the script's tools
	Refused  int            `json:"refused"`  // requests and executions that the script has no answer for
	Problems int            `json:"problems"` // requests that break the protocol
	Faults   map[string]int `json:"faults,omitempty"`
	// NeverFired are the planned failures that never came: of healthy scenarios, and
	// those of --fault.
	NeverFired []string `json:"never_fired,omitempty"`
	Undeclared int      `json:"undeclared"` // requests that do not offer a tool which the reply calls
}

// AddServed adds a line of a journal.
func (f *Fold) AddServed(line Served) {
	at, found := slices.BinarySearchFunc(f.served, line.Scenario, func(s Served, name string) int { return cmp.Compare(s.Scenario, name) })
	if !found {
		f.served = slices.Insert(f.served, at, line)
		return
	}
	sum := &f.served[at]
	sum.Requests += line.Requests
	sum.Executed += line.Executed
	sum.Refused += line.Refused
	sum.Problems += line.Problems
	sum.Undeclared += line.Undeclared
	faults := maps.Clone(sum.Faults)
	for name, n := range line.Faults {
		if faults == nil {
			faults = map[string]int{}
		}
		faults[name] += n
	}
	sum.Faults = faults
	// What came in one of the journals has come.
	sum.NeverFired = slices.DeleteFunc(slices.Clone(sum.NeverFired), func(name string) bool { return !slices.Contains(line.NeverFired, name) })
}

// check returns what is wrong with a line of a journal, "" = nothing.
func (s *Served) check() string {
	least := min(s.Requests, s.Executed, s.Refused, s.Problems, s.Undeclared)
	for _, n := range s.Faults {
		least = min(least, n)
	}
	switch {
	case least < 0:
		return "a number of requests cannot be below 0"
	case s.Problems > s.Requests || s.Undeclared > s.Requests || s.Refused > s.Requests+s.Executed:
		return fmt.Sprintf("of %d requests %d cannot have problems, %d lack a tool and %d be refused", s.Requests, s.Problems, s.Undeclared, s.Refused)
	}
	return ""
}

// verdict is fail if the client broke the protocol, and inconclusive if a request could
// not be answered as the script says, or a planned failure never came.
func (s *Served) verdict() scenarios.Verdict {
	switch {
	case s.Problems > 0:
		return scenarios.Fail
	case s.Refused > 0 || s.Undeclared > 0 || len(s.NeverFired) > 0:
		return scenarios.Inconclusive
	}
	return scenarios.Pass
}

// words says what the verdict rests on.
func (s *Served) words() string {
	var parts []string
	add := func(n int, format string) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf(format, text.Count(n, "request")))
		}
	}
	add(s.Problems, "%s broke the protocol")
	add(s.Refused, "%s could not be answered")
	add(s.Undeclared, "%s did not offer a tool that the script calls")
	for _, name := range s.NeverFired {
		parts = append(parts, text.Line(name)+" never came")
	}
	return strings.Join(parts, "; ")
}

// found returns what keeps a served scenario from passing, as the findings of a trial, or
// nil if it passes. Each finding is of one kind, whatever the numbers.
func (s *Served) found() *TrialFindings {
	if s.verdict() == scenarios.Pass {
		return nil
	}
	t := &TrialFindings{Scenario: s.Scenario, Verdict: s.verdict(), served: true}
	add := func(rule string, one Served) {
		if words := one.words(); words != "" {
			t.Findings = append(t.Findings, scenarios.Finding{Rule: rule, Message: words})
		}
	}
	add("protocol", Served{Problems: s.Problems})
	add("not-answered", Served{Refused: s.Refused, Undeclared: s.Undeclared})
	add("not-fired", Served{NeverFired: s.NeverFired})
	return t
}

// exported returns the findings of all trials, and behind them those of served scenarios.
func (r *Report) exported() []*TrialFindings {
	var all []*TrialFindings
	for i := range r.Findings {
		all = append(all, &r.Findings[i])
	}
	for i := range r.Served {
		if t := r.Served[i].found(); t != nil {
			all = append(all, t)
		}
	}
	return all
}

// fired returns how many planned failures came.
func (s *Served) fired() (n int) {
	for _, k := range s.Faults {
		n += k
	}
	return n
}

// servedTable returns a table with a row for each served scenario.
func (r *Report) servedTable() section {
	s := section{title: "What clients of serve did", left: 3, head: []string{"scenario", "verdict", "why", "requests", "executions", "faults fired"}}
	for i := range r.Served {
		one := &r.Served[i]
		s.rows = append(s.rows, []string{text.Line(one.Scenario), string(one.verdict()), cmp.Or(one.words(), none), text.Number(one.Requests), text.Number(one.Executed), text.Number(one.fired())})
	}
	return s
}

// served returns the rules on journals of serve.
func (j *judge) served() []Rule {
	protocol := Rule{Name: "protocol", Wanted: "none", See: j.more()}
	answered := Rule{Name: "requests answered", Wanted: "all requests, with tools that the client offers", See: j.more()}
	fired := Rule{Name: "faults fired", Wanted: "all planned failures", See: j.more()}
	if len(j.now.served) == 0 && j.now.Kind() != KindServe {
		for _, r := range []*Rule{&protocol, &answered, &fired} {
			r.Verdict, r.Measured, r.Wanted, r.See = scenarios.Unjudged, "there is no journal of agentbench serve", "", ""
		}
		return []Rule{protocol, answered, fired}
	}
	var sum Served
	var broke, dry, never []string
	for i := range j.now.served {
		s := &j.now.served[i]
		sum.Requests += s.Requests
		sum.Executed += s.Executed
		sum.Problems += s.Problems
		sum.Refused += s.Refused
		sum.Undeclared += s.Undeclared
		sum.Faults = map[string]int{"": sum.fired() + s.fired()}
		if s.Problems > 0 {
			broke = append(broke, s.Scenario)
		}
		if s.Refused+s.Undeclared > 0 {
			dry = append(dry, s.Scenario)
		}
		for _, name := range s.NeverFired {
			never = append(never, name+" of "+s.Scenario)
		}
	}
	of := func(words string, names []string) string {
		if len(names) > 0 {
			words += ": " + someOf(names)
		}
		return words
	}
	protocol.Verdict = verdictIf(sum.Problems == 0, scenarios.Fail)
	protocol.Measured = of(fmt.Sprintf("%s of %s broke it", text.Number(sum.Problems), text.Count(sum.Requests, "request")), broke)
	answered.Verdict = verdictIf(sum.Requests > 0 && sum.Refused+sum.Undeclared == 0, scenarios.Inconclusive)
	answered.Measured = of(fmt.Sprintf("%s and %s: %s refused, %s with a call of a tool that was not offered", text.Count(sum.Requests, "request"),
		text.Count(sum.Executed, "execution"), text.Number(sum.Refused), text.Number(sum.Undeclared)), dry)
	fired.Verdict = verdictIf(len(never) == 0, scenarios.Inconclusive)
	fired.Measured = of(fmt.Sprintf("%s came, %s never did", text.Number(sum.fired()), text.Number(len(never))), never)
	return []Rule{protocol, answered, fired}
}
