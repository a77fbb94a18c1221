package cli

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentbench-go/agentbench/internal/infile"
	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/scenarios"
	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// projectName is the name of the file that sets flags for a whole project.
const projectName = "agentbench.yaml"

// maxProject is the largest size of the project's file, in bytes.
const maxProject = 16 << 10

// pathFlags are the flags whose values are paths, and variantFlags those whose
// values are paths or presets. In the file, a path is relative to the file's folder.
var (
	pathFlags    = []string{"baseline", "goldens", "output", "scenarios"}
	variantFlags = []string{"reference", "variant"}
)

// notInProject are the flags that the file cannot set.
var notInProject = []string{"bless", "config", "help"}

// A project is the content of an agentbench.yaml: values of flags, for one command
// or for every command that has the flag.
type project struct {
	file     string
	source   []string // its lines
	mistakes scenarios.Mistakes
	values   map[string]map[string]setting // command, "" = all → flag → value
}

// A setting is the value of a flag and its position in the file.
type setting struct {
	values []string
	at     *token.Position
}

// flagsFromProject sets flags from the project's file, unless an argument or a
// variable has set them.
func flagsFromProject(cmd *cobra.Command) error {
	root := cmd.Root()
	if cmd == root || slices.Contains([]string{"version", "help", "completion"}, projectKey(cmd)) {
		return nil
	}
	path, err := projectFile(cmd.Flag("config").Value.String())
	if path == "" || err != nil {
		return err
	}
	p, err := readProject(path, root)
	if err != nil {
		return err
	}
	return p.apply(cmd)
}

// projectKey returns the key of a command in the file. The key of list scenarios
// is list.
func projectKey(cmd *cobra.Command) string {
	for cmd.HasParent() && cmd.Parent().HasParent() {
		cmd = cmd.Parent()
	}
	return cmd.Name()
}

// projectFile returns the path of the file: the one that --config names, or else
// the nearest agentbench.yaml in the working directory or a folder above it.
// "" = there is none.
func projectFile(given string) (string, error) {
	if given != "" {
		return given, nil
	}
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		path := filepath.Join(dir, projectName)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return fromHere(path), nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", nil
		}
		dir = up
	}
}

// fromHere returns a path relative to the working directory.
func fromHere(path string) string {
	here, err := os.Getwd()
	if err != nil {
		return path
	}
	if near, err := filepath.Rel(here, path); err == nil {
		return near
	}
	return path
}

// readProject reads the file. Unknown keys are mistakes.
func readProject(path string, root *cobra.Command) (*project, error) {
	content, err := readCapped(path)
	if err != nil {
		return nil, misuse("--config takes the path of an "+projectName, "cannot read %s: %s", path, text.Reason(err))
	}
	p := &project{file: path, source: strings.Split(string(content), "\n"), values: map[string]map[string]setting{}}
	file, err := parser.ParseBytes(content, 0)
	var syntax yaml.Error
	switch {
	case errors.As(err, &syntax) && syntax.GetToken() != nil:
		p.mistake(syntax.GetToken().Position, "", "%s", syntax.GetMessage())
		return nil, p.mistakes
	case err != nil:
		return nil, misuse("", "%s: %s", path, text.Line(err.Error()))
	}
	for i, doc := range file.Docs {
		switch {
		case doc.Body == nil:
		case i > 0:
			p.mistake(beginning(doc.Body), "put everything into the first document", "there is a second document")
		default:
			p.read(doc.Body, root)
		}
	}
	if len(p.mistakes) > 0 {
		return nil, p.mistakes
	}
	return p, nil
}

// beginning returns where a node begins: a mapping with its first key, as its own token is
// a colon.
func beginning(node ast.Node) *token.Position {
	switch n := node.(type) {
	case *ast.MappingNode:
		if len(n.Values) > 0 {
			return n.Values[0].Key.GetToken().Position
		}
	case *ast.MappingValueNode:
		return n.Key.GetToken().Position
	}
	return node.GetToken().Position
}

func readCapped(path string) ([]byte, error) {
	file, err := infile.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxProject+1))
	if err == nil && len(text) > maxProject {
		err = &fs.PathError{Err: fmt.Errorf("it is larger than %d bytes", maxProject)}
	}
	return bytes.TrimSuffix(text, []byte("\n")), err
}

// read reads the keys of the file: flags of any command, and commands.
func (p *project) read(body ast.Node, root *cobra.Command) {
	var words []string
	flags := map[string]*pflag.Flag{}
	for _, cmd := range root.Commands() {
		words = append(words, cmd.Name())
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if known := flags[key(f.Name)]; known == nil || !takesMany(known) {
				flags[key(f.Name)] = f
			}
		})
	}
	for k := range flags {
		words = append(words, k)
	}
	p.each(body, func(k *ast.MappingValueNode, name string) {
		cmd, _, err := root.Find([]string{name})
		switch isCommand := err == nil && cmd != root; {
		case isCommand && isMapping(k.Value): // golden is a flag as well
			p.command(cmd, k.Value)
		case flags[name] != nil && !slices.Contains(notInProject, name):
			p.set("", flags[name], k.Value)
		case isCommand:
			p.command(cmd, k.Value)
		default:
			p.mistake(k.Key.GetToken().Position, cmp.Or(text.DidYouMean(name, words), "a key is the name of a command, or of a flag with _ for -"), "unknown key %q", name)
		}
	})
}

func isMapping(node ast.Node) bool {
	return node.Type() == ast.MappingType || node.Type() == ast.MappingValueType
}

// key returns the key of a flag in the file.
func key(flag string) string { return strings.ReplaceAll(flag, "-", "_") }

// command reads the flags of one command.
func (p *project) command(cmd *cobra.Command, value ast.Node) {
	p.each(value, func(k *ast.MappingValueNode, name string) {
		f := cmd.Flags().Lookup(strings.ReplaceAll(name, "_", "-"))
		if f == nil || slices.Contains(notInProject, name) || strings.Contains(name, "-") {
			var words []string
			cmd.Flags().VisitAll(func(f *pflag.Flag) {
				if !slices.Contains(notInProject, f.Name) {
					words = append(words, key(f.Name))
				}
			})
			p.mistake(k.Key.GetToken().Position, cmp.Or(text.DidYouMean(name, words), cmd.CommandPath()+" --help lists the flags"), "%s has no flag %q that can be set here", cmd.CommandPath(), name)
			return
		}
		p.set(cmd.Name(), f, k.Value)
	})
}

// set keeps the value of a flag.
func (p *project) set(command string, f *pflag.Flag, value ast.Node) {
	values := p.list(value)
	if !takesMany(f) && len(values) != 1 {
		p.mistake(value.GetToken().Position, "", "%s takes one value", key(f.Name))
		return
	}
	for i, v := range values {
		if slices.Contains(pathFlags, f.Name) && v != "-" || slices.Contains(variantFlags, f.Name) && isPath(v) {
			values[i] = p.local(v, value)
		}
	}
	if p.values[command] == nil {
		p.values[command] = map[string]setting{}
	}
	p.values[command][f.Name] = setting{values, value.GetToken().Position}
}

// takesMany reports whether a flag can be repeated.
func takesMany(f *pflag.Flag) bool {
	_, many := f.Value.(pflag.SliceValue)
	return many
}

// isPath reports whether a variant is given by the path of its file.
func isPath(variant string) bool {
	return strings.Contains(variant, "/") || slices.Contains([]string{".yaml", ".yml"}, filepath.Ext(variant))
}

// local turns a path relative to the file's folder into one relative to the
// working directory. The file may be part of an untrusted repository, so the path
// must be within its folder.
func (p *project) local(path string, node ast.Node) string {
	if !filepath.IsLocal(path) {
		p.mistake(node.GetToken().Position, "set such a path with a flag", "%q is not within the folder of this file", path)
		return path
	}
	near := filepath.Join(filepath.Dir(p.file), path)
	if strings.Contains(path, "/") && !strings.Contains(near, "/") {
		return "./" + near
	}
	return near
}

// each calls do for every key of a mapping.
func (p *project) each(node ast.Node, do func(k *ast.MappingValueNode, name string)) {
	var pairs []*ast.MappingValueNode
	switch n := node.(type) {
	case *ast.MappingNode:
		pairs = n.Values
	case *ast.MappingValueNode:
		pairs = []*ast.MappingValueNode{n}
	case *ast.NullNode:
	default:
		p.mistake(node.GetToken().Position, "write key: value", "this must be a mapping")
	}
	seen := map[string]bool{}
	for _, k := range pairs {
		name := k.Key.GetToken().Value
		if seen[name] {
			p.mistake(k.Key.GetToken().Position, "", "%q is set twice", name)
			continue
		}
		seen[name] = true
		do(k, name)
	}
}

// list reads a value, or a list of values.
func (p *project) list(node ast.Node) []string {
	switch n := node.(type) {
	case *ast.SequenceNode:
		var out []string
		for _, v := range n.Values {
			out = append(out, p.scalar(v))
		}
		return out
	default:
		return []string{p.scalar(node)}
	}
}

func (p *project) scalar(node ast.Node) string {
	switch n := node.(type) {
	case *ast.StringNode:
		return n.Value
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return n.GetToken().Value
	}
	p.mistake(node.GetToken().Position, "", "this must be a text, a number, true or false")
	return ""
}

// mistake adds a mistake at a position of the file.
func (p *project) mistake(at *token.Position, hint, format string, args ...any) {
	m := &scenarios.Mistake{File: p.file, Line: at.Line, Column: at.Column, Problem: text.Line(fmt.Sprintf(format, args...)), Hint: hint}
	if at.Line >= 1 && at.Line <= len(p.source) {
		m.Excerpt = text.Excerpt(strings.TrimRight(p.source[at.Line-1], "\r"), at.Line, at.Column)
	}
	p.mistakes = append(p.mistakes, m)
}

// apply sets the flags of a command, unless an argument or a variable has set
// them. A value for the command beats one for all commands.
func (p *project) apply(cmd *cobra.Command) error {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		s, said := p.values[projectKey(cmd)][f.Name]
		if !said {
			s, said = p.values[""][f.Name]
			said = said && (takesMany(f) || len(s.values) == 1 && f.Name != "output") // output for all commands is only for those that write several files
		}
		if f.Changed || !said {
			return
		}
		for _, v := range s.values {
			if err := f.Value.Set(v); err != nil {
				p.mistake(s.at, "", "%s", invalidValue(key(f.Name)+" "+fmt.Sprintf("%q", v), err))
				return
			}
		}
		f.Changed = true
		p.mark(f)
	})
	if len(p.mistakes) > 0 {
		slices.SortFunc(p.mistakes, func(a, b *scenarios.Mistake) int { // flags come by name
			return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
		})
		return p.mistakes
	}
	return nil
}

// projectMark is the annotation of a flag that the project's file has set.
const projectMark = "agentbench-project"

func (p *project) mark(f *pflag.Flag) {
	if f.Annotations == nil {
		f.Annotations = map[string][]string{}
	}
	f.Annotations[projectMark] = []string{p.file}
}

// fromProject reports whether the project's file has set a flag.
func fromProject(f *pflag.Flag) bool { return len(f.Annotations[projectMark]) > 0 }
