package contract_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/agentbench-go/agentbench/loop/contract"
)

// What is too much is refused with a sentence that says how much is allowed.
func TestBounds(t *testing.T) {
	nested := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	list := func(n int) string { return "[" + strings.Repeat("1,", n-1) + "1]" }
	tests := []struct{ name, text, problem string }{
		{"as many bytes as allowed", `"` + strings.Repeat("x", 1<<20-2) + `"`, ""},
		{"one more", `"` + strings.Repeat("x", 1<<20-1) + `"`, "1048577 bytes are more than the 1048576 that can be checked"},
		{"as deep as allowed", nested(1000), ""},
		{"one deeper", nested(1001), "nested deeper than 1000 levels"},
		{"half a million levels", strings.Repeat("[", 500_000), "nested deeper than 1000 levels"},
		{"brackets in a string", `"` + strings.Repeat(`[\"`, 2000) + `"`, ""},
		{"as many values as allowed", list(99_999), ""}, // and the list itself, and one to be sure
		{"more", list(100_000), "more than 100000 values, which are too many to be checked"},
		{"a large exponent", `[1e400,-1E-400]`, ""},
		{"one larger", `[1,"1e999",1e401]`, "the number at position 11 is too large to be checked"},
		{"one smaller", `1E-401`, "the number at position 0 is too large to be checked"},
		{"an exponent beyond any integer", `1e99999999999999999999`, "the number at position 0 is too large to be checked"},
		{"as many digits as allowed", strings.Repeat("9", 400), ""},
		{"one more digit", strings.Repeat("9", 401), "the number at position 0 is too large to be checked"},
		{"surrogates and bytes that are not characters", "\"\\ud800\xff\"", ""},
		{"NUL", "\"\x00\"", `not JSON: invalid character '\x00' in string literal at position 1`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			// The schema makes the library look at numbers as fractions.
			expect(t, `{"minimum":-1e400,"maximum":1e400,"multipleOf":1e-400,"items":{"minimum":-1e400}}`, tt.text, 3, checked{problem: tt.problem})
		})
	}
}

// Everything is looked at twice at each level: 2^60 ways.
func TestTooManySteps(t *testing.T) {
	if testing.Short() {
		t.Skip("it checks a million steps")
	}
	text := strings.Repeat(`{"c":`, 60) + "1" + strings.Repeat("}", 60)
	for _, schema := range []string{
		`{"$ref":"#/$defs/n","$defs":{"n":{"anyOf":[
			{"properties":{"c":{"$ref":"#/$defs/n"}},"required":["x"]},
			{"properties":{"c":{"$ref":"#/$defs/n"}},"required":["y"]}]}}}`,
		`{"$ref":"#/$defs/n","$defs":{"n":{"allOf":[
			{"properties":{"c":{"$ref":"#/$defs/n"}}},
			{"properties":{"c":{"$ref":"#/$defs/n"}}}]}}}`,
	} {
		expect(t, schema, text, 3, checked{problem: "it takes too many steps to check"})
		// The schema goes on as if nothing had been.
		expect(t, schema, `{"x":1,"c":{"y":2}}`, 0, checked{})
	}
}

// The first check of a schema is like any other, although it works out the
// defaults: here in 20,000 × 21 steps, as many as to check them in the text.
func TestDefaultsTakeNoSteps(t *testing.T) {
	if testing.Short() {
		t.Skip("it checks a million steps")
	}
	zeros := "[" + strings.Repeat("0,", 19_999) + "0]"
	schema := `{"properties":{"a":{"default":` + zeros + `,"items":{"allOf":[` + strings.Repeat(`{"$ref":"#/$defs/n"},`, 9) + `{"$ref":"#/$defs/n"}]}}},"$defs":{"n":{"type":"integer"}}}`
	for range 2 {
		expect(t, schema, `{}`, 0, checked{fixed: `{"a":` + zeros + `}`})
	}
}

// A long chain of references leaves a text fewer levels, so that the stack
// holds: 200,000 ÷ (100 + 1,001) = 181.
func TestDeepReferences(t *testing.T) {
	const refs = 1000
	var defs []string
	for i := range refs {
		defs = append(defs, fmt.Sprintf(`"n%d":{"$ref":"#/$defs/n%d"}`, i, i+1))
	}
	schema := fmt.Sprintf(`{"$ref":"#/$defs/n0","$defs":{%s,"n%d":{"properties":{"c":{"properties":{"c":{"type":"object"}}}}}}}`, strings.Join(defs, ","), refs)
	nested := func(n int) string { return strings.Repeat(`{"c":`, n-1) + "{}" + strings.Repeat("}", n-1) }
	expect(t, schema, nested(181), 3, checked{})
	expect(t, schema, nested(182), 3, checked{problem: "nested deeper than 181 levels"})
}

// Many misspelt names and members cost no more than steps.
func TestManyToMend(t *testing.T) {
	var fields, required, properties []string
	for i := range 3000 {
		fields = append(fields, fmt.Sprintf(`"field%dx":1`, i))
	}
	for i := range 2000 {
		required = append(required, fmt.Sprintf(`"field%d"`, i))
		properties = append(properties, fmt.Sprintf(`"field%d":{}`, i))
	}
	schema := fmt.Sprintf(`{"required":[%s],"properties":{%s},"additionalProperties":false}`, strings.Join(required[:1500], ","), strings.Join(properties[:1500], ","))
	expect(t, schema, "{"+strings.Join(fields, ",")+"}", 3, checked{problem: "it takes too many steps to check"}) // 1,500 × 3,000
}

// A problem stays readable whatever the text is.
func TestProblemIsShort(t *testing.T) {
	long := strings.Repeat("k", 10_000)
	text, err := json.Marshal(map[string]any{long: long, long + "a": 1, "c": map[string]any{long: 1}})
	if err != nil {
		t.Fatal(err)
	}
	deep := `{"type":"null"}`
	for range 45 {
		deep = fmt.Sprintf(`{"anyOf":[%s,{"type":"array"}]}`, deep)
	}
	for _, schema := range []string{
		`{"additionalProperties":{"type":"null"}}`,
		`{"additionalProperties":false}`,
		`{"additionalProperties":{"enum":["a"]}}`,
		`{"additionalProperties":{"pattern":"^a"},"properties":{"c":{"propertyNames":{"maxLength":3}}}}`,
		`{"properties":{"c":{"additionalProperties":{"const":"` + long + `"}}},"required":["` + long + `b"]}`,
		deep,
	} {
		got := check(t, schema, string(text), 0)
		if got.problem == "" || len(got.problem) > 2000 {
			t.Errorf("%.60s: a problem of %d bytes: %.100s", schema, len(got.problem), got.problem)
		}
	}
}

// As many schemas as anybody may think of are not all remembered, and none is
// lost that is in use.
func TestManySchemas(t *testing.T) {
	first := compile(t, `{"const":-1}`)
	for i := range 1100 {
		compile(t, fmt.Sprintf(`{"const":%d}`, i))
	}
	if _, _, problem, _ := first.Check(`-1`, 0); problem != "" {
		t.Error(problem)
	}
	if compile(t, `{"const":-1}`) == first {
		t.Error("1,101 schemas are all remembered")
	}
}

// Whatever comes: no panic, the same every time, and what keeps the schema
// goes on keeping it.
func FuzzCheck(f *testing.F) {
	for _, schema := range []string{searchInput, searchOutput, `{"$ref":"#"}`,
		`{"required":["a"],"properties":{"a":{"enum":["red"],"default":{"b":1e5}},"b":{"type":"null"}},"additionalProperties":false}`,
		`{"anyOf":[{"items":{"$ref":"#"}},{"prefixItems":[{"default":1}],"unevaluatedItems":false}],"$dynamicAnchor":"x","not":{"$dynamicRef":"#x"}}`,
		`{"$id":"https://a.b/","$defs":{"a":{"$id":"c","patternProperties":{"^x":{"$anchor":"d"}}}},"allOf":[{"$ref":"c#d"}]}`} {
		for _, text := range []string{`{"query":"x"}`, `{"querry":"x","page":1.0}`, `[[],{"a":"rad"}]`, `{"a":"rad"}`, "", "[1e400", `{"a":1,"a":2}`} {
			f.Add(schema, text, 2)
		}
	}
	f.Fuzz(func(t *testing.T, schema, text string, repairs int) {
		s, err := contract.Compiler().Compile(schema)
		if err != nil {
			if strings.TrimSpace(err.Error()) == "" {
				t.Error("an error that says nothing")
			}
			return
		}
		repairs = max(0, min(repairs, 10))
		fixed, repaired, problem, missing := s.Check(text, repairs)
		fixed2, repaired2, problem2, missing2 := s.Check(text, repairs)
		if fixed != fixed2 || repaired != repaired2 || problem != problem2 || fmt.Sprint(missing) != fmt.Sprint(missing2) {
			t.Errorf("not the same again:\n%q %d %q %q\n%q %d %q %q", fixed, repaired, problem, missing, fixed2, repaired2, problem2, missing2)
		}
		if repaired < 0 || repaired > repairs {
			t.Errorf("%d repairs where %d are allowed", repaired, repairs)
		}
		if problem != "" {
			return
		}
		if len(missing) > 0 {
			t.Errorf("nothing is wrong, but %q is missing", missing)
		}
		if again, n, problem, _ := s.Check(fixed, repairs); again != fixed || n != 0 || problem != "" {
			t.Errorf("%q came out of %q, and of it %q after %d repairs: %s", fixed, text, again, n, problem)
		}
	})
}
