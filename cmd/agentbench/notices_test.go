package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// noticesFile has the licences of everything in the program that is not ours. Releases hold
// it beside the program.
const noticesFile = "../../THIRD_PARTY_NOTICES"

// A foreignModule is a module in the program.
type foreignModule struct{ path, version, dir string }

func (m foreignModule) String() string { return m.path + " " + m.version }

// foreignModules returns the modules in the program, on Linux, macOS (which needs
// nothing that Linux does not) or Windows.
func foreignModules(t *testing.T) []foreignModule {
	t.Helper()
	var all []foreignModule
	for _, system := range []string{"linux", "windows"} {
		cmd := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}\t{{.Version}}\t{{.Dir}}{{end}}", ".")
		cmd.Env = append(cmd.Environ(), "GOOS="+system, "CGO_ENABLED=0", "GOFLAGS=")
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("go list for %s: %v", system, err)
		}
		for line := range strings.Lines(string(out)) {
			words := strings.Split(strings.TrimSpace(line), "\t")
			if len(words) == 3 && !strings.HasPrefix(words[0], module) {
				all = append(all, foreignModule{words[0], words[1], words[2]})
			}
		}
	}
	slices.SortFunc(all, func(a, b foreignModule) int { return cmp.Compare(a.path, b.path) })
	return slices.Compact(all)
}

// licenceName matches the names of files, or of folders of files, with a licence or a
// notice that a copy must have.
var licenceName = regexp.MustCompile(`(?i)^(licen[cs]e|notice|copying|patents|third_party_licen[cs]es)`)

// licences returns the texts of a module that a copy must have.
func licences(t *testing.T, m foreignModule) (texts []string) {
	t.Helper()
	entries, err := os.ReadDir(m.dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !licenceName.MatchString(e.Name()) {
			continue
		}
		err := filepath.WalkDir(filepath.Join(m.dir, e.Name()), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			text, err := os.ReadFile(path)
			texts = append(texts, strings.TrimSpace(strings.ReplaceAll(string(text), "\r\n", "\n")))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(texts) == 0 {
		t.Errorf("%s has no licence", m)
	}
	return texts
}

// notices returns the content of noticesFile: each text once, after the modules that have
// it.
func notices(t *testing.T) []byte {
	t.Helper()
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	all := append([]foreignModule{{"Go's standard library", "", strings.TrimSpace(string(root))}}, foreignModules(t)...)
	of := map[string][]string{}
	var texts []string
	for _, m := range all {
		for _, text := range licences(t, m) {
			if of[text] == nil {
				texts = append(texts, text)
			}
			of[text] = append(of[text], strings.TrimSpace(m.String()))
		}
	}
	var b bytes.Buffer
	b.WriteString("What the program agentbench holds beside its own code, and under which licences.\n`make notices` writes this file.\n")
	for _, text := range texts {
		fmt.Fprintf(&b, "\n%s\n%s\n\n%s\n", strings.Repeat("=", 80), strings.Join(of[text], "\n"), text)
	}
	return b.Bytes()
}

// Every module in the program is named with its version and its licences in the notices,
// and so is every module that go.mod requires, but for those that only tests need.
func TestNotices(t *testing.T) {
	if testing.Short() {
		t.Skip("it lists the packages of two systems")
	}
	want := notices(t)
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(noticesFile, want, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(noticesFile)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("THIRD_PARTY_NOTICES is not what the program holds: make notices")
	}
	tests := map[string]bool{}
	for _, path := range strings.Fields(`github.com/chromedp/cdproto github.com/chromedp/chromedp github.com/go-json-experiment/json
		github.com/rogpeppe/go-internal golang.org/x/tools`) {
		tests[path] = true
	}
	text, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	required := regexp.MustCompile(`(?m)^\t(\S+) (v\S+)`).FindAllStringSubmatch(string(text), -1)
	if len(required) < 50 {
		t.Fatalf("go.mod requires %d modules: this test looks in the wrong place", len(required))
	}
	for _, r := range required {
		path, named := r[1], bytes.Contains(got, []byte("\n"+r[1]+" "+r[2]+"\n"))
		if !strings.HasPrefix(path, module) && named == tests[path] {
			t.Errorf("go.mod requires %s %s: in the notices %t, needed by tests only %t", path, r[2], named, tests[path])
		}
	}
}
