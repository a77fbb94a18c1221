package host

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/loop/events"
)

// A conversation is a session in use. Its tenant's mu guards all fields except feed.
type conversation struct {
	tenant *tenant
	name   string
	feed   feed

	users   int // requests and a worker
	working bool
	queue   []*message
	current *message // whose run is under way
	cancel  context.CancelCauseFunc
	live    *loop.Live

	reader events.Reader // only the worker's goroutine uses it
	gate   string        // the permission that was asked last
	asked  string        // the question that was asked last
	open   map[string]*pending
}

// A pending waits for an answer.
type pending struct {
	Open
	reply chan reply // holds one
}

type reply struct {
	allow bool
	text  string
}

// begin shows the reader the saved steps, and returns the number of the last event.
func (c *conversation) begin(trace loop.Trace) int {
	c.reader = events.Reader{}
	n := 0
	for i := range trace {
		n += len(c.reader.Read(trace[i]))
	}
	return c.feed.begin(n)
}

// watched is a world that tells a conversation what happens.
type watched struct {
	loop.World
	c *conversation
}

func (w *watched) Do(ctx context.Context, in loop.Input, effects []loop.Effect) {
	w.c.expect(effects)
	if in.Kind != 0 { // otherwise these are effects of saved steps
		var step loop.Trace
		step.Append(in, effects)
		for _, e := range w.c.reader.Read(step[0]) {
			w.c.feed.add(e)
		}
	}
	w.World.Do(ctx, in, effects)
}

// Next breaks a run off if the host has closed. A cancel would be saved.
func (w *watched) Next(ctx context.Context, wake time.Duration, armed bool) (loop.Input, error) {
	in, err := w.World.Next(ctx, wake, armed)
	if in.Kind == loop.Cancel && context.Cause(ctx) == errClosed {
		return loop.Input{}, errClosed
	}
	return in, err
}

// expect makes room for the answers to questions and permissions.
func (c *conversation) expect(effects []loop.Effect) {
	for i := range effects {
		e := &effects[i]
		o := Open{Ref: e.Ref.String(), Text: e.Text, Tool: e.Name, Args: e.Args}
		switch {
		case e.Kind == loop.AskUser:
			o.Kind = string(events.Question)
		case e.Kind == loop.OpenGate && e.At == loop.GatePermission:
			o.Kind = string(events.Permission)
		default:
			continue
		}
		c.tenant.mu.Lock()
		c.open[o.Ref] = &pending{o, make(chan reply, 1)}
		if o.Kind == string(events.Question) {
			c.asked = o.Ref
		} else {
			c.gate = o.Ref // the loop asks for one permission at a time
		}
		c.tenant.mu.Unlock()
	}
}

// answer passes an answer on, and reports whether something waited for it.
func (c *conversation) answer(ref string, r reply) bool {
	c.tenant.mu.Lock()
	defer c.tenant.mu.Unlock()
	p := c.open[ref]
	if p != nil {
		delete(c.open, ref)
		p.reply <- r
	}
	return p != nil
}

// wait waits for the answer to what was asked last.
func (c *conversation) wait(ctx context.Context, last *string) reply {
	c.tenant.mu.Lock()
	ref := *last
	p := c.open[ref]
	c.tenant.mu.Unlock()
	if p == nil {
		return reply{}
	}
	defer func() {
		c.tenant.mu.Lock()
		defer c.tenant.mu.Unlock()
		delete(c.open, ref)
	}()
	late := time.NewTimer(c.tenant.Limits.Answer)
	defer late.Stop()
	select {
	case r := <-p.reply:
		return r
	case <-ctx.Done():
		return reply{}
	case <-late.C:
		return reply{text: fmt.Sprintf("nobody answered within %s", c.tenant.Limits.Answer)}
	}
}

func (c *conversation) approve(ctx context.Context, _, _ string) (bool, string) {
	r := c.wait(ctx, &c.gate)
	return r.allow, r.text
}

func (c *conversation) ask(ctx context.Context, _ string) (string, bool) {
	r := c.wait(ctx, &c.asked)
	return r.text, r.allow
}

// end ends the run that is under way, and reports whether there is one.
func (c *conversation) end(cause error) bool {
	c.tenant.mu.Lock()
	defer c.tenant.mu.Unlock()
	if c.current != nil {
		c.cancel(cause)
	}
	return c.current != nil
}

func (c *conversation) state() State {
	c.tenant.mu.Lock()
	defer c.tenant.mu.Unlock()
	s := State{Session: c.name, Running: c.current != nil, Waiting: len(c.queue)}
	for _, p := range c.open {
		s.Open = append(s.Open, p.Open)
	}
	slices.SortFunc(s.Open, func(a, b Open) int { return strings.Compare(a.Ref, b.Ref) })
	return s
}
