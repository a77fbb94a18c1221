package trajectories

import (
	"bufio"
	"bytes"
	"io"
	"unicode/utf8"
)

// A source is a file that is read piece by piece. Each piece has memory of its own.
type source struct {
	*bufio.Reader
	line int    // of the next byte, from 1
	keep bool   // what is read, in said
	said []byte // what was read while keep was set
}

func newSource(r io.Reader) *source { return &source{Reader: bufio.NewReaderSize(r, 64<<10), line: 1} }

// rest reads everything that is left.
func (s *source) rest() ([]byte, error) { return io.ReadAll(s.Reader) }

// ahead returns what is buffered, at least one byte.
func (s *source) ahead() ([]byte, error) {
	if _, err := s.Peek(1); err != nil {
		return nil, err
	}
	return s.Peek(s.Buffered())
}

// advance goes past the first bytes of what ahead returned.
func (s *source) advance(past []byte) {
	s.line += bytes.Count(past, []byte("\n"))
	if s.keep {
		s.said = append(s.said, past...)
	}
	s.Discard(len(past))
}

// blank reads the white space that comes next, and returns the byte behind it, which it
// leaves, 0 at the end of the file.
func (s *source) blank() (space []byte, next byte, err error) {
	for {
		chunk, err := s.ahead()
		if err == io.EOF {
			return space, 0, nil
		} else if err != nil {
			return space, 0, err
		}
		n := 0
		for n < len(chunk) && (chunk[n] == ' ' || chunk[n] == '\t' || chunk[n] == '\r' || chunk[n] == '\n') {
			n++
		}
		space = append(space, chunk[:n]...)
		more := n == len(chunk)
		if !more {
			next = chunk[n]
		}
		s.advance(chunk[:n])
		if !more {
			return space, next, nil
		}
	}
}

// nextLine reads a line with its end. The error is [io.EOF] if there is none.
func (s *source) nextLine() (record, error) {
	line := record{line: s.line}
	for {
		chunk, err := s.ReadSlice('\n')
		line.raw = append(line.raw, chunk...)
		switch {
		case err == bufio.ErrBufferFull:
			continue
		case err == nil || err == io.EOF && len(line.raw) > 0:
			s.line++
			line.raw = utf8Of(line.raw)
			return line, nil
		}
		return record{}, err
	}
}

// An arrayPart is what comes next in an array.
type arrayPart uint8

const (
	anElement arrayPart = iota // read, and not checked
	theEnd                     // the bracket, read
	aMistake                   // left where it is
)

// element reads what comes next in an array after its bracket, or after an element.
func (s *source) element(first bool) (arrayPart, record, error) {
	last := s.line
	_, next, err := s.blank()
	comma := err == nil && next == ',' && !first
	if comma {
		s.advance([]byte{','})
		last = s.line
		_, next, err = s.blank()
	}
	one := record{line: s.line}
	if next == 0 {
		one.line = last // blank lines at the end do not count
	}
	switch {
	case err != nil:
		return aMistake, one, err
	case next == ']' && !comma:
		s.advance([]byte{']'})
		return theEnd, one, nil
	case next == 0 || next == ',' || next == ']' || !first && !comma:
		return aMistake, one, nil
	}
	one.raw, err = s.value()
	return anElement, one, err
}

// value reads JSON as far as its brackets and quotes tell, or to the end of the file.
func (s *source) value() ([]byte, error) {
	var raw []byte
	var v valueEnd
	for {
		chunk, err := s.ahead()
		if err == io.EOF {
			return utf8Of(raw), nil
		} else if err != nil {
			return nil, err
		}
		n, ended := v.in(chunk)
		raw = append(raw, chunk[:n]...)
		s.advance(chunk[:n])
		if ended {
			return utf8Of(raw), nil
		}
	}
}

// A valueEnd looks for the end of a value in pieces of it.
type valueEnd struct {
	depth           int
	quoted, escaped bool
}

// in returns where the value ends in a piece, and whether it does.
func (v *valueEnd) in(piece []byte) (n int, ended bool) {
	for i, c := range piece {
		switch {
		case v.escaped:
			v.escaped = false
		case v.quoted && c == '\\':
			v.escaped = true
		case v.quoted && c == '"':
			if v.quoted = false; v.depth == 0 {
				return i + 1, true
			}
		case v.quoted:
		case c == '"':
			v.quoted = true
		case c == '{' || c == '[':
			v.depth++
		case v.depth == 0 && (c == ',' || c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == ']' || c == '}'):
			return i, true
		case c == '}' || c == ']':
			if v.depth--; v.depth == 0 {
				return i + 1, true
			}
		}
	}
	return len(piece), false
}

// utf8Of returns a text without bytes that are not UTF-8.
func utf8Of(raw []byte) []byte {
	if utf8.Valid(raw) {
		return raw
	}
	return bytes.ToValidUTF8(raw, []byte("\ufffd"))
}

// limited reads at most so many bytes, and then fails.
type limited struct {
	from  io.Reader
	left  int64
	over  error // that there are more
	wrong func(error) error
}

func (l *limited) Read(b []byte) (int, error) {
	if l.left < 0 {
		return 0, l.over
	}
	n, err := l.from.Read(b[:min(int64(len(b)), l.left+1)])
	if l.left -= int64(n); l.left < 0 {
		return n - 1, l.over
	}
	if err != nil && err != io.EOF {
		err = l.wrong(err)
	}
	return n, err
}
