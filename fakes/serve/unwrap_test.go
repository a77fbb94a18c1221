package serve

import (
	"testing"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/loop"
)

// What clients make of the result {"next":2} and of failures.
func TestPlain(t *testing.T) {
	const next = `{"next":2}`
	tests := []struct {
		text, want string
		failed     bool
	}{
		{next, next, false},
		{"plain", "plain", false},
		{`[{"type":"text","text":"{\"next\":2}"}]`, next, false},
		{`[{"type":"input_text","text":"{\"next\":2}"}]`, next, false},
		{`{"content":[{"type":"text","text":"{\"next\":"},{"type":"text","text":"2}"}]}`, next, false},
		{`{"content":[{"type":"text","text":"no such file"}],"isError":true}`, "no such file", true},
		{"Wall time: 0.0021 seconds\nOutput:\n" + next, next, false},
		{"Wall time: 2 seconds\nOutput:" + `[{"type":"text","text":"{\"next\":2}"}]`, next, false},
		{"<untrusted_context>\n" + next + "\n</untrusted_context>", next, false},
		// What is no wrapping stays.
		{`[{"type":"text","text":"a"},{"type":"image","data":""}]`, `[{"type":"text","text":"a"},{"type":"image","data":""}]`, false},
		{`{"text":"a"}`, `{"text":"a"}`, false},
		{`{"content":"a","text":"b"}`, `{"content":"a","text":"b"}`, false},
		{`[{"type":"text","text":"a"`, `[{"type":"text","text":"a"`, false},
		{"[]", "[]", false},
		{"Wall time: long", "Wall time: long", false},
	}
	for _, tt := range tests {
		if got, failed := plain(tt.text); got != tt.want || failed != tt.failed {
			t.Errorf("%q: got %q, %v, want %q, %v", tt.text, got, failed, tt.want, tt.failed)
		}
	}
}

// The script reads results as the tool gave them; the observer sees them as the
// history holds them.
func TestWrappedResults(t *testing.T) {
	steps := []fakes.Step{at(fakes.Step{Calls: []fakes.StepCall{call("f", "{}")}}), at(fakes.Step{Calls: []fakes.StepCall{call("f", `{"page":${result:last.next}}`)}}),
		at(fakes.Step{When: fakes.WhenFailed, Text: "it failed"})}
	each(t, func(t *testing.T, c client, stream bool) {
		for text, want := range map[string]string{
			`[{"type":"text","text":"{\"next\":2}"}]`:                    `{"page":2}`,
			"Wall time: 0.1 seconds\nOutput:\n{\"next\":2}":              `{"page":2}`,
			"ToolException: no such file":                                "",
			"MCP error -32603: no such file":                             "",
			"tool call error: no such file":                              "",
			`{"content":[{"type":"text","text":"gone"}],"isError":true}`: "",
		} {
			got := said(t, serveSteps(t, steps...), c, stream, hi, replied("", "call_1_1"), result("call_1_1", text))
			if want == "" && got.Text != "it failed" || want != "" && (len(got.Calls) != 1 || got.Calls[0].Args != want) {
				t.Errorf("%q: got %+v", text, got)
			}
		}
	})
	s := serveSteps(t, steps...)
	var held string
	s.journal.observe = func(seen *Seen) { held = seen.History[2].Text }
	wrapped := `[{"type":"text","text":"{\"next\":2}"}]`
	post(s, "/v1/chat/completions", clients["chat"].json([]loop.Message{hi, replied("", "call_1_1"), result("call_1_1", wrapped)}, false))
	if held != wrapped {
		t.Errorf("the observer sees %q", held)
	}
}
