package session

import (
	"context"
	"strings"
	"sync"

	"github.com/agentbench-go/agentbench/loop"
)

// A Mode says what happens to a message that arrives while a run of its session
// is under way.
type Mode string

// The modes. The zero value is FollowUp.
const (
	FollowUp Mode = "followup" // each message waits for a run of its own
	Collect  Mode = "collect"  // messages that wait are joined, and share one run
	Steer    Mode = "steer"    // the run under way reads it at its next turn; if it cannot any more, as FollowUp
)

// A Queue runs the messages of sessions: messages of one session one after
// another, in the order of their arrival, and different sessions side by side.
// [NewQueue] makes one; the zero Queue is not usable.
type Queue struct {
	run      func(ctx context.Context, session, text string) (loop.Outcome, error)
	steer    func(session, text string) bool
	mode     Mode
	mu       sync.Mutex
	sessions map[string][]*waiting // messages that wait for a run, by session
	running  map[string]*waiting   // the message that is being run
}

// waiting is a message, with the callers that wait for the end of its run.
type waiting struct {
	ctx  context.Context
	text string
	done []chan result
}

type result struct {
	out loop.Outcome
	err error
}

// NewQueue returns a queue that calls run for a message, and never twice at once
// for one session.
func NewQueue(mode Mode, run func(ctx context.Context, session, text string) (loop.Outcome, error)) *Queue {
	return &Queue{run: run, mode: mode, sessions: map[string][]*waiting{}, running: map[string]*waiting{}}
}

// SteerWith sets the function that gives a message to the run of a session that
// is under way. It reports whether the run took the message, as [loop.Live.Say]
// does. Without SteerWith the mode Steer is FollowUp. It must be called before
// the first Submit.
func (q *Queue) SteerWith(steer func(session, text string) bool) { q.steer = steer }

// Submit gives a session a message, waits for its run and returns the outcome.
// With Collect, messages that wait together share one run, under the context of
// the first, and its outcome. When ctx is done Submit returns its cause without
// waiting any longer; a message that has no run by then gets none.
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

// work runs the messages of a session until none is left.
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
