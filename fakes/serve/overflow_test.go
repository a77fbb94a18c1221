package serve

import (
	"strings"
	"testing"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/loop"
)

// A request that is longer than the window is refused in the words of its API, which the
// loop takes for an overflow. A body has a token for four characters.
func TestWindowOnTheWire(t *testing.T) {
	long := strings.Repeat("word", 100)
	for _, c := range []struct{ path, body, want string }{
		{"/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"%"}]}`, `"code":"context_length_exceeded"`},
		{"/v1/responses", `{"model":"m","input":"%"}`, `"code":"context_length_exceeded"`},
		{"/v1/messages", `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"%"}]}`, "prompt is too long: 1"},
		{geminiWhole, `{"contents":[{"role":"user","parts":[{"text":"%"}]}]}`, "exceeds the maximum number of tokens allowed (60)"},
	} {
		script := &fakes.Script{Task: "Hi", Window: 60, Model: []fakes.Step{{Text: "a", Repeat: fakes.Forever}}}
		s, err := New([]Scenario{{"test/one", script}}, Options{Seed: 1, Speed: 1e6})
		if err != nil {
			t.Fatal(err)
		}
		if w := post(s, c.path, strings.Replace(c.body, "%", "Hi", 1)); w.Code != 200 {
			t.Errorf("%s: a short request: %d %s", c.path, w.Code, w.Body)
		}
		w := post(s, c.path, strings.Replace(c.body, "%", long, 1))
		if !strings.Contains(w.Body.String(), c.want) || !loop.Overflow(w.Code, w.Body.String()) {
			t.Errorf("%s: a long request: %d %s", c.path, w.Code, w.Body)
		}
		if got := s.Journal().Entries[1].Fault; got != "overflow" {
			t.Errorf("%s: the fault in the journal is %q", c.path, got)
		}
	}
}
