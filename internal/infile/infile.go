// Package infile opens files that a user names or that a folder contains.
package infile

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// ErrFolder is the error of [Open] if the path names a folder.
var ErrFolder = errors.New("is a folder, not a file")

// Open opens a file, a device or a pipe for reading. Unlike [os.Open] it does not wait
// until a pipe is opened for writing: a pipe without a writer is empty. The errors are
// those of package os, with the path in them, and [ErrFolder].
func Open(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if info, err := file.Stat(); err == nil && info.IsDir() {
		file.Close()
		return nil, &fs.PathError{Op: "open", Path: path, Err: ErrFolder}
	}
	return file, nil
}
