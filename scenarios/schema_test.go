package scenarios

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/loop/detect"
	generator "github.com/invopop/jsonschema"
	validator "github.com/santhosh-tekuri/jsonschema/v6"
)

const schemaFile = "scenario.schema.json"

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
		t.Errorf("%s is not what the structs give: run UPDATE=1 go test ./scenarios, and read the diff", schemaFile)
	}
}

// generate makes the schema from the structs, and from the comments of those of
// the language. The comments of the config speak to Go programmers.
func generate(t *testing.T) []byte {
	t.Helper()
	r := &generator.Reflector{FieldNameTag: "yaml", RequiredFromJSONSchemaTags: true, ExpandedStruct: true, Mapper: schemaOf,
		LookupComment: comments(t)}
	out := r.Reflect(&scenarioFile{})
	out.ID = "https://raw.githubusercontent.com/agentbench-go/agentbench/main/scenarios/" + schemaFile
	out.Title = "A scenario of agentbench"
	r.ExpandedStruct = false
	for _, part := range []any{&loop.Config{}, &expectEntry{}} {
		maps.Copy(out.Definitions, r.Reflect(part).Definitions)
	}
	out.Definitions["Config"].Properties.Set("faithful", &generator.Schema{Type: "boolean",
		Description: "faithful keeps settings that can never act, for the config of a system that has this fault. Without it they are mistakes."})
	// The one list of texts whose entries may look like numbers.
	statuses, _ := out.Definitions["ModelRetry"].Properties.Get("statuses")
	statuses.Items = &generator.Schema{AnyOf: []*generator.Schema{{Type: "string"}, {Type: "integer"}}}
	text, err := json.MarshalIndent(out, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return append(text, '\n')
}

// comments returns a lookup of the comments of the language's fields, which begin with
// the key instead of the field's name. Reflector.AddGoComments reads exported types only.
func comments(t *testing.T) func(reflect.Type, string) string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "file.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok {
			return true
		}
		if body, ok := spec.Type.(*ast.StructType); ok {
			for _, f := range body.Fields.List {
				found[spec.Name.Name+"."+f.Names[0].Name] = strings.Join(strings.Fields(f.Doc.Text()), " ")
			}
		}
		return false
	})
	language := reflect.TypeFor[scenarioFile]().PkgPath()
	return func(t reflect.Type, name string) string {
		if t.PkgPath() != language || name == "" {
			return ""
		}
		comment := found[t.Name()+"."+name]
		if rest, ok := strings.CutPrefix(comment, name+" "); ok {
			field, _ := t.FieldByName(name)
			return field.Tag.Get("yaml") + " " + rest
		}
		return comment
	}
}

// schemaOf returns the schema of the types that read themselves, nil for others.
func schemaOf(t reflect.Type) *generator.Schema {
	duration := `[0-9.]+(ns|us|µs|ms|s|m|h)([0-9.]+(ns|us|µs|ms|s|m|h))*`
	text := func(pattern string) *generator.Schema {
		return &generator.Schema{Type: "string", Pattern: "^" + pattern + "$"}
	}
	either := func(s ...*generator.Schema) *generator.Schema { return &generator.Schema{AnyOf: s} }
	object := func() *generator.Schema { return &generator.Schema{Type: "object"} }
	zero := &generator.Schema{Const: 0}
	switch t {
	case reflect.TypeFor[time.Duration]():
		return either(text(duration), zero)
	case reflect.TypeFor[latency](), reflect.TypeFor[TimeRange]():
		return either(text(duration+`(\.\.`+duration+`)?`), zero)
	case reflect.TypeFor[Range](), reflect.TypeFor[detect.Period]():
		return either(text(`[0-9]+(\.\.[0-9]+)?`), &generator.Schema{Type: "integer", Minimum: "0"})
	case reflect.TypeFor[repeat]():
		return either(&generator.Schema{Type: "integer", Minimum: "1"}, &generator.Schema{Const: forever})
	case reflect.TypeFor[dollars]():
		return &generator.Schema{Type: "number", Minimum: "0", Maximum: json.Number("1000000")}
	case reflect.TypeFor[jsonObject](), reflect.TypeFor[jsonValues]():
		return object()
	case reflect.TypeFor[argsText]():
		return either(object(), &generator.Schema{Type: "string"})
	case reflect.TypeFor[ownRetry]():
		return &generator.Schema{Ref: "#/$defs/Retry"}
	case reflect.TypeFor[configNode]():
		return &generator.Schema{Ref: "#/$defs/Config"}
	case reflect.TypeFor[expectation]():
		entry := &generator.Schema{Ref: "#/$defs/expectEntry"}
		return either(entry, &generator.Schema{Type: "array", Items: entry, MinItems: ptr(uint64(1))})
	case reflect.TypeFor[faultEntry]():
		return &generator.Schema{Type: "string"}
	case reflect.TypeFor[transitions]():
		weight := &generator.Schema{Type: "number", Minimum: "0.000001", Maximum: "1000000"}
		return &generator.Schema{Type: "object", MinProperties: ptr(uint64(1)), AdditionalProperties: weight}
	case reflect.TypeFor[callEntry]():
		return callSchema()
	case reflect.TypeFor[whenEntry]():
		return whenSchema()
	case reflect.TypeFor[jsonValue]():
		return &generator.Schema{}
	case reflect.TypeFor[messageEntry]():
		return messageSchema()
	case reflect.TypeFor[replyEntry]():
		return replySchema()
	}
	if list := vocabulary(t); list != nil {
		s := &generator.Schema{Type: "string"}
		for _, w := range list {
			s.Enum = append(s.Enum, w)
		}
		return s
	}
	return nil
}

func ptr[T any](v T) *T { return &v }

// callSchema is a call in its long form, or one tool and its arguments.
func callSchema() *generator.Schema {
	args := schemaOf(reflect.TypeFor[argsText]())
	long := generator.NewProperties()
	long.Set("name", &generator.Schema{Type: "string"})
	long.Set("id", &generator.Schema{Type: "string"})
	long.Set("args", args)
	one := uint64(1)
	return &generator.Schema{AnyOf: []*generator.Schema{
		{Type: "object", MinProperties: &one, MaxProperties: &one, AdditionalProperties: args},
		{Type: "object", Properties: long, Required: []string{"name"}, AdditionalProperties: generator.FalseSchema},
	}}
}

// whenSchema is a word, or a condition on the last result.
func whenSchema() *generator.Schema {
	r := &generator.Reflector{FieldNameTag: "yaml", RequiredFromJSONSchemaTags: true, DoNotReference: true, ExpandedStruct: true, Mapper: schemaOf}
	result := r.Reflect(&resultEntry{})
	result.Version, result.ID = "", ""
	one := func(required ...string) *generator.Schema { return &generator.Schema{Required: required} }
	result.OneOf = []*generator.Schema{one("contains"), one("matches"), one("path", "is")}
	keys := generator.NewProperties()
	keys.Set(string(fakes.WhenResult), result)
	return &generator.Schema{AnyOf: []*generator.Schema{
		schemaOf(reflect.TypeFor[whenWord]()),
		{Type: "object", Properties: keys, Required: []string{string(fakes.WhenResult)}, AdditionalProperties: generator.FalseSchema},
	}}
}

func messageSchema() *generator.Schema {
	keys := generator.NewProperties()
	keys.Set("text", &generator.Schema{Type: "string"})
	keys.Set("after", schemaOf(reflect.TypeFor[afterWord]()))
	keys.Set("wait", schemaOf(reflect.TypeFor[time.Duration]()))
	keys.Set("at", schemaOf(reflect.TypeFor[time.Duration]()))
	return &generator.Schema{AnyOf: []*generator.Schema{
		{Type: "string"},
		{Type: "object", Properties: keys, Required: []string{"text"}, AdditionalProperties: generator.FalseSchema},
	}}
}

func replySchema() *generator.Schema {
	type entry replyEntry
	r := &generator.Reflector{FieldNameTag: "yaml", RequiredFromJSONSchemaTags: true, DoNotReference: true, ExpandedStruct: true, Mapper: schemaOf}
	long := r.Reflect(&entry{})
	long.Version, long.ID = "", ""
	return &generator.Schema{AnyOf: []*generator.Schema{{Type: "string"}, long}}
}

// vocabulary lists the words of a type that has a few, nil for others.
func vocabulary(t reflect.Type) []string {
	switch t {
	case reflect.TypeFor[labelWord]():
		return words(labels())
	case reflect.TypeFor[permissionWord]():
		return words(permissions())
	case reflect.TypeFor[codeWord](), reflect.TypeFor[loop.Code]():
		return words(codes())
	case reflect.TypeFor[whenWord]():
		return words(whens())
	case reflect.TypeFor[stepWireWord]():
		return words(stepWires())
	case reflect.TypeFor[answerWireWord]():
		return words(answerWires())
	case reflect.TypeFor[errorWireWord]():
		return words(errorWires())
	case reflect.TypeFor[failureWireWord]():
		return words(failureWires())
	case reflect.TypeFor[plannerWord]():
		return words(planners())
	case reflect.TypeFor[criticWord]():
		return words(critics())
	case reflect.TypeFor[afterWord]():
		return []string{string(afterDone), string(afterAny)}
	case reflect.TypeFor[allowWord]():
		return []string{string(allow), string(deny)}
	case reflect.TypeFor[endStateWord]():
		return words(endStates())
	case reflect.TypeFor[goldenWord]():
		return words(goldenModes())
	case reflect.TypeFor[eventWord]():
		return Events()
	}
	if t.Kind() == reflect.String && strings.HasPrefix(t.PkgPath(), reflect.TypeFor[loop.Config]().PkgPath()) {
		return configWords()[t]
	}
	return nil
}

// configWords asks the config's own validation which words its types have: it
// sets every text of a config to what is none.
func configWords() map[reflect.Type][]string {
	cfg := loop.Config{Detectors: make([]detect.Detector, 1)}
	at := map[string]reflect.Type{}
	spoil(reflect.ValueOf(&cfg).Elem(), "", at)
	found := map[reflect.Type][]string{}
	var visit func(error)
	visit = func(err error) {
		if joined, ok := err.(interface{ Unwrap() []error }); ok {
			for _, e := range joined.Unwrap() {
				visit(e)
			}
		}
		var f *loop.FieldError
		if errors.As(err, &f) {
			if m := oneOf.FindStringSubmatch(f.Problem); m != nil && at[f.Field] != nil {
				found[at[f.Field]] = strings.Split(m[1], ", ")
			}
		}
	}
	visit(cfg.Validate())
	return found
}

func spoil(v reflect.Value, path string, at map[string]reflect.Type) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			key := v.Type().Field(i).Tag.Get("yaml")
			if key == "" {
				continue
			}
			if path != "" {
				key = path + "." + key
			}
			spoil(v.Field(i), key, at)
		}
	case reflect.Slice:
		if v.Len() == 0 {
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		}
		spoil(v.Index(0), path+"[0]", at)
	case reflect.String:
		v.SetString("?")
		at[path] = v.Type()
	}
}

// schemaChecker checks texts against the published schema.
func schemaChecker(t *testing.T) func(text string) error {
	t.Helper()
	doc, err := validator.UnmarshalJSON(bytes.NewReader(Schema()))
	if err != nil {
		t.Fatal(err)
	}
	c := validator.NewCompiler()
	if err := c.AddResource("https://example.org/scenario", doc); err != nil {
		t.Fatal(err)
	}
	compiled, err := c.Compile("https://example.org/scenario")
	if err != nil {
		t.Fatal(err)
	}
	return func(text string) error {
		s := &source{}
		s.parse(text)
		value, err := validator.UnmarshalJSON(bytes.NewReader(s.appendJSON(nil, s.root)))
		if err != nil {
			t.Fatal(err)
		}
		return compiled.Validate(value)
	}
}

// Every scenario that loads satisfies the schema.
func TestSchemaAcceptsSuites(t *testing.T) {
	check := schemaChecker(t)
	all, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		text, err := embedded.ReadFile(strings.TrimPrefix(s.File, "scenarios/"))
		if err != nil {
			t.Fatal(err)
		}
		if err := check(string(text)); err != nil {
			t.Errorf("%s: %v", s.File, err)
		}
	}
	if err := check(yamlBlocks(t, "../docs/scenarios.md")[1]); err != nil {
		t.Error(err)
	}
}

// What is wrong with a key or with the kind of a value shows in an editor too.
func TestSchemaRefuses(t *testing.T) {
	check := schemaChecker(t)
	if err := check(valid); err != nil {
		t.Fatal(err)
	}
	tests := []struct{ old, new string }{
		{"task: Say", "tsak: Say"},
		{"name: one\n", ""},
		{"label: healthy", "label: well"},
		{"{text: hello}", "{text: 12}"},
		{"{text: hello}", "{text: hello, latency: 5}"},
		{"{text: hello}", "{text: hello, repeat: 0}"},
		{"{text: hello}", "{text: hello, when: veto}"},
		{"{text: hello}", "{calls: [{read: [a]}]}"},
		{"{text: hello}", "{calls: [{read: {}, write: {}}]}"},
		{"{result: other}", "{error: Timeot}"},
		{"end_state: DONE", "turns: many"},
		{"end_state: DONE", "events: {must: [finished]}"},
		{"expect:\n  end_state: DONE", "expect: []"},
		{"expect:\n  end_state: DONE", "expect: [{turns: many}]"},
		{"label: healthy", "label: healthy\nconfig: {limits: {turnz: 3}}"},
		{"label: healthy", "label: healthy\nconfig: {errors: {trip: never}}"},
		{"label: healthy", "label: healthy\nconfig: {detectors: [{name: a, do: [{at: 2, act: halt}]}]}"},
	}
	for _, tt := range tests {
		if err := check(strings.Replace(valid, tt.old, tt.new, 1)); err == nil {
			t.Errorf("%q passes", tt.new)
		}
	}
}
