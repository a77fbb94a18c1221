package loop

import (
	"strings"
	"testing"
)

// reply gives the reply to the n-th request.
func replyWith(n int, in Input) Input {
	in.Kind, in.Ref = ModelReply, Ref{Kind: RefModel, N: n, Try: 1}
	return in
}

// A cost limit is exact to the nano-dollar, though its dollars are no exact
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
