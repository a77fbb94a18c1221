//go:build unix

package infile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	if err := os.WriteFile(path, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if text, err := io.ReadAll(file); err != nil || string(text) != "text" {
		t.Errorf("read %q, %v", text, err)
	}
	if _, err := Open(dir); !errors.Is(err, ErrFolder) {
		t.Errorf("a folder: %v", err)
	}
	if _, err := Open(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

// A pipe is read until its last writer closes it, and is empty without one.
func TestPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip("no named pipes here: ", err)
	}
	file, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if text, err := io.ReadAll(file); err != nil || len(text) > 0 {
		t.Errorf("without a writer: %q, %v", text, err)
	}
	writer, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Repeat("0123456789abcdef", 10_000) // more than a pipe holds
	go func() {
		io.WriteString(writer, want)
		writer.Close()
	}()
	if text, err := io.ReadAll(file); err != nil || string(text) != want {
		t.Errorf("read %d bytes, %v, want %d", len(text), err, len(want))
	}
}
