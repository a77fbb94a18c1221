package contract_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/loop/contract"
)

// The specification's search tool (section 14).
const (
	searchInput = `{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "required": ["query"],
  "properties": {
    "query": { "type": "string", "minLength": 1 },
    "page": { "type": "integer", "minimum": 1, "default": 1 },
    "page_size": { "type": "integer", "minimum": 1, "maximum": 50, "default": 10 }
  },
  "additionalProperties": false
}`
	searchOutput = `{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "required": ["results"],
  "properties": {
    "results": {
      "type": "array",
      "items": {
        "type": "object",
        "required": ["title", "url"],
        "properties": {
          "title": { "type": "string" },
          "url": { "type": "string", "format": "uri" },
          "snippet": { "type": "string" }
        },
        "additionalProperties": false
      }
    },
    "next_page": { "type": "integer" }
  },
  "additionalProperties": false
}`
)

func compile(t testing.TB, schema string) loop.Schema {
	t.Helper()
	s, err := contract.Compiler().Compile(schema)
	if err != nil {
		t.Fatalf("compile %.200s: %v", schema, err)
	}
	return s
}

// A checked holds the results of a Check.
type checked struct {
	fixed    string
	repaired int
	problem  string
	missing  []string
}

func check(t testing.TB, schema, text string, repairs int) (got checked) {
	t.Helper()
	got.fixed, got.repaired, got.problem, got.missing = compile(t, schema).Check(text, repairs)
	return got
}

// expect compares; a text that is not changed comes back as it was.
func expect(t *testing.T, schema, text string, repairs int, want checked) {
	t.Helper()
	if want.fixed == "" {
		want.fixed = text
	}
	got := check(t, schema, text, repairs)
	if got.fixed != want.fixed || got.repaired != want.repaired || got.problem != want.problem || !slices.Equal(got.missing, want.missing) {
		t.Errorf("%.200s with %d repairs:\n got %.300q\nwant %.300q", text, repairs, fmt.Sprint(got), fmt.Sprint(want))
	}
}

func TestSearchInput(t *testing.T) {
	tests := []struct {
		text string
		want checked
	}{
		{`{"query":"x"}`, checked{fixed: `{"page":1,"page_size":10,"query":"x"}`}},
		{`{"query": "x", "page_size": 50, "page": 2}`, checked{}}, // nothing to do: it stays as it is
		{`{"query":"<b>&\u2028","page":9007199254740993}`, checked{fixed: `{"page":9007199254740993,"page_size":10,"query":"<b>&\u2028"}`}},
		{`{}`, checked{fixed: `{"page":1,"page_size":10}`, problem: "/query: required, but missing", missing: []string{"query"}}},
		{`{"query":"","page":0,"page_size":51}`, checked{problem: "/page: expected at least 1, got 0; /page_size: expected at most 50, got 51; /query: expected at least 1 characters, got 0"}},
		{`{"query":7,"page":"2","page_size":1.5}`, checked{problem: "/page: expected integer, got string; /page_size: expected integer, got number; /query: expected string, got number"}},
		{`{"query":"x","page":1,"page_size":1,"colour":"red","a/b~":1}`, checked{problem: "/a~1b~0: not allowed here; /colour: not allowed here"}},
		{`[]`, checked{problem: "expected object, got array"}},
		{`null`, checked{problem: "expected object, got null"}},
	}
	for _, tt := range tests {
		expect(t, searchInput, tt.text, 0, tt.want)
	}
}

func TestSearchOutput(t *testing.T) {
	tests := []struct {
		text string
		want checked
	}{
		{`{"results":[]}`, checked{}},
		{`{"results":[{"title":"a","url":"https://example.org/","snippet":"s"}],"next_page":2}`, checked{}},
		{`{"results":[{"title":"a","url":"no uri"}]}`, checked{problem: `/results/0/url: expected the format uri, got "no uri"`}},
		{`{"results":[{"title":"a"},{"url":"https://example.org/"}]}`,
			checked{problem: "/results/0/url: required, but missing; /results/1/title: required, but missing", missing: []string{"results/0/url", "results/1/title"}}},
		{`{"next_page":2}`, checked{problem: "/results: required, but missing", missing: []string{"results"}}},
	}
	for _, tt := range tests {
		expect(t, searchOutput, tt.text, 0, tt.want)
	}
}

// Positions are the number of bytes before what is wrong.
func TestNotJSON(t *testing.T) {
	tests := map[string]string{
		"":                                      "not JSON: unexpected end at position 0",
		" \n":                                   "not JSON: unexpected end at position 2",
		`{"query": "no`:                         "not JSON: unexpected end at position 13",
		`no results`:                            "not JSON: invalid character 'o' in literal null (expecting 'u') at position 1",
		`{"query": x}`:                          "not JSON: invalid character 'x' looking for beginning of value at position 10",
		`{"query":"x"} {}`:                      "not JSON: something follows the value at position 14",
		`{"query":"x"}]`:                        "not JSON: something follows the value at position 13",
		`{"query":"x","a":1,}`:                  "not JSON: invalid character '}' looking for beginning of object key string at position 19",
		`{"query":"x","query":"y"}`:             "an object has the same key twice",
		`{"query":"x:y","a":{"b":1,"b":[":"]}}`: "an object has the same key twice",
	}
	for text, problem := range tests {
		expect(t, searchInput, text, 3, checked{problem: problem})
	}
}

func TestDefaults(t *testing.T) {
	tests := []struct{ name, schema, text, fixed string }{
		{"nested", `{"properties":{"a":{"properties":{"b":{"default":[1]}}}}}`, `{"a":{}}`, `{"a":{"b":[1]}}`},
		{"not for what is not there", `{"properties":{"a":{"properties":{"b":{"default":1}}}}}`, `{}`, `{}`},
		{"not over what is there", `{"properties":{"a":{"default":1},"b":{"default":2}}}`, `{"a":null,"b":false}`, `{"a":null,"b":false}`},
		{"within a default", `{"properties":{"a":{"default":{},"properties":{"b":{"default":1}},"required":["b"]}}}`, `{}`, `{"a":{"b":1}}`},
		{"items", `{"prefixItems":[{"properties":{"a":{"default":1}}}],"items":{"properties":{"b":{"default":2}}}}`, `[{},{},3]`, `[{"a":1},{"b":2},3]`},
		{"items of draft 7", `{"$schema":"http://json-schema.org/draft-07/schema#","items":{"properties":{"b":{"default":2}}}}`, `[{}]`, `[{"b":2}]`},
		{"patterns and the rest", `{"patternProperties":{"^x":{"properties":{"a":{"default":1}}}},"additionalProperties":{"properties":{"b":{"default":2}}}}`,
			`{"x1":{},"y":{}}`, `{"x1":{"a":1},"y":{"b":2}}`},
		{"through $ref and allOf", `{"$ref":"#/$defs/c","allOf":[{"$ref":"#/$defs/a"},{"properties":{"b":{"$ref":"#/$defs/two"}}}],
			"$defs":{"a":{"properties":{"a":{"default":1}}},"two":{"default":2},"c":{"properties":{"c":{"default":3}}}}}`, `{}`, `{"a":1,"b":2,"c":3}`},
		{"beside $ref", `{"$defs":{"n":{"default":1}},"properties":{"a":{"$ref":"#/$defs/n","default":2}}}`, `{}`, `{"a":2}`},
		{"of a $ref", `{"$defs":{"n":{"default":1}},"properties":{"a":{"$ref":"#/$defs/n"}}}`, `{}`, `{"a":1}`},
		{"that does not keep its schema", `{"properties":{"a":{"type":"string","default":null},"b":{"type":"string","default":"b"}}}`, `{}`, `{"b":"b"}`},
		{"in a default that does not", `{"properties":{"a":{"required":["x"],"default":{},"properties":{"b":{"default":1}}}}}`, `{ }`, `{ }`},
		{"not in a branch", `{"anyOf":[{"properties":{"a":{"default":1}}},{"properties":{"a":{"default":2}}}],"if":true,"then":{"properties":{"c":{"default":1}}}}`, `{}`, `{}`},
		{"whole and exact", `{"properties":{"a":{"default":12345678901234567890},"b":{"default":1.50}}}`, `{}`, `{"a":12345678901234567890,"b":1.50}`},
		{"saves a required field", `{"required":["a"],"properties":{"a":{"default":1}}}`, `{}`, `{"a":1}`},
		{"null is a default", `{"properties":{"a":{"type":["string","null"],"default":null}}}`, `{}`, `{"a":null}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			expect(t, tt.schema, tt.text, 0, checked{fixed: tt.fixed})
			// What is filled in is a copy: the next text gets the same.
			expect(t, tt.schema, tt.text, 2, checked{fixed: tt.fixed})
		})
	}
}

// A default that holds itself is filled in eight times, and then no more.
func TestRecursiveDefault(t *testing.T) {
	expect(t, `{"$defs":{"n":{"default":{},"properties":{"c":{"$ref":"#/$defs/n"}}}},"$ref":"#/$defs/n"}`, `{}`, 0,
		checked{fixed: strings.Repeat(`{"c":`, 8) + "{}" + strings.Repeat("}", 8)})
}

func TestProblems(t *testing.T) {
	tests := []struct{ name, schema, text, problem string }{
		{"const", `{"const":"a"}`, `"b"`, `expected "a", got "b"`},
		{"enum", `{"enum":["a",1,null,true]}`, `"c"`, `expected one of "a", 1, null, true, got "c"`},
		{"enum of lists", `{"enum":[[1,"a"],{}]}`, `[1]`, `expected one of [1,"a"], {}, got an array`},
		{"long enum", `{"enum":[1,2,3,4,5,6,7,8,9,10,11]}`, `12`, `expected one of 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, …, got 12`},
		{"types", `{"type":["string","null"]}`, `1`, "expected null or string, got number"},
		{"pattern", `{"pattern":"^a+$"}`, `"b"`, `expected a match of "^a+$", got "b"`},
		{"exclusive", `{"exclusiveMinimum":0}`, `0`, "expected more than 0, got 0"},
		{"exclusive maximum", `{"exclusiveMaximum":0.5}`, `0.75`, "expected less than 0.5, got 0.75"},
		{"multiple", `{"multipleOf":2}`, `9007199254740993`, "expected a multiple of 2, got 9007199254740993"},
		{"length", `{"maxLength":2}`, `"äöü"`, "expected at most 2 characters, got 3"},
		{"items", `{"minItems":2}`, `[1]`, "expected at least 2 items, got 1"},
		{"many items", `{"maxItems":1}`, `[1,2]`, "expected at most 1 items, got 2"},
		{"nothing", `{"properties":{"a":false}}`, `{"a":1}`, "/a: nothing is allowed here"},
		{"not", `{"not":{"type":"string"}}`, `"a"`, "matches a schema that it must not match"},
		{"dependent", `{"dependentRequired":{"a":["b"]}}`, `{"a":1}`, `/b: required together with "a", but missing`},
		{"any of", `{"properties":{"a":{"anyOf":[{"type":"string"},{"type":"object","required":["b"]}]}}}`, `{"a":{}}`,
			"/a: matches none of 2 alternatives (1: /a: expected string, got object; 2: /a/b: required, but missing)"},
		{"one of two", `{"oneOf":[{"type":"string"},{"minLength":1}]}`, `"a"`, "matches two alternatives, 1 and 2, but must match only one"},
		{"in a reference", `{"$ref":"#/$defs/n","$defs":{"n":{"properties":{"a":{"type":"null"}}}}}`, `{"a":1}`, "/a: expected null, got number"},
		{"more", `{"additionalProperties":false}`, `{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1}`,
			"/a: not allowed here; /b: not allowed here; /c: not allowed here; /d: not allowed here; /e: not allowed here; and 2 more"},
		{"same twice", `{"allOf":[{"type":"string"},{"type":"string"}]}`, `1`, "expected string, got number"},
		{"unprintable", `{"additionalProperties":false}`, `{"\u001b[2J\"":1}`, `/\x1b[2J": not allowed here`},
		{"long", `{"const":1}`, `"` + strings.Repeat("y", 100) + `"`, `expected 1, got "` + strings.Repeat("y", 60) + `…"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := check(t, tt.schema, tt.text, 0); got.problem != tt.problem {
				t.Errorf("got  %s\nwant %s", got.problem, tt.problem)
			}
		})
	}
}

// Problems come in a fixed order, whatever the library's maps do.
func TestSameProblemAgain(t *testing.T) {
	const text = `{"query":1,"page":"a","page_size":"b","x":1,"y":1,"z":1}`
	first := check(t, searchInput, text, 0)
	for range 200 {
		if again := check(t, searchInput, text, 0); again.problem != first.problem {
			t.Fatalf("%s\n%s", first.problem, again.problem)
		}
	}
}

func TestFormats(t *testing.T) {
	for format, texts := range map[string][2]string{
		"uri":       {"https://example.org/a?b", "example"},
		"date-time": {"2026-01-02T03:04:05Z", "2026-01-02 03:04"},
		"date":      {"2026-02-28", "2026-02-30"},
		"email":     {"a@example.org", "a"},
		"uuid":      {"123e4567-e89b-12d3-a456-426614174000", "123e4567"},
		"ipv4":      {"127.0.0.1", "127.0.0.256"},
		"regex":     {"a+", "a("},
	} {
		schema := fmt.Sprintf(`{"format":%q}`, format)
		if got := check(t, schema, fmt.Sprintf("%q", texts[0]), 0); got.problem != "" {
			t.Errorf("%s: %s", format, got.problem)
		}
		if got, want := check(t, schema, fmt.Sprintf("%q", texts[1]), 0), fmt.Sprintf("expected the format %s, got %q", format, texts[1]); got.problem != want {
			t.Errorf("got %q, want %q", got.problem, want)
		}
	}
	// A format that nobody knows asserts nothing.
	expect(t, `{"format":"colour"}`, `"red"`, 0, checked{})
}

// What cannot be a schema, and what it must not reach.
func TestCompileRefuses(t *testing.T) {
	tests := []struct{ name, schema, want string }{
		{"no JSON", `{"type":`, "the schema cannot be read: not JSON: unexpected end at position 8"},
		{"no schema", `7`, "the schema is not valid: expected boolean or object, got number"},
		{"wrong type", `{"type":"text"}`, `the schema is not valid: /type: matches none of 2 alternatives (1: /type: expected one of "array", "boolean", "integer", "null", "number", "object", "string", got "text"; 2: /type: expected array, got string)`},
		{"a file", `{"$ref":"file:///etc/passwd"}`, "only references within the schema are followed"},
		{"a relative file", `{"$ref":"other.json"}`, "only references within the schema are followed"},
		{"the network", `{"properties":{"a":{"$ref":"https://example.org/schema.json"}}}`, "only references within the schema are followed"},
		{"another dialect", `{"$schema":"https://example.org/dialect"}`, "only references within the schema are followed"},
		{"nowhere", `{"$ref":"#/$defs/a"}`, "not found"},
		{"no regular expression", `{"pattern":"a("}`, "/pattern: expected the format regex"},
		{"the same key twice", `{"type":"object","type":"array"}`, "an object has the same key twice"},
		{"large", `{"title":"` + strings.Repeat("x", 64<<10) + `"}`, "65548 bytes are more than the 65536 that can be checked"},
		{"deep", strings.Repeat(`{"not":`, 101) + "{}" + strings.Repeat("}", 101), "nested deeper than 100 levels"},
		{"a huge number", `{"minimum":1e999999999}`, "the number at position 11 is too large to be checked"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := contract.Compiler().Compile(tt.schema)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
}

// References within the schema are followed, also by id and round in a circle.
func TestReferences(t *testing.T) {
	tree := `{"$id":"https://example.org/tree","type":"object","required":["name"],"additionalProperties":false,
		"properties":{"name":{"type":"string"},"children":{"type":"array","items":{"$ref":"#"}},"left":{"$ref":"/tree"}}}`
	expect(t, tree, `{"name":"a","children":[{"name":"b","left":{"name":"c","children":[]}}]}`, 0, checked{})
	expect(t, tree, `{"name":"a","children":[{"name":"b","left":{"children":[{"name":1}]}}]}`, 0, checked{
		problem: "/children/0/left/children/0/name: expected string, got number; /children/0/left/name: required, but missing",
		missing: []string{"children/0/left/name"}})
	// A schema that refers to itself on the spot keeps nothing.
	if got := check(t, `{"$ref":"#"}`, `1`, 1); !strings.Contains(got.problem, "cycle") {
		t.Errorf("problem %q", got.problem)
	}
}

// Schemas are for several goroutines at once.
func TestConcurrentChecks(t *testing.T) {
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				expect(t, searchInput, `{"query":"x"}`, 0, checked{fixed: `{"page":1,"page_size":10,"query":"x"}`})
				expect(t, searchOutput, `{"results":[{"title":1,"url":"https://example.org"}]}`, 1, checked{problem: "/results/0/title: expected string, got number"})
			}
		})
	}
	wg.Wait()
}

// The same text is compiled once, also by another compiler.
func TestCompiledOnce(t *testing.T) {
	if a, b := compile(t, searchInput), compile(t, searchInput); a != b {
		t.Error("compiled twice")
	}
	if a, b := compile(t, `{}`), compile(t, `{ }`); a == b {
		t.Error("two texts are one schema")
	}
}

func BenchmarkCheck(b *testing.B) {
	input, output := compile(b, searchInput), compile(b, searchOutput)
	result := `{"results":[` + strings.Repeat(`{"title":"a title","url":"https://example.org/page","snippet":"some words of it"},`, 9) +
		`{"title":"a title","url":"https://example.org/page"}],"next_page":2}`
	for _, bb := range []struct {
		name   string
		schema loop.Schema
		text   string
	}{
		{"complete", input, `{"query":"golang","page":1,"page_size":10}`},
		{"defaults", input, `{"query":"golang"}`},
		{"problem", input, `{"query":""}`},
		{"result", output, result},
	} {
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				bb.schema.Check(bb.text, 2)
			}
		})
	}
}
