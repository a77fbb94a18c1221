package audit

import (
	"slices"
	"testing"

	"github.com/agentbench-go/agentbench/loop"
)

func TestCheckAnthropicHistory(t *testing.T) {
	user := loop.Message{Ref: loop.Ref{Kind: loop.RefMessage, N: 1}, Role: loop.User, Text: "go"}
	call := loop.Message{Ref: loop.Ref{Kind: loop.RefModel, N: 1}, Role: loop.Assistant, Calls: []loop.Call{{N: 1, ID: "a", Name: "read"}}}
	result := loop.Message{Ref: loop.Ref{Kind: loop.RefCall, N: 1}, Role: loop.ToolRole, CallID: "a"}
	hint := loop.Message{Ref: loop.Ref{Kind: loop.RefMessage, N: 2}, Role: loop.User, Text: "come to an end"}
	answer := loop.Message{Ref: loop.Ref{Kind: loop.RefModel, N: 2}, Role: loop.Assistant, Text: "done"}
	for _, c := range []struct {
		name    string
		history []loop.Message
		want    []string
	}{
		{"nothing", nil, nil},
		{"as it should be", []loop.Message{user, call, result, hint, answer}, nil},
		{"an empty result may be", []loop.Message{user, call, result, answer}, nil},
		{"users in a row are one message", []loop.Message{user, hint, answer}, nil},
		{"a text before the results", []loop.Message{user, call, hint, result}, []string{
			`message 3 (u2): no result for the call id "a" before it`,
			`message 4 (c1): a result for the call id "a", which is not asked for right before it or has its result`}},
		{"no user first", []loop.Message{answer, user}, []string{"message 1 (m2): the first message must be the user's"}},
		{"a result first", []loop.Message{result}, []string{
			`message 1 (c1): a result for the call id "a", which is not asked for right before it or has its result`,
			"message 1 (c1): the first message must be the user's"}},
		{"two replies", []loop.Message{user, answer, answer}, []string{"message 3 (m2): two replies in a row"}},
		{"a blank user message", []loop.Message{{Role: loop.User, Text: " \n"}}, []string{"message 1: a user message has no text"}},
	} {
		if got := CheckAnthropicHistory(c.history); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}
