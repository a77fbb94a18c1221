package secrets

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// A wire is how a streamed text is written.
type wire struct {
	name   string
	event  string // of a piece, %s
	before string
	after  string // %s is the whole text
}

var wires = []wire{
	{"chat", `data: {"id":"chatcmpl-1","choices":[{"index":0,"delta":{"content":"%s"},"finish_reason":null}]}` + "\n\n",
		`data: {"id":"chatcmpl-1","choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}` + "\n\n",
		"data: [DONE]\n\n"},
	{"anthropic", "event: content_block_delta\ndata: " + `{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"%s"}}` + "\r\n\r\n",
		"event: ping\r\ndata: {\"type\": \"ping\"}\r\n\r\n",
		"event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"},
	{"responses", `data: {"type":"response.output_text.delta","item_id":"msg_1","output_index":0,"content_index":0,"delta":"%s","sequence_number":4}` + "\n\n",
		": comment\n\n",
		`data: {"type":"response.output_text.done","item_id":"msg_1","output_index":0,"content_index":0,"text":"%[1]s"}` + "\n\n" +
			`data: {"type":"response.completed","response":{"output":[{"type":"message","content":[{"type":"output_text","text":"%[1]s"}]}]}}` + "\n\n"},
	{"gemini", `data: {"candidates":[{"content":{"parts":[{"text":"%s"}],"role":"model"}}],"modelVersion":"gemini-1"}` + "\r\n\r\n", "", ""},
}

// written writes a text that comes in pieces.
func (w wire) written(pieces ...string) string {
	var b strings.Builder
	b.WriteString(w.before)
	for _, p := range pieces {
		fmt.Fprintf(&b, w.event, escaped(p, false))
	}
	if strings.Contains(w.after, "%") {
		fmt.Fprintf(&b, w.after, escaped(strings.Join(pieces, ""), false))
	} else {
		b.WriteString(w.after)
	}
	return b.String()
}

func TestPlantsInStreams(t *testing.T) {
	for _, p := range plants() {
		for i, w := range wires {
			text, step := p.text(), 1
			if i > 0 {
				step = 7 // every place for one of the wires
			}
			r := redactor(t, Options{})
			want := r.Text(text)
			cuts := [][]string{strings.Split(text, "")}
			for at := 1; at < len(text); at += step {
				cuts = append(cuts, []string{text[:at], text[at:]})
			}
			for _, cut := range cuts {
				in := w.written(cut...)
				out := r.Body("text/event-stream", in)
				gone(t, r, p, in, out)
				if got := w.read(t, out, len(cut)); got != want {
					t.Fatalf("%s in %s: %q is read, not %q, in\n%s", p.kind, w.name, got, want, out)
				}
				if len(r.Count()) != 1 || r.Count()[p.rule] != 1 {
					t.Fatalf("%s in %s: %v were found, not one of %s, in\n%s", p.kind, w.name, r.Count(), p.rule, out)
				}
			}
		}
	}
}

// read puts the pieces of a stream together that written has written. All else
// must be as it was.
func (w wire) read(t *testing.T, stream string, pieces int) string {
	t.Helper()
	rest, ok := strings.CutPrefix(stream, w.before)
	if !ok {
		t.Fatalf("%s: what comes before the pieces has changed: %q", w.name, stream)
	}
	head, tail, _ := strings.Cut(w.event, "%s")
	var all strings.Builder
	for range pieces {
		if rest, ok = strings.CutPrefix(rest, head); !ok {
			t.Fatalf("%s: an event has changed: %q", w.name, rest)
		}
		var piece string
		piece, rest, ok = strings.Cut(rest, tail)
		if !ok {
			t.Fatalf("%s: an event does not end: %q", w.name, rest)
		}
		all.WriteString(piece)
	}
	after := w.after
	if strings.Contains(after, "%") {
		after = fmt.Sprintf(after, all.String())
	}
	if rest != after {
		t.Fatalf("%s: behind the pieces is %q, not %q", w.name, rest, after)
	}
	var text string
	if err := json.Unmarshal([]byte(`"`+all.String()+`"`), &text); err != nil {
		t.Fatalf("%s: %v: %q", w.name, err, all.String())
	}
	return text
}

// A placeholder stands in the first piece, and events without a secret stay.
func TestStreamPieces(t *testing.T) {
	in := wires[0].written("Write to ja", jane[2:8], jane[8:], " now", ".")
	want := wires[0].written("Write to [email-1]", "", "", " now", ".")
	r := redactor(t, Options{})
	if got := r.Body("text/event-stream", in); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// The arguments of calls are JSON in a string.
var calls = map[string]string{
	"chat":      `data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":%d,"function":{"arguments":"%s"}}]}}]}` + "\n\n",
	"anthropic": "event: content_block_delta\ndata: " + `{"type":"content_block_delta","index":%d,"delta":{"type":"input_json_delta","partial_json":"%s"}}` + "\n\n",
	"responses": `data: {"type":"response.function_call_arguments.delta","item_id":"fc_1","output_index":%d,"delta":"%s"}` + "\n\n",
}

// The index of a call says whose piece it is.
func TestStreamArguments(t *testing.T) {
	loud := `{"to":"` + escaped(jane, true) + `"}`
	for kind, format := range calls {
		event := func(index int, piece string) string { return fmt.Sprintf(format, index, escaped(piece, false)) }
		for at := range len(loud) {
			in := event(0, loud[:at]) + event(1, `{"to":"`+bob[:5]) + event(0, loud[at:]) + event(1, bob[5:]+`"}`)
			r := redactor(t, Options{})
			out := r.Body("text/event-stream", in)
			gone(t, r, plant{kind: kind, value: jane}, in, out)
			gone(t, r, plant{kind: kind, value: bob}, in, out)
			if r.Count()["email"] != 2 || len(r.Count()) != 1 {
				t.Errorf("%s, %d: %v in %s", kind, at, r.Count(), out)
			}
		}
	}
}

// Not by their place in the array, even if that changes.
func TestStreamPlaces(t *testing.T) {
	event := func(index int, piece string) string { return fmt.Sprintf(calls["chat"], index, escaped(piece, false)) }
	both := `data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"function":{"arguments":"%s"}},{"index":0,"function":{"arguments":"%s"}}]}}]}` + "\n\n"
	in := event(0, jane[:7]) + fmt.Sprintf(both, bob[:6], jane[7:14]) + event(1, bob[6:]) + event(0, jane[14:])
	want := event(0, "[email-1]") + fmt.Sprintf(both, "[email-2]", "") + event(1, "") + event(0, "")
	if got := redactor(t, Options{}).Body("", in); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// What differs in where it stands is not put together.
func TestStreamItems(t *testing.T) {
	const format = `data: {"type":"%s","item_id":"%s","output_index":%s,"content_index":%s,"index":%s,"delta":"%s"}` + "\n\n"
	event := func(where []any, piece string) string { return fmt.Sprintf(format, append(where, piece)...) }
	for i := range 5 {
		first, second := []any{"a", "a", "0", "0", "0"}, []any{"a", "a", "0", "0", "0"}
		same := event(first, jane[:5]) + event(second, jane[5:])
		if got, want := redactor(t, Options{}).Body("", same), event(first, "[email-1]")+event(second, ""); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
		second[i] = []any{"b", "b", "1", "1", "1"}[i]
		other := event(first, jane[:5]) + event(second, jane[5:])
		if got := redactor(t, Options{}).Body("", other); got != other {
			t.Errorf("%s\nbecomes\n%s", other, got)
		}
	}
}

// Gemini's API streams an array of events if it is not asked for SSE.
func TestChunks(t *testing.T) {
	const format = "[{\n  \"candidates\": [{\"content\": {\"parts\": [{\"text\": \"%s\"}]}}]\n}\n,\r\n{\"candidates\": [{\"content\": {\"parts\": [{\"text\": \"%s\"}]}}]}]\n"
	for at := 1; at < len(jane); at++ {
		r := redactor(t, Options{})
		if got, want := r.Body("application/json", fmt.Sprintf(format, "To "+jane[:at], jane[at:]+".")), fmt.Sprintf(format, "To [email-1]", "."); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	}
	// Any other array holds values of their own.
	other := `[{"text":"` + jane[:5] + `"},{"text":"` + jane[5:] + `"}]`
	if got := redactor(t, Options{}).Body("application/json", other); got != other {
		t.Errorf("it becomes %s", got)
	}
}
