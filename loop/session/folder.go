package session

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/agentbench-go/agentbench/loop"
)

// A Folder is a [Store] in a folder, with one file NAME.trace for each session.
//
// A file holds the text form of the trace, and after each append a line with a
// checksum of the appended text. When Append returns, the records are on the disk.
// After a crash during an append, the trace has either all of the appended records
// or none: the next Load or Append removes lines at the end of the file that no
// matching checksum follows.
//
// The first Load or Append of a session takes it until Release, Close or the end of
// the process. Meanwhile other processes, and other Folders of this process, get
// [ErrInUse] if they load or change it. Different processes may take different
// sessions of one folder. The operating system holds the lock (flock, on Windows an
// exclusive handle), so a crash leaves no lock behind. On aix, plan9, solaris and
// wasm there is no lock: make sure that only one process uses a session at a time.
type Folder struct {
	path string
	mu   sync.Mutex
	open map[string]*file
}

// ErrInUse means that another process or another Folder has taken the session.
var ErrInUse = errors.New("the session is in use: end the other process, or close the other store")

// Dir returns the store in a folder, and creates the folder if it does not exist.
// Names of sessions have up to 200 letters, digits, dots, dashes and underscores, and
// do not begin with a dot.
func Dir(path string) (*Folder, error) {
	_, missing := os.Stat(path)
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, err
	}
	if missing != nil {
		if err := syncFolder(filepath.Dir(path)); err != nil {
			return nil, err
		}
	}
	return &Folder{path: path, open: map[string]*file{}}, nil
}

// Append appends records to a session's trace.
func (d *Folder) Append(session string, records loop.Trace) error {
	f, err := d.take(session, os.O_CREATE)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.size > 0 && begins(records) {
		return fmt.Errorf("%s: %w", f.Name(), ErrExists)
	}
	return f.append(records)
}

// Load returns a session's trace.
func (d *Folder) Load(session string) (loop.Trace, error) {
	f, err := d.take(session, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %q", ErrNotFound, session)
	}
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.size == 0 {
		return nil, fmt.Errorf("%w: %q", ErrNotFound, session)
	}
	return f.load()
}

// Release lets other processes and Folders take a session.
func (d *Folder) Release(session string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.release(session)
}

// Close releases all sessions.
func (d *Folder) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	var errs []error
	for session := range d.open {
		errs = append(errs, d.release(session))
	}
	return errors.Join(errs...)
}

func (d *Folder) release(session string) error {
	f := d.open[session]
	if f == nil {
		return nil
	}
	delete(d.open, session)
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.Close()
}

// take returns the file of a session, opened and locked.
func (d *Folder) take(session string, create int) (*file, error) {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"
	if session == "" || session[0] == '.' || len(session) > 200 || strings.Trim(session, letters) != "" {
		return nil, fmt.Errorf("%q is not a valid session name: use up to 200 letters, digits, dots, dashes and underscores, and do not begin with a dot", session)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if f := d.open[session]; f != nil {
		return f, nil
	}
	path := filepath.Join(d.path, session+".trace")
	locked, err := openLocked(path, create)
	if err != nil {
		return nil, err
	}
	f := &file{File: locked}
	if info, err := f.Stat(); err == nil && !info.Mode().IsRegular() {
		f.Close()
		return nil, fmt.Errorf("%s: not a regular file", path) // a pipe would be read for ever
	}
	if err = f.recover(); err == nil && create != 0 {
		err = syncFolder(d.path)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	d.open[session] = f
	return f, nil
}

// A file is the file of a session, opened and locked.
type file struct {
	*os.File
	mu   sync.Mutex
	size int64
}

const (
	fileHead = "# agentbench session v1\n"
	markHead = "# saved "
)

// mark returns the line that ends the text of an append.
func mark(text []byte) string {
	return fmt.Sprintf("%s%08x\n", markHead, crc32.ChecksumIEEE(text))
}

// split splits the text of a file into the texts of its appends, without the marks.
// whole is the offset after the last complete append.
func split(text []byte) (parts [][]byte, whole int, err error) {
	if head := min(len(text), len(fileHead)); string(text[:head]) != fileHead[:head] {
		return nil, 0, fmt.Errorf("line 1: not a session file: the first line must be %q", strings.TrimSpace(fileHead))
	}
	begin, broken, line := len(fileHead), 0, 1
	for at := begin; at < len(text); line++ {
		next := at + bytes.IndexByte(text[at:], '\n') + 1
		if next == at {
			break // the line was cut off
		}
		if bytes.HasPrefix(text[at:], []byte(markHead)) {
			switch matches := string(text[at:next]) == mark(text[begin:at]); {
			case !matches:
				broken = line + 1
			case broken > 0:
				return nil, 0, fmt.Errorf("line %d: the checksum does not match: the lines above it were changed", broken)
			default:
				parts, whole = append(parts, text[begin:at]), next
			}
			begin = next
		}
		at = next
	}
	return parts, whole, nil
}

// recover removes an incomplete append from the end of the file.
func (f *file) recover() error {
	text, err := io.ReadAll(f)
	if err != nil {
		return err
	}
	_, whole, err := split(text)
	if err != nil {
		return fmt.Errorf("%s: %w", f.Name(), err)
	}
	f.size = int64(whole)
	if len(text) == whole {
		return nil
	}
	return f.Truncate(f.size)
}

// load reads the trace.
func (f *file) load() (t loop.Trace, err error) {
	text := make([]byte, f.size)
	if _, err := f.ReadAt(text, 0); err != nil {
		return nil, err
	}
	parts, _, err := split(text)
	for _, p := range parts {
		records, err := loop.ParseTrace(string(p))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name(), err)
		}
		t = append(t, records...)
	}
	return t, err
}

// append writes records and waits until they are on the disk.
func (f *file) append(records loop.Trace) error {
	if len(records) == 0 {
		return nil
	}
	text := records.AppendText(nil)
	b := append(text, mark(text)...)
	if f.size == 0 {
		b = append([]byte(fileHead), b...)
	}
	_, err := f.WriteAt(b, f.size)
	if err == nil {
		err = f.Sync()
	}
	if err != nil {
		return errors.Join(err, f.Truncate(f.size))
	}
	f.size += int64(len(b))
	return nil
}
