package contract

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// A walk visits a value and all values in it, each with the schemas that certainly
// apply to it. It calls down before the values inside and up after them. Both may
// change the fields of the value, or return another value.
type walk struct {
	*checker
	down, up func(v any, s *jsonschema.Schema, at *place) any
}

// A place is the place of a value; nil is the top.
type place struct {
	in   *place
	name string
}

// value visits v with schema s, and returns the new value.
func (w *walk) value(v any, s *jsonschema.Schema, at *place) any {
	w.spend(1)
	parts := w.partsOf(s)
	v = show(w.down, v, parts, at)
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			for _, part := range parts {
				for _, field := range fieldSchemas(part, name) {
					v[name] = w.value(v[name], field, &place{at, name})
				}
			}
		}
	case []any:
		for i := range v {
			for _, part := range parts {
				if item := itemSchema(part, i); item != nil {
					v[i] = w.value(v[i], item, &place{at, strconv.Itoa(i)})
				}
			}
		}
	}
	return show(w.up, v, parts, at)
}

// show calls visit, if it is not nil, for each of the schemas.
func show(visit func(any, *jsonschema.Schema, *place) any, v any, parts []*jsonschema.Schema, at *place) any {
	if visit != nil {
		for _, part := range parts {
			v = visit(v, part, at)
		}
	}
	return v
}

// partsOf returns the schema and the schemas that it includes by $ref and allOf.
func (k *checker) partsOf(s *jsonschema.Schema) []*jsonschema.Schema {
	parts, known := k.parts[s]
	if !known {
		parts = appendParts(nil, s)
		k.parts[s] = parts
	}
	return parts
}

func appendParts(parts []*jsonschema.Schema, s *jsonschema.Schema) []*jsonschema.Schema {
	if s == nil || slices.Contains(parts, s) {
		return parts
	}
	parts = appendParts(append(parts, s), s.Ref)
	for _, part := range s.AllOf {
		parts = appendParts(parts, part)
	}
	return parts
}

// fieldSchemas returns the schemas for a field by that name.
func fieldSchemas(s *jsonschema.Schema, name string) []*jsonschema.Schema {
	var found []*jsonschema.Schema
	if field := s.Properties[name]; field != nil {
		found = append(found, field)
	}
	found = append(found, matching(s, name)...)
	if field, ok := s.AdditionalProperties.(*jsonschema.Schema); ok && len(found) == 0 {
		found = append(found, field)
	}
	return found
}

// matching returns the schemas of the patternProperties that match a name, in a
// fixed order.
func matching(s *jsonschema.Schema, name string) []*jsonschema.Schema {
	if len(s.PatternProperties) == 0 {
		return nil
	}
	var found []*jsonschema.Schema
	for pattern, field := range s.PatternProperties {
		if pattern.MatchString(name) {
			found = append(found, field)
		}
	}
	slices.SortFunc(found, func(a, b *jsonschema.Schema) int { return strings.Compare(a.Location, b.Location) })
	return found
}

// itemSchema returns the schema for item i of an array, or nil.
func itemSchema(s *jsonschema.Schema, i int) *jsonschema.Schema {
	if i < len(s.PrefixItems) {
		return s.PrefixItems[i]
	}
	if s.Items2020 != nil {
		return s.Items2020
	}
	item, _ := s.Items.(*jsonschema.Schema) // of drafts before 2020-12
	return item
}

// findMissing returns the paths of the missing required fields.
func (k *checker) findMissing(value any) []string {
	w := walk{checker: k, down: func(v any, s *jsonschema.Schema, at *place) any {
		fields, ok := v.(map[string]any)
		if ok {
			for _, name := range s.Required {
				if _, there := fields[name]; !there {
					k.missing = append(k.missing, (&place{at, name}).way())
				}
			}
		}
		return v
	}}
	w.value(value, k.root, nil)
	slices.Sort(k.missing)
	return slices.Compact(k.missing)
}

// way returns the path to a place: its JSON pointer without the first slash.
func (p *place) way() string {
	var names []string
	for ; p != nil; p = p.in {
		names = append(names, p.name)
	}
	slices.Reverse(names)
	return strings.TrimPrefix(pointer(names), "/")
}
