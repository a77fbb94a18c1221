package goldens

import (
	"bufio"
	"cmp"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/agentbench-go/agentbench/internal/infile"
)

// modulePath is the module path in the go.mod of this repository.
const modulePath = "github.com/agentbench-go/agentbench"

// Places finds the stores of scenarios' goldens. The goldens of embedded scenarios are
// in the checkout of this repository if the working directory is in one, else in the
// program itself. The goldens of other scenarios are in the folder goldens beside the
// folder of their suite. The zero value is ready for use, by several goroutines at
// once.
type Places struct {
	Dir string // the folder of all goldens; "" = the places above

	mu       sync.Mutex
	checkout *string // nil = not searched yet
	known    map[string]*Place
}

// A Place is a store, and the folder of the suites that it belongs to.
type Place struct {
	*Store
	suites string // absolute; "" = unknown
}

// Of returns the place of the goldens of a scenario, by the scenario's file; "" means
// an embedded scenario. Equal places are the same pointer.
func (p *Places) Of(file string) *Place {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.checkout == nil {
		root := findCheckout()
		p.checkout, p.known = &root, map[string]*Place{}
	}
	root := *p.checkout
	suites := ""
	if file != "" {
		if abs, err := filepath.Abs(file); err == nil {
			file = abs
		}
		suites = filepath.Dir(filepath.Dir(file))
	}
	switch own := filepath.Join(root, "scenarios"); {
	case p.Dir != "":
		return p.folder(p.Dir, "")
	case root != "" && (file == "" || suites == own):
		return p.folder(filepath.Join(root, "goldens"), own)
	case file == "":
		return p.place("", func() *Place { return &Place{Store: Embedded()} })
	}
	return p.folder(filepath.Join(suites, "goldens"), suites)
}

// folder returns the place of a folder. Messages show a folder other than p.Dir
// relative to the working directory.
func (p *Places) folder(dir, suites string) *Place {
	return p.place(dir, func() *Place {
		shown := dir
		if dir != p.Dir {
			here, _ := os.Getwd()
			near, _ := filepath.Rel(here, dir)
			shown = filepath.ToSlash(cmp.Or(near, dir))
		}
		return &Place{Store: Dir(shown), suites: suites}
	})
}

func (p *Places) place(key string, make func() *Place) *Place {
	if p.known[key] == nil {
		p.known[key] = make()
	}
	return p.known[key]
}

// findCheckout returns the root of this repository if the working directory is in
// it, else "".
func findCheckout() string {
	dir, err := os.Getwd()
	for err == nil {
		if isCheckout(dir) {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			break
		}
		dir = up
	}
	return ""
}

func isCheckout(dir string) bool {
	file, err := infile.Open(filepath.Join(dir, "go.mod"))
	if err != nil {
		return false
	}
	defer file.Close()
	line, _ := bufio.NewReader(file).ReadString('\n')
	return strings.TrimSpace(line) == "module "+modulePath
}

// Covers reports whether the paths hold all scenarios of a suite, so that a golden of
// the suite without a scenario is an orphan. Without paths the embedded suites are
// meant, which are complete.
func (p *Place) Covers(suite string, paths []string) bool {
	if len(paths) == 0 {
		return true
	}
	if p.suites == "" {
		return false
	}
	for _, path := range paths {
		root, err := filepath.Abs(path)
		if info, err2 := os.Stat(path); err != nil || err2 != nil || !info.IsDir() {
			continue
		}
		if within(root, p.suites) || within(root, filepath.Join(p.suites, suite)) {
			return true
		}
	}
	return false
}

// within reports whether a path is a folder or is below it.
func within(folder, path string) bool {
	inside, err := filepath.Rel(folder, path)
	return err == nil && filepath.IsLocal(inside)
}
