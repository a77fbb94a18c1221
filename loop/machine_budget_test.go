package loop_test

import (
	"strings"
	"testing"

	. "github.com/agentbench-go/agentbench/loop"
)

// replyWith returns in as the reply to the n-th request.
func replyWith(n int, in Input) Input {
	in.Kind, in.Ref = ModelReply, Ref{Kind: RefModel, N: n, Try: 1}
	return in
}

// A cost limit is exact to the nano-dollar, although its dollars are not an exact
// binary fraction: 497 is not above 497, 498 is.
func TestCostLimitIsExact(t *testing.T) {
	for cost, want := range map[int64]Stop{497: "", 498: StopCostLimit} {
		cfg := Off()
		cfg.Limits.CostUSD = 4.97e-07
		m, err := New(cfg, Task{Text: "go"}, []ToolSpec{{Name: "read"}})
		if err != nil {
			t.Fatal(err)
		}
		m.Step(m.Begin())
		m.Step(replyWith(1, Input{Cost: cost, Calls: []AskedCall{{ID: "a", Name: "read", Args: "{}"}}}))
		if got := m.Outcome().Stop; got != want {
			t.Errorf("a cost of %d nano-dollars stops with %q, want %q", cost, got, want)
		}
	}
}

// A rule that would have stopped the run too is noted once, however often it is
// looked at: tokens stop the run here, cost would have.
func TestAlsoStoppedIsNotedOnce(t *testing.T) {
	cfg := Off()
	cfg.Limits.Tokens, cfg.Limits.CostUSD = 1, 1e-9
	m, err := New(cfg, Task{Text: "go"}, []ToolSpec{{Name: "read"}})
	if err != nil {
		t.Fatal(err)
	}
	m.Step(m.Begin())
	in := replyWith(1, Input{TokensIn: 2, Cost: 2, Calls: []AskedCall{{ID: "a", Name: "read", Args: "{}"}}})
	text := Record{In: in, Effects: m.Step(in)}.String()
	if n := strings.Count(text, "event=also-stopped text=cost-limit"); n != 1 || m.Outcome().Stop != StopTokenLimit {
		t.Errorf("noted %d times in\n%s", n, text)
	}
}

// The last word is asked for at once: its history is not summed up before.
func TestLastWordIsNotCompacted(t *testing.T) {
	cfg := Off()
	cfg.Limits.Turns, cfg.Limits.AtLimit, cfg.History.CompactAt = 2, LimitFinal, 4
	m, err := New(cfg, Task{Text: "go"}, []ToolSpec{{Name: "read"}})
	if err != nil {
		t.Fatal(err)
	}
	m.Step(m.Begin())
	var asked []Purpose
	for n := 1; n <= 2; n++ {
		m.Step(replyWith(n, Input{Calls: []AskedCall{{Name: "read", Args: "{}"}}}))
		for _, e := range m.Step(Input{Kind: ToolResult, Ref: Ref{Kind: RefCall, N: n, Try: 1}, Text: "ok"}) {
			if e.Kind == AskModel {
				asked = append(asked, e.For)
			}
		}
	}
	// Five messages after the second turn are above four.
	if len(asked) != 2 || asked[0] != ForReply || asked[1] != ForFinal {
		t.Errorf("asked for %q, want a reply and then the last word", asked)
	}
}

// toolResult returns the result of the n-th call.
func toolResult(n int) Input {
	return Input{Kind: ToolResult, Ref: Ref{Kind: RefCall, N: n, Try: 1}, Text: "ok"}
}

// Of three steps the third is a reply with a call: the call is refused, and then
// the user is asked.
func TestStepLimitAsksAndRefuses(t *testing.T) {
	cfg := Off()
	cfg.Limits.Steps, cfg.Limits.AtLimit = 3, LimitAsk
	m, err := New(cfg, Task{Text: "go"}, []ToolSpec{{Name: "read"}})
	if err != nil {
		t.Fatal(err)
	}
	m.Step(m.Begin())
	m.Step(replyWith(1, Input{Calls: []AskedCall{{ID: "a", Name: "read", Args: "{}"}}}))
	m.Step(toolResult(1))
	effects := m.Step(replyWith(2, Input{Calls: []AskedCall{{ID: "b", Name: "read", Args: "{}"}}}))
	if len(effects) != 2 || effects[0].Why != Refused || effects[1].Kind != AskUser {
		t.Errorf("got %v, want the call refused and the user asked", Record{Effects: effects})
	}
}

// A batch of which nothing runs is not a step: two vetoed calls end a run only by
// the breaker.
func TestVetoedBatchIsNoStep(t *testing.T) {
	cfg := Default()
	cfg.Limits.Steps = 2
	cfg.Detectors[0].Do[0].At = 2
	m, err := New(cfg, Task{Text: "go"}, []ToolSpec{{Name: "read"}})
	if err != nil {
		t.Fatal(err)
	}
	m.Step(m.Begin())
	call := AskedCall{Name: "read", Args: "{}"}
	in := replyWith(1, Input{Calls: []AskedCall{call, call}})
	text := Record{In: in, Effects: m.Step(in)}.String()
	if m.Outcome().Stop != "circuit-breaker" || strings.Contains(text, string(EventAlsoStopped)) {
		t.Errorf("stop %s in\n%s", m.Outcome().Stop, text)
	}
}

// What compactions won counts from each user message anew.
func TestGainlessCompactionsOfARun(t *testing.T) {
	cfg := Off()
	cfg.Limits.Turns = 1 // one request a run, so one compaction
	cfg.History = History{KeepFirst: true, KeepLast: 1, CompactAt: 4, MinGain: 1, CompactionsWithoutGain: 2}
	m, err := New(cfg, Task{Text: "go"}, []ToolSpec{{Name: "read"}})
	if err != nil {
		t.Fatal(err)
	}
	request, calls := 0, 0
	play := func(effects []Effect) {
		for !m.Halted() {
			e := effects[len(effects)-1]
			switch {
			case e.Kind == AskModel && e.For == ForSummary:
				request = e.Ref.N
				effects = m.Step(replyWith(request, Input{Text: "short"}))
			case e.Kind == AskModel:
				request = e.Ref.N
				effects = m.Step(replyWith(request, Input{Calls: []AskedCall{{Name: "read", Args: "{}"}}}))
			case e.Kind == CallTool:
				calls++
				effects = m.Step(toolResult(calls))
			default:
				t.Fatalf("unexpected effect %v", e)
			}
		}
	}
	play(m.Step(m.Begin()))
	for range 3 {
		play(m.Step(Input{Kind: UserMessage, Text: "more"}))
		if got := m.Outcome().Stop; got != StopTurnLimit {
			t.Fatalf("a run ended with %s, want turn-limit", got)
		}
	}
}

// The name of another stop is not a name for a detector.
func TestDetectorIsNoOtherStop(t *testing.T) {
	for _, name := range []Stop{StopCompactionThrash, StopDone, StopErrorLimit} {
		cfg := Default()
		cfg.Detectors[0].Name = string(name)
		if err := cfg.Validate(); err == nil || !strings.HasPrefix(err.Error(), "detectors[0].name: ") {
			t.Errorf("a detector may be called %s: %v", name, err)
		}
	}
}
