package reports

import "github.com/agentbench-go/agentbench/scenarios"

// A Gate is one verdict over some results, and the rules that it comes from.
type Gate struct {
	Verdict scenarios.Verdict `json:"verdict"` // pass, fail or inconclusive
	Rules   []Rule            `json:"rules"`
}

// A Rule is one thing that a gate looked at.
type Rule struct {
	Name     string            `json:"name"`
	Verdict  scenarios.Verdict `json:"verdict"`  // unjudged: there was nothing to look at, which does not count
	Measured string            `json:"measured"` // what was found
	Wanted   string            `json:"wanted"`   // and against what
	Warning  bool              `json:"warning"`  // passed, but a reader should look
	See      string            `json:"see"`      // what to run to see more
}

// words is the rule's verdict as a reader sees it.
func (r *Rule) words() string {
	switch {
	case r.Verdict == scenarios.Unjudged:
		return "not measured"
	case r.Warning && r.Verdict == scenarios.Pass:
		return "warning"
	}
	return string(r.Verdict)
}
