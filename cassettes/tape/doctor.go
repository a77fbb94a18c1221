package tape

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/agentbench-go/agentbench/internal/text"
)

// A Complaint is something that is wrong, or worth knowing, about an interaction.
type Complaint struct {
	Interaction int // its number, from 1; 0 = the cassette as a whole
	Wrong       bool
	Text        string
}

// String gives the complaint as a line.
func (c Complaint) String() string {
	word := "note"
	if c.Wrong {
		word = "wrong"
	}
	if c.Interaction == 0 {
		return word + ": " + c.Text
	}
	return fmt.Sprintf("%s: interaction %d: %s", word, c.Interaction, c.Text)
}

// Inspect looks at each interaction: streams that end too early though nothing
// broke, secrets, failures that were recorded, and answers to the same request,
// of which each is played once, in order.
func (c *Cassette) Inspect(r Redactor) []Complaint {
	var all []Complaint
	seen := map[string]int{}
	for i, in := range c.tape.Interactions {
		add := func(wrong bool, format string, args ...any) {
			all = append(all, Complaint{i + 1, wrong, fmt.Sprintf(format, args...)})
		}
		for _, text := range texts(in) {
			if rule := r.Leftover(text); rule != "" {
				add(true, "it holds a secret (%s)", rule)
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
			add(true, "the stream ends before its end")
		case readEvents(in.Response.Headers.Get(eventsHeader), len(pieces(isStream(in.Response.Headers), in.Response.Body))) == nil && in.Response.Body != "":
			add(false, "it does not say when its answer came")
		}
		key := in.Method + " " + in.URL + "\n" + in.Request.Body
		if first := seen[key]; first > 0 {
			add(false, "it answers the same request as interaction %d, after it", first)
		} else {
			seen[key] = i + 1
		}
	}
	return all
}

// ends are what the streams of the known APIs end with, as their last event says
// it: Chat Completions, Responses, Messages, Gemini.
var ends = []string{`[DONE]`, `"finish_reason":"`, `"response.completed"`, `"response.incomplete"`, `"response.failed"`, `"message_stop"`, `"finishReason":"`, `"error"`}

// lastEvents is how many events may tell that a stream has come to its end: the
// usage and other notes come behind the finish reason.
const lastEvents = 3

// ended reports whether a stream says that it has come to its end.
func ended(body string) bool {
	all := pieces(true, body)
	last := strings.Join(all[max(0, len(all)-lastEvents):], "")
	squeezed := strings.ReplaceAll(last, `": "`, `":"`)
	return slices.ContainsFunc(ends, func(end string) bool { return strings.Contains(squeezed, end) })
}

// Drift says how the shape of a request differs from that of the interaction that
// is nearest to it: the paths that only one of them has. nil = only values
// differ.
func (m *Miss) Drift() []string {
	recorded, asked := shape(m.recorded), shape(m.asked)
	var out []string
	for _, path := range slices.Sorted(maps.Keys(recorded)) {
		if !asked[path] {
			out = append(out, "no longer asked: "+path)
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

// shape gives the paths of a JSON body, all items of a list as one.
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
