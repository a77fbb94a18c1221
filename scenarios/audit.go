package scenarios

import (
	"fmt"

	"github.com/agentbench-go/agentbench/loop"
)

// maxAudited is the length up to which a trace is audited, in records. The
// audit is plain before it is fast: its time grows with the square of a trace,
// so that the thousand turns of a run that nothing stops would take it longer
// than all other trials together. Their history is checked all the same.
const maxAudited = 500

// checkTrace adds what no loop may do, whatever the scenario: a history that
// chat APIs do not take, and every promise that the trace breaks.
func (t *Trial) checkTrace(r *Result, trace loop.Trace) {
	r.Findings = append(r.Findings, checkHistory(trace, t.Scenario.Script.Planner)...)
	if len(trace) > maxAudited {
		return
	}
	s := &t.Scenario.Script
	for _, v := range loop.Audit(*t.config(), s.LoopTask(t.Seed), s.Specs(), trace) {
		if v.Rule != "history" { // which checkHistory has looked at
			r.compare("audit", fmt.Sprintf("line %d", v.Line), v.Rule+": "+v.Message, v.Want, v.Got)
		}
	}
}
