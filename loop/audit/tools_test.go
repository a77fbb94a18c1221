package audit

import (
	"slices"
	"testing"
	"time"

	"github.com/agentbench-go/agentbench/loop"
)

// toolTrace plays turns of one call each, a turn every four seconds: the reply
// comes two seconds after it was asked for, and each try ends at once. answers
// says what the tries of a tool get, one after another, the last again and again.
func toolTrace(t *testing.T, cfg loop.Config, tools []loop.ToolSpec, args []string, answers map[string][]loop.Input) loop.Trace {
	t.Helper()
	m, err := loop.New(cfg, loop.Task{Text: "go"}, tools)
	if err != nil {
		t.Fatal(err)
	}
	var trace loop.Trace
	tried := map[string]int{}
	var step func(in loop.Input)
	step = func(in loop.Input) {
		effects := slices.Clone(m.Step(in))
		trace.Append(in, effects)
		for _, e := range effects {
			if e.Kind == loop.CallTool {
				all := answers[e.Name]
				result := all[min(tried[e.Name], len(all)-1)]
				tried[e.Name]++
				result.At, result.Kind, result.Ref = in.At, loop.ToolResult, e.Ref
				step(result)
			}
		}
	}
	step(m.Begin())
	for i, text := range args {
		at := time.Duration(4*i+2) * time.Second
		step(loop.Input{At: at, Kind: loop.ModelReply, Ref: loop.Ref{Kind: loop.RefModel, N: i + 1, Try: 1}, Calls: []loop.AskedCall{{Name: tools[0].Name, Args: text}}})
	}
	return trace
}

// TestTools: calls that a tool's breaker, its rate or its pages refuse, and calls that
// its fallback takes over. The trace of the loop is right. It breaks the same rule if
// the tool's answer is changed.
func TestTools(t *testing.T) {
	fails, works := loop.Input{Code: loop.ToolBug}, loop.Input{Text: "fine"}
	other := loop.ToolSpec{Name: "other"}
	pages := loop.Off()
	pages.Contracts.PageLimit = 2
	fallbacks := loop.Off()
	fallbacks.Policy.Fallbacks = true
	four := []string{`{"n":1}`, `{"n":2}`, `{"n":3}`, `{"n":4}`}
	for name, c := range map[string]struct {
		cfg     loop.Config
		spec    loop.ToolSpec
		change  func(*loop.Config, *loop.ToolSpec)
		args    []string
		answers []loop.Input
		whys    []loop.Why // of the calls: Executed or Refused
	}{
		// Disabled by the failure at 2 s for six seconds: until 8 s the call at 6 s is
		// refused; that at 10 s is let through and fails too, so that that at 14 s is
		// refused.
		"breaker": {loop.Off(), loop.ToolSpec{Name: "tool", Breaker: loop.ToolBreaker{Failures: 1, Cooldown: 6 * time.Second}},
			func(_ *loop.Config, s *loop.ToolSpec) { s.Breaker.Cooldown = 9 * time.Second }, four, []loop.Input{fails}, []loop.Why{loop.Executed, loop.Refused, loop.Executed, loop.Refused}},
		// Text that begins like an error counts as one.
		"breaker by text": {loop.Off(), loop.ToolSpec{Name: "tool", Breaker: loop.ToolBreaker{Failures: 1, Cooldown: time.Minute}},
			func(_ *loop.Config, s *loop.ToolSpec) { s.Breaker.Failures = 2 }, four[:2], []loop.Input{{Text: "Error: no"}}, []loop.Why{loop.Executed, loop.Refused}},
		// Two calls in any nine seconds: those at 2 s and 6 s; at 10 s both lie within,
		// at 14 s one.
		"rate": {loop.Off(), loop.ToolSpec{Name: "tool", Rate: loop.Rate{Calls: 2, Per: 9 * time.Second}},
			func(_ *loop.Config, s *loop.ToolSpec) { s.Rate.Per = 7 * time.Second }, four, []loop.Input{works}, []loop.Why{loop.Executed, loop.Executed, loop.Refused, loop.Executed}},
		// The first answer offers page 2, that one page 3, which is one too many.
		"pages": {pages, loop.ToolSpec{Name: "tool"}, func(c *loop.Config, _ *loop.ToolSpec) { c.Contracts.PageLimit = 3 },
			[]string{"{}", `{"page":"p2"}`, `{"cursor":3}`}, []loop.Input{{Text: `{"next_page":"p2"}`}, {Text: `{"nextToken":3}`}}, []loop.Why{loop.Executed, loop.Executed, loop.Refused}},
		// The first call fails over to the fallback; while the tool is disabled the
		// fallback replaces it.
		"fallback": {fallbacks, loop.ToolSpec{Name: "tool", Fallback: "other", Breaker: loop.ToolBreaker{Failures: 1, Cooldown: 6 * time.Second}},
			func(_ *loop.Config, s *loop.ToolSpec) { s.Breaker.Failures = 2 }, four, []loop.Input{fails}, []loop.Why{loop.Executed, loop.Executed, loop.Executed, loop.Executed}},
	} {
		tools := []loop.ToolSpec{c.spec, other}
		trace := toolTrace(t, c.cfg, tools, c.args, map[string][]loop.Input{"tool": c.answers, "other": {works}})
		var whys []loop.Why
		for _, r := range trace {
			for _, e := range r.Effects {
				if e.Kind == loop.Put && e.Ref.Kind == loop.RefCall {
					whys = append(whys, e.Why)
				}
			}
		}
		if !slices.Equal(whys, c.whys) {
			t.Errorf("%s: the calls end as %q, want %q\n%s", name, whys, c.whys, trace)
		}
		for _, v := range Check(c.cfg, loop.Task{Text: "go"}, tools, trace) {
			t.Errorf("%s: %v\n%s", name, v, trace)
		}
		c.change(&c.cfg, &tools[0])
		if Check(c.cfg, loop.Task{Text: "go"}, tools, trace) == nil {
			t.Errorf("%s: nothing is found in the trace of a tool that said something else\n%s", name, trace)
		}
	}
}

// TestPolicyTable: under the policy table a NotFound is for the model to
// read, also where retry.codes lists it: it is not tried again, as another code
// would be.
func TestPolicyTable(t *testing.T) {
	cfg := loop.Off()
	cfg.Policy.OnFailure, cfg.Retry.Max, cfg.Retry.Codes = loop.FailureTable, 1, []loop.Code{loop.NotFound}
	tools := []loop.ToolSpec{{Name: "tool"}}
	trace := toolTrace(t, cfg, tools, []string{"{}", "{}"}, map[string][]loop.Input{"tool": {{Code: loop.NotFound}}})
	for _, v := range Check(cfg, loop.Task{Text: "go"}, tools, trace) {
		t.Errorf("%v\n%s", v, trace)
	}
	cfg.Policy.OnFailure = loop.FailureModel
	if Check(cfg, loop.Task{Text: "go"}, tools, trace) == nil {
		t.Errorf("nothing is found where the model decides and the try is not made again\n%s", trace)
	}
}

// TestFallbackThatDoesNotHelp: a call that failed for its arguments does not
// fall back, so that the try limit keeps nothing from being made and the run goes
// on; one that failed for its tool does, and the run is stopped.
func TestFallbackThatDoesNotHelp(t *testing.T) {
	cfg := loop.Off()
	cfg.Policy.Fallbacks, cfg.Limits.Tries = true, 1
	tools := []loop.ToolSpec{{Name: "tool", Fallback: "other"}, {Name: "other"}}
	for _, c := range []struct {
		on       loop.OnFailure
		code     loop.Code
		requests int // 1 where the run is stopped
	}{
		{loop.FailureModel, loop.InvalidInput, 2}, {loop.FailureModel, loop.NotFound, 1}, {loop.FailureModel, loop.Unauthorized, 1},
		{loop.FailureTable, loop.NotFound, 1}, {loop.FailureTable, loop.ToolBug, 1},
	} {
		cfg.Policy.OnFailure = c.on
		trace := toolTrace(t, cfg, tools, []string{"{}"}, map[string][]loop.Input{"tool": {{Code: c.code}}, "other": {{}}})
		requests := 0
		for _, r := range trace {
			for _, e := range r.Effects {
				if e.Kind == loop.AskModel {
					requests++
				}
			}
		}
		if requests != c.requests {
			t.Errorf("%s, %s: %d requests, want %d\n%s", c.on, c.code, requests, c.requests, trace)
		}
		for _, v := range Check(cfg, loop.Task{Text: "go"}, tools, trace) {
			t.Errorf("%s, %s: %v\n%s", c.on, c.code, v, trace)
		}
	}
}

// TestTriesSpentBeforeTheDeadline: a call that finds no try left has its
// result at once, also where the deadline comes while the last word is asked
// for. The tries are spent at 6 s, the call is asked for at 10 s with one that is
// above limits.calls, and the deadline is at 12 s.
func TestTriesSpentBeforeTheDeadline(t *testing.T) {
	cfg := loop.Off()
	cfg.Limits = loop.Limits{Calls: 3, Tries: 2, AtLimit: loop.LimitFinal}
	cfg.Time.Run = 12 * time.Second
	tools := []loop.ToolSpec{{Name: "tool"}}
	m, err := loop.New(cfg, loop.Task{Text: "go"}, tools)
	if err != nil {
		t.Fatal(err)
	}
	one, two := []loop.AskedCall{{Name: "tool"}}, []loop.AskedCall{{Name: "tool"}, {Name: "tool"}}
	var trace loop.Trace
	for _, in := range []loop.Input{
		m.Begin(),
		{At: 2 * time.Second, Kind: loop.ModelReply, Ref: loop.Ref{Kind: loop.RefModel, N: 1, Try: 1}, Calls: one},
		{At: 2 * time.Second, Kind: loop.ToolResult, Ref: loop.Ref{Kind: loop.RefCall, N: 1, Try: 1}},
		{At: 6 * time.Second, Kind: loop.ModelReply, Ref: loop.Ref{Kind: loop.RefModel, N: 2, Try: 1}, Calls: one},
		{At: 6 * time.Second, Kind: loop.ToolResult, Ref: loop.Ref{Kind: loop.RefCall, N: 2, Try: 1}},
		{At: 10 * time.Second, Kind: loop.ModelReply, Ref: loop.Ref{Kind: loop.RefModel, N: 3, Try: 1}, Calls: two},
		{At: 12 * time.Second, Kind: loop.Tick},
	} {
		trace.Append(in, m.Step(in))
	}
	if out := m.Outcome(); !m.Halted() || out.Stop != loop.StopCallLimit {
		t.Errorf("the run ends as %+v, want the call limit\n%s", out, trace)
	}
	for _, v := range Check(cfg, loop.Task{Text: "go"}, tools, trace) {
		t.Errorf("%v\n%s", v, trace)
	}
}

// TestDenialHoldsForTheFallback: a denial for a batch holds for every call of the
// tool that the model asked for, also for one in whose stead the tool's fallback
// would be called. The tool's rate allows one call, so that the fallback stands
// in for the second.
func TestDenialHoldsForTheFallback(t *testing.T) {
	cfg := loop.Off()
	cfg.Policy.Fallbacks = true
	tools := []loop.ToolSpec{{Name: "tool", Permission: loop.AskBatch, Fallback: "other", Rate: loop.Rate{Calls: 1, Per: time.Minute}}, {Name: "other"}}
	for _, allow := range []bool{false, true} {
		m, err := loop.New(cfg, loop.Task{Text: "go"}, tools)
		if err != nil {
			t.Fatal(err)
		}
		var trace loop.Trace
		for _, in := range []loop.Input{
			m.Begin(),
			{At: time.Second, Kind: loop.ModelReply, Ref: loop.Ref{Kind: loop.RefModel, N: 1, Try: 1}, Calls: []loop.AskedCall{{Name: "tool"}, {Name: "tool"}}},
			{At: 2 * time.Second, Kind: loop.GateAnswer, Ref: loop.Ref{Kind: loop.RefGate, N: 1}, Allow: allow},
		} {
			trace.Append(in, m.Step(in))
		}
		var called []string
		for _, e := range trace[2].Effects {
			if e.Kind == loop.CallTool {
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
		for _, v := range Check(cfg, loop.Task{Text: "go"}, tools, trace) {
			t.Errorf("%v\n%s", v, trace)
		}
	}
}
