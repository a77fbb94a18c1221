package session

import (
	"context"
	"strings"
	"sync"

	"github.com/agentbench-go/agentbench/loop"
)

// A Mode says what becomes of a message that comes while the session's run is
// under way.
type Mode string

// The modes. The zero value is FollowUp.
const (
	FollowUp Mode = "followup" // each message waits, and gets a run of its own
	Collect  Mode = "collect"  // the messages that wait become one
	Steer    Mode = "steer"    // the run under way gets them at its next turn, if it still can; else as FollowUp
)

// A Queue runs the messages of sessions: those of one session one after
// another, in the order they came, and different sessions side by side. The
// zero Queue is not usable: see [NewQueue].
type Queue struct {
	run      func(ctx context.Context, session, text string) (loop.Outcome, error)
	steer    func(session, text string) bool
	mode     Mode
	mu       sync.Mutex
	sessions map[string][]*waiting // those that wait
	running  map[string]*waiting
}

// waiting is a message and who waits for the end of its run.
type waiting struct {
	ctx  context.Context
	text string
	done []chan result
}

type result struct {
	out loop.Outcome
	err error
}

// NewQueue makes a queue that runs a message with run, which is never called
// twice at once for one session.
func NewQueue(mode Mode, run func(ctx context.Context, session, text string) (loop.Outcome, error)) *Queue {
	return &Queue{run: run, mode: mode, sessions: map[string][]*waiting{}, running: map[string]*waiting{}}
}

// SteerWith says how a message reaches the run of a session that is under way:
// it reports false if it did not, as [loop.Live.Say] does. Without it Steer is
// FollowUp. It must be called before the first Submit.
func (q *Queue) SteerWith(steer func(session, text string) bool) { q.steer = steer }

// Submit gives a session a message and returns how its run ended. With Collect
// messages that waited together have one run, under the context of the first,
// and all get its outcome.
func (q *Queue) Submit(ctx context.Context, session, text string) (loop.Outcome, error) {
	done := make(chan result, 1)
	q.mu.Lock()
	line, busy := q.sessions[session]
	if run := q.running[session]; q.mode == Steer && q.steer != nil && run != nil && q.steer(session, text) {
		run.done = append(run.done, done)
	} else if n := len(line); busy && q.mode == Collect && n > 0 {
		line[n-1].text = strings.Join([]string{line[n-1].text, text}, "\n")
		line[n-1].done = append(line[n-1].done, done)
	} else {
		q.sessions[session] = append(line, &waiting{ctx: ctx, text: text, done: []chan result{done}})
	}
	q.mu.Unlock()
	if !busy {
		go q.work(session)
	}
	select {
	case r := <-done:
		return r.out, r.err
	case <-ctx.Done():
		return loop.Outcome{}, context.Cause(ctx)
	}
}

// work runs the messages of a session until none waits.
func (q *Queue) work(session string) {
	for {
		q.mu.Lock()
		line := q.sessions[session]
		if len(line) == 0 {
			delete(q.sessions, session)
			q.mu.Unlock()
			return
		}
		next := line[0]
		q.sessions[session], q.running[session] = line[1:], next
		q.mu.Unlock()
		var r result
		if err := context.Cause(next.ctx); err != nil {
			r.err = err
		} else {
			r.out, r.err = q.run(next.ctx, session, next.text)
		}
		q.mu.Lock()
		delete(q.running, session)
		done := next.done
		q.mu.Unlock()
		for _, d := range done {
			d <- r
		}
	}
}
