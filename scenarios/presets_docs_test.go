package scenarios

import (
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/agentbench-go/agentbench/loop/detect"
	"github.com/google/go-cmp/cmp"
)

func page(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("../docs/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The pages name every key and every word of a variant, and every preset.
func TestVariantPages(t *testing.T) {
	variants, detectors := page(t, "variants.md"), page(t, "detector-keys.md")
	named := func(page, text, word string) {
		t.Helper()
		if !strings.Contains(text, "`"+word) && !strings.Contains(text, "."+word+"`") {
			t.Errorf("docs/%s does not name %s", page, word)
		}
	}
	for _, preset := range Presets() {
		named("variants.md", variants, preset+"`")
	}
	var keys func(reflect.Type)
	keys = func(typ reflect.Type) {
		for _, key := range planOf(typ).keys {
			field := typ.FieldByIndex(planOf(typ).fields[key].index)
			switch {
			case field.Type == reflect.TypeFor[[]detect.Detector]():
			case field.Type.Kind() == reflect.Struct && planOf(field.Type).keys != nil:
				keys(field.Type)
			default:
				named("variants.md", variants, key)
			}
		}
	}
	keys(reflect.TypeFor[variantFile]())
	for _, key := range planOf(reflect.TypeFor[detect.Detector]()).keys {
		named("detector-keys.md", detectors, key+"`")
	}
	for _, typeName := range []string{"Unit", "Class", "Part", "Order", "Match", "Ends", "Moment", "Reset", "VetoedAs", "AfterFiring", "Act"} {
		for _, word := range constants(t, "../loop/detect", typeName) {
			if !strings.Contains(detectors, word) {
				t.Errorf("docs/detector-keys.md does not name the %s %s", typeName, word)
			}
		}
	}
}

// The examples of the pages can be meant, and those that are said to be a
// preset's are.
func TestVariantPageExamples(t *testing.T) {
	of := map[string]string{"circuit-breaker": "recommended", "ping-pong": "recommended", "repeated-error": "goose", "repeated-step": "crush"}
	found := 0
	for _, name := range []string{"variants.md", "detectors.md"} {
		for i, block := range yamlBlocks(t, "../docs/"+name) {
			if strings.HasPrefix(block, "  - name") {
				block = "detectors:\n" + block
			}
			v, err := LoadVariant(write(t, t.TempDir(), "example.yaml", block))
			if err != nil {
				t.Errorf("docs/%s, example %d: %v", name, i+1, err)
				continue
			}
			for _, d := range v.Config.Detectors {
				preset := presetOf(t, of[d.Name])
				j := slices.IndexFunc(preset.Detectors, func(p detect.Detector) bool { return p.Name == d.Name })
				if name == "detectors.md" && len(d.Do) > 0 && (d.Name != "circuit-breaker" || len(d.Do) > 1) {
					found++
					if diff := cmp.Diff(preset.Detectors[j], d); diff != "" {
						t.Errorf("docs/%s, %s is not that of %s (-preset +page):\n%s", name, d.Name, of[d.Name], diff)
					}
				}
			}
		}
	}
	if found != len(of) {
		t.Errorf("%d examples of presets, want %d", found, len(of))
	}
}
