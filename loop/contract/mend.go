package contract

import (
	"maps"
	"reflect"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// mend makes the repairs of the package comment and returns the value.
func (k *checker) mend(value any) any {
	w := walk{checker: k, down: func(v any, s *jsonschema.Schema, _ *place) any {
		switch v := v.(type) {
		case string:
			return k.mendEnum(v, s)
		case map[string]any:
			k.mendNames(v, s)
			k.inferFields(v, s)
		}
		return v
	}}
	return w.value(value, k.root, nil)
}

// may spends one of the repairs that are left, and returns false if there was none.
func (k *checker) may() bool {
	if k.repairs == 0 {
		return false
	}
	k.repairs--
	k.repaired++
	k.changed = true
	return true
}

// mendEnum returns the one member of the enum that is near a string, or the string.
func (k *checker) mendEnum(v string, s *jsonschema.Schema) string {
	if s.Enum == nil || slices.Contains(s.Enum.Values, any(v)) {
		return v
	}
	var members []string
	for _, member := range s.Enum.Values {
		if member, ok := member.(string); ok {
			members = append(members, member)
		}
	}
	if found := k.near(v, members); len(found) == 1 && k.may() {
		return found[0]
	}
	return v
}

// mendNames renames fields whose names are near that of a missing required field.
// It chooses all of them before it changes any.
func (k *checker) mendNames(fields map[string]any, s *jsonschema.Schema) {
	if closed, ok := s.AdditionalProperties.(bool); !ok || closed {
		return
	}
	var unlisted, absent []string
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if len(fieldSchemas(s, name)) == 0 {
			unlisted = append(unlisted, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		if _, there := fields[name]; !there {
			absent = append(absent, name)
		}
	}
	names := map[string]string{} // new to old
	for _, name := range absent {
		if len(unlisted) == 0 || !slices.Contains(s.Required, name) {
			continue
		}
		if old := k.near(name, unlisted); len(old) == 1 && len(k.near(old[0], absent)) == 1 {
			names[name] = old[0]
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if k.may() {
			fields[name] = fields[names[name]]
			delete(fields, names[name])
		}
	}
}

// inferFields adds missing required fields that can have only one value. A field
// with a default is not missing.
func (k *checker) inferFields(fields map[string]any, s *jsonschema.Schema) {
	for _, name := range slices.Sorted(slices.Values(s.Required)) {
		field := s.Properties[name]
		if _, there := fields[name]; there || field == nil || k.preset(field, 0).ok {
			continue
		}
		if value, ok := k.only(field); ok && k.may() {
			fields[name] = clone(value)
		}
	}
}

// only returns the one value that a schema allows by a const, an enum or the type
// null. ok is false if there is not exactly one.
func (k *checker) only(s *jsonschema.Schema) (value any, ok bool) {
	for _, part := range k.partsOf(s) {
		var one any
		switch {
		case part.Const != nil:
			one = *part.Const
		case part.Enum != nil && len(part.Enum.Values) == 1:
			one = part.Enum.Values[0]
		case part.Types == nil || !slices.Equal(part.Types.ToStrings(), []string{"null"}):
			continue
		}
		if ok && !reflect.DeepEqual(one, value) {
			return nil, false
		}
		value, ok = one, true
	}
	return value, ok
}

// maxEdits is the edit distance within which two words are near. At least one
// character must be left unchanged: "ft" is not near "km".
const maxEdits = 2

// near returns the words that are near a word.
func (k *checker) near(word string, words []string) []string {
	k.spend(1 + len(words) + len(word)/64)
	var found []string
	var runes []rune
	for _, other := range words {
		if d := len(word) - len(other); d > 4*maxEdits || d < -4*maxEdits {
			continue // too far, since a code point has at most 4 bytes
		}
		if runes == nil {
			runes = []rune(word)
		}
		if within(runes, []rune(other), min(maxEdits, len(runes)-1)) {
			found = append(found, other)
		}
	}
	return found
}

// within reports whether at most edits edits turn a into b. An edit adds, removes or
// replaces a code point.
func within(a, b []rune, edits int) bool {
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	switch {
	case len(a) == 0 || len(b) == 0:
		return len(a)+len(b) <= edits
	case edits == 0:
		return false
	}
	return within(a[1:], b[1:], edits-1) || within(a[1:], b, edits-1) || within(a, b[1:], edits-1)
}
