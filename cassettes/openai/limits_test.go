package openai

import (
	"io"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/agentbench-go/agentbench/loop"
)

// endless returns a text again and again, without end.
type endless struct {
	text string
	at   int
}

func (e *endless) Read(p []byte) (n int, err error) {
	for n < len(p) {
		k := copy(p[n:], e.text[e.at:])
		n += k
		e.at = (e.at + k) % len(e.text)
	}
	return n, nil
}

// endlessly makes a model whose server begins with a text and then repeats
// another for ever.
func endlessly(t *testing.T, w way, status int, begin, repeat string) loop.Model {
	t.Helper()
	return connect(t, w.settings("http://h"), roundTripper(func(*http.Request) (*http.Response, error) {
		body := io.MultiReader(strings.NewReader(begin), &endless{text: repeat})
		return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {asEvents}}, Body: io.NopCloser(body)}, nil
	}))
}

// Whatever a server sends, without end or in many parts, is refused before it
// fills the memory.
func TestLimits(t *testing.T) {
	const (
		large  = "the answer is larger than 32 MiB"
		parts  = "the answer's JSON has more than 100000 parts"
		many   = "the reply asks for more than 10000 calls"
		reply8 = "the reply is larger than 8 MiB"
	)
	piece := func(text string) string {
		return events(`{"choices":[{"index":0,"delta":{"content":"` + text + `"}}]}`)
	}
	for _, test := range []struct {
		name          string
		way           way
		begin, repeat string
		want          string
	}{
		{"a text without end", chat, `{"choices":[{"message":{"content":"`, "x", large},
		{"a text without end", responsesWhole, `{"output":[{"content":"`, "x", large},
		{"choices without end", chat, `{"choices":[`, "null,", parts},
		{"nesting without end", chat, `{"choices":`, "[", parts},
		{"items without end", responsesWhole, `{"output":[`, `{},`, parts},
		{"an event without end", chatStream, `data: {"choices":[`, "{},", parts},
		{"an event in lines without end", chatStream, "data: {\"choices\":[\n", "data: {},\n", parts},
		{"a quote in a comment", chatStream, ": \"\ndata: {\"choices\":[", "{},", parts},
		{"a line without end", chatStream, "data: ", "x", large},
		{"comments without end", chatStream, "", ": x\n\n", large},
		{"pieces without end", chatStream, "", piece(strings.Repeat("x", 100<<10)), large},
		{"calls without end", chatStream, "", events(`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"name":"f","arguments":"{}"}}]}}]}`), many},
		{"items without end", responsesStream, "", typed(`{"type":"response.output_item.done","item":{"type":"message"}}`), many},
	} {
		t.Run(test.name+"/"+test.way.String(), func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			r, _, err := reply(t, endlessly(t, test.way, 200, test.begin, test.repeat))
			failed(t, r, err, 0, test.want)
			runtime.ReadMemStats(&after)
			if taken := after.HeapSys - min(before.HeapSys, after.HeapSys); taken > 512<<20 {
				t.Errorf("the heap grew by %d MiB", taken>>20)
			}
		})
	}
	t.Run("a refusal without end", func(t *testing.T) {
		r, _, err := reply(t, endlessly(t, chat, 500, "", "x"))
		failed(t, r, err, 500, "Internal Server Error: "+strings.Repeat("x", 500-len("Internal Server Error: "))+"…")
	})
	t.Run("a large text", func(t *testing.T) {
		r, _, err := reply(t, saying(t, `"content":"`+strings.Repeat("x", 8<<20+1)+`"`))
		failed(t, r, err, 0, reply8)
	})
	t.Run("a text of 8 MiB", func(t *testing.T) {
		r, _, err := reply(t, saying(t, `"content":"`+strings.Repeat("x", 8<<20)+`"`))
		if err != nil || len(r.Text) != 8<<20 {
			t.Errorf("%d bytes, %v", len(r.Text), err)
		}
	})
	t.Run("a text that looks like JSON", func(t *testing.T) { // none of its 200,000 commas parts anything
		r, _, err := reply(t, saying(t, `"content":"`+strings.Repeat(`\\\"{,[`, 200_000)+`"`))
		if want := strings.Repeat(`\"{,[`, 200_000); err != nil || r.Text != want {
			t.Errorf("%d bytes, want %d, %v", len(r.Text), len(want), err)
		}
	})
	calls := func(n int) string {
		return `"tool_calls":[` + strings.TrimSuffix(strings.Repeat(`{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}},`, n), ",") + `]`
	}
	t.Run("10,001 calls", func(t *testing.T) {
		r, _, err := reply(t, saying(t, calls(10_001)))
		failed(t, r, err, 0, many)
	})
	t.Run("10,000 calls", func(t *testing.T) {
		r, _, err := reply(t, saying(t, calls(10_000)))
		if err != nil || len(r.Calls) != 10_000 {
			t.Errorf("%d calls, %v", len(r.Calls), err)
		}
	})
	t.Run("a long finish reason", func(t *testing.T) {
		body := `{"choices":[{"message":{},"finish_reason":"` + strings.Repeat("x", 65) + `"}]}`
		r, _, err := reply(t, whole(t, body))
		failed(t, r, err, 0, "the finish reason is longer than 64 bytes")
	})
}

// A long stream of small events is within all bounds: the parts of one event
// count, not those of all.
func TestLongStream(t *testing.T) {
	const n = 20_000 // events of some 12 parts: 240,000
	stream := strings.Repeat(events(`{"choices":[{"index":0,"delta":{"content":"x","a":[1,2,3]}}]}`), n) + events(`{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`)
	for _, body := range []string{stream, strings.ReplaceAll(stream, "\n", "\r\n")} {
		m := whole(t, body)
		m.(*model).settings.Stream = true
		r, pieces, err := reply(t, m)
		if err != nil || len(r.Text) != n || len(pieces) != n+1 {
			t.Errorf("%d bytes in %d pieces, %v", len(r.Text), len(pieces), err)
		}
	}
}

// whole makes a model that is answered with a body.
func whole(t *testing.T, body string) loop.Model {
	t.Helper()
	return connect(t, chat.settings("http://h"), roundTripper(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Header: http.Header{"Content-Length": {strconv.Itoa(len(body))}}, Body: io.NopCloser(strings.NewReader(body))}, nil
	}))
}

// saying makes a model whose message holds a field.
func saying(t *testing.T, field string) loop.Model {
	t.Helper()
	return whole(t, `{"choices":[{"message":{`+field+`},"finish_reason":"stop"}]}`)
}
