package loop

import (
	"encoding/json"
	"strings"
	"testing"
)

// Whatever a model writes: an action that is one, with valid JSON as arguments,
// and read again from its own JSON the same; or an error that says something.
func FuzzParseAction(f *testing.F) {
	for _, text := range []string{`{"action":"call_tool","name":"read","args":{"path":"a"}}`, "```json\n{\"action\":\"replan\",\"subgoals\":[\"a\"]}\n```",
		`{"action":"ask_user","missing_fields":["path"]}`, `{"action":"stop","reason":"x"} {`, `{"action":"call_tool","name":"r","args":{"a":1e999}}`, "```", "", "null", "[]"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		a, err := ParseAction(text)
		if err != nil {
			if strings.TrimSpace(err.Error()) == "" {
				t.Error("an error that says nothing")
			}
			return
		}
		switch a.Action {
		case ActionCall, ActionAsk, ActionReplan, ActionStop:
		default:
			t.Errorf("there is not an action %q", a.Action)
		}
		if a.Action == ActionCall && a.Name == "" || len(a.Args) > 0 && !json.Valid(a.Args) {
			t.Errorf("%+v is not an action", a)
		}
		one, err := json.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		again, err := ParseAction(string(one))
		if err != nil {
			t.Fatalf("%s: %v", one, err)
		}
		if two, err := json.Marshal(again); err != nil || string(one) != string(two) {
			t.Errorf("%s was read as %s, %v", one, two, err)
		}
	})
}
