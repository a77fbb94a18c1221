package goldens

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/agentbench-go/agentbench/loop"
)

// Every line of a trace has a word that allowances know, and every field of a line
// but its kind and number a key.
func TestKeysAreComplete(t *testing.T) {
	var trace loop.Trace
	for kind := loop.Started; kind <= loop.Cancel; kind++ {
		trace = append(trace, loop.Record{In: loop.Input{Kind: kind}})
	}
	for kind := loop.AskModel; kind <= loop.Halt; kind++ {
		trace[0].Effects = append(trace[0].Effects, loop.Effect{Kind: kind})
	}
	var words []string
	for _, e := range entries(trace) {
		words = append(words, e.word)
	}
	slices.Sort(words)
	if words = slices.Compact(words); !slices.Equal(words, lineWords) {
		t.Errorf("the words of a trace are %q, and allowances know %q", words, lineWords)
	}
	for _, part := range []struct {
		of    any
		field func(*key) string
		not   []string // what has no key
	}{
		{loop.Input{}, func(k *key) string { return k.input }, []string{"Kind", "Ref"}},
		{loop.Effect{}, func(k *key) string { return k.effect }, []string{"Kind", "Ref", "Outcome", "System", "History", "Budget", "AskedLeft", "CallsLeft", "SpawnsLeft", "TokensLeft", "CostLeft"}},
		{loop.Outcome{}, func(k *key) string { return k.outcome }, nil},
	} {
		var known []string
		for _, k := range keys {
			known = append(known, part.field(k))
		}
		for _, f := range reflect.VisibleFields(reflect.TypeOf(part.of)) {
			if slices.Contains(known, f.Name) == slices.Contains(part.not, f.Name) {
				t.Errorf("%T.%s: there must be a key for it, or a reason for none", part.of, f.Name)
			}
		}
	}
}

// A key is written as in a trace: followed by =, unless it is a word by itself or has
// none.
func TestKeysAreThoseOfTraces(t *testing.T) {
	for name, k := range keys {
		var text string
		for _, e := range []*entry{{}, {effect: &loop.Effect{}}, {effect: &loop.Effect{Outcome: &loop.Outcome{}}}} {
			v := k.in(e)
			if !v.IsValid() {
				continue
			}
			switch v.Kind() {
			case reflect.String:
				v.SetString("x")
			case reflect.Bool:
				v.SetBool(true)
			case reflect.Slice:
				v.Set(reflect.ValueOf([]loop.AskedCall{{ID: "x"}}))
			case reflect.Struct:
				v.Set(reflect.ValueOf(loop.Ref{Kind: loop.RefCall, N: 1}))
			default:
				v.SetInt(1)
			}
			e.render()
			text += e.text + "\n"
			want := " " + name
			switch {
			case name == "time":
				want = "0.000000001s "
			case name == "id":
				want = " call=x:"
			case v.Kind() != reflect.Bool:
				want += "="
			}
			if !strings.Contains(e.text, want) {
				t.Errorf("%s: %q does not hold %q", name, e.text, want)
			}
		}
		if text == "" {
			t.Errorf("%s is in no line", name)
		}
	}
}
