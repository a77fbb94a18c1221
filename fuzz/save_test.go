package fuzz

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/scenarios"
)

// TestYAML: a generated case that is written as a scenario and loaded again plays
// like before, if a scenario can express all of it.
func TestYAML(t *testing.T) {
	dir := t.TempDir()
	n, cases := 0, 400
	if testing.Short() {
		cases = 100
	}
	for k := range cases {
		c := Number(7, k, Options{})
		c.Strays, c.Hooks, c.Answers, c.Depth = nil, loop.Hooks{}, nil, 0
		if !playable(c) {
			continue
		}
		file := filepath.Join(dir, "case.yaml")
		text := c.YAML("case", "a generated world", "fuzz")
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		loaded, err := scenarios.Load(file)
		if err != nil {
			t.Errorf("case %d: %v\n%s", k, err, text)
			if n++; n > 8 {
				return
			}
			continue
		}
		a, b := played(c), played(FromScenario(loaded[0], c.Seed))
		if d := a.differs(0, b.trace); d >= 0 {
			t.Errorf("case %d: %s\n%s", k, difference(recordText(a.trace, d), recordText(b.trace, d)), text)
			if n++; n > 8 {
				return
			}
		}
	}
}
