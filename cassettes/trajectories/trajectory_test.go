package trajectories

import (
	"fmt"
	"strings"
	"testing"

	"github.com/agentbench-go/agentbench/cassettes/trajectories/wire"
)

// sketch writes a trajectory as text: a line for each user message and, below it,
// one for each turn.
func sketch(r *Trajectory) string {
	var b strings.Builder
	for _, text := range r.Leading {
		fmt.Fprintf(&b, "leading %q\n", text)
	}
	for _, run := range r.Runs {
		fmt.Fprintf(&b, "user %q\n", run.User)
		for _, t := range run.Turns {
			fmt.Fprintf(&b, "  turn %q", t.Text)
			for _, c := range t.Calls {
				fmt.Fprintf(&b, " %s(%s)", c.Name, c.Args)
				switch {
				case c.Result == nil:
					b.WriteString("=?")
				case c.Result.Code != "":
					fmt.Fprintf(&b, "=%s:%q", c.Result.Code, c.Result.Text)
				default:
					fmt.Fprintf(&b, "=%q", c.Result.Text)
				}
			}
			b.WriteByte('\n')
		}
	}
	if r.Dropped > 0 {
		fmt.Fprintf(&b, "dropped %d\n", r.Dropped)
	}
	return b.String()
}

func block(s string) string { return strings.TrimLeft(s, "\n") }

func TestAssemble(t *testing.T) {
	const (
		hi    = `{"role":"user","content":"hi"}`
		done  = `{"role":"assistant","content":"done"}`
		callX = `{"role":"assistant","tool_calls":[{"id":"x","function":{"name":"f","arguments":"{}"}}]}`
		callG = `{"role":"assistant","tool_calls":[{"id":"x","function":{"name":"g","arguments":"{}"}}]}`
	)
	result := func(id, content string) string {
		return fmt.Sprintf(`{"role":"tool","tool_call_id":%s,"content":%q}`, id, content)
	}
	for _, c := range []struct {
		name     string
		messages []string
		want     string
	}{
		{"a reused id answers the nearest call that waits", []string{hi, callX, result(`"x"`, "1"), callG, result(`"x"`, "2"), done}, `
user "hi"
  turn "" f({})="1"
  turn "" g({})="2"
  turn "done"
`},
		{"of two calls that wait with one id, the later turn's is answered", []string{hi, callX, result(`"y"`, "?"), callG, result(`"x"`, "2"), done}, `
user "hi"
  turn "" f({})=?
  turn "" g({})="2"
  turn "done"
dropped 1
`},
		{"one id twice in a batch: in order", []string{hi,
			`{"role":"assistant","tool_calls":[{"id":"x","function":{"name":"f"}},{"id":"x","function":{"name":"g"}}]}`,
			result(`"x"`, "1"), result(`"x"`, "2")}, `
user "hi"
  turn "" f()="1" g()="2"
`},
		{"ids name the calls, whatever the order of the results", []string{hi,
			`{"role":"assistant","tool_calls":[{"id":"x","function":{"name":"f"}},{"id":"y","function":{"name":"g"}}]}`,
			result(`"y"`, "2"), result(`"x"`, "1")}, `
user "hi"
  turn "" f()="1" g()="2"
`},
		{"empty and missing ids: order decides", []string{hi,
			`{"role":"assistant","tool_calls":[{"id":"","function":{"name":"f"}},{"function":{"name":"g"}},{"id":null,"function":{"name":"h"}}]}`,
			result(`null`, "1"), result(`""`, "2"), result(`"z"`, "3"), result(`null`, "4")}, `
user "hi"
  turn "" f()="1" g()="2" h()="3"
dropped 1
`},
		{"ids that are numbers", []string{hi,
			`{"role":"assistant","tool_calls":[{"id":1,"function":{"name":"f"}},{"id":2,"function":{"name":"g"}}]}`,
			result("2", "two"), result("1", "one")}, `
user "hi"
  turn "" f()="one" g()="two"
`},
		{"a result after the next turn still finds its call", []string{hi, callX, `{"role":"user","content":"and?"}`, done, result(`"x"`, "late")}, `
user "hi"
  turn "" f({})="late"
user "and?"
  turn "done"
`},
		{"arguments: string, object, empty, none, cut off, a bare name beside args", []string{hi,
			`{"role":"assistant","tool_calls":[
				{"function":{"name":"a","arguments":"{\"k\": 1}"}},
				{"function":{"name":"b","arguments":{"k": [1, 2]}}},
				{"function":{"name":"c","arguments":""}},
				{"function":{"name":"d","arguments":null}},
				{"function":{"name":"e","arguments":"{\"k\": "}},
				{"function":"f","args":{"k": 1}}]}`}, `
user "hi"
  turn "" a({"k": 1})=? b({"k":[1,2]})=? c()=? d()=? e({"k": )=? f({"k":1})=?
`},
		{"the form before tool_calls", []string{hi,
			`{"role":"assistant","content":null,"function_call":{"name":"f","arguments":"{}"}}`,
			`{"role":"function","name":"f","content":"1"}`}, `
user "hi"
  turn "" f({})="1"
`},
		{"content: null, empty, missing, parts, parts with content, other JSON", []string{
			`{"role":"user","content":["a",{"type":"text","text":"b"},{"type":"text","content":"c"},{"type":"image_url"}]}`,
			`{"role":"assistant","content":[],"tool_calls":[{"id":"1","function":{"name":"f"}},{"id":"2","function":{"name":"f"}},{"id":"3","function":{"name":"f"}}]}`,
			`{"role":"tool","tool_call_id":"1","content":{"degrees": 5}}`,
			`{"role":"tool","tool_call_id":"2","content":null}`,
			`{"role":"tool","tool_call_id":"3"}`}, `
user "a\nb\nc\n[image_url]"
  turn "" f()="{\"degrees\":5}" f()="" f()=""
`},
		{"an error beside the content", []string{hi, callX, `{"role":"tool","tool_call_id":"x","content":"","error":"ValueError: no"}`,
			callX, `{"role":"tool","tool_call_id":"x","content":"half","error":true}`,
			callX, `{"role":"tool","tool_call_id":"x","content":"whole","error":false}`,
			callX, `{"role":"tool","tool_call_id":"x","content":"Error: by text","error":null}`}, `
user "hi"
  turn "" f({})=ToolBug:"ValueError: no"
  turn "" f({})=ToolBug:"half"
  turn "" f({})="whole"
  turn "" f({})="Error: by text"
`},
		{"assistant messages in a row are one turn", []string{hi,
			`{"role":"assistant","content":"I look."}`, callX, `{"role":"system","content":"hurry"}`, callG, result(`"x"`, "2"), result(`"x"`, "1"), done}, `
user "hi"
  turn "I look." f({})="1" g({})="2"
  turn "done"
`},
		{"an answer that the agent goes on from by itself is one turn with what follows", []string{hi, done, result(`"x"`, "?"), callX}, `
user "hi"
  turn "done" f({})=?
dropped 1
`},
		{"user messages in a row are one message", []string{hi, `{"role":"user","content":"are you there?"}`, done}, `
user "hi\nare you there?"
  turn "done"
`},
		{"a greeting is history", []string{`{"role":"assistant","content":"Hello!"}`, hi, done}, `
leading "Hello!"
user "hi"
  turn "done"
`},
		{"an agent that calls before any user speaks", []string{`{"role":"system","content":"find the flag"}`, callX, result(`"x"`, "1"), done}, `
user ""
  turn "" f({})="1"
  turn "done"
`},
		{"the user's own calls are not the agent's, nor are their results", []string{hi, callX,
			`{"role":"user","content":null,"tool_calls":[{"id":"u1","function":{"name":"reboot"}}]}`,
			result(`"u1"`, "rebooted"), result(`"x"`, "1"), done,
			`{"role":"user","content":"it works","tool_calls":[{"id":"x","function":{"name":"look"}}]}`, result(`"x"`, "seen")}, `
user "hi"
  turn "" f({})="1"
  turn "done"
user "it works"
`},
		{"a last call may be unanswered, a last message too", []string{hi, done, `{"role":"user","content":"more"}`, callX, `{"role":"user","content":"bye"}`}, `
user "hi"
  turn "done"
user "more"
  turn "" f({})=?
user "bye"
`},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := &Trajectory{}
			if err := r.readLog("messages", []byte("["+strings.Join(c.messages, ",")+"]"), nil); err != nil {
				t.Fatal(err)
			}
			if got := sketch(r); got != block(c.want) {
				t.Errorf("got:\n%swant:\n%s", got, block(c.want))
			}
			if r.Messages != len(c.messages) {
				t.Errorf("%d messages, want %d", r.Messages, len(c.messages))
			}
		})
	}
}

// The number of calls that wait for a result is bounded, so that a hostile
// trajectory cannot make pairing slow.
func TestOpenCallsAreBounded(t *testing.T) {
	asked := make([]wire.Call, maxOpen+1)
	for i := range asked {
		asked[i] = wire.Call{ID: fmt.Sprint(i), Name: "f"}
	}
	r := &Trajectory{}
	r.assemble([]wire.Message{{Role: wire.Assistant, Calls: asked}, {Role: wire.Tool, ID: "0"}, {Role: wire.Tool, ID: "1"}})
	calls := r.Runs[0].Turns[0].Calls
	if calls[0].Result != nil || calls[1].Result == nil || r.Dropped != 1 {
		t.Errorf("first call %v, second %v, %d dropped; want the first given up, the second answered and one dropped",
			calls[0].Result, calls[1].Result, r.Dropped)
	}
}

func TestCounts(t *testing.T) {
	call := func(id, name, args string, r *Result) *Call { return &Call{ID: id, Name: name, Args: args, Result: r} }
	ok, failed := &Result{Text: "ok"}, &Result{Text: "Error: no"}
	r := &Trajectory{Messages: 12, Runs: []*Run{
		{User: "hi", Turns: []*Turn{
			{Calls: []*Call{call("1", "a", `{"x":1,"y":2}`, ok), call("1", "b", "", failed)}},
			{Calls: []*Call{call("", "a", `{ "y": 2, "x": 1 }`, &Result{Code: "ToolBug"})}},
			{Calls: []*Call{call("2", "b", "{}", nil)}},
			{Text: "done"},
		}},
		{User: "more", Turns: []*Turn{
			{Calls: []*Call{call("3", "b", " ", ok), call("4", "b", `{"cut`, ok), call("5", "b", `{"cut`, ok)}},
		}},
	}}
	// a b a b b b' b': three different calls, b twice in a row as is b', b three
	// times in all, a b a b alternates four times; b failed and a failed.
	want := Counts{Messages: 12, CallTurns: 4, Calls: 7, ParallelTurns: 2, Errors: 2, Unanswered: 1, Distinct: 3,
		MaxInARow: 2, MaxInAll: 3, MaxAlternate: 4, MaxErrors: 2, IDMissing: 1, IDReused: 1, ArgsEmpty: 1, ArgsInvalid: 2}
	if got := r.Counts(); got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}
