package rawjson

import (
	"encoding/json"
	"reflect"
	"strings"
	"sync"
)

// Unmarshal is [json.Unmarshal] of valid JSON into a zero value, without a copy of what
// becomes a [json.RawMessage]. The errors are those of json.Unmarshal.
func Unmarshal(raw []byte, into any) error {
	v := reflect.ValueOf(into).Elem()
	if fill(raw, v) {
		return nil
	}
	v.SetZero()
	return json.Unmarshal(raw, into)
}

// fill sets a value. It returns false where json.Unmarshal has to do it or to say what is
// wrong.
func fill(raw []byte, v reflect.Value) bool {
	switch v.Type() {
	case rawMessage:
		v.SetBytes(raw[:len(raw):len(raw)])
		return true
	case plainString:
		text, ok := String(raw)
		v.SetString(text)
		return ok || string(raw) == "null"
	}
	if len(raw) == 0 || string(raw) == "null" {
		return json.Unmarshal(raw, v.Addr().Interface()) == nil
	}
	if own, ok := v.Addr().Interface().(json.Unmarshaler); ok {
		return own.UnmarshalJSON(raw) == nil
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return fill(raw, v.Elem())
	case reflect.Slice:
		return raw[0] == '[' && v.Type().Elem().Kind() != reflect.Uint8 && fillSlice(raw, v)
	case reflect.Struct:
		if fields := fieldsOf(v.Type()); raw[0] == '{' && fields != nil {
			return fillStruct(raw, v, fields)
		}
	}
	return json.Unmarshal(raw, v.Addr().Interface()) == nil
}

var rawMessage, plainString = reflect.TypeFor[json.RawMessage](), reflect.TypeFor[string]()

func fillSlice(raw []byte, v reflect.Value) bool {
	v.Set(reflect.MakeSlice(v.Type(), 0, 0))
	for _, item := range Elements(raw) {
		n := v.Len()
		v.Grow(1)
		v.SetLen(n + 1)
		if one := v.Index(n); !fill(item, one) {
			return false
		}
	}
	return true
}

func fillStruct(raw []byte, v reflect.Value, fields []field) bool {
	var filled uint64
	for name, value := range members(raw) {
		i := indexOf(fields, name)
		if i < 0 {
			continue
		}
		if filled&(1<<i) != 0 || !fill(value, v.Field(fields[i].index)) {
			return false // a second value is merged into the first
		}
		filled |= 1 << i
	}
	return true
}

// A field is a field of a struct that JSON may have.
type field struct {
	name  string
	index int
}

// indexOf returns the field for a name in JSON: the one that has it, else the first one
// that has it in another case, -1 for none.
func indexOf(fields []field, name string) int {
	folded := -1
	for i, f := range fields {
		if f.name == name {
			return i
		}
		if folded < 0 && len(f.name) <= len(name) && strings.EqualFold(f.name, name) {
			folded = i
		}
	}
	return folded
}

var known sync.Map // reflect.Type to []field

// fieldsOf returns the fields of a struct, nil for one that only json.Unmarshal knows how
// to fill.
func fieldsOf(t reflect.Type) []field {
	if fields, ok := known.Load(t); ok {
		return fields.([]field)
	}
	fields := []field{}
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, option := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous || option || i == 64 {
			fields = nil
			break
		}
		if name == "" {
			name = f.Name
		}
		if f.IsExported() && name != "-" {
			fields = append(fields, field{name, i})
		}
	}
	known.Store(t, fields)
	return fields
}
