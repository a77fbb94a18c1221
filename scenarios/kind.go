package scenarios

import (
	"path"
	"reflect"
	"regexp"
	"slices"

	"github.com/goccy/go-yaml/ast"
)

// What a file can be taken for.
const (
	aScenario = "a scenario"
	aVariant  = "a variant"
)

// A kind is a sort of file that people hand to a command for another sort.
type kind struct {
	name string
	hint string // what reads it
}

var (
	scenarioKind = kind{aScenario, "agentbench run FILE runs it"}
	variantKind  = kind{aVariant, "agentbench run --variant FILE runs scenarios under it; folders named variants are skipped"}
	cassetteKind = kind{"a cassette", "a scenario names it with the key cassette; agentbench cassette doctor FILE examines it"}
	projectKind  = kind{"the file that sets flags", "name another file: agentbench reads this one by itself"}
	recordedKind = kind{"a recorded run", "agentbench replay FILE replays it"}
	resultsKind  = kind{"a results file", "agentbench report FILE shows it"}
)

// resultsStart fits the beginning of a results file.
var resultsStart = regexp.MustCompile(`^\s*\{"type":"(header|trial)",`)

// wrongKind reports whether a file that should be wanted is plainly of another kind,
// which is then its one mistake. Otherwise each of its keys would be one.
func (s *source) wrongKind(wanted string) bool {
	k := s.kind()
	if k.name == "" || k.name == wanted {
		return false
	}
	s.mistakes = Mistakes{{File: s.file, Problem: "is " + k.name + ", not " + wanted, Hint: k.hint}}
	return true
}

// kind returns what the file is, as far as it is plain; the zero kind if it is not.
func (s *source) kind() kind {
	if resultsStart.MatchString(s.content) {
		return resultsKind
	}
	root, ok := s.root.(*ast.MappingNode)
	if !ok {
		return kind{}
	}
	var keys []string
	for _, entry := range root.Values {
		keys = append(keys, entry.Key.GetToken().Value)
	}
	has := func(key string) bool { return slices.Contains(keys, key) }
	ofVariant := planOf(reflect.TypeFor[variantFile]()).fields
	switch {
	case has("label") && (has("task") || has("model")), has("name") && has("model"):
		return scenarioKind
	case path.Base(s.file) == projectFile:
		return projectKind
	case has("interactions"):
		return cassetteKind
	case has("messages"):
		return recordedKind
	case len(keys) > 0 && !slices.ContainsFunc(keys, func(key string) bool { _, known := ofVariant[key]; return !known }):
		return variantKind
	}
	return kind{}
}
