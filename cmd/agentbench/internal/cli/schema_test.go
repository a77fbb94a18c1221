package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// The published schema of agentbench.yaml is the one that the flags give. UPDATE=1
// rewrites it.
func TestProjectSchemaIsCurrent(t *testing.T) {
	path := filepath.Join("..", "..", "..", "..", "docs", projectSchemaFile)
	code, want, stderr := session(t, "schema", "project")
	if code != exitPassed {
		t.Fatal(stderr)
	}
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != want {
		t.Errorf("docs/%s is not what agentbench schema project prints: run UPDATE=1 go test ./cmd/agentbench/internal/cli -run Schema (%v)", projectSchemaFile, err)
	}
}

// What agentbench.yaml may hold passes, and what it may not does not.
func TestProjectSchema(t *testing.T) {
	_, schema, _ := session(t, "schema", "project")
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(schema))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("https://example.org/project", doc); err != nil {
		t.Fatal(err)
	}
	compiled, err := c.Compile("https://example.org/project")
	if err != nil {
		t.Fatal(err)
	}
	for text, fine := range map[string]bool{
		"scenarios: [agentbench]\nrun:\n  keep_traces: failed\n": true,
		"seeds: 5\nvariant: [none, mine.yaml]\nrun:\n":           true,
		"golden: check":            true,
		"golden: {quiet: true}":    true,
		"sedes: 5":                 false,
		"seeds: many":              false,
		"run: {keep_traces: some}": false,
		"run: {bless: a}":          false,
		"config: other.yaml":       false,
	} {
		var value any
		if err := yaml.Unmarshal([]byte(text), &value); err != nil {
			t.Fatal(err)
		}
		asJSON, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		if value, err = jsonschema.UnmarshalJSON(bytes.NewReader(asJSON)); err != nil {
			t.Fatal(err)
		}
		if err := compiled.Validate(value); (err == nil) != fine {
			t.Errorf("%q: %v", text, err)
		}
	}
}
