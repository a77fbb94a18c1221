package contract_test

import (
	"testing"
)

// Each rule, and next to it texts that must not be repaired. The comments have the
// edit distances.
func TestMend(t *testing.T) {
	const (
		order  = `{"type":"object","properties":{"sort":{"enum":["asc","desc","none"]}},"additionalProperties":false}`
		kind   = `{"type":"object","required":["kind"],"properties":{"kind":{"const":"file"},"path":{"type":"string"}}}`
		person = `{"type":"object","required":["name","email"],"additionalProperties":false,"properties":{"name":{"type":"string"},"email":{"type":"string"},"note":{"type":"string"}}}`
	)
	missing := func(name string) checked {
		return checked{problem: "/" + name + ": required, but missing", missing: []string{name}}
	}
	tests := []struct {
		name, schema, text string
		repairs            int
		want               checked
	}{
		// An enum's member.
		{"one edit", order, `{"sort":"dsc"}`, 1, checked{problem: `/sort: expected one of "asc", "desc", "none", got "dsc"`}}, // 1 to desc, and 1 to asc
		{"two edits", order, `{"sort":"dessc"}`, 1, checked{fixed: `{"sort":"desc"}`, repaired: 1}},                           // 1 to desc, 3 to asc
		{"three edits", order, `{"sort":"descend"}`, 1, checked{problem: `/sort: expected one of "asc", "desc", "none", got "descend"`}},
		{"case counts", `{"enum":["none"]}`, `"NOne"`, 1, checked{fixed: `"none"`, repaired: 1}},                    // 2
		{"case counts too much", `{"enum":["none"]}`, `"NONe"`, 1, checked{problem: `expected "none", got "NONe"`}}, // 3
		{"an exact member is right", `{"enum":["none","nones"]}`, `"none"`, 1, checked{}},
		{"not of two as near", `{"enum":["kilo","kila"]}`, `"kile"`, 1, checked{problem: `expected one of "kilo", "kila", got "kile"`}},      // 1 and 1
		{"not of two within two", `{"enum":["kilo","kilas"]}`, `"kile"`, 1, checked{problem: `expected one of "kilo", "kilas", got "kile"`}}, // 1 and 2
		{"characters, not bytes", `{"enum":["grün"]}`, `"grunn"`, 1, checked{fixed: `"grün"`, repaired: 1}},                                  // ü is one character: 2
		{"no string", `{"enum":["1"]}`, `1`, 1, checked{problem: `expected "1", got 1`}},
		{"numbers are not words", `{"enum":[10,20]}`, `11`, 1, checked{problem: "expected one of 10, 20, got 11"}},
		{"nested", `{"properties":{"a":{"items":{"$ref":"#/$defs/e"}}},"$defs":{"e":{"enum":["red","blue"]}}}`, `{"a":["red","blu"]}`, 1, checked{fixed: `{"a":["red","blue"]}`, repaired: 1}},
		{"not in a branch", `{"anyOf":[{"enum":["red"]},{"type":"null"}]}`, `"rad"`, 1,
			checked{problem: `matches none of 2 alternatives (1: expected "red", got "rad"; 2: expected null, got string)`}},
		{"a const is not an enum", `{"const":"red"}`, `"rad"`, 1, checked{problem: `expected "red", got "rad"`}},

		// A field that has one value only.
		{"const", kind, `{"path":"a"}`, 1, checked{fixed: `{"kind":"file","path":"a"}`, repaired: 1}},
		{"enum of one", `{"required":["a"],"properties":{"a":{"enum":[{"b":1}]}}}`, `{}`, 1, checked{fixed: `{"a":{"b":1}}`, repaired: 1}},
		{"null", `{"required":["a"],"properties":{"a":{"type":"null"}}}`, `{}`, 1, checked{fixed: `{"a":null}`, repaired: 1}},
		{"by reference", `{"required":["a"],"properties":{"a":{"$ref":"#/$defs/k"}},"$defs":{"k":{"const":12345678901234567890}}}`, `{}`, 1, checked{fixed: `{"a":12345678901234567890}`, repaired: 1}},
		{"not an enum of two", `{"required":["a"],"properties":{"a":{"enum":[1,2]}}}`, `{}`, 1, missing("a")},
		{"not a boolean", `{"required":["a"],"properties":{"a":{"type":"boolean"}}}`, `{}`, 1, missing("a")},
		{"not null or a string", `{"required":["a"],"properties":{"a":{"type":["null","string"]}}}`, `{}`, 1, missing("a")},
		{"not two consts", `{"required":["a"],"properties":{"a":{"allOf":[{"const":1},{"const":2}]}}}`, `{}`, 1, missing("a")},
		{"not where it may be left out", `{"properties":{"a":{"const":1}}}`, `{}`, 1, checked{}},
		{"not without a schema", `{"required":["a"]}`, `{}`, 1, missing("a")},
		{"whole, and never changed", `{"required":["a"],"properties":{"a":{"const":{"b":{}},"properties":{"b":{"properties":{"c":{"default":1}}}}}}}`, `{}`, 1,
			checked{fixed: `{"a":{"b":{"c":1}}}`, repaired: 1, problem: `/a: expected {"b":{}}, got an object`}},
		{"missing for two reasons", `{"allOf":[{"required":["a"]},{"required":["a"]}]}`, `{}`, 1, missing("a")},
		{"not in a branch", `{"oneOf":[{"required":["a"],"properties":{"a":{"const":1}}},{"required":["b"],"properties":{"b":{"const":2}}}]}`, `{}`, 1,
			checked{problem: "matches none of 2 alternatives (1: /a: required, but missing; 2: /b: required, but missing)"}},
		{"a wrong value stays", kind, `{"kind":"dir"}`, 1, checked{problem: `/kind: expected "file", got "dir"`}},
		{"a default is not a repair", `{"required":["a","b"],"properties":{"a":{"const":1,"default":1},"b":{"const":2}}}`, `{}`, 1, checked{fixed: `{"a":1,"b":2}`, repaired: 1}},

		// A field under a name that is nearly its own.
		{"misspelt", searchInput, `{"querry":"x"}`, 1, checked{fixed: `{"page":1,"page_size":10,"query":"x"}`, repaired: 1}},                                                                                         // 1
		{"misspelt twice", searchInput, `{"Qeury":"x"}`, 1, checked{fixed: `{"Qeury":"x","page":1,"page_size":10}`, problem: "/Qeury: not allowed here; /query: required, but missing", missing: []string{"query"}}}, // Q and two letters changed places: 3
		{"within two", searchInput, `{"qury_":"x"}`, 1, checked{fixed: `{"page":1,"page_size":10,"query":"x"}`, repaired: 1}},                                                                                        // e left out, _ added: 2
		{"another word", searchInput, `{"text":"x"}`, 1, checked{fixed: `{"page":1,"page_size":10,"text":"x"}`, problem: "/query: required, but missing; /text: not allowed here", missing: []string{"query"}}},
		{"two that are near", searchInput, `{"quer":"x","queryy":"y","page":1,"page_size":1}`, 1,
			checked{problem: "/quer: not allowed here; /query: required, but missing; /queryy: not allowed here", missing: []string{"query"}}},
		{"two that are missing", `{"required":["from","form"],"additionalProperties":false,"properties":{"from":{},"form":{}}}`, `{"fram":1}`, 1, // 1 and 2
			checked{problem: "/form: required, but missing; /fram: not allowed here; /from: required, but missing", missing: []string{"form", "from"}}},
		{"one that may be left out is as near", `{"required":["name"],"additionalProperties":false,"properties":{"name":{},"names":{}}}`, `{"namess":1}`, 1, // 2 and 1
			checked{problem: "/name: required, but missing; /namess: not allowed here", missing: []string{"name"}}},
		{"where other fields are allowed", `{"required":["query"],"properties":{"query":{}}}`, `{"querry":1}`, 1, missing("query")},
		{"where a pattern lists it", `{"required":["query"],"properties":{"query":{}},"patternProperties":{"^q":{}},"additionalProperties":false}`, `{"querry":1}`, 1, missing("query")},
		{"not to a field that is not listed", `{"required":["query"],"additionalProperties":false}`, `{"querry":1}`, 1,
			checked{problem: "/querry: not allowed here; /query: required, but missing", missing: []string{"query"}}},
		{"not over one that is there", searchInput, `{"query":"x","querry":"y","page":1,"page_size":1}`, 1, checked{problem: "/querry: not allowed here"}},
		{"not to one that may be left out", searchInput, `{"query":"x","pag":2,"page_size":1}`, 1, checked{fixed: `{"pag":2,"page":1,"page_size":1,"query":"x"}`, problem: "/pag: not allowed here"}},
		{"its value is looked at too", `{"required":["sort"],"additionalProperties":false,"properties":{"sort":{"enum":["asc","desc"]}}}`, `{"sord":"descc"}`, 2, checked{fixed: `{"sort":"desc"}`, repaired: 2}},
		{"rather than a value that can be inferred", `{"required":["kind"],"additionalProperties":false,"properties":{"kind":{"const":"a"}}}`, `{"kimd":"a"}`, 1, checked{fixed: `{"kind":"a"}`, repaired: 1}},
		{"rather than a default", `{"required":["kind"],"additionalProperties":false,"properties":{"kind":{"default":"a"}}}`, `{"kimd":"b"}`, 1, checked{fixed: `{"kind":"b"}`, repaired: 1}},

		// How many.
		{"none", searchInput, `{"querry":"x","page":1,"page_size":1}`, 0, checked{problem: "/querry: not allowed here; /query: required, but missing", missing: []string{"query"}}},
		{"two", person, `{"nam":"a","mail":"b"}`, 2, checked{fixed: `{"email":"b","name":"a"}`, repaired: 2}},
		{"two of which one is allowed", person, `{"nam":"a","mail":"b"}`, 1, // email comes before name
			checked{fixed: `{"email":"b","nam":"a"}`, repaired: 1, problem: "/nam: not allowed here; /name: required, but missing", missing: []string{"name"}}},
		{"from the outside in", `{"required":["kind"],"properties":{"a":{"enum":["red"]},"kind":{"const":1}}}`, `{"a":"rad"}`, 1,
			checked{fixed: `{"a":"rad","kind":1}`, repaired: 1, problem: `/a: expected "red", got "rad"`}},
		{"mended in vain", `{"required":["kind","path"],"properties":{"kind":{"const":"a"},"path":{"type":"string"}}}`, `{}`, 5,
			checked{fixed: `{"kind":"a"}`, repaired: 1, problem: "/path: required, but missing", missing: []string{"path"}}},
		{"checked again", `{"properties":{"a":{"enum":["red","blue"]}},"not":{"properties":{"a":{"const":"red"}}}}`, `{"a":"rad"}`, 1,
			checked{fixed: `{"a":"red"}`, repaired: 1, problem: "matches a schema that it must not match"}},
		{"nothing to mend", searchInput, `{"query":"x","page":1,"page_size":1}`, 3, checked{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for range 2 { // a schema is the same for the next text
				expect(t, tt.schema, tt.text, tt.repairs, tt.want)
			}
		})
	}
}
