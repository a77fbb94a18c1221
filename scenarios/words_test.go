package scenarios

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/loop"
)

// constants returns the string constants of a type in a package's source.
func constants(t *testing.T, dir, typeName string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), dir+"/"+e.Name(), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok {
				return true
			}
			if name, ok := spec.Type.(*ast.Ident); ok && name.Name == typeName {
				for _, v := range spec.Values {
					if text, ok := v.(*ast.BasicLit); ok {
						s, _ := strconv.Unquote(text.Value)
						found = append(found, s)
					}
				}
			}
			return true
		})
	}
	if len(found) == 0 {
		t.Fatalf("no constants of type %s in %s", typeName, dir)
	}
	return found
}

// The language knows every word that the loop and the fakes have.
func TestWordsAreComplete(t *testing.T) {
	tests := []struct {
		dir, typeName string
		words         []string
		except        []string
	}{
		{"../loop", "Event", Events(), nil},
		{"../loop", "Stop", stops(), words([]loop.Stop{loop.StopRecordingEnded, loop.StopByAgent, loop.StopHung})},
		{"../loop", "EndState", words(endStates()), words([]loop.EndState{loop.RecordingEnded, loop.StoppedByAgent, loop.Hung})},
		{"../loop", "Permission", words(permissions()), nil},
		{"../fakes", "When", words(whens()), []string{string(fakes.WhenResult)}},
	}
	for _, tt := range tests {
		for _, word := range constants(t, tt.dir, tt.typeName) {
			if word != "" && !slices.Contains(tt.except, word) && !slices.Contains(tt.words, word) {
				t.Errorf("%s %q is not a word of the language", tt.typeName, word)
			}
		}
	}
}
