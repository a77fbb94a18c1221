package endpoint

import "strings"

// A Key is the API key of an endpoint. Only Reveal returns its text: a key that is
// printed with any verb, logged or marshalled, also within another value, shows as
// [key]. The zero value means that there is no key.
type Key struct {
	// A pointer, because package fmt prints the fields of nested structs, but only
	// the address of a nested pointer.
	text *string
}

// NewKey returns the key with this text.
func NewKey(text string) Key {
	if text == "" {
		return Key{}
	}
	return Key{&text}
}

// Reveal returns the text of the key, "" if there is none.
func (k Key) Reveal() string {
	if k.text == nil {
		return ""
	}
	return *k.text
}

// hidden is shown in the place of a key.
const hidden = "[key]"

// String returns "[key]", or "" if there is none.
func (k Key) String() string {
	if k.text == nil {
		return ""
	}
	return hidden
}

// GoString is like String.
func (k Key) GoString() string { return k.String() }

// MarshalText is like String.
func (k Key) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// shortKey is the length of the shortest secret key. A shorter one is a word such as
// none or ollama, for clients that demand a key.
const shortKey = 8

// Hide replaces the key in a text by "[key]". It leaves short keys.
func (k Key) Hide(text string) string {
	if len(k.Reveal()) < shortKey {
		return text
	}
	return strings.ReplaceAll(text, k.Reveal(), hidden)
}
