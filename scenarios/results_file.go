package scenarios

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/loop"
)

// A ResultWriter writes a results file: JSON Lines, first a header and then one line
// for each trial. The same header and results lead to the same bytes. Each line is one
// Write.
type ResultWriter struct {
	w   io.Writer
	buf bytes.Buffer
	enc *json.Encoder
}

// NewResultWriter writes the header to w.
func NewResultWriter(w io.Writer, h Header) (*ResultWriter, error) {
	rw := &ResultWriter{w: w}
	rw.enc = json.NewEncoder(&rw.buf)
	rw.enc.SetEscapeHTML(false)
	return rw, rw.line(h)
}

// Write writes the line of a result, redacted: see [Result.Redacted].
func (w *ResultWriter) Write(r *Result) error { return w.line(r.Redacted()) }

func (w *ResultWriter) line(v any) error {
	w.buf.Reset()
	if err := w.enc.Encode(v); err != nil {
		return err
	}
	_, err := w.w.Write(text.JSON(w.buf.Bytes()))
	return err
}

// maxLine bounds a line of a results file, in bytes: a trace can be long.
const maxLine = 64 << 20

// ReadResults reads a results file and calls header and each with its lines. Its errors
// begin with name:line. It ignores unknown keys, empty lines and lines of other types.
// It fails on a trial without scenario, label, variant, end_state or calls, and on a
// second trial with the same scenario, variant and seed. There may be several headers,
// or none. ReadResults stops at an error of header or each and returns it.
func ReadResults(r io.Reader, name string, header func(*Header) error, each func(*Result) error) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 64<<10), maxLine)
	seen := map[trialKey]int{}
	n := 0
	for lines.Scan() {
		n++
		if err := readLine(lines.Bytes(), n, seen, header, each); err != nil {
			return fmt.Errorf("%s:%d: %w", name, n, err)
		}
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return fmt.Errorf("%s:%d: the line is longer than %d bytes", name, n+1, maxLine)
	} else if err != nil {
		return fmt.Errorf("%s:%d: %s", name, n+1, text.Reason(err))
	}
	return nil
}

// A trialKey identifies a trial: no two trials of a file share it.
type trialKey struct {
	scenario, variant string
	seed              uint64
}

func readLine(line []byte, n int, seen map[trialKey]int, header func(*Header) error, each func(*Result) error) error {
	if len(bytes.TrimSpace(line)) == 0 {
		return nil
	}
	var kind struct {
		Type *string `json:"type"`
	}
	switch err := decodeLine(line, &kind); {
	case err != nil:
		return err
	case kind.Type == nil:
		return errors.New("the line has no type: it is not a line of a results file")
	case *kind.Type == "header":
		var h Header
		if err := decodeLine(line, &h); err != nil {
			return err
		}
		if h.Schema != ResultsSchema {
			return fmt.Errorf("the file's schema is %s; this version reads %s", quoted(h.Schema), ResultsSchema)
		}
		return header(&h)
	case *kind.Type == "trial":
		t, err := readTrial(line)
		if err != nil {
			return err
		}
		key := trialKey{t.Scenario, t.Variant, t.Seed}
		if first := seen[key]; first > 0 {
			return fmt.Errorf("%s under %s with seed %d appears twice, first in line %d", quoted(t.Scenario), quoted(t.Variant), t.Seed, first)
		}
		seen[key] = n
		return each(t)
	}
	return nil
}

// readTrial reads the line of a trial.
func readTrial(line []byte) (*Result, error) {
	var t struct {
		Result
		Scenario *string        `json:"scenario"`
		Label    *Label         `json:"label"`
		Variant  *string        `json:"variant"`
		EndState *loop.EndState `json:"end_state"`
		Calls    *int           `json:"calls"`
	}
	if err := decodeLine(line, &t); err != nil {
		return nil, err
	}
	for _, required := range []struct {
		key     string
		missing bool
	}{{"scenario", t.Scenario == nil}, {"label", t.Label == nil}, {"variant", t.Variant == nil},
		{"end_state", t.EndState == nil}, {"calls", t.Calls == nil}} {
		if required.missing {
			return nil, fmt.Errorf("the trial has no %s", required.key)
		}
	}
	r := &t.Result
	r.fromFile = true
	r.Scenario, r.Label, r.Variant, r.EndState, r.Calls = *t.Scenario, *t.Label, *t.Variant, *t.EndState, *t.Calls
	switch {
	case r.Label != Runaway && r.Label != Healthy && r.Label != "":
		return nil, fmt.Errorf("label must be %s, %s or empty, not %s", Runaway, Healthy, quoted(string(r.Label)))
	case r.Calls < 0:
		return nil, fmt.Errorf("calls must be 0 or more, not %d", r.Calls)
	}
	return r, nil
}

// decodeLine decodes JSON, and rewords the errors of the decoder.
func decodeLine(line []byte, v any) error {
	err := json.Unmarshal(line, v)
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return fmt.Errorf("the line is not JSON: at byte %d: %s", syntax.Offset, text.Line(syntax.Error()))
	case errors.As(err, &kind):
		field := strings.TrimPrefix(kind.Field, "Result.")
		return fmt.Errorf("%s cannot be a JSON %s", cmp.Or(field, "the line"), kind.Value)
	}
	return err
}
