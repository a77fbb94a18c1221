package scenarios

import (
	"fmt"

	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/loop/audit"
)

// checkTrace adds a finding for every promise of the loop that the trace breaks,
// whatever the scenario expects. A history that chat APIs refuse has the rule history,
// every other violation the rule audit.
func (t *Trial) checkTrace(r *Result, trace loop.Trace) {
	s := t.script()
	for _, v := range audit.CheckAll(s.Setup(*t.config(), t.Seed), trace) {
		rule, message := "audit", v.Rule+": "+v.Message
		if v.Rule == "history" {
			rule, message = v.Rule, v.Message
		}
		r.compare(rule, fmt.Sprintf("line %d", v.Line), message, v.Want, v.Got)
	}
}
