package probe

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/loop/detect"
	"github.com/agentbench-go/agentbench/scenarios"
)

// A Tool is one of the agent's own, which is called in place of the script's.
type Tool struct {
	Name string
	Args string // a JSON object: the arguments of the first call

	base map[string]json.RawMessage
	vary string // the argument that differs where calls differ, "" = there is none
	kind argument
}

// An argument is how an argument is made.
type argument uint8

const (
	asText   argument = iota // other words
	asFile                   // another file in the scratch folder
	asShell                  // another command that only reads
	asNumber                 // another number
)

// Varies reports whether calls of the tool can differ.
func (t *Tool) Varies() bool { return t.vary != "" }

// Words of names, from the one that says most to the one that says least. Tools
// whose names hold none of them are not called, as nobody knows what they do.
var (
	readers  = []string{"read", "view", "cat", "open"}
	lookers  = []string{"get", "find", "search", "list", "ls", "glob", "grep", "lookup", "look", "query", "show", "describe", "count", "calculate", "calculator", "weather", "time"}
	shells   = []string{"bash", "shell", "sh", "exec", "terminal", "command"}
	harmful  = []string{"write", "edit", "delete", "remove", "rm", "send", "spawn", "ask", "fetch", "task", "agent", "create", "update", "patch", "apply", "move", "rename", "post", "put", "kill", "pay", "charge", "order", "buy", "book", "browser", "web", "url", "http", "download", "upload", "install", "deploy", "publish", "commit", "push", "mail", "email", "message", "set", "add", "insert", "save", "todo"}
	pathLike = []string{"path", "file", "filename", "filepath", "document"}
	dirLike  = []string{"dir", "directory", "folder", "cwd", "root"}
)

// Choose returns the most harmless tool that can be called, nil = none. scratch is a
// folder in which it may read.
func Choose(tools []loop.ToolSpec, scratch string) *Tool {
	var best *Tool
	rank := 0
	for _, spec := range tools {
		words := wordsOf(spec.Name)
		has := func(list []string) bool {
			return slices.ContainsFunc(words, func(w string) bool { return slices.Contains(list, w) })
		}
		n := 0
		switch {
		case has(harmful):
		case has(readers):
			n = 3
		case has(lookers):
			n = 2
		case has(shells):
			n = 1
		}
		if n <= rank {
			continue
		}
		t, err := makeTool(spec, "", scratch)
		if err != nil || n == 1 && t.kind != asShell {
			continue
		}
		best, rank = t, n
	}
	return best
}

// wordsOf splits a name into its words in lower case: readFile, read_file, mcp__fs__read.
func wordsOf(name string) []string {
	var words []string
	var word []rune
	end := func() {
		if len(word) > 0 {
			words, word = append(words, strings.ToLower(string(word))), nil
		}
	}
	last := ' '
	for _, r := range name {
		switch {
		case !unicode.IsLetter(r):
			end()
		case unicode.IsUpper(r) && unicode.IsLower(last):
			end()
			word = append(word, r)
		default:
			word = append(word, r)
		}
		last = r
	}
	end()
	return words
}

// A schema is the part of a JSON Schema that making arguments needs.
type schema struct {
	Type       any                        `json:"type"`
	Properties map[string]json.RawMessage `json:"properties"`
	Required   []string                   `json:"required"`
	Enum       []json.RawMessage          `json:"enum"`
	Const      json.RawMessage            `json:"const"`
	Default    json.RawMessage            `json:"default"`
	Minimum    *float64                   `json:"minimum"`
	MinItems   int                        `json:"minItems"`
	Items      json.RawMessage            `json:"items"`
	Format     string                     `json:"format"`
	Pattern    string                     `json:"pattern"`
	AnyOf      []json.RawMessage          `json:"anyOf"`
}

func schemaOf(raw json.RawMessage) (s schema) {
	json.Unmarshal(raw, &s) // what it does not say is free
	for i := 0; s.Type == nil && i < len(s.AnyOf); i++ {
		if one := schemaOf(s.AnyOf[i]); one.Type != nil && one.Type != "null" {
			one.Default = s.Default
			return one
		}
	}
	return s
}

// is reports whether a value may be of a type.
func (s *schema) is(name string) bool {
	switch t := s.Type.(type) {
	case string:
		return t == name
	case []any:
		return slices.Contains(t, any(name))
	}
	return false
}

func (s *schema) free() bool {
	return len(s.Enum) == 0 && s.Const == nil && s.Pattern == "" && s.Format == ""
}

// makeTool returns the call of a tool. Its arguments are given, or made by its schema:
// the required ones only.
func makeTool(spec loop.ToolSpec, given, scratch string) (*Tool, error) {
	t := &Tool{Name: spec.Name, base: map[string]json.RawMessage{}}
	s := schemaOf(json.RawMessage(spec.Input))
	if given != "" {
		if err := json.Unmarshal([]byte(given), &t.base); err != nil || t.base == nil {
			return nil, fmt.Errorf("the arguments of %s are not a JSON object", spec.Name)
		}
	} else {
		for _, name := range s.Required {
			v, err := value(name, schemaOf(s.Properties[name]), scratch, 0)
			if err != nil {
				return nil, err
			}
			t.base[name] = v
		}
	}
	t.chooseVaried(&s)
	t.Args = t.args(0, scratch)
	return t, nil
}

// chooseVaried chooses the argument that differs where calls differ: the first free
// text or number, by preference one that is always there.
func (t *Tool) chooseVaried(s *schema) {
	names := slices.Clone(s.Required)
	for name := range t.base {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	required := len(names)
	for name := range s.Properties {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names[len(s.Required):required])
	slices.Sort(names[required:])
	for _, text := range []bool{true, false} {
		for i, name := range names {
			p := schemaOf(s.Properties[name])
			raw, there := t.base[name]
			isText := p.is("string") || p.Type == nil && there && strings.HasPrefix(string(raw), `"`)
			isNumber := p.is("integer") || p.Type == nil && there && isInteger(raw)
			if !p.free() || i < required && !there || text && !isText || !text && !isNumber {
				continue
			}
			t.vary, t.kind = name, asNumber
			if text {
				t.kind = kindOf(name)
			}
			return
		}
	}
}

func isInteger(raw json.RawMessage) bool {
	_, err := strconv.ParseInt(string(raw), 10, 64)
	return err == nil
}

func kindOf(name string) argument {
	words := wordsOf(name)
	has := func(list ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return slices.Contains(list, w) })
	}
	switch {
	case has(pathLike...):
		return asFile
	case has("command", "cmd", "script"):
		return asShell
	}
	return asText
}

// maxDepth bounds how deep required arguments may be nested.
const maxDepth = 5

// value makes a harmless value of an argument.
func value(name string, s schema, scratch string, depth int) (json.RawMessage, error) {
	quoted := func(v any) (json.RawMessage, error) { return json.Marshal(v) }
	switch {
	case depth > maxDepth:
		return nil, fmt.Errorf("the argument %s is nested too deep", name)
	case s.Const != nil:
		return s.Const, nil
	case len(s.Enum) > 0:
		return s.Enum[0], nil
	case s.is("integer") || s.is("number"):
		if s.Minimum != nil {
			return quoted(*s.Minimum)
		}
		return quoted(1)
	case s.is("boolean"):
		return quoted(false)
	case s.is("array"):
		list := []json.RawMessage{}
		if s.MinItems > 0 || s.Items != nil {
			one, err := value(name, schemaOf(s.Items), scratch, depth+1)
			if err != nil {
				return nil, err
			}
			for range max(s.MinItems, 1) {
				list = append(list, one)
			}
		}
		return quoted(list)
	case s.is("object"):
		object := map[string]json.RawMessage{}
		for _, key := range s.Required {
			one, err := value(key, schemaOf(s.Properties[key]), scratch, depth+1)
			if err != nil {
				return nil, err
			}
			object[key] = one
		}
		return quoted(object)
	case strings.HasPrefix(s.Format, "uri"):
		return quoted("http://127.0.0.1:9/")
	case s.Default != nil && s.Pattern != "":
		return s.Default, nil
	}
	words := wordsOf(name)
	if slices.ContainsFunc(words, func(w string) bool { return slices.Contains(dirLike, w) }) {
		return quoted(scratch)
	}
	return quoted(textOf(kindOf(name), scratch, 0))
}

// textOf returns the k-th text of an argument.
func textOf(kind argument, scratch string, k int) string {
	switch kind {
	case asFile:
		return scratchFile(scratch, k)
	case asShell:
		return "cat '" + scratchFile(scratch, k) + "'"
	}
	if k == 0 {
		return "notes"
	}
	return "notes " + strconv.Itoa(k+1)
}

// scratchFile returns the path of the k-th file in the scratch folder, and makes it.
func scratchFile(scratch string, k int) string {
	name := "notes.txt"
	if k > 0 {
		name = fmt.Sprintf("notes-%d.txt", k+1)
	}
	path := filepath.Join(scratch, name)
	if _, err := os.Stat(path); err != nil && scratch != "" {
		os.WriteFile(path, fmt.Appendf(nil, "%d. Buy milk. Call Ana.\n", k+1), 0o666) // the agent tells if it is not there
	}
	return path
}

// args returns the arguments of the k-th call that differs from those before it.
func (t *Tool) args(k int, scratch string) string {
	object := make(map[string]json.RawMessage, len(t.base)+1)
	for name, v := range t.base {
		object[name] = v
	}
	if k > 0 && t.vary != "" {
		object[t.vary] = t.varied(k, scratch)
	}
	text, err := json.Marshal(object)
	if err != nil {
		return "{}" // its values are JSON
	}
	return string(text)
}

func (t *Tool) varied(k int, scratch string) json.RawMessage {
	var before string
	json.Unmarshal(t.base[t.vary], &before)
	var v any
	switch first := textOf(t.kind, scratch, 0); {
	case t.kind == asNumber:
		n, _ := strconv.ParseInt(string(t.base[t.vary]), 10, 64)
		v = n + int64(k)
	case before == "" || before == first:
		v = textOf(t.kind, scratch, k)
	case t.kind == asShell:
		v = before + " # " + strconv.Itoa(k+1)
	case t.kind == asFile:
		ext := filepath.Ext(before)
		v = strings.TrimSuffix(before, ext) + "-" + strconv.Itoa(k+1) + ext
	default:
		v = before + " " + strconv.Itoa(k+1)
	}
	out, _ := json.Marshal(v) // a text or a number
	return out
}

// A pattern carries the calls of a script over to a tool of the agent: calls that are
// equal in the script are equal, and calls that differ there differ.
type pattern struct {
	tool    *Tool
	scratch string
	own     []string // the script's tools; a call of any other stays as it is

	mu    sync.Mutex
	canon detect.Canon
	seen  map[detect.Signature]int
}

func newPattern(t *Tool, scratch string, tools []fakes.Tool) *pattern {
	p := &pattern{tool: t, scratch: scratch, seen: map[detect.Signature]int{}}
	for i := range tools {
		p.own = append(p.own, tools[i].Name)
	}
	return p
}

// carry changes the calls of a reply.
func (p *pattern) carry(_ []loop.ToolSpec, calls []loop.AskedCall) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range calls {
		c := &calls[i]
		if !slices.Contains(p.own, strings.TrimSpace(c.Name)) {
			continue
		}
		k, broken := p.canon.Signature(strings.TrimSpace(c.Name), c.Args)
		c.Name = p.tool.Name
		if broken != nil {
			continue // arguments that are not a JSON object stay broken
		}
		if _, ok := p.seen[k]; !ok {
			p.seen[k] = len(p.seen)
		}
		c.Args = p.tool.args(p.seen[k], p.scratch)
	}
}

// Differs reports whether a scenario has calls that differ.
func Differs(s *scenarios.Scenario) bool {
	first := ""
	for i := range s.Script.Model {
		for _, c := range s.Script.Model[i].Calls {
			one := c.Name + " " + c.Args
			if first = cmp.Or(first, one); one != first || strings.Contains(c.Args, "${") {
				return true
			}
		}
	}
	return false
}
