package loop

import (
	"slices"
	"testing"
)

func TestCheckHistory(t *testing.T) {
	user := Message{Ref: Ref{Kind: RefMessage, N: 1}, Role: User, Text: "go"}
	asks := func(ids ...string) Message {
		m := Message{Ref: Ref{Kind: RefModel, N: 1}, Role: Assistant}
		for i, id := range ids {
			m.Calls = append(m.Calls, Call{N: i + 1, ID: id})
		}
		return m
	}
	result := func(id string) Message { return Message{Role: ToolRole, CallID: id, Text: "ok"} }
	answer := Message{Role: Assistant, Text: "done"}
	tests := []struct {
		name string
		h    []Message
		want []string
	}{
		{"nothing", nil, nil},
		{"a question and its answer", []Message{user, answer, user}, nil},
		{"batches between users", []Message{user, asks("a", "b"), result("a"), result("b"), user, asks("c"), result("c"), answer}, nil},
		{"no user, after trimming", []Message{asks("a"), result("a")}, nil},
		{"one result is missing", []Message{user, asks("a", "b"), result("a"), user},
			[]string{`message 4 (u1): no result for the call id "b" before it`}},
		{"all results are missing at the end", []Message{user, asks("a", "b")},
			[]string{`message 3: no result for the call id "a" before it`, `message 3: no result for the call id "b" before it`}},
		{"a user comes between", []Message{asks("a"), user, result("a")},
			[]string{`message 2 (u1): no result for the call id "a" before it`,
				`message 3: a result for the call id "a", which is not asked for right before it or has its result`}},
		{"out of order", []Message{asks("a", "b", "c"), result("b"), result("c"), result("a")},
			[]string{`message 2: the result for the call id "b" comes before that for "a"`,
				`message 3: the result for the call id "c" comes before that for "a"`}},
		{"two results", []Message{asks("a"), result("a"), result("a")},
			[]string{`message 3: a result for the call id "a", which is not asked for right before it or has its result`}},
		{"an orphan", []Message{user, result("a"), answer},
			[]string{`message 2: a result for the call id "a", which is not asked for right before it or has its result`}},
		{"an id twice in a batch", []Message{asks("a", "a"), result("a"), result("a")},
			[]string{`message 1 (m1): the id "a" of call c2 was used before`}},
		{"an id twice in a history", []Message{asks("a"), result("a"), asks("a"), result("a")},
			[]string{`message 3 (m1): the id "a" of call c1 was used before`}},
		{"no id", []Message{asks(""), result("")}, []string{"message 1 (m1): call c1 has no id"}},
		{"an empty reply", []Message{user, {Role: Assistant}}, []string{"message 2: an assistant message has neither text nor calls"}},
		{"a blank reply", []Message{user, {Role: Assistant, Text: " \n"}}, []string{"message 2: an assistant message has neither text nor calls"}},
		{"no role", []Message{{}}, []string{"message 1: there is no role 0"}},
		{"a user with calls", []Message{{Role: User, Calls: asks("a").Calls}}, []string{"message 1: a user message has calls"}},
		{"a user with an answer", []Message{{Role: User, CallID: "a"}}, []string{`message 1: only a tool message answers a call id, here "a"`}},
		{"an orphan with calls", []Message{{Role: ToolRole, CallID: "a", Calls: asks("b").Calls}},
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

// Each pair must be the same arguments, and differ from the first of the next.
func TestAuditSame(t *testing.T) {
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
		if auditSame("f", pair[0]) != auditSame("f", pair[1]) {
			t.Errorf("%s and %s are the same arguments", pair[0], pair[1])
		}
		for _, other := range same[i+1:] {
			if auditSame("f", pair[0]) == auditSame("f", other[0]) {
				t.Errorf("%s and %s are not the same arguments", pair[0], other[0])
			}
		}
	}
	if auditSame("f", "{}") == auditSame("g", "{}") {
		t.Error("two tools are not the same call")
	}
}
