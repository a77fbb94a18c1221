package fuzz

import (
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/loop"
)

// A walk simplifies a case in place, one change after another. It keeps a change if
// try returns true.
type walk struct {
	*Case
	try  func() bool
	kept bool // a change was kept
	// late is set if an earlier walk has tried the large changes.
	late bool
}

// set replaces a value, and reports whether the change was kept.
func (w *walk) set(v, to reflect.Value) bool {
	if reflect.DeepEqual(v.Interface(), to.Interface()) {
		return false
	}
	old := reflect.New(v.Type()).Elem()
	old.Set(v)
	v.Set(to)
	if w.try() {
		w.kept = true
		return true
	}
	v.Set(old)
	return false
}

// all tries the large changes first, then every value.
func (w *walk) all() {
	s := reflect.ValueOf(w.Script).Elem()
	for _, list := range []reflect.Value{
		reflect.ValueOf(w.Case).Elem().FieldByName("Strays"),
		reflect.ValueOf(w.Case).Elem().FieldByName("Answers"), s.FieldByName("Faults"),
		s.FieldByName("Model"), s.FieldByName("Tools"),
		reflect.ValueOf(&w.Config.Detectors).Elem(),
	} {
		w.shorten(list)
	}
	if !w.late {
		w.last()
	}
	w.extend()
	off := loop.Off()
	for _, group := range []string{"Contracts", "Policy", "History", "Limits", "Time", "Errors", "Retry", "ModelRetry", "Parallel"} {
		w.set(reflect.ValueOf(&w.Config).Elem().FieldByName(group), reflect.ValueOf(off).FieldByName(group))
	}
	w.set(reflect.ValueOf(&w.Script.User).Elem(), reflect.ValueOf(fakes.User{}))
	w.set(reflect.ValueOf(&w.Seed).Elem(), reflect.ValueOf(uint64(1)))
	w.merge()
	w.value(reflect.ValueOf(&w.Config).Elem(), reflect.ValueOf(off))
	w.value(reflect.ValueOf(&w.Hooks).Elem(), reflect.Value{})
	w.value(reflect.ValueOf(&w.Depth).Elem(), reflect.Value{})
	w.value(s.FieldByName("User"), reflect.Value{})
	w.value(s.FieldByName("Tools"), reflect.Value{})
	w.value(s.FieldByName("Model"), reflect.Value{})
	for _, field := range []string{"System", "Planner", "Constraints", "Critic", "SafetyPrompt", "Window", "ToolChoice"} {
		w.set(s.FieldByName(field), reflect.Zero(s.FieldByName(field).Type()))
	}
	w.set(s.FieldByName("Task"), reflect.ValueOf("Go."))
}

// lists tries to leave out parts of the world.
func (w *walk) lists() {
	s := reflect.ValueOf(w.Script).Elem()
	w.shorten(s.FieldByName("Model"))
	w.shorten(s.FieldByName("Tools"))
	w.set(s.FieldByName("User"), reflect.ValueOf(fakes.User{}))
	for i := range w.Script.Model {
		step := reflect.ValueOf(&w.Script.Model[i]).Elem()
		w.shorten(step.FieldByName("Calls"))
		w.shorten(step.FieldByName("Failures"))
	}
	for i := range w.Script.Tools {
		w.shorten(reflect.ValueOf(&w.Script.Tools[i].Answers).Elem())
		for j := range w.Script.Tools[i].Answers {
			w.shorten(reflect.ValueOf(&w.Script.Tools[i].Answers[j].Failures).Elem())
		}
	}
}

// shorten tries to leave out parts of a list: all of it, halves, quarters, and so on
// down to single entries.
func (w *walk) shorten(list reflect.Value) {
	for size := list.Len(); size > 0; size /= 2 {
		for at := 0; at < list.Len(); {
			end := min(at+size, list.Len())
			rest := reflect.MakeSlice(list.Type(), 0, list.Len())
			rest = reflect.AppendSlice(rest, list.Slice(0, at))
			rest = reflect.AppendSlice(rest, list.Slice(end, list.Len()))
			if !w.set(list, rest) {
				at = end
			}
		}
	}
}

// last makes the last plain step repeat forever, so that the script does not run dry
// when a setting that ends the run is removed.
func (w *walk) last() {
	for i := len(w.Script.Model) - 1; i >= 0; i-- {
		if s := &w.Script.Model[i]; s.When == fakes.WhenAlways {
			w.set(reflect.ValueOf(&s.Repeat).Elem(), reflect.ValueOf(fakes.Forever))
			return
		}
	}
}

// extend tries to leave out steps whose only effect is that the script does not run
// dry: the last step repeats forever in their place.
func (w *walk) extend() {
	steps := reflect.ValueOf(w.Script).Elem().FieldByName("Model")
	for i := 0; i+1 < steps.Len(); {
		rest := slices.Delete(slices.Clone(w.Script.Model), i, i+1)
		rest[len(rest)-1].Repeat = fakes.Forever
		if !w.set(steps, reflect.ValueOf(rest)) {
			i++
		}
	}
}

// merge tries to replace two neighbours by the first of them, repeated.
func (w *walk) merge() {
	steps := reflect.ValueOf(w.Script).Elem().FieldByName("Model")
	for i := 0; i+1 < steps.Len(); {
		a, b := w.Script.Model[i], w.Script.Model[i+1]
		if a.When != b.When || a.State != b.State || !reflect.DeepEqual(a.Result, b.Result) {
			i++
			continue
		}
		a.Repeat = max(a.Repeat, 1) + max(b.Repeat, 1)
		if b.Repeat == fakes.Forever || w.Script.Model[i].Repeat == fakes.Forever {
			a.Repeat = fakes.Forever
		}
		merged := append(append(append([]fakes.Step(nil), w.Script.Model[:i]...), a), w.Script.Model[i+2:]...)
		if !w.set(steps, reflect.ValueOf(merged)) {
			i++
		}
	}
}

var (
	spanType     = reflect.TypeFor[fakes.Span]()
	durationType = reflect.TypeFor[time.Duration]()
)

// value tries simpler values. base is the simplest value; an invalid base means the
// zero value.
func (w *walk) value(v, base reflect.Value) {
	if !base.IsValid() {
		base = reflect.Zero(v.Type())
	}
	if w.set(v, base) || reflect.DeepEqual(v.Interface(), base.Interface()) {
		return
	}
	switch {
	case v.Type() == spanType:
		w.span(v)
		return
	case v.Type() == durationType:
		w.number(v, int64(time.Second), v.Int()/2, v.Int()/int64(time.Second)*int64(time.Second))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			w.value(v.Field(i), base.Field(i))
		}
	case reflect.Slice:
		w.shorten(v)
		for i := range v.Len() {
			w.value(v.Index(i), reflect.Value{})
		}
	case reflect.Pointer:
		if v.Elem().Kind() == reflect.Struct {
			w.value(v.Elem(), reflect.Value{})
		}
	case reflect.Int, reflect.Int64:
		w.number(v, 1, 2, 3, v.Int()/2, v.Int()-1)
	case reflect.String:
		w.text(v)
	}
}

// number tries those of the numbers that are above 0 and smaller.
func (w *walk) number(v reflect.Value, smaller ...int64) {
	for _, n := range smaller {
		if n > 0 && n < v.Int() {
			w.set(v, reflect.ValueOf(n).Convert(v.Type()))
		}
	}
}

func (w *walk) span(v reflect.Value) {
	s := v.Interface().(fakes.Span)
	for _, to := range []fakes.Span{{Min: time.Second, Max: time.Second}, {Min: s.Min, Max: s.Min}, fakes.Instantly()} {
		if to.Min <= s.Min && to.Max < s.Max && to != (fakes.Span{}) && w.set(v, reflect.ValueOf(to)) {
			return
		}
	}
}

// text tries shorter texts: a letter, an object without members, the first half.
func (w *walk) text(v reflect.Value) {
	plain := "a"
	if strings.HasPrefix(v.String(), "{") {
		plain = "{}"
	}
	if len(v.String()) > len(plain) {
		w.set(v, reflect.ValueOf(plain).Convert(v.Type()))
	}
	for {
		r := []rune(v.String())
		if len(r) < 8 || !w.set(v, reflect.ValueOf(string(r[:len(r)/2])).Convert(v.Type())) {
			return
		}
	}
}

// leaves lists the paths of the values of b that differ from those of a. Each struct
// in a list of b counts as one.
func leaves(a, b reflect.Value) []string {
	var out []string
	var compare func(path string, a, b reflect.Value)
	compare = func(path string, a, b reflect.Value) {
		if a.Kind() == reflect.Struct {
			for i := range a.NumField() {
				compare(path+"."+a.Type().Field(i).Name, a.Field(i), b.Field(i))
			}
			return
		}
		if a.Kind() == reflect.Slice && a.Type().Elem().Kind() == reflect.Struct {
			for range b.Len() {
				out = append(out, path)
			}
			return
		}
		if !reflect.DeepEqual(a.Interface(), b.Interface()) {
			out = append(out, path)
		}
	}
	compare("", a, b)
	return out
}
