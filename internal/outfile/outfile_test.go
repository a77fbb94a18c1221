package outfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"
)

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func names(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return strings.Join(all, " ")
}

// Until Commit the old content stays; after Discard as well.
func TestWholeOrNotAtAll(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.txt")
	if err := Write(path, []byte("old"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, commit := range []bool{false, true} {
		f, err := Create(path, 0o666)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(f, strings.Repeat("new", 10_000))
		if got := read(t, path); got != "old" {
			t.Fatalf("before Commit the file holds %.10q", got)
		}
		if commit {
			err = f.Commit()
		}
		f.Discard()
		if err != nil {
			t.Fatal(err)
		}
		if got := names(t, dir); got != "a.txt" {
			t.Errorf("commit %t leaves %q", commit, got)
		}
	}
	if got := read(t, path); len(got) != 30_000 {
		t.Errorf("the file holds %d bytes, want 30,000", len(got))
	}
}

// Twenty writers of one path at once: each commit leaves the whole content of
// one writer.
func TestWritersDoNotMix(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.txt")
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			f, err := Create(path, 0o666)
			if err != nil {
				t.Error(err)
				return
			}
			for range 2_000 {
				fmt.Fprintf(f, "%02d\n", i)
			}
			if err := f.Commit(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	got := read(t, path)
	if want := strings.Repeat(got[:3], 2_000); got != want {
		t.Error("the lines of several writers are in one file")
	}
	if got := names(t, dir); got != "a.txt" {
		t.Errorf("the folder holds %q", got)
	}
}

// Of those who want a path to themselves, one gets it, and the others are told; when
// it has ended, by whatever way, the next one gets it.
func TestAlone(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no such locks")
	}
	path := filepath.Join(t.TempDir(), "a.txt")
	for _, end := range []func(*File){(*File).Discard, func(f *File) { f.Commit() }, func(f *File) { f.file.Close() }} {
		got := make(chan *File, 20)
		var wg sync.WaitGroup
		for range cap(got) {
			wg.Go(func() {
				f, err := CreateAlone(path, 0o666)
				switch {
				case err == nil:
					got <- f
				case !errors.Is(err, ErrBusy):
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if len(got) != 1 {
			t.Fatalf("%d of 20 have it", len(got))
		}
		if f, err := Create(path, 0o666); err != nil {
			t.Error("who does not ask is refused:", err)
		} else {
			f.Discard()
		}
		end(<-got)
	}
	f, err := CreateAlone(path, 0o666)
	if err != nil || len(f.Stale()) != 1 {
		t.Fatalf("what a dead process left is in the way: %v", err)
	}
	f.Discard()
}

func TestModes(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no permission bits")
	}
	dir := t.TempDir()
	for _, c := range []struct{ old, perm, want fs.FileMode }{
		{0, 0o600, 0o600},
		{0o600, 0o666, 0o600},
		{0o640, 0o600, 0o640},
		{0o664, 0o600, 0o664}, // a umask of 022 does not act on a mode that is kept
	} {
		path := filepath.Join(dir, fmt.Sprintf("%o-%o", c.old, c.perm))
		if c.old != 0 {
			if err := errors.Join(os.WriteFile(path, nil, 0o600), os.Chmod(path, c.old)); err != nil {
				t.Fatal(err)
			}
		}
		if err := Write(path, []byte("x"), c.perm); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != c.want {
			t.Errorf("old %o, new %o: %v %v, want %o", c.old, c.perm, info.Mode(), err, c.want)
		}
	}
}

// A link to a file stays a link, and its file is replaced whole; a link planted
// under a temporary name is not written through.
func TestLinks(t *testing.T) {
	dir := t.TempDir()
	real, link, precious := filepath.Join(dir, "real.txt"), filepath.Join(dir, "link.txt"), filepath.Join(dir, "precious")
	err := errors.Join(os.WriteFile(real, []byte("old"), 0o600), os.WriteFile(precious, []byte("keep"), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(real, link); err != nil {
		t.Skip("no symbolic links here: ", err)
	}
	if err := os.Symlink(precious, link+".partial"); err != nil {
		t.Fatal(err)
	}
	if err := Write(link, []byte("new"), 0o666); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link became %v, %v", info.Mode(), err)
	}
	if a, b := read(t, real), read(t, precious); a != "new" || b != "keep" {
		t.Errorf("the linked file holds %q, the other %q", a, b)
	}
}

func TestRefused(t *testing.T) {
	dir := t.TempDir()
	if _, err := Create(dir, 0o666); !errors.Is(err, ErrNotRegular) {
		t.Errorf("a folder: %v", err)
	}
	if _, err := Create(filepath.Join(dir, "none", "a"), 0o666); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder that is not there: %v", err)
	}
}

// What another writer of the same path left is listed; files of other paths are not.
func TestStale(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.txt")
	left, err := Create(path, 0o666)
	if err != nil {
		t.Fatal(err)
	}
	defer left.Discard()
	other, err := Create(filepath.Join(dir, "b.txt"), 0o666)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Discard()
	f, err := Create(path, 0o666)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Discard()
	if got := f.Stale(); len(got) != 1 || got[0] != left.file.Name() {
		t.Errorf("stale are %q, want %q", got, left.file.Name())
	}
}

// The temporary name of the longest name that a file system takes, 255 bytes, fits as
// well. It has whole characters only, since some file systems refuse others, and tells
// files apart whose names begin alike. é has two bytes.
func TestLongName(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{strings.Repeat("x", 255), "y" + strings.Repeat("é", 127), strings.Repeat("é", 127) + "z"} {
		path := filepath.Join(dir, name)
		if err := Write(path, nil, 0o666); err != nil {
			t.Error(err)
		}
		left, err := Create(path, 0o666)
		if err != nil {
			t.Fatal(err)
		}
		defer left.Discard()
		if got := filepath.Base(left.file.Name()); !utf8.ValidString(got) || len(got) > 255 {
			t.Errorf("the temporary name of %q is %q", name, got)
		}
		f, err := Create(path, 0o666)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Discard()
		if got := f.Stale(); len(got) != 1 || got[0] != left.file.Name() {
			t.Errorf("stale are %q, want %q", got, left.file.Name())
		}
		_, last := utf8.DecodeLastRuneInString(path)
		other, err := Create(path[:len(path)-last]+"w", 0o666)
		if err != nil {
			t.Fatal(err)
		}
		defer other.Discard()
		if got := other.Stale(); len(got) != 0 {
			t.Errorf("stale of another file are %q", got)
		}
	}
}

// An error names the file and not its temporary name.
func TestErrorsNameTheFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "missing", "a.txt")
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	_, err = Create(path, 0o666)
	for _, err := range []error{err, Write(path, nil, 0o666), WriteIn(root, "missing/a.txt", nil, 0o666)} {
		if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "a.txt: ") || strings.Contains(err.Error(), "partial") {
			t.Errorf("got %v", err)
		}
	}
}

// Below a root a file is replaced whole and keeps its mode, and no link leads out.
func TestWriteIn(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := root.Mkdir("sub", 0o777); err != nil {
		t.Fatal(err)
	}
	for _, content := range []string{"old", "new"} {
		if err := WriteIn(root, "sub/a.txt", []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
		if got := read(t, filepath.Join(dir, "sub", "a.txt")); got != content {
			t.Errorf("the file holds %q, want %q", got, content)
		}
	}
	if got := names(t, filepath.Join(dir, "sub")); got != "a.txt" {
		t.Errorf("the folder holds %q", got)
	}
	if err := os.Symlink(outside, filepath.Join(dir, "out")); err != nil {
		t.Skip("no symbolic links here: ", err)
	}
	if err := WriteIn(root, "out/a.txt", nil, 0o666); err == nil {
		t.Error("a link leads out of the root")
	}
	if got := names(t, outside); got != "" {
		t.Errorf("outside lies %q", got)
	}
}
