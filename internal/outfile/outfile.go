// Package outfile writes files whole or not at all. A file is written under a temporary
// name in its folder, synced, and renamed. So a reader sees either the old or the new
// content, and if two processes write one path, the last one to finish wins with its
// whole content.
//
// The temporary name holds the host's name and random letters, so that no two writers
// share one, even in two containers with a common folder. The file is created
// exclusively: an existing file or link with that name is never written to. Files that
// a killed process left are never removed here, since a process on another host may
// still be writing them; [File.Stale] lists them. [CreateAlone] refuses a path that
// another process of this host is writing.
package outfile

import (
	"bufio"
	"crypto/rand"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

// suffix ends the names of temporary files.
const suffix = ".partial"

// ErrNotRegular is the error of [Create] if the path names a folder, a device or a
// pipe.
var ErrNotRegular = errors.New("not a regular file")

// ErrBusy is the error of [CreateAlone] if the path is being written already.
var ErrBusy = errors.New("another process is writing it")

// A File is a file that is being written. It is an io.Writer; writes are buffered.
type File struct {
	path   string
	file   *os.File
	buffer *bufio.Writer
	mode   fs.FileMode
	keep   bool // mode is the mode of the file that is replaced
	stale  []string
}

// Create begins the file at path. If path is a link to a file, that file is replaced
// and the link stays. A file that is replaced keeps its mode; a new one gets perm
// without the bits of the process's umask. The errors are those of package os, with the
// path in them, and [ErrNotRegular].
func Create(path string, perm fs.FileMode) (*File, error) { return create(path, perm, false) }

// CreateAlone is like [Create], but fails with [ErrBusy] while somebody else is writing
// the path: for files that belong together, of which the last writer must not win one
// and lose another, and for work whose result should not be lost at its end. Where the
// system has no locks for that (Windows, some network folders), it is Create.
func CreateAlone(path string, perm fs.FileMode) (*File, error) { return create(path, perm, true) }

func create(path string, perm fs.FileMode, alone bool) (*File, error) {
	f := &File{path: path, mode: perm}
	switch info, err := os.Stat(path); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, &fs.PathError{Op: "create", Path: path, Err: ErrNotRegular}
	default:
		f.mode, f.keep = info.Mode().Perm(), true
		if f.path, err = filepath.EvalSymlinks(path); err != nil {
			return nil, err
		}
	}
	if alone {
		defer lockFolder(filepath.Dir(f.path))() // nobody looks between the look and the lock below
	}
	for _, name := range stale(f.path) {
		if alone && isLocked(name) {
			return nil, &fs.PathError{Op: "create", Path: f.path, Err: ErrBusy}
		}
		f.stale = append(f.stale, name)
	}
	for {
		name := temporary(f.path)
		file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, f.mode)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return nil, &fs.PathError{Op: "create", Path: f.path, Err: withoutPath(err)}
		}
		lock(file)
		f.file, f.buffer = file, bufio.NewWriter(file)
		return f, nil
	}
}

// maxHost is how much of the host's name a temporary name holds, in bytes.
const maxHost = 40

// temporary returns a name in the folder of path that no other writer uses: the [stem]
// of the file's name, the host's name, and random letters.
func temporary(path string) string {
	host, _ := os.Hostname()
	host = strings.Map(func(r rune) rune {
		if r == '-' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' {
			return r
		}
		return -1
	}, host)
	folder, name := filepath.Split(path)
	return folder + stem(name) + "." + host[:min(len(host), maxHost)] + "-" + strings.ToLower(rand.Text()[:random]) + suffix
}

// random is how many random letters a temporary name holds.
const random = 12

// stem returns what the temporary names of a file begin with: its name, or if they
// would be longer than 255 bytes, the most that file systems take, as much of it as
// fits, in whole characters, and a checksum of the name.
func stem(name string) string {
	const most = 255 - len(".") - maxHost - len("-") - random - len(suffix)
	if len(name) <= most {
		return name
	}
	sum := fmt.Sprintf("~%08x", crc32.ChecksumIEEE([]byte(name)))
	end := most - len(sum)
	for end > 0 && !utf8.RuneStart(name[end]) {
		end--
	}
	return name[:end] + sum
}

// stale returns the temporary files in the folder of path that other writers of path
// left or are still writing.
func stale(path string) []string {
	folder, name := filepath.Split(path)
	if folder == "" {
		folder = "."
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil
	}
	var found []string
	for _, e := range entries {
		rest, ok := strings.CutPrefix(e.Name(), stem(name)+".")
		if ok && strings.HasSuffix(rest, suffix) && strings.Contains(rest, "-") {
			found = append(found, filepath.Join(folder, e.Name()))
		}
	}
	slices.Sort(found)
	return found
}

// Path returns the path of the file, with links resolved.
func (f *File) Path() string { return f.path }

// Stale returns the temporary files of the same path that existed when this one began.
// The process of each was killed, or is still writing.
func (f *File) Stale() []string { return f.stale }

// Write appends to the file. After an error, [File.Commit] fails too.
func (f *File) Write(p []byte) (int, error) {
	n, err := f.buffer.Write(p)
	return n, withoutPath(err)
}

// WriteString is like Write.
func (f *File) WriteString(s string) (int, error) { return f.Write([]byte(s)) }

// Flush writes buffered data to the disk, so that a full disk is noticed before Commit.
func (f *File) Flush() error {
	err := f.buffer.Flush()
	if err == nil {
		err = f.file.Sync()
	}
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", f.path, withoutPath(err))
	}
	return nil
}

// Commit syncs the file and renames it to its path. If it fails, it removes the
// temporary file, and a file at the path stays as it was.
func (f *File) Commit() (err error) {
	defer func() {
		if err != nil {
			f.Discard()
			err = fmt.Errorf("cannot write %s: %w", f.path, withoutPath(err))
		}
	}()
	if err := f.buffer.Flush(); err != nil {
		return err
	}
	if f.keep {
		if err := f.file.Chmod(f.mode); err != nil {
			return err
		}
	}
	if err := f.file.Sync(); err != nil {
		return err
	}
	if err := f.file.Close(); err != nil {
		return err
	}
	if err := os.Rename(f.file.Name(), f.path); err != nil {
		return err
	}
	syncFolder(filepath.Dir(f.path))
	return nil
}

// syncFolder makes a rename survive a loss of power, if the system can sync a folder.
// If it cannot, the file itself is still whole.
func syncFolder(path string) {
	if folder, err := os.Open(path); err == nil {
		folder.Sync()
		folder.Close()
	}
}

// withoutPath returns the cause of an error, without the name of the temporary file.
func withoutPath(err error) error {
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &path):
		return path.Err
	case errors.As(err, &link):
		return link.Err
	}
	return err
}

// Discard removes the temporary file. After Commit it does nothing.
func (f *File) Discard() {
	f.file.Close()
	os.Remove(f.file.Name())
}

// Write writes a file in one go.
func Write(path string, content []byte, perm fs.FileMode) error {
	f, err := Create(path, perm)
	if err != nil {
		return err
	}
	if _, err := f.Write(content); err != nil {
		f.Discard()
		return fmt.Errorf("cannot write %s: %w", path, withoutPath(err))
	}
	return f.Commit()
}

// WriteIn is like [Write], for a file below root. No link can lead out of root, and a
// link at name itself is replaced.
func WriteIn(root *os.Root, name string, content []byte, perm fs.FileMode) (err error) {
	info, err := root.Lstat(name)
	keep := err == nil && info.Mode().IsRegular()
	if keep {
		perm = info.Mode().Perm()
	}
	partial := temporary(name)
	file, err := root.OpenFile(partial, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", name, withoutPath(err))
	}
	defer func() {
		if err != nil {
			root.Remove(partial)
			err = fmt.Errorf("cannot write %s: %w", name, withoutPath(err))
		}
	}()
	_, err = file.Write(content)
	if keep {
		err = errors.Join(err, file.Chmod(perm))
	}
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	return root.Rename(partial, name)
}
