package serve

import (
	"slices"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/loop"
)

// Planned is a failure of the model that every run meets which goes as far as the
// script: one of a step without a condition, or a fault at the number of a request.
type Planned struct {
	Step    string // such as model[0]; "" = it is a fault
	Request int    // the number of the request; 0 = it is a step's
	Words   string // such as: the failure of model[0]
}

// PlannedFailures returns the planned failures of a script.
func PlannedFailures(script *fakes.Script) []Planned {
	var all []Planned
	for i := range script.Model {
		if step := &script.Model[i]; len(step.Failures) > 0 && step.When == fakes.WhenAlways {
			all = append(all, Planned{Step: stepName(i), Words: "the failure of " + stepName(i)})
		}
	}
	for _, f := range script.Faults {
		if f.At == loop.RefModel && f.N > 0 {
			all = append(all, Planned{Request: f.N, Words: "the fault " + f.String()})
		}
	}
	return all
}

// Is reports whether the failure fired, given the step and the number of a request
// that met a failure.
func (p Planned) Is(step string, request int) bool {
	return p.Step == step && p.Step != "" || p.Request == request && p.Request > 0
}

// A sceneTally counts the requests to a scenario.
type sceneTally struct {
	Tally
	left []Planned // that have not fired
}

func (t *sceneTally) add(e *Entry) {
	t.Tally.add(e)
	if e.Fault != "" && !e.Aside {
		t.left = slices.DeleteFunc(t.left, func(p Planned) bool { return p.Is(e.Step, e.Request) })
	}
}

// tally returns a copy of the numbers.
func (t *sceneTally) tally() *Tally {
	c := t.clone()
	for _, p := range t.left {
		c.NeverFired = append(c.NeverFired, p.Words)
	}
	return &c
}
