// Package telemetry exports traces to observability tools: as the specification's
// events in JSON Lines ([Events]), and as OpenTelemetry GenAI spans ([Exporter]).
// Both read a trace after its run. Nothing leaves the machine unless the user names
// an endpoint, and spans are redacted.
package telemetry

import (
	"time"

	"github.com/agentbench-go/agentbench/loop"
)

// A callTime is the name, the arguments and the times of a call.
type callTime struct {
	name, args string
	start, end time.Duration // end is 0 until a try has ended
	tries      int
}

// A clock collects the times of a trace's calls, by their numbers.
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
