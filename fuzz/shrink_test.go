package fuzz

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/scenarios"
	"github.com/leanovate/gopter"
	"github.com/leanovate/gopter/prop"
)

// breaking adds an invariant that the cases for which a function returns true break.
func breaking(t *testing.T, is func(*Case) bool) Invariant {
	t.Helper()
	old := checkers
	t.Cleanup(func() { checkers = old })
	const name Invariant = "of-this-test"
	checkers = []checker{{name, func(p *play) (string, bool) {
		if is(p.Case) {
			return "it is so", true
		}
		return "", true
	}}}
	return name
}

// writesAfterRetries: the model calls write, and three retries or more are
// allowed.
func writesAfterRetries(c *Case) bool {
	for _, s := range c.Script.Model {
		for _, call := range s.Calls {
			if call.Name == "write" && c.Config.Retry.Max >= 3 {
				return true
			}
		}
	}
	return false
}

// smallest is the smallest case with writesAfterRetries: a step with the call, the
// end of the script, and the setting.
func smallest() *Case {
	c := &Case{Seed: 1, Config: loop.Off(), Script: &fakes.Script{Task: "Go.", Model: []fakes.Step{
		{Calls: []fakes.StepCall{{Name: "write"}}}, {Text: "Done.", Repeat: fakes.Forever}}}}
	c.Config.Retry.Max = 3
	return c
}

// TestShrink: irrelevant parts go, relevant parts become as small as possible, and the
// original case does not change.
func TestShrink(t *testing.T) {
	name := breaking(t, writesAfterRetries)
	shrunk := 0
	for n := 0; shrunk < 10; n++ {
		c := Number(5, n, Options{})
		before := shown(c)
		if !breaksIt(c, name) {
			continue
		}
		shrunk++
		small := Shrink(c, name)
		if shown(c) != before {
			t.Errorf("case %d was changed", n)
		}
		want := smallest()
		if len(small.Script.Model) == 1 { // in a state that it never leaves, or if it fails, the call needs no other step
			only := small.Script.Model[0]
			want.Script.Model[0].State, want.Script.Model[0].Failures = only.State, only.Failures
			want.Script.Model = want.Script.Model[:1]
		}
		want.Attacks, want.Recoverable = small.Attacks, small.Recoverable
		if got, want := shown(small), shown(want); got != want {
			t.Errorf("case %d became\n%s\nwant\n%s", n, got, want)
		}
	}
}

// TestShrinkMerges: equal steps become one that is repeated.
func TestShrinkMerges(t *testing.T) {
	name := breaking(t, func(c *Case) bool {
		calls := 0
		for _, o := range played(c).outcomes {
			calls += o.Asked
		}
		return calls == 4
	})
	step := fakes.Step{Calls: []fakes.StepCall{{Name: "read", Args: "{}"}}}
	c := &Case{Seed: 9, Config: loop.Off(), Script: &fakes.Script{Model: []fakes.Step{step, step, step, step, {Text: "done", Repeat: fakes.Forever}},
		Tools: []fakes.Tool{{ToolSpec: loop.ToolSpec{Name: "read"}, Answers: []fakes.Answer{{Result: "text"}}}}}}
	if !breaksIt(c, name) {
		t.Fatal("the case must break the invariant to begin with")
	}
	if size := Shrink(c, name).Size(); size.Steps > 2 || size.Settings > 0 {
		t.Errorf("the case became %v, want a step that is repeated, and perhaps one that ends the run", size)
	}
}

// TestShrinkRecovers: shrinking a recoverable case does not change its config, which
// makes it recoverable.
func TestShrinkRecovers(t *testing.T) {
	old := checkers
	t.Cleanup(func() { checkers = old })
	checkers = []checker{{Recovers, func(p *play) (string, bool) { return "not done", true }}}
	c := Number(1, 3, Options{})
	small := Shrink(c, Recovers)
	if !reflect.DeepEqual(small.Config, c.Config) || small.Hooks != c.Hooks {
		t.Error("the config or the hooks were changed")
	}
	if len(small.Script.Model) != 1 {
		t.Errorf("%d steps are left, want the one that the model ends with", len(small.Script.Model))
	}
}

// TestGen: the generator works in gopter's properties: gopter finds a case and shrinks
// it with the generator's shrinker.
func TestGen(t *testing.T) {
	p := gopter.DefaultTestParametersWithSeed(4)
	result := prop.ForAll(func(c *Case) bool { return !writesAfterRetries(c) }, Gen(Options{})).Check(p)
	if result.Passed() {
		t.Fatal("no case was found")
	}
	small := result.Args[0].Arg.(*Case)
	if size, want := small.Size(), (Size{Steps: 1, Settings: 1}); size != want {
		t.Errorf("the case was shrunk to %v, want %v", size, want)
	}
	if result.Args[0].Shrinks == 0 {
		t.Error("the case was not shrunk")
	}
}

// TestSaved: a saved case is a scenario that loads and passes, and its comment lists
// the parts that a scenario cannot express.
func TestSaved(t *testing.T) {
	c := Number(1, 4, Options{})
	c.Depth, c.Strays = 1, []Stray{{After: 1}}
	if got := len(c.Unsaid()); got < 2 {
		t.Errorf("%d things are unsaid, want the depth and the strays at least: %v", got, c.Unsaid())
	}
	c.Depth, c.Hooks, c.Strays, c.Seed = 0, loop.Hooks{}, nil, 1
	file := filepath.Join(t.TempDir(), "saved.yaml")
	if err := os.WriteFile(file, c.YAML("saved", "a case", "two\nlines \x1b[31m"), 0o600); err != nil {
		t.Fatal(err)
	}
	all, err := scenarios.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	trial := scenarios.Trial{Scenario: all[0], Variant: all[0].Variant, Seed: 1}
	if r, _ := trial.Run(t.Context()); r.Verdict == scenarios.Fail {
		t.Errorf("the scenario fails: %+v", r.Findings)
	}
	if v := Check(FromScenario(all[0], 1)); v.Violation != nil {
		t.Errorf("played as a case it breaks %+v", v.Violation)
	}
}
