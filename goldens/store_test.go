package goldens

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestStore(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "not", "there", "yet")
	s := Dir(dir)
	if s.Exists() || s.ReadOnly() {
		t.Error("the folder is not there, and can be made")
	}
	if names, err := s.List(); len(names) > 0 || err != nil {
		t.Errorf("a folder that is not there holds %v, error %v", names, err)
	}
	if _, err := s.Read("loops/walk.x.golden"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want that it does not exist", err)
	}
	for _, scenario := range []string{"loops/walk", "a suite/b.c", "loops/again"} {
		g := &Golden{Scenario: scenario, Variant: "my-limits.v2", Seed: 3, Terms: Terms{Mode: Actions}, Trace: walk}
		name, err := s.Write(g)
		if err != nil || name != scenario+".my-limits.v2.golden" {
			t.Fatalf("%s is written as %s, error %v", scenario, name, err)
		}
		read, err := s.Read(name)
		if err != nil || string(read.Format()) != string(g.Format()) || read.File != dir+"/"+name {
			t.Errorf("%s: read %+v, error %v", name, read, err)
		}
	}
	want := []string{"a suite/b.c.my-limits.v2.golden", "loops/again.my-limits.v2.golden", "loops/walk.my-limits.v2.golden"}
	if err := os.WriteFile(filepath.Join(dir, "loops", "notes.txt"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if names, err := s.List(); err != nil || !slices.Equal(names, want) || !s.Exists() {
		t.Errorf("got %q, error %v, want %q", names, err, want)
	}
	for _, name := range want {
		if err := s.Remove(name); err != nil {
			t.Error(err)
		}
	}
	left, _ := os.ReadDir(dir)
	if len(left) != 1 || left[0].Name() != "loops" { // which holds the notes
		t.Errorf("left over are %v", left)
	}
}

// What is written replaces what was there as a whole, and leaves nothing else
// behind.
func TestWriteIsWhole(t *testing.T) {
	dir := t.TempDir()
	s := Dir(dir)
	g := &Golden{Scenario: "loops/walk", Variant: "x", Trace: walk}
	for _, trace := range []string{walk, batch, ""} {
		g.Trace = trace
		name, err := s.Write(g)
		if err != nil {
			t.Fatal(err)
		}
		if read, err := s.Read(name); err != nil || read.Trace != trace {
			t.Errorf("read %+v, error %v", read, err)
		}
	}
	if files, _ := os.ReadDir(filepath.Join(dir, "loops")); len(files) != 1 {
		t.Errorf("the folder holds %v", files)
	}
	g.Trace = strings.Repeat("x", maxBytes)
	if _, err := s.Write(g); err == nil || !strings.Contains(err.Error(), "it would have more than 4194304 bytes") {
		t.Errorf("got %v", err)
	}
}

// A name cannot lead out of the store, and neither can a link.
func TestStoreKeepsInside(t *testing.T) {
	outside, dir := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "walk.x.golden"), (&Golden{Scenario: "away/walk", Variant: "x"}).Format(), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(dir, "away")); err != nil {
		t.Skip("there are no links here: ", err)
	}
	s := Dir(dir)
	if g, err := s.Read("away/walk.x.golden"); err == nil {
		t.Errorf("a link leads out to %+v", g)
	}
	if _, err := s.Write(&Golden{Scenario: "away/other", Variant: "x"}); err == nil {
		t.Error("a link leads out for writing")
	}
	if err := s.Remove("away/walk.x.golden"); err == nil {
		t.Error("a link leads out for removing")
	}
	if files, _ := os.ReadDir(outside); len(files) != 1 {
		t.Errorf("the folder outside holds %v", files)
	}
	for _, scenario := range []string{"walk", "../walk", "a/../walk", "a/", "/a", "a/b/c", `a\b/c`, "a/b\n", "a/.b", "c:/d"} {
		if name, err := Name(scenario, "x"); err == nil {
			t.Errorf("%q has the name %q", scenario, name)
		}
	}
	for _, variant := range []string{"", "..", "a/b", "a\x00", "a ", "\u202ea"} {
		if name, err := Name("a/b", variant); err == nil {
			t.Errorf("the variant %q has the name %q", variant, name)
		}
	}
}

// A golden under another's name would be compared with the wrong trace.
func TestReadChecksTheName(t *testing.T) {
	dir := t.TempDir()
	s := Dir(dir)
	name, err := s.Write(&Golden{Scenario: "loops/walk", Variant: "x"})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(dir, name), filepath.Join(dir, "loops", "other.x.golden")); err != nil {
		t.Fatal(err)
	}
	_, err = s.Read("loops/other.x.golden")
	want := dir + "/loops/other.x.golden:2: the header belongs to loops/walk.x.golden; the path of a golden is <suite>/<scenario>.<variant>.golden"
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

func TestEmbeddedIsReadOnly(t *testing.T) {
	s := Embedded()
	if !s.Exists() || !s.ReadOnly() {
		t.Error("the embedded goldens are there, to be read only")
	}
	if _, err := s.Write(&Golden{Scenario: "a/b", Variant: "c"}); err == nil {
		t.Error("written")
	}
	if err := s.Remove("stuck-loops/same-call-forever.hpd-agent.golden"); err == nil {
		t.Error("removed")
	}
}
