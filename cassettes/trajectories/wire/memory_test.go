package wire

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// A speech is an element of a history in each API. %d is a number that tells it apart.
var speeches = map[string][]string{
	"chat": {
		`{"role":"user","content":"task %d"}`, `{"role":"system","content":"rule %d"}`, `{"role":"assistant","content":"text  %d\n"}`,
		`{"role":"assistant","content":null,"tool_calls":[{"id":"c%[1]d","type":"function","function":{"name":"f","arguments":"{\"a\": %[1]d}"}}]}`,
		`{"role":"tool","tool_call_id":"c%[1]d","content":[{"type":"text","text":"result %[1]d"}]}`, `null`,
	},
	"anthropic": {
		`{"role":"user","content":"task %d"}`, `{"role":"user","content":[{"type":"tool_result","tool_use_id":"c%[1]d","content":"result %[1]d","is_error":true},{"type":"text","text":"and %[1]d"}]}`,
		`{"role":"assistant","content":[{"type":"text","text":"text %[1]d"},{"type":"tool_use","id":"c%[1]d","name":"f","input":{"a":%[1]d}}]}`,
		`{"role":"system","content":"rule %d"}`, `{"role":"assistant","content":"more %d"}`, `{"role":"user","content":[{"type":"text","text":"marked %d","cache_control":{"type":"ephemeral"}}]}`,
	},
	"responses": {
		`{"role":"user","content":"task %d"}`, `{"role":"developer","content":"rule %d"}`, `{"type":"reasoning","id":"r%d","summary":[]}`,
		`{"type":"function_call","call_id":"c%[1]d","name":"f","arguments":"{\"a\":%[1]d}"}`, `{"type":"function_call_output","call_id":"c%d","output":"result"}`,
		`{"type":"message","role":"assistant","content":[{"type":"output_text","text":"text %d"}]}`,
	},
	"gemini": {
		`{"role":"user","parts":[{"text":"task %d"}]}`, `{"role":"model","parts":[{"text":"a"},{"functionCall":{"name":"f","args":{"a":%d}}}]}`,
		`{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"error":"%d"}}}]}`, `{"role":"model","parts":[{"text":"text %d"}]}`,
	},
	"bedrock": {
		`{"role":"user","content":[{"text":"task %d"}]}`, `{"role":"assistant","content":[{"toolUse":{"toolUseId":"c%[1]d","name":"f","input":{"a":%[1]d}}}]}`,
		`{"role":"user","content":[{"toolResult":{"toolUseId":"c%d","content":[{"text":"result"}],"status":"error"}}]}`,
	},
}

// Of each API: the path, and what requests begin and end with.
var framed = map[string]struct {
	path         string
	heads, tails []string
}{
	"chat":      {"/v1/chat/completions", []string{`{"model":"m","messages":[`, `{"messages":[`, `{"tools":[{"x":[1]}],"messages" : [ `}, []string{`]}`, `],"model":"n","stream":true}`, ` ] , "model" : "o" }`}},
	"anthropic": {"/v1/messages", []string{`{"model":"m","system":[{"type":"text","text":"be kind"}],"messages":[`, `{"messages":[`}, []string{`]}`, `],"system":"be brief","thread":{"previous_message_id":"p"}}`}},
	"responses": {"/v1/responses", []string{`{"model":"m","instructions":"be kind","input":[`, `{"input":[`}, []string{`]}`, `],"previous_response_id":"p"}`, `],"conversation":{"id":"k"}}`}},
	"gemini":    {"/v1beta/models/m:generateContent", []string{`{"contents":[`, `{"systemInstruction":{"parts":[{"text":"be kind"}]},"contents":[`}, []string{`]}`, `],"generationConfig":{"contents":[1]}}`}},
	"bedrock":   {"/model/m/converse", []string{`{"messages":[`}, []string{`]}`, `],"system":[{"text":"be kind"}]}`}},
}

// odd are requests that are broken, or that only look as if a memory could read them.
var odd = map[string][]string{
	"chat": {`{"messages":[`, `{"messages":[{"role":"user","content":"task 1"}`, `{"messages":[{"role":"user","content":"task 1"},]}`, `{"messages":[{"role":"user","content":"task 1"} {"role":"user"}]}`,
		`{"messages":[{"role":"user","content":"task 1"}],"messages":[]}`, `{"messages":[{"role":"user","content":"task 1"}],"Messages":[{"role":"user","content":"twice"}]}`,
		`{"messages":[12]}`, `{"messages":[1,{"role":"user"}]}`, `{"messages":[{"role":5}]}`, `{"messages":[{"role":"user","content":"task 1"}]`, `{"messages":[{"role":"user","content":"task 1"}]]}`,
		`{"messages":[]}`, `{"messages":null}`, `{"messages":{}}`, `{}`, `[]`, ``, `{"messages":[{"role":"user","content":"task 1",}]}`, `{"model":"m","messages":[nul]}`, `{"model":"m","messages":[],}`,
		"\xff{", `{"mess\u0061ges":[{"role":"user","content":"task 1"}]}`, `{"a":{"messages":[1]},"messages":[{"role":"user","content":"task 1"}]}`},
	"responses": {`{"input":"task 1"}`, `{"input":null}`, `{"model":"m"}`, `{"input":[5]}`, `{"input":"a","input":[]}`},
	"anthropic": {`{"messages":[{"role":"user","content":"task 1"}],"system":5}`, `{"messages":["a"]}`},
	"gemini":    {`{"contents":[{"parts":5}]}`, `{"contents":5}`},
	"bedrock":   {`{"messages":[5]}`, `{"messages":[{"content":"a"}]}`},
}

const answerOfAny = `{"id":"r","type":"message","object":"chat.completion","choices":[{"message":{"role":"assistant","content":"ok"},"finish_reason":"stop"}],"content":[{"type":"text","text":"ok"}],"stop_reason":"end_turn"}`

// TestMemory checks that a memory decodes what Decode decodes, and no less often of bodies
// that are broken: over histories that grow, branch, are edited, cut, compacted and
// framed otherwise, with few and with many histories remembered.
func TestMemory(t *testing.T) {
	for _, most := range []int{3, 1000} {
		m := NewMemory(most)
		rnd := rand.New(rand.NewPCG(uint64(most), 1))
		for _, api := range slices.Sorted(maps.Keys(speeches)) {
			some, frame := speeches[api], framed[api]
			element := func() string {
				speech := some[rnd.IntN(len(some))]
				if !strings.Contains(speech, "%") {
					return speech
				}
				return fmt.Sprintf(speech, rnd.IntN(9))
			}
			check := func(body string) {
				t.Helper()
				x := &Exchange{Method: "POST", URL: frame.path, Status: 200, Request: []byte(body), Response: []byte(answerOfAny)}
				want, wantWhy := Decode(x)
				got, keys, why := m.Decode(x)
				if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" || why != wantWhy {
					t.Fatalf("%s, %s\n(-without a memory, %s +with it, %s)\n%s", api, body, wantWhy, why, diff)
				}
				for i := range keys {
					if want := KeyOf(&got.Messages[i]); !want.Same(keys[i]) {
						t.Fatalf("%s, %s: the key of message %d is %v, want %v", api, body, i, keys[i], want)
					}
				}
				if got != nil && len(keys) != len(got.Messages) {
					t.Fatalf("%d keys for %d messages", len(keys), len(got.Messages))
				}
			}
			histories := [][]string{{}}
			for range 200 {
				at := rnd.IntN(len(histories))
				h := histories[at]
				switch rnd.IntN(12) {
				case 0: // a branch
					h = append([]string{}, h[:rnd.IntN(len(h)+1)]...)
				case 1: // an edit
					if h = append([]string{}, h...); len(h) > 0 {
						h[rnd.IntN(len(h))] = element()
					}
				case 2: // without the oldest
					h = append([]string{}, h[rnd.IntN(len(h)+1):]...)
				case 3: // one in the middle is gone
					if i := rnd.IntN(len(h) + 1); i < len(h) {
						h = append(append([]string{}, h[:i]...), h[i+1:]...)
					}
				case 4:
					h = []string{}
				}
				for range rnd.IntN(4) {
					h = append(h[:len(h):len(h)], element())
				}
				if len(h) > 40 {
					h = h[:40]
				}
				if histories[at] = h; len(histories) < 8 {
					histories = append(histories, h)
				}
				comma := []string{",", ",", ",", " ,\n "}[rnd.IntN(4)]
				check(frame.heads[rnd.IntN(len(frame.heads))] + strings.Join(h, comma) + frame.tails[rnd.IntN(len(frame.tails))])
				if rnd.IntN(4) == 0 {
					check(odd[api][rnd.IntN(len(odd[api]))])
				}
			}
			if n := m.known.Len(); n > most {
				t.Errorf("%d histories are remembered, more than %d", n, most)
			}
		}
	}
}

// TestMemoryDecodesOnce counts what is decoded: of a history that grows by two elements a
// request, two a request, however many agents talk at once.
func TestMemoryDecodesOnce(t *testing.T) {
	const agents, turns = 20, 30
	counting, n := chat, 0
	counting.said = func(raw json.RawMessage) (said, bool) {
		n++
		return chatSaid(raw)
	}
	m := NewMemory(100)
	histories := make([]string, agents)
	for turn := range turns {
		for i := range histories {
			if turn == 0 {
				histories[i] = `{"role":"system","content":"same"},{"role":"user","content":"the same task"}`
			} else {
				histories[i] += fmt.Sprintf(`,{"role":"assistant","tool_calls":[{"id":"c%d-%d","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c%[1]d-%[2]d","content":"ok"}`, i, turn)
			}
			if m.asked(&counting, []byte(`{"model":"m","messages":[`+histories[i]+`],"tools":[]}`)) == nil {
				t.Fatal("not decoded")
			}
		}
	}
	// The first request is decoded whole; all that follows shares its beginning.
	if want := 2 + agents*(turns-1)*2; n != want {
		t.Errorf("%d elements were decoded, want %d", n, want)
	}
}
