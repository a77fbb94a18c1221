package fuzz

import (
	"fmt"

	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/scenarios"
)

// ending gives how the last run of a case ends, "" where it does not, and the
// label that goes with it.
func (c *Case) ending() (loop.EndState, scenarios.Label) {
	p := safely(c)
	if p == nil || len(p.outcomes) == 0 {
		return "", scenarios.Runaway
	}
	end := p.outcomes[len(p.outcomes)-1].End
	if end == loop.Done || end == loop.ClarifyNeeded {
		return end, scenarios.Healthy
	}
	return end, scenarios.Runaway
}

// Trace plays a case and gives the trace; nil if that panics.
func (c *Case) Trace() loop.Trace {
	if p := safely(c); p != nil {
		return p.trace
	}
	return nil
}

// safely plays a case; nil if that panics.
func safely(c *Case) (p *play) {
	defer func() {
		if recover() != nil {
			p = nil
		}
	}()
	return played(c)
}

// Unsaid lists what of a case the scenario language has no words for: a scenario
// of it may go otherwise.
func (c *Case) Unsaid() []string {
	var out []string
	say := func(is bool, what string) {
		if is {
			out = append(out, what)
		}
	}
	say(c.Hooks != (loop.Hooks{}), "hooks")
	say(c.Depth > 0, "the depth of a sub-run")
	say(len(c.Answers) > 0, "answers to hooks")
	say(len(c.Strays) > 0, "inputs that nobody asked for")
	say(c.Seed != 1 && c.random(), fmt.Sprintf("the seed (run it with --seed %d)", c.Seed))
	return out
}

// random reports whether another seed may give another trace.
func (c *Case) random() bool {
	jitters := func(b loop.Backoff) bool { return b == loop.FullJitter || b == loop.DecorrelatedJitter }
	return c.Script.Random() || jitters(c.Config.Retry.Backoff) || jitters(c.Config.ModelRetry.Backoff)
}

// YAML writes a scenario of a case, for a file that `agentbench run` takes as it
// is: see [scenarios.Scenario.YAML]. Its expectation is what came of the case:
// that is no more than what happened. comment stands at its head.
func (c *Case) YAML(name, description, comment string) []byte {
	end, label := c.ending()
	s := scenarios.Scenario{Name: name, Description: description, Label: label, Config: c.Config, Script: *c.Script,
		Expect: scenarios.Expect{EndState: end}}
	return s.YAML(comment)
}

// Settings lists the settings of the config that differ from those of the preset
// none, as a variant's file says them: limits.turns: 5.
func (c *Case) Settings() []string { return scenarios.Settings(c.Config) }
