package scenarios

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What YAML writes is read back as the same scenario, with its config.
func TestParse(t *testing.T) {
	all, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		got, err := Parse("suite/"+s.Name+".yaml", string(s.YAML("")))
		if err != nil {
			t.Errorf("%s: %v", s.ID(), err)
			continue
		}
		if got.Suite != "suite" || got.Name != s.Name || got.HeldBack != s.HeldBack || cmp.Diff(s.Config, got.Config) != "" {
			t.Errorf("%s: %s has another name, mark or config: %s", s.ID(), got.ID(), cmp.Diff(s.Config, got.Config))
		}
		if diff := cmp.Diff(s.Script.Faults, got.Script.Faults); diff != "" {
			t.Errorf("%s has other faults: %s", s.ID(), diff)
		}
	}
}

// A name that YAML reads as a number, a truth or nothing stays a text: a recorded run may
// be called 2, and become a scenario.
func TestNamesThatLookLikeValues(t *testing.T) {
	all, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	s := *all[0]
	for _, name := range []string{"2", "1e3", "0x1f", "1.5", "2026-01-02", "true", "null", "no", "nan"} {
		s.Name = name
		got, err := Parse(s.Suite+"/"+name+".yaml", string(s.YAML("")))
		if err != nil || got.Name != name {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
	}
}

func TestParseMistakes(t *testing.T) {
	// The description is missing, and the label is wrong.
	_, err := Parse("mine/x.yaml", "name: x\nlabel: helthy\n")
	mistakes, _ := err.(Mistakes)
	if len(mistakes) < 2 || mistakes[0].File != "mine/x.yaml" || mistakes[1].Line != 2 || mistakes[1].Column != 8 {
		t.Errorf("got %v", err)
	}
	if _, err := Parse("x", string(make([]byte, maxFileBytes+1))); err == nil {
		t.Error("a text above the bound was read")
	}
}
