package serve

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/internal/wiretest"
	"github.com/agentbench-go/agentbench/loop"
)

// The observer is told who called what with which number, and what the history holds.
func TestSeen(t *testing.T) {
	two := []fakes.StepCall{call("f", `{"n":1}`), call("g", "{}")}
	each(t, func(t *testing.T, c client, stream bool) {
		var told []Seen
		script := &fakes.Script{Model: []fakes.Step{at(fakes.Step{Calls: two}), at(fakes.Step{Text: "two", Calls: two[:1], TokensIn: 70, TokensOut: 8,
			Failures: []fakes.ModelFailure{{Status: 503, Text: "busy", Latency: fakes.Instantly()}}})}}
		s, err := New([]Scenario{{"test/one", script}}, Options{ScriptedUsage: true, Observe: func(seen *Seen) {
			if !seen.Entry.Open {
				told = append(told, *seen)
			}
		}})
		if err != nil {
			t.Fatal(err)
		}
		history := []loop.Message{hi, {Role: loop.Assistant, Calls: []loop.Call{{ID: "call_1_1", Name: "f", Args: `{"n":1}`}, {ID: "call_1_2", Name: "g", Args: "{}"}}}, result("call_1_1", "Error: no"), result("call_1_2", "fine")}
		body := c.body(history, stream)
		body["tools"] = []object{{"type": "function", "name": "f", "function": object{"name": "f"}}, {"type": "function", "name": "h", "input_schema": object{}}}
		text, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		post(s, c.path, c.json(history[:1], stream))
		post(s, c.path, string(text))
		post(s, c.path, string(text))
		numbered := []loop.Message{
			{Role: loop.User, Ref: loop.Ref{Kind: loop.RefMessage, N: 1}, Text: "Hi"},
			{Role: loop.Assistant, Ref: loop.Ref{Kind: loop.RefModel, N: 1}, Calls: []loop.Call{{N: 1, ID: "call_1_1", Name: "f", Args: `{"n":1}`}, {N: 2, ID: "call_1_2", Name: "g", Args: "{}"}}},
			{Role: loop.ToolRole, Ref: loop.Ref{Kind: loop.RefCall, N: 1}, CallID: "call_1_1", Text: "Error: no"},
			{Role: loop.ToolRole, Ref: loop.Ref{Kind: loop.RefCall, N: 2}, CallID: "call_1_2", Text: "fine"},
		}
		numbered[0].Text = hi.Text
		want := []Seen{
			{Tools: []string{"f", "g", "h", "read", "list"}, History: numbered[:1], Calls: []loop.Call{{N: 1, ID: "call_1_1", Name: "f", Args: `{"n":1}`}, {N: 2, ID: "call_1_2", Name: "g", Args: "{}"}}},
			{Tools: []string{"f", "h"}, History: numbered, Text: "busy", Failed: true, TokensIn: 70, TokensOut: 8},
			{Tools: []string{"f", "h"}, History: numbered, Text: "two", Calls: []loop.Call{{N: 3, ID: "call_2_1", Name: "f", Args: `{"n":1}`}}, TokensIn: 70, TokensOut: 8},
		}
		for i := range told {
			if told[i].Entry.N != i+1 {
				t.Errorf("entry %d is number %d", i, told[i].Entry.N)
			}
			told[i].Entry = nil
		}
		if diff := cmp.Diff(want, told); diff != "" {
			t.Error(diff)
		}
	})
}

// A request that hangs is told when it begins to hang, not when its client gives up.
func TestSeenWhileItHangs(t *testing.T) {
	told := make(chan Entry, 2)
	inVirtualTime(t, Options{Observe: func(seen *Seen) { told <- *seen.Entry }}, func(t *testing.T, _ *Server, client *http.Client) {
		done := make(chan wiretest.Seen)
		go func() {
			done <- wiretest.Ask(t, client, "/v1/chat/completions", clients["chat"].json([]loop.Message{hi}, true), time.Hour)
		}()
		began := time.Now()
		if e := <-told; !e.Open || e.Fault != "hang" || e.Request != 1 || time.Since(began) != 0 {
			t.Errorf("after %v: %+v", time.Since(began), e)
		}
		<-done
		if e := <-told; e.Open || !e.Gone || e.TookMS != 3_600_000 {
			t.Errorf("told %+v", e)
		}
	}, fakes.Step{Failures: []fakes.ModelFailure{{Hang: true}}})
}
