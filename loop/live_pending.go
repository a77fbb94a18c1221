package loop

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// A pending is something that the machine asked for and the live world has not
// answered: a model request, a gate, a question or a try. A goroutine of its
// own works out the answer.
type pending struct {
	live    *Live
	ctx     lazyContext
	work    func(ctx context.Context) Input
	open    atomic.Bool // the answer still counts; changes under live.mu
	arrival             // the answer
}

// begin opens p and starts work on its answer. If work panics or calls
// runtime.Goexit, the answer is failed, with a text that says so. The caller
// holds l.mu.
func (l *Live) begin(ctx context.Context, p *pending, failed Input, work func(ctx context.Context) Input) {
	p.live, p.ctx.parent, p.Input, p.work = l, ctx, failed, work
	p.open.Store(true)
	l.open[failed.Ref] = p
	go p.run()
}

func (p *pending) run() {
	in := p.Input
	in.Text = "ended without an answer" // what remains after runtime.Goexit
	defer func() {
		if r := recover(); r != nil {
			in.Text = "panic: " + fmt.Sprint(r)
		}
		p.ctx.cancel(nil)
		p.answer(in)
	}()
	in = p.work(&p.ctx)
}

// answer queues the answer, or drops it if it does not count any more.
func (p *pending) answer(in Input) {
	l := p.live
	l.mu.Lock()
	if p.open.Load() {
		l.close(p)
		in.At = l.now()
		p.Input = in
		l.arrivals.push(&p.arrival)
	}
	l.mu.Unlock()
	l.notify()
}

// delta queues a piece of a streamed reply. A late one is dropped: after the
// request was answered or given up, and after the end of Run's context.
func (p *pending) delta(text string) {
	if !p.open.Load() {
		return
	}
	l := p.live
	l.mu.Lock()
	if p.open.Load() && !l.cancelled {
		l.arrivals.stream.add(text, l.now())
	}
	l.mu.Unlock()
	l.notify()
}

// A lazyContext is the context of a pending's work. It makes what a context
// needs when the work first looks at it, since work that is done at once never
// does.
type lazyContext struct {
	parent   context.Context // its values are seen, its end is not
	deadline time.Time       // announced and not kept; zero = none
	try      bool            // sub-runs count in used
	used     rollUp

	mu     sync.Mutex
	made   context.Context         // nil until somebody looks
	end    context.CancelCauseFunc // ends made
	ended  bool
	reason error
}

// cancel ends the context, with a cause unless the work is simply over.
func (c *lazyContext) cancel(cause error) {
	c.mu.Lock()
	if !c.ended {
		c.ended, c.reason = true, cause
	}
	end := c.end
	c.mu.Unlock()
	if end != nil {
		end(cause)
	}
}

// context returns the context behind c, and makes it first if necessary.
func (c *lazyContext) context() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.made == nil {
		c.made, c.end = context.WithCancelCause(context.WithoutCancel(c.parent))
		if c.ended {
			c.end(c.reason)
		}
	}
	return c.made
}

func (c *lazyContext) Deadline() (time.Time, bool) { return c.deadline, !c.deadline.IsZero() }
func (c *lazyContext) Done() <-chan struct{}       { return c.context().Done() }
func (c *lazyContext) Err() error                  { return c.context().Err() }

// Value also answers the context package itself, which looks for the cause and
// for the parent of a derived context this way, and so finds made.
func (c *lazyContext) Value(key any) any {
	if c.try && key == (rollUpKey{}) {
		return &c.used
	}
	return c.context().Value(key)
}
