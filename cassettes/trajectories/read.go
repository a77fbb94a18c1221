package trajectories

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agentbench-go/agentbench/cassettes/trajectories/wire"
	"github.com/agentbench-go/agentbench/internal/infile"
	"github.com/agentbench-go/agentbench/internal/text"
)

// Limits of what is read: bytes of a file and of a record in it, and how deep
// JSON may be nested.
const (
	maxFile   = 512 << 20
	maxRecord = 64 << 20
	maxDepth  = 1000
	maxName   = 80 // characters of a trajectory's name
)

// A Problem is a file, or a record in one, that could not be read or cannot be
// replayed as a whole.
type Problem struct {
	File string
	Line int    // of the record, from 1; 0 = the file as a whole
	Text string // what is wrong and what was expected, in one line or more
	Kind ProblemKind
}

// A ProblemKind says how serious a [Problem] is.
type ProblemKind uint8

// The kinds. Only Broken is an error.
const (
	Broken  ProblemKind = iota // it could not be read
	Nothing                    // it was read and holds nothing to replay, such as embeddings
	Partly                     // it was read, and some exchanges belong to no trajectory
	Noted                      // it was read, and something in it has no effect
)

func (p *Problem) Error() string {
	if p.Line == 0 {
		return p.File + ": " + p.Text
	}
	return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Text)
}

// Read returns the trajectories in one file, and its problems, both in the order
// of the file. The format is one of [Formats], or "" to go by the first record
// that looks like one. A record that cannot be read is a problem and does not
// hide the others. A file without any record is one problem. The runs have the labels
// that the source itself gives; [Labels] has those of files of labels.
//
// A file may be compressed with gzip. It may have up to 512 MiB, a record up to 64 MiB
// and 100,000 messages, and JSON may be nested 1,000 deep. The whole file is held in
// memory. [Reader] reads what only other libraries can decode.
func Read(path, format string) ([]*Trajectory, []*Problem) {
	return Reader{Format: format}.Read(path)
}

// A Reader reads files with trajectories.
type Reader struct {
	Format string // one of [Formats], "" = by the content
	// Decoders decode what the standard library does not, by name: zstd for files and
	// bodies, br for bodies, and otlp for OpenTelemetry's ExportTraceServiceRequest in
	// protobuf, whose JSON it returns. Without one, such a file is refused by name.
	Decoders Decoders
	// Map, if there is one, says what the files look like, in the place of a format.
	Map *InputMap
}

// Decoders are decoders by name.
type Decoders = wire.Decoders

// Read is like the function [Read].
func (o Reader) Read(path string) ([]*Trajectory, []*Problem) {
	r := reader{file: filepath.ToSlash(path), format: named(o.Format), names: map[string]bool{}, decoders: o.Decoders}
	if o.Map != nil {
		r.format = o.Map.format()
	}
	if r.format == nil && o.Format != "" {
		r.problem(0, "unknown format %s (want %s)", text.Quote(o.Format, 40), strings.Join(Formats(), ", "))
	} else if data, err := readFile(path); err != nil {
		r.problem(0, "%v", err)
	} else if data, err = r.unpack(data); err != nil {
		r.problem(0, "%v", err)
	} else {
		r.read(data)
	}
	return r.trajectories, r.problems
}

// unpack returns the content of a file that is compressed or in protobuf.
func (r *reader) unpack(data []byte) ([]byte, error) {
	switch {
	case bytes.HasPrefix(data, []byte{0x1f, 0x8b}):
		z, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			return nil, fmt.Errorf("broken gzip: %w", err)
		}
		data, err := io.ReadAll(io.LimitReader(z, maxFile+1))
		switch {
		case err != nil:
			return nil, fmt.Errorf("broken gzip: %w", err)
		case len(data) > maxFile:
			return nil, fmt.Errorf("uncompressed, the file is larger than %d MiB: split it", maxFile>>20)
		}
		return data, nil
	case bytes.HasPrefix(data, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		return r.decoded("zstd", "compressed with zstd", data)
	case bytes.HasPrefix(data, []byte("SQLite format 3\x00")):
		return nil, errors.New("a SQLite database: export its sessions as JSON")
	case bytes.HasPrefix(data, []byte("PK\x03\x04")):
		return unzipped(data)
	case isProtobuf(r.file, data):
		return r.decoded("otlp", "in protobuf", data)
	}
	return data, nil
}

// isProtobuf reports whether a file has the name of OpenTelemetry's protobuf, or its
// first bytes: field 1, an object.
func isProtobuf(file string, data []byte) bool {
	name := strings.TrimSuffix(strings.TrimSuffix(strings.ToLower(file), ".gz"), ".zst")
	return len(data) > 0 && data[0] == 0x0a && !utf8.Valid(data) || strings.HasSuffix(name, ".pb") || strings.HasSuffix(name, ".binpb")
}

func (r *reader) decoded(name, what string, data []byte) ([]byte, error) {
	decode := r.decoders[name]
	if decode == nil {
		return nil, fmt.Errorf("the file is %s, which this program was built without", what)
	}
	out, err := decode(data, maxFile)
	if err != nil {
		return nil, fmt.Errorf("the file is %s and broken: %w", what, err)
	}
	return out, nil
}

func named(name string) *format {
	if i := slices.IndexFunc(formats, func(f *format) bool { return f.name == name }); i >= 0 {
		return formats[i]
	}
	return nil
}

// readFile returns the content of a file. Its errors leave out the path.
func readFile(path string) ([]byte, error) {
	f, err := infile.Open(path)
	if err != nil {
		return nil, errors.New(text.Reason(err))
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	switch {
	case err != nil:
		return nil, errors.New(text.Reason(err))
	case len(data) > maxFile:
		return nil, fmt.Errorf("the file is larger than %d MiB: split it", maxFile>>20)
	}
	return data, nil
}

type reader struct {
	file         string
	format       *format // nil until one is recognised
	names        map[string]bool
	lines        []int // of the records that were joined
	trajectories []*Trajectory
	problems     []*Problem
	decoders     wire.Decoders
}

func (r *reader) problem(line int, text string, args ...any) {
	r.problems = append(r.problems, &Problem{File: r.file, Line: line, Text: fmt.Sprintf(text, args...)})
}

func (r *reader) note(kind ProblemKind, text string) {
	r.problems = append(r.problems, &Problem{File: r.file, Text: text, Kind: kind})
}

// textFormat returns the format of a file that is not JSON, nil for JSON and for
// an unknown text.
func (r *reader) textFormat(data []byte) *format {
	candidates := formats
	if r.format != nil {
		candidates = []*format{r.format}
	}
	for _, f := range candidates {
		if f.text != nil && (f.text(data) || r.format != nil && f.fits == nil) {
			return f
		}
	}
	return nil
}

func (r *reader) read(data []byte) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if len(bytes.TrimSpace(data)) == 0 {
		r.problem(0, "the file is empty")
		return
	}
	if f := r.textFormat(data); f != nil {
		r.format = f
		r.decode(record{raw: data, line: 1})
		return
	}
	if !utf8.Valid(data) {
		data = bytes.ToValidUTF8(data, []byte("\ufffd"))
	}
	records := split(data)
	if r.format == nil {
		for i := range records {
			if r.format = formatOf(&records[i]); r.format != nil {
				break
			}
		}
	}
	if r.format == nil && isYAML(r.file) {
		r.note(Nothing, "not a cassette: a cassette begins with version or interactions")
		return
	}
	if r.format == nil && resultsStart.Match(records[0].raw) {
		r.problem(0, "a results file, not recorded runs; agentbench report FILE shows it")
		return
	}
	if r.format == nil {
		r.problem(0, "no recorded run that can be read, only %s; agentbench list formats says what can be", describe(&records[0]))
		return
	}
	if r.format.joined {
		records = r.join(records)
	}
	for i := range records {
		r.record(&records[i])
	}
	if len(r.trajectories) == 0 && len(r.problems) == 0 {
		r.problem(0, "no recorded run in it; expected %s", r.format.looks)
	}
}

// join makes one record of all valid ones and reports the others as problems.
func (r *reader) join(records []record) []record {
	all := record{raw: []byte("["), line: records[0].line, checked: valid}
	r.lines = nil
	for i := range records {
		rec := &records[i]
		if why := rec.invalid(); why != "" {
			r.problem(rec.line, "%s", why)
			continue
		}
		if len(all.raw) > 1 {
			all.raw = append(all.raw, ',')
		}
		all.raw = append(all.raw, rec.raw...)
		r.lines = append(r.lines, rec.line)
	}
	if len(all.raw) == 1 {
		return nil
	}
	all.raw = append(all.raw, ']')
	return []record{all}
}

func (r *reader) record(rec *record) {
	if why := rec.invalid(); why != "" {
		r.problem(rec.line, "%s", why)
		return
	}
	r.decode(*rec)
}

// decode takes the trajectories of a valid record.
func (r *reader) decode(rec record) {
	got, err := r.runs(rec.raw)
	var left leftOut
	var none nothing
	var with elsewhere
	var broken brokenParts
	var lines brokenLines
	switch {
	case errors.As(err, &lines):
		for _, l := range lines {
			r.problem(l.line, "column %d: %s", l.column, l.why)
		}
	case errors.As(err, &with):
		r.note(Partly, with.Error())
	case errors.As(err, &broken):
		for _, p := range broken {
			r.part(rec, p)
		}
	case errors.As(err, &none):
		r.note(Nothing, "nothing to replay: "+none.Error())
	case errors.As(err, &left) && len(got) == 0:
		r.note(Nothing, "nothing to replay: "+left.Error())
	case errors.As(err, &left):
		r.note(Partly, "not part of a conversation: "+left.Error())
	case err != nil:
		r.refuse(rec.line, "", err)
	}
	for _, rc := range got {
		if len(rc.Runs) == 0 {
			r.problems = append(r.problems, &Problem{File: r.file, Line: cmp.Or(rc.Line, rec.line), Kind: Nothing,
				Text: "nothing to replay: it has neither a user message nor a call" + rc.unreadKinds()})
			continue
		}
		rc.File, rc.Line = r.file, cmp.Or(rc.Line, rec.line)
		rc.key = rc.Name
		rc.Name = r.unique(rc.Name, rec.line)
		r.trajectories = append(r.trajectories, rc)
	}
}

// runs reads the runs in a record.
func (r *reader) runs(raw json.RawMessage) ([]*Trajectory, error) {
	switch {
	case r.format.readAt != nil:
		return r.format.readAt(r.file, raw)
	case r.format.traffic == nil:
		return r.format.read(raw)
	}
	exchanges, broken := r.format.traffic(raw)
	if broken != nil && len(exchanges) == 0 {
		return nil, broken
	}
	runs, left := readTraffic(exchanges, r.decoders)
	return runs, cmp.Or(broken, left)
}

// part reports a part of a record that could not be read, on its own line if that
// is known.
func (r *reader) part(rec record, p brokenPart) {
	if r.format.joined && p.n <= len(r.lines) {
		r.refuse(r.lines[p.n-1], "", p.err)
		return
	}
	r.refuse(rec.line, fmt.Sprintf("%s %d of %d: ", p.what, p.n, p.of), p.err)
}

// refuse reports a record, or a place in one, that cannot be read, or whose label
// cannot.
func (r *reader) refuse(line int, place string, err error) {
	if errors.As(err, new(labelError)) {
		r.problem(line, "replayed without a label: %s%v", place, err)
		return
	}
	r.problem(line, "cannot read it as %s: %s%v", r.format.name, place, err)
}

// unique makes a name fit for a results line and unique in its file.
func (r *reader) unique(name string, line int) string {
	name = strings.Map(func(c rune) rune {
		if c == '/' || c == ' ' || text.Hidden(c) {
			return '-'
		}
		return c
	}, name)
	if runes := []rune(name); len(runes) > maxName {
		name = string(runes[:maxName])
	}
	if name == "" {
		name = fmt.Sprintf("line=%d", line)
	}
	for r.names[name] {
		name = fmt.Sprintf("%s~%d", name, len(r.trajectories)+1)
	}
	r.names[name] = true
	return name
}

// resultsStart fits the first line of a results file.
var resultsStart = regexp.MustCompile(`^\{"type":"(header|trial)",`)

// describe says what a record of an unknown format is.
func describe(r *record) string {
	if why := r.invalid(); why != "" {
		return why
	}
	switch c := r.raw[0]; {
	case wire.IsArray(r.raw) && len(bytes.TrimSpace(r.raw[1:])) == 1:
		return "an empty array"
	case wire.IsArray(r.raw):
		return "an array"
	case c == '"':
		return "a text"
	case !wire.IsObject(r.raw) && c >= 'a':
		return string(r.raw) // true, false, null
	case !wire.IsObject(r.raw):
		return "a number"
	}
	keys := objectOf(r.raw)
	if len(keys) == 0 {
		return "an empty object"
	}
	const most = 6
	var names []string
	for k := range keys {
		names = append(names, text.Quote(k, 40))
	}
	slices.Sort(names)
	if len(names) > most {
		names = append(names[:most], "…")
	}
	return "an object with " + strings.Join(names, ", ")
}
