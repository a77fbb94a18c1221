package scenarios

import (
	"fmt"

	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/loop/detect"
)

// maxAudited is the length up to which a trace is audited, in records. The
// audit is plain before it is fast: its time grows with the square of a trace,
// so that the thousand turns of a run that nothing stops would take it longer
// than all other trials together. Their history is checked all the same.
const maxAudited = 500

// knownToAudit reports whether the audit knows all that a config and its tools can
// make the loop do. It knows nothing of compaction, contracts, the policy table,
// sub-runs, detectors of replies without calls, and what a tool says of its own
// tries.
func knownToAudit(cfg *loop.Config, tools []loop.ToolSpec) bool {
	for i := range cfg.Detectors {
		if cfg.Detectors[i].Record == detect.PerReply {
			return false
		}
	}
	for i := range tools {
		known := loop.ToolSpec{Name: tools[i].Name, Description: tools[i].Description, Version: tools[i].Version,
			Input: tools[i].Input, Output: tools[i].Output, Permission: tools[i].Permission, Idempotent: tools[i].Idempotent}
		if tools[i] != known {
			return false
		}
	}
	c, p := &cfg.Contracts, &cfg.Policy
	return cfg.History.CompactAt == 0 && cfg.History.CompactTokens == 0 && cfg.Limits.Depth == 0 && cfg.Limits.Spawns == 0 &&
		!c.Input && !c.Output && c.MaxPayloadBytes == 0 && p.OnFailure != loop.FailureTable && !p.Fallbacks && !p.AskMissing
}

// checkTrace adds what no loop may do, whatever the scenario: a history that
// chat APIs do not take, and every promise that the trace breaks.
func (t *Trial) checkTrace(r *Result, trace loop.Trace) {
	r.Findings = append(r.Findings, checkHistory(trace)...)
	s, cfg := &t.Scenario.Script, t.config()
	tools := s.Specs()
	if len(trace) > maxAudited || !knownToAudit(cfg, tools) {
		return
	}
	for _, v := range loop.Audit(*cfg, loop.Task{Text: s.Task, Seed: t.Seed}, tools, trace) {
		if v.Rule != "history" { // which checkHistory has looked at
			r.compare("audit", fmt.Sprintf("line %d", v.Line), v.Rule+": "+v.Message, v.Want, v.Got)
		}
	}
}
