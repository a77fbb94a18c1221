//go:build unix

package session_test

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A pipe in the place of a session is an error. Reading it would never end.
func TestFolderPipe(t *testing.T) {
	path := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(path, "s.trace"), 0o600); err != nil {
		t.Skip("the folder takes no pipes: ", err)
	}
	d := folder(t, path)
	if _, err := d.Load("s"); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("loading it: got %v", err)
	}
	if err := d.Append("s", parsed(t, stored)); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("appending to it: got %v", err)
	}
}
