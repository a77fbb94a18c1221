package scenarios

import (
	"encoding"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/agentbench-go/agentbench/internal/text"
)

// JSON returns the variant's config as a JSON object with the keys of a variant's file,
// in their order. Durations are texts such as 5m. The key faithful comes first, if a
// file needs it.
func (v *Variant) JSON() json.RawMessage {
	b := appendConfig(nil, reflect.ValueOf(v.Config))
	if v.Config.NeverActs() == nil {
		return b
	}
	return append([]byte(`{"faithful":true,`), b[1:]...)
}

// appendConfig appends a value of a config as JSON.
func appendConfig(b []byte, v reflect.Value) []byte {
	if d, ok := v.Interface().(time.Duration); ok {
		return appendJSONText(b, text.Exact(d))
	}
	if m, ok := v.Interface().(encoding.TextMarshaler); ok {
		text, _ := m.MarshalText() // a config's texts can always be written
		return appendJSONText(b, string(text))
	}
	switch v.Kind() {
	case reflect.Struct:
		b = append(b, '{')
		for i, key := range planOf(v.Type()).keys {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(appendJSONText(b, key), ':')
			b = appendConfig(b, v.FieldByIndex(planOf(v.Type()).fields[key].index))
		}
		return append(b, '}')
	case reflect.Slice:
		b = append(b, '[')
		for i := range v.Len() {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendConfig(b, v.Index(i))
		}
		return append(b, ']')
	case reflect.Map:
		b = append(b, '{')
		for i, key := range slices.Sorted(maps.Keys(v.Interface().(map[string]int64))) {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(appendJSONText(b, key), ':')
			b = appendConfig(b, v.MapIndex(reflect.ValueOf(key)))
		}
		return append(b, '}')
	case reflect.String:
		return appendJSONText(b, v.String())
	case reflect.Bool:
		return strconv.AppendBool(b, v.Bool())
	case reflect.Float64:
		return strconv.AppendFloat(b, v.Float(), 'f', -1, 64)
	}
	return strconv.AppendInt(b, v.Int(), 10)
}
