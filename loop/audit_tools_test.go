package loop

import (
	"slices"
	"testing"
	"time"
)

// toolTrace plays turns of one call each, a turn every four seconds: the reply
// comes two seconds after it was asked for, and each try ends at once. answers
// says what the tries of a tool get, one after another, the last again and again.
func toolTrace(t *testing.T, cfg Config, tools []ToolSpec, args []string, answers map[string][]Input) Trace {
	t.Helper()
	m, err := New(cfg, Task{Text: "go"}, tools)
	if err != nil {
		t.Fatal(err)
	}
	var trace Trace
	tried := map[string]int{}
	var step func(in Input)
	step = func(in Input) {
		effects := slices.Clone(m.Step(in))
		trace.Append(in, effects)
		for _, e := range effects {
			if e.Kind == CallTool {
				all := answers[e.Name]
				result := all[min(tried[e.Name], len(all)-1)]
				tried[e.Name]++
				result.At, result.Kind, result.Ref = in.At, ToolResult, e.Ref
				step(result)
			}
		}
	}
	step(m.Begin())
	for i, text := range args {
		at := time.Duration(4*i+2) * time.Second
		step(Input{At: at, Kind: ModelReply, Ref: Ref{RefModel, i + 1, 1}, Calls: []AskedCall{{Name: tools[0].Name, Args: text}}})
	}
	return trace
}

// TestAuditTools: what a tool refuses for its breaker, its rate or its pages,
// and where its fallback stands in for it. The trace of the loop is right, and
// wrong by the same rule where the tool had said something else.
func TestAuditTools(t *testing.T) {
	fails, works := Input{Code: ToolBug}, Input{Text: "fine"}
	other := ToolSpec{Name: "other"}
	pages := Off()
	pages.Contracts.PageLimit = 2
	fallbacks := Off()
	fallbacks.Policy.Fallbacks = true
	four := []string{`{"n":1}`, `{"n":2}`, `{"n":3}`, `{"n":4}`}
	for name, c := range map[string]struct {
		cfg     Config
		spec    ToolSpec
		change  func(*Config, *ToolSpec)
		args    []string
		answers []Input
		whys    []Why // of the calls: Executed or Refused
	}{
		// Disabled by the failure at 2 s for six seconds: until 8 s the call at 6 s is
		// refused; that at 10 s is let through and fails too, so that that at 14 s is
		// refused.
		"breaker": {Off(), ToolSpec{Name: "tool", Breaker: ToolBreaker{Failures: 1, Cooldown: 6 * time.Second}},
			func(_ *Config, s *ToolSpec) { s.Breaker.Cooldown = 9 * time.Second }, four, []Input{fails}, []Why{Executed, Refused, Executed, Refused}},
		// Text that begins like an error counts as one.
		"breaker by text": {Off(), ToolSpec{Name: "tool", Breaker: ToolBreaker{Failures: 1, Cooldown: time.Minute}},
			func(_ *Config, s *ToolSpec) { s.Breaker.Failures = 2 }, four[:2], []Input{{Text: "Error: no"}}, []Why{Executed, Refused}},
		// Two calls in any nine seconds: those at 2 s and 6 s; at 10 s both lie within,
		// at 14 s one.
		"rate": {Off(), ToolSpec{Name: "tool", Rate: Rate{Calls: 2, Per: 9 * time.Second}},
			func(_ *Config, s *ToolSpec) { s.Rate.Per = 7 * time.Second }, four, []Input{works}, []Why{Executed, Executed, Refused, Executed}},
		// The first answer offers page 2, that one page 3, which is one too many.
		"pages": {pages, ToolSpec{Name: "tool"}, func(c *Config, _ *ToolSpec) { c.Contracts.PageLimit = 3 },
			[]string{"{}", `{"page":"p2"}`, `{"cursor":3}`}, []Input{{Text: `{"next_page":"p2"}`}, {Text: `{"nextToken":3}`}}, []Why{Executed, Executed, Refused}},
		// The first call fails over to the fallback; while the tool is disabled the
		// fallback stands in for it.
		"fallback": {fallbacks, ToolSpec{Name: "tool", Fallback: "other", Breaker: ToolBreaker{Failures: 1, Cooldown: 6 * time.Second}},
			func(_ *Config, s *ToolSpec) { s.Breaker.Failures = 2 }, four, []Input{fails}, []Why{Executed, Executed, Executed, Executed}},
	} {
		tools := []ToolSpec{c.spec, other}
		trace := toolTrace(t, c.cfg, tools, c.args, map[string][]Input{"tool": c.answers, "other": {works}})
		var whys []Why
		for _, r := range trace {
			for _, e := range r.Effects {
				if e.Kind == Put && e.Ref.Kind == RefCall {
					whys = append(whys, e.Why)
				}
			}
		}
		if !slices.Equal(whys, c.whys) {
			t.Errorf("%s: the calls end as %q, want %q\n%s", name, whys, c.whys, trace)
		}
		for _, v := range Audit(c.cfg, Task{Text: "go"}, tools, trace) {
			t.Errorf("%s: %v\n%s", name, v, trace)
		}
		c.change(&c.cfg, &tools[0])
		if Audit(c.cfg, Task{Text: "go"}, tools, trace) == nil {
			t.Errorf("%s: nothing is found in the trace of a tool that said something else\n%s", name, trace)
		}
	}
}

// TestAuditPolicyTable: under the policy table a NotFound is for the model to
// read, also where retry.codes lists it: it is not tried again, as another code
// would be.
func TestAuditPolicyTable(t *testing.T) {
	cfg := Off()
	cfg.Policy.OnFailure, cfg.Retry.Max, cfg.Retry.Codes = FailureTable, 1, []Code{NotFound}
	tools := []ToolSpec{{Name: "tool"}}
	trace := toolTrace(t, cfg, tools, []string{"{}", "{}"}, map[string][]Input{"tool": {{Code: NotFound}}})
	for _, v := range Audit(cfg, Task{Text: "go"}, tools, trace) {
		t.Errorf("%v\n%s", v, trace)
	}
	cfg.Policy.OnFailure = FailureModel
	if Audit(cfg, Task{Text: "go"}, tools, trace) == nil {
		t.Errorf("nothing is found where the model decides and the try is not made again\n%s", trace)
	}
}

// TestAuditFallbackThatDoesNotHelp: a call that failed for its arguments does not
// fall back, so that the try limit keeps nothing from being made and the run goes
// on; one that failed for its tool does, and the run is stopped.
func TestAuditFallbackThatDoesNotHelp(t *testing.T) {
	cfg := Off()
	cfg.Policy.Fallbacks, cfg.Limits.Tries = true, 1
	tools := []ToolSpec{{Name: "tool", Fallback: "other"}, {Name: "other"}}
	for _, c := range []struct {
		on       OnFailure
		code     Code
		requests int // 1 where the run is stopped
	}{
		{FailureModel, InvalidInput, 2}, {FailureModel, NotFound, 1}, {FailureModel, Unauthorized, 1},
		{FailureTable, NotFound, 1}, {FailureTable, ToolBug, 1},
	} {
		cfg.Policy.OnFailure = c.on
		trace := toolTrace(t, cfg, tools, []string{"{}"}, map[string][]Input{"tool": {{Code: c.code}}, "other": {{}}})
		requests := 0
		for _, r := range trace {
			for _, e := range r.Effects {
				if e.Kind == AskModel {
					requests++
				}
			}
		}
		if requests != c.requests {
			t.Errorf("%s, %s: %d requests, want %d\n%s", c.on, c.code, requests, c.requests, trace)
		}
		for _, v := range Audit(cfg, Task{Text: "go"}, tools, trace) {
			t.Errorf("%s, %s: %v\n%s", c.on, c.code, v, trace)
		}
	}
}

// TestAuditTriesSpentBeforeTheDeadline: a call that finds no try left has its
// result at once, also where the deadline comes while the last word is asked
// for. The tries are spent at 6 s, the call is asked for at 10 s with one that is
// above limits.calls, and the deadline is at 12 s.
func TestAuditTriesSpentBeforeTheDeadline(t *testing.T) {
	cfg := Off()
	cfg.Limits = Limits{Calls: 3, Tries: 2, AtLimit: LimitFinal}
	cfg.Time.Run = 12 * time.Second
	tools := []ToolSpec{{Name: "tool"}}
	m, err := New(cfg, Task{Text: "go"}, tools)
	if err != nil {
		t.Fatal(err)
	}
	one, two := []AskedCall{{Name: "tool"}}, []AskedCall{{Name: "tool"}, {Name: "tool"}}
	var trace Trace
	for _, in := range []Input{
		m.Begin(),
		{At: 2 * time.Second, Kind: ModelReply, Ref: Ref{RefModel, 1, 1}, Calls: one},
		{At: 2 * time.Second, Kind: ToolResult, Ref: Ref{RefCall, 1, 1}},
		{At: 6 * time.Second, Kind: ModelReply, Ref: Ref{RefModel, 2, 1}, Calls: one},
		{At: 6 * time.Second, Kind: ToolResult, Ref: Ref{RefCall, 2, 1}},
		{At: 10 * time.Second, Kind: ModelReply, Ref: Ref{RefModel, 3, 1}, Calls: two},
		{At: 12 * time.Second, Kind: Tick},
	} {
		trace.Append(in, m.Step(in))
	}
	if out := m.Outcome(); !m.Halted() || out.Stop != StopCallLimit {
		t.Errorf("the run ends as %+v, want the call limit\n%s", out, trace)
	}
	for _, v := range Audit(cfg, Task{Text: "go"}, tools, trace) {
		t.Errorf("%v\n%s", v, trace)
	}
}

// TestDenialHoldsForTheFallback: a denial for a batch holds for every call of the
// tool that the model asked for, also for one in whose stead the tool's fallback
// would be called. The tool's rate allows one call, so that the fallback stands
// in for the second.
func TestDenialHoldsForTheFallback(t *testing.T) {
	cfg := Off()
	cfg.Policy.Fallbacks = true
	tools := []ToolSpec{{Name: "tool", Permission: AskBatch, Fallback: "other", Rate: Rate{Calls: 1, Per: time.Minute}}, {Name: "other"}}
	for _, allow := range []bool{false, true} {
		m, err := New(cfg, Task{Text: "go"}, tools)
		if err != nil {
			t.Fatal(err)
		}
		var trace Trace
		for _, in := range []Input{
			m.Begin(),
			{At: time.Second, Kind: ModelReply, Ref: Ref{RefModel, 1, 1}, Calls: []AskedCall{{Name: "tool"}, {Name: "tool"}}},
			{At: 2 * time.Second, Kind: GateAnswer, Ref: Ref{Kind: RefGate, N: 1}, Allow: allow},
		} {
			trace.Append(in, m.Step(in))
		}
		var called []string
		for _, e := range trace[2].Effects {
			if e.Kind == CallTool {
				called = append(called, e.Name)
			}
		}
		var want []string
		if allow {
			want = []string{"tool", "other"}
		}
		if !slices.Equal(called, want) {
			t.Errorf("allowed %v: %q are called, want %q\n%s", allow, called, want, trace)
		}
		for _, v := range Audit(cfg, Task{Text: "go"}, tools, trace) {
			t.Errorf("%v\n%s", v, trace)
		}
	}
}
