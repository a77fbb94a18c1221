package fuzz

import (
	"fmt"
	"slices"

	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/scenarios"
)

// ending returns the end state of a case's last run, "" if it does not end, and the
// label that fits it.
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

// Trace plays a case and returns its trace, or nil if that panics.
func (c *Case) Trace() loop.Trace {
	if p := safely(c); p != nil {
		return p.trace
	}
	return nil
}

// safely plays a case, and returns nil if that panics.
func safely(c *Case) (p *play) {
	defer func() {
		if recover() != nil {
			p = nil
		}
	}()
	return played(c)
}

// Unsaid lists the parts of a case that a scenario cannot express. With such parts,
// the scenario may play differently.
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
	say(c.random(), fmt.Sprintf("what it draws (agentbench fuzz FILE --seed %d draws it again; run draws by the scenario's name)", c.Seed))
	return out
}

// random reports whether another seed may give another trace.
func (c *Case) random() bool {
	jitters := func(b loop.Backoff) bool { return b == loop.FullJitter || b == loop.DecorrelatedJitter }
	return c.Script.Random() || jitters(c.Config.Retry.Backoff) || jitters(c.Config.ModelRetry.Backoff)
}

// YAML returns the case as a scenario file that `agentbench run` can run: see
// [scenarios.Scenario.YAML]. The scenario expects the end state that the case has,
// right or wrong. The file begins with the comment.
func (c *Case) YAML(name, description, comment string) []byte {
	end, label := c.ending()
	script := *c.Script
	script.Model = slices.Clone(script.Model)
	for i := range script.Model { // a loop without the bug may end sooner
		script.Model[i].Optional = label == scenarios.Healthy
	}
	s := scenarios.Scenario{Name: name, Description: description, Label: label, Config: c.Config, Script: script,
		Expect: scenarios.Expect{EndState: end}}
	return s.YAML(comment)
}

// Settings lists the settings of the config that differ from the preset none, in the
// form of a variant's file: limits.turns: 5.
func (c *Case) Settings() []string { return scenarios.Settings(c.Config) }
