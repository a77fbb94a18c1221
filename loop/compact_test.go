package loop_test

import (
	"fmt"
	"strings"
	"testing"

	. "github.com/agentbench-go/agentbench/loop"
)

// Facts in results before a compaction reach the model after it: the request for a
// summary shows every message that it replaces, and the summary takes their place.
// The order is compact, trim, ask, run, truncate.
func TestSummaryKeepsPlantedFacts(t *testing.T) {
	cfg := Off()
	cfg.History = History{KeepFirst: true, KeepLast: 2, CompactAt: 6, MaxMessages: 8, MaxResultChars: 30, MinGain: 0.1, CompactionsWithoutGain: 2}
	m, err := New(cfg, Task{Text: "go"}, []ToolSpec{{Name: "read"}})
	if err != nil {
		t.Fatal(err)
	}
	fact := func(n int) string { return fmt.Sprintf("fact-%d-%d", n, n*7919) }
	effects := m.Step(m.Begin())
	compactions, request, calls := 0, 0, 0
	for calls < 12 {
		e := effects[len(effects)-1]
		if e.Kind == AskModel && e.To > 8 {
			t.Errorf("%v is asked with %d messages", e.Ref, e.To)
		}
		switch {
		case e.Kind == AskModel && e.For == ForSummary:
			compactions++
			request++
			effects = m.Step(replyWith(request, Input{Text: factsIn(e.History)}))
		case e.Kind == AskModel:
			request++
			for n := 1; n <= calls; n++ {
				if !strings.Contains(factsIn(e.History), fact(n)) {
					t.Fatalf("request %d no longer knows %s", request, fact(n))
				}
			}
			effects = m.Step(replyWith(request, Input{Calls: []AskedCall{{Name: "read", Args: fmt.Sprintf(`{"n":%d}`, calls)}}}))
		case e.Kind == CallTool:
			calls++
			in := toolResult(calls)
			in.Text = fact(calls) + strings.Repeat(" filler", 20)
			effects = m.Step(in)
		default:
			t.Fatalf("unexpected effect in %v", Record{Effects: effects})
		}
	}
	if compactions < 2 {
		t.Errorf("%d compactions, want several", compactions)
	}
}

// factsIn plays a model that sums up well: it keeps every fact, and nothing
// else.
func factsIn(history []Message) string {
	var facts []string
	for _, m := range history {
		for _, word := range strings.Fields(m.Text) {
			if strings.HasPrefix(word, "fact-") {
				facts = append(facts, word)
			}
		}
	}
	return strings.Join(facts, " ")
}

// The estimate is a quarter of the characters, each message rounded up, and 4:
// 5 characters are 2 and 4, read and {"n":1} are 11, so 3 and 4.
func TestEstimateTokens(t *testing.T) {
	got := EstimateTokens([]Message{{Role: User, Text: "日本語です"}, {Role: Assistant, Calls: []Call{{Name: "read", Args: `{"n":1}`}}}})
	if want := 6 + 7; got != want {
		t.Errorf("got %d, want %d", got, want)
	}
}
