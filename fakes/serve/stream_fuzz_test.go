package serve

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/loop"
	"github.com/google/go-cmp/cmp"
)

// FuzzStream: a client that shares no code with the server reads the text, the calls
// and the arguments of the script, streamed or not, for any texts and any number of
// pieces.
func FuzzStream(f *testing.F) {
	f.Add("Hello, world", "read", `{"path":"a.txt"}`, 3, 2)
	f.Add("", "read", "", 0, 1)
	f.Add("data: x\n\nevent: y\r\n: z\r", "a\nb", "{\"a\":\"\\u2028\u2028\"}", 40, 3)
	f.Add("日本語 👩‍👩‍👧‍👦", "名", `{"a":1e400,"a":"\ud800"}`, 5, 1)
	f.Add("[DONE]", "f", "[DONE]", 1, 0)
	f.Add("\x00\x1b\"\\", "\"", "\"", 2, 2)
	f.Add("x", "f", "\u2028", 2, 1)
	f.Add(" \t", "f", `"quoted"`, 0, 1)
	f.Fuzz(func(t *testing.T, text, name, args string, chunks, calls int) {
		if len(text)+len(name)+len(args) > 1<<12 || !utf8.ValidString(text+"|"+name+"|"+args) || strings.Contains(text+args, "${") || name == "" {
			t.Skip("too long, no text, or one with values of its own")
		}
		step := at(fakes.Step{Text: text, Chunks: min(max(chunks, 0), 50), Repeat: fakes.Forever})
		for range min(max(calls, 0), 4) {
			step.Calls = append(step.Calls, call(name, args))
		}
		script := &fakes.Script{Model: []fakes.Step{step}}
		if script.Validate() != nil {
			t.Skip("no script")
		}
		s := serveSteps(t, step)
		for api, c := range clients {
			for _, stream := range []bool{false, true} {
				got := said(t, s, c, stream, hi)
				if stream && !got.Ended {
					t.Errorf("%s: the stream has no end", api)
				}
				want := answer{Text: text, Finish: got.Finish, In: got.In, Out: got.Out, Ended: stream}
				for i := range step.Calls {
					id := ""
					if i < len(got.Calls) {
						id = got.Calls[i].ID
					}
					want.Calls = append(want.Calls, loop.AskedCall{ID: id, Name: name, Args: args})
					if api == "messages" && !stream {
						want.Calls[i].Args = asInput(args)
					}
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s, stream %v: %s", api, stream, diff)
				}
			}
		}
	})
}

// asInput returns the arguments that a client of the messages API reads if they are
// not streamed: that API sends them as a JSON value.
func asInput(args string) string {
	value := strings.Trim(args, " \t\r\n")
	var text string
	switch {
	case strings.TrimSpace(args) == "": // white space means no arguments, as in the loop
		return "{}"
	case !json.Valid([]byte(args)):
		return args // as a string
	case json.Unmarshal([]byte(args), &text) == nil && value[0] == '"':
		return text
	}
	return value
}
