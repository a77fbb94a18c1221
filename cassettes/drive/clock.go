package drive

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/agentbench-go/agentbench/loop"
)

// This is the only file of the package that reads the real clock, and only while a
// session is recorded.

// patience is how long a request may take, or be silent, if the config has no
// timeout.
const patience = 10 * time.Minute

// errGivenUp is the cause with which a request that takes too long is cancelled.
var errGivenUp = errors.New("the request took too long")

// A clock keeps real time from running behind virtual time. A nil clock does
// nothing.
type clock struct {
	timeouts loop.Time
	start    time.Time // zero until the first request
}

// begin waits until real time has reached the virtual instant, and then watches a
// request.
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

// A watch cancels a request that takes longer, or is silent for longer, than the
// config allows. The loop gives the request up at the same instant of virtual time.
type watch struct {
	ctx           context.Context
	cancel        context.CancelCauseFunc
	silence       time.Duration // after the first piece
	mu            sync.Mutex
	whole, silent *time.Timer
}

// heard starts the silence anew, after each piece.
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
