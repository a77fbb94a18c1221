package scenarios

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/agentbench-go/agentbench/loop"
	"github.com/goccy/go-yaml/ast"
)

// A keyPath is the way to a key of the language: tools[].answers[].failures[].hang.
type keyPath string

// keyPaths lists the keys of a struct and of those below it.
func keyPaths(t reflect.Type, at keyPath) []keyPath {
	if t == reflect.TypeFor[expectation]() {
		return append(keyPaths(reflect.TypeFor[expectEntry](), at), keyPaths(reflect.TypeFor[[]expectEntry](), at)...)
	}
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		if t.Kind() == reflect.Slice {
			at += "[]"
		}
		t = t.Elem()
	}
	if strings.Contains(string(at), ".session.") && (t == reflect.TypeFor[toolEntry]() || t == reflect.TypeFor[stepEntry]()) {
		return nil // their keys are those of the scenario's own tools and model
	}
	if t.Kind() != reflect.Struct || len(planOf(t).keys) == 0 || planOf(t).keys[0] == "" {
		return nil
	}
	if at != "" {
		at += "."
	}
	var out []keyPath
	for _, key := range planOf(t).keys {
		field := t.FieldByIndex(planOf(t).fields[key].index).Type
		out = append(append(out, at+keyPath(key)), keyPaths(field, at+keyPath(key))...)
	}
	return out
}

// language lists the keys of a scenario, with those of its config.
func language() []keyPath {
	return append(keyPaths(reflect.TypeFor[scenarioFile](), ""), keyPaths(reflect.TypeFor[loop.Config](), "config")...)
}

// uses notes the keys of a file.
func uses(n ast.Node, at keyPath, used map[keyPath]bool) {
	switch n := n.(type) {
	case *ast.MappingNode:
		for _, entry := range n.Values {
			next := keyPath(entry.Key.GetToken().Value)
			if at != "" {
				next = at + "." + next
			}
			used[next] = true
			uses(entry.Value, next, used)
		}
	case *ast.SequenceNode:
		for _, item := range n.Values {
			uses(item, at+"[]", used)
		}
	}
}

// Each key of the language is used in an embedded scenario, or in the one of the
// documentation, which is run as well. Keys of a config can be in a preset.
func TestEachKeyIsUsed(t *testing.T) {
	all, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	used := map[keyPath]bool{}
	for _, s := range all {
		name := strings.TrimPrefix(s.File, "scenarios/")
		uses(opener(embedded.Open).read(name, s.File).root, "", used)
	}
	documented := write(t, t.TempDir(), "s.yaml", yamlBlocks(t, "../docs/scenarios.md")[1])
	uses(opener(osOpen).read(documented, documented).root, "", used)
	for _, name := range Presets() {
		uses(opener(embedded.Open).read(presetFile(name), name).root, "config", used)
	}
	used["cassette"] = true // what is embedded has no recordings: cmd/agentbench/testdata/record.txt uses it
	for _, key := range language() {
		if !used[key] {
			t.Errorf("no embedded scenario has the key %s", key)
		}
	}
}

// wrong is not a valid value of any key.
const wrong = "[[1]]"

// broken writes a file whose last line holds a wrong value at a key, and returns the
// column of that value.
func broken(key keyPath) (text string, column int) {
	steps := strings.Split(string(key), ".")
	line := wrong
	for i := len(steps) - 1; i > 0; i-- {
		line = "{" + steps[i] + ": " + line + "}"
		if name, list := strings.CutSuffix(steps[i-1], "[]"); list {
			line, steps[i-1] = "["+line+"]", name
		}
	}
	line = steps[0] + ": " + line
	for _, whole := range []string{"name: one", "description: d", "label: healthy", "task: t", "model: [{text: hello}]"} {
		if !strings.HasPrefix(whole, steps[0]+":") {
			text += whole + "\n"
		}
	}
	return text + line + "\n", strings.Index(line, wrong) + 1
}

// entryOf names the entries of lists that are not named after their key.
var entryOf = map[string]string{"calls": "a call", "must": "event", "must_not": "event"}

// Each key of the language has a value that is refused, at its place and by its
// name.
func TestEachKeyIsChecked(t *testing.T) {
	seen := map[string]keyPath{}
	for _, key := range language() {
		text, column := broken(key)
		line := strings.Count(text, "\n")
		last := string(key[strings.LastIndex(string(key), ".")+1:])
		found := ""
		for _, m := range mistakes(t, text) {
			// A list refuses the entry, one to the right.
			for _, at := range []int{column, column + 1} {
				if strings.HasPrefix(m, fmt.Sprintf("%d:%d: ", line, at)) && (strings.Contains(m, last) || entryOf[last] != "" && strings.Contains(m, entryOf[last])) {
					found = m
				}
			}
		}
		if found == "" {
			t.Errorf("%s: no mistake at %d:%d names %s\n%s%s", key, line, column, last, text, strings.Join(mistakes(t, text), "\n"))
		}
		if other, twice := seen[text]; twice {
			t.Errorf("%s and %s were tried with one file", key, other)
		}
		seen[text] = key
	}
	if len(seen) < 150 {
		t.Errorf("only %d keys were found", len(seen))
	}
}
