package host

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"sync"
	"time"

	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/loop/session"
)

// textBroken is all that a client is told of a fault that is the operator's: the log has
// its reason.
const textBroken = "the session broke off: the operator's log has the reason"

// A tenant runs the sessions of one tenant.
type tenant struct {
	Tenant
	host *Host

	mu      sync.Mutex
	open    map[string]*conversation // the sessions in use
	rate    bucket
	stopped bool
	runs    int // workers
	waiting int // messages that wait for their session's worker
	streams int
}

// A bucket holds what is left of the messages of a minute.
type bucket struct {
	size, used float64
	at         time.Time
}

// take takes a message out of the bucket. It returns how long to wait if there is none.
func (t *tenant) take() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	b, now := &t.rate, time.Now()
	if !b.at.IsZero() {
		b.used = max(0, b.used-now.Sub(b.at).Minutes()*b.size)
	}
	if b.at = now; b.used+1 > b.size {
		return time.Duration((b.used + 1 - b.size) / b.size * float64(time.Minute))
	}
	b.used++
	return 0
}

// use returns a session until [tenant.leave].
func (t *tenant) use(name string) (*conversation, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.open[name]
	if c == nil {
		if len(t.open) >= t.Limits.Sessions {
			return nil, tooMany("%d sessions are in use", len(t.open))
		}
		c = &conversation{tenant: t, name: name, feed: feed{max: t.Limits.Kept}, open: map[string]*pending{}}
		t.open[name] = c
	}
	c.users++
	return c, nil
}

// used returns a session that is in use, or nil.
func (t *tenant) used(name string) *conversation {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.open[name]
}

// leave lets other processes take a session that nobody uses any more, if the store can
// do that, as [session.Folder] can.
func (t *tenant) leave(c *conversation) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c.users--; c.users > 0 {
		return
	}
	delete(t.open, c.name)
	if store, ok := t.Store.(interface{ Release(string) error }); ok {
		if err := store.Release(c.name); err != nil {
			t.log(c, err)
		}
	}
}

func (t *tenant) openStream() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.streams >= t.Limits.Streams {
		return tooMany("%d streams are open", t.streams)
	}
	t.streams++
	return nil
}

func (t *tenant) closeStream() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.streams--
}

// load returns the saved trace of a session.
func (t *tenant) load(c *conversation) (loop.Trace, error) {
	trace, err := t.Store.Load(c.name)
	switch {
	case errors.Is(err, session.ErrNotFound):
		return nil, &httpError{http.StatusNotFound, "there is no session of this name"}
	case errors.Is(err, session.ErrInUse):
		return nil, &httpError{http.StatusConflict, "another process has taken this session"}
	case err != nil:
		t.log(c, err)
		return nil, &httpError{http.StatusInternalServerError, textBroken}
	}
	return trace, nil
}

func (t *tenant) log(c *conversation, err error) {
	t.host.log.Error("session broke off", "tenant", t.Name, "session", c.name, "error", err)
}

// A message is a text that waits for its run, has it or had it. A message without a text
// only ends the run that broke off.
type message struct {
	ctx     context.Context // of the client that waits for the run to begin
	text    string
	waits   bool          // it counts in tenant.waiting
	started chan struct{} // closed when its run begins
	done    chan struct{} // closed when its run has ended, or will never begin

	from int // the number of the last event before the run; valid once started is closed
	// Valid once done is closed:
	to  int // the number of the run's last event
	err error
}

// submit gives a session a message. It returns the message whose run will answer it, and
// the number of the event after which the answer begins: -1 for that of the run.
func (t *tenant) submit(ctx context.Context, c *conversation, text string, steer bool) (*message, int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stopped {
		return nil, 0, &httpError{http.StatusServiceUnavailable, errStop.Error()}
	}
	if steer && c.current != nil && c.live != nil && c.live.Say(text) {
		return c.current, c.feed.last(), nil
	}
	m := &message{ctx: ctx, text: text, started: make(chan struct{}), done: make(chan struct{})}
	return m, -1, t.enqueue(c, m)
}

// resume returns the message whose run is under way. If the session broke off it begins
// to end that run. It returns nil if there is neither.
func (t *tenant) resume(ctx context.Context, c *conversation) (*message, error) {
	t.mu.Lock()
	current := c.current
	if current == nil && len(c.queue) > 0 {
		current = c.queue[0]
	}
	t.mu.Unlock()
	if current != nil {
		return current, nil
	}
	trace, err := t.load(c)
	if err != nil || !brokeOff(trace) {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case c.current != nil:
		return c.current, nil
	case t.stopped:
		return nil, nil // what is saved can be read all the same
	}
	m := &message{ctx: context.WithoutCancel(ctx), started: make(chan struct{}), done: make(chan struct{})}
	return m, t.enqueue(c, m)
}

// brokeOff reports whether a session has a run that did not end.
func brokeOff(trace loop.Trace) bool {
	off := false
	for i := range trace {
		if kind := trace[i].In.Kind; kind == loop.Started || kind == loop.UserMessage {
			off = true
		}
		for j := range trace[i].Effects {
			off = off && trace[i].Effects[j].Kind != loop.Halt
		}
	}
	return off
}

// enqueue gives a message to the session's worker, and starts one if there is none. The
// caller holds t.mu.
func (t *tenant) enqueue(c *conversation, m *message) error {
	switch {
	case c.working && t.waiting >= t.Limits.Waiting:
		return tooMany("%d messages wait for their runs", t.waiting)
	case c.working:
		m.waits = true
		t.waiting++
	case t.runs >= t.Limits.Runs:
		return tooMany("%d runs are under way", t.runs)
	case !t.host.begin():
		return &httpError{http.StatusServiceUnavailable, "the host closes"}
	default:
		t.runs++
		c.users++
		c.working = true
		go t.work(c)
	}
	c.queue = append(c.queue, m)
	return nil
}

// work runs the messages of a session until none is left.
func (t *tenant) work(c *conversation) {
	defer t.host.work.Done()
	defer t.leave(c)
	for {
		m, ctx := t.next(c)
		if m == nil {
			return
		}
		err := context.Cause(m.ctx)
		if err == nil {
			err = context.Cause(ctx)
		}
		if err == nil {
			err = t.guard(ctx, c, m)
		}
		t.mu.Lock()
		c.cancel(nil)
		c.current, c.live = nil, nil
		m.to, m.err = c.feed.last(), err
		t.mu.Unlock()
		close(m.done)
	}
}

// next returns the next message of a session, and the context of its run. It returns
// nil, and ends the session's time as a worker, if there is none.
func (t *tenant) next(c *conversation) (*message, context.Context) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(c.queue) == 0 {
		c.working = false
		t.runs--
		return nil, nil
	}
	m := c.queue[0]
	c.queue = c.queue[1:]
	if m.waits {
		t.waiting--
	}
	ctx, cancel := context.WithCancelCause(context.WithValue(context.Background(), contextKey{}, names{t.Name, c.name}))
	c.current, c.cancel = m, cancel
	if t.stopped {
		cancel(&httpError{http.StatusServiceUnavailable, errStop.Error()})
	}
	return m, ctx
}

// guard plays a message, and turns a panic into an error.
func (t *tenant) guard(ctx context.Context, c *conversation, m *message) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
		told := new(httpError)
		if err != nil && !errors.As(err, &told) {
			t.log(c, err)
			err = &httpError{http.StatusInternalServerError, textBroken}
		}
	}()
	return t.play(ctx, c, m)
}

// play runs a message to its end: first the run of the session that broke off, if there
// is one, and then that of the message.
//
// Each message has a machine of its own, to which the saved steps are shown. So a
// session between two runs needs no memory, and what is saved is what counts.
func (t *tenant) play(ctx context.Context, c *conversation, m *message) error {
	trace, err := t.load(c)
	if missing := new(httpError); errors.As(err, &missing) && missing.status == http.StatusNotFound && m.text != "" {
		err = nil
	}
	if err != nil {
		return err
	}
	if len(trace) >= t.Limits.Records {
		return &httpError{http.StatusConflict, fmt.Sprintf("the session has %d steps and is full: begin another", len(trace))}
	}
	task := t.Agent.Task
	said := m.text == "" || len(trace) == 0
	if task.Text = m.text; len(trace) > 0 {
		task.Text = trace[0].In.Text
	}
	live := loop.NewLive(task, t.Agent.Model, t.Agent.Tools, loop.LiveOptions{
		Approve: c.approve, Ask: c.ask, Hook: t.Agent.Hook,
		FollowUp: func(context.Context, loop.Outcome) (string, bool) {
			again := !said
			said = true
			return m.text, again
		},
	})
	defer live.Close()
	machine, err := loop.New(t.Agent.Config, task, live.Tools())
	if err != nil {
		return err
	}
	m.from = c.begin(trace)
	close(m.started)
	t.mu.Lock()
	c.live = live
	t.mu.Unlock()
	_, err = session.Resume(ctx, machine, session.Saving(&watched{World: live, c: c}, t.Store, c.name), trace)
	switch {
	case errors.As(err, new(*session.DriftError)):
		t.log(c, err)
		return &httpError{http.StatusConflict, "the agent has changed since this session began: begin another"}
	case err == nil && !said:
		return &httpError{http.StatusConflict, "the run that had broken off was cancelled, and the message has no run"}
	case errors.Is(err, errClosed):
		return &httpError{http.StatusServiceUnavailable, errClosed.Error()}
	}
	return err
}

// setStopped turns the kill switch.
func (t *tenant) setStopped(stopped bool) {
	t.mu.Lock()
	t.stopped = stopped
	t.mu.Unlock()
	if stopped {
		t.endAll(errStop)
	}
}

// endAll ends all runs, and those of the messages that wait.
func (t *tenant) endAll(cause error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, c := range t.open {
		if c.current != nil {
			c.cancel(cause)
		}
	}
}
