package loop

import (
	"bytes"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A traceLine is a line that is being read. After the first error its methods
// return zero values. They accept more than canonical text, and fields in any
// order; compare refuses what is not canonical.
type traceLine struct {
	text  string
	pos   int
	field int // where the current field begins
	err   *TraceError
}

// compare fails if the line is not the canonical one.
func (l *traceLine) compare(canonical []byte) {
	if l.err != nil || string(canonical) == l.text {
		return
	}
	at := 0
	for at < len(l.text) && at < len(canonical) && l.text[at] == canonical[at] {
		at++
	}
	if at == len(canonical) {
		l.fail(at, "expected the end of the line")
		return
	}
	want, _, _ := bytes.Cut(canonical[at:], []byte(" "))
	if len(want) == 0 {
		want = canonical[at : at+1]
	}
	l.fail(at, "not in canonical form: expected "+excerpt(string(want)))
}

// fail records the first problem and ends the line.
func (l *traceLine) fail(at int, problem string) {
	if l.err == nil {
		l.err = &TraceError{Column: at + 1, Problem: problem}
	}
	l.pos = len(l.text)
}

// excerpt quotes the beginning of s for an error.
func excerpt(s string) string {
	const most = 40
	return strconv.Quote(capText(s, most))
}

// skip reads bytes as long as they are in set, and returns them.
func (l *traceLine) skip(set string) string {
	start := l.pos
	for l.pos < len(l.text) && strings.IndexByte(set, l.text[l.pos]) >= 0 {
		l.pos++
	}
	return l.text[start:l.pos]
}

func (l *traceLine) at(b byte) bool { return l.pos < len(l.text) && l.text[l.pos] == b }

func (l *traceLine) expect(b byte) {
	if !l.at(b) {
		l.fail(l.pos, "expected "+strconv.Quote(string(rune(b))))
		return
	}
	l.pos++
}

// next goes to the next field. It returns false if there is none.
func (l *traceLine) next() bool {
	if l.pos == len(l.text) {
		return false
	}
	if !l.at(' ') {
		l.fail(l.pos, "expected a space or the end of the line")
		return false
	}
	l.pos++
	l.field = l.pos
	return true
}

const lowercase = "abcdefghijklmnopqrstuvwxyz_"

// key reads a key with its =, or a word without one.
func (l *traceLine) key() string {
	start := l.pos
	l.skip(lowercase)
	if l.at('=') {
		l.pos++
	}
	return l.text[start:l.pos]
}

// word reads one of words and returns its index. If words has it twice, the index
// is that of the first.
func (l *traceLine) word(words []string) int {
	at := l.pos
	i := slices.Index(words, l.skip(lowercase))
	if i <= 0 {
		l.fail(at, "expected one of "+strings.Join(words[1:], ", "))
		return 0
	}
	return i
}

// number reads the number after the word, if there is one. tried reports whether
// it names a try.
func (l *traceLine) number() (r Ref, tried bool) {
	rest := l.text[l.pos:]
	if len(rest) < 3 || strings.IndexByte("-0123456789", rest[2]) < 0 {
		return Ref{}, false
	}
	l.expect(' ')
	return l.ref()
}

// path reads the path of a sub-run and the spaces around it, or nothing.
func (l *traceLine) path() (p Path) {
	l.skip(" ")
	for l.pos+1 < len(l.text) && l.at(byte(RefCall)) && strings.IndexByte("-0123456789", l.text[l.pos+1]) >= 0 {
		try, _ := l.ref()
		l.expect('/')
		p = p.Sub(try)
	}
	if p != "" {
		l.expect(' ')
	}
	return p
}

func (l *traceLine) ref() (r Ref, tried bool) {
	kind := l.pos
	if len(l.skip("mcguq")) != 1 {
		l.fail(kind, "expected a number such as m1, c7#2, g4, q1 or u1")
		return Ref{}, false
	}
	r.Kind, r.N = RefKind(l.text[kind]), int(l.integer())
	if tried = l.at('#'); tried {
		l.pos++
		r.Try = int(l.integer())
	}
	return r, tried
}

func (l *traceLine) integer() int64 {
	start := l.pos
	n, err := strconv.ParseInt(l.skip("-0123456789"), 10, 64)
	if err != nil {
		l.fail(start, "expected an integer of at most 64 bits")
	}
	return n
}

// seconds reads an exact duration such as 31.000s.
func (l *traceLine) seconds() time.Duration {
	start := l.pos
	negative := l.at('-')
	if negative {
		l.pos++
	}
	whole, fraction := l.skip("0123456789"), ""
	if l.at('.') {
		l.pos++
		fraction = l.skip("0123456789")
	}
	const decimals = "000000000"
	ok := whole != "" && len(fraction) <= len(decimals) && l.at('s')
	var n uint64
	if ok {
		var err error
		n, err = strconv.ParseUint(whole+fraction+decimals[len(fraction):], 10, 64)
		ok = err == nil && (n <= math.MaxInt64 || negative && n == 1<<63)
	}
	if !ok {
		l.fail(start, "expected seconds such as 31.000s, with at most nine decimals")
		return 0
	}
	l.pos++
	if negative {
		n = -n
	}
	return time.Duration(n)
}

// value reads a value: bare, in back quotes or Go-quoted.
func (l *traceLine) value() string {
	start := l.pos
	if !l.at('"') && !l.at('`') {
		for l.pos < len(l.text) && valueBytes[l.text[l.pos]] == bareByte {
			l.pos++
		}
		if l.pos == start {
			l.fail(start, "expected a value: bare, in back quotes or Go-quoted")
			return ""
		}
		return l.text[start:l.pos]
	}
	quoted, err := strconv.QuotedPrefix(l.text[start:])
	if err != nil {
		l.fail(start, "expected a Go string, and this one is broken or does not end")
		return ""
	}
	l.pos += len(quoted)
	s, _ := strconv.Unquote(quoted)
	return s
}

// call reads the value of call=.
func (l *traceLine) call() (c AskedCall) {
	c.ID = l.value()
	l.expect(':')
	c.Name = l.value()
	l.expect('(')
	c.Args = l.value()
	l.expect(')')
	return c
}
