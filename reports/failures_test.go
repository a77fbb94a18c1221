package reports

import (
	"strings"
	"testing"

	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/scenarios"
)

const trace = `   0.000s started text=go
          > ask m1#1 for=reply to=1
   1.000s reply m1 text=one finish=stop
          > ask m2#1 for=reply to=3
   2.000s reply m2 text=two finish=stop
          > note event=ignored
          > halt stop=done
   9.000s result c1#1 ok text=late
          > note c1#1 event=ignored
`

func failures(f *Failures, results ...*scenarios.Result) *Failures {
	f.Repeat = func(r *scenarios.Result) string { return "agentbench explain " + r.Scenario }
	for _, r := range results {
		f.Add(r)
	}
	return f
}

func TestFailureBlock(t *testing.T) {
	r := &scenarios.Result{Scenario: "loops/a", Variant: "hpd-agent", Seed: 3, Verdict: scenarios.Fail, Trace: trace,
		Findings: []scenarios.Finding{
			{Rule: "end-state", Message: "the run ended otherwise", Want: "LOOP_DETECTED", Got: "DONE", At: "2.000s"},
			{Rule: "stop", Message: "no rule stopped it"}}}
	passed := &scenarios.Result{Scenario: "loops/b", Verdict: scenarios.Pass}
	f := failures(&Failures{}, r, passed)
	compare(t, written(t, func(b *strings.Builder) error { return f.Write(b, false) }), `
FAIL loops/a under hpd-agent, seed 3
  the run ended otherwise (want LOOP_DETECTED, got DONE) at 2.000s
  no rule stopped it
  | …
  |           > ask m1#1 for=reply to=1
  |    1.000s reply m1 text=one finish=stop
  |           > ask m2#1 for=reply to=3
  |    2.000s reply m2 text=two finish=stop
  |           > note event=ignored
  |           > halt stop=done
  repeat: agentbench explain loops/a
`)
}

func TestFailureWithoutHaltShowsTheEndOfTheTrace(t *testing.T) {
	r := &scenarios.Result{Scenario: "loops/a", Variant: "v", Seed: 1, Verdict: scenarios.Inconclusive,
		Trace: "   0.000s started text=go\n          > ask m1#1 for=reply to=1\n"}
	f := failures(&Failures{}, r)
	compare(t, written(t, func(b *strings.Builder) error { return f.Write(b, false) }), `
INCONCLUSIVE loops/a under v, seed 1
  ended without a stop
  |    0.000s started text=go
  |           > ask m1#1 for=reply to=1
  repeat: agentbench explain loops/a
`)
}

func TestFailuresBeyondMaxAreCounted(t *testing.T) {
	bad := &scenarios.Result{Scenario: "loops/a", Variant: "v", Verdict: scenarios.Fail, EndState: loop.Done, Stop: loop.StopDone}
	f := failures(&Failures{Max: 1, Hint: "ask for all"}, bad, bad, bad)
	got := written(t, func(b *strings.Builder) error { return f.Write(b, false) })
	if n := strings.Count(got, "FAIL "); n != 1 {
		t.Errorf("want 1 block, got %d:\n%s", n, got)
	}
	if !strings.HasSuffix(got, "\n2 more failures not shown: ask for all\n") {
		t.Errorf("want the other 2 counted:\n%s", got)
	}
}

func TestFailuresShowNothingForeignRaw(t *testing.T) {
	evil := "\x1b]0;owned\a\u202e\r\n"
	r := &scenarios.Result{Scenario: evil, Variant: evil, Verdict: scenarios.Fail, Trace: evil + "> halt " + evil,
		Findings: []scenarios.Finding{{Message: evil + strings.Repeat("x", 10000), Want: evil, Got: evil, At: evil}}}
	got := written(t, func(b *strings.Builder) error { return failures(&Failures{}, r).Write(b, false) })
	if strings.ContainsAny(got, "\x1b\a\r\u202e") {
		t.Errorf("a control character reached the terminal: %q", got)
	}
	for line := range strings.Lines(got) {
		if len(line) > 600 {
			t.Errorf("a line of %d bytes", len(line))
		}
	}
}

func TestEnding(t *testing.T) {
	for _, c := range []struct {
		end  loop.EndState
		stop loop.Stop
		want string
	}{
		{loop.LoopDetected, "circuit-breaker", "LOOP_DETECTED (circuit-breaker)"},
		{loop.Done, loop.StopDone, "DONE"},
		{loop.Ceiling, loop.StopCeiling, "CEILING"},
		{"", "", "without a stop"},
	} {
		if got := Ending(&scenarios.Result{EndState: c.end, Stop: c.stop}); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}
