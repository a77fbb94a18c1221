package drive

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/agentbench-go/agentbench/loop"
)

// This is the only file of the package that reads the clock of the wall. It does
// so only while something is recorded.

// patience is how long a request may take, and be silent, where no timeout of
// the config says so.
const patience = 10 * time.Minute

// errGivenUp is the cause for which a request is cancelled that took too long.
var errGivenUp = errors.New("the request took too long")

// A clock keeps the wall's time from running behind the virtual one. The nil
// clock keeps nothing.
type clock struct {
	timeouts loop.Time
	start    time.Time // zero until the first request
}

// begin waits until the virtual instant has come, and then watches a request.
func (c *clock) begin(ctx context.Context, at time.Duration) (*watch, error) {
	if c == nil {
		return &watch{ctx: ctx}, nil
	}
	if c.start.IsZero() {
		c.start = time.Now().Add(-at)
	}
	if wait := at - time.Since(c.start); wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	w := &watch{silence: or(c.timeouts.Chunk, patience)}
	w.ctx, w.cancel = context.WithCancelCause(ctx)
	give := func() { w.cancel(errGivenUp) }
	w.whole = time.AfterFunc(or(c.timeouts.Model, patience), give)
	w.silent = time.AfterFunc(or(c.timeouts.FirstToken, patience), give)
	return w, nil
}

func or(d, otherwise time.Duration) time.Duration {
	if d > 0 {
		return d
	}
	return otherwise
}

// A watch gives a request up that takes longer, or is silent for longer, than
// the config allows: the loop would give it up at that instant of the virtual
// clock. Time that the answer does not take is not waited for.
type watch struct {
	ctx           context.Context
	cancel        context.CancelCauseFunc
	silence       time.Duration // after the first piece
	mu            sync.Mutex
	whole, silent *time.Timer
}

// heard is told that a piece has come.
func (w *watch) heard() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.silent != nil && w.silent.Stop() {
		w.silent.Reset(w.silence)
	}
}

func (w *watch) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.whole != nil {
		w.whole.Stop()
		w.silent.Stop()
		w.cancel(nil)
	}
}
