package endpoint

import "strings"

// A Key is what an endpoint knows its users by. It shows itself to nobody who
// does not ask for it by name: printed with any verb, logged or marshalled, also
// within another value, it is not there. The zero value is no key.
type Key struct {
	// A pointer, because package fmt prints what the fields of fields hold, but
	// of a pointer the address alone.
	text *string
}

// NewKey makes a key of its text.
func NewKey(text string) Key {
	if text == "" {
		return Key{}
	}
	return Key{&text}
}

// Reveal gives the text of the key, "" if there is none.
func (k Key) Reveal() string {
	if k.text == nil {
		return ""
	}
	return *k.text
}

// hidden is what is shown in a key's place.
const hidden = "[key]"

// String tells whether there is a key.
func (k Key) String() string {
	if k.text == nil {
		return ""
	}
	return hidden
}

// GoString is String.
func (k Key) GoString() string { return k.String() }

// MarshalText is String.
func (k Key) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// shortKey is the length below which a key is no secret but a word such as none
// or ollama, that is given where a client asks for any.
const shortKey = 8

// Hide takes the key out of a text.
func (k Key) Hide(text string) string {
	if len(k.Reveal()) < shortKey {
		return text
	}
	return strings.ReplaceAll(text, k.Reveal(), hidden)
}
