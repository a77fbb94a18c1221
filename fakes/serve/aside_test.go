package serve

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/loop"
)

// A request beside the agent's loop gets no call, and is in none of its numbers.
func TestAsides(t *testing.T) {
	f := []fakes.StepCall{call("f", "{}")}
	end := []loop.Message{hi, replied("", "call_1_1"), result("call_1_1", "fine"), replied("bye"), user("What next?")}
	each(t, func(t *testing.T, c client, stream bool) {
		s := serveSteps(t, at(fakes.Step{Calls: f}), at(fakes.Step{Text: "bye"}))
		for _, history := range [][]loop.Message{{user("Give this a title.")}, end} {
			body := c.body(history, stream)
			delete(body, "tools")
			text, err := json.Marshal(body)
			if err != nil {
				t.Fatal(err)
			}
			w := post(s, c.path, string(text))
			a := answer{}
			if w.Code == 200 && stream {
				a = c.events(t, parseEvents(t, w.Body.String()))
			} else if w.Code == 200 {
				a = c.read(t, w.Body.Bytes())
			}
			if a.Text != asideText || len(a.Calls) > 0 {
				t.Errorf("%d %s", w.Code, w.Body)
			}
		}
		post(s, c.path, c.json([]loop.Message{hi}, stream))
		if w := post(s, c.path, c.json(end, stream)); w.Code != 422 {
			t.Errorf("the loop asks after the script's end: %d %s", w.Code, w.Body)
		}
		j := s.Journal()
		if total := j.Total; total.Asides != 2 || total.Requests != 2 || total.Refused != 1 || total.Furthest != 1 || !j.Entries[0].Aside || j.Entries[2].Aside {
			t.Errorf("the journal has %+v, %+v", total, j.Entries)
		}
	})
}

// A call of a tool that the agent does not offer is told.
func TestUndeclared(t *testing.T) {
	each(t, func(t *testing.T, c client, stream bool) {
		s := serveSteps(t, at(fakes.Step{Calls: []fakes.StepCall{call("f", "{}"), call("charge", "{}"), call("charge", "{}"), call("rea", "{}")}}))
		post(s, c.path, c.json([]loop.Message{hi}, stream))
		j := s.Journal()
		if got := j.Entries[0].Undeclared; !slices.Equal(got, []string{"charge", "rea"}) || j.Total.Undeclared != 1 {
			t.Errorf("undeclared %q, %+v", got, j.Total)
		}
	})
}
