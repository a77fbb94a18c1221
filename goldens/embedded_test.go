package goldens_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/agentbench-go/agentbench/goldens"
	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/scenarios"
)

// The embedded goldens are what the trials give, and there is one for each
// embedded scenario. UPDATE=1 rewrites them: read the diff before you commit it.
func TestEmbeddedGoldens(t *testing.T) {
	g := &scenarios.Goldens{Expected: true, Update: os.Getenv("UPDATE") != ""}
	shelf, err := g.Open(scenarios.Selection{})
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Writable(shelf.Scenarios); err != nil {
		t.Fatalf("the files of this folder are compared, not those in the program: %v", err)
	}
	checks, brokeOff, err := shelf.Check(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range checks {
		switch {
		case c.Difference != nil:
			t.Errorf("UPDATE=1 rewrites it: %s", c.Difference)
		case c.Word != scenarios.GoldenMatch && c.Word != scenarios.GoldenOff:
			t.Errorf("%s: %s %s", c.Path, c.Word, c.Problem)
		}
	}
	for _, r := range brokeOff {
		t.Errorf("%s under %s: %+v", r.Scenario, r.Variant, r.Findings)
	}
	for _, o := range shelf.Orphans {
		t.Errorf("%s: %s; agentbench golden prune removes it", o.Path, o.Why)
	}
	for _, err := range shelf.Broken {
		t.Error(err)
	}
	if err := g.Write(); err != nil {
		t.Fatal(err)
	}
}

// What is embedded can be read, is the golden of what its name says, and is all of
// this folder.
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
	if files, err := goldens.Dir(".").List(); err != nil || len(names) == 0 || len(names) != len(files) {
		t.Errorf("%d goldens are embedded, and %d lie here: %v", len(names), len(files), err)
	}
}

// The scenario language knows every mode, and off.
func TestScenariosKnowTheModes(t *testing.T) {
	for _, mode := range append(goldens.Modes(), goldens.Off) {
		file := filepath.Join(t.TempDir(), "s.yaml")
		text := "name: s\ndescription: it ends\nlabel: healthy\ntask: go\nmodel: [{text: a}]\ngolden: {mode: " + string(mode) + "}\n"
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		all, err := scenarios.Load(file)
		if err != nil || all[0].Golden == nil || all[0].Golden.Mode != mode {
			t.Errorf("%s: got %v, error %v", mode, all, err)
		}
	}
}
