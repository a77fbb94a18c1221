package tape

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"strings"

	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/dnaeon/go-vcr/v2/cassette"
	"github.com/pmezard/go-difflib/difflib"
)

// A Miss is the error for a request that is not on the cassette. It wraps go-vcr's
// ErrInteractionNotFound.
type Miss struct {
	Number  int    // of the request in the conversation, from 1
	Request string // such as POST /v1/chat/completions
	Nearest int    // the number of the most similar interaction that was not played yet, 0 = none is left
	Diff    string // the first lines in which the bodies differ: - is the recorded body, + the new one
	err     error

	recorded, asked string // bodies
}

func (m *Miss) Error() string {
	text := fmt.Sprintf("request %d (%s) is not on the cassette", m.Number, m.Request)
	switch {
	case m.Nearest == 0:
		return text + ": the whole recording has been played"
	case m.Diff == "":
		return text + fmt.Sprintf(": interaction %d has another method, path or query", m.Nearest)
	}
	return text + fmt.Sprintf("; interaction %d is the nearest and differs:\n%s", m.Nearest, m.Diff)
}

func (m *Miss) Unwrap() error { return m.err }

// miss returns the error for a request that is not on the cassette.
func (t *Transport) miss(number int, asked cassette.Request, err error) *Miss {
	m := &Miss{Number: number, Request: asked.Method + " " + pathOf(asked.URL), err: err}
	want := lines(asked.Body)
	best := -1.0
	for i, in := range t.tape.Interactions {
		if t.played[in] {
			continue
		}
		ratio := alike(lines(in.Request.Body), want)
		if in.URL == asked.URL {
			ratio++
		}
		if ratio > best {
			best, m.Nearest, m.Diff = ratio, i+1, ""
		}
	}
	if m.Nearest > 0 {
		m.recorded, m.asked = t.tape.Interactions[m.Nearest-1].Request.Body, asked.Body
		m.Diff = diff(lines(t.tape.Interactions[m.Nearest-1].Request.Body), want)
	}
	return m
}

// alike returns the share of lines that two bodies have in common at their
// beginning. The requests of a conversation differ in their ends.
func alike(a, b []string) float64 {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return float64(n) / float64(max(len(a), len(b), 1))
}

const (
	maxDiffLines = 12
	maxDiffWidth = 160
)

// diff returns the first lines that differ.
func diff(recorded, asked []string) string {
	const most = 4000 // lines that are compared
	edits, err := difflib.GetUnifiedDiffString(difflib.UnifiedDiff{A: recorded[:min(len(recorded), most)], B: asked[:min(len(asked), most)], Context: 0})
	if err != nil {
		return ""
	}
	var out []string
	for line := range strings.Lines(edits) {
		line = strings.TrimRight(line, "\n")
		if strings.HasPrefix(line, "@@") {
			continue
		}
		if len(out) == maxDiffLines {
			out = append(out, "  …")
			break
		}
		out = append(out, "  "+text.Clip(line, maxDiffWidth))
	}
	return strings.Join(out, "\n")
}

// lines returns the lines of a body. A JSON body is indented first.
func lines(body string) []string {
	if v, ok := decode(body); ok {
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		if e.Encode(v) == nil {
			body = b.String()
		}
	}
	return difflib.SplitLines(body)
}

// form returns the form in which a body is compared: for JSON the canonical one.
func (t *Transport) form(body string) string {
	if f, ok := t.forms[body]; ok {
		return f
	}
	f := body
	if v, ok := decode(body); ok {
		if b, err := json.Marshal(v); err == nil {
			f = string(b)
		}
	}
	t.forms[body] = f
	return f
}

// decode parses a JSON object or array. Numbers keep their digits.
func decode(body string) (any, bool) {
	d := json.NewDecoder(strings.NewReader(body))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return nil, false
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, false // something follows it
	}
	switch v.(type) {
	case map[string]any, []any:
		return v, true
	}
	return nil, false
}

func pathOf(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return text
	}
	return u.RequestURI()
}
