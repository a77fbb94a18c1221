package session

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"

	"github.com/agentbench-go/agentbench/loop"
)

// A Mode says what happens to a message that arrives during a run of its session.
type Mode string

// The modes. The zero value is FollowUp.
const (
	FollowUp Mode = "followup" // each message waits for a run of its own
	Collect  Mode = "collect"  // waiting messages are joined with line breaks, and share one run
	Steer    Mode = "steer"    // the current run reads the message with its next request, if it makes one; if no run takes it, as FollowUp
)

// A Queue runs messages: those of one session one after another in the order of
// their arrival, and those of different sessions at the same time. The zero Queue is
// not usable: call [NewQueue].
type Queue struct {
	run      func(ctx context.Context, session, text string) (loop.Outcome, error)
	steer    func(session, text string) bool
	mode     Mode
	mu       sync.Mutex
	sessions map[string][]*waiting // the messages that wait for a run, by session
	running  map[string]*waiting   // the messages whose run has begun, by session
}

// waiting is a message and the callers that wait for the end of its run.
type waiting struct {
	ctx  context.Context
	text string
	done []chan result
}

type result struct {
	out loop.Outcome
	err error
}

// NewQueue returns a queue that calls run for each message. For one session it never
// makes two calls at a time. If run panics or ends its goroutine, Submit returns an
// error that says so, and the session's next message has its turn.
func NewQueue(mode Mode, run func(ctx context.Context, session, text string) (loop.Outcome, error)) *Queue {
	return &Queue{run: run, mode: mode, sessions: map[string][]*waiting{}, running: map[string]*waiting{}}
}

// SteerWith sets the function that passes a message on to the current run of a
// session. The function reports whether the run took the message, as [loop.Live.Say]
// does. SteerWith must be called before the first Submit. Without it the mode Steer
// is FollowUp.
func (q *Queue) SteerWith(steer func(session, text string) bool) { q.steer = steer }

// Submit adds a message to a session, waits for its run and returns the outcome.
// With Collect, messages that wait together share one run, with the context of the
// first, and its outcome. When ctx is done Submit stops waiting and returns the cause.
// A message whose run has not begun by then gets no run.
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
			r = q.call(next, session)
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

// call runs a message in a goroutine of its own, so that a run that ends its goroutine
// does not end the session's.
func (q *Queue) call(w *waiting, session string) (r result) {
	r.err = errors.New("the run ended its goroutine")
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if p := recover(); p != nil {
				r.err = fmt.Errorf("the run panicked: %v\n\n%s", p, debug.Stack())
			}
		}()
		r.out, r.err = q.run(w.ctx, session, w.text)
	}()
	<-done
	return r
}
