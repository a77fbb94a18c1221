package main

import (
	"encoding/json"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/agentbench-go/agentbench"

// redactor is a leaf: everything that is written or printed for people passes
// through it, so packages below cassettes use it too.
const redactor = "cassettes/secrets"

// mayImport lists, for each top folder, the other ones that its packages may import.
// A package knows nothing of those above it.
var mayImport = map[string][]string{
	"loop":      {},
	"internal":  {},
	"fakes":     {"loop", "internal"},
	"goldens":   {"loop", "internal"},
	"scenarios": {"goldens", "fakes", "loop", "internal", redactor},
	"fuzz":      {"scenarios", "fakes", "loop", "internal"},
	"cassettes": {"scenarios", "fakes", "loop", "internal", redactor},
	redactor:    {"internal"},
	"reports":   {"scenarios", "goldens", "loop", "internal"},
	"cmd":       {"reports", "fuzz", "cassettes", "goldens", "scenarios", "fakes", "loop", "internal", redactor},
}

// TestArrows checks that every import is allowed. Packages under examples may import
// anything public, as users may.
func TestArrows(t *testing.T) {
	seen := map[string]bool{}
	for file, imports := range sources(t) {
		from := place(file)
		seen[from] = true
		if _, known := mayImport[from]; !known {
			if from != "examples" {
				t.Errorf("%s: mayImport does not have %s", file, from)
			}
			continue
		}
		for _, path := range imports {
			inside, ours := strings.CutPrefix(path, module+"/")
			switch to := place(inside); {
			case !ours && from == "loop" && strings.Contains(path, ".") && !strings.Contains(filepath.ToSlash(file), "loop/contract/"):
				t.Errorf("%s imports %s: except loop/contract, loop may import only the standard library", file, path)
			case !ours && from == "internal" && strings.Contains(path, "."):
				t.Errorf("%s imports %s: internal may import only the standard library", file, path)
			case from == "loop" && !strings.Contains(filepath.ToSlash(file), "loop/contract/") && inside == "loop/contract":
				t.Errorf("%s imports loop/contract, which would bring its validator along", file)
			case ours && to != from && !slices.Contains(mayImport[from], to):
				t.Errorf("%s imports %s: %s may import only %q of the house", file, inside, from, mayImport[from])
			}
		}
	}
	for _, pkg := range []string{"loop", "internal", "fakes", "scenarios", "reports", "cmd"} {
		if !seen[pkg] {
			t.Errorf("no source of %s was found: this test looks in the wrong place", pkg)
		}
	}
}

// TestLoopStandsAlone checks that loop needs only the standard library and its
// detectors, and that the audit uses only loop's exported names: it imports loop,
// does not link to its symbols and is not imported by it.
func TestLoopStandsAlone(t *testing.T) {
	for pkg, want := range map[string][]string{
		"loop":       {"loop", "loop/detect"},
		"loop/audit": {"loop", "loop/audit", "loop/detect"},
	} {
		list := exec.Command("go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", module+"/"+pkg)
		deps, err := list.Output()
		if err != nil {
			t.Fatalf("go list -deps %s: %v", pkg, err)
		}
		var got []string
		for _, dep := range strings.Fields(string(deps)) {
			got = append(got, strings.TrimPrefix(dep, module+"/"))
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("%s needs %q, want %q", pkg, got, want)
		}
	}
	for file, imports := range sources(t) {
		if filepath.ToSlash(filepath.Dir(file)) == "loop/audit" && slices.Contains(imports, "unsafe") {
			t.Errorf("%s imports unsafe, without which there is no linkname", file)
		}
	}
}

// clientLibrary takes minutes to compile. Only one package may import it, and builds
// with the tag nolive do not have it.
const clientLibrary = "github.com/openai/openai-go"

// TestClientLibrary checks that one package imports the client library, and that
// the command can be built without it. The examples are modules of their own, which
// building and testing the workspace does not compile.
func TestClientLibrary(t *testing.T) {
	const may = "cassettes/openai"
	found := false
	for file, imports := range sources(t) {
		for _, path := range imports {
			dir := filepath.ToSlash(filepath.Dir(file))
			if !strings.HasPrefix(path, clientLibrary) || strings.HasPrefix(dir, "examples/") {
				continue
			}
			found = true
			if dir != may {
				t.Errorf("%s imports %s: only %s may", file, path, may)
			}
		}
	}
	if !found {
		t.Errorf("nothing imports %s: this test looks for the wrong thing", clientLibrary)
	}
	for tags, want := range map[string]bool{"": true, "nolive": false} {
		deps, err := exec.Command("go", "list", "-deps", "-tags", tags, ".").Output()
		if err != nil {
			t.Fatalf("go list -tags %q: %v", tags, err)
		}
		if got := strings.Contains(string(deps), clientLibrary); got != want {
			t.Errorf("with the tags %q the command links the client library: %t, want %t", tags, got, want)
		}
	}
}

// TestModules checks the modules of the workspace. A user of the library gets the
// requirements of the library, but not those of the command and its tests. No go.mod
// may have a replace directive, since `go install` refuses a module with one.
func TestModules(t *testing.T) {
	root := filepath.Join("..", "..")
	goCommand := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("go", args...)
		cmd.Dir, cmd.Env = root, append(cmd.Environ(), "GOWORK=off")
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("go %s: %v", strings.Join(args, " "), err)
		}
		return string(out)
	}
	var mod struct {
		Require []struct{ Path string }
		Replace []struct{ Old struct{ Path string } }
	}
	for _, dir := range []string{".", "cassettes/openai", "cmd/agentbench"} {
		mod.Replace = nil
		if err := json.Unmarshal([]byte(goCommand("mod", "edit", "-json", dir+"/go.mod")), &mod); err != nil {
			t.Fatal(err)
		}
		if len(mod.Replace) > 0 {
			t.Errorf("%s/go.mod replaces %s", dir, mod.Replace[0].Old.Path)
		}
	}
	mod.Require = nil
	if err := json.Unmarshal([]byte(goCommand("mod", "edit", "-json", "go.mod")), &mod); err != nil {
		t.Fatal(err)
	}
	if len(mod.Require) == 0 {
		t.Fatal("the library requires nothing: this test looks in the wrong place")
	}
	for _, r := range mod.Require {
		for _, not := range []string{"cobra", "pflag", "openai-go", "opentelemetry", "protobuf", "grpc", "chromedp", "go-sdk"} {
			if strings.Contains(r.Path, not) {
				t.Errorf("the library requires %s, which only the command needs", r.Path)
			}
		}
	}
	for dep := range strings.Lines(goCommand("list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", "./loop")) {
		if dep := strings.TrimSpace(dep); dep != module+"/loop" && dep != module+"/loop/detect" {
			t.Errorf("loop needs %s: it may need the standard library and loop/detect only", dep)
		}
	}
}

// place is the top folder of a path in the repository, or the redactor's own.
func place(path string) string {
	path = filepath.ToSlash(path)
	if path == redactor || strings.HasPrefix(path, redactor+"/") {
		return redactor
	}
	top, _, _ := strings.Cut(path, "/")
	return top
}

// TestNames checks that no package has an empty name such as utils.
func TestNames(t *testing.T) {
	empty := []string{"pkg", "utils", "util", "common", "helpers", "types", "models", "interfaces", "mocks", "config"}
	for file := range sources(t) {
		if name := filepath.Base(filepath.Dir(file)); slices.Contains(empty, name) {
			t.Errorf("%s: a package is named for what it holds, not %q", file, name)
		}
	}
}

// TestOneSanitizer checks that one package decides which characters people see. The
// loop imports nothing, so it quotes by itself.
func TestOneSanitizer(t *testing.T) {
	decides := regexp.MustCompile(`\b(unicode|strconv)\.Is(Control|Print|Graphic)\b`)
	for file := range sources(t) {
		slashed := filepath.ToSlash(file)
		if strings.HasPrefix(slashed, "internal/text/") || strings.HasPrefix(slashed, "loop/") {
			continue
		}
		content, err := os.ReadFile(filepath.Join("..", "..", file))
		if err != nil {
			t.Fatal(err)
		}
		if found := decides.Find(content); found != nil {
			t.Errorf("%s uses %s: internal/text decides which characters are shown", file, found)
		}
	}
}

// sources returns the imports of each Go file that is not a test, by its path in
// the repository.
func sources(t *testing.T) map[string][]string {
	t.Helper()
	root := filepath.Join("..", "..")
	found := map[string][]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch name := d.Name(); {
		case err != nil:
			return err
		case d.IsDir() && path != root && (name == "testdata" || name == "node_modules" || strings.HasPrefix(name, ".")):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		inside, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		found[inside] = nil
		for _, spec := range file.Imports {
			name, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			found[inside] = append(found[inside], name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
