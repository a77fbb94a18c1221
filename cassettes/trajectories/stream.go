package trajectories

import (
	"bytes"
	"io"
	"slices"

	"github.com/agentbench-go/agentbench/cassettes/trajectories/wire"
)

// stream reads a file record by record where it can: JSON Lines, and an array of runs.
// Everything else it reads whole.
func (r *reader) stream(src *source) error {
	if r.format != nil && r.format.text != nil {
		return r.whole(src, nil)
	}
	if bom, _ := src.Peek(3); string(bom) == "\ufeff" {
		src.Discard(3)
	}
	start, next, err := src.blank()
	switch {
	case err != nil:
		return err
	case next == '[':
		return r.array(src, start)
	case next == '{':
		return r.jsonLines(src, start)
	}
	return r.whole(src, start)
}

// whole reads the rest of a file at once; start has been read.
func (r *reader) whole(src *source, start []byte) error {
	rest, err := src.rest()
	if err == nil {
		r.read(append(start, rest...))
	}
	return err
}

// jsonLines reads JSON Lines, known by a valid first line, and any other file whole;
// start, which is blank, has been read.
func (r *reader) jsonLines(src *source, start []byte) error {
	first, err := src.nextLine()
	if err != nil {
		return err
	}
	text := first.raw
	if first.raw = bytes.TrimSpace(text); !first.valid() {
		return r.whole(src, append(start, text...))
	}
	r.piece(&first)
	return r.moreLines(src)
}

// moreLines reads the rest of JSON Lines.
func (r *reader) moreLines(src *source) error {
	for !r.stopped {
		line, err := src.nextLine()
		if err == io.EOF {
			r.end()
			return nil
		} else if err != nil {
			return err
		}
		r.piece(&line)
	}
	return nil
}

// piece reads a line, which may be blank.
func (r *reader) piece(line *record) {
	if line.raw = bytes.TrimSpace(line.raw); len(line.raw) > 0 {
		for _, rec := range recordsIn(line) {
			r.take(rec)
		}
	}
}

// array reads a file that begins with a bracket: an array of runs element by element,
// messages as lines or whole; start, which is blank, has been read.
func (r *reader) array(src *source, start []byte) error {
	top := src.line
	src.keep = true
	src.advance([]byte{'['})
	lone := false // the first line has nothing but the bracket
	var first []record
	for len(first) <= strange {
		part, one, err := src.element(len(first) == 0)
		if err != nil {
			return err
		}
		lone = lone || len(first) == 0 && one.line > top
		if part != anElement || !one.valid() || wire.ShapeOf(one.raw) != wire.NoShape {
			again := newSource(io.MultiReader(bytes.NewReader(src.said), src))
			again.line = top
			return r.jsonLines(again, start)
		}
		first = append(first, one)
	}
	src.keep, src.said = false, nil
	for _, one := range first {
		r.take(one)
	}
	first = nil
	for !r.stopped {
		part, one, err := src.element(false)
		switch {
		case err != nil:
			return err
		case part == theEnd && src.line == top:
			return r.behindLine(src)
		case part == theEnd, part == aMistake, !one.valid():
			rest, err := src.rest()
			if err != nil {
				return err
			}
			r.rest(record{raw: slices.Concat(one.raw, rest), line: one.line}, part == theEnd, lone)
			r.end()
			return nil
		}
		r.take(one)
	}
	return nil
}

// behindLine reads what follows an array that ended on the first line: other lines.
func (r *reader) behindLine(src *source) error {
	line, err := src.nextLine()
	if err == nil {
		if line.raw = trimComma(line.raw); len(line.raw) > 0 {
			r.take(line)
		}
	} else if err != io.EOF {
		return err
	}
	return r.moreLines(src)
}

// rest reads what follows the last element of an array that can be read. It is a mistake,
// unless the array ended and nothing follows. If later lines look like runs, the mistake
// is in its line alone.
func (r *reader) rest(rest record, ended, lone bool) {
	all := utf8Of(rest.raw)
	rest.raw = trimComma(all)
	if ended && len(rest.raw) == 0 {
		return
	}
	before, _, _ := bytes.Cut(all, rest.raw)
	rest.line += bytes.Count(before, []byte("\n"))
	lines := splitLines(rest.raw)
	if lone || len(lines) < 2 || !isJSONLines(lines) {
		r.take(rest)
		return
	}
	for i := range lines {
		lines[i].line += rest.line - 1
		r.piece(&lines[i])
	}
}

// trimComma trims white space, and the commas behind an element.
func trimComma(raw []byte) []byte { return bytes.TrimSpace(bytes.TrimLeft(raw, ", \t\r\n")) }
