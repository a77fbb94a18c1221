// Package telemetry tells traces to observability tools: as the specification's
// events in JSON Lines ([Events]), and as OpenTelemetry GenAI spans
// ([Exporter]). Both are folds over a trace, made after the run; nothing leaves
// the machine unless an endpoint is named.
package telemetry

import (
	"regexp"
	"time"

	"github.com/agentbench-go/agentbench/loop"
)

// Redact takes out of a text what looks like a key, a token or an e-mail
// address. It errs on the side of taking out too much.
func Redact(text string) string {
	for _, r := range secrets {
		text = r.ReplaceAllString(text, "[redacted]")
	}
	return text
}

var secrets = []*regexp.Regexp{
	regexp.MustCompile(`(?i)\bbearer\s+[a-z0-9._~+/-]{8,}=*`),
	regexp.MustCompile(`\b(?:sk|pk|rk|ghp|gho|ghs|xox[abp]|AKIA|AIza)[-_]?[A-Za-z0-9_-]{12,}`),
	regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*`),
	regexp.MustCompile(`(?i)"?(?:api[_-]?key|password|passwd|secret|token)"?\s*[:=]\s*"?[^\s",}]{6,}"?`),
	regexp.MustCompile(`[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+\.[A-Za-z]{2,}`),
}

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
