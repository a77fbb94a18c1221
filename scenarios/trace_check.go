package scenarios

import "github.com/agentbench-go/agentbench/loop"

// checkTrace adds what no loop may do, whatever the scenario.
func (t *Trial) checkTrace(r *Result, trace loop.Trace) {
	r.Findings = append(r.Findings, checkHistory(trace)...)
}
