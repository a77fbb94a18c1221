package loop

import (
	"reflect"
	"strings"
	"testing"
)

// Map changes every text of a trace but the words of the loop itself, and leaves
// the trace as it is. What is a text is found by reflection: a new field that
// Map forgets fails here.
func TestTraceMap(t *testing.T) {
	fixed := map[string]bool{"Kind": true, "Event": true, "Why": true, "Code": true, "For": true, "At": true, "Stop": true, "End": true, "Cause": true, "Ref": true, "Of": true, "Path": true}
	var fill func(v reflect.Value, name string) int
	fill = func(v reflect.Value, name string) (texts int) {
		switch v.Kind() {
		case reflect.String:
			if !fixed[name] {
				v.SetString("SECRET")
				return 1
			}
		case reflect.Struct:
			for i := range v.NumField() {
				if f := v.Type().Field(i); f.IsExported() {
					texts += fill(v.Field(i), f.Name)
				}
			}
		case reflect.Pointer:
			v.Set(reflect.New(v.Type().Elem()))
			texts += fill(v.Elem(), name)
		case reflect.Slice:
			if name == "History" {
				return 0 // not part of a trace
			}
			v.Set(reflect.MakeSlice(v.Type(), 2, 2))
			for i := range 2 {
				texts += fill(v.Index(i), name)
			}
		}
		return texts
	}
	var trace Trace
	want := fill(reflect.ValueOf(&trace).Elem(), "")
	systems := 0 // an effect's system prompt is not part of a trace
	for _, r := range trace {
		systems += len(r.Effects)
	}
	got := 0
	mapped := trace.Map(func(text string) string {
		if text == "SECRET" {
			got++
		}
		return strings.ToLower(text)
	})
	if got != want-systems {
		t.Errorf("%d texts are changed, want %d", got, want-systems)
	}
	if strings.Contains(mapped.String(), "SECRET") {
		t.Errorf("the mapped trace is\n%s", mapped)
	}
	if n := strings.Count(trace.String(), "secret"); n > 0 {
		t.Errorf("the trace itself has changed in %d places", n)
	}
}
