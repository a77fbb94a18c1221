//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package outfile

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// Pipes and links under the names of temporary files are not writers, and hold nobody up.
func TestAlonePlanted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.txt")
	other, err := Create(filepath.Join(t.TempDir(), "b.txt"), 0o666)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Discard()
	if err := errors.Join(syscall.Mkfifo(path+".host-pipe.partial", 0o666), os.Symlink(other.file.Name(), path+".host-link.partial")); err != nil {
		t.Fatal(err)
	}
	f, err := CreateAlone(path, 0o666)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Commit(); err != nil || len(f.Stale()) != 2 {
		t.Errorf("%v, %q", err, f.Stale())
	}
}
