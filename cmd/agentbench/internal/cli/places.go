package cli

import (
	"os"
	"path/filepath"
)

// places finds the files of scenarios in the repository that the command works in, for
// programs that show findings there. The zero places finds none.
type places struct {
	dir  string // the working directory
	root string // the repository
	seen map[string]string
}

// newPlaces returns the places in the repository of the working directory: the nearest
// folder above with a .git, else the directory itself.
func newPlaces() *places {
	dir, err := os.Getwd()
	if err != nil {
		return &places{}
	}
	p := &places{dir: dir, root: dir, seen: map[string]string{}}
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			p.root = at
			return p
		}
		if filepath.Dir(at) == at {
			return p
		}
	}
}

// path returns the path of a file, relative to the repository and with slashes; "" if it
// is not in it, or not there, as that of an embedded scenario.
func (p *places) path(file string) string {
	if p.root == "" {
		return ""
	}
	at, known := p.seen[file]
	if !known {
		at = p.find(file)
		p.seen[file] = at
	}
	return at
}

func (p *places) find(file string) string {
	full := filepath.FromSlash(file)
	if !filepath.IsAbs(full) {
		full = filepath.Join(p.dir, full)
	}
	inside, err := filepath.Rel(p.root, full)
	if err != nil || !filepath.IsLocal(inside) {
		return ""
	}
	if info, err := os.Lstat(full); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	return filepath.ToSlash(inside)
}
