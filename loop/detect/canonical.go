package detect

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// A Signature identifies a call by its tool and its arguments: calls of one tool
// whose arguments are equal as canonical JSON have equal signatures.
type Signature [sha256.Size]byte

// The first byte that a signature hashes. It keeps a text that is not a JSON
// object from having the signature of one that is.
const (
	canonicalArgs = 'j'
	rawArgs       = 'r'
)

// Signature hashes a call. If the arguments are not a JSON object, it hashes
// their text and also returns the error that says why.
func (c *Canon) Signature(name, args string) (Signature, error) {
	c.out = append(c.out[:0], canonicalArgs)
	c.out = binary.AppendUvarint(c.out, uint64(len(name)))
	c.out = append(c.out, name...)
	header := len(c.out)
	err := c.scan(args)
	if err != nil {
		c.out[0] = rawArgs
		c.out = append(c.out[:header], args...)
	}
	return sha256.Sum256(c.out), err
}

// maxDepth is how many levels of objects and arrays a text may have. The
// outermost object counts as one.
const maxDepth = 1000

// A Canon writes JSON objects in canonical form, so that two texts with the
// same meaning have the same bytes:
//
//   - No white space. Keys are sorted by their UTF-16 code units; a key that
//     appears twice is an error.
//   - A number is written as its digits without leading and trailing zeros,
//     then the power of ten if it is not 0: 1.0, 1e0 and 10e-1 become 1, 100
//     becomes 1e2, 0.5 becomes 5e-1, -0 becomes 0. Only the text is rewritten,
//     so no number is too large, too long or rounded.
//   - Strings escape only the quote, the backslash and control characters, each
//     in its shortest form. Bytes that are not UTF-8 stay as they are, and half
//     a surrogate pair stays an escape. So two strings are equal only if their
//     characters are. A decoder that replaces such bytes and escapes by U+FFFD
//     takes more strings as equal.
//
// It reads in one pass and reuses its buffers. It reorders an object whose keys
// are not sorted once the object is complete. So the work is at worst the
// text's length times its depth, in plain copying. The zero value is ready to
// use.
type Canon struct {
	src     string
	pos     int
	depth   int
	err     *ArgsError
	out     []byte
	members []member // of the open objects, outermost first
	moved   []byte
	order   []*member // scratch space of sort, as moved
	a, b    []uint16
}

// A member is a key and its value in an object that is being written. Offsets
// are into out unless a field says otherwise.
type member struct {
	start, key, end int  // the key's opening quote, the end of the key, the end of the value
	at              int  // the offset of the key in src
	plain           bool // the key is ASCII without escapes: its bytes sort as its UTF-16 units do
}

// An ArgsError says why a text is not a JSON object, and where. Its message
// names the position as well.
type ArgsError struct {
	offset  int // in bytes, from 0
	message string
}

// Error returns the message.
func (e *ArgsError) Error() string { return e.message }

// Object returns the canonical form of src, which must be one JSON object. A src
// of only white space counts as {}. The result is valid until the next call. An
// error is an [ArgsError].
func (c *Canon) Object(src string) ([]byte, error) {
	c.out = c.out[:0]
	if err := c.scan(src); err != nil {
		return nil, err
	}
	return c.out, nil
}

// anyValue is Object for any JSON value. White space alone is not one.
func (c *Canon) anyValue(src string) ([]byte, error) {
	c.out = c.out[:0]
	c.src, c.pos, c.depth, c.err, c.members = src, 0, 0, nil, c.members[:0]
	if c.space(); !c.value() {
		return nil, c.err
	}
	if c.space(); c.pos < len(src) {
		c.invalid("after the value")
		return nil, c.err
	}
	return c.out, nil
}

// scan appends the canonical form of src to out.
func (c *Canon) scan(src string) error {
	c.src, c.pos, c.depth, c.err, c.members = src, 0, 0, nil, c.members[:0]
	c.space()
	switch {
	case c.pos == len(src):
		c.out = append(c.out, "{}"...)
		return nil
	case src[c.pos] != '{':
		return &ArgsError{c.pos, "not a JSON object"}
	case !c.value():
		return c.err
	}
	if c.space(); c.pos < len(src) {
		c.invalid("after the object")
		return c.err
	}
	return nil
}

// The methods below each read one thing at pos and append it to out. They return
// false after an error, which err then holds.

func (c *Canon) value() bool {
	if c.pos == len(c.src) {
		return c.ended()
	}
	switch c.src[c.pos] {
	case '"':
		_, ok := c.str()
		return ok
	case '{':
		return c.nested((*Canon).braces)
	case '[':
		return c.nested((*Canon).brackets)
	case 't':
		return c.literal("true")
	case 'f':
		return c.literal("false")
	case 'n':
		return c.literal("null")
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		return c.number()
	}
	return c.invalid("at the beginning of a value")
}

// nested reads an object or an array with read, unless it is nested too deep.
func (c *Canon) nested(read func(*Canon) bool) bool {
	if c.depth == maxDepth {
		return c.fail(c.pos, "nested deeper than "+strconv.Itoa(maxDepth)+" levels")
	}
	c.depth++
	ok := read(c)
	c.depth--
	return ok
}

func (c *Canon) braces() bool {
	first, body, sorted := len(c.members), len(c.out)+1, true
	c.take()
	if c.space(); c.at('}') {
		c.take()
		return true
	}
	for {
		m, ok := c.member()
		if !ok {
			return false
		}
		if n := len(c.members); n > first && sorted {
			sorted = c.compare(&c.members[n-1], &m) < 0
		}
		c.members = append(c.members, m)
		switch c.space(); {
		case c.at(','):
			c.take()
		case c.at('}'):
			c.take()
			ok = sorted || c.sort(c.members[first:], body)
			c.members = c.members[:first]
			return ok
		default:
			return c.invalid("after a value in an object")
		}
	}
}

func (c *Canon) member() (m member, ok bool) {
	c.space()
	m.start, m.at = len(c.out), c.pos
	if !c.at('"') {
		return m, c.invalid("where a key should begin")
	}
	if m.plain, ok = c.str(); !ok {
		return m, false
	}
	m.key = len(c.out)
	if c.space(); !c.at(':') {
		return m, c.invalid("after object key")
	}
	c.take()
	c.space()
	ok = c.value()
	m.end = len(c.out)
	return m, ok
}

func (c *Canon) brackets() bool {
	c.take()
	if c.space(); c.at(']') {
		c.take()
		return true
	}
	for {
		if c.space(); !c.value() {
			return false
		}
		switch c.space(); {
		case c.at(','):
			c.take()
		case c.at(']'):
			c.take()
			return true
		default:
			return c.invalid("after a value in an array")
		}
	}
}

func (c *Canon) literal(word string) bool {
	for i := range len(word) {
		if !c.at(word[i]) {
			return c.invalid("in the word " + word)
		}
		c.pos++
	}
	c.out = append(c.out, word...)
	return true
}

// sort sorts the members of an object, whose text begins at body in out. It
// fails if a key appears twice.
func (c *Canon) sort(members []member, body int) bool {
	c.order = slices.Grow(c.order[:0], len(members))
	for i := range members {
		c.order = append(c.order, &members[i])
	}
	slices.SortFunc(c.order, func(a, b *member) int {
		return cmp.Or(c.compare(a, b), cmp.Compare(a.at, b.at))
	})
	c.moved = slices.Grow(c.moved[:0], len(c.out)-body)
	for i, m := range c.order {
		if i > 0 {
			if c.compare(c.order[i-1], m) == 0 {
				return c.twice(m)
			}
			c.moved = append(c.moved, ',')
		}
		c.moved = append(c.moved, c.out[m.start:m.end]...)
	}
	copy(c.out[body:], c.moved)
	return true
}

// compare orders members by the UTF-16 units of their keys, then by the bytes.
// Keys that are not UTF-8 can have equal units and differ only in bytes.
func (c *Canon) compare(a, b *member) int {
	x, y := c.out[a.start+1:a.key-1], c.out[b.start+1:b.key-1]
	if a.plain && b.plain {
		return bytes.Compare(x, y)
	}
	c.a, c.b = appendUnits(c.a[:0], x), appendUnits(c.b[:0], y)
	return cmp.Or(slices.Compare(c.a, c.b), bytes.Compare(x, y))
}

// space skips white space.
func (c *Canon) space() {
	for c.pos < len(c.src) {
		switch c.src[c.pos] {
		case ' ', '\n', '\t', '\r':
			c.pos++
		default:
			return
		}
	}
}

// at reports whether the byte at pos is b.
func (c *Canon) at(b byte) bool { return c.pos < len(c.src) && c.src[c.pos] == b }

// take appends the byte at pos.
func (c *Canon) take() {
	c.out = append(c.out, c.src[c.pos])
	c.pos++
}

func (c *Canon) fail(offset int, message string) bool {
	c.err = &ArgsError{offset, message}
	return false
}

// invalid fails because the character at pos is not allowed there.
func (c *Canon) invalid(where string) bool {
	if c.pos == len(c.src) {
		return c.ended()
	}
	r, _ := utf8.DecodeRuneInString(c.src[c.pos:])
	return c.fail(c.pos, "invalid character "+strconv.QuoteRune(r)+" "+where+" at position "+strconv.Itoa(c.pos))
}

// ended fails because the text ends too early.
func (c *Canon) ended() bool {
	return c.fail(len(c.src), "unexpected end at position "+strconv.Itoa(len(c.src)))
}

// twice fails because an earlier member has the key of m.
func (c *Canon) twice(m *member) bool {
	const most = 40
	key := utf16.Decode(appendUnits(nil, c.out[m.start+1:m.key-1]))
	quoted := strconv.Quote(string(key[:min(len(key), most)]))
	return c.fail(m.at, "key "+quoted+" appears twice at position "+strconv.Itoa(m.at))
}
