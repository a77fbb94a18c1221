package serve

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/loop"
)

// replied is a message of the assistant; the calls are named by their ids.
func replied(text string, ids ...string) loop.Message {
	m := loop.Message{Role: loop.Assistant, Text: text}
	for _, id := range ids {
		m.Calls = append(m.Calls, loop.Call{ID: id, Name: "f", Args: "{}"})
	}
	return m
}

func result(id, text string) loop.Message {
	return loop.Message{Role: loop.ToolRole, CallID: id, Text: text}
}

func user(text string) loop.Message { return loop.Message{Role: loop.User, Text: text} }

// The history alone determines the step that answers a request.
func TestWhereARequestStands(t *testing.T) {
	f := []fakes.StepCall{call("f", "{}")}
	tests := []struct {
		name    string
		steps   []fakes.Step
		history []loop.Message
		want    string
	}{
		{"at the beginning", []fakes.Step{{Text: "one"}, {Text: "two"}}, []loop.Message{hi}, "one"},
		{"with nothing said", []fakes.Step{{Text: "one"}, {Text: "two"}}, nil, "one"},
		{"after a reply", []fakes.Step{{Text: "one"}, {Text: "two"}}, []loop.Message{hi, replied("one"), hi}, "two"},
		{"in a span", []fakes.Step{{Text: "one", Repeat: 2}, {Text: "two"}}, []loop.Message{hi, replied("one"), hi}, "one"},
		{"in its values", []fakes.Step{{Text: "${turn} ${call} ${seed}", Calls: append(f, f...), Repeat: fakes.Forever}}, []loop.Message{hi, replied("", "a", "b"), result("a", ""), result("b", "")}, "2 3 1"},
		{"right after a failure", []fakes.Step{{Repeat: 9, Calls: f}, {When: fakes.WhenFailed, Text: "oh"}}, []loop.Message{hi, replied("", "a"), result("a", "Error: no")}, "oh"},
		{"after a failure", []fakes.Step{{Text: "-", Calls: f, Repeat: 9}, {When: fakes.WhenFailed, Text: "oh", Repeat: 9}},
			[]loop.Message{hi, replied("", "a"), result("a", "Error: no"), replied("oh", "b"), result("b", "fine")}, "-"},
		{"a failure in a batch", []fakes.Step{{Text: "-", Calls: append(f, f...)}, {When: fakes.WhenFailed, Text: "oh"}}, []loop.Message{hi, replied("", "a", "b"), result("a", "error: no"), result("b", "fine")}, "oh"},
		{"all well", []fakes.Step{{Text: "-", Calls: append(f, f...)}, {When: fakes.WhenOK, Text: "good"}}, []loop.Message{hi, replied("", "a", "b"), result("a", "no error"), result("b", "fine")}, "good"},
		{"no results", []fakes.Step{{Text: "-", Repeat: 9}, {When: fakes.WhenOK, Text: "good"}}, []loop.Message{hi, replied("one"), user("And?")}, "-"},
		{"a failure as JSON", []fakes.Step{{Text: "-", Calls: f}, {When: fakes.WhenFailed, Text: "oh"}}, []loop.Message{hi, replied("", "a"), result("a", `{"isError":true}`)}, "oh"},
		{"a user message after the results", []fakes.Step{{Text: "-", Calls: f}, {When: fakes.WhenFailed, Text: "oh"}}, []loop.Message{hi, replied("", "a"), result("a", "Error: no"), user("Go on.")}, "oh"},
		{"denied", []fakes.Step{{Text: "-", Calls: f}, {When: fakes.WhenDenied, Text: "then not"}}, []loop.Message{hi, replied("", "a"), result("a", "Tool execution was not approved.")}, "then not"},
		{"vetoed", []fakes.Step{{Text: "-", Calls: f}, {When: fakes.WhenVetoed, Text: "then not"}}, []loop.Message{hi, replied("", "a"), result("a", "Error: This call was vetoed and not run.")}, "then not"},
		{"nudged", []fakes.Step{{Text: "-", Calls: f}, {When: fakes.WhenNudged, Text: "I stop"}},
			[]loop.Message{hi, replied("", "a"), result("a", "same"), user("Detector no-progress triggered: 3 calls of f are alike. Do not repeat it: try something else, or answer with what you have.")}, "I stop"},
		{"told something else", []fakes.Step{{Text: "-", Calls: f, Repeat: 9}, {When: fakes.WhenNudged, Text: "I stop"}}, []loop.Message{hi, replied("", "a"), result("a", "same"), user("Detector: yes. Go on.")}, "-"},
		{"cut off", []fakes.Step{{Text: "I w", Finish: "length"}, {Text: "-", Repeat: 9}, {When: fakes.WhenCut, Text: "short"}}, []loop.Message{hi, replied("I w"), user("Shorter.")}, "short"},
		{"cut off long ago", []fakes.Step{{Text: "I w", Finish: "length"}, {Text: "-", Repeat: 9}, {When: fakes.WhenCut, Text: "short", Repeat: 9}},
			[]loop.Message{hi, replied("I w"), user("Shorter."), replied("short"), user("And?")}, "-"},
		{"a condition that is used up", []fakes.Step{{Text: "-", Calls: f, Repeat: 9}, {When: fakes.WhenFailed, Text: "oh"}},
			[]loop.Message{hi, replied("", "a"), result("a", "Error: no"), replied("oh", "b"), result("b", "Error: no")}, "-"},
		// An empty reply leaves no message, so the second message here answered the
		// third request.
		{"after silence", []fakes.Step{{Text: "one"}, {}, {Text: "three"}, {Text: "four"}}, []loop.Message{hi, replied("one"), hi, replied("three"), hi}, "four"},
		{"after silence that was kept", []fakes.Step{{Text: "one"}, {}, {Text: "three"}, {Text: "four"}}, []loop.Message{hi, replied("one"), hi, replied(""), hi}, "three"},
		{"after silence without end", []fakes.Step{{Repeat: fakes.Forever}}, []loop.Message{hi, replied("mine"), hi}, ""},
		// The ids show that four calls came before the one that is left: in the replies
		// to the second and the third request.
		{"after messages were dropped", []fakes.Step{{Text: "one"}, {Text: "two", Calls: append(f, f...), Repeat: 2}, {Text: "four", Calls: f}, {Text: "five ${call}"}},
			[]loop.Message{hi, replied("four", "call_4_1"), result("call_4_1", "")}, "five 6"},
		{"after all messages of the script", []fakes.Step{{Text: "one", Calls: f}}, []loop.Message{hi, replied("", "call_900_1"), result("call_900_1", "")}, "!"},
		// Clients write the results of a batch in the order in which the calls ended, and
		// the calls of one reply as several messages.
		{"with results in another order", []fakes.Step{{Calls: append(f, f...)}, {When: fakes.WhenResult, Result: fakes.ResultIs{Contains: "second"}, Text: "the last"}, {Text: "-"}},
			[]loop.Message{hi, replied("", "call_1_1", "call_1_2"), result("call_1_2", "second"), result("call_1_1", "first")}, "the last"},
		{"with a reply in parts", []fakes.Step{{Calls: append(f, f...)}, {When: fakes.WhenFailed, Text: "two ${call}"}, {Text: "-"}},
			[]loop.Message{hi, replied("", "call_1_1"), result("call_1_1", "Error: no"), replied("", "call_1_2"), result("call_1_2", "fine")}, "two 3"},
		// A client greets itself, or shows the model how to work, before its task.
		{"after a greeting", []fakes.Step{{Text: "I look.", Calls: f}, {Text: "two"}}, []loop.Message{user("This is the folder."), replied("Thanks for the context!"), hi}, "I look."},
		{"after a greeting and a reply", []fakes.Step{{Text: "I look.", Calls: f}, {Text: "two"}},
			[]loop.Message{user("This is the folder."), replied("Thanks for the context!"), hi, replied("I look.", "call_1_1"), result("call_1_1", "")}, "two"},
		{"after an example", []fakes.Step{{Text: "one"}, {Text: "two"}}, []loop.Message{user("2+2?"), replied("", "x"), result("x", "4"), replied("It is four."), hi}, "one"},
		{"after an answer that was trimmed", []fakes.Step{{Text: "\n one "}, {Text: "two"}}, []loop.Message{hi, replied("one"), hi}, "two"},
		// The ids beat the count of messages, in either direction.
		{"with a message of the client's own", []fakes.Step{{Text: "one", Calls: f}, {Text: "two", Calls: f}, {Text: "three"}},
			[]loop.Message{hi, replied("one", "call_1_1"), result("call_1_1", ""), replied("(working)"), hi, replied("two", "call_2_1"), result("call_2_1", "")}, "three"},
		{"with ids of another's", []fakes.Step{{Text: "one", Calls: append(f, f...), Repeat: 9}}, []loop.Message{hi, replied("", "call_x9", "toolu_7"), result("call_x9", ""), result("toolu_7", "")}, "one"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for i := range tt.steps {
				tt.steps[i] = at(tt.steps[i])
			}
			each(t, func(t *testing.T, c client, stream bool) {
				if strings.Contains(tt.name, "kept") && c.path == "/v1/messages" {
					return // there an empty list of blocks means the same
				}
				s := serveSteps(t, tt.steps...)
				w := post(s, c.path, c.json(tt.history, stream))
				got := "!"
				switch {
				case w.Code == 200 && stream:
					got = c.events(t, parseEvents(t, w.Body.String())).Text
				case w.Code == 200:
					got = c.read(t, w.Body.Bytes()).Text
				}
				if got != tt.want {
					t.Errorf("got %q, want %q\n%s", got, tt.want, w.Body)
				}
			})
		})
	}
}

// Results are found by the number of their call.
func TestResultsInArguments(t *testing.T) {
	steps := []fakes.Step{{Repeat: 2, Calls: []fakes.StepCall{call("f", "{}"), call("f", "{}")}}, {Calls: []fakes.StepCall{call("h", `{"a":"${result:c2.id}","b":${result:last.n}}`)}}}
	for i := range steps {
		steps[i] = at(steps[i])
	}
	history := []loop.Message{hi, replied("", "x", "y"), result("x", "no"), result("y", `{"id":"q\"1"}`), replied("", "z", "u"), result("z", "no"), result("u", `{"n":[1,2]}`)}
	each(t, func(t *testing.T, c client, stream bool) {
		got := said(t, serveSteps(t, steps...), c, stream, history...)
		if len(got.Calls) != 1 || got.Calls[0].Args != `{"a":"q\"1","b":[1,2]}` || got.Calls[0].ID != "call_3_1" {
			t.Errorf("got %+v", got)
		}
	})
	w := post(serveSteps(t, steps...), "/v1/chat/completions", clients["chat"].json(append(history[:3:3], result("y", "no JSON"), history[4], history[5], history[6]), false))
	if want := `model[1]: the script ran dry: request m3, call \"h\": no value for ${result:c2.id}: the result of call c2 is not JSON: no JSON`; w.Code != 422 || !strings.Contains(w.Body.String(), want) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// The k-th of equal requests is the k-th try, until one is answered: then the count
// begins again.
func TestTries(t *testing.T) {
	step := at(fakes.Step{Text: "ok", Failures: []fakes.ModelFailure{{Status: 429, Latency: fakes.Instantly()}, {Status: 503, Latency: fakes.Instantly()}}})
	s := serveSteps(t, step, at(fakes.Step{Text: "two", Failures: []fakes.ModelFailure{{Status: 500, Latency: fakes.Instantly()}}, FailForever: true}))
	codes := func(header, path string, bodies ...string) string {
		var got []string
		for _, body := range bodies {
			r := httptest.NewRequest("POST", "http://localhost"+path, strings.NewReader(body))
			if header != "" {
				r.Header.Set("Authorization", header)
			}
			w := httptest.NewRecorder()
			s.ServeHTTP(w, r)
			got = append(got, fmt.Sprint(w.Code))
		}
		return strings.Join(got, " ")
	}
	c := clients["chat"]
	first, other := c.json([]loop.Message{hi}, false), c.json([]loop.Message{user("Ho")}, false)
	second := c.json([]loop.Message{hi, replied("ok"), hi}, false)
	tests := []struct {
		name, header, path string
		bodies             []string
		want               string
	}{
		{"once", "", c.path, []string{first, first, first}, "429 503 200"},
		{"anew", "", c.path, []string{first, first}, "429 503"},
		{"between others", "", c.path, []string{other, first, other, other}, "429 200 503 200"},
		{"with another seed", "", "/run/test/one/7" + c.path, []string{first, first, first}, "429 503 200"},
		{"with another key", "Bearer a", c.path, []string{first, first}, "429 503"},
		{"with a third key", "Bearer b", c.path, []string{first}, "429"},
		{"over another API", "", "/v1/messages", []string{first, first, first}, "429 503 200"},
		{"in another order, not streamed, with other metadata", "", c.path, []string{
			`{"model":"any","messages":[{"role":"user","content":"Hi"}],"stream":true,"client_metadata":{"try":"1"}}`,
			` {"client_metadata":{"try":"2"},"messages":[{"role":"user","content":"Hi"}],"model":"any"}`,
			`{"messages":[{"role":"user","content":"Hi"}],"model":"any","metadata":{"try":"3"}} `}, "429 503 200"},
		{"with another model", "", c.path, []string{`{"model":"a","messages":[{"role":"user","content":"Hi"}]}`, `{"model":"b","messages":[{"role":"user","content":"Hi"}]}`}, "429 429"},
		{"for ever", "", c.path, []string{second, second, second}, "500 500 500"},
	}
	for _, tt := range tests {
		if got := codes(tt.header, tt.path, tt.bodies...); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

// An empty reply is not an answer: the same request again is the next request.
func TestSilenceIsAskedAgain(t *testing.T) {
	s := serveSteps(t, at(fakes.Step{Repeat: 2}), at(fakes.Step{Text: "three", Failures: []fakes.ModelFailure{{Status: 429, Latency: fakes.Instantly()}}}))
	c := clients["chat"]
	body := c.json([]loop.Message{hi}, false)
	var got []string
	for range 6 {
		w := post(s, c.path, body)
		got = append(got, fmt.Sprint(w.Code, " ", strings.Contains(w.Body.String(), "three")))
	}
	if got, want := strings.Join(got, ", "), "200 false, 200 false, 429 false, 200 true, 200 false, 200 false"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	j := s.Journal()
	if e := j.Entries[3]; e.Request != 3 || e.Try != 2 || e.Step != "model[1]" {
		t.Errorf("the fourth is %+v", e)
	}
}

// A limited number of requests is remembered: the newest ones.
func TestTriesAreBounded(t *testing.T) {
	c := newTries(3)
	for key := range uint64(6) {
		c.add(key)
	}
	if got := c.add(5); got != 1 {
		t.Errorf("the newest was seen %d times", got)
	}
	if got := c.add(3); got != 1 {
		t.Errorf("the third newest was seen %d times", got)
	}
	for key := range uint64(6) {
		c.add(100 + key)
	}
	if got := c.add(0); got != 0 {
		t.Errorf("the oldest was seen %d times", got)
	}
	if n := len(c.young) + len(c.old); n > 6 {
		t.Errorf("%d are kept", n)
	}
	for range 2 * maxTries {
		c.add(7)
	}
	if got := c.add(7); got != maxTries {
		t.Errorf("counted up to %d", got)
	}
	c.forget(7)
	if got := c.add(7); got != 0 {
		t.Errorf("a forgotten one was seen %d times", got)
	}
}

// A reference to an item of the server counts as that item.
func TestItemReferences(t *testing.T) {
	s := serveSteps(t, at(fakes.Step{Text: "I look.", Calls: []fakes.StepCall{call("f", "{}"), call("f", "{}")}}), at(fakes.Step{Text: "after ${turn} ${call}"}))
	first := decode[struct{ Output []struct{ ID string } }](t, post(s, "/v1/responses", offering(`{"model":"any","input":"Hi"}`)).Body.String())
	input := []object{{"role": "user", "content": "Hi"}}
	for _, item := range first.Output {
		input = append(input, object{"type": "item_reference", "id": item.ID})
	}
	input = append(input, object{"type": "reasoning", "summary": []string{}},
		object{"type": "function_call_output", "call_id": "call_1_1", "output": "a"}, object{"type": "function_call_output", "call_id": "call_1_2", "output": []object{{"type": "input_text", "text": "b"}}})
	body, err := json.Marshal(object{"model": "any", "input": input, "tools": offer("")})
	if err != nil {
		t.Fatal(err)
	}
	w := post(s, "/v1/responses", string(body))
	if got := readResponse(t, w.Body.Bytes()).Text; got != "after 2 3" {
		t.Errorf("got %s", w.Body)
	}
	j := s.Journal()
	if e := j.Entries[1]; e.Messages != 4 || len(e.Problems) > 0 {
		t.Errorf("the journal has %+v", e)
	}
}

// Results that are read as denied, vetoed or failed calls, and results that are not.
func TestResultTexts(t *testing.T) {
	tests := []struct {
		text                   string
		failed, denied, vetoed bool
	}{
		{"", false, false, false},
		{"fine", false, false, false},
		{"Error: no such file", true, false, false},
		{" ERROR no such file", true, false, false},
		{"Errors were found: 0", true, false, false}, // it cannot be distinguished
		{"no error", false, false, false},
		{`{"error":"no such file"}`, true, false, false},
		{`{"error":{"code":5}}`, true, false, false},
		{`{"error":null,"isError":false}`, false, false, false},
		{`{"error":""}`, false, false, false},
		{`{"a":{"error":"x"}}`, false, false, false},
		{`{"error":"x"`, false, false, false},
		{"Error: Permission denied by the user: no", true, true, false},
		{"Tool call execution denied.", true, true, false},
		{"bash: permission denied", false, false, false},
		{"Error: Circuit breaker triggered: f was asked for 5 times in a row with the same arguments.", true, false, true},
		{"Error: search is disabled after 3 failures in a row; try again in 30s.", true, false, true},
		{"Detector of smoke", false, false, false},
		{"At most 5 pages", false, false, false},
	}
	for _, tt := range tests {
		if got := failedText(tt.text); got != tt.failed {
			t.Errorf("%q failed: %v", tt.text, got)
		}
		if d, v := denied(tt.text), vetoed(tt.text); d != tt.denied || v != tt.vetoed {
			t.Errorf("%q denied: %v, vetoed: %v", tt.text, d, v)
		}
	}
}

// A request without tools after calls asks for a last word.
func TestLastWord(t *testing.T) {
	steps := []fakes.Step{at(fakes.Step{Repeat: fakes.Forever, Calls: []fakes.StepCall{call("f", "{}")}}), at(fakes.Step{When: fakes.WhenFinal, Text: "bye", Repeat: fakes.Forever})}
	called := []loop.Message{hi, replied("", "call_1_1"), result("call_1_1", "fine")}
	tools := []object{{"type": "function"}}
	tests := []struct {
		name    string
		history []loop.Message
		fields  object
		want    string
	}{
		{"no tools at the beginning", []loop.Message{hi}, nil, asideText},
		{"tools", called, object{"tools": tools}, ""},
		{"no tools", called, nil, "bye"},
		{"an empty list", called, object{"tools": []object{}}, "bye"},
		{"tools that may not be called", called, object{"tools": tools, "tool_choice": "none"}, "bye"},
		{"the same in Anthropic's words", called, object{"tools": tools, "tool_choice": object{"type": "none"}}, "bye"},
		{"tools that may be called", called, object{"tools": tools, "tool_choice": "auto"}, ""},
	}
	for _, tt := range tests {
		each(t, func(t *testing.T, c client, stream bool) {
			body := c.body(tt.history, false)
			delete(body, "tools")
			for name, v := range tt.fields {
				body[name] = v
			}
			text, err := json.Marshal(body)
			if err != nil {
				t.Fatal(err)
			}
			if got := c.read(t, post(serveSteps(t, steps...), c.path, string(text)).Body.Bytes()); got.Text != tt.want {
				t.Errorf("%s: got %+v, want %q", tt.name, got, tt.want)
			}
		})
	}
}

// The draws of a step depend only on the seed of the request and the name of the
// scenario.
func TestStatesBySeed(t *testing.T) {
	step := func(state string, next ...fakes.Transition) fakes.Step {
		return at(fakes.Step{State: state, Text: state, Next: next})
	}
	to := []fakes.Transition{{State: "a", Weight: 1}, {State: "b", Weight: 1}}
	script := &fakes.Script{Name: "test/one", Model: []fakes.Step{step("a", to...), step("b", to...)}}
	nameless := *script
	nameless.Name = ""
	s, err := New([]Scenario{{"test/one", &nameless}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	history := []loop.Message{hi}
	for range 9 {
		history = append(history, replied("a b"), hi)
	}
	c, seen := clients["chat"], map[string]int{}
	for seed := range uint64(40) {
		model, err := fakes.NewModel(script, seed)
		if err != nil {
			t.Fatal(err)
		}
		var course fakes.Course
		want := 0
		for range 10 {
			want = model.Next(&course, fakes.Before{})
		}
		got := c.read(t, post(s, fmt.Sprintf("/run/test/one/%d%s", seed, c.path), c.json(history, false)).Body.Bytes()).Text
		if got != script.Model[want].State {
			t.Errorf("seed %d: got %s, want %s", seed, got, script.Model[want].State)
		}
		seen[got]++
	}
	if len(seen) != 2 {
		t.Errorf("all seeds give the same: %v", seen)
	}
}
