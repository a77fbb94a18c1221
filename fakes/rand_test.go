package fakes

import (
	"context"
	"testing"
	"time"

	"github.com/agentbench-go/agentbench/loop"
)

// Each row makes one draw between two equally likely values. Two scripts that
// differ only in name agree in half of 400 seeds, with a standard deviation of
// √(400 × ½ × ½) = 10; five of those are 50. With one name they always agree.
func TestNamesDrawIndependently(t *testing.T) {
	to := []Transition{{State: "a", Weight: 1}, {State: "b", Weight: 1}}
	for _, tt := range []struct {
		name   string
		script Script
		drawn  func(t *testing.T, s *Script, seed uint64) bool
	}{
		{"a value of the model", *model(Step{Text: "${pick:a|b}"}),
			func(t *testing.T, s *Script, seed uint64) bool { return opening(t, s, seed).Text == "a" }},
		{"a latency of the model", *model(Step{Latency: Span{0, ms}}),
			func(t *testing.T, s *Script, seed uint64) bool { return opening(t, s, seed).After == 0 }},
		{"a share of faults", *faulty(t, model(Step{Text: "x"}), "empty model 50%"),
			func(t *testing.T, s *Script, seed uint64) bool { return opening(t, s, seed).Text == "" }},
		{"a transition", *model(Step{State: "a", Next: to}, Step{State: "b", Next: to}),
			func(t *testing.T, s *Script, seed uint64) bool {
				m, err := NewModel(s, seed)
				if err != nil {
					t.Fatal(err)
				}
				var c Course
				m.Next(&c, Before{})
				return m.Next(&c, Before{}) == 0
			}},
		{"a value of a tool", *oneTool(Answer{Result: "${rand:0..1}"}),
			func(t *testing.T, s *Script, seed uint64) bool { return answered(t, s, seed).Text == "0" }},
		{"a latency of a tool", *oneTool(Answer{Latency: Span{0, ms}}),
			func(t *testing.T, s *Script, seed uint64) bool { return answered(t, s, seed).At == 0 }},
		{"the jitter of a retry", *oneTool(Answer{Failures: []Failure{{}}}), waitedShortly},
	} {
		t.Run(tt.name, func(t *testing.T) {
			one, same, other := tt.script, tt.script, tt.script
			one.Name, same.Name, other.Name = "suite/one", "suite/one", "suite/other"
			agree := 0
			for seed := range uint64(400) {
				a := tt.drawn(t, &one, seed)
				if tt.drawn(t, &same, seed) != a {
					t.Fatalf("seed %d: a name draws twice, and not the same", seed)
				}
				if tt.drawn(t, &other, seed) == a {
					agree++
				}
			}
			if agree < 200-50 || agree > 200+50 {
				t.Errorf("two names agree in %d of 400 seeds, want about 200", agree)
			}
		})
	}
}

// opening is what the model says first.
func opening(t *testing.T, s *Script, seed uint64) Said {
	t.Helper()
	w, err := NewModel(s, seed)
	if err != nil {
		t.Fatal(err)
	}
	said, err := w.Say(0, Request{Ref: m(1, 1)})
	if err != nil {
		t.Fatal(err)
	}
	return said
}

// answered is what the tool answers to its first call.
func answered(t *testing.T, s *Script, seed uint64) loop.Input {
	t.Helper()
	w := NewWorld(s, seed)
	do(w, 0, call(1, 1, "f", "{}"))
	return next(t, w)
}

// waitedShortly plays a call whose first try fails and whose second succeeds, after a
// wait drawn from [0, 1 s], and reports whether the wait was in the lower half. The
// reply takes 2 s and a try 200 ms, so the result then comes before
// 2 s + 2 × 200 ms + 500 ms.
func waitedShortly(t *testing.T, s *Script, seed uint64) bool {
	t.Helper()
	script := *s
	script.Model = []Step{{Calls: []StepCall{{Name: "f", Args: "{}"}}}, {Text: "done"}}
	cfg := loop.Off()
	cfg.Retry = loop.Retry{Max: 1, Base: time.Second, Backoff: loop.FullJitter, Codes: []loop.Code{loop.RetryableServer}}
	var trace loop.Trace
	if _, err := NewWorld(&script, seed).Run(context.Background(), cfg, &trace); err != nil {
		t.Fatal(err)
	}
	for i := range trace {
		if in := &trace[i].In; in.Kind == loop.ToolResult && in.Code == loop.None {
			return in.At < 2*sec+2*200*ms+500*ms
		}
	}
	t.Fatal("the call has no result")
	return false
}
