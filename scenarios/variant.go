package scenarios

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentbench-go/agentbench/loop"
	"github.com/goccy/go-yaml/ast"
)

// A Variant is one named safety config.
type Variant struct {
	Name   string // a preset's name, or the name of the file without folder and extension
	Config loop.Config
	File   string // the path from which LoadVariant read it; "" = a preset, or not made by LoadVariant
}

// DefaultVariant is the preset of scenarios that do not name a variant.
const DefaultVariant = "hpd-agent"

// baseVariant is the variant that a variant extends by default.
const baseVariant = "none"

// An UnknownVariantError is the error for a name that is not a preset's.
type UnknownVariantError struct{ Name string }

func (e *UnknownVariantError) problem() string {
	return fmt.Sprintf("there is no variant %s", quoted(e.Name))
}

func (e *UnknownVariantError) Error() string {
	return e.problem() + trailing(hintWord(e.Name, Presets())) + " (the path of a file holds a slash or ends in .yaml)"
}

// LoadVariant returns the preset with that name, or reads the YAML file at that path.
// Anything that holds a slash or ends in .yaml or .yml is a path. The error is an
// [*UnknownVariantError], or of type [Mistakes] for a broken file.
func LoadVariant(nameOrPath string) (Variant, error) {
	if !isPath(nameOrPath) {
		return preset(nameOrPath, nil)
	}
	name := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(nameOrPath), ".yaml"), ".yml")
	if slices.Contains(Presets(), name) {
		return Variant{}, Mistakes{{File: nameOrPath, Problem: fmt.Sprintf("the name %s is a preset's", quoted(name)), Hint: "rename the file"}}
	}
	cfg, err := readVariant(opener(osOpen).read(nameOrPath, nameOrPath), nil)
	return Variant{Name: name, Config: cfg, File: nameOrPath}, err
}

// Presets returns the names of the presets, sorted.
func Presets() []string {
	entries, _ := embedded.ReadDir(variantFolder) // cannot fail: it is in the binary
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".yaml"))
	}
	slices.Sort(names)
	return names
}

func presetFile(name string) string { return path.Join(variantFolder, name+".yaml") }

// shownPreset returns the name of a preset's file for messages.
func shownPreset(name string) string { return "scenarios/" + presetFile(name) }

func isPath(s string) bool { return strings.ContainsAny(s, `/\`) || isYAML(s) }

// preset reads a preset. below are the files that extend it, directly or not.
func preset(name string, below []string) (Variant, error) {
	if !slices.Contains(Presets(), name) {
		return Variant{}, &UnknownVariantError{Name: name}
	}
	cfg, err := readVariant(opener(embedded.Open).read(presetFile(name), shownPreset(name)), below)
	return Variant{Name: name, Config: cfg}, err
}

// A variantFile is one safety config, written as changes to another.
type variantFile struct {
	// Extends is the variant that this one changes: a preset, or the path of a file in
	// the project, relative to this one. The default is none, where everything is off.
	Extends    string `yaml:"extends"`
	configFile `yaml:",inline"`
}

// A configFile is a config as a file has it.
type configFile struct {
	// Faithful keeps settings that can never act, for the config of a system that has
	// this fault. Without it they are mistakes.
	Faithful    bool `yaml:"faithful"`
	loop.Config `yaml:",inline"`
}

// checkSettings reports values that are not valid, or that can never act if the file
// itself has them. at is the path of the settings, "" for the whole file.
func (s *source) checkSettings(at string, c *configFile) {
	err := c.Validate()
	s.fields(at, err)
	if err != nil || c.Faithful {
		return
	}
	never, _ := c.NeverActs().(interface{ Unwrap() []error })
	if never == nil {
		return
	}
	hint := "change it, or keep it with faithful: true at the top of the file"
	if at != "" {
		hint = "change it, or keep it with faithful: true under " + at
	}
	for _, err := range never.Unwrap() {
		var f *loop.FieldError
		if !errors.As(err, &f) {
			continue
		}
		if node, own := lookup(s.root, at+"."+f.Field); own {
			s.fail(node, f.Field[strings.LastIndexByte(f.Field, '.')+1:]+" "+f.Problem, hint)
		}
	}
}

func readVariant(s *source, below []string) (loop.Config, error) {
	var f variantFile
	if !s.wrongKind(aVariant) && s.root != nil {
		var known bool
		f.Config, known = s.base(append(below, s.file))
		s.decode(s.root, reflectValue(&f), aVariant)
		if known {
			s.checkSettings("", &f.configFile)
		}
		s.distinct()
	}
	return f.Config, s.mistakes.err()
}

// near returns the path of a variant that the file names under a key. A variant outside
// the project is a mistake: the file may come from a repository that nobody has read,
// and messages show lines of a broken variant.
func (s *source) near(key, name string) (file string, inside bool) {
	file = name
	if !filepath.IsAbs(name) {
		file = path.Join(path.Dir(s.file), name)
	}
	switch {
	case !within(projectOf(s.file), file):
		s.failAt(key, quoted(name)+" is outside the project", "a project is the nearest folder with an agentbench.yaml or a .git, else the folder above the file's; --variant takes every path")
	case !isYAML(name):
		s.failAt(key, "the name of a variant's file ends in .yaml, not "+quoted(name), "")
	default:
		return file, true
	}
	return "", false
}

// projectOf returns the folder of the project that a file belongs to: the nearest
// one above it that holds an agentbench.yaml or a .git, else the folder above the
// file's own.
func projectOf(file string) string {
	abs, err := filepath.Abs(file)
	if err != nil {
		return ""
	}
	own := filepath.Dir(abs)
	for dir := own; ; dir = filepath.Dir(dir) {
		for _, mark := range []string{projectFile, ".git"} {
			if _, err := os.Lstat(filepath.Join(dir, mark)); err == nil {
				return dir
			}
		}
		if dir == filepath.Dir(dir) {
			return filepath.Dir(own)
		}
	}
}

// within reports whether a path is in a folder after links are resolved. Links are not
// resolved if the file does not exist.
func within(folder, file string) bool {
	file, err := filepath.Abs(file)
	if err != nil {
		return false
	}
	if real, err := filepath.EvalSymlinks(file); err == nil {
		file = real
		if real, err := filepath.EvalSymlinks(folder); err == nil {
			folder = real
		}
	}
	near, err := filepath.Rel(folder, file)
	return err == nil && filepath.IsLocal(near)
}

// base returns the config that a variant's file extends. known reports whether it could
// be read.
func (s *source) base(files []string) (cfg loop.Config, known bool) {
	name := baseVariant
	if n, ok := child(s.root, "extends").(*ast.StringNode); ok {
		name = n.Value
	}
	cfg, err := s.extended(name, files)
	known = err == nil
	switch e := err.(type) {
	case Mistakes:
		s.mistakes = append(s.mistakes, e...)
	case *UnknownVariantError:
		s.failAt("extends", e.problem(), hintWord(name, Presets()))
	}
	return cfg, known
}

// extended reads the variant that the last of the files extends. Only the preset none
// extends nothing: it sets every value itself.
func (s *source) extended(name string, files []string) (loop.Config, error) {
	file := name
	switch {
	case s.file == shownPreset(baseVariant):
		return loop.Config{}, nil
	case !isPath(name):
		file = shownPreset(name)
	default:
		var inside bool
		if file, inside = s.near("extends", name); !inside {
			return loop.Config{}, nil
		}
	}
	if slices.Contains(files, file) {
		s.failAt("extends", "variants extend each other in a circle: "+strings.Join(append(files, file), " → "), "")
		return loop.Config{}, nil
	}
	if !isPath(name) {
		v, err := preset(name, files)
		return v.Config, err
	}
	return readVariant(opener(osOpen).read(file, file), files)
}
