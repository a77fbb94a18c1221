package scenarios

import (
	"strings"
	"testing"

	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/loop/detect"
)

// A loop that breaks a promise fails, whatever was expected of it: here one
// that goes on after the turn limit.
func TestBrokenPromise(t *testing.T) {
	s := answering("a", false)
	s.Script.Task = "t"
	s.Config.Limits.Turns = 1
	trace, err := loop.ParseTrace(`   0.000s started text=t
          > ask m1#1 for=reply to=1
   1.000s reply m1 call=a:x("{}") finish=tool_calls
          > put c1 code=NotFound why=unknown text=no
          > ask m2#1 for=reply to=3
`)
	if err != nil {
		t.Fatal(err)
	}
	r := &Result{}
	trial := Trial{Scenario: s, Variant: s.Variant}
	if got := trial.judge(r, read(trace), trace, loop.ErrDry); got != Fail || !strings.Contains(rules(r), "audit: turn-limit: ") {
		t.Errorf("%s: %s", got, rules(r))
	}
	if at := r.Findings[0].At; at != "line 5" {
		t.Errorf("it is said of %q", at)
	}
}

func TestKnownToAudit(t *testing.T) {
	tests := []struct {
		name string
		cfg  func(*loop.Config)
		tool loop.ToolSpec
		want bool
	}{
		{"the default", func(*loop.Config) {}, loop.ToolSpec{Name: "a", Permission: loop.AskCall, Idempotent: true, Input: "{}"}, true},
		{"compaction", func(c *loop.Config) { c.History.CompactAt = 9 }, loop.ToolSpec{}, false},
		{"compaction by tokens", func(c *loop.Config) { c.History.CompactTokens = 9 }, loop.ToolSpec{}, false},
		{"contracts of arguments", func(c *loop.Config) { c.Contracts.Input = true }, loop.ToolSpec{}, false},
		{"contracts of results", func(c *loop.Config) { c.Contracts.Output = true }, loop.ToolSpec{}, false},
		{"a payload cap", func(c *loop.Config) { c.Contracts.MaxPayloadBytes = 9 }, loop.ToolSpec{}, false},
		{"the table", func(c *loop.Config) { c.Policy.OnFailure = loop.FailureTable }, loop.ToolSpec{}, false},
		{"the model decides", func(c *loop.Config) { c.Policy.OnFailure = loop.FailureModel }, loop.ToolSpec{}, true},
		{"fallbacks", func(c *loop.Config) { c.Policy.Fallbacks = true }, loop.ToolSpec{}, false},
		{"asking for what is missing", func(c *loop.Config) { c.Policy.AskMissing = true }, loop.ToolSpec{}, false},
		{"depth", func(c *loop.Config) { c.Limits.Depth = 1 }, loop.ToolSpec{}, false},
		{"spawns", func(c *loop.Config) { c.Limits.Spawns = 1 }, loop.ToolSpec{}, false},
		{"a detector of replies", func(c *loop.Config) { c.Detectors[0].Record = detect.PerReply }, loop.ToolSpec{}, false},
		{"a tool's own timeout", func(*loop.Config) {}, loop.ToolSpec{Timeout: 1}, false},
		{"a tool's own breaker", func(*loop.Config) {}, loop.ToolSpec{Breaker: loop.ToolBreaker{Failures: 1}}, false},
	}
	for _, tt := range tests {
		cfg := loop.Default()
		tt.cfg(&cfg)
		if got := knownToAudit(&cfg, []loop.ToolSpec{tt.tool}); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}

// The history of a trace that is too long for the audit is checked.
func TestLongTraceHistory(t *testing.T) {
	trace := loop.Trace{{In: loop.Input{Kind: loop.Started, Text: "t"}}}
	for range maxAudited {
		trace = append(trace, loop.Record{In: loop.Input{Kind: loop.Tick}})
	}
	trace = append(trace, loop.Record{In: loop.Input{Kind: loop.Tick},
		Effects: []loop.Effect{{Kind: loop.AskModel, Ref: loop.Ref{Kind: loop.RefModel, N: 1, Try: 1}, For: loop.ForReply, To: 9}}})
	s := answering("a", false)
	r, trial := &Result{}, Trial{Scenario: s, Variant: s.Variant}
	trial.checkTrace(r, trace)
	if rules(r) != "history: the history does not have the messages that the loop asks with" {
		t.Errorf("got %s", rules(r))
	}
}
