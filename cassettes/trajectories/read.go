package trajectories

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
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
// and 100,000 messages, and JSON may be nested 1,000 deep. [Reader] reads what only other
// libraries can decode, and [Reader.All] holds only the run that it yields.
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
func (o Reader) Read(path string) (runs []*Trajectory, problems []*Problem) {
	for run, problem := range o.All(path) {
		if run != nil {
			runs = append(runs, run)
		} else {
			problems = append(problems, problem)
		}
	}
	return runs, problems
}

// All yields what [Reader.Read] returns, a trajectory or a problem at a time, while it
// reads on. It holds one record of JSON Lines or of an array of runs; of everything else
// it holds the whole file. If the file turns out to be broken further down, or changes
// while it is read, the trajectories before are still good.
func (o Reader) All(path string) iter.Seq2[*Trajectory, *Problem] {
	return func(yield func(*Trajectory, *Problem) bool) {
		r := reader{file: filepath.ToSlash(path), format: named(o.Format), names: map[string]bool{}, decoders: o.Decoders, yield: yield}
		if o.Map != nil {
			r.format = o.Map.format()
		}
		if r.format == nil && o.Format != "" {
			r.problem(0, "unknown format %s (want %s)", text.Quote(o.Format, 40), strings.Join(Formats(), ", "))
		} else if err := r.open(path); err != nil {
			r.problem(0, "%v", err)
		}
	}
}

// open reads a file. Its errors leave out the path.
func (r *reader) open(path string) error {
	f, err := infile.Open(path)
	if err != nil {
		return errors.New(text.Reason(err))
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Size() > maxFile {
		return errTooLarge
	}
	src := newSource(&limited{f, maxFile, errTooLarge, func(err error) error { return errors.New(text.Reason(err)) }})
	head, _ := src.Peek(4)
	if !bytes.HasPrefix(head, []byte{0x1f, 0x8b}) {
		return r.content(src)
	}
	z, err := gzip.NewReader(src)
	if err != nil {
		return fmt.Errorf("broken gzip: %w", err)
	}
	over := fmt.Errorf("uncompressed, the file is larger than %d MiB: split it", maxFile>>20)
	return r.stream(newSource(&limited{z, maxFile, over, func(err error) error { return fmt.Errorf("broken gzip: %w", err) }}))
}

// content reads a file that is not compressed with gzip.
func (r *reader) content(src *source) error {
	head, _ := src.Peek(len("SQLite format 3\x00"))
	decode := func(name, what string) error {
		data, err := src.rest()
		if err == nil {
			data, err = r.decoded(name, what, data)
		}
		if err == nil {
			r.read(data)
		}
		return err
	}
	switch {
	case bytes.HasPrefix(head, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		return decode("zstd", "compressed with zstd")
	case string(head) == "SQLite format 3\x00":
		return errors.New("a SQLite database: export its sessions as JSON")
	case bytes.HasPrefix(head, []byte("PK\x03\x04")):
		data, err := src.rest()
		if err == nil {
			data, err = unzipped(data)
		}
		if err == nil {
			r.read(data)
		}
		return err
	case len(head) > 0 && head[0] == 0x0a || hasProtobufName(r.file):
		data, err := src.rest()
		if err != nil {
			return err
		}
		if isProtobuf(r.file, data) {
			data, err = r.decoded("otlp", "in protobuf", data)
		}
		if err == nil {
			r.read(data)
		}
		return err
	}
	return r.stream(src)
}

// isProtobuf reports whether a file has the name of OpenTelemetry's protobuf, or its
// first bytes: field 1, an object.
func isProtobuf(file string, data []byte) bool {
	return len(data) > 0 && data[0] == 0x0a && !utf8.Valid(data) || hasProtobufName(file)
}

func hasProtobufName(file string) bool {
	name := strings.TrimSuffix(strings.TrimSuffix(strings.ToLower(file), ".gz"), ".zst")
	return strings.HasSuffix(name, ".pb") || strings.HasSuffix(name, ".binpb")
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

type reader struct {
	file     string
	format   *format // nil until one is recognised
	names    map[string]bool
	held     []record // until the format is recognised, or until the end if it joins them
	lines    []int    // of the records that were joined
	decoders wire.Decoders

	yield          func(*Trajectory, *Problem) bool
	stopped        bool // by yield
	runs, problems int  // that were yielded
}

// run hands out a trajectory.
func (r *reader) run(t *Trajectory) {
	r.runs++
	r.stopped = r.stopped || !r.yield(t, nil)
}

// tell hands out a problem.
func (r *reader) tell(p *Problem) {
	r.problems++
	r.stopped = r.stopped || !r.yield(nil, p)
}

func (r *reader) problem(line int, text string, args ...any) {
	r.tell(&Problem{File: r.file, Line: line, Text: fmt.Sprintf(text, args...)})
}

func (r *reader) note(kind ProblemKind, text string) {
	r.tell(&Problem{File: r.file, Text: text, Kind: kind})
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
		return nil, errTooLarge
	}
	return data, nil
}

var errTooLarge = fmt.Errorf("the file is larger than %d MiB: split it", maxFile>>20)

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

// read reads a whole file.
func (r *reader) read(data []byte) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if len(bytes.TrimSpace(data)) == 0 {
		r.problem(0, "the file is empty")
		return
	}
	if f := r.textFormat(data); f != nil {
		if r.format = f; f.all != nil {
			f.all(r, data)
		} else {
			r.decode(record{raw: data, line: 1})
		}
		return
	}
	if !utf8.Valid(data) {
		data = bytes.ToValidUTF8(data, []byte("\ufffd"))
	}
	for _, rec := range split(data) {
		r.take(rec)
	}
	r.end()
}

// take reads a record, or holds it while the format is not known or if the format joins
// all of them.
func (r *reader) take(rec record) {
	if r.format == nil {
		r.format = formatOf(&rec)
	}
	if r.held = append(r.held, rec); r.format == nil || r.format.joined {
		return
	}
	for i := range r.held {
		r.record(&r.held[i])
		r.held[i] = record{}
	}
	r.held = r.held[:0]
}

// end reads the records that are held.
func (r *reader) end() {
	switch {
	case r.format != nil:
		if len(r.held) > 0 {
			for _, rec := range r.join(r.held) {
				r.record(&rec)
			}
		}
		if r.runs+r.problems == 0 {
			r.problem(0, "no recorded run in it; expected %s", r.format.looks)
		}
	case isYAML(r.file):
		r.note(Nothing, "not a cassette: a cassette begins with version or interactions")
	case resultsStart.Match(r.held[0].raw):
		r.problem(0, "a results file, not recorded runs; agentbench report FILE shows it")
	default:
		r.problem(0, "no recorded run that can be read, only %s; agentbench list formats says what can be", describe(&r.held[0]))
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
	if r.stopped {
		return
	}
	if why := rec.invalid(); why != "" {
		r.problem(rec.line, "%s", why)
		return
	}
	r.decode(*rec)
}

// decode takes the trajectories of a valid record.
func (r *reader) decode(rec record) {
	got, err := r.runsIn(rec.raw)
	var left leftOut
	var none nothing
	var with elsewhere
	var broken brokenParts
	switch {
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
	for _, t := range got {
		r.add(t, rec.line)
	}
}

// add hands out a trajectory that was read in a record on this line.
func (r *reader) add(t *Trajectory, line int) {
	if t.Line = cmp.Or(t.Line, line); len(t.Runs) == 0 {
		r.tell(&Problem{File: r.file, Line: t.Line, Kind: Nothing, Text: "nothing to replay: it has neither a user message nor a call" + t.unreadKinds()})
		return
	}
	t.File, t.key = r.file, t.Name
	t.Name = r.unique(t.Name, line)
	r.run(t)
}

// runsIn reads the runs in a record.
func (r *reader) runsIn(raw json.RawMessage) ([]*Trajectory, error) {
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
		name = fmt.Sprintf("%s~%d", name, r.runs+1)
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
