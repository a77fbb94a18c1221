package goldens

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agentbench-go/agentbench/internal/outfile"
	"github.com/agentbench-go/agentbench/internal/text"
)

//go:embed */*.golden
var embedded embed.FS

const suffix = ".golden"

// A Store is a folder of goldens: <suite>/<scenario>.<variant>.golden.
type Store struct {
	name  string // of the folder, for messages
	dir   string // "" if it is embedded
	files fs.FS
}

// ErrReadOnly is the error of writing or removing one of the [Embedded] goldens.
var ErrReadOnly = errors.New("the embedded goldens lie in the program itself")

// Embedded gives the goldens of the embedded scenarios. They can be read from
// anywhere, and not be written.
func Embedded() *Store { return &Store{name: "goldens", files: embedded} }

// Dir gives the goldens in a folder, which need not be there. Nothing outside it
// is read or written, whatever links it holds.
func Dir(dir string) *Store { return &Store{name: dir, dir: dir, files: folder(dir)} }

// Exists reports whether there is such a folder.
func (s *Store) Exists() bool {
	info, err := fs.Stat(s.files, ".")
	return err == nil && info.IsDir()
}

// ReadOnly reports whether goldens can be read only: those of [Embedded].
func (s *Store) ReadOnly() bool { return s.dir == "" }

// A folder is a file system whose root is opened when something is read.
type folder string

// Open opens a file below the folder.
func (f folder) Open(name string) (fs.File, error) {
	root, err := os.OpenRoot(string(f))
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return root.FS().Open(name)
}

// Name gives the name of a golden in its store. The error says why there can be
// none: the scenario is not suite/name, or one of the parts cannot be part of a
// file's name.
func Name(scenario, variant string) (string, error) {
	suite, name, err := split(scenario)
	if err == nil {
		err = checkName("variant", variant)
	}
	return suite + "/" + name + "." + variant + suffix, err
}

// split takes suite/name apart.
func split(scenario string) (suite, name string, err error) {
	suite, name, ok := strings.Cut(scenario, "/")
	if !ok {
		return "", "", fmt.Errorf("the scenario must be suite/name and not %s", shown(scenario))
	}
	if err = checkName("suite", suite); err == nil {
		err = checkName("scenario", name)
	}
	return suite, name, err
}

const maxName = 200

// checkName refuses what cannot be part of a file's name.
func checkName(what, name string) error {
	switch {
	case name == "" || strings.Trim(name, ". ") != name:
		return fmt.Errorf("the %s's name %s is empty, or begins or ends with a dot or a space", what, shown(name))
	case utf8.RuneCountInString(name) > maxName:
		return fmt.Errorf("the %s's name %s has more than %d characters", what, shown(name), maxName)
	case strings.ContainsAny(name, `/\:`) || hidden(name):
		return fmt.Errorf("the %s's name %s holds a character that a file's name may not have", what, shown(name))
	}
	return nil
}

// Path gives the path of a golden by its name, for messages.
func (s *Store) Path(name string) string { return path.Join(s.name, name) }

// List gives the names of all goldens, sorted; none if there is no such folder.
func (s *Store) List() ([]string, error) {
	var names []string
	suites, err := fs.ReadDir(s.files, ".")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for i := 0; err == nil && i < len(suites); i++ {
		if !suites[i].IsDir() {
			continue
		}
		var files []fs.DirEntry
		files, err = fs.ReadDir(s.files, suites[i].Name())
		for _, f := range files {
			if f.Type().IsRegular() && strings.HasSuffix(f.Name(), suffix) {
				names = append(names, suites[i].Name()+"/"+f.Name())
			}
		}
	}
	slices.Sort(names)
	return names, err
}

// Read reads the golden of that name. The error is [fs.ErrNotExist] if there is
// none, and a [SyntaxError] if it is not a golden, or that of another name.
func (s *Store) Read(name string) (*Golden, error) {
	file, err := s.files.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var data bytes.Buffer
	if info, err := file.Stat(); err == nil {
		data.Grow(int(min(info.Size(), maxBytes)) + bytes.MinRead)
	}
	if _, err := data.ReadFrom(io.LimitReader(file, maxBytes+1)); err != nil {
		return nil, err
	}
	g, err := Parse(s.Path(name), data.Bytes())
	if err != nil {
		return nil, err
	}
	if own, err := Name(g.Scenario, g.Variant); err != nil || own != name {
		return nil, &SyntaxError{File: g.File, Line: 2, Problem: fmt.Sprintf("the header is that of %s", text.Escape(own)),
			Hint: "a golden lies in <suite>/<scenario>.<variant>.golden"}
	}
	return g, nil
}

// Write writes a golden to its place, as a whole or not at all, and gives its
// name. It makes the folders that are not there.
func (s *Store) Write(g *Golden) (name string, err error) {
	if name, err = Name(g.Scenario, g.Variant); err != nil {
		return "", err
	}
	data := g.Format()
	switch {
	case s.ReadOnly():
		return "", ErrReadOnly
	case len(data) > maxBytes:
		return "", fmt.Errorf("it would have more than %d bytes; golden: {mode: off} in the scenario says that there is none", maxBytes)
	}
	if err := os.MkdirAll(s.dir, 0o777); err != nil {
		return "", err
	}
	root, err := os.OpenRoot(s.dir)
	if err != nil {
		return "", err
	}
	defer root.Close()
	if err := root.MkdirAll(path.Dir(name), 0o777); err != nil {
		return "", err
	}
	return name, outfile.WriteIn(root, name, data, 0o666)
}

// Remove removes the golden of that name, and its folder if nothing else is in
// it.
func (s *Store) Remove(name string) error {
	if s.ReadOnly() {
		return ErrReadOnly
	}
	root, err := os.OpenRoot(s.dir)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := root.Remove(name); err != nil {
		return err
	}
	root.Remove(path.Dir(name)) // which fails while something is in it
	return nil
}
