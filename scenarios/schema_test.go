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

const (
	schemaFile        = "scenario.schema.json"
	variantSchemaFile = "variant.schema.json"
)

// The published schemas are those that the structs give. UPDATE=1 rewrites them.
func TestSchemaIsCurrent(t *testing.T) {
	for file, want := range map[string][]byte{schemaFile: generate(t), variantSchemaFile: generateVariant(t)} {
		if os.Getenv("UPDATE") != "" {
			if err := os.WriteFile(file, want, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is not what the structs give: run UPDATE=1 go test ./scenarios, and read the diff", file)
		}
	}
}

// published completes a schema and writes it.
func published(t *testing.T, s *generator.Schema, file, title string) []byte {
	t.Helper()
	s.ID = generator.ID("https://raw.githubusercontent.com/agentbench-go/agentbench/main/scenarios/" + file)
	s.Title = title
	if r, ok := s.Definitions["ModelRetry"]; ok { // the one list of texts whose entries may look like numbers
		statuses, _ := r.Properties.Get("statuses")
		statuses.Items = &generator.Schema{AnyOf: []*generator.Schema{{Type: "string"}, {Type: "integer"}}}
	}
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return append(text, '\n')
}

// setFaithful adds the key that a config has in a file alone.
func setFaithful(s *generator.Schema) {
	s.Properties.Set("faithful", &generator.Schema{Type: "boolean",
		Description: "faithful keeps settings that can never act, for the config of a system that has this fault. Without it they are mistakes."})
}

// variantName is a preset, or the path of a file.
func variantName(description string) *generator.Schema {
	preset := &generator.Schema{}
	for _, name := range Presets() {
		preset.Enum = append(preset.Enum, name)
	}
	return &generator.Schema{Type: "string", Description: description, AnyOf: []*generator.Schema{preset, {Pattern: `[/\\]|\.ya?ml$`}}}
}

// generateVariant makes the schema of a variant's file.
func generateVariant(t *testing.T) []byte {
	t.Helper()
	r := &generator.Reflector{FieldNameTag: "yaml", RequiredFromJSONSchemaTags: true, ExpandedStruct: true, Mapper: schemaOf}
	out := r.Reflect(&loop.Config{})
	out.Properties.Set("extends", variantName(comments(t)(reflect.TypeFor[variantFile](), "Extends")))
	out.Properties.MoveToFront("extends")
	setFaithful(out)
	return published(t, out, variantSchemaFile, "A variant of agentbench")
}

// generate makes the schema from the structs, and from the comments of those of
// the language. The comments of the config speak to Go programmers.
func generate(t *testing.T) []byte {
	t.Helper()
	r := &generator.Reflector{FieldNameTag: "yaml", RequiredFromJSONSchemaTags: true, ExpandedStruct: true, Mapper: schemaOf,
		LookupComment: comments(t)}
	out := r.Reflect(&scenarioFile{})
	r.ExpandedStruct = false
	for _, part := range []any{&loop.Config{}, &expectEntry{}, &toolChoiceEntry{}} {
		maps.Copy(out.Definitions, r.Reflect(part).Definitions)
	}
	setFaithful(out.Definitions["Config"])
	variant, _ := out.Properties.Get("variant")
	out.Properties.Set("variant", variantName(variant.Description))
	stop := &generator.Schema{}
	for _, name := range loop.Stops() {
		stop.Enum = append(stop.Enum, name)
	}
	detector := &generator.Schema{Type: "string", Description: "the name of a detector"}
	out.Definitions["expectEntry"].Properties.Set("stop", &generator.Schema{AnyOf: []*generator.Schema{stop, detector}})
	return published(t, out, schemaFile, "A scenario of agentbench")
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
	case reflect.TypeFor[toolChoice]():
		return either(&generator.Schema{Type: "string"}, &generator.Schema{Ref: "#/$defs/toolChoiceEntry"})
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

// schemaChecker checks texts against a published schema.
func schemaChecker(t *testing.T, schema []byte) func(text string) error {
	t.Helper()
	doc, err := validator.UnmarshalJSON(bytes.NewReader(schema))
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
	check := schemaChecker(t, Schema())
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
	check := schemaChecker(t, Schema())
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
		{"label: healthy", "label: healthy\nvariant: hpd-agnt"},
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

// Every preset satisfies the schema of variants, and so does a file that extends another;
// what is wrong with a key or with the kind of a value shows in an editor too.
func TestVariantSchema(t *testing.T) {
	check := schemaChecker(t, VariantSchema())
	for _, name := range Presets() {
		text, err := embedded.ReadFile(presetFile(name))
		if err != nil {
			t.Fatal(err)
		}
		if err := check(string(text)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for text, fine := range map[string]bool{
		"extends: ../base.yaml\nlimits: {turns: 3}": true,
		"extends: recommended\nfaithful: true":      true,
		"extends: recomended":                       false,
		"limits: {turnz: 3}":                        false,
		"errors: {trip: never}":                     false,
		"time: {tool: 30}":                          false,
	} {
		if err := check(text); (err == nil) != fine {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// Validators with strict rules ask that what is required is a property too, of the same
// schema or of one around it.
func TestSchemaRequiresWhatItHas(t *testing.T) {
	for _, schema := range [][]byte{Schema(), VariantSchema()} {
		var doc any
		if err := json.Unmarshal(schema, &doc); err != nil {
			t.Fatal(err)
		}
		required(t, doc, nil)
	}
}

func required(t *testing.T, node any, around map[string]any) {
	switch n := node.(type) {
	case []any:
		for _, x := range n {
			required(t, x, around)
		}
	case map[string]any:
		has := map[string]any{}
		maps.Copy(has, around)
		if own, ok := n["properties"].(map[string]any); ok {
			maps.Copy(has, own)
		}
		if list, ok := n["required"].([]any); ok {
			for _, name := range list {
				if has[name.(string)] == nil {
					t.Errorf("%v is required and no property", name)
				}
			}
		}
		for key, x := range n {
			if key == "oneOf" || key == "anyOf" || key == "allOf" {
				required(t, x, has)
			} else if key != "required" {
				required(t, x, nil)
			}
		}
	}
}
