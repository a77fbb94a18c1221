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
var ErrReadOnly = errors.New("the embedded goldens are part of the program")

// Embedded returns the goldens of the embedded scenarios. They can be read from
// anywhere, but not written.
func Embedded() *Store { return &Store{name: "goldens", files: embedded} }

// Dir returns the store of the goldens in a folder, which need not exist. The store
// never reads or writes outside it, even if it holds links.
func Dir(dir string) *Store { return &Store{name: dir, dir: dir, files: folder(dir)} }

// Exists reports whether the folder exists.
func (s *Store) Exists() bool {
	info, err := fs.Stat(s.files, ".")
	return err == nil && info.IsDir()
}

// ReadOnly reports whether the goldens cannot be written: those of [Embedded].
func (s *Store) ReadOnly() bool { return s.dir == "" }

// A folder is a file system that opens its root for each file that it opens.
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

// Name returns the name of a golden in its store. It fails if the scenario is not
// suite/name, or if one of the parts cannot be part of a file's name.
func Name(scenario, variant string) (string, error) {
	suite, name, err := split(scenario)
	if err == nil {
		err = checkName("variant", variant)
	}
	return suite + "/" + name + "." + variant + suffix, err
}

// split splits suite/name.
func split(scenario string) (suite, name string, err error) {
	suite, name, ok := strings.Cut(scenario, "/")
	if !ok {
		return "", "", fmt.Errorf("the scenario must be suite/name, not %s", shown(scenario))
	}
	if err = checkName("suite", suite); err == nil {
		err = checkName("scenario", name)
	}
	return suite, name, err
}

const maxName = 200

// checkName refuses a name that cannot be part of a file's name.
func checkName(what, name string) error {
	switch {
	case name == "" || strings.Trim(name, ". ") != name:
		return fmt.Errorf("the %s's name %s is empty, or begins or ends with a dot or a space", what, shown(name))
	case utf8.RuneCountInString(name) > maxName:
		return fmt.Errorf("the %s's name %s has more than %d characters", what, shown(name), maxName)
	case strings.ContainsAny(name, `/\:`) || hidden(name):
		return fmt.Errorf("the %s's name %s holds a character that is not allowed in a file's name", what, shown(name))
	}
	return nil
}

// Path returns the path of a golden by its name, for messages.
func (s *Store) Path(name string) string { return path.Join(s.name, name) }

// List returns the names of all goldens, sorted; none if the folder does not exist.
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

// Read reads the golden with that name. The error is [fs.ErrNotExist] if there is none,
// and a [SyntaxError] if the file is not a golden or belongs under another name.
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
		return nil, &SyntaxError{File: g.File, Line: 2, Problem: fmt.Sprintf("the header belongs to %s", text.Escape(own)),
			Hint: "the path of a golden is <suite>/<scenario>.<variant>.golden"}
	}
	return g, nil
}

// Write writes a golden whole or not at all, and returns its name. It creates missing
// folders.
func (s *Store) Write(g *Golden) (name string, err error) {
	if name, err = Name(g.Scenario, g.Variant); err != nil {
		return "", err
	}
	data := g.Format()
	switch {
	case s.ReadOnly():
		return "", ErrReadOnly
	case len(data) > maxBytes:
		return "", fmt.Errorf("it would have more than %d bytes; set golden: {mode: off} in the scenario to have no golden", maxBytes)
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

// Remove removes the golden with that name, and its folder if that is then empty.
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
	root.Remove(path.Dir(name)) // fails unless it is empty
	return nil
}
