package serve

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/loop"
)

// The calls of a reply can be changed to those of the client's own tools, and the
// script still knows its place.
func TestOwnCalls(t *testing.T) {
	each(t, func(t *testing.T, c client, stream bool) {
		var told [][]loop.ToolSpec
		script := &fakes.Script{Model: []fakes.Step{at(fakes.Step{Calls: []fakes.StepCall{call("read_file", `{"path":"a"}`)}}), at(fakes.Step{Text: "the second reply"})}}
		s, err := New([]Scenario{{"test/one", script}}, Options{OwnCalls: func(tools []loop.ToolSpec, calls []loop.AskedCall) {
			told = append(told, tools)
			for i := range calls {
				calls[i].Name, calls[i].Args = "look_up", `{"key":"k"}`
			}
		}})
		if err != nil {
			t.Fatal(err)
		}
		schema := object{"type": "object", "required": []string{"key"}}
		body := c.body([]loop.Message{hi}, stream)
		body["tools"] = []object{
			{"type": "function", "name": "look_up", "description": "Looks a key up", "parameters": schema, "input_schema": schema, "function": object{"name": "look_up", "description": "Looks a key up", "parameters": schema}},
			{"functionDeclarations": []object{{"name": "by_gemini", "parametersJsonSchema": schema}}},
		}
		text, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		if got := post(s, c.path, string(text)).Body.String(); !strings.Contains(got, "look_up") || strings.Contains(got, "read_file") {
			t.Errorf("the reply is %s", got)
		}
		want := []loop.ToolSpec{{Name: "look_up", Description: "Looks a key up", Input: `{"required":["key"],"type":"object"}`}, {Name: "by_gemini", Input: `{"required":["key"],"type":"object"}`}}
		if diff := cmp.Diff(want, told[0]); diff != "" {
			t.Error(diff)
		}
		history := []loop.Message{hi, {Role: loop.Assistant, Calls: []loop.Call{{ID: "other", Name: "look_up", Args: "{}"}}}, result("other", "v")}
		if got := post(s, c.path, c.json(history, stream)).Body.String(); !strings.Contains(got, "econd") {
			t.Errorf("the second reply is %s", got)
		}
	})
}

func TestReadResult(t *testing.T) {
	for text, want := range map[string][3]bool{
		"fine":                                 {},
		"Error: Permission denied by the user": {true, false, true},
		"Error: This call was vetoed":          {false, true, true},
		"Error: no such file":                  {false, false, true},
		`{"isError":true,"content":[{"type":"text","text":"x"}]}`: {false, false, true},
	} {
		denied, vetoed, failed := ReadResult(text)
		if got := [3]bool{denied, vetoed, failed}; got != want {
			t.Errorf("%q: %t, want %t", text, got, want)
		}
	}
}
