package session

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/agentbench-go/agentbench/loop"
)

// A Store keeps the traces of sessions.
type Store interface {
	// Append adds records to the end of a session's trace, all of them or
	// none. A session that is not there yet begins with it.
	Append(session string, records loop.Trace) error
	// Load gives a session's trace; [ErrNotFound] if there is none.
	Load(session string) (loop.Trace, error)
}

// ErrNotFound says that a store has no session of that name.
var ErrNotFound = errors.New("no such session")

// Memory gives a store that lasts as long as the process. It may be used by
// several goroutines.
func Memory() Store { return &memory{sessions: map[string]loop.Trace{}} }

type memory struct {
	mu       sync.Mutex
	sessions map[string]loop.Trace
}

func (m *memory) Append(session string, records loop.Trace) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range records {
		t := m.sessions[session]
		t.Append(r.In, r.Effects)
		m.sessions[session] = t
	}
	return nil
}

func (m *memory) Load(session string) (loop.Trace, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t, ok := m.sessions[session]
	if !ok {
		return nil, fmt.Errorf("%w: %q", ErrNotFound, session)
	}
	return append(loop.Trace(nil), t...), nil
}

// Dir gives a store in a folder, one file NAME.trace a session, in the text
// form of traces. The folder is made if it is not there. An append writes the
// whole file to a temporary name, syncs and renames it, so that a crash leaves
// the trace as it was before or as it is after. Names of sessions are letters,
// digits, dots, dashes and underscores, and do not begin with a dot. Two
// processes must not append to one session at once.
func Dir(path string) (Store, error) {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, err
	}
	return &dir{path: path}, nil
}

type dir struct {
	mu   sync.Mutex
	path string
}

func (d *dir) file(session string) (string, error) {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"
	if session == "" || session[0] == '.' || len(session) > 200 || strings.Trim(session, letters) != "" {
		return "", fmt.Errorf("%q is no name for a session: use letters, digits, dots, dashes and underscores", session)
	}
	return filepath.Join(d.path, session+".trace"), nil
}

func (d *dir) Append(session string, records loop.Trace) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	file, err := d.file(session)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return replace(file, records.AppendText(text))
}

// replace writes a file whole or not at all.
func replace(file string, text []byte) (err error) {
	tmp, err := os.CreateTemp(filepath.Dir(file), ".new-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			tmp.Close()
			os.Remove(tmp.Name())
		}
	}()
	if _, err = tmp.Write(text); err != nil {
		return err
	}
	if err = tmp.Sync(); err != nil {
		return err
	}
	if err = tmp.Close(); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), file)
}

func (d *dir) Load(session string) (loop.Trace, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	file, err := d.file(session)
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %q", ErrNotFound, session)
	}
	if err != nil {
		return nil, err
	}
	t, err := loop.ParseTrace(string(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return t, nil
}
