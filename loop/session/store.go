package session

import (
	"errors"
	"fmt"
	"sync"

	"github.com/agentbench-go/agentbench/loop"
)

// A Store keeps the traces of sessions. Its methods may be called by several
// goroutines at once.
type Store interface {
	// Append appends records to a session's trace, all of them or none. It
	// returns [ErrExists] if they begin a session that the store already has.
	Append(session string, records loop.Trace) error
	// Load returns a session's trace, or [ErrNotFound] if there is none.
	Load(session string) (loop.Trace, error)
}

var (
	// ErrNotFound means that a store has no session of that name.
	ErrNotFound = errors.New("no such session")
	// ErrExists means that a new session has the name of a saved one.
	ErrExists = errors.New("the session exists already: load and resume it, or use another name")
)

// begins reports whether the records begin a session.
func begins(records loop.Trace) bool {
	return len(records) > 0 && records[0].Path == "" && records[0].In.Kind == loop.Started && !ignored(&records[0])
}

// Memory returns a store in memory, which the process loses when it ends.
func Memory() Store { return &memory{sessions: map[string]loop.Trace{}} }

type memory struct {
	mu       sync.Mutex
	sessions map[string]loop.Trace
}

func (m *memory) Append(session string, records loop.Trace) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.sessions[session]
	if len(t) > 0 && begins(records) {
		return fmt.Errorf("%q: %w", session, ErrExists)
	}
	for i := range records {
		t.AppendSub(records[i].Path, records[i].In, records[i].Effects)
	}
	m.sessions[session] = t
	return nil
}

func (m *memory) Load(session string) (loop.Trace, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.sessions[session]
	if len(t) == 0 {
		return nil, fmt.Errorf("%w: %q", ErrNotFound, session)
	}
	return append(loop.Trace(nil), t...), nil
}
