package audit

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/agentbench-go/agentbench/loop"
)

func TestCheckHistory(t *testing.T) {
	user := loop.Message{Ref: loop.Ref{Kind: loop.RefMessage, N: 1}, Role: loop.User, Text: "go"}
	asks := func(ids ...string) loop.Message {
		m := loop.Message{Ref: loop.Ref{Kind: loop.RefModel, N: 1}, Role: loop.Assistant}
		for i, id := range ids {
			m.Calls = append(m.Calls, loop.Call{N: i + 1, ID: id})
		}
		return m
	}
	result := func(id string) loop.Message { return loop.Message{Role: loop.ToolRole, CallID: id, Text: "ok"} }
	answer := loop.Message{Role: loop.Assistant, Text: "done"}
	tests := []struct {
		name string
		h    []loop.Message
		want []string
	}{
		{"nothing", nil, nil},
		{"a question and its answer", []loop.Message{user, answer, user}, nil},
		{"batches between users", []loop.Message{user, asks("a", "b"), result("a"), result("b"), user, asks("c"), result("c"), answer}, nil},
		{"no user, after trimming", []loop.Message{asks("a"), result("a")}, nil},
		{"one result is missing", []loop.Message{user, asks("a", "b"), result("a"), user},
			[]string{`message 4 (u1): no result for the call id "b" before it`}},
		{"all results are missing at the end", []loop.Message{user, asks("a", "b")},
			[]string{`message 3: no result for the call id "a" before it`, `message 3: no result for the call id "b" before it`}},
		{"a user comes between", []loop.Message{asks("a"), user, result("a")},
			[]string{`message 2 (u1): no result for the call id "a" before it`,
				`message 3: a result for the call id "a", which is not asked for right before it or has its result`}},
		{"out of order", []loop.Message{asks("a", "b", "c"), result("b"), result("c"), result("a")},
			[]string{`message 2: the result for the call id "b" comes before that for "a"`,
				`message 3: the result for the call id "c" comes before that for "a"`}},
		{"two results", []loop.Message{asks("a"), result("a"), result("a")},
			[]string{`message 3: a result for the call id "a", which is not asked for right before it or has its result`}},
		{"an orphan", []loop.Message{user, result("a"), answer},
			[]string{`message 2: a result for the call id "a", which is not asked for right before it or has its result`}},
		{"an id twice in a batch", []loop.Message{asks("a", "a"), result("a"), result("a")},
			[]string{`message 1 (m1): the id "a" of call c2 was used before`}},
		{"an id twice in a history", []loop.Message{asks("a"), result("a"), asks("a"), result("a")},
			[]string{`message 3 (m1): the id "a" of call c1 was used before`}},
		{"no id", []loop.Message{asks(""), result("")}, []string{"message 1 (m1): call c1 has no id"}},
		{"an empty reply", []loop.Message{user, {Role: loop.Assistant}}, []string{"message 2: an assistant message has neither text nor calls"}},
		{"a blank reply", []loop.Message{user, {Role: loop.Assistant, Text: " \n"}}, []string{"message 2: an assistant message has neither text nor calls"}},
		{"no role", []loop.Message{{}}, []string{"message 1: role 0 does not exist"}},
		{"a user with calls", []loop.Message{{Role: loop.User, Calls: asks("a").Calls}}, []string{"message 1: a user message has calls"}},
		{"a user with an answer", []loop.Message{{Role: loop.User, CallID: "a"}}, []string{`message 1: only a tool message answers a call id, here "a"`}},
		{"an orphan with calls", []loop.Message{{Role: loop.ToolRole, CallID: "a", Calls: asks("b").Calls}},
			[]string{"message 1: a tool message has calls",
				`message 1: a result for the call id "a", which is not asked for right before it or has its result`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := CheckHistory(tt.h); !slices.Equal(got, tt.want) {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
}

// The rules on the history find what chat APIs refuse, and where.
func TestHistoryRules(t *testing.T) {
	const start = "   0.000s started text=t\n          > ask m1#1 for=reply to=1\n"
	tests := []struct{ name, trace, want string }{
		{"clean", start + `   1.000s reply m1 call=a:x("{}") call=b:y("{}") finish=tool_calls
          > put c1 text=a
          > put c2 text=b
          > ask m2#1 for=reply to=4
   2.000s reply m2 text=done finish=stop
          > halt stop=done end=DONE reason=r answer=done turns=2 model_calls=2 asked=2 calls=2 elapsed=2s
`, ""},
		{"call without result", start + `   1.000s reply m1 call=a:x("{}") call=b:y("{}") finish=tool_calls
          > put c1 text=a
          > ask m2#1 for=reply to=3
`, "history@5"},
		{"results in another order", start + `   1.000s reply m1 call=a:x("{}") call=b:y("{}") finish=tool_calls
          > put c2 text=b
          > put c1 text=a
          > ask m2#1 for=reply to=4
`, "history@6"},
		{"two results of a call", start + `   1.000s reply m1 call=a:x("{}") finish=tool_calls
          > put c1 text=a
          > put c1 text=a
          > ask m2#1 for=reply to=4
`, "history@6"},
		{"id used twice", start + `   1.000s reply m1 call=a:x("{}") call=a:y("{}") finish=tool_calls
          > put c1 text=a
          > put c2 text=b
          > ask m2#1 for=reply to=4
`, "history@6"},
		{"id replaced", start + `   1.000s reply m1 call=a:x("{}") call=a:y("{}") finish=tool_calls
          > note c2 event=replaced-id text=b
          > put c1 text=a
          > put c2 text=b
          > ask m2#1 for=reply to=4
`, ""},
		{"no id", start + `   1.000s reply m1 call="":x("{}") finish=tool_calls
          > put c1 text=a
          > ask m2#1 for=reply to=3
`, "history@5"},
		{"empty reply kept", start + `   1.000s reply m1 finish=stop
          > ask m2#1 for=reply to=2
`, "history@4"},
		{"empty reply dropped", start + `   1.000s reply m1 finish=stop
          > drop m1
          > note m1 event=empty-reply
          > ask m2#1 for=reply to=1
`, ""},
		{"reply dropped without its result", start + `   1.000s reply m1 call=a:x("{}") finish=tool_calls
          > put c1 text=a
          > ask m2#1 for=reply to=3
   2.000s reply m2 text=b call=b:y("{}") finish=tool_calls
          > put c2 text=b
          > drop m1
          > ask m3#1 for=reply to=4
`, "history@9"},
		{"summary between a reply and its result", start + `   1.000s reply m1 call=a:x("{}") finish=tool_calls
          > put c1 text=a
          > put u2 to=3 text=s
          > ask m2#1 for=reply to=4
`, "history@6 history@6"},
		{"dropped twice", start + `   1.000s reply m1 finish=stop
          > drop m1
          > drop m1
          > ask m2#1 for=reply to=1
`, "number@5"},
		{"asked with another number", start + `   1.000s reply m1 call=a:x("{}") finish=tool_calls
          > put c1 text=a
          > ask m2#1 for=reply to=2
`, "asked-with@5"},
		{"reply that nobody asked for", start + `   1.000s reply m7 call=a:x("{}") finish=tool_calls
          > note m7 event=ignored
   2.000s failure m1
          > ask m2#1 for=reply to=1
`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			vs := Check(loop.Default(), loop.Task{Text: "t"}, nil, parse(t, tt.trace))
			vs = slices.DeleteFunc(vs, func(v Violation) bool {
				return !slices.Contains([]string{"history", "asked-with", "number"}, v.Rule)
			})
			if got := found(vs); got != tt.want {
				t.Errorf("found %s, want %q", list(vs), tt.want)
			}
		})
	}
}

// The check of a history that grows finds what a check of the whole history at
// each request and each halt finds, whatever is wrong with the trace.
func TestHistoryCheckGoesOn(t *testing.T) {
	traces, problems := storedTraces(t), 0
	for seed := range uint64(1500) {
		r := rand.New(rand.NewPCG(seed, 7))
		trace := traces[r.IntN(len(traces))]
		for range r.IntN(8) {
			trace = distort(trace, r)
		}
		b := read(loop.Off(), loop.Task{}, nil, trace, nil)
		var want []Violation
		seen := map[string]bool{}
		b.rebuild(func(it *item, h []*loop.Message) {
			if it.eff == nil || it.eff.Kind != loop.AskModel && it.eff.Kind != loop.Halt {
				return
			}
			for _, problem := range (&historyCheck{ids: map[string]bool{}}).check(h) {
				_, what, _ := strings.Cut(problem, ": ")
				if !seen[what] {
					want = append(want, Violation{Line: it.line, At: it.at, Message: problem})
				}
				seen[what] = true
			}
		})
		b.checkHistory()
		if !slices.Equal(b.found, want) {
			t.Fatalf("seed %d:\n%sgot%s\nwant%s", seed, trace, list(b.found), list(want))
		}
		problems += len(want)
	}
	if problems < 300 {
		t.Errorf("only %d problems in 1,500 distorted traces", problems)
	}
}

// Each pair must be the same arguments, and differ from the first of the next.
func TestSame(t *testing.T) {
	same := [][2]string{
		{`{"a":1,"b":[true,null]}`, `{ "b": [true, null],"a":1.0 }`},
		{`{"a":12345678901234567890}`, `{"a":1234567890123456789.0e1}`},
		{`{"a":12345678901234567891}`, `{"a":12345678901234567891}`},
		{`{"a":-0}`, `{"a":0e7}`},
		{`{"a":0.01}`, `{"a":1E-2}`},
		{`{"a":1e999999999999}`, `{"a":1e999999999999}`},
		{`{"a":"\u00e9"}`, `{"a":"é"}`},
		{`{"a":"1"}`, `{"a":"1"}`},
		{`{}`, ` {} `},
		{`[]`, `[]`},
		{`{"a":1} x`, `{"a":1} x`},
	}
	for i, pair := range same {
		if sameCall("f", pair[0]) != sameCall("f", pair[1]) {
			t.Errorf("%s and %s are the same arguments", pair[0], pair[1])
		}
		for _, other := range same[i+1:] {
			if sameCall("f", pair[0]) == sameCall("f", other[0]) {
				t.Errorf("%s and %s are not the same arguments", pair[0], other[0])
			}
		}
	}
	if sameCall("f", "{}") == sameCall("g", "{}") {
		t.Error("two tools are not the same call")
	}
}
