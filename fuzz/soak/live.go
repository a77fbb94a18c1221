package soak

import (
	"context"
	"sync"
	"time"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/loop"
)

// A model answers from a script, in real time.
type model struct {
	script *fakes.Model
	course fakes.Course
	turn   int // the request that step answers
	step   int
	calls  int // the number of calls in its replies so far
}

// Reply answers one request. The same step answers its retries.
func (m *model) Reply(ctx context.Context, req loop.ModelRequest, delta func(string)) (loop.Reply, error) {
	if m.turn != req.Ref.N {
		m.turn, m.step = req.Ref.N, m.script.Next(&m.course, fakes.Before{})
	}
	if m.step < 0 {
		return loop.Reply{}, loop.ErrDry
	}
	said, err := m.script.Say(m.step, fakes.Request{Ref: req.Ref, Calls: m.calls, History: req.History})
	if err != nil {
		return loop.Reply{}, err
	}
	var at time.Duration
	for i, text := range fakes.Cut(said.Text, said.Of) {
		if i == said.Pieces {
			break
		}
		if err := wait(ctx, said.At(i)-at); err != nil {
			return loop.Reply{}, err
		}
		at = said.At(i)
		delta(text)
	}
	if err := wait(ctx, said.After-at); err != nil {
		return loop.Reply{}, err
	}
	if f := said.Failure; f != nil {
		return loop.Reply{}, &loop.ModelError{Status: f.Status, RetryAfter: f.RetryAfter, Text: said.Reason}
	}
	m.calls += len(said.Calls)
	return loop.Reply{Text: said.Text, Calls: said.Calls, Finish: said.Finish, TokensIn: said.TokensIn, TokensOut: said.TokensOut, Cost: said.Cost}, nil
}

// wait waits, and returns the cause if ctx ends before.
func wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// A tool behaves like a script's tool with its first answer, in real time.
type tool struct {
	fakes.Tool
	mu    sync.Mutex
	tries int
}

// Spec returns the description of the tool.
func (t *tool) Spec() loop.ToolSpec { return t.ToolSpec }

// Call answers one try.
func (t *tool) Call(ctx context.Context, _ string) (string, error) {
	t.mu.Lock()
	try := t.tries
	t.tries++
	t.mu.Unlock()
	a := &t.Answers[0]
	latency := t.Latency
	if a.Latency != (fakes.Span{}) {
		latency = a.Latency
	}
	if a.Hang {
		<-ctx.Done()
		return "", context.Cause(ctx)
	}
	waiting := ctx
	if t.IgnoresCancel {
		waiting = context.WithoutCancel(ctx)
	}
	if err := wait(waiting, latency.Min+(latency.Max-latency.Min)/2); err != nil {
		return "", err
	}
	switch {
	case try < len(a.Failures):
		return "", &loop.ToolError{Code: loop.RetryableServer, Text: a.Failures[try].Text}
	case a.Error != loop.None:
		return "", &loop.ToolError{Code: a.Error, Text: a.Text}
	}
	return a.Result, nil
}

// tools returns the tools of one conversation.
func tools(k *Kind) []loop.Tool {
	out := make([]loop.Tool, len(k.Script.Tools))
	for i := range k.Script.Tools {
		out[i] = &tool{Tool: k.Script.Tools[i]}
	}
	return out
}

// newModel returns the model of one conversation.
func newModel(k *Kind, seed uint64) (*model, error) {
	script, err := fakes.NewModel(&k.Script, seed)
	return &model{script: script}, err
}

// timed reports how long each request took.
type timed struct {
	loop.Model
	took func(time.Duration)
}

// Reply asks the model.
func (t *timed) Reply(ctx context.Context, req loop.ModelRequest, delta func(string)) (loop.Reply, error) {
	start := time.Now()
	defer func() { t.took(time.Since(start)) }()
	return t.Model.Reply(ctx, req, delta)
}
