package scenarios

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/agentbench-go/agentbench/loop"
)

// yamlBlocks returns the examples of a Markdown file.
func yamlBlocks(t *testing.T, name string) []string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var blocks []string
	for _, part := range strings.Split(string(text), "```yaml\n")[1:] {
		block, _, _ := strings.Cut(part, "```")
		blocks = append(blocks, block)
	}
	return blocks
}

// The examples of the documentation, a small one, one with most keys, one with a sub-run and
// one with hooks, load, and their trials pass.
func TestDocumentedScenario(t *testing.T) {
	for i, text := range append(yamlBlocks(t, "../docs/scenarios.md")[:2], yamlBlocks(t, "../docs/scenarios-more.md")[:2]...) {
		file := filepath.Join(t.TempDir(), "example.yaml")
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		all, err := Load(file)
		if err != nil {
			t.Fatal(err)
		}
		r, trace := Trial{Scenario: all[0], Variant: all[0].Variant, Seed: 1}.Run(context.Background())
		if r.Verdict != Pass {
			t.Errorf("example %d: verdict %s, findings %+v\n%v", i+1, r.Verdict, r.Findings, trace)
		}
	}
}

// So does the one of states: what the model reads again is what catches it, and
// how often that is depends on the seed.
func TestDocumentedStates(t *testing.T) {
	file := filepath.Join(t.TempDir(), "states.yaml")
	if err := os.WriteFile(file, []byte(yamlBlocks(t, "../docs/scenarios.md")[2]), 0o644); err != nil {
		t.Fatal(err)
	}
	all, err := Load(file)
	if err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(20) {
		if r, trace := (Trial{Scenario: all[0], Variant: all[0].Variant, Seed: seed}).Run(t.Context()); r.Verdict != Pass || !r.Random {
			t.Errorf("seed %d: verdict %s, findings %+v\n%v", seed, r.Verdict, r.Findings, trace)
		}
	}
}

func TestDocumentedVariant(t *testing.T) {
	file := filepath.Join(t.TempDir(), "mine.yaml")
	if err := os.WriteFile(file, []byte(yamlBlocks(t, "../docs/scenarios.md")[3]), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadVariant(file); err != nil {
		t.Fatal(err)
	}
}

// The documentation names every event, code and end state that there is.
func TestDocumentedWords(t *testing.T) {
	text, err := os.ReadFile("../docs/scenarios.md")
	if err != nil {
		t.Fatal(err)
	}
	more, err := os.ReadFile("../docs/scenarios-more.md")
	if err != nil {
		t.Fatal(err)
	}
	text = append(text, more...)
	all := append(Events(), stops()...)
	all = append(append(append(all, words(codes())...), words(endStates())...), words(whens())...)
	all = append(append(all, words(planners())...), words(critics())...)
	all = append(append(all, words(stepWires())...), words(failureWires())...)
	all = append(all, slices.Concat(planKeys[scenarioFile](), planKeys[toolEntry](), planKeys[stepEntry]())...)
	for _, word := range all {
		if !strings.Contains(string(text), word) {
			t.Errorf("neither docs/scenarios.md nor docs/scenarios-more.md mentions %s", word)
		}
	}
}

// The documentation has a table of the stops of the loop's own.
func TestDocumentedStops(t *testing.T) {
	text, err := os.ReadFile("../docs/scenarios-more.md")
	if err != nil {
		t.Fatal(err)
	}
	want := "\n| stop | end state | what happened |\n| --- | --- | --- |\n"
	for _, stop := range loop.Stops() {
		want += fmt.Sprintf("| `%s` | %s | %s |\n", stop, stop.EndState(), stop.Means())
	}
	if !strings.Contains(string(text), want+"\n") {
		t.Errorf("docs/scenarios-more.md does not have this table:\n%s", want)
	}
}

// planKeys lists the keys of a part of the language.
func planKeys[T any]() []string { return planOf(reflect.TypeFor[T]()).keys }
