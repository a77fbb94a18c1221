// Package telemetry exports traces to observability tools: as the specification's
// events in JSON Lines ([Events]), and as OpenTelemetry GenAI spans
// ([Exporter]). Both are folds over a trace, made after the run; nothing leaves
// the machine unless an endpoint is named, and spans are redacted.
package telemetry

import (
	"time"

	"github.com/agentbench-go/agentbench/loop"
)

// A callTime is the name and the time of a call.
type callTime struct {
	name, args string
	start, end time.Duration // end is 0 until a try has ended
	tries      int
}

// A clock folds the times of a trace's calls, by number.
type clock map[int]*callTime

func (c clock) read(r *loop.Record) {
	if t := c[r.In.Ref.N]; t != nil && r.In.Kind == loop.ToolResult {
		t.end = r.In.At
	}
	for i := range r.Effects {
		e := &r.Effects[i]
		if e.Kind != loop.CallTool {
			continue
		}
		t := c[e.Ref.N]
		if t == nil {
			t = &callTime{start: r.In.At}
			c[e.Ref.N] = t
		}
		t.name, t.args, t.tries = e.Name, e.Args, e.Ref.Try
	}
}
