package serve

import (
	"github.com/agentbench-go/agentbench/loop"
)

// specs returns the tools that a request declares: names, descriptions and the schemas
// of their arguments.
func (q *question) specs() []loop.ToolSpec { return appendSpecs(nil, q.declared) }

func appendSpecs(specs []loop.ToolSpec, tools value) []loop.ToolSpec {
	for tool := range tools.items() {
		inner := tool.field("tools")
		if inner == nil {
			inner = either(tool, "functionDeclarations", "function_declarations")
		}
		if inner.is('[') {
			specs = appendSpecs(specs, inner)
			continue
		}
		if f := tool.field("function"); f.is('{') {
			tool = f
		}
		if name := tool.field("name"); name.is('"') {
			specs = append(specs, loop.ToolSpec{Name: name.text(), Description: tool.field("description").text(), Input: string(schemaIn(tool))})
		}
	}
	return specs
}

// schemaIn returns the schema of a tool's arguments, nil = none.
func schemaIn(tool value) value {
	for _, key := range []string{"parameters", "input_schema", "parametersJsonSchema", "parameters_json_schema"} {
		if v := tool.field(key); v.is('{') {
			return v
		}
	}
	return nil
}

// ReadResult tells what kind of result a text in a history is: of a denied call, of a
// vetoed or refused one, of one that failed. It knows the words of package loop and of
// popular agents and SDKs. A denied or vetoed call has failed too.
func ReadResult(text string) (wasDenied, wasVetoed, failed bool) {
	text, marked := plain(text)
	wasDenied, wasVetoed = denied(text), vetoed(text)
	return wasDenied, wasVetoed, marked || wasVetoed || failedText(text)
}
