package scenarios

import (
	"bytes"
	"cmp"
	"context"
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentbench-go/agentbench/internal/text"

	"github.com/agentbench-go/agentbench/internal/inorder"
)

// A folder is a suite, except variantFolder.
//
//go:embed */*.yaml
var embedded embed.FS

const (
	variantFolder = "variants"
	// projectFile is the tool's own configuration, which may be in the same folder as
	// suites.
	projectFile = "agentbench.yaml"
)

//go:embed scenario.schema.json
var schema []byte

// Schema returns the JSON Schema of a scenario file, for editors.
func Schema() []byte { return bytes.Clone(schema) }

//go:embed variant.schema.json
var variantSchema []byte

// VariantSchema returns the JSON Schema of a variant's file, for editors.
func VariantSchema() []byte { return bytes.Clone(variantSchema) }

// Load reads scenarios and returns them in the order of their ids. Each path is a file,
// or a folder that is searched, with all folders below it, for .yaml and .yml files.
// Load skips cassettes, folders named variants, and files and folders whose name begins
// with a dot. Without a path it returns the embedded suites. The error is of type
// [Mistakes] and holds the mistakes of all files; Load then returns no scenarios.
func Load(paths ...string) ([]*Scenario, error) {
	l := loader{files: map[string]bool{}, ids: map[string]*Scenario{}, variants: map[string]*Variant{}}
	if len(paths) == 0 {
		l.embedded()
	}
	for _, p := range paths {
		l.path(p)
	}
	l.read()
	for _, s := range l.loaded {
		s.embedded = len(paths) == 0
	}
	if err := l.mistakes.err(); err != nil {
		return nil, err
	}
	slices.SortFunc(l.loaded, func(a, b *Scenario) int {
		return cmp.Or(cmp.Compare(a.Suite, b.Suite), cmp.Compare(a.Name, b.Name))
	})
	return l.loaded, nil
}

// Parse reads the text of one scenario file. Messages call the file name, and the
// folder in name is the suite. The error is of type [Mistakes].
func Parse(name, text string) (*Scenario, error) {
	l := loader{files: map[string]bool{}, ids: map[string]*Scenario{}, variants: map[string]*Variant{}}
	s := &source{file: name}
	if len(text) > maxFileBytes {
		s.whole("is too large")
	} else {
		s.parse(text)
	}
	l.add(s, path.Base(path.Dir(name)))
	if err := l.mistakes.err(); err != nil {
		return nil, err
	}
	return l.loaded[0], nil
}

type loader struct {
	files    map[string]bool // those found already, by absolute path
	found    []foundFile
	ids      map[string]*Scenario
	variants map[string]*Variant // nil for one that cannot be read
	loaded   []*Scenario
	mistakes Mistakes
}

// A foundFile is a file to read, or a path that cannot be read.
type foundFile struct {
	open        opener
	name, shown string
	suite       string
	problem     string // why the path cannot be read
}

// read reads the files that were found, several at once, and adds their scenarios in
// the order of the files.
func (l *loader) read() {
	type parsed struct {
		*source
		suite string
	}
	parse := func(_ context.Context, f foundFile) (parsed, error) {
		if f.problem != "" {
			s := &source{file: f.shown}
			s.whole(f.problem)
			return parsed{s, ""}, nil
		}
		return parsed{f.open.read(f.name, f.shown), f.suite}, nil
	}
	add := func(p parsed) error {
		l.add(p.source, p.suite)
		return nil
	}
	// Neither parse nor add returns an error, and nothing ends the context.
	_ = inorder.Run(context.Background(), inorder.Options{Chunk: 4}, slices.Values(l.found), parse, add)
}

func (l *loader) embedded() {
	names, err := fs.Glob(embedded, "*/*.yaml")
	if err != nil {
		l.whole("", err.Error())
	}
	for _, name := range names {
		if suite := path.Dir(name); suite != variantFolder {
			l.found = append(l.found, foundFile{open: embedded.Open, name: name, shown: "scenarios/" + name, suite: suite})
		}
	}
}

// path finds the file at a path, or the files in a folder.
func (l *loader) path(root string) {
	info, err := os.Stat(root)
	if err != nil {
		l.whole(root, text.Reason(err))
		return
	}
	if !info.IsDir() {
		l.file(root)
		return
	}
	found := false
	err = filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			l.whole(name, text.Reason(err))
		case name != root && strings.HasPrefix(d.Name(), "."), d.IsDir() && name != root && d.Name() == variantFolder:
			if d.IsDir() {
				return fs.SkipDir
			}
		case readable(d) && isYAML(name) && d.Name() != projectFile && !strings.HasSuffix(name, CassetteSuffix):
			found = true
			l.file(name)
		}
		return nil
	})
	if err != nil {
		l.whole(root, text.Reason(err))
	}
	if !found {
		l.whole(root, "there is no scenario in this folder or below it: a scenario is a .yaml file")
	}
}

// file adds a file to those found, once. Its folder is its suite.
func (l *loader) file(name string) {
	abs, err := filepath.Abs(name)
	if err != nil {
		l.whole(name, err.Error())
		return
	}
	if l.files[abs] {
		return
	}
	l.files[abs] = true
	l.found = append(l.found, foundFile{open: osOpen, name: name, shown: filepath.ToSlash(name), suite: filepath.Base(filepath.Dir(abs))})
}

// add adds the scenario of a file, or the mistakes in the file.
func (l *loader) add(s *source, suite string) {
	if !s.wrongKind(aScenario) && s.root != nil {
		l.scenario(s, suite)
	}
	l.mistakes = append(l.mistakes, s.mistakes...)
}

func (l *loader) scenario(s *source, suite string) {
	file := scenarioFile{Variant: DefaultVariant}
	s.decode(s.root, reflectValue(&file), aScenario)
	s.check(&file)
	sc := &Scenario{Suite: suite, Name: file.Name, Description: file.Description, Label: Label(file.Label),
		Source: file.Source, HeldBack: file.HeldBack, Script: file.script(), Expect: file.Expect.session.expect(), Runs: file.Expect.eachRun(), Golden: s.golden(file.Golden),
		content: s.content, File: s.file, Line: position(find(s.root, "name")).Line}
	sc.Script.Name = sc.ID()
	if file.Cassette != "" {
		sc.Cassette = path.Join(path.Dir(s.file), file.Cassette)
	}
	s.fields("", sc.Script.Validate())
	if v := l.variant(s, file.Variant); v != nil {
		sc.Variant, sc.Config = *v, v.Config
		if file.Config.node != nil {
			own := configFile{Config: sc.Config}
			s.decode(file.Config.node, reflectValue(&own), "config")
			s.checkSettings("config", &own)
			if sc.Config = own.Config; !own.Faithful {
				s.checkDepth(sc)
			}
		}
		s.sessionConfigs("", file.Tools, sc.Script.Tools, sc.Config)
		s.checkExpect(&file, &sc.Config)
	}
	s.distinct()
	if first := l.ids[sc.ID()]; first != nil {
		s.failAt("name", fmt.Sprintf("the suite %s has a second scenario %s", suite, quoted(sc.Name)),
			fmt.Sprintf("the first is in %s:%d", first.File, first.Line))
		return
	}
	l.ids[sc.ID()] = sc
	l.loaded = append(l.loaded, sc)
}

// variant returns the variant that a file names, or nil if it has reported a mistake. A
// path is relative to the file.
func (l *loader) variant(s *source, name string) *Variant {
	if isPath(name) {
		file, inside := s.near("variant", name)
		if !inside {
			return nil
		}
		name = file
	}
	if v, ok := l.variants[name]; ok {
		return v
	}
	v, err := LoadVariant(name)
	switch e := err.(type) {
	case nil:
		l.variants[name] = &v
		return &v
	case Mistakes:
		l.variants[name] = nil
		l.mistakes = append(l.mistakes, e...)
	case *UnknownVariantError:
		s.failAt("variant", e.problem(), hintWord(name, Presets()))
	}
	return nil
}

func (l *loader) whole(file, problem string) {
	l.found = append(l.found, foundFile{shown: file, problem: problem})
}

func isYAML(name string) bool {
	return strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml")
}

// Suites returns the names of the scenarios' suites, sorted.
func Suites(all []*Scenario) []string {
	var suites []string
	for _, s := range all {
		suites = append(suites, s.Suite)
	}
	slices.Sort(suites)
	return slices.Compact(suites)
}

// Select returns the scenarios that are in one of the suites (none = all) and whose id
// contains pattern. A pattern with *, ? or [ must match as [path.Match] does: the whole
// id if it has a slash, else the name. The error names an unknown suite, with the nearest names, or a malformed
// pattern. An empty selection is not an error.
func Select(all []*Scenario, suites []string, pattern string) ([]*Scenario, error) {
	known := Suites(all)
	for _, suite := range suites {
		if !slices.Contains(known, suite) {
			return nil, fmt.Errorf("there is no suite %s%s", quoted(suite), trailing(hintWord(suite, known)))
		}
	}
	if _, err := path.Match(pattern, ""); err != nil {
		return nil, fmt.Errorf("the pattern %s is malformed: a [ needs its ]", quoted(pattern))
	}
	var out []*Scenario
	for _, s := range all {
		if (len(suites) == 0 || slices.Contains(suites, s.Suite)) && matches(pattern, s.ID()) {
			out = append(out, s)
		}
	}
	return out, nil
}

func matches(pattern, id string) bool {
	if !strings.ContainsAny(pattern, "*?[") {
		return strings.Contains(id, pattern)
	}
	if !strings.Contains(pattern, "/") {
		id = path.Base(id)
	}
	ok, _ := path.Match(pattern, id)
	return ok
}

// trailing returns a hint in the form that follows a message.
func trailing(hint string) string {
	if hint == "" {
		return ""
	}
	return "; " + hint
}

// readable reports whether an entry of a folder is read: a file or a link. Pipes and
// devices are not, since reading them might never end.
func readable(d fs.DirEntry) bool { return d.Type().IsRegular() || d.Type()&fs.ModeSymlink != 0 }
