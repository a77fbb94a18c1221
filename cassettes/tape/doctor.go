package tape

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/agentbench-go/agentbench/internal/text"
)

// A Problem is an error in a cassette, or a note about it.
type Problem struct {
	Interaction int  // its number, from 1; 0 = the whole cassette
	Wrong       bool // an error; false = a note
	Text        string
}

// String returns the problem as one line.
func (p Problem) String() string {
	word := "note"
	if p.Wrong {
		word = "error"
	}
	if p.Interaction == 0 {
		return word + ": " + p.Text
	}
	return fmt.Sprintf("%s: interaction %d: %s", word, p.Interaction, p.Text)
}

// Inspect returns the problems of each interaction. Errors are secrets, and streams
// that end too early without a recorded failure. Notes are recorded failures,
// answers without times, and several answers to one request; each of those is
// played once, in order.
func (c *Cassette) Inspect(r Redactor) []Problem {
	var all []Problem
	seen := map[string]int{}
	for i, in := range c.tape.Interactions {
		add := func(wrong bool, format string, args ...any) {
			all = append(all, Problem{i + 1, wrong, fmt.Sprintf(format, args...)})
		}
		for _, text := range texts(in) {
			if rule := r.Leftover(text); rule != "" {
				add(true, "it has a secret (%s)", rule)
				break
			}
		}
		failure := in.Response.Headers.Get(failureHeader)
		switch {
		case failure != "":
			add(false, "%s", failureOf(failure))
		case in.Code >= 400:
			add(false, "the endpoint answered with the status %d", in.Code)
		case isStream(in.Response.Headers) && !ended(in.Response.Body):
			add(true, "the stream breaks off")
		case readEvents(in.Response.Headers.Get(eventsHeader), len(pieces(isStream(in.Response.Headers), in.Response.Body))) == nil && in.Response.Body != "":
			add(false, "the times of its answer are missing")
		}
		key := in.Method + " " + in.URL + "\n" + in.Request.Body
		if first := seen[key]; first > 0 {
			add(false, "it answers the same request as interaction %d", first)
		} else {
			seen[key] = i + 1
		}
	}
	return all
}

// ends are the texts that mark the end of a stream in the known APIs: Chat
// Completions, Responses, Messages, Gemini.
var ends = []string{`[DONE]`, `"finish_reason":"`, `"response.completed"`, `"response.incomplete"`, `"response.failed"`, `"message_stop"`, `"finishReason":"`, `"error"`}

// lastEvents is how many of the last events may have the mark of the end. Events
// with the usage and other notes may follow the finish reason.
const lastEvents = 3

// ended reports whether a stream has the mark of its end.
func ended(body string) bool {
	all := pieces(true, body)
	last := strings.Join(all[max(0, len(all)-lastEvents):], "")
	squeezed := strings.ReplaceAll(last, `": "`, `":"`)
	return slices.ContainsFunc(ends, func(end string) bool { return strings.Contains(squeezed, end) })
}

// Drift returns how the shape of the request differs from that of the nearest
// interaction: the JSON paths that only one of them has. nil = only values differ.
func (m *Miss) Drift() []string {
	recorded, asked := shape(m.recorded), shape(m.asked)
	var out []string
	for _, path := range slices.Sorted(maps.Keys(recorded)) {
		if !asked[path] {
			out = append(out, "no longer in the request: "+path)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(asked)) {
		if !recorded[path] {
			out = append(out, "not on the cassette: "+path)
		}
	}
	const most = 20
	if len(out) > most {
		out = append(out[:most], fmt.Sprintf("and %d more", len(out)-most))
	}
	return out
}

// shape returns the paths of a JSON body. All items of a list have one path.
func shape(body string) map[string]bool {
	paths := map[string]bool{}
	var walk func(v any, at string)
	walk = func(v any, at string) {
		switch v := v.(type) {
		case map[string]any:
			for k, x := range v {
				name, _ := json.Marshal(k)
				walk(x, at+"."+text.Clip(strings.Trim(string(name), `"`), maxDiffWidth))
			}
		case []any:
			for _, x := range v {
				walk(x, at+"[]")
			}
		default:
			paths[at] = true
		}
	}
	if v, ok := decode(body); ok {
		walk(v, "$")
	}
	return paths
}
