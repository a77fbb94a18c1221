package cli

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"

	"github.com/agentbench-go/agentbench/goldens"
	"github.com/agentbench-go/agentbench/scenarios"
)

const modulePath = "github.com/agentbench-go/agentbench"

// goldenPlaces knows where goldens lie: those of the embedded scenarios in
// the checkout that one is in, else in the program itself; those of other
// scenarios in the folder goldens beside the suite; all in one folder if that
// is asked for.
type goldenPlaces struct {
	dir      string // asked for, "" = none
	embedded bool   // the scenarios are the embedded ones
	checkout string // the repository's root, absolute; "" elsewhere
	known    map[string]*goldenPlace
}

// A goldenPlace is a folder of goldens.
type goldenPlace struct {
	*goldens.Store
	suites string // the folder of the suites that they belong to, absolute; "" = unknown
}

func newGoldenPlaces(dir string, embedded bool) *goldenPlaces {
	return &goldenPlaces{dir: dir, embedded: embedded, checkout: findCheckout(), known: map[string]*goldenPlace{}}
}

// of gives the place of a scenario's goldens.
func (p *goldenPlaces) of(s *scenarios.Scenario) *goldenPlace {
	switch {
	case p.dir != "":
		return p.folder(p.dir, "")
	case p.embedded && p.checkout == "":
		return p.add("", &goldenPlace{Store: goldens.Embedded()})
	case p.embedded:
		return p.inCheckout()
	}
	file, err := filepath.Abs(s.File)
	if err != nil {
		file = s.File
	}
	suites := filepath.Dir(filepath.Dir(file))
	if p.checkout != "" && suites == filepath.Join(p.checkout, "scenarios") {
		return p.inCheckout()
	}
	return p.folder(filepath.Join(suites, "goldens"), suites)
}

func (p *goldenPlaces) inCheckout() *goldenPlace {
	return p.folder(filepath.Join(p.checkout, "goldens"), filepath.Join(p.checkout, "scenarios"))
}

func (p *goldenPlaces) folder(dir, suites string) *goldenPlace {
	if place := p.known[dir]; place != nil {
		return place
	}
	shown := dir
	if dir != p.dir {
		shown = filepath.ToSlash(fromHere(dir))
	}
	return p.add(dir, &goldenPlace{Store: goldens.Dir(shown), suites: suites})
}

func (p *goldenPlaces) add(key string, place *goldenPlace) *goldenPlace {
	if p.known[key] == nil {
		p.known[key] = place
	}
	return p.known[key]
}

// findCheckout gives the root of the repository of this program if one is in it,
// else "".
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
	file, err := os.Open(filepath.Join(dir, "go.mod"))
	if err != nil {
		return false
	}
	defer file.Close()
	line, _ := bufio.NewReader(file).ReadString('\n')
	return strings.TrimSpace(line) == "module "+modulePath
}

// covers reports whether these paths hold all scenarios of a suite, so that a
// golden without one is an orphan. No path at all stands for the embedded suites,
// which are whole.
func (p *goldenPlace) covers(suite string, paths []string) bool {
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

// within reports whether a path is a folder or lies below it.
func within(folder, path string) bool {
	inside, err := filepath.Rel(folder, path)
	return err == nil && filepath.IsLocal(inside)
}
