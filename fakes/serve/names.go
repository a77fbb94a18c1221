package serve

import (
	"bytes"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"slices"
	"strings"
	"unicode"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/loop"
)

// names returns the names of the tools that a request declares.
func (q *question) names() (names []string) {
	for _, v := range declared(q.declared) {
		names = append(names, v.text())
	}
	return names
}

// declares reports whether the request declares a tool of that name.
func (q *question) declares(name string) bool {
	for _, v := range declared(q.declared) {
		if v.text() == name {
			return true
		}
	}
	return false
}

// declared yields the names of the functions in a list of tools, each with its
// namespace, nil = none. A tool of Chat Completions holds a function, a namespace of
// Responses and a tool of Gemini hold several.
func declared(tools value) iter.Seq2[value, value] {
	return func(yield func(namespace, name value) bool) {
		for tool := range tools.items() {
			inner := tool.field("tools")
			if inner == nil {
				inner = either(tool, "functionDeclarations", "function_declarations")
			}
			if inner.is('[') {
				for _, name := range declared(inner) {
					if !yield(tool.field("name"), name) {
						return
					}
				}
				continue
			}
			name := tool.field("name")
			if f := tool.field("function"); f.is('{') {
				name = f.field("name")
			}
			if name.is('"') && !yield(nil, name) {
				return
			}
		}
	}
}

// A wireName is the name under which a request declares a tool of the script.
type wireName struct{ namespace, name string }

// offers returns the tools of the script that a request declares as those of a server
// of tools, by their names in the script. Clients put the server's name and other
// words before the name of such a tool, each in its own way: mcp__bench__read_file,
// bench_read_file, or read_file in the namespace mcp__bench. The name of the tool
// alone is never enough: it may be one of the client's own.
func (sc *scene) offers(q *question, server string) map[string]wireName {
	var out map[string]wireName
	if !mentions(q.declared, server) {
		return nil
	}
	for namespace, name := range declared(q.declared) {
		full := plainName(namespace.text() + "_" + name.text())
		if !strings.Contains(full, server) {
			continue
		}
		for i := range sc.script.Tools {
			tool := sc.script.Tools[i].Name
			if want := "_" + plainName(server+"_"+tool); !strings.HasSuffix("_"+full, want) {
				continue
			}
			if out == nil {
				out = map[string]wireName{}
			}
			if _, twice := out[tool]; !twice {
				out[tool] = wireName{namespace.text(), name.text()}
			}
		}
	}
	return out
}

// mentions reports whether a list of tools may contain those of a server. It is quick,
// as most requests have none.
func mentions(tools value, server string) bool {
	word, _, _ := strings.Cut(server, "_")
	return bytes.Contains(tools, []byte(word)) || bytes.Contains(tools, []byte(strings.ToUpper(word))) ||
		bytes.Contains(tools, []byte(strings.ToUpper(word[:1])+word[1:]))
}

// scripted returns the names of the script's tools that a request declares.
func (sc *scene) scripted(q *question, offers map[string]wireName) (names []string) {
	for i := range sc.script.Tools {
		tool := sc.script.Tools[i].Name
		if _, ok := offers[tool]; ok || len(offers) == 0 && q.declares(tool) {
			names = append(names, tool)
		}
	}
	return names
}

// named gives the calls of a history their names in the script.
func (q *question) named(offers map[string]wireName) {
	for tool, o := range offers {
		for i := range q.history {
			for j := range q.history[i].Calls {
				if c := &q.history[i].Calls[j]; c.Name == o.name {
					c.Name = tool
				}
			}
		}
	}
}

// wireNames gives calls the names under which the request declares their tools. It
// returns their namespaces, if any call has one, or why the request is refused: the
// agent offers tools of the server, but not this one.
func (sc *scene) wireNames(calls []loop.AskedCall, offers map[string]wireName) (namespaces []string, _ *refusal) {
	if len(offers) == 0 {
		return nil, nil
	}
	for i := range calls {
		c := &calls[i]
		o, ok := offers[c.Name]
		switch {
		case ok:
			c.Name = o.name
		case slices.ContainsFunc(sc.script.Tools, func(t fakes.Tool) bool { return t.Name == c.Name }):
			return nil, &refusal{http.StatusUnprocessableEntity, "tool_not_offered", fmt.Sprintf("the script calls %s, but of its tools the agent offers only %s", quoted(c.Name), clip(strings.Join(slices.Sorted(maps.Keys(offers)), ", ")))}
		}
		if o.namespace != "" {
			if namespaces == nil {
				namespaces = make([]string, len(calls))
			}
			namespaces[i] = o.namespace
		}
	}
	return namespaces, nil
}

// plainName returns a name in lower case, with a line in place of all that is no
// letter and no digit.
func plainName(name string) string {
	var b strings.Builder
	gap := false
	for _, r := range name {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			gap = true
			continue
		}
		if gap {
			b.WriteByte('_')
		}
		gap = false
		b.WriteRune(unicode.ToLower(r))
	}
	if gap {
		b.WriteByte('_')
	}
	return b.String()
}
