package reports

import (
	"bytes"
	"encoding/json"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/scenarios"
	generator "github.com/invopop/jsonschema"
	validator "github.com/santhosh-tekuri/jsonschema/v6"
)

const (
	schemaFile = "../docs/report.schema.json"
	schemaID   = "https://raw.githubusercontent.com/agentbench-go/agentbench/main/docs/report.schema.json"
)

// The published schema is the one that the structs give. UPDATE=1 rewrites it.
func TestSchemaIsCurrent(t *testing.T) {
	want := generate(t)
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(schemaFile, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is not what the structs give: run UPDATE=1 go test ./reports, and read the diff", schemaFile)
	}
}

// docLink is a link of a doc comment. The generator keeps its brackets.
var docLink = regexp.MustCompile(`\[([A-Za-z.]+)\]`)

// generate makes the schema from the structs and their comments.
func generate(t *testing.T) []byte {
	t.Helper()
	r := &generator.Reflector{ExpandedStruct: true, Mapper: schemaOf}
	if err := r.AddGoComments("github.com/agentbench-go/agentbench/reports", "../reports"); err != nil {
		t.Fatal(err)
	}
	for name, comment := range r.CommentMap {
		r.CommentMap[name] = docLink.ReplaceAllString(comment, "$1")
	}
	out := r.Reflect(&Report{})
	out.ID, out.Title = schemaID, "A report of agentbench"
	schema, _ := out.Properties.Get("schema")
	schema.Const = ReportSchema
	text, err := json.MarshalIndent(out, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return append(text, '\n')
}

// schemaOf returns the schema of words and figures, nil for other types.
func schemaOf(t reflect.Type) *generator.Schema {
	var words []any
	switch t {
	case reflect.TypeFor[Figure]():
		return &generator.Schema{AnyOf: []*generator.Schema{{Type: "number"}, {Type: "null"}}}
	case reflect.TypeFor[scenarios.Label]():
		words = []any{"healthy", "runaway", ""}
	case reflect.TypeFor[scenarios.Verdict]():
		words = []any{"pass", "fail", "inconclusive", "unjudged"}
	case reflect.TypeFor[Metric]():
		words = []any{Caught, Stopped, WentOn, Interfered, Harmed}
	case reflect.TypeFor[loop.EndState]():
		for _, s := range stops {
			words = append(words, s)
		}
		words = append(words, loop.Done, loop.ClarifyNeeded, loop.Ceiling, loop.RecordingEnded, loop.Hung, loop.WasCancelled)
	default:
		return nil
	}
	return &generator.Schema{Type: "string", Enum: words}
}

// Reports are valid: one of everything, and one of nothing.
func TestReportsAreValid(t *testing.T) {
	text, err := os.ReadFile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := validator.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := validator.NewCompiler()
	if err := c.AddResource(schemaID, doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile(schemaID)
	if err != nil {
		t.Fatal(err)
	}
	valid := func(text string) error {
		value, err := validator.UnmarshalJSON(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		return schema.Validate(value)
	}
	full := troubled(t)
	full.Gate = &Gate{Verdict: scenarios.Fail, Rules: []Rule{{Name: "x", Verdict: scenarios.Unjudged}}, Changes: []Change{{What: Fixed, Scenario: "s/a"}}}
	full.Fuzz = []Fuzz{{Kind: "storm", Runs: 1}}
	for name, r := range map[string]*Report{"full": full, "empty": folded(t, &Fold{})} {
		if err := valid(export(t, func(b *bytes.Buffer) error { return WriteJSON(b, r) })); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	text2 := export(t, func(b *bytes.Buffer) error { return WriteJSON(b, full) })
	for _, broken := range [][2]string{{`"agentbench.report/v1"`, `"agentbench.report/v2"`}, {`"seeds": `, `"seedz": `}, {`"label": "healthy"`, `"label": "well"`}, {`"p95_ms": null`, `"p95_ms": "—"`}} {
		text := strings.Replace(text2, broken[0], broken[1], 1)
		if text == text2 {
			t.Errorf("the report has no %s", broken[0])
		} else if valid(text) == nil {
			t.Errorf("a report with %s is valid", broken[1])
		}
	}
}
