package fakes

import (
	"context"

	"github.com/agentbench-go/agentbench/loop"
)

// Run plays a script to a machine with that config, and returns how each run of
// the session ended, in order. All that passes is appended to trace, unless
// that is nil. An error means that the session broke off (the script ran dry,
// the config cannot be meant, ctx ended); the last outcome then tells how far
// its run came.
func Run(ctx context.Context, s *Script, cfg loop.Config, seed uint64, trace *loop.Trace) ([]loop.Outcome, error) {
	runs, _, err := RunFaults(ctx, s, cfg, seed, trace)
	return runs, err
}

// RunFaults is [Run], and tells what of the script struck nothing.
func RunFaults(ctx context.Context, s *Script, cfg loop.Config, seed uint64, trace *loop.Trace) (runs []loop.Outcome, idle Idle, err error) {
	w := NewWorld(s, seed)
	runs, err = RunIn(ctx, w, s, cfg, seed, trace)
	return runs, w.Idle(), err
}

// RunIn is [Run] in a world that [NewWorld] has made of that script and seed,
// and that was given a [Speaker] or people.
func RunIn(ctx context.Context, w *World, s *Script, cfg loop.Config, seed uint64, trace *loop.Trace) ([]loop.Outcome, error) {
	m, err := loop.New(cfg, s.LoopTask(seed), s.Specs())
	if err != nil {
		return nil, err
	}
	var world loop.World = w
	if trace != nil {
		world = loop.Recording(w, trace)
	}
	last, err := loop.Run(ctx, m, world)
	if err != nil {
		return append(w.Outcomes(), last), err
	}
	return w.Outcomes(), nil
}
