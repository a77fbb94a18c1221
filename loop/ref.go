package loop

import "strconv"

// A RefKind is the letter of a [Ref]. It says what the number counts.
type RefKind byte

// The kinds of reference.
const (
	RefNone     RefKind = 0   // no reference
	RefModel    RefKind = 'm' // a model request and the reply to it
	RefCall     RefKind = 'c' // a call and its result
	RefGate     RefKind = 'g' // a gate: a permission or a hook
	RefMessage  RefKind = 'u' // a user message, from the user or from the loop itself
	RefQuestion RefKind = 'q' // a question to the user
)

// A Ref names what an effect opens and an input answers: m3 is the third model
// request of the session, m3#2 its second try, c7#2 the second try of the seventh
// call, g4 the fourth gate, u1 the first user message. Numbers start at 1 and go
// on over the runs of a session. The zero Ref names nothing.
type Ref struct {
	Kind RefKind
	N    int
	Try  int // 0 for the thing as a whole, or one without tries
}

// String returns the text form, such as c7#2 or c7; "" for the zero Ref.
func (r Ref) String() string {
	if r.Kind == RefNone {
		return ""
	}
	return string(r.append(nil))
}

func (r Ref) append(b []byte) []byte {
	b = append(b, byte(r.Kind))
	b = strconv.AppendInt(b, int64(r.N), 10)
	if r.Try != 0 {
		b = append(b, '#')
		b = strconv.AppendInt(b, int64(r.Try), 10)
	}
	return b
}

// whole returns the reference without its try.
func (r Ref) whole() Ref { return Ref{Kind: r.Kind, N: r.N} }
