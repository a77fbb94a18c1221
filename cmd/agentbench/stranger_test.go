//go:build figures

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// TestStranger adds six things to the house, one at a time, as somebody would who
// knows it for a minute: a dimension of detectors, a format of trajectories, a kind of
// fault, a report, a stop, a preset. Each is a file of testdata/stranger. It touches two
// files at most beside tests, compiles, and passes a test of its own.
//
// Not counted, since nothing works less without them, are the documentation, the
// generated JSON Schema, and the recounts of loop/audit and fuzz.
func TestStranger(t *testing.T) {
	files, err := filepath.Glob("testdata/stranger/*.txtar")
	if err != nil || len(files) != 6 {
		t.Fatalf("%v: %q", err, files)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			overlay, touched := laidOver(t, a)
			if len(touched) == 0 || len(touched) > 2 {
				t.Errorf("%d files are touched: %q", len(touched), touched)
			}
			_, pkg, ok := strings.Cut(string(a.Comment), "\ngo test ")
			if !ok {
				t.Fatal("it names no package to test")
			}
			// -v shows that the test is there.
			cmd := exec.Command("go", "test", "-tags", "nolive", "-overlay", overlay, "-run", "^TestStranger$", "-v", strings.TrimSpace(pkg))
			cmd.Dir = filepath.Join("..", "..")
			if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: TestStranger") {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// laidOver writes the files of an archive as they are after its change, and the list
// of them that the go command reads as -overlay. touched are those that count.
func laidOver(t *testing.T, a *txtar.Archive) (overlay string, touched []string) {
	t.Helper()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	dir, replace := t.TempDir(), map[string]string{}
	for i, f := range a.Files {
		path := filepath.Join(root, filepath.FromSlash(f.Name))
		data := f.Data
		if strings.HasPrefix(string(data), "@ ") {
			if data, err = inserted(path, string(data)); err != nil {
				t.Fatal(err)
			}
		}
		replace[path] = filepath.Join(dir, fmt.Sprintf("%d%s", i, filepath.Ext(path)))
		if err := os.WriteFile(replace[path], data, 0o644); err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(f.Name, "_test.go") {
			touched = append(touched, f.Name)
		}
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	overlay = filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(overlay, list, 0o644); err != nil {
		t.Fatal(err)
	}
	return overlay, touched
}

// inserted returns a file with lines inserted. "@ START" begins a piece: it is inserted
// after the one line of the file that begins with START, indentation aside.
func inserted(path, pieces string) ([]byte, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	lines := strings.SplitAfter(string(data), "\n")
	for _, piece := range strings.Split("\n"+pieces, "\n@ ")[1:] {
		start, text, _ := strings.Cut(piece, "\n")
		at := -1
		for i, line := range lines {
			if strings.HasPrefix(strings.TrimSpace(line), start) {
				if at >= 0 {
					return nil, fmt.Errorf("%s: two lines begin with %q", path, start)
				}
				at = i
			}
		}
		if at < 0 {
			return nil, fmt.Errorf("%s: no line begins with %q", path, start)
		}
		lines[at] += strings.TrimSuffix(text, "\n") + "\n"
	}
	return []byte(strings.Join(lines, "")), nil
}
