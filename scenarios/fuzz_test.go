package scenarios

import (
	"strings"
	"testing"
)

// Whatever a file holds, reading it ends in a scenario or in mistakes that
// have a place in it.
func FuzzRead(f *testing.F) {
	f.Add(valid)
	f.Add("a: [b, {c: d}]\n- x\n")
	f.Add("? a\n: |\n  b\n--- \n...")
	f.Add("model: [{calls: [{a: {b: .inf}}, {a: !!x *y}]}]\n%YAML")
	f.Fuzz(func(t *testing.T, text string) {
		s := &source{file: "f"}
		s.parse(text)
		l := loader{files: map[string]bool{}, ids: map[string]*Scenario{}, variants: map[string]*Variant{}}
		l.add(s, "suite")
		if len(l.mistakes) == 0 && len(l.loaded) == 0 {
			t.Fatal("neither a scenario nor a mistake")
		}
		lines := strings.Count(s.content, "\n") + 1
		for _, m := range l.mistakes {
			if m.Problem == "" || m.Line < 0 || m.Line > lines || (m.Line == 0) != (m.Column == 0) {
				t.Errorf("%+v", m)
			}
			if strings.ContainsAny(m.Error(), "\x1b\x00\r") {
				t.Errorf("%q", m.Error())
			}
		}
	})
}
