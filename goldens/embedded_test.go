package goldens_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentbench-go/agentbench/goldens"
	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/scenarios"
	"github.com/sebdah/goldie/v2"
)

// A trial has a golden: that of each embedded scenario under its own variant, and
// all others whose golden is there.
type trial struct {
	scenarios.Trial
	name string // of its golden
}

// trials lists them, and the goldens that are of no trial.
func trials(t *testing.T) (list []trial, orphans []string) {
	t.Helper()
	all, err := scenarios.Load()
	if err != nil {
		t.Fatal(err)
	}
	orphans, err = goldens.Dir(".").List()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		var variants []scenarios.Variant
		if s.Golden == nil || s.Golden.Mode != "off" {
			variants = append(variants, s.Variant)
		}
		for _, preset := range scenarios.Presets() {
			if name := goldenName(t, s.ID(), preset); preset != s.Variant.Name && slices.Contains(orphans, name) {
				v, err := scenarios.LoadVariant(preset)
				if err != nil {
					t.Fatal(err)
				}
				variants = append(variants, v)
			}
		}
		for _, v := range variants {
			name := goldenName(t, s.ID(), v.Name)
			list = append(list, trial{scenarios.Trial{Scenario: s, Variant: v, Seed: 1}, name})
			orphans = slices.DeleteFunc(orphans, func(other string) bool { return other == name })
		}
	}
	return list, orphans
}

func goldenName(t *testing.T, scenario, variant string) string {
	t.Helper()
	name, err := goldens.Name(scenario, variant)
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// golden is what a trial's golden would be now, with the mode and the allowances
// of the scenario, else those of the golden that is there.
func (tr *trial) golden(t *testing.T) *goldens.Golden {
	t.Helper()
	_, trace := tr.Run(context.Background())
	g := &goldens.Golden{Scenario: tr.Scenario.ID(), Variant: tr.Variant.Name, Seed: tr.Seed, Trace: trace.String()}
	if old, err := goldens.Dir(".").Read(tr.name); err == nil {
		g.Mode, g.Allow = old.Mode, old.Allow
	}
	if spec := tr.Scenario.Golden; spec != nil && tr.Own() {
		g.Mode, g.Allow = goldens.Mode(spec.Mode), nil
		for _, text := range spec.Allow {
			a, err := goldens.ParseAllowance(text.Text)
			if err != nil {
				t.Errorf("%s: %v", tr.Scenario.File, err)
			}
			g.Allow = append(g.Allow, a)
		}
	}
	return g
}

// The embedded goldens are what the trials give, and there is one for each
// embedded scenario. UPDATE=1 rewrites them: read the diff before you commit it.
func TestEmbeddedGoldens(t *testing.T) {
	g := goldie.New(t, goldie.WithFixtureDir("."), goldie.WithNameSuffix(".golden"),
		goldie.WithEqualFn(goldens.Equal), goldie.WithDiffFn(goldens.Diff))
	list, orphans := trials(t)
	for i := range list {
		now := list[i].golden(t).Format()
		name := strings.TrimSuffix(list[i].name, ".golden")
		if os.Getenv("UPDATE") != "" {
			if err := g.Update(t, name, now); err != nil {
				t.Fatal(err)
			}
		}
		g.Assert(t, name, now)
	}
	for _, name := range orphans {
		t.Errorf("%s is the golden of no embedded scenario: agentbench golden prune removes it", name)
	}
}

// What is embedded can be read, and says what it is the golden of.
func TestEmbeddedStore(t *testing.T) {
	store := goldens.Embedded()
	names, err := store.List()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		g, err := store.Read(name)
		if err != nil {
			t.Error(err)
			continue
		}
		if trace, err := loop.ParseTrace(g.Trace); err != nil || len(trace) == 0 {
			t.Errorf("%s: %d records, error %v", g.File, len(trace), err)
		}
		if g.File != "goldens/"+name {
			t.Errorf("%s is called %s", name, g.File)
		}
	}
	if list, _ := trials(t); len(names) < len(list) {
		t.Errorf("%d goldens are embedded, want the %d of the embedded scenarios", len(names), len(list))
	}
}

// The scenario language knows every mode, and off.
func TestScenariosKnowTheModes(t *testing.T) {
	for _, mode := range append(goldens.Modes(), "off") {
		file := filepath.Join(t.TempDir(), "s.yaml")
		text := "name: s\ndescription: it ends\nlabel: healthy\ntask: go\nmodel: [{text: a}]\ngolden: {mode: " + string(mode) + "}\n"
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		all, err := scenarios.Load(file)
		if err != nil || all[0].Golden == nil || all[0].Golden.Mode != string(mode) {
			t.Errorf("%s: got %v, error %v", mode, all, err)
		}
	}
}
