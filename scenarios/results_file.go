package scenarios

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/loop"
)

// A ResultWriter writes a results file: JSON Lines, first a header, then one line for
// each trial, then the end. The same header and results lead to the same bytes. Each
// line is one Write, unless Append writes it. A file without its end is not whole.
type ResultWriter struct {
	w     io.Writer
	buf   bytes.Buffer
	enc   *json.Encoder
	lines int
	sum   hash.Hash // of the lines
}

// NewResultWriter writes the header to w.
func NewResultWriter(w io.Writer, h Header) (*ResultWriter, error) {
	rw := NewResultLines(w)
	return rw, rw.Line(h)
}

// NewResultLines returns a writer of lines without the header and the end of a file, for
// [ResultWriter.Append] to take once the header is known.
func NewResultLines(w io.Writer) *ResultWriter {
	rw := &ResultWriter{w: w, sum: sha256.New()}
	rw.enc = json.NewEncoder(&rw.buf)
	rw.enc.SetEscapeHTML(false)
	return rw
}

// Append writes lines that a writer of [NewResultLines] wrote.
func (w *ResultWriter) Append(lines io.Reader) error {
	from := bufio.NewReader(lines)
	for {
		part, err := from.ReadSlice('\n')
		if err == nil {
			w.lines++
		}
		w.sum.Write(part)
		if _, err := w.w.Write(part); err != nil {
			return err
		}
		if err == io.EOF {
			return nil
		} else if err != nil && err != bufio.ErrBufferFull {
			return err
		}
	}
}

// Write writes the line of a result, redacted: see [Result.Redacted].
func (w *ResultWriter) Write(r *Result) error { return w.Line(r.Redacted()) }

// Line writes v as a line. The JSON of v has a type.
func (w *ResultWriter) Line(v any) error {
	w.buf.Reset()
	if err := w.enc.Encode(v); err != nil {
		return err
	}
	line := text.JSON(w.buf.Bytes())
	w.lines++
	w.sum.Write(line)
	_, err := w.w.Write(line)
	return err
}

// End writes the last line of a whole file: how many lines come before it, and the
// SHA-256 of their bytes.
func (w *ResultWriter) End() error {
	return w.Line(endLine{kindEnd, w.lines, hex.EncodeToString(w.sum.Sum(nil))})
}

// Interrupt writes the last line of a file that is not whole: how many trials it has,
// and of how many that were planned; 0 = unknown.
func (w *ResultWriter) Interrupt(trials, of int) error {
	return w.Line(interruptedLine{kindInterrupted, trials, of})
}

// Types of lines that end a file.
const (
	kindEnd         = "end"
	kindInterrupted = "interrupted"
)

type endLine struct {
	Type   string `json:"type"`
	Lines  int    `json:"lines"`
	SHA256 string `json:"sha256"`
}

type interruptedLine struct {
	Type   string `json:"type"`
	Trials int    `json:"trials"`
	Of     int    `json:"of,omitempty"`
}

// maxLine bounds a line of a results file, in bytes: a trace can be long.
const maxLine = 64 << 20

// ReadResults reads a results file and calls header and each with its lines. Its errors
// begin with name:line. A file may be several files joined: each is a part, from its
// header to its end. ReadResults ignores unknown keys, empty lines and lines of other
// types. It fails on an empty file, on a trial without scenario, label, variant,
// end_state or calls, and on a second trial with the same scenario, variant and seed.
// It stops at an error of header or each and returns it.
//
// The first result says what the file lacks to be whole; nil = nothing. Gaps are a part
// without its header or end, other lines than the end counts, more trials than the
// header announces, and types of lines and verdicts that this version does not know.
// The caller finds missing trials: they may be in other files.
func ReadResults(r io.Reader, name string, header func(*Header) error, each func(*Result) error) ([]string, error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 64<<10), maxLine)
	f := &resultsFile{name: name, seen: map[trialKey]int{}, verdicts: map[Verdict]int{}, kinds: map[string]int{}, header: header, each: each}
	n := 0
	for lines.Scan() {
		n++
		if err := f.line(lines.Bytes(), n); err != nil {
			if n == 1 && isYAML(name) {
				return nil, fmt.Errorf("%s: is not a results file, of which each line is JSON; agentbench run FILE runs a scenario", name)
			}
			return nil, fmt.Errorf("%s:%d: %w", name, n, err)
		}
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return nil, fmt.Errorf("%s:%d: the line is longer than %d bytes", name, n+1, maxLine)
	} else if err != nil {
		return nil, fmt.Errorf("%s:%d: %s", name, n+1, text.Reason(err))
	}
	if !f.any {
		return nil, fmt.Errorf("%s: the file is empty, and a results file begins with a header", name)
	}
	return f.end(), nil
}

// A trialKey identifies a trial: no two trials of a file share it.
type trialKey struct {
	scenario, variant string
	seed              uint64
}

// A resultsFile holds the state of reading a results file.
type resultsFile struct {
	name     string
	any      bool // it has a line
	part     *part
	seen     map[trialKey]int
	verdicts map[Verdict]int // unknown verdicts, and the line of the first of each
	kinds    map[string]int  // unknown types of lines, and the line of the first of each
	gaps     []string
	header   func(*Header) error
	each     func(*Result) error
}

// A part of a results file goes from its header to its end.
type part struct {
	header *Header // nil = there is none
	first  int     // line
	lines  int     // before the end
	trials int
	sum    hash.Hash // of the lines
}

// otherKinds are the types of lines that other commands write.
var otherKinds = []string{"fuzz", "fuzz-invariant", "fuzz-failure", "request", "call", "served"}

func (f *resultsFile) line(line []byte, n int) error {
	var kind struct {
		Type *string `json:"type"`
	}
	blank := len(bytes.TrimSpace(line)) == 0
	if blank && f.part == nil {
		return nil
	}
	if !blank {
		f.any = true
		if err := decodeLine(line, &kind); err != nil {
			return err
		}
		if kind.Type == nil {
			return errors.New("the line has no type: it is not a line of a results file")
		}
		switch {
		case *kind.Type == "header":
			f.close()
			f.part = &part{first: n, sum: sha256.New()}
		case *kind.Type == kindEnd || *kind.Type == kindInterrupted:
			return f.last(*kind.Type, line, n)
		case f.part == nil:
			f.gap(n, "there is no header before this line")
			f.part = &part{first: n, sum: sha256.New()}
		}
	}
	f.part.lines++
	f.part.sum.Write(line)
	f.part.sum.Write([]byte{'\n'})
	switch {
	case blank:
	case *kind.Type == "header":
		return f.readHeader(line)
	case *kind.Type == "trial":
		return f.trial(line, n)
	case !slices.Contains(otherKinds, *kind.Type):
		note(f.kinds, *kind.Type, n)
	}
	return nil
}

// note keeps the number of the first line with a key, for at most mostGaps keys.
func note[K comparable](m map[K]int, key K, n int) {
	if m[key] == 0 && len(m) < mostGaps {
		m[key] = n
	}
}

// mostGaps bounds the gaps that are reported of one file.
const mostGaps = 10

// gap notes something that the file lacks to be whole.
func (f *resultsFile) gap(n int, format string, args ...any) {
	if len(f.gaps) < mostGaps {
		f.gaps = append(f.gaps, fmt.Sprintf("%s:%d: ", f.name, n)+fmt.Sprintf(format, args...))
	}
}

func (f *resultsFile) readHeader(line []byte) error {
	var h Header
	if err := decodeLine(line, &h); err != nil {
		return err
	}
	switch {
	case h.Schema != ResultsSchema && h.Schema != ResultsSchemaV1:
		return fmt.Errorf("the file's schema is %s; this version reads %s", quoted(h.Schema), ResultsSchema)
	case h.Trials < 0:
		return fmt.Errorf("trials must be 0 or more, not %d", h.Trials)
	case !slices.Contains([]Judged{"", JudgedOwn, JudgedPlain, JudgedForeign, JudgedNone}, h.Judged):
		return fmt.Errorf("judged must be %s, %s, %s or %s, not %s", JudgedOwn, JudgedPlain, JudgedForeign, JudgedNone, quoted(string(h.Judged)))
	}
	f.part.header = &h
	return f.header(&h)
}

func (f *resultsFile) trial(line []byte, n int) error {
	t, err := readTrial(line)
	if err != nil {
		return err
	}
	key := trialKey{t.Scenario, t.Variant, t.Seed}
	if first := f.seen[key]; first > 0 {
		return fmt.Errorf("%s under %s with seed %d appears twice, first in line %d", quoted(t.Scenario), quoted(t.Variant), t.Seed, first)
	}
	f.seen[key] = n
	f.part.trials++
	if !t.Verdict.Known() {
		note(f.verdicts, t.Verdict, n)
	}
	return f.each(t)
}

// last checks the last line of a part.
func (f *resultsFile) last(kind string, line []byte, n int) error {
	if kind == kindInterrupted {
		var last interruptedLine
		if err := decodeLine(line, &last); err != nil {
			return err
		}
		f.gap(n, "it was interrupted after %d", last.Trials)
		f.part = nil
		return nil
	}
	var last endLine
	if err := decodeLine(line, &last); err != nil {
		return err
	}
	p := f.part
	switch {
	case p == nil:
		f.gap(n, "there is no header before this end")
		return nil
	case last.Lines != p.lines:
		f.gap(n, "the end counts %s, but there are %d", text.Count(last.Lines, "line"), p.lines)
	case last.SHA256 != hex.EncodeToString(p.sum.Sum(nil)):
		f.gap(n, "the lines before the end are not those that were written")
	case p.header != nil && p.trials > p.header.Trials && p.header.Kind != "fuzz":
		f.gap(n, "the header announces %s, but there are %d", text.Count(p.header.Trials, "trial"), p.trials)
	}
	f.part = nil
	return nil
}

// close reports a part that has no end. Files of the first schema have none.
func (f *resultsFile) close() {
	p := f.part
	f.part = nil
	if p == nil || p.header != nil && p.header.Schema == ResultsSchemaV1 {
		return
	}
	f.gap(p.first+p.lines-1, "there is no end after this line")
}

// end returns what the file lacks.
func (f *resultsFile) end() []string {
	f.close()
	for _, kind := range slices.Sorted(maps.Keys(f.kinds)) {
		f.gap(f.kinds[kind], "this version does not know lines of the type %s", quoted(kind))
	}
	for _, v := range slices.Sorted(maps.Keys(f.verdicts)) {
		f.gap(f.verdicts[v], "this version does not know the verdict %s", quoted(string(v)))
	}
	return f.gaps
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
